// Elements made by name. Text goes in by textContent only: nothing that comes from data is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.append(child);
    else element.append(document.createTextNode(String(child)));
  }
}

/** An HTML element: `h("p", {class: "note"}, "text", other)`. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Replaces what an element holds. */
export function put(element, ...children) {
  const fragment = document.createDocumentFragment();
  add(fragment, children);
  element.replaceChildren(fragment);
  return element;
}

export const $ = (id) => document.getElementById(id);

/** `1 event`, `3 events`. */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Whether a key pressed here is text somebody types. */
export function typing(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** An instant as people read it: `2026-03-10 09:00 UTC`; other forms stay as they came. */
export function instant(text) {
  if (!text) return "";
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|\+00:00)$/.exec(text);
  if (!parts) return text;
  const seconds = parts[3] && parts[3] !== ":00" ? parts[3] : "";
  const fraction = parts[4] && !/^\.0+$/.test(parts[4]) ? parts[4] : "";
  return `${parts[1]} ${parts[2]}${seconds || (fraction ? ":00" : "")}${fraction} UTC`;
}

/** A word a screen reader says when something changed. */
export function say(text) {
  const live = $("said");
  if (live) live.textContent = text;
}

/** A short note at the lower edge, gone by itself. */
let noteTimer = 0;
export function note(text) {
  const box = $("note");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => {
    box.hidden = true;
  }, 2200);
  say(text);
}
