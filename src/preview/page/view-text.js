// Template and text side by side; a line of one points to its lines in the other.
import { h, put, counted, note, say } from "./dom.js";
import { CodePane, changedLines } from "./code.js";
import { state, set, setting } from "./state.js";
import { model } from "./model.js";
import { problem, empty } from "./problem.js";
import { pick } from "./picker.js";

let now = null; // what is shown: the answer for the chosen field
let file = null; // the template shown
let parts = null;

const text = new CodePane({
  id: "text",
  label: "Rendered text, by line",
  hover: (line) => pointAt("text", line),
  choose: (line) => choose("text", line),
});
const template = new CodePane({
  id: "template",
  label: "Template, by line",
  hover: (line) => pointAt("template", line),
  choose: (line) => choose("template", line),
});

function build(element) {
  parts = {
    fields: h("div", { class: "fields", role: "tablist", "aria-label": "Fields" }),
    panes: h("div", { class: "panes" }),
    files: h("div", { class: "files", role: "tablist", "aria-label": "Template files" }),
    textMeta: h("span", { class: "meta", id: "text-meta" }),
    textNotes: h("div", { class: "notes" }),
    templateNotes: h("div", { class: "notes" }),
    textBody: h("div", { class: "pane-body" }),
    origin: h("button", { type: "button", class: "origin only-narrow", hidden: true, onclick: () => template.element.scrollIntoView({ block: "center" }) }),
    templateBody: h("div", { class: "pane-body" }, template.element),
    copy: h("button", { type: "button", class: "quiet", title: "Copy the text (c)", onclick: copy }, "Copy"),
    wrap: h("button", { type: "button", class: "quiet toggle", title: "Wrap long lines (w)", onclick: wrap }, "Wrap"),
  };
  put(
    parts.panes,
    h(
      "section",
      { class: "pane template", "aria-label": "Template" },
      h("div", { class: "pane-head" }, h("span", { class: "title" }, "Template"), parts.files, h("span", { class: "gap" })),
      parts.templateNotes,
      parts.templateBody,
    ),
    h(
      "section",
      { class: "pane made-text", "aria-label": "Rendered text" },
      h("div", { class: "pane-head" }, h("span", { class: "title" }, "Text"), parts.textMeta, h("span", { class: "gap" }), parts.wrap, parts.copy),
      parts.textNotes,
      parts.textBody,
      parts.origin,
    ),
  );
  put(element, h("div", { class: "text-view" }, parts.fields, parts.panes));
  const wrapped = setting("wrap") ?? "yes";
  parts.panes.classList.toggle("wrap", wrapped === "yes");
  parts.wrap.setAttribute("aria-pressed", String(wrapped === "yes"));
}

function wrap() {
  const on = parts.panes.classList.toggle("wrap");
  parts.wrap.setAttribute("aria-pressed", String(on));
  setting("wrap", on ? "yes" : "no");
}

async function copy() {
  if (!now || now.error) return note("There is no text to copy");
  try {
    await navigator.clipboard.writeText(now.text);
    note(now.text.includes("***") ? "Copied; secrets are masked as ***" : "Copied");
  } catch {
    note("The browser does not allow copying here");
  }
}

// Lines that belong together.

function originsOf(line) {
  return now?.origins?.[line - 1] ?? [];
}

/** The lines of the shown template that a line of the text comes from. */
const here = (line) => originsOf(line).filter((origin) => origin.file === file?.id).map((origin) => origin.line);

/** The lines of the text that come from a line of the shown template. */
function made(line) {
  const found = [];
  (now?.origins ?? []).forEach((origins, index) => {
    if (origins.some((origin) => origin.file === file?.id && origin.line === line)) found.push(index + 1);
  });
  return found;
}

function pointAt(side, line) {
  if (line === null) return restore();
  if (side === "text") template.link(here(line));
  else text.link(made(line));
}

/** Back to what the current line points at. */
function restore() {
  const [side, line] = chosenLine();
  text.link(side === "template" ? made(line) : []);
  template.link(side === "text" ? here(line) : []);
}

/** The chosen line: `12` is one of the text, `t12` one of the template file that is shown. */
function chosenLine() {
  const parts = /^(t?)(\d+)$/.exec(state.line ?? "");
  return parts ? [parts[1] ? "template" : "text", Number(parts[2])] : [null, 0];
}

function choose(side, line) {
  set({ line: side === "text" ? String(line) : `t${line}` });
}

function follow() {
  const [side, line] = chosenLine();
  if (side === "text") {
    const origins = originsOf(line);
    if (origins.length && !origins.some((origin) => origin.file === file?.id)) showFile(origins[0].file);
  }
  text.setCurrent(side === "text" ? line : 0, false);
  template.setCurrent(side === "template" ? line : 0, false);
  restore();
  // Where the template is below, out of sight, a line says where it is.
  const origin = side === "text" && !now?.error ? here(line) : [];
  parts.origin.hidden = !origin.length;
  parts.origin.textContent = origin.length ? `line ${line} ← ${file.label}:${origin.map((one) => one + file.first - 1).join(", ")}` : "";
  if (!now || now.error || !side) return;
  if (side === "text") {
    const lines = here(line);
    if (lines.length) template.reveal(lines[0]);
    say(lines.length ? `line ${line} comes from ${file.label}, line ${lines.map((one) => one + file.first - 1).join(", ")}` : `line ${line}: its template line is not known`);
  } else {
    const lines = made(line);
    if (lines.length) text.reveal(lines[0]);
    say(lines.length ? `makes ${counted(lines.length, "line")} of the text, the first is line ${lines[0]}` : "no line of the text comes from here");
  }
}

// What is drawn.

function drawFields(run) {
  const all = run.fields({ given: true });
  // A field that only the operator sets has a tab while it is looked at.
  const extra = run.fields().find((field) => field.own && field.task === state.task && field.field === state.field);
  const fields = extra ? [...all, extra] : all;
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const buttons = [...parts.fields.querySelectorAll("[role=tab]")];
    const next = by && buttons[buttons.indexOf(event.target) + by];
    if (!next) return;
    event.preventDefault();
    next.click();
  };
  const had = parts.fields.contains(document.activeElement);
  const task = run.task(state.task);
  put(
    parts.fields,
    fields.map((field) => {
      const chosen = field.task === state.task && field.field === state.field;
      return h(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-selected": String(chosen),
          tabindex: chosen ? "0" : "-1",
          onclick: () => set({ task: field.task, map: field.task === state.task ? state.map : null, field: field.field, line: null }, { step: true }),
          onkeydown: move,
        },
        field.label,
      );
    }),
    task?.mapped ? h("button", { type: "button", class: "map", title: "Choose the map index", onclick: () => chooseIndex(task) }, `map_index ${state.map}${task.length === null ? "" : ` of ${task.length}`}`) : null,
  );
  const chosen = parts.fields.querySelector("[aria-selected=true]");
  if (chosen && had) chosen.focus();
  if (chosen) {
    const box = parts.fields;
    const left = chosen.offsetLeft - box.offsetLeft;
    if (left < box.scrollLeft || left + chosen.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = left - 40;
  }
}

function chooseIndex(task) {
  pick({
    title: "Map index",
    current: state.map,
    items: Array.from({ length: task.length ?? 1 }, (_, index) => ({ label: String(index), value: String(index) })),
    chosen: (map) => set({ map, line: null }, { step: true }),
  });
}

function drawFiles() {
  put(
    parts.files,
    now.files.map((one) =>
      h(
        "button",
        { type: "button", role: "tab", title: one.path, "aria-selected": String(one === file), dataset: { id: one.id }, onclick: () => showFile(one.id, true) },
        one.label,
      ),
    ),
  );
}

function showFile(id, byHand = false) {
  const other = file?.key;
  file = now.files.find((one) => one.id === id) ?? now.files[0] ?? null;
  for (const button of parts.files.children) button.setAttribute("aria-selected", String(button.dataset.id === file?.id));
  if (!file) return template.show({ text: "" });
  const place = now.error?.place;
  const error = place && String(place.template) === file.id ? caret(place, file.source) : null;
  template.show({ text: file.source, html: file.html, first: file.first, error });
  if (other !== file.key) template.element.scrollTop = 0;
  if (error) {
    template.element.scrollLeft = 0;
    template.reveal(error.line);
  }
  if (byHand) {
    if (chosenLine()[0] === "template") set({ line: null });
    else restore();
  }
}

/** Line, column and length in characters of a place whose range counts bytes. */
function caret(place, source) {
  const range = place.range;
  let length = 1;
  if (Array.isArray(range)) {
    const bytes = new TextEncoder().encode(source).slice(range[0], range[1]);
    length = [...new TextDecoder().decode(bytes).split("\n")[0]].length || 1;
  }
  return { line: place.line, column: place.column, range: length };
}

function drawText(before) {
  const flash = before !== null && !now.error ? changedLines(before, now.text) : [];
  if (now.error) {
    put(parts.textBody, problem(now.error, { open: now.error.place?.template === null || now.error.place?.template === undefined ? null : openPlace }));
    parts.textMeta.textContent = "does not render";
    return;
  }
  if (text.element.parentNode !== parts.textBody) put(parts.textBody, text.element);
  text.show({ text: now.text, html: now.html, flash });
  parts.textMeta.textContent = endings(now);
  if (flash.length) {
    text.reveal(flash[0]);
    say(`the text changed in ${counted(flash.length, "line")}`);
  }
}

function endings(answer) {
  if (answer.text === "") return "empty";
  const ends = /\n*$/.exec(answer.text)[0].length;
  const lines = answer.text.split("\n").length - (ends ? 1 : 0);
  const tail = ends === 0 ? "no newline at its end" : ends === 1 ? null : `${ends} newlines at its end`;
  return [counted(lines, "line"), answer.nested ? "a value of several parts" : null, tail].filter(Boolean).join(" · ");
}

function drawNotes() {
  put(
    parts.textNotes,
    now.rendered ? null : h("p", {}, "Not a template: Airflow leaves this value as it is."),
    now.assumed.length && !now.error ? h("p", { class: "warn" }, "Assumed, because the scenario does not say: ", h("span", { class: "mono" }, now.assumed.join(", "))) : null,
    now.origins === null && !now.error && now.rendered ? h("p", {}, "Which line comes from where cannot be told for this text.") : null,
  );
  put(parts.templateNotes, file?.inline ? h("p", {}, "Written in ", h("span", { class: "mono" }, file.path)) : null);
}

function openPlace(place) {
  showFile(String(place.template), true);
  template.element.focus();
  template.reveal(place.line);
}

export const textView = {
  id: "text",
  label: "Text",
  about: "run",
  needsHeight: true,
  keys: { c: copy, w: wrap },
  line: follow,
  async show(element, { run, signal }) {
    if (!parts) build(element);
    drawFields(run);
    if (!state.field) {
      now = null;
      put(parts.textBody, empty("This run has no template fields", "Its tasks have none, or the Dag has no tasks."));
      put(parts.files);
      put(parts.textNotes);
      put(parts.templateNotes);
      file = null;
      parts.textMeta.textContent = "";
      template.show({ text: "" });
      return;
    }
    const answer = await model.render(state, signal);
    if (!signal.aborted) take(answer);
  },

  /** Once it is in the page, places have places. */
  entered() {
    follow();
    if (now?.error?.place && String(now.error.place.template) === file?.id) template.reveal(now.error.place.line);
  },

  /** After an edit: the text at once, before everything else is read again. */
  async early(signal) {
    if (!state.field || !now) return;
    try {
      const answer = await model.render(state, signal);
      if (!signal.aborted && answer.of === now.of) take(answer);
    } catch {
      // The run may be gone, or its pipeline cannot be read: what follows tells.
    }
  },
};

function take(answer) {
  const same = now && now.of === answer.of;
  if (same && now.whole === answer.whole) return;
  const before = same && !now.error ? now.text : null;
  now = answer;
  if (!same) text.element.scrollTop = 0;
  const wrong = now.error?.place?.template;
  const kept = now.files.find((one) => one.key === file?.key && (same || chosenLine()[0]));
  const wanted = wrong === null || wrong === undefined ? kept?.id : String(wrong);
  drawFiles();
  showFile(wanted);
  drawText(before);
  drawNotes();
  follow();
}
