// The scoreboard: both tables sorted, filtered and subset together. No memory stays on top.
(() => {
  const form = document.getElementById("pick");
  if (!form) return;
  const tables = [...document.querySelectorAll("table.board")];
  const list = (table) => [...table.tBodies[0].rows];
  const rows = new Map(); // backend -> its row in each table
  for (const row of tables.flatMap(list)) {
    const key = row.dataset.row;
    if (!row.matches(".cold")) rows.set(key, [...(rows.get(key) ?? []), row]);
  }
  const places = new Map(); // column -> its table, and its place there
  tables.forEach((table, nth) => {
    for (const button of table.querySelectorAll(".sort")) {
      const { sort } = button.dataset;
      if (!places.has(sort)) places.set(sort, [nth, button.closest("th").cellIndex]);
    }
  });
  const find = (key, column) => {
    const [nth, at] = places.get(column) ?? [];
    return rows.get(key)[nth]?.cells[at];
  };
  const nameOf = (key) => find(key, "name").textContent.toLowerCase();
  const keyOf = (column) => (key) => {
    if (column === "name") return nameOf(key);
    const value = find(key, column)?.dataset.value;
    return value === undefined ? null : Number(value);
  };

  const show = (query) => {
    const column = query.get("sort");
    const has = (query.get("has") ?? "").toLowerCase();
    const [good, chosen] = [query.getAll("good"), query.getAll("row")];
    const fits = (key) =>
      nameOf(key).includes(has) && (!chosen.length || chosen.includes(key)) &&
      good.every((each) => find(key, each)?.matches(".good"));
    const keys = places.has(column) ? sorting.order([...rows.keys()], keyOf(column), query.get("down")) : [...rows.keys()];
    let left = 0;
    for (const key of keys) {
      const hidden = !fits(key);
      left += !hidden;
      for (const row of rows.get(key)) {
        row.hidden = hidden;
        row.parentElement.append(row);
      }
    }
    sorting.mark(tables, query);
    form.querySelector("output b").textContent = left.toLocaleString("en");
    for (const box of form.querySelectorAll("details")) {
      const names = [...box.querySelectorAll(":checked")].map((field) => field.parentElement.textContent.trim());
      const said = box.querySelector("summary b");
      said.textContent = names.length > 2 ? `${names.length} chosen` : names.join(", ") || said.dataset.none;
    }
  };

  sorting.listen(tables, form);
  fragment.add("board", form, show);
  form.addEventListener("keydown", (event) => {
    const box = event.key === "Escape" && event.target.closest("details[open]");
    if (!box) return;
    box.open = false;
    box.firstElementChild.focus();
  });
})();
