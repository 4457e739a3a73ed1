// The head of a run: which run this is, and what made it.
import { $, h, put, instant, counted } from "./dom.js";
import { state } from "./state.js";

const EVENTS_SHOWN = 3;

/** Shows the head of a run, or of the scenario when there is none. */
export function head(run) {
  const box = $("head");
  if (!run) {
    put(box, h("h1", {}, state.store ? "open queue" : (state.scenario ?? state.pipeline ?? "No pipeline")));
    return;
  }
  put(
    box,
    h(
      "h1",
      {},
      h("span", {}, run.dag),
      run.key === null ? (run.logical ? h("span", { class: "mono" }, instant(run.logical)) : h("span", { class: "none" }, "no partition key")) : h("span", { class: "mono" }, run.key === "" ? '""' : run.key),
    ),
    h("p", { class: "facts" }, dateOf(run)),
    h("p", { class: "facts" }, madeBy(run)),
    h("p", { class: "facts id", title: run.id }, "run_id ", h("span", { class: "mono" }, run.id)),
  );
}

function dateOf(run) {
  const parts = [];
  if (run.date) parts.push(["partition_date ", h("b", {}, instant(run.date))]);
  else if (run.key !== null) parts.push(["no partition_date"]);
  if (run.reason) parts.push([run.reason]);
  if (run.logical) parts.push(["logical_date ", h("b", {}, instant(run.logical))]);
  return parts.map((part, index) => (index ? [h("span", { class: "sep" }, "·"), part] : part));
}

function madeBy(run) {
  if (!run.events.length) return run.origin;
  const shown = run.events.slice(0, EVENTS_SHOWN);
  const more = run.events.length - shown.length;
  return [
    "from ",
    shown.map((event, index) => [
      index ? ", " : null,
      event.asset,
      event.key === null ? null : [" ", h("span", { class: "mono" }, `"${event.key}"`)],
    ]),
    more ? ` and ${counted(more, "more event")}` : null,
  ];
}
