// What if: an event came, or a run for a key was made. The answer is a scenario of its own; nothing is written.
import { h, put, counted, instant, say } from "./dom.js";
import { model } from "./model.js";
import { state, set } from "./state.js";
import { problem, problems, empty } from "./problem.js";

let parts = null;
let asked = 0;

function build(element) {
  parts = {
    events: h("div", { class: "form" }),
    after: h("input", { type: "checkbox", id: "whatif-after" }),
    key: h("input", { type: "text", id: "whatif-key", placeholder: "2026-03-10T09", autocomplete: "off", spellcheck: "false" }),
    record: h("button", { type: "button", hidden: true, onclick: record }, "Record in the open queue"),
    assets: h("datalist", { id: "whatif-assets" }),
    result: h("div", { role: "region", "aria-label": "What it makes", "aria-live": "polite" }),
  };
  put(
    element,
    h(
      "div",
      { class: "page" },
      h(
        "section",
        {},
        h("h2", {}, "What if these events came?"),
        h(
          "form",
          { class: "form", onsubmit: (event) => { event.preventDefault(); ask({ emit: lines().join("\n"), after: parts.after.checked ? "true" : null, key: null }); } },
          parts.assets,
          parts.events,
          h(
            "div",
            { class: "row" },
            h("button", { type: "submit", class: "main" }, "See the runs"),
            h("button", { type: "button", onclick: () => { addLine(); parts.events.lastChild.querySelector("input").focus(); } }, "One more event"),
            parts.record,
            h("label", { class: "check", for: "whatif-after" }, h("span", {}, parts.after, " after the scenario’s own steps")),
          ),
        ),
      ),
      parts.byKey = h(
        "section",
        {},
        h("h2", {}, "Or: what would run for this partition key?"),
        h(
          "form",
          { class: "form", onsubmit: (event) => { event.preventDefault(); ask({ key: parts.key.value, emit: null, after: null }); } },
          h("div", { class: "row" }, h("label", {}, "Partition key", parts.key), h("button", { type: "submit", class: "main", style: { "align-self": "end" } }, "See the runs")),
        ),
      ),
      parts.result,
    ),
  );
  addLine();
}

function addLine(asset = "", key = "", date = "") {
  const number = parts.events.childElementCount + 1;
  const field = (name, label, value, more) => h("label", {}, label, h("input", { type: "text", name, value, autocomplete: "off", spellcheck: "false", ...more }));
  const line = h(
    "div",
    { class: "emit", role: "group", "aria-label": `Event ${number}` },
    field("asset", "Asset", asset, { list: "whatif-assets", required: true }),
    field("key", "Partition key", key, { placeholder: "none" }),
    field("date", "Partition date", date, { placeholder: "none" }),
    h("button", { type: "button", class: "quiet", "aria-label": `Remove event ${number}`, onclick: () => { if (parts.events.childElementCount > 1) line.remove(); else for (const input of line.querySelectorAll("input")) input.value = ""; } }, "Remove"),
  );
  parts.events.append(line);
}

/** The events as `ASSET=KEY@DATE`. */
function lines() {
  return [...parts.events.children]
    .map((line) => {
      const value = (name) => line.querySelector(`[name=${name}]`).value.trim();
      const [asset, key, date] = [value("asset"), value("key"), value("date")];
      if (!asset) return null;
      return `${asset}${key ? `=${key}` : ""}${date ? `@${date}` : ""}`;
    })
    .filter(Boolean);
}

/** The one thing here that writes: events go into the open queue and stay there. */
function record() {
  const emit = lines().join("\n");
  if (!emit) return;
  if (!confirm(`Record ${counted(lines().length, "event")} in ${model.store.path}? They stay there.`)) return;
  ask({ emit, record: true, store: "true", after: null, key: null });
}

async function ask(what) {
  if (!what.emit && !what.key) return;
  const turn = (asked += 1);
  try {
    const answer = await model.whatIf(state, what);
    if (turn === asked) show(answer, what);
  } catch (failure) {
    if (turn === asked) put(parts.result, problems(failure));
  }
}

function show(answer, what) {
  const change = answer.written ? { store: "true", emit: null, after: null, key: null } : { emit: what.emit, after: what.after, key: what.key, store: null };
  say(counted(answer.runs.length, "run"));
  put(
    parts.result,
    h(
      "div",
      { class: "form" },
      h("div", { class: "row" }, h("h2", {}, answer.runs.length ? `${counted(answer.runs.length, "run")} ${answer.written ? (answer.runs.length === 1 ? "was" : "were") : "would be"} made` : answer.written ? "Recorded; no run was made" : "No run would be made"), answer.runs.length ? h("button", { type: "button", onclick: () => enter(change, answer.runs[0]) }, "Show them as the list of runs") : null),
      answer.warnings.map((line) => h("p", {}, h("span", { class: "tag warn" }, "warning"), " ", line)),
    ),
    answer.runs.map((run) => made(run, change)),
    answer.pending.map((one) =>
      h(
        "div",
        { class: "made" },
        h("header", {}, h("b", {}, one.dag), h("span", { class: "mono" }, one.key), h("span", { class: "tag warn" }, "would wait")),
        h("p", { class: "facts" }, one.assets.map((asset) => [h("span", { class: "tag" }, `${asset.satisfied ? "+" : "−"} ${asset.name}`), " "])),
      ),
    ),
    answer.runs.length || answer.pending.length ? null : empty("Nothing happens", "No Dag consumes this asset with this key."),
  );
}

function made(run, change) {
  return h(
    "div",
    { class: "made" },
    h("header", {}, h("b", {}, run.dag), run.key === null ? h("span", { class: "soft" }, "no partition key") : h("span", { class: "mono" }, run.key), h("span", { class: "gap" }), h("button", { type: "button", class: "link", onclick: () => enter(change, run) }, "open")),
    h("p", { class: "facts" }, run.date ? ["partition_date ", instant(run.date)] : "no partition_date", run.reason ? ` · ${run.reason}` : null),
    run.fields({ given: true }).map((field) => textOf(run, field, change)),
  );
}

/** The text of a field, rendered when it is opened. */
function textOf(run, field, change) {
  const body = h("div");
  const chosen = { ...state, ...change, dag: run.dag, run: run.id, task: field.task, map: field.mapped ? "0" : null, field: field.field };
  const open = async (event) => {
    if (!event.target.open || body.childElementCount) return;
    try {
      const answer = await model.render(chosen);
      put(body, answer.error ? problem(answer.error) : h("pre", { tabindex: "0", "aria-label": field.label }, answer.text));
    } catch (failure) {
      put(body, problems(failure));
    }
  };
  return h("details", { ontoggle: open }, h("summary", {}, field.label), body);
}

/** Makes the what-if the list of runs. */
function enter(change, run) {
  set({ ...change, dag: run.dag, run: run.id, view: "text", line: null, other: null }, { step: true });
}

export const whatIfView = {
  id: "whatif",
  label: "What if",
  about: "pipeline",
  async show(element, { signal, entered }) {
    if (!parts) {
      build(element);
      if (state.emit) {
        put(parts.events);
        for (const line of state.emit.split("\n")) {
          const [, asset, key, date] = /^(.*?)(?:=(.*?))?(?:@([^@]*))?$/.exec(line) ?? [null, line, "", ""];
          addLine(asset, key ?? "", date ?? "");
        }
        parts.after.checked = state.after === "true";
      }
      if (state.key) parts.key.value = state.key;
    }
    const graph = await model.graph(state, signal);
    if (signal.aborted) return;
    put(parts.assets, graph.assets.filter((asset) => asset.kind === "asset").map((asset) => h("option", { value: asset.key }, asset.uri ?? "")));
    parts.byKey.hidden = model.pipeline(state.pipeline)?.partitions === false;
    parts.events.classList.toggle("plain", parts.byKey.hidden);
    parts.record.hidden = !(model.store && model.store.pipeline === state.pipeline);
    if (entered) requestAnimationFrame(() => parts.events.querySelector("input")?.focus({ preventScroll: true }));
  },
};
