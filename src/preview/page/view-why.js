// How a run came to its key and its date: the events, what the mappers made of their keys, which rule decided.
import { h, put, instant, counted } from "./dom.js";
import { state } from "./state.js";
import { model } from "./model.js";
import { empty } from "./problem.js";

const EVENTS_SHOWN = 12;

const key = (text) => h("span", { class: "key-text" }, text === null || text === undefined ? "None" : `"${text}"`);
const arrow = () => h("span", { class: "arrow", "aria-label": "becomes" }, "→");
const className = (mapper) => mapper.split("(")[0];

/** What one mapper made of a key, nested mappers below it. */
function mapped(entry) {
  const steps = entry.steps ?? [];
  const lines = steps.filter((step) => step.depth === 0 || steps.length <= 6);
  return lines.map((step) =>
    h(
      "p",
      { class: "detail", style: { "padding-left": `${step.depth * 16}px` } },
      h("span", { class: "mono" }, step.mapper),
      ": ",
      key(step.key),
      arrow(),
      step.error
        ? h("span", { class: "tag bad" }, `${step.error.kind}: ${step.error.message}`)
        : keys(step.keys ?? []),
    ),
  );
}

function keys(list) {
  if (!list.length) return "no key";
  const shown = list.length > 6 ? [...list.slice(0, 3), null, list.at(-1)] : list;
  return [
    shown.map((one, index) => [index ? ", " : null, one === null ? "…" : key(one)]),
    list.length > 6 ? ` (${counted(list.length, "key")})` : null,
  ];
}

function eventItem(id, trace, run) {
  const dag = run.dag;
  const recorded = trace.find((entry) => entry.decision === "event_recorded" && entry.event === id);
  const map = trace.find((entry) => entry.decision === "key_mapped" && entry.event === id && entry.dag_id === dag);
  const joined = trace.find((entry) => entry.decision === "pending_joined" && entry.event === id && entry.dag_id === dag && entry.conflict);
  const carries = map?.carried;
  return h(
    "li",
    { class: map?.carry_error || joined ? "bad" : "aside" },
    h(
      "p",
      { class: "what" },
      `event ${id} of `,
      h("b", {}, recorded?.asset?.name ?? map?.asset?.name ?? "an asset"),
      " ",
      key(recorded?.partition_key ?? map?.partition_key ?? null),
      recorded?.partition_date ? [" dated ", instant(recorded.partition_date)] : null,
    ),
    h("p", { class: "detail" }, recorded ? instant(recorded.at) : "emitted before this trace begins", emitter(run, recorded)),
    map ? mapped(map) : null,
    carries ? h("p", { class: "detail" }, "carries the date ", instant(carries)) : null,
    map?.carry_error ? h("p", { class: "detail" }, h("span", { class: "tag bad" }, `no date is carried: ${map.carry_error.kind}: ${map.carry_error.message}`)) : null,
    joined ? h("p", { class: "detail" }, h("span", { class: "tag warn" }, "its date differs from the one carried so far: none is carried now")) : null,
  );
}

/** The run whose task emitted an event, as a link to it. */
function emitter(run, recorded) {
  const event = recorded && run.events.find((one) => one.run && one.asset === recorded.asset.name && one.key === recorded.partition_key && Date.parse(one.at) === Date.parse(recorded.at));
  return event ? source(event) : null;
}

function source(event) {
  if (!event.dag) return null;
  const run = model.scene.find(event);
  if (!run) return [", emitted by ", h("span", { class: "mono" }, event.dag)];
  return [", emitted by ", h("button", { type: "button", class: "link", onclick: () => leave(run, { view: "why" }) }, `${run.dag} ${run.key ?? run.id}`)];
}

/** Which rule gave the date, in a sentence. */
function rule(date) {
  const anchors = date?.anchors ?? [];
  const said = anchors.filter((anchor) => anchor.date);
  switch (date?.rule) {
    case "decoded":
      return ["Decoded from the key by ", list(said.map((anchor) => `${className(anchor.mapper)} of ${anchor.asset.name}`)), "."];
    case "carried":
      return "Carried by the events; no mapper decodes the key.";
    case "no_date":
      return "No date: no mapper decodes the key, and the events carried none or different ones.";
    case "conflict":
      return ["No date: the mappers disagree, and a carried date does not count then: ", list(said.map((anchor) => `${className(anchor.mapper)} of ${anchor.asset.name} says ${anchor.date}`)), "."];
    case "failed":
      return `No date: ${className(date.mapper)} of ${date.asset.name} cannot decode the key, and a carried date does not count then: ${date.error.kind}: ${date.error.message}`;
    case "not_partitioned":
      return "The run is not for a partition.";
    default:
      return null;
  }
}

const list = (items) => items.map((item, index) => (index ? [", ", item] : item));

/** A run that is not for a partition: what it took, in a sentence and a list. */
function plain(run) {
  return h(
    "section",
    {},
    h("h2", {}, "Why this run"),
    h("p", {}, `${run.origin[0].toUpperCase()}${run.origin.slice(1)}${run.reason ? `: ${run.reason}` : ""}.`),
    run.events.length
      ? h("ul", { class: "steps" }, run.events.slice(0, EVENTS_SHOWN).map((event) => h("li", { class: "aside" }, h("p", { class: "what" }, h("b", {}, event.asset), event.key === null ? null : [" ", key(event.key)]), h("p", { class: "detail" }, instant(event.at), source(event)))))
      : null,
    run.events.length > EVENTS_SHOWN ? h("p", { class: "soft" }, counted(run.events.length - EVENTS_SHOWN, "more event")) : null,
  );
}

function structured(run, trace) {
  if (run.key === null) return plain(run);
  const created = trace.find((entry) => entry.decision === "run_created" && entry.run_id === run.id);
  const ids = created?.events ?? [];
  const shown = ids.length > EVENTS_SHOWN ? [...ids.slice(0, EVENTS_SHOWN - 1), ids.at(-1)] : ids;
  const sentence = rule(created?.date);
  return [
    h(
      "section",
      {},
      h("h2", {}, "The key ", key(run.key)),
      ids.length
        ? h(
            "ol",
            { class: "steps" },
            shown.map((id, index) => [
              index === EVENTS_SHOWN - 1 && ids.length > EVENTS_SHOWN ? h("li", { class: "aside" }, h("p", { class: "detail" }, counted(ids.length - EVENTS_SHOWN, "more event"))) : null,
              eventItem(id, trace, run),
            ]),
            h("li", {}, h("p", { class: "what" }, "the run ", key(run.key), " is made"), created ? h("p", { class: "detail" }, instant(created.at), " · ", h("span", { class: "mono" }, run.id)) : null),
          )
        : h("p", {}, `${run.origin[0].toUpperCase()}${run.origin.slice(1)}.`),
    ),
    h(
      "section",
      {},
      h("h2", {}, "The date ", run.date ? instant(run.date) : "None"),
      sentence ? h("p", {}, sentence) : h("p", {}, run.reason ?? "It was given with the run."),
      (created?.date?.anchors ?? []).length
        ? h("ul", { class: "steps" }, created.date.anchors.map((anchor) => h("li", { class: "aside" }, h("p", { class: "what" }, h("b", {}, anchor.asset.name), " ", h("span", { class: "mono soft" }, anchor.mapper)), h("p", { class: "detail" }, anchor.date ? ["decodes the key to ", anchor.date] : "decodes no date from the key"))))
        : null,
    ),
  ];
}

let leave = null;

export const whyView = {
  id: "why",
  label: "Why",
  about: "run",
  async show(element, { run, signal, chooseRun }) {
    leave = chooseRun;
    const answer = await model.explain(state, signal);
    if (signal.aborted) return;
    const trace = answer.trace ?? [];
    const told = structured(run, trace);
    const text = typeof answer.text === "string" && answer.text.trim() ? answer.text : null;
    if (!told && !text) {
      put(element, empty("Nothing to explain", "This run was given as it is."));
      return;
    }
    put(
      element,
      h(
        "div",
        { class: "page" },
        told,
        text ? h("details", { open: !trace.length || run.key === null }, h("summary", {}, "As ", h("code", {}, "partita explain"), " tells it"), h("pre", { class: "why", tabindex: "0", "aria-label": "Explanation" }, text)) : null,
      ),
    );
  },
};
