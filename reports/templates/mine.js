// Keeps what was decided in the page and saves it as decisions.json.
"use strict";
const cards = [...document.querySelectorAll(".candidate")];
const before = JSON.parse(document.querySelector("main").dataset.decided);
const state = document.getElementById("state");
const done = []; // what was decided, so that it can be taken back: [card, what it was before]
const count = () => {
  const of = (word) => cards.filter((card) => card.dataset.judged === word).length;
  state.textContent = `${of("keep")} kept, ${of("drop")} dropped, ${cards.length - of("keep") - of("drop")} open`;
};
const show = (card, word) => {
  if (word) card.dataset.judged = word;
  else delete card.dataset.judged;
  for (const button of card.querySelectorAll("[data-judge]")) {
    button.setAttribute("aria-pressed", String(button.dataset.judge === word));
  }
};
const judge = (some, word) => {
  done.push(some.map((card) => [card, card.dataset.judged]));
  for (const card of some) show(card, word);
  count();
};
const mark = (card) => {
  for (const other of cards) other.classList.toggle("marked", other === card);
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "nearest" });
};
const find = () => cards.find((card) => card.matches(".marked")) ?? cards.find((card) => !card.dataset.judged);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const card = event.target.closest(".candidate");
  if (button?.dataset.judge) judge([card], button.dataset.judge);
  else if (button?.dataset.drop !== undefined) {
    const own = [...button.closest(".group").querySelectorAll(".candidate")];
    judge(own.filter((each) => !button.dataset.drop || each.dataset.kind === button.dataset.drop), "drop");
  } else if (card) mark(card);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const word = { k: "keep", d: "drop" }[event.key];
  const card = find();
  if (word && card) {
    judge([card], word);
    mark(cards.slice(cards.indexOf(card) + 1).find((each) => !each.dataset.judged) ?? find());
  } else if (event.key === "u" && done.length) {
    const last = done.pop();
    for (const [each, was] of last) show(each, was);
    mark(last[0][0]);
    count();
  }
});
document.getElementById("save").addEventListener("click", () => {
  const judged = cards.filter((card) => card.dataset.judged).map((card) => [card.dataset.id, card.dataset.judged]);
  const kept = Object.entries(before).filter(([id]) => !cards.some((card) => card.dataset.id === id));
  const text = JSON.stringify({ candidates: { ...Object.fromEntries(kept), ...Object.fromEntries(judged) } }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "decisions.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
mark(find());
count();
