// Keeps what was decided in the page and saves it as decisions.json.
"use strict";
const cards = [...document.querySelectorAll(".candidate")];
const before = JSON.parse(document.querySelector("main").dataset.decided);
const state = document.getElementById("state");
const count = () => {
  const of = (word) => cards.filter((card) => card.dataset.judged === word).length;
  state.textContent = `${of("keep")} kept, ${of("drop")} dropped, ${cards.length - of("keep") - of("drop")} open`;
};
for (const card of cards) {
  for (const button of card.querySelectorAll("[data-judge]")) {
    button.addEventListener("click", () => {
      card.dataset.judged = button.dataset.judge;
      for (const other of card.querySelectorAll("[data-judge]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      count();
    });
  }
}
document.getElementById("save").addEventListener("click", () => {
  const judged = cards.filter((card) => card.dataset.judged).map((card) => [card.dataset.id, card.dataset.judged]);
  const text = JSON.stringify({ candidates: { ...before, ...Object.fromEntries(judged) } }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "decisions.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
count();
