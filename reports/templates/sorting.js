// Rows in the order of a column; a button in its head chooses it, and turns it round.
const sorting = (() => {
  // What has no key stands last, whatever the direction.
  const order = (rows, keyOf, down) => {
    const keys = new Map(rows.map((row, at) => [row, [keyOf(row) ?? null, at]]));
    const sign = down ? -1 : 1;
    return [...rows].sort((one, other) => {
      const [[x, a], [y, b]] = [keys.get(one), keys.get(other)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return x < y ? -sign : x > y ? sign : a - b;
    });
  };

  const mark = (tables, query) => {
    for (const button of tables.flatMap((table) => [...table.querySelectorAll(".sort")])) {
      const head = button.closest("th");
      if (button.dataset.sort === query.get("sort"))
        head.setAttribute("aria-sort", query.get("down") ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };

  const listen = (tables, form) => {
    const { sort, down } = form.elements;
    const turn = (field, on) => field.type === "checkbox" ? (field.checked = on) : (field.value = on ? "1" : "");
    const turned = () => down.type === "checkbox" ? down.checked : down.value === "1";
    for (const button of tables.flatMap((table) => [...table.querySelectorAll(".sort")])) {
      button.hidden = false;
      button.addEventListener("click", () => {
        turn(down, sort.value === button.dataset.sort && !turned());
        sort.value = button.dataset.sort;
        form.dispatchEvent(new Event("input"));
      });
    }
  };
  return { order, mark, listen };
})();
