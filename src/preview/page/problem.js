// Errors, told where they happened.
import { h } from "./dom.js";
import { ApiError } from "./api.js";

/** A box that tells one error. `open(place)` makes its place a link. */
export function problem(error, { heading = true, open = null } = {}) {
  const place = error.place;
  const where = place ? `${place.path}${place.line ? `:${place.line}` : ""}${place.column ? `:${place.column}` : ""}` : null;
  const excerpt = lines(error.excerpt);
  const kind = error.kind && /^[A-Z]/.test(error.kind) ? error.kind : null;
  return h(
    "div",
    { class: "problem", role: "alert" },
    heading && (kind || where)
      ? h(
          "h3",
          {},
          kind,
          kind && where ? " in " : null,
          where && open ? h("button", { type: "button", class: "link mono", onclick: () => open(place) }, where) : null,
          where && !open ? h("span", { class: "mono" }, where) : null,
        )
      : null,
    h("p", { class: "message" }, error.message),
    excerpt ? h("pre", { class: "excerpt", tabindex: "0", "aria-label": "Excerpt" }, excerpt) : null,
    error.hint ? h("p", { class: "hint" }, h("b", {}, "Hint: "), error.hint) : null,
  );
}

/** The lines of the file in an excerpt of a terminal: message and help stand beside it already. */
function lines(excerpt) {
  if (!excerpt) return null;
  const all = excerpt.trimEnd().split("\n");
  const from = all.findIndex((line) => /^\s*-->/.test(line));
  if (from < 0) return excerpt;
  const help = all.findIndex((line, index) => index > from && /^\s*= /.test(line));
  const kept = all.slice(from, help < 0 ? all.length : help);
  while (/^\s*\|?\s*$/.test(kept.at(-1) ?? "-")) kept.pop();
  return kept.join("\n");
}

/** Everything that was wrong with a request. */
export function problems(failure, options) {
  if (failure instanceof ApiError) return [failure.error, ...failure.others].map((error) => problem(error, options));
  return [problem({ kind: "page", message: `The page itself failed: ${failure?.message ?? failure}` }, options)];
}

/** A calm word where there is nothing to show. */
export function empty(title, ...text) {
  return h("div", { class: "empty" }, h("h2", {}, title), text.map((part) => (part instanceof Node ? part : h("p", {}, part))));
}
