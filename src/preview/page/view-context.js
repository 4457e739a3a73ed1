// The template context of a run as a table that can be searched.
import { h, put, counted } from "./dom.js";
import { state } from "./state.js";
import { model } from "./model.js";
import { matches } from "./virtual.js";
import { empty } from "./problem.js";

const LONG = 400;

let entries = [];
let parts = null;
let only = null;

function build(element) {
  const chip = (name, label) =>
    h("button", { type: "button", class: "toggle", "aria-pressed": "false", dataset: { name }, onclick: () => toggle(name) }, label);
  parts = {
    search: h("input", { type: "search", placeholder: "Name, type or value  ( / )", "aria-label": "Search the context", autocomplete: "off", spellcheck: "false", oninput: draw }),
    chips: [chip("undefined", "Undefined"), chip("assumed", "Assumed")],
    count: h("span", { class: "meta", role: "status" }),
    body: h("tbody"),
    none: h("div", { hidden: true }),
  };
  put(
    element,
    h("div", { class: "tools" }, parts.search, parts.chips, h("span", { class: "gap" }), parts.count),
    h(
      "table",
      { class: "context" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Name"), h("th", { scope: "col" }, "Type"), h("th", { scope: "col" }, "Value"))),
      parts.body,
    ),
    parts.none,
  );
}

function toggle(name) {
  only = only === name ? null : name;
  for (const chip of parts.chips) chip.setAttribute("aria-pressed", String(chip.dataset.name === only));
  draw();
}

function draw() {
  const query = parts.search.value.trim();
  const shown = entries.filter(
    (entry) =>
      (!query || matches(query, `${entry.name} ${entry.type ?? ""} ${entry.printed ?? ""}`)) &&
      (only === null || (only === "undefined" ? !entry.defined : entry.assumed)),
  );
  put(parts.body, shown.map((entry) => row(entry, query)));
  parts.count.textContent = shown.length === entries.length ? counted(entries.length, "name") : `${shown.length} of ${counted(entries.length, "name")}`;
  parts.none.hidden = shown.length > 0;
  put(parts.none, shown.length ? null : empty("Nothing matches", query ? `No name, type or value has “${query}” in it.` : "No name is like that."));
}

function row(entry, query) {
  return h(
    "tr",
    { class: entry.defined ? "" : "absent" },
    h("td", { class: "name" }, marked(entry.name, query), entry.assumed ? [" ", h("span", { class: "tag warn", title: "The scenario does not say this; partita assumes it" }, "assumed")] : null),
    h("td", { class: "type", title: entry.type ?? "" }, entry.defined ? marked(shortType(entry.type), query) : null),
    h("td", { class: "printed" }, entry.defined ? value(entry, query) : "undefined"),
  );
}

function value(entry, query) {
  if (entry.error) return [h("span", { class: "tag warn" }, entry.error.kind), " ", entry.error.message, entry.error.hint ? h("div", { class: "soft" }, entry.error.hint) : null];
  const printed = entry.printed ?? "";
  if (printed === "") return h("span", { class: "soft" }, '""');
  if (printed.length <= LONG) return marked(printed, query);
  return h("details", {}, h("summary", {}, marked(`${printed.slice(0, LONG)} …`, query)), marked(printed, query));
}

const shortType = (type) => (type ?? "").split(".").at(-1);

/** A text with the words that were searched for marked. */
function marked(text, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return text;
  const low = text.toLowerCase();
  if (low.length !== text.length) return text;
  const made = [];
  let at = 0;
  while (at < text.length) {
    let next = -1;
    let length = 0;
    for (const word of words) {
      const found = low.indexOf(word, at);
      if (found >= 0 && (next < 0 || found < next)) {
        next = found;
        length = word.length;
      }
    }
    if (next < 0) break;
    if (next > at) made.push(text.slice(at, next));
    made.push(h("mark", {}, text.slice(next, next + length)));
    at = next + length;
  }
  made.push(text.slice(at));
  return made;
}

export const contextView = {
  id: "context",
  label: "Context",
  about: "run",
  async show(element, { signal }) {
    if (!parts) build(element);
    const answer = await model.context(state, signal);
    if (signal.aborted) return;
    entries = answer;
    draw();
  },
};
