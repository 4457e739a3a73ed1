// Who produces, consumes and reads each asset.
import { h, put, counted } from "./dom.js";
import { model } from "./model.js";
import { state } from "./state.js";
import { matches } from "./virtual.js";
import { empty } from "./problem.js";

let assets = [];
let parts = null;
let leave = null;

function build(element) {
  parts = {
    search: h("input", { type: "search", placeholder: "Asset or Dag  ( / )", "aria-label": "Search assets", autocomplete: "off", spellcheck: "false", oninput: draw }),
    count: h("span", { class: "meta", role: "status" }),
    body: h("tbody"),
    none: h("div"),
  };
  put(
    element,
    h("div", { class: "tools" }, parts.search, h("span", { class: "gap" }), parts.count),
    h(
      "table",
      { class: "stack assets" },
      h("thead", {}, h("tr", {}, ["Asset", "Produced by", "Consumed by", "Read by", "Events here"].map((name) => h("th", { scope: "col" }, name)))),
      parts.body,
    ),
    parts.none,
  );
}

/** Puts a name into the search box, as the graph does. */
export function searchAssets(name) {
  wanted = name;
}
let wanted = null;

function draw() {
  const query = parts.search.value.trim();
  const shown = assets.filter((asset) => !query || matches(query, [asset.name, asset.uri, ...[...asset.producers, ...asset.consumers, ...asset.readers].map(nameOf)].join(" ")));
  put(parts.body, shown.map(row));
  parts.count.textContent = shown.length === assets.length ? counted(assets.length, "asset") : `${shown.length} of ${counted(assets.length, "asset")}`;
  put(parts.none, shown.length ? null : assets.length ? empty("Nothing matches", `No asset or Dag has “${query}” in its name.`) : empty("No assets", "This pipeline declares none."));
}

const nameOf = (who) => (who.task_id ? `${who.dag_id}.${who.task_id}` : who.dag_id);

function row(asset) {
  const dags = (list, none) => (list.length ? list.map((who, index) => [index ? ", " : null, dag(who)]) : h("span", { class: "soft" }, none));
  return h(
    "tr",
    {},
    h("td", { "data-label": "Asset" }, h("b", {}, asset.name), asset.kind === "alias" ? [" ", h("span", { class: "tag" }, "alias")] : null, asset.uri && asset.uri !== asset.name ? h("div", { class: "soft mono" }, asset.uri) : null),
    h("td", { "data-label": "Produced by" }, dags(asset.producers, "nobody here")),
    h("td", { "data-label": "Consumed by" }, dags(asset.consumers, "nobody")),
    h("td", { "data-label": "Read by" }, asset.readers.length ? dags(asset.readers) : null),
    h("td", { "data-label": "Events here" }, asset.events === null ? "" : String(asset.events)),
  );
}

function dag(who) {
  const run = model.scene?.runs.find((one) => one.dag === who.dag_id);
  if (!run) return h("span", { class: "mono" }, nameOf(who));
  return h("button", { type: "button", class: "link mono", title: `Show a run of ${run.dag}`, onclick: () => leave(run) }, nameOf(who));
}

export const assetsView = {
  id: "assets",
  label: "Assets",
  about: "pipeline",
  async show(element, { signal, chooseRun }) {
    if (!parts) build(element);
    leave = (run) => chooseRun(run, { view: "text" });
    const graph = await model.graph(state, signal);
    if (signal.aborted) return;
    assets = graph.assets;
    if (wanted !== null) {
      parts.search.value = wanted;
      wanted = null;
    }
    draw();
  },
};
