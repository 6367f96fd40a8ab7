// Last: shows what the fragment says, and opens on paper what a browser without ::details-content would leave closed.
fragment.start();
if (!CSS.supports("selector(::details-content)"))
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) details.open = true;
  });
