// What a measure means stands once on the page, in its definition: here on hover, too, and described to who listens.
for (const link of document.querySelectorAll("th a[href^='#d-'], a[data-term]")) {
  const [name, , , formula] = document.getElementById(`d-${link.dataset.term ?? link.hash.slice(3)}`).cells;
  link.title = `${link.dataset.term ? `${name.firstChild.data.trim()}: ` : ""}${formula.firstChild?.data ?? ""}`;
}

// Last: shows what the fragment says, and opens on paper what a browser without ::details-content would leave closed.
fragment.start();
if (!CSS.supports("selector(::details-content)"))
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) details.open = true;
  });
