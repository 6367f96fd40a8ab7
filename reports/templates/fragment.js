// What is sorted, filtered and found stands in the fragment (`#view?field=value`), one view at a time: a link shows
// the same again, back undoes it, and a link to anything else shows all.
"use strict";
const fragment = (() => {
  const views = new Map();
  const read = () => {
    const [id, text = ""] = location.hash.slice(1).split("?");
    return [id, new URLSearchParams(text)];
  };

  const fill = (form, query) => {
    for (const field of form.elements) {
      if (!field.name) continue;
      if (field.type === "checkbox") field.checked = query.getAll(field.name).includes(field.value);
      else field.value = query.get(field.name) ?? "";
    }
  };

  const apply = (id, query) => {
    for (const [own, view] of views) {
      const wanted = own === id ? query : new URLSearchParams();
      if (own !== id && !view.query.size) continue;
      view.query = wanted;
      fill(view.form, wanted);
      view.show(wanted);
    }
  };

  // A choice is a step that the browser's back undoes; typing goes on with the step that it began.
  const choose = (id, query, typing = "") => {
    const [at, before] = read();
    const step = typing && at === id && before.has(typing) ? "replaceState" : "pushState";
    history[step](null, "", `#${id}${query.size ? `?${query}` : ""}`);
    apply(id, query);
  };

  // A form whose fields are the state of a view. `find` knows targets that have no id of their own.
  const add = (id, form, show, find = () => null) => {
    views.set(id, { form, show, find, query: new URLSearchParams() });
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      choose(id, new URLSearchParams());
    });
    form.addEventListener("input", (event) => {
      const typing = event.target.matches("[type=search], [type=number]") ? event.target.name : "";
      choose(id, new URLSearchParams([...new FormData(form)].filter(([, value]) => value)), typing);
      const low = form.getBoundingClientRect().bottom > innerHeight / 2;
      if (low && event.target !== form) form.scrollIntoView(); // what was found stands right below
    });
  };

  const named = (id) => {
    try {
      const whole = decodeURIComponent(id);
      return document.getElementById(whole) ?? [...views.values()].map((view) => view.find(whole)).find(Boolean);
    } catch {
      return null; // a broken escape: a link that a mail program cut
    }
  };

  const follow = () => {
    const [id, query] = read();
    apply(id, query);
    const target = query.size && views.has(id) ? views.get(id).form : named(id);
    document.querySelector(".meant")?.classList.remove("meant");
    if (!target) return;
    if (!target.id) target.classList.add("meant");
    let opened = false;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) {
      opened ||= !at.open;
      at.open = true;
    }
    if (opened || query.size || target.localName === "tr") target.scrollIntoView();
  };

  const start = () => {
    addEventListener("hashchange", follow);
    if (location.hash.length > 1) follow();
  };
  return { add, start };
})();
