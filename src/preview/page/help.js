// The keys.
import { $, h, put } from "./dom.js";

const KEYS = [
  [["j", "k"], "next, previous run"],
  [["[", "]"], "previous, next field"],
  [["↑", "↓"], "line by line; the other side follows"],
  [["1", "…", "9"], "views"],
  [["/"], "search here, or filter the runs"],
  [["p"], "choose a pipeline"],
  [["s"], "choose a scenario"],
  [["f"], "choose a field"],
  [["x"], "compare this run with another"],
  [["e"], "what if: emit an event, type a key"],
  [["c"], "copy the text"],
  [["w"], "wrap long lines"],
  [["d"], "dark or light"],
  [["?"], "this help"],
  [["Esc"], "close, clear, let go of the line"],
];

/** Opens the help. */
export function help() {
  const dialog = $("help");
  put(
    dialog,
    h("button", { type: "button", class: "close", onclick: () => dialog.close() }, "Close"),
    h("h2", {}, "Keys"),
    h(
      "div",
      { class: "columns" },
      KEYS.map(([keys, what]) => h("div", { class: "keys" }, h("span", {}, what), h("span", {}, keys.map((key) => [h("kbd", {}, key), " "])))),
    ),
    h("p", { class: "foot" }, "Files are read again when they are saved. What is chosen stands in the address: copy it to show somebody the same. Everything here is also JSON: ", h("a", { href: "/api/openapi.json" }, "/api/openapi.json"), "."),
  );
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close();
  };
  dialog.showModal();
}
