// A list of any length with rows of one height: only what is in view is in the page.
import { h } from "./dom.js";

const SPARE = 8;

export class VirtualList {
  /**
   * `row(item, index)` makes the content of a row; `choose(item, index)` is called by click, Enter and arrows.
   * `role`, `label` and `height` describe the list.
   */
  constructor({ row, choose, height, label, id }) {
    this.items = [];
    this.row = row;
    this.choose = choose;
    this.height = height;
    this.id = id;
    this.selected = -1;
    this.space = h("div", { class: "v-space", role: "presentation" });
    this.element = h("div", { class: "v-list", id, role: "listbox", "aria-label": label, tabindex: "0" }, this.space);
    this.drawn = new Map();
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("click", (event) => {
      const hit = event.target.closest("[data-index]");
      if (hit) this.pick(Number(hit.dataset.index));
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const last = this.items.length - 1;
    const to = {
      ArrowDown: this.selected + 1,
      ArrowUp: this.selected - 1,
      PageDown: this.selected + page,
      PageUp: this.selected - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.pick(Math.max(0, Math.min(last, to)));
  }

  pick(index) {
    if (index < 0 || index >= this.items.length) return;
    this.select(index);
    this.choose(this.items[index], index);
  }

  /** Shows other items; the row at `selected` is marked. */
  show(items, selected) {
    this.items = items;
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.space.style.height = `${items.length * this.height}px`;
    this.select(selected, false);
  }

  select(index, reveal = true) {
    const before = this.drawn.get(this.selected);
    if (before) before.setAttribute("aria-selected", "false");
    this.selected = index;
    if (reveal && index >= 0) this.reveal(index);
    this.draw();
    const now = this.drawn.get(index);
    if (now) {
      now.setAttribute("aria-selected", "true");
      this.element.setAttribute("aria-activedescendant", now.id);
    } else {
      this.element.removeAttribute("aria-activedescendant");
    }
  }

  reveal(index) {
    const top = index * this.height;
    const bottom = top + this.height;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (bottom > this.element.scrollTop + this.element.clientHeight) {
      this.element.scrollTop = bottom - this.element.clientHeight;
    }
  }

  draw() {
    const from = Math.max(0, Math.floor(this.element.scrollTop / this.height) - SPARE);
    const shown = Math.ceil(this.element.clientHeight / this.height) + 2 * SPARE;
    const to = Math.min(this.items.length, from + shown);
    for (const [index, element] of this.drawn) {
      if (index < from || index >= to) {
        element.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = from; index < to; index += 1) {
      if (this.drawn.has(index)) continue;
      const element = h(
        "div",
        {
          class: "v-row",
          id: `${this.id}-${index}`,
          role: "option",
          "aria-selected": index === this.selected ? "true" : "false",
          "aria-setsize": String(this.items.length),
          "aria-posinset": String(index + 1),
          dataset: { index: String(index) },
          style: { top: `${index * this.height}px`, height: `${this.height}px` },
        },
        this.row(this.items[index], index),
      );
      this.drawn.set(index, element);
      this.space.append(element);
    }
  }
}

/** Whether every word of a query is somewhere in a text, letter case aside. */
export function matches(query, text) {
  const where = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => where.includes(word));
}
