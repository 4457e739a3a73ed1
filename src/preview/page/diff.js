// Hunks of a line diff, side by side where there is room, one below the other where there is not.
import { h } from "./dom.js";

const narrow = () => matchMedia("(max-width: 760px)").matches;

/**
 * `hunks` are lists of `{tag: "equal" | "delete" | "insert", old, new, parts, newline}`: numbers from 1 or null, and the
 * words of the line as `[changed, text]`.
 */
export function diff(hunks) {
  const draw = narrow() ? unified : sideBySide;
  const last = (side) => hunks.flat().findLast((line) => line[side] !== null);
  const [before, after] = [last("old"), last("new")];
  // Most fields end without a newline: that is worth a word only where one text does and the other does not.
  for (const line of [before, after]) if (line) line.unended = !line.newline && before?.newline !== after?.newline;
  return h(
    "div",
    { class: "diff", tabindex: "0", role: "region", "aria-label": "Differences" },
    hunks.map((hunk) => [header(hunk), draw(hunk)]),
  );
}

function header(hunk) {
  const first = hunk.find((line) => line.old !== null)?.old ?? 0;
  const other = hunk.find((line) => line.new !== null)?.new ?? 0;
  return h("div", { class: "hunk-head" }, `line ${first || "–"}${first === other ? "" : ` → ${other || "–"}`}`);
}

function words(line) {
  const text = line.parts.map(([changed, piece]) => (changed ? h("b", {}, piece) : piece));
  return line.unended !== true ? text : [text, h("span", { class: "soft" }, " no newline at the end")];
}

function sideBySide(hunk) {
  const rows = [];
  let index = 0;
  while (index < hunk.length) {
    if (hunk[index].tag === "equal") {
      rows.push(row(hunk[index], hunk[index]));
      index += 1;
      continue;
    }
    const gone = [];
    const come = [];
    while (index < hunk.length && hunk[index].tag !== "equal") {
      (hunk[index].tag === "delete" ? gone : come).push(hunk[index]);
      index += 1;
    }
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) rows.push(row(gone[at] ?? null, come[at] ?? null));
  }
  return rows;
}

function row(left, right) {
  const cell = (line, side) => [
    h("span", { class: `d-no ${line ? shade(line) : "d-none"}` }, line ? line[side] : ""),
    h("span", { class: `d-src ${line ? shade(line) : "d-none"}`, "data-sign": sign(line) }, line ? words(line) : ""),
  ];
  return h("div", { class: "d-row" }, cell(left, "old"), cell(right, "new"));
}

const shade = (line) => ({ delete: "d-old", insert: "d-new" })[line.tag] ?? "";
const sign = (line) => ({ delete: "−", insert: "+" })[line?.tag] ?? "";

function unified(hunk) {
  return hunk.map((line) =>
    h(
      "div",
      { class: `d-row one ${shade(line)}` },
      h("span", { class: "d-no" }, line.old ?? ""),
      h("span", { class: "d-no" }, line.new ?? ""),
      h("span", { class: "d-sign" }, sign(line)),
      h("span", { class: "d-src" }, words(line)),
    ),
  );
}
