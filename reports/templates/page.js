// Sorts the findings, sorts and filters the cells, opens what a fragment names. All state is in the fragment.
(() => {
  "use strict";
  const NUMBER = /^(?:\u25b2 )?(?:\u2265 )?([\d.,]+)(?:\/([\d,]+))?$/;
  const plain = (text) => Number(text.replaceAll(",", ""));

  // A count as its share, a number as itself; of words: null, so that they stand last.
  const keyOf = (cell) => {
    const first = cell.firstElementChild;
    const shown = (first?.localName === "a" ? first : cell).textContent.trim();
    const found = NUMBER.exec(shown);
    if (found) return found[2] ? plain(found[1]) / plain(found[2]) : plain(found[1]);
    return !shown || first?.localName === "i" || first?.className === "none" ? null : shown.toLowerCase();
  };

  const ordered = (rows, keys, down) => {
    const sign = down ? -1 : 1;
    const at = rows.map((row, index) => index);
    at.sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x == null || y == null) return (x == null) - (y == null) || a - b;
      return x < y ? -sign : x > y ? sign : a - b;
    });
    return at.map((index) => rows[index]);
  };

  const keysOf = (rows) => {
    const known = new Map();
    return (column) => {
      if (!known.has(column)) known.set(column, rows.map((row) => row.cells[column] && keyOf(row.cells[column])));
      return known.get(column);
    };
  };

  const marked = (table, column, down) => {
    for (const button of table.querySelectorAll(".sort")) {
      const head = button.closest("th");
      if (column !== null && Number(button.dataset.sort) === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };

  const asked = (query) => [query.has("sort") ? Number(query.get("sort")) : null, query.get("down") === "1"];
  // A choice is a step that the browser's back undoes; typing goes on with the step that it began.
  const keep = (id, query, typing = false) => {
    const [at, text = ""] = location.hash.slice(1).split("?");
    const step = typing && at === id && new URLSearchParams(text).has("has") ? "replaceState" : "pushState";
    history[step](null, "", `#${id}${query.size ? `?${query}` : ""}`);
  };

  const buttons = (table, id, current, show) => {
    for (const button of table.querySelectorAll(".sort")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const query = current();
        const [column, down] = asked(query);
        const chosen = Number(button.dataset.sort);
        query.set("sort", chosen);
        query.set("down", column === chosen && !down ? "1" : "0");
        keep(id, query);
        show(query);
      });
    }
  };

  // --- findings: controls stay below the backends -----------------------------------------------------------------
  const findings = document.querySelector("table.findings");
  let found = new URLSearchParams();
  const bodies = [...findings.tBodies].map((body) => {
    const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
    return { body, rows, keys: keysOf(rows) };
  });
  const showFindings = (query) => {
    found = query;
    const [column, down] = asked(query);
    for (const { body, rows, keys } of bodies) body.append(...(column === null ? rows : ordered(rows, keys(column), down)));
    marked(findings, column, down);
  };
  buttons(findings, "answer", () => found, showFindings);

  // --- cells: grouped as the figures pool them; flat, the first of them, once they are sorted or filtered ----------
  const MOST = 100;
  const table = document.getElementById("all-cells");
  const form = document.getElementById("filter");
  const cut = document.getElementById("cut");
  const groups = [...table.tBodies].map((body) => ({ body, rows: [...body.rows].slice(1) }));
  const rows = groups.flatMap((group) => group.rows);
  const home = new Map(groups.flatMap(({ body, rows: own }) => own.map((row) => [row, body])));
  const keys = keysOf(rows);
  const flat = document.createElement("tbody");
  const fields = { backend: 1, write: 2, read: 3, noise: 4 };
  const known = [];
  const texts = () => {
    if (!known.length) for (const row of rows) known.push([0, 1, 2, 3, 4].map((at) => row.cells[at].textContent));
    return known;
  };
  let cells = new URLSearchParams();

  const matching = (query) => {
    const wanted = Object.entries(fields).filter(([name]) => query.get(name));
    const has = (query.get("has") ?? "").toLowerCase();
    if (!wanted.length && !has) return rows.map(() => true);
    return texts().map((own) => wanted.every(([name, at]) => own[at] === query.get(name)) && own[0].toLowerCase().includes(has));
  };

  const showCells = (query, most = MOST) => {
    cells = query;
    const [column, down] = asked(query);
    const fits = matching(query);
    const n = fits.filter(Boolean).length;
    const grouped = column === null && n === rows.length;
    for (const row of [...flat.rows]) home.get(row).append(row);
    if (grouped) {
      flat.remove();
      for (const { body, rows: own } of groups) body.append(...own);
    } else {
      const place = new Map(rows.map((row, index) => [row, index]));
      const order = column === null ? rows : ordered(rows, keys(column), down);
      flat.append(...order.filter((row) => fits[place.get(row)]).slice(0, most));
      if (!flat.isConnected) table.append(flat);
    }
    for (const { body } of groups) body.hidden = !grouped;
    cut.hidden = grouped || n <= most;
    marked(table, column, down);
    document.getElementById("left").textContent = n.toLocaleString("en");
    for (const control of form.elements) if (control.name) control.value = query.get(control.name) ?? "";
  };
  document.getElementById("more").addEventListener("click", () => showCells(cells, rows.length));
  buttons(table, "cells", () => cells, showCells);
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    const query = new URLSearchParams();
    keep("cells", query);
    showCells(query);
  }));
  form.addEventListener("input", (event) => {
    cells.delete(event.target.name);
    if (event.target.value) cells.set(event.target.name, event.target.value);
    keep("cells", cells, event.target.name === "has");
    showCells(cells);
    form.scrollIntoView(); // what was found stands right below
  });

  // --- fragments ----------------------------------------------------------------------------------------------------
  // To save bytes a row has an id only if the page links to it: any other is known by its trial and how it was read.
  const rowOf = (id) => {
    const at = id.lastIndexOf("-");
    const [trial, read] = [`#${id.slice(0, at)}`, id.slice(at + 1)];
    return rows.find((row) => row.cells[0].firstElementChild?.hash === trial && row.cells[3].textContent.trim() === read);
  };
  const named = (id) => {
    try {
      const whole = decodeURIComponent(id);
      return document.getElementById(whole) ?? rowOf(whole);
    } catch {
      return null; // a broken escape: a link that a mail program cut
    }
  };
  const follow = () => {
    const [id, text = ""] = location.hash.slice(1).split("?");
    const query = new URLSearchParams(text);
    if (id === "answer" || found.size) showFindings(id === "answer" ? query : new URLSearchParams());
    if (id === "cells" || flat.isConnected) showCells(id === "cells" ? query : new URLSearchParams());
    const target = id === "cells" && text ? form : named(id);
    if (!target) return;
    for (const row of rows) row.classList.toggle("meant", row === target && !row.id);
    let opened = false;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) {
      opened ||= !at.open;
      at.open = true;
    }
    if (opened || text || table.contains(target)) target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  if (location.hash.length > 1) follow();

  // --- print: what a browser without ::details-content would leave closed ------------------------------------------
  if (!CSS.supports("selector(::details-content)"))
    addEventListener("beforeprint", () => {
      for (const details of document.querySelectorAll("details:not([open])")) details.open = true;
    });
})();
