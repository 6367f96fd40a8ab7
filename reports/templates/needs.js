// What fits all needs that are ticked. Which need holds for which row was found when the page was made.
(() => {
  const form = document.getElementById("choose");
  if (!form) return;
  const area = document.getElementById("choices");
  const answer = document.getElementById("answer");
  const body = area.querySelector("tbody");
  const rows = [...body.rows];
  const STATES = { fits: "fits", open: "cannot be told", out: "does not fit" };

  // Shows the reasons that count, and says what they come to.
  const judge = (row, needs, budget) => {
    const { tokens } = row.dataset;
    let state = "fits";
    for (const reason of row.querySelectorAll("li")) {
      const { need } = reason.dataset;
      const within = tokens !== undefined && Number(tokens) <= budget;
      let [counts, known] = [need ? needs.includes(need) : needs.length || budget, !reason.matches("[data-unknown]")];
      if (need === "budget") {
        known = tokens !== undefined && !within;
        counts = budget && !(within && reason.matches("[data-whole]"));
      }
      reason.hidden = !counts;
      if (counts) state = known || state === "out" ? "out" : "open";
    }
    return state;
  };

  // One price for all tokens, so that no row passes another.
  const pay = (row, price) => {
    const { low, tokens, whole } = row.dataset;
    if (!price || tokens === undefined) return "";
    const ends = new Set([low, tokens].map((each) => Number((each * price / 1e6).toPrecision(2)).toString()));
    return `${whole === undefined ? "at least " : ""}${[...ends].join("\u2013")} for each completed job`;
  };

  const link = (keys) => {
    const made = document.createElement("a");
    made.href = `#board?${new URLSearchParams(keys.map((key) => ["row", key]))}`;
    made.textContent = "Show only these on the scoreboard";
    return made;
  };

  const offered = new Map([...form.querySelectorAll("[name=need]")].map((box) => [box.value, box.parentElement.textContent.trim()]));

  const show = (query) => {
    const needs = query.getAll("need").filter((need) => offered.has(need));
    const budget = Math.max(0, Number(query.get("budget")) || 0);
    const has = (query.get("has") ?? "").toLowerCase();
    const price = Math.max(0, Number(query.get("price")) || 0);
    const asked = needs.length || budget;
    const order = Object.keys(STATES);
    const found = new Map(rows.map((row, at) => {
      const state = judge(row, needs, budget);
      return [row, [order.indexOf(state), needs.includes("tokens") ? Number(row.dataset.cheap) : at]];
    }));
    for (const row of [...rows].sort((one, other) => {
      const [[a, x], [b, y]] = [found.get(one), found.get(other)];
      return a - b || x - y;
    })) {
      const state = order[found.get(row)[0]];
      row.className = asked ? state : "";
      row.querySelector(".state").textContent = asked ? STATES[state] : "";
      row.querySelector(".money").textContent = pay(row, price);
      row.hidden = !row.cells[0].firstElementChild.textContent.toLowerCase().includes(has);
      body.append(row);
    }
    const count = (state) => rows.filter((row) => order[found.get(row)[0]] === state);
    const [fit, open] = [count("fits"), count("open").length];
    const told = [...needs.map((need) => offered.get(need)), ...(budget ? [`at most ${budget.toLocaleString("en")} tokens a job`] : [])];
    answer.textContent = !asked ? "" :
      `${fit.length} of ${rows.length} fit${open ? `, and of ${open} it cannot be told` : ""}: ${told.join("; ")}. `;
    if (asked && fit.length) answer.append(link(fit.map((row) => row.dataset.row)));
    area.hidden = !asked && !has && !price;
  };

  document.getElementById("each").open = false; // each need by itself, for who has no script
  show(new URLSearchParams());
  fragment.add("choose", form, show);
})();
