// Starts the page: what is chosen, what is drawn when it changes, and what the keyboard does.
import { $, h, put, typing, say, note } from "./dom.js";
import { listen } from "./api.js";
import { state, set, watch, readAddress, setting } from "./state.js";
import { model } from "./model.js";
import { RunList } from "./runs.js";
import { head } from "./head.js";
import { pick } from "./picker.js";
import { problem, problems, empty } from "./problem.js";
import { help } from "./help.js";
import { textView } from "./view-text.js";
import { contextView } from "./view-context.js";
import { whyView } from "./view-why.js";
import { snapshotView, compareView, chooseOther } from "./view-diff.js";
import { graphView } from "./view-graph.js";
import { assetsView } from "./view-assets.js";
import { waitingView } from "./view-waiting.js";
import { whatIfView } from "./view-whatif.js";

const VIEWS = [textView, contextView, whyView, snapshotView, compareView, graphView, assetsView, waitingView, whatIfView];

const runs = new RunList({ chosen: (run) => chooseRun(run) });
let working = null;
let drawn = null;
let newest = null; // the revision the server spoke of last
let before = null; // the run shown last: after an edit its place is taken by the run of the same key

/** Chooses a run; task and field stay where the other run has them too. */
export function chooseRun(run, { view, step = true } = {}) {
  closeRuns();
  const change = { dag: run.dag, run: run.id, line: null };
  if (view) change.view = view;
  else if (currentView().about === "pipeline") change.view = textView.id;
  set(change, { step });
}

function currentView() {
  return VIEWS.find((view) => view.id === state.view) ?? textView;
}

/** Completes what is chosen with what there is: nothing chosen means the first. */
function complete() {
  const pipeline = model.pipeline(state.pipeline) ?? model.firstPipeline();
  if (state.pipeline && pipeline && pipeline.name !== state.pipeline) note(`There is no pipeline ${state.pipeline} here`);
  const change = { pipeline: pipeline?.name ?? state.pipeline };
  const scenario = pipeline?.scenario(state.scenario);
  if (scenario) change.scenario = scenario.name;
  // A pipeline that cannot be read has no scenarios: the chosen one is kept until it can be read again.
  else if (pipeline && !pipeline.problem) change.scenario = state.emit || state.key || state.store ? null : (pipeline.firstScenario()?.name ?? null);
  set(change, { silent: true });
}

function completeRun() {
  const scene = model.scene;
  if (!scene) return null;
  const run = scene.find(state) ?? scene.like(state, before) ?? scene.first();
  if (!run) return null;
  const asked = state.run;
  const moved = before !== null && before.dag === run.dag && before.key === run.key;
  if (asked && run.id !== asked && run.key !== asked && !moved) note("The run that was asked for is not here: this is another one");
  before = run;
  const change = { dag: run.dag, run: run.id };
  const task = run.task(state.task) ?? run.firstTask();
  if (task) {
    change.task = task.id;
    change.map = task.mapped ? (state.map ?? "0") : null;
    change.field = task.fields.includes(state.field) ? state.field : (task.given[0] ?? task.fields[0] ?? null);
  } else Object.assign(change, { task: null, map: null, field: null });
  set(change, { silent: true });
  return run;
}

/** Draws what is chosen. Only the newest drawing reaches the page. */
async function draw({ fresh = false } = {}) {
  working?.abort();
  const abort = new AbortController();
  working = abort;
  busy(true);
  try {
    if (fresh && model.loaded && drawn === currentView()) drawn.early?.(abort.signal);
    if (fresh || !model.loaded) await model.load(abort.signal);
    complete();
    bar();
    await model.loadScene(state, abort.signal);
    if (abort.signal.aborted) return;
    banner();
    const run = completeRun();
    runs.show(model.scene, run, model.pipeline(state.pipeline));
    head(run);
    tabs();
    await show(run, fresh, abort.signal);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    if (problem.status === undefined) console.error(problem);
    // What is there can still be read while the server is away.
    if (problem.status === 0 && drawn) return;
    put($("view"), problems(problem));
    drawn = null;
  } finally {
    if (working === abort) {
      working = null;
      busy(false);
      // A change may have come while the first answer was under way.
      if (newest !== null && model.loaded && newest > model.revision) draw({ fresh: true });
    }
  }
}

async function show(run, fresh, signal) {
  const view = currentView();
  const box = $("view");
  if (view.about === "run" && !run) {
    drawn = null;
    put(box, noRuns());
    return;
  }
  view.element ??= h("div", { class: `view-box view-${view.id}` });
  if (view.needsHeight) view.element.style.height = "100%";
  const other = drawn !== view;
  await view.show(view.element, { run, scene: model.scene, fresh, signal, entered: other, chooseRun, go });
  if (signal.aborted) return;
  if (other || view.element.parentNode !== box) {
    put(box, view.element);
    drawn = view;
    view.entered?.();
  }
  document.body.dataset.revision = String(model.revision ?? "");
  document.body.dataset.view = view.id;
  document.body.dataset.about = view.about;
}

function noRuns() {
  const scenario = model.pipeline(state.pipeline)?.scenario(state.scenario);
  if (model.problems(state).length) return empty("These files cannot be read", "What is wrong stands above. The page goes on as soon as it is mended.");
  if (!model.pipeline(state.pipeline)) return empty("No pipeline here", h("p", {}, "Start the preview where there is a ", h("code", {}, "pipeline.yaml"), ", or name its folder."));
  if (!scenario) {
    return empty(
      "This pipeline has no scenario",
      h("p", {}, "A scenario lists the events that happen: add ", h("code", {}, "scenarios/first.yaml"), ". Until then, ", h("button", { type: "button", class: "link", onclick: () => go(whatIfView.id) }, "say what if"), " an event came."),
    );
  }
  return empty(
    "No run comes out of this scenario",
    model.scene?.pending.length
      ? h("p", {}, "Something still waits: see ", h("button", { type: "button", class: "link", onclick: () => go(waitingView.id) }, "what is missing"), ".")
      : "No event of it reaches a Dag that consumes it.",
  );
}

/** Shows another view. */
export function go(id, change = {}) {
  set({ view: id, line: null, ...change }, { step: true });
}

function bar() {
  $("pipeline-name").textContent = state.pipeline ?? "none";
  $("scenario-name").textContent = state.store ? "open queue" : (state.scenario ?? "none");
  const what = state.emit ? state.emit.split("\n").join(", ") : state.key ? `key ${state.key}` : null;
  $("whatif-bar").hidden = what === null;
  $("whatif-text").textContent = what === null ? "" : state.after ? `${what}, after the scenario` : what;
  document.title = [state.scenario, state.pipeline, "partita"].filter(Boolean).join(" · ");
}

function banner() {
  const wrong = model.problems(state);
  const box = $("banner");
  box.hidden = !wrong.length;
  put(box, wrong.slice(0, 5).map((error) => problem(error)), wrong.length > 5 ? h("p", {}, `and ${wrong.length - 5} more`) : null);
}

function tabs() {
  const now = currentView();
  const box = $("views");
  if (!box.childElementCount) {
    put(
      box,
      VIEWS.map((view, index) => [
        index && view.about !== VIEWS[index - 1].about ? h("span", { class: "apart", role: "presentation" }) : null,
        h(
          "button",
          {
            type: "button",
            role: "tab",
            id: `tab-${view.id}`,
            "aria-controls": "view",
            title: `${view.label} (${index + 1})`,
            onclick: () => go(view.id),
          },
          h("span", { dataset: { word: view.label } }, view.label),
          h("i", { class: "badge", hidden: true }),
        ),
      ]),
    );
    box.addEventListener("keydown", moveTab);
  }
  for (const view of VIEWS) {
    const tab = $(`tab-${view.id}`);
    const chosen = view === now;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    const badge = view.badge?.(model) ?? null;
    const mark = tab.querySelector(".badge");
    mark.hidden = badge === null;
    mark.textContent = badge ?? "";
    if (chosen) {
      $("view").setAttribute("aria-labelledby", tab.id);
      const left = tab.offsetLeft - box.offsetLeft;
      if (left < box.scrollLeft || left + tab.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = left - 24;
    }
  }
}

function moveTab(event) {
  const at = VIEWS.indexOf(currentView());
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: VIEWS.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const view = VIEWS[(to + VIEWS.length) % VIEWS.length];
  go(view.id);
  $(`tab-${view.id}`).focus();
}

function busy(on) {
  $("busy").classList.toggle("on", on);
  document.body.dataset.busy = String(on);
}

// What is chosen on top.

function choosePipeline() {
  pick({
    title: "Pipeline",
    current: state.pipeline,
    items: model.pipelines.map((pipeline) => ({ label: pipeline.name, detail: pipeline.problem ? "cannot be read" : pipeline.path, value: pipeline.name })),
    empty: "There is no pipeline here.",
    chosen: (pipeline) => set({ ...PLAIN, pipeline, scenario: null, dag: null, task: null, map: null, field: null }, { step: true }),
  });
}

const OPEN_QUEUE = "\u0000queue";

/** Neither a what-if nor the open queue, and no run yet. */
const PLAIN = { emit: null, after: null, key: null, store: null, run: null, other: null, line: null };

function scenarioItems() {
  const scenarios = model.pipeline(state.pipeline)?.scenarios ?? [];
  const items = scenarios.map((scenario) => ({ label: scenario.name, detail: scenario.problem ? "cannot be read" : `${scenario.runs.length} runs`, value: scenario.name }));
  if (model.store && model.store.pipeline === state.pipeline) items.unshift({ label: "open queue", detail: model.store.path, value: OPEN_QUEUE });
  return items;
}

function chooseScenario() {
  pick({
    title: "Scenario",
    current: state.store ? OPEN_QUEUE : state.scenario,
    items: scenarioItems(),
    empty: "This pipeline has no scenario.",
    chosen: (scenario) => set({ ...PLAIN, ...(scenario === OPEN_QUEUE ? { store: "true" } : { scenario }) }, { step: true }),
  });
}

function chooseField() {
  const run = model.scene?.find(state);
  if (!run) return;
  pick({
    title: "Field",
    current: `${state.task}\n${state.field}`,
    items: run.fields().map((field) => ({ label: field.label, detail: field.own ? "the operator’s own value" : "", value: `${field.task}\n${field.field}` })),
    empty: "This run's tasks have no template fields.",
    chosen: (value) => {
      const [task, field] = value.split("\n");
      set({ task, map: task === state.task ? state.map : null, field, view: textView.id, line: null }, { step: true });
    },
  });
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  setting("theme", next);
  say(`${next} colours`);
}

// The list of runs is a sheet over the page where the page is narrow.

function openRuns() {
  $("runs").classList.add("open");
  $("runs-button").setAttribute("aria-expanded", "true");
  runs.list.draw();
  runs.focus();
}

function closeRuns() {
  if (!$("runs").classList.contains("open")) return;
  $("runs").classList.remove("open");
  $("runs-button").setAttribute("aria-expanded", "false");
  $("runs-button").focus();
}

// The keyboard.

function moveRun(by) {
  const to = runs.neighbour(by);
  // Going through a list leaves no trail for the back button.
  if (to) chooseRun(to, { step: false });
}

function moveField(by) {
  const run = model.scene?.find(state);
  const fields = run?.fields({ given: true }) ?? [];
  const at = fields.findIndex((field) => field.task === state.task && field.field === state.field);
  const next = fields[at + by];
  if (next) set({ task: next.task, map: next.task === state.task ? state.map : null, field: next.field, view: textView.id, line: null }, { step: true });
}

const KEYS = {
  j: () => moveRun(1),
  k: () => moveRun(-1),
  "]": () => moveField(1),
  "[": () => moveField(-1),
  p: choosePipeline,
  s: chooseScenario,
  f: chooseField,
  x: chooseOther,
  e: () => go(whatIfView.id),
  d: theme,
  "?": () => help(),
  "/": () => {
    const search = drawn?.element?.querySelector("input[type=search]");
    if (search) search.focus();
    else {
      if (getComputedStyle($("runs-button")).display !== "none") openRuns();
      $("runs-filter").focus();
      $("runs-filter").select();
    }
  },
};

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if ($("runs").classList.contains("open")) closeRuns();
    else if (typing(event.target)) {
      if (event.target.type === "search" && event.target.value) {
        event.target.value = "";
        event.target.dispatchEvent(new Event("input", { bubbles: true }));
      } else event.target.blur();
      event.preventDefault();
    } else if (state.line) set({ line: null });
    return;
  }
  if (typing(event.target)) return;
  const view = /^[1-9]$/.test(event.key) ? VIEWS[Number(event.key) - 1] : null;
  const act = view ? () => go(view.id) : (drawn?.keys?.[event.key] ?? KEYS[event.key]);
  if (!act) return;
  event.preventDefault();
  act();
});

$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  ($("view").querySelector("[tabindex='0'], button, input") ?? $("view")).focus();
});
$("pipeline-button").addEventListener("click", choosePipeline);
$("scenario-button").addEventListener("click", chooseScenario);
$("theme-button").addEventListener("click", theme);
$("help-button").addEventListener("click", () => help());
$("whatif-close").addEventListener("click", () => set({ ...PLAIN, scenario: state.scenario }, { step: true }));
$("runs-button").addEventListener("click", openRuns);
$("runs-close").addEventListener("click", closeRuns);

addEventListener("hashchange", () => {
  readAddress();
  draw();
});
addEventListener("popstate", () => {
  readAddress();
  draw();
});
watch((changed) => {
  if (changed.length === 1 && changed[0] === "line") drawn?.line?.();
  else draw();
});

readAddress();
draw();

listen({
  changed: (message) => {
    newest = message.revision ?? null;
    if (model.loaded && newest !== model.revision) draw({ fresh: true });
  },
  state: (now) => {
    const before = $("live").dataset.state;
    $("live").dataset.state = now;
    $("live-text").textContent = now === "live" ? "live" : "not connected";
    // The server may have been started again with other files.
    if (now === "live" && before === "lost") {
      note("Connected again");
      draw({ fresh: true });
    }
  },
});
