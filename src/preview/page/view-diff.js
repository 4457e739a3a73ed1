// Two comparisons: the run with its accepted snapshot, and two runs with one another.
import { h, put, counted, instant } from "./dom.js";
import { model } from "./model.js";
import { state, set } from "./state.js";
import { diff } from "./diff.js";
import { pick } from "./picker.js";
import { empty, problem } from "./problem.js";
import { ApiError } from "./api.js";

/** `combine_stats.sql`, what it is, and its hunks. */
function part(field, words) {
  const word = words[field.status] ?? [field.status, ""];
  return [
    h("div", { class: "diff-head" }, h("span", { class: "mono" }, field.label), h("span", { class: `tag ${word[1]}` }, word[0]), field.note ? h("span", { class: "soft" }, field.note) : null),
    field.error ? problem(field.error) : null,
    field.hunks.length ? diff(field.hunks) : null,
  ];
}

/** The accepted text is there: facts in the snapshot's header are no part of it, as for `partita snapshot --check`. */
const accepted = (field) => field.status === "same" || field.status === "other_facts";

const SNAPSHOT_WORDS = {
  same: ["as accepted", "good"],
  changed: ["changed", "warn"],
  new: ["no snapshot yet", "accent"],
  damaged: ["the snapshot cannot be read", "bad"],
  error: ["does not render", "bad"],
};

/** Asks about each field, a few at a time, in order. */
async function each(fields, ask) {
  const answers = new Array(fields.length);
  let next = 0;
  const worker = async () => {
    while (next < fields.length) {
      const at = next;
      next += 1;
      answers[at] = await ask(fields[at]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(6, fields.length) }, worker));
  return answers;
}

/** A question about a field whose answer may be an error. */
async function orError(field, asked) {
  try {
    return await asked;
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure;
    return { label: field.label, status: "error", note: null, hunks: [], error: failure.error };
  }
}

export const snapshotView = {
  id: "snapshot",
  label: "Snapshot",
  about: "run",
  async show(element, { run, signal }) {
    if (state.emit || state.key || state.store) {
      put(element, empty("A what-if has no snapshot", "Snapshots belong to the runs of scenarios."));
      return;
    }
    const all = await each(run.fields({ given: true }), (field) => orError(field, model.snapshot(state, field, signal)));
    if (signal.aborted) return;
    const fields = all.filter((field) => field.status !== "not_a_template");
    const changed = fields.filter((field) => !accepted(field));
    const equal = fields.filter(accepted);
    if (!fields.length) {
      put(element, empty("Nothing to compare", "This run has no template fields."));
      return;
    }
    if (fields.every((field) => field.status === "new")) {
      const pending = fields.some((field) => field.pending);
      put(
        element,
        empty(
          pending ? "Snapshots of this run wait to be accepted" : "No snapshot of this run is accepted yet",
          h("p", {}, pending ? null : ["Write them with ", h("code", {}, "partita snapshot"), " and accept"], pending ? "Accept" : null, " them with ", h("code", {}, "partita review"), ". From then on this shows what a change does."),
        ),
      );
      return;
    }
    put(
      element,
      h(
        "div",
        { class: "tools" },
        h("b", {}, changed.length ? `${counted(changed.length, "field")} differ${changed.length === 1 ? "s" : ""} from the accepted snapshot` : "Everything is as accepted"),
        h("span", { class: "gap" }),
        h("span", { class: "meta" }, changed.length ? ["− accepted  + now · accept with ", h("code", {}, "partita review")] : counted(fields.length, "field")),
      ),
      changed.map((field) => part(field, SNAPSHOT_WORDS)),
      equal.length ? h("p", { class: "empty-line" }, changed.length ? "As accepted: " : "Byte for byte: ", h("span", { class: "mono" }, equal.map((field) => (field.status === "same" ? field.label : `${field.label} (its run has other facts)`)).join(", "))) : null,
    );
  },
};

const COMPARE_WORDS = {
  same: ["equal", "good"],
  changed: ["differs", "warn"],
  error: ["does not render", "bad"],
};

function who(run, scenario) {
  return [
    h("b", {}, run.dag),
    " ",
    run.key === null ? h("span", { class: "soft mono" }, run.id) : h("span", { class: "mono" }, run.key),
    run.date ? h("span", { class: "soft" }, ` ${instant(run.date)}`) : null,
    scenario ? [" ", h("span", { class: "tag" }, scenario)] : null,
  ];
}

/** How the other run stands in the address. */
const nameOf = (other) => (other.scenario ? `${other.scenario}\n${other.run.id}` : other.run.id);

function chooseOther() {
  const mine = model.scene?.find(state);
  if (!mine) return;
  pick({
    title: `Compare with another run of ${mine.dag}`,
    items: model.others(state, mine).map((other) => ({
      label: other.run.key ?? other.run.id,
      detail: [other.scenario, other.run.date ? instant(other.run.date) : null].filter(Boolean).join("  ·  "),
      value: nameOf(other),
    })),
    current: state.other,
    empty: `${mine.dag} has no other run in any scenario.`,
    chosen: (other) => set({ other, view: "compare" }, { step: true }),
  });
}

function swap(other, run) {
  set({ run: other.run.id, other: run.id }, { step: true });
}

/** The other run: the one chosen, or the run of the same Dag before this one, or after it, or in another scenario. */
function otherRun(scene, run) {
  const others = model.others(state, run);
  const chosen = others.find((other) => nameOf(other) === state.other);
  if (chosen) return chosen;
  const same = scene.runs.filter((one) => one.dag === run.dag);
  const at = same.indexOf(run);
  const next = same[at - 1] ?? same[at + 1];
  return next ? { scenario: null, run: next } : (others[0] ?? null);
}

export const compareView = {
  id: "compare",
  label: "Compare",
  about: "run",
  keys: { x: chooseOther },
  async show(element, { run, scene, signal }) {
    const other = otherRun(scene, run);
    if (!other) {
      put(element, empty("No other run to compare with", `${run.dag} has no other run in any scenario. A scenario with more events, or a what-if, makes more.`));
      return;
    }
    const fields = await each(run.fields({ given: true }), (field) => orError(field, model.compare(state, field, other, run, signal)));
    if (signal.aborted) return;
    const differing = fields.filter((field) => field.status !== "same");
    const equal = fields.filter((field) => field.status === "same");
    put(
      element,
      h(
        "div",
        { class: "tools" },
        h("button", { type: "button", onclick: chooseOther, title: "Choose the other run (x)" }, "Compare with …"),
        other.scenario ? null : h("button", { type: "button", onclick: () => swap(other, run) }, "Swap"),
        h("span", { class: "gap" }),
        h("span", { class: "meta" }, `${differing.length} of ${counted(fields.length, "field")} differ${differing.length === 1 ? "s" : ""}`),
      ),
      h("div", { class: "sides" }, h("div", { class: "who" }, h("div", { class: "label" }, "Before  −"), who(other.run, other.scenario)), h("div", { class: "who" }, h("div", { class: "label" }, "After  +"), who(run, other.scenario ? (state.scenario ?? "what if") : null))),
      differing.map((field) => part(field, COMPARE_WORDS)),
      equal.length ? h("p", { class: "empty-line" }, differing.length ? "Equal: " : "Every field is equal: ", h("span", { class: "mono" }, equal.map((field) => field.label).join(", "))) : null,
      fields.length ? null : empty("Nothing to compare", "These runs have no template fields."),
    );
  },
};

/** Opens the choice of the other run from anywhere. */
export { chooseOther };
