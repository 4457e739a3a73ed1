// A pane of code: numbered lines, colours from the server, marks, a current line that the keyboard moves.
import { h, put } from "./dom.js";

const CHUNK = 200;

/**
 * Colours as the server sends them, each line as HTML with `span class`, made into words: `[[class, text], ...]` a line.
 * Only text and class names are taken over. A line whose words are not exactly the line of the text is shown without
 * colours rather than with another text.
 */
export function coloured(html, text) {
  const lines = text.split("\n");
  const given = Array.isArray(html) && html.length === lines.length ? html : null;
  return lines.map((line, index) => (given && wordsOf(given[index], line)) ?? (line ? [["", line]] : []));
}

const parser = new DOMParser();

function wordsOf(html, line) {
  if (typeof html !== "string") return null;
  if (!html.includes("<") && !html.includes("&")) return html === line ? (line ? [["", line]] : []) : null;
  const words = [];
  const walk = (node, names) => {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) words.push([names, child.data]);
      else if (child.nodeType === Node.ELEMENT_NODE) {
        const own = (child.getAttribute("class") ?? "").replace(/[^\w\- ]/g, "");
        walk(child, own ? `${names} ${own}`.trim() : names);
      }
    }
  };
  walk(parser.parseFromString(`<!doctype html><body><span>${html}</span>`, "text/html").body, "");
  return words.map((word) => word[1]).join("") === line ? words : null;
}

/** The lines of `after` (from 1) that are not in `before` at their place. */
export function changedLines(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail += 1;
  }
  const kept = new Set(old.slice(head, old.length - tail));
  const changed = [];
  for (let index = head; index < now.length - tail; index += 1) {
    if (!kept.has(now[index])) changed.push(index + 1);
  }
  return changed;
}

export class CodePane {
  /** `hover(line | null)` and `choose(line)` are told of lines from 1. */
  constructor({ id, label, hover, choose }) {
    this.id = id;
    this.hover = hover;
    this.choose = choose;
    this.current = 0;
    this.count = 0;
    this.body = h("div", { class: "code-lines", role: "presentation" });
    this.element = h("div", { class: "code", id, tabindex: "0", role: "listbox", "aria-label": label }, this.body);
    this.element.addEventListener("click", (event) => {
      const line = this.lineAt(event.target);
      if (line && !String(getSelection())) this.go(line);
    });
    this.element.addEventListener("mouseover", (event) => this.hover?.(this.lineAt(event.target)));
    this.element.addEventListener("mouseleave", () => this.hover?.(null));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  lineAt(target) {
    const row = target instanceof Element ? target.closest("[data-line]") : null;
    return row ? Number(row.dataset.line) : null;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / 20) - 2);
    const to = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      PageDown: this.current + page,
      PageUp: this.current - page,
      Home: 1,
      End: this.count,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(Math.max(1, Math.min(this.count, to)));
  }

  go(line) {
    this.setCurrent(line, true);
    this.choose?.(line);
  }

  /** Shows a text whose first line has the number `first` in its file. `flash` lines light up shortly. */
  show({ text, html = null, first = 1, flash = [], error = null }) {
    let lines = coloured(html, text);
    // A newline at the end closes the last line, it does not open another one.
    if (text.endsWith("\n") && lines.length > 1) lines = lines.slice(0, -1);
    this.count = lines.length;
    const lit = new Set(flash);
    const width = `${Math.max(2, String(lines.length + first - 1).length)}ch`;
    const rows = lines.map((words, index) => this.row(words, index + 1, first, lit, error));
    const chunks = [];
    for (let at = 0; at < rows.length; at += CHUNK) {
      chunks.push(h("div", { class: "chunk", role: "presentation" }, rows.slice(at, at + CHUNK)));
    }
    const { scrollTop, scrollLeft } = this.element;
    put(this.body, chunks);
    this.body.style.setProperty("--gutter", width);
    this.element.scrollTop = scrollTop;
    this.element.scrollLeft = scrollLeft;
    if (this.current > this.count) this.current = 0;
    this.setCurrent(this.current, false);
  }

  row(words, number, first, lit, error) {
    const wrong = error && error.line === number;
    const line = h(
      "div",
      {
        class: `line${lit.has(number) ? " flash" : ""}${wrong ? " wrong" : ""}`,
        role: "option",
        id: `${this.id}-${number}`,
        "aria-selected": "false",
        dataset: { line: String(number) },
      },
      h("span", { class: "no", "aria-hidden": "true" }, number + first - 1),
      h("span", { class: "src" }, wrong ? underline(words, error) : words.map(word)),
    );
    return line;
  }

  line(number) {
    return this.element.ownerDocument.getElementById(`${this.id}-${number}`);
  }

  setCurrent(number, reveal) {
    this.line(this.current)?.classList.remove("current");
    this.line(this.current)?.setAttribute("aria-selected", "false");
    this.current = number;
    const row = number ? this.line(number) : null;
    if (row) {
      row.classList.add("current");
      row.setAttribute("aria-selected", "true");
      this.element.setAttribute("aria-activedescendant", row.id);
      if (reveal) this.reveal(number);
    } else this.element.removeAttribute("aria-activedescendant");
  }

  /** Marks lines as belonging to the line under the pointer or the current one in the other pane. */
  link(numbers, reveal = false) {
    for (const row of this.element.querySelectorAll(".line.linked")) row.classList.remove("linked");
    for (const number of numbers) this.line(number)?.classList.add("linked");
    if (reveal && numbers.length) this.reveal(numbers[0]);
  }

  /** Scrolls inside the pane only, so that nothing else on the page moves. */
  reveal(number) {
    const row = this.line(number);
    if (!row) return;
    const pane = this.element.getBoundingClientRect();
    const box = row.getBoundingClientRect();
    const space = Math.min(60, pane.height / 4);
    if (box.top < pane.top + space) this.element.scrollTop -= pane.top + space - box.top;
    else if (box.bottom > pane.bottom - space) this.element.scrollTop += box.bottom - pane.bottom + space;
  }
}

function word([names, text]) {
  return names ? h("span", { class: names }, text) : text;
}

/** The words of a wrong line with the place underlined. */
function underline(words, { column, range }) {
  const from = Math.max(0, (column ?? 1) - 1);
  const length = Math.max(1, range ?? 1);
  if (!column) return words.map(word);
  const made = [];
  let at = 0;
  for (const [names, text] of words) {
    const chars = [...text];
    const inside = chars.map((_, index) => at + index >= from && at + index < from + length);
    let start = 0;
    for (let index = 1; index <= chars.length; index += 1) {
      if (index === chars.length || inside[index] !== inside[start]) {
        const piece = chars.slice(start, index).join("");
        made.push(inside[start] ? h("span", { class: `${names} caret` }, piece) : word([names, piece]));
        start = index;
      }
    }
    at += chars.length;
  }
  if (at <= from) made.push(h("span", { class: "caret" }, " "));
  return made;
}
