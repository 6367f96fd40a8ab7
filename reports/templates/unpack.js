// Unfolds packed timelines: a closed set of elements, text as text, no markup is ever parsed.
const packed = (() => {
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

  const read = (number) => {
    if (!known.has(number)) known.set(number, open(number));
    return known.get(number);
  };

  // All words of a timeline that is still packed, each once: what is equal stands once in a block.
  const tell = async (details) => {
    const block = await read(details.dataset.block);
    const reached = new Set([block.trees[details.querySelector(".told").id]]);
    const said = [];
    for (const number of reached) // a set that grows while it is walked
      for (const child of block.nodes[number - 1].slice(1))
        if (typeof child === "string") said.push(child);
        else reached.add(child);
    return said.join(" ");
  };

  const unfold = async (details) => {
    const number = details.dataset.block;
    if (!details.open || number === undefined) return;
    delete details.dataset.block;
    const block = await read(number);
    const told = details.querySelector(".told");
    told.replaceChildren(made(block, block.trees[told.id]));
    if (told.matches(":target")) told.scrollIntoView(); // it grew after the browser had gone there
  };

  document.addEventListener("toggle", (event) => unfold(event.target), true);
  document.querySelectorAll("details[open][data-block]").forEach(unfold);
  return { tell };
})();
