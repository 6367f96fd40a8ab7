// Unfolds packed timelines: a closed set of elements, text as text, no markup is ever parsed.
(() => {
  "use strict";
  const blocks = [...document.querySelectorAll("template.block")];
  const known = new Map();

  const open = async (number) => {
    const coded = atob(blocks[number].content.textContent);
    const bytes = Uint8Array.from(coded, (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const block = await new Response(stream).json();
    let next = 0;
    for (const node of block.nodes)
      for (let at = 1; at < node.length; at++) if (node[at] === 0) node[at] = block.texts[next++];
    return block;
  };

  const made = (block, number) => {
    const [kind, ...children] = block.nodes[number - 1];
    const [tag, name] = block.kinds[kind];
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (tag === "th") element.scope = name === "row" ? "row" : "col";
    element.append(...children.map((child) => (typeof child === "string" ? child : made(block, child))));
    return element;
  };

  const unfold = async (details) => {
    const number = details.dataset.block;
    if (!details.open || number === undefined) return;
    delete details.dataset.block;
    if (!known.has(number)) known.set(number, open(number));
    const block = await known.get(number);
    const told = details.querySelector(".told");
    told.replaceChildren(made(block, block.trees[told.id]));
  };

  document.addEventListener("toggle", (event) => unfold(event.target), true);
  document.querySelectorAll("details[open][data-block]").forEach(unfold);
})();
