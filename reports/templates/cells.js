// Cells: grouped as the figures pool them; flat, the first of them, once they are sorted or filtered.
(() => {
  const MOST = 100;
  const NUMBER = /^(?:\u25b2 )?(?:\u2265 )?([\d.,]+)(?:\/([\d,]+))?$/;
  const plain = (text) => Number(text.replaceAll(",", ""));

  // A count as its share, a number as itself; of words: null, so that they stand last.
  const keyOf = (cell) => {
    const first = cell?.firstElementChild;
    const shown = (first?.localName === "a" ? first : cell)?.textContent.trim();
    const found = NUMBER.exec(shown);
    if (found) return found[2] ? plain(found[1]) / plain(found[2]) : plain(found[1]);
    return !shown || first?.localName === "i" ? null : shown.toLowerCase();
  };

  const table = document.getElementById("all-cells");
  const form = document.getElementById("filter");
  const cut = document.getElementById("cut");
  const groups = [...table.tBodies].map((body) => ({ body, rows: [...body.rows].slice(1) }));
  const rows = groups.flatMap((group) => group.rows);
  const home = new Map(groups.flatMap(({ body, rows: own }) => own.map((row) => [row, body])));
  const flat = document.createElement("tbody");
  const fields = { backend: 1, write: 2, read: 3, noise: 4 };
  let shown = new URLSearchParams();

  const match = (query) => {
    const wanted = Object.entries(fields).filter(([name]) => query.get(name));
    const has = (query.get("has") ?? "").toLowerCase();
    if (!wanted.length && !has) return rows;
    return rows.filter(({ cells }) =>
      wanted.every(([name, at]) => cells[at].textContent === query.get(name)) && cells[0].textContent.toLowerCase().includes(has));
  };

  const show = (query, most = MOST) => {
    shown = query;
    const column = query.has("sort") ? Number(query.get("sort")) : null;
    const found = match(query);
    const grouped = column === null && found.length === rows.length;
    for (const row of [...flat.rows]) home.get(row).append(row);
    if (grouped) {
      flat.remove();
      for (const { body, rows: own } of groups) body.append(...own);
    } else {
      const key = (row) => keyOf(row.cells[column]);
      flat.append(...(column === null ? found : sorting.order(found, key, query.get("down") === "1")).slice(0, most));
      if (!flat.isConnected) table.append(flat);
    }
    for (const { body } of groups) body.hidden = !grouped;
    cut.hidden = grouped || found.length <= most;
    sorting.mark([table], query);
    form.querySelector("output b").textContent = found.length.toLocaleString("en");
  };

  // To save bytes a row has an id only if the page links to it: any other is known by its trial and how it was read.
  const find = (id) => {
    const at = id.lastIndexOf("-");
    const [trial, read] = [`#${id.slice(0, at)}`, id.slice(at + 1)];
    return rows.find((row) => row.cells[0].firstElementChild?.hash === trial && row.cells[3].textContent.trim() === read);
  };

  document.getElementById("more").addEventListener("click", () => show(shown, rows.length));
  sorting.listen([table], form);
  fragment.add("cells", form, show, find);
})();
