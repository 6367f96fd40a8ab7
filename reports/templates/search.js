// Receipts and timelines that hold all of the words; packed ones are read when something is first searched for.
(() => {
  const texts = new Map();
  const read = async (item) => {
    if (!texts.has(item)) {
      const said = item.dataset.block === undefined ? "" : await packed.tell(item);
      texts.set(item, `${item.textContent} ${item.querySelector("[id]").id} ${said}`.toLowerCase());
    }
    return texts.get(item);
  };

  for (const form of document.querySelectorAll("form.search")) {
    const items = [...document.querySelectorAll(form.dataset.of)];
    let latest;
    const show = async (query) => {
      latest = query;
      const words = (query.get("has") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const holds = (text) => words.every((word) => text.includes(word));
      const fits = words.length ? (await Promise.all(items.map(read))).map(holds) : items.map(() => true);
      if (latest !== query) return; // typed on meanwhile
      items.forEach((item, at) => {
        item.hidden = !fits[at];
        const around = item.parentElement.closest("details");
        if (around && words.length && fits[at]) around.open = true;
      });
      form.querySelector("output b").textContent = fits.filter(Boolean).length.toLocaleString("en");
    };
    fragment.add(form.dataset.view, form, show);
  }
})();
