// The chain: Dags and the assets between them, with the way of the chosen run.
import { h, s, put, counted } from "./dom.js";
import { model } from "./model.js";
import { state, setting } from "./state.js";
import { layout } from "./layout.js";
import { empty } from "./problem.js";
import { searchAssets } from "./view-assets.js";

const MANY = 120;
const WIDEST = 210;
const SMALLEST = 0.7;

// The fonts of the two lines in a box, as the style sheet has them.
const NAME = "550 12.5px";
const SUB = "400 11.5px";

let parts = null;
let leave = null;
let open = null;
let last = null;

function build(element) {
  parts = {
    only: h("button", { type: "button", class: "toggle", "aria-pressed": "false", title: "Only what the chosen run is connected with", onclick: toggle }, "Only this chain"),
    legend: h("div", { class: "legend" }),
    box: h("div", { class: "graph-box" }),
    hops: h("span", { class: "meta" }),
  };
  put(element, h("div", { class: "graph-view" }, h("div", { class: "tools" }, parts.legend, h("span", { class: "gap" }), parts.hops, parts.only), parts.box));
  new ResizeObserver(() => {
    if (last && last.width !== parts.box.clientWidth) draw(last.graph, last.run);
  }).observe(parts.box);
}

const narrow = () => matchMedia("(max-width: 760px)").matches;

function toggle() {
  const on = parts.only.getAttribute("aria-pressed") !== "true";
  parts.only.setAttribute("aria-pressed", String(on));
  setting("chain", on ? "yes" : "no");
  if (last) draw(last.graph, last.run);
}

const assetId = (name) => `asset ${name}`;
const dagId = (name) => `dag ${name}`;

/** Nodes and edges of the whole pipeline. */
function whole(graph) {
  const nodes = [];
  const edges = [];
  for (const asset of graph.assets) {
    const sub = asset.kind === "alias" ? "alias" : asset.events === null ? "" : asset.events ? counted(asset.events, "event") : "no event";
    nodes.push({ id: assetId(asset.name), kind: "asset", name: asset.name, sub, asset });
    for (const dag of dagsOf(asset.producers)) edges.push([dagId(dag), assetId(asset.name)]);
    for (const dag of dagsOf([...asset.consumers, ...asset.readers])) edges.push([assetId(asset.name), dagId(dag)]);
  }
  for (const dag of graph.dags) {
    const sub = dag.runs === null ? "" : dag.runs ? counted(dag.runs, "run") : "no run";
    nodes.push({ id: dagId(dag.name), kind: "dag", name: dag.name, sub: dag.paused ? `${sub}${sub ? ", " : ""}paused` : sub, dag });
  }
  return { nodes, edges };
}

const dagsOf = (tasks) => new Set(tasks.map((task) => task.dag_id));

/** What is connected with a node, in any direction. */
function component(edges, start) {
  const near = new Map();
  for (const [from, to] of edges) {
    if (!near.has(from)) near.set(from, []);
    if (!near.has(to)) near.set(to, []);
    near.get(from).push(to);
    near.get(to).push(from);
  }
  const found = new Set([start]);
  const todo = [start];
  while (todo.length) {
    for (const next of near.get(todo.pop()) ?? []) {
      if (!found.has(next)) {
        found.add(next);
        todo.push(next);
      }
    }
  }
  return found;
}

function draw(graph, run) {
  const down = narrow();
  last = { graph, run, width: parts.box.clientWidth };
  let { nodes, edges } = whole(graph);
  if (!nodes.length) {
    put(parts.box, empty("Nothing to draw", "This pipeline has no Dags and no assets."));
    return;
  }
  const here = run ? dagId(run.dag) : null;
  const only = here && (parts.only.getAttribute("aria-pressed") === "true" || nodes.length > MANY);
  parts.only.disabled = !here;
  if (only) {
    const kept = component(edges, here);
    nodes = nodes.filter((node) => kept.has(node.id));
    edges = edges.filter(([from, to]) => kept.has(from) && kept.has(to));
  }
  const way = run ? model.scene.way(run) : { dags: new Map(), assets: new Set() };
  for (const node of nodes) {
    const key = node.kind === "dag" ? way.dags.get(node.name) : null;
    if (key) node.sub = key;
    node.width = Math.round(Math.min(WIDEST, Math.max(72, measure(node.name, NAME), measure(node.sub, SUB))) + 28);
    node.height = 44;
  }
  const placed = layout(nodes, edges, { down, layerGap: down ? 34 : 52, gap: down ? 12 : 16, margin: down ? 12 : 24 });
  // A graph that is a little too wide is made smaller, one that is much too wide scrolls.
  const scale = Math.max(SMALLEST, Math.min(1, (parts.box.clientWidth || placed.width) / placed.width));
  const on = (id) => (id.startsWith("dag ") ? way.dags.has(id.slice(4)) : way.assets.has(id.slice(6)));
  const known = new Map(nodes.map((node) => [node.id, node]));

  const lines = edges.map(([from, to]) => {
    const a = { ...placed.at.get(from), ...size(known.get(from)) };
    const b = { ...placed.at.get(to), ...size(known.get(to)) };
    const lit = on(from) && on(to);
    return s("path", { class: lit ? "edge on" : "edge", d: curve(a, b, down), "marker-end": lit ? "url(#tip-on)" : "url(#tip)" });
  });
  const boxes = nodes.map((node) => {
    const { x, y } = placed.at.get(node.id);
    const lit = on(node.id);
    const act = () => (node.kind === "asset" ? showAsset(node) : showDag(node));
    return s(
      "g",
      {
        class: `node ${node.kind}${lit ? " on" : ""}${node.id === here ? " here" : ""}`,
        transform: `translate(${x} ${y})`,
        tabindex: "0",
        role: "button",
        "aria-label": node.kind === "asset" ? `asset ${node.name}, ${node.sub}` : `Dag ${node.name}, ${node.sub}${node.id === here ? ", the chosen run's" : ""}`,
        onclick: act,
        onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            act();
          }
        },
      },
      s("title", {}, node.kind === "asset" ? `${node.name}\n${node.asset.uri ?? ""}` : `${node.name}\n${node.sub}`),
      s("rect", { width: String(node.width), height: String(node.height), rx: node.kind === "asset" ? "22" : "7" }),
      s("text", { class: "name", x: "14", y: "19" }, cut(node.name, node.width - 26, NAME)),
      s("text", { class: "sub", x: "14", y: "34" }, cut(node.sub, node.width - 26, SUB)),
    );
  });
  put(
    parts.box,
    s(
      "svg",
      { class: "graph", width: String(Math.round(placed.width * scale)), height: String(Math.round(placed.height * scale)), viewBox: `0 0 ${placed.width} ${placed.height}`, role: "group", "aria-label": "Dags and assets" },
      s("defs", {}, tip("tip", "tip"), tip("tip-on", "edge-on-tip")),
      lines,
      boxes,
    ),
  );
  put(
    parts.legend,
    h("span", {}, h("i"), "Dag"),
    h("span", {}, h("i", { class: "asset" }), "asset"),
    run ? h("span", {}, "coloured: the way of ", h("b", {}, run.dag), " ", run.key === null ? null : h("span", { class: "mono" }, run.key)) : null,
  );
  parts.hops.textContent = way.hops ? counted(way.hops, "hop") : "";
  const mine = here && placed.at.get(here);
  if (mine) {
    parts.box.scrollLeft = mine.x * scale - parts.box.clientWidth / 2;
    parts.box.scrollTop = mine.y * scale - parts.box.clientHeight / 2;
  }
}

const size = (node) => ({ width: node.width, height: node.height });

function tip(id, name) {
  return s("marker", { id, viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto-start-reverse" }, s("path", { class: name, d: "M0 0.5 8 4 0 7.5z" }));
}

function curve(a, b, down) {
  if (down) {
    const from = [a.x + a.width / 2, a.y + a.height];
    const to = [b.x + b.width / 2, b.y];
    const bend = Math.max(18, Math.abs(to[1] - from[1]) / 2);
    return `M${from} C${from[0]} ${from[1] + bend} ${to[0]} ${to[1] - bend} ${to}`;
  }
  const from = [a.x + a.width, a.y + a.height / 2];
  const to = [b.x, b.y + b.height / 2];
  const bend = Math.max(24, Math.abs(to[0] - from[0]) / 2);
  return `M${from} C${from[0] + bend} ${from[1]} ${to[0] - bend} ${to[1]} ${to}`;
}

const pen = document.createElement("canvas").getContext("2d");

function measure(text, font) {
  pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** A name that fits, with its middle left out: beginnings and ends tell names apart. */
function cut(text, width, font) {
  if (measure(text, font) <= width) return text;
  let [low, high] = [1, text.length];
  const short = (kept) => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(short(middle), font) <= width) low = middle;
    else high = middle - 1;
  }
  return short(low);
}

function showDag(node) {
  const run = last.run?.dag === node.name ? last.run : (model.scene.way(last.run).runs.get(node.name) ?? model.scene.runs.find((one) => one.dag === node.name));
  if (run) leave(run, { view: "text" });
  else open("waiting");
}

function showAsset(node) {
  searchAssets(node.name);
  open("assets");
}

export const graphView = {
  id: "chain",
  label: "Chain",
  about: "pipeline",
  needsHeight: true,
  async show(element, { run, signal, chooseRun, go }) {
    if (!parts) build(element);
    leave = chooseRun;
    open = go;
    const graph = await model.graph(state, signal);
    if (signal.aborted) return;
    if (setting("chain") === "yes") parts.only.setAttribute("aria-pressed", "true");
    draw(graph, run);
  },
};
