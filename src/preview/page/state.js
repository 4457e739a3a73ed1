// What is chosen. It stands in the address, so that a link or a reload shows the same thing.

const SHORT = {
  pipeline: "p",
  scenario: "s",
  emit: "e", // events of a what-if, one a line: ASSET=KEY@DATE
  after: "a", // "true": after the scenario's own steps
  key: "k", // the partition key of a what-if
  store: "q", // "true": the runs of the open queue
  dag: "d",
  run: "r",
  task: "t",
  map: "m",
  field: "f",
  view: "v",
  other: "o",
  line: "l",
};

/** What is chosen now; values are texts, and null where nothing is. */
export const state = Object.fromEntries(Object.keys(SHORT).map((name) => [name, null]));

const listeners = new Set();

/** Calls `listener(changed)` with the names of what changed. */
export function watch(listener) {
  listeners.add(listener);
}

/** Reads the address. */
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, short] of Object.entries(SHORT)) state[name] = given.get(short);
}

export function addressOf(wanted) {
  const given = new URLSearchParams();
  for (const [name, short] of Object.entries(SHORT)) if (wanted[name]) given.set(short, wanted[name]);
  return `#${given}`;
}

/**
 * Chooses something else. `keep: false` makes a step that the browser's back button undoes; where the choice was only
 * completed or moved inside a view, the address is replaced.
 */
export function set(change, { step = false, silent = false } = {}) {
  const changed = Object.keys(change).filter((name) => state[name] !== (change[name] ?? null));
  if (!changed.length) return;
  for (const name of changed) state[name] = change[name] ?? null;
  const address = addressOf(state);
  if (address !== location.hash) history[step ? "pushState" : "replaceState"](null, "", address);
  if (!silent) for (const listener of listeners) listener(changed);
}

/** Tells the listeners that everything may be different. */
export function refresh() {
  for (const listener of listeners) listener([]);
}

/** A setting kept in this browser. */
export function setting(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`partita.${name}`);
    localStorage.setItem(`partita.${name}`, value);
  } catch {
    // Storage may be forbidden: the setting holds until the page is closed.
  }
  return value ?? null;
}
