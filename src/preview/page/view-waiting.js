// Pending partition runs: what came, what is required, what is missing.
import { h, put, instant, counted } from "./dom.js";
import { model } from "./model.js";
import { state, set } from "./state.js";
import { matches } from "./virtual.js";
import { empty } from "./problem.js";

const TICKS_SHOWN = 200;
const SHOWN = 200;

let pending = [];
let queued = [];
let parts = null;

function build(element) {
  parts = {
    search: h("input", { type: "search", placeholder: "Dag, key or asset  ( / )", "aria-label": "Search what waits", autocomplete: "off", spellcheck: "false", oninput: draw }),
    count: h("span", { class: "meta", role: "status" }),
    where: h("span", { class: "row" }),
    body: h("div"),
  };
  put(element, h("div", { class: "tools" }, parts.search, parts.where, h("span", { class: "gap" }), parts.count), parts.body);
}

function draw() {
  const query = parts.search.value.trim();
  const shown = pending.filter((one) => !query || matches(query, one.words));
  const rows = queued.filter((one) => !query || matches(query, one.words));
  parts.count.textContent = shown.length === pending.length ? `${counted(pending.length, "pending run")}` : `${shown.length} of ${counted(pending.length, "pending run")}`;
  put(
    parts.body,
    shown.slice(0, SHOWN).map(one),
    shown.length > SHOWN ? h("p", { class: "empty-line" }, `${counted(shown.length - SHOWN, "more pending run")}: search for a key to see one of them.`) : null,
    rows.length
      ? h("section", { class: "waiting" }, h("h2", {}, "Queued events of Dags without partitions"), rows.map((row) => h("p", {}, h("b", {}, row.dag), " ", row.asset, " ", h("span", { class: "soft" }, instant(row.at)))))
      : null,
    shown.length || rows.length
      ? null
      : pending.length
        ? empty("Nothing matches", `Nothing that waits has “${query}” in it.`)
        : empty("Nothing waits", "Every event that came was used, or reaches no Dag that consumes it."),
  );
}

function one(run) {
  return h(
    "section",
    { class: "waiting" },
    h("h2", {}, run.dag, " ", h("span", { class: "key-text" }, `"${run.key}"`), " ", run.satisfied ? h("span", { class: "tag good" }, "complete, waits for the next pass") : h("span", { class: "tag warn" }, "waits")),
    h("p", { class: "facts" }, run.since ? ["since ", instant(run.since)] : null, run.carried ? [" · carries ", instant(run.carried)] : null, run.stale ? " · the Dag is stale: no pass looks at it" : null, run.outdated ? " · the mappers changed: the next pass drops it" : null),
    run.assets.map(need),
  );
}

function need(asset) {
  return h(
    "div",
    { class: "need" },
    h("div", { class: "asset", "data-sign": asset.satisfied ? "+" : "−" }, asset.name, asset.mapper ? h("div", { class: "soft mono" }, asset.mapper) : null),
    h(
      "div",
      {},
      h("p", {}, status(asset)),
      asset.required && asset.required.length <= TICKS_SHOWN ? ticks(asset) : null,
      asset.received.length ? h("p", { class: "soft" }, "received ", keyList(asset.received)) : null,
      asset.missing.length ? h("p", { class: "soft" }, "missing ", keyList(asset.missing)) : null,
    ),
  );
}

function status(asset) {
  if (asset.error) return h("span", { class: "tag bad" }, `${asset.error.kind}: ${asset.error.message}`);
  if (asset.unreachable) return h("span", { class: "tag bad" }, `can never be satisfied: ${asset.unreachable}`);
  if (!asset.active && asset.received.length) return "inactive, its events do not count";
  if (asset.required !== null) return [h("b", {}, `${asset.matched} of ${asset.required.length} keys`), asset.policy ? [" ", h("span", { class: "mono soft" }, asset.policy)] : null];
  if (asset.satisfied) return "here";
  return asset.received.length ? "does not count" : "no event yet";
}

/** One small box a key of the window: filled when it came. */
function ticks(asset) {
  const missing = new Set(asset.missing);
  const words = `${asset.matched} of ${asset.required.length} keys came`;
  return h("div", { class: "ticks", role: "img", "aria-label": words }, asset.required.map((key) => h("i", { class: missing.has(key) ? "" : "have", title: `${key}: ${missing.has(key) ? "missing" : "received"}` })));
}

function keyList(keys) {
  const shown = keys.length > 6 ? [...keys.slice(0, 3), null, ...keys.slice(-2)] : keys;
  return [
    shown.map((key, index) => [index ? ", " : null, key === null ? "…" : h("span", { class: "key-text" }, `"${key}"`)]),
    keys.length > 6 ? ` (${counted(keys.length, "key")})` : null,
  ];
}

/** Waiting after the scenario, or in the open queue. */
function place(label, store) {
  return h("button", { type: "button", class: "toggle", "aria-pressed": String(state.store === store), onclick: () => set({ store, emit: null, after: null, key: null }, { step: true }) }, label);
}

export const waitingView = {
  id: "waiting",
  label: "Waiting",
  about: "pipeline",
  badge: (all) => all.scene?.pending.length || null,
  async show(element, { signal }) {
    if (!parts) build(element);
    const answer = await model.waiting(state, signal);
    if (signal.aborted) return;
    pending = answer.pending;
    queued = answer.queued;
    const other = model.store && model.store.pipeline === state.pipeline;
    put(
      parts.where,
      other || state.store ? [place("After the scenario", null), place("Open queue", "true")] : null,
    );
    draw();
  },
};
