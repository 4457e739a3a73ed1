// A dialog with a filter box and a list: pipelines, scenarios, fields, the other run of a comparison.
import { h, put, $ } from "./dom.js";
import { VirtualList, matches } from "./virtual.js";

let open = null;

/**
 * Asks for one of `items` (`{label, detail, value}`); `chosen` is called with its value. The element that had the
 * focus has it again afterwards.
 */
export function pick({ title, items, current, chosen, empty = "Nothing here." }) {
  const dialog = $("picker");
  const before = document.activeElement;
  const list = new VirtualList({
    id: "picker-list",
    label: title,
    height: 40,
    row: (item) => [
      h("span", { class: "pick-label" }, item.label),
      item.detail ? h("span", { class: "pick-detail" }, item.detail) : null,
    ],
    choose: (item, index) => {
      if (open?.moving) return;
      list.selected = index;
      close(item.value);
    },
  });
  list.element.removeAttribute("tabindex");
  const input = h("input", {
    type: "text",
    class: "pick-input",
    placeholder: `${title} …`,
    "aria-label": title,
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "picker-list",
    autocomplete: "off",
    spellcheck: "false",
  });
  const none = h("p", { class: "empty-line", hidden: true });
  let shown = items;

  const refresh = () => {
    const query = input.value.trim();
    shown = query ? items.filter((item) => matches(query, `${item.label} ${item.detail ?? ""}`)) : items;
    const at = shown.findIndex((item) => item.value === current);
    list.show(shown, at >= 0 && !query ? at : 0);
    none.hidden = shown.length > 0;
    none.textContent = items.length ? `Nothing matches “${query}”.` : empty;
    list.reveal(Math.max(0, list.selected));
    mark();
  };
  const mark = () => {
    const id = list.element.getAttribute("aria-activedescendant");
    if (id) input.setAttribute("aria-activedescendant", id);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = (value) => {
    open = null;
    dialog.close();
    put(dialog);
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    if (value !== undefined) chosen(value);
  };

  input.addEventListener("input", refresh);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (shown[list.selected]) close(shown[list.selected].value);
    } else if (["ArrowDown", "ArrowUp", "PageDown", "PageUp"].includes(event.key)) {
      open.moving = true;
      list.key(event);
      open.moving = false;
      mark();
    }
  });
  dialog.oncancel = (event) => {
    event.preventDefault();
    close();
  };
  dialog.onclick = (event) => {
    if (event.target === dialog) close();
  };
  open = { moving: false };
  put(dialog, h("div", { class: "pick-box" }, input, list.element, none));
  dialog.setAttribute("aria-label", title);
  dialog.showModal();
  refresh();
  input.focus();
}
