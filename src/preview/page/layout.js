// Places for the nodes of a small graph: layers along the edges, few crossings inside a layer.

/**
 * `nodes` are `{id, width, height}`, `edges` are `[from, to]`. Gives `{at: Map(id -> {x, y}), width, height, back}`, where
 * `back` has the edges that close a cycle. `down` puts the layers below one another.
 */
export function layout(nodes, edges, { down = false, gap = 18, layerGap = 56, margin = 20 } = {}) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const all = edges.filter(([from, to]) => known.has(from) && known.has(to));
  const out = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of all) out.get(from).push(to);

  // Edges that close a cycle do not count for the layers. An explicit stack: chains may be long.
  const back = new Set();
  const mark = new Map();
  for (const start of known.keys()) {
    if (mark.has(start)) continue;
    const stack = [[start, 0]];
    mark.set(start, 1);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const next = out.get(top[0])[top[1]];
      top[1] += 1;
      if (next === undefined) {
        mark.set(top[0], 2);
        stack.pop();
      } else if (!mark.has(next)) {
        mark.set(next, 1);
        stack.push([next, 0]);
      } else if (mark.get(next) === 1) back.add(`${top[0]}\n${next}`);
    }
  }
  const forward = all.filter(([from, to]) => !back.has(`${from}\n${to}`));

  // The longest way to a node is its layer.
  const into = new Map(nodes.map((node) => [node.id, 0]));
  const ahead = new Map(nodes.map((node) => [node.id, []]));
  const behind = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of forward) {
    into.set(to, into.get(to) + 1);
    ahead.get(from).push(to);
    behind.get(to).push(from);
  }
  const layer = new Map();
  const ready = [...into].filter(([, count]) => count === 0).map(([id]) => id);
  for (const id of ready) layer.set(id, 0);
  for (let index = 0; index < ready.length; index += 1) {
    for (const to of ahead.get(ready[index])) {
      layer.set(to, Math.max(layer.get(to) ?? 0, layer.get(ready[index]) + 1));
      into.set(to, into.get(to) - 1);
      if (into.get(to) === 0) ready.push(to);
    }
  }
  // A source stands right before what it feeds, not far away from it.
  for (const id of [...ready].reverse()) {
    const to = ahead.get(id).map((next) => layer.get(next));
    if (!behind.get(id).length && to.length) layer.set(id, Math.min(...to) - 1);
  }

  const layers = [];
  for (const node of nodes) (layers[layer.get(node.id) ?? 0] ??= []).push(node.id);
  for (let index = 0; index < layers.length; index += 1) layers[index] ??= [];

  // Each node goes to the middle of its neighbours in the layer before, then after; a few rounds are enough.
  const place = new Map();
  const number = (list) => list.forEach((id, index) => place.set(id, index));
  layers.forEach(number);
  for (let round = 0; round < 6; round += 1) {
    const towards = round % 2 ? ahead : behind;
    const order = round % 2 ? [...layers.keys()].reverse() : [...layers.keys()];
    for (const index of order) {
      const middle = new Map(
        layers[index].map((id) => {
          const near = towards.get(id);
          return [id, near.length ? near.reduce((sum, other) => sum + place.get(other), 0) / near.length : place.get(id)];
        }),
      );
      layers[index].sort((a, b) => middle.get(a) - middle.get(b) || place.get(a) - place.get(b));
      number(layers[index]);
    }
  }

  const across = (node) => (down ? node.width : node.height);
  const along = (node) => (down ? node.height : node.width);
  const thick = layers.map((list) => Math.max(0, ...list.map((id) => along(known.get(id)))));
  const span = layers.map((list) => list.reduce((sum, id) => sum + across(known.get(id)) + gap, -gap));
  const widest = Math.max(0, ...span);
  const at = new Map();
  let depth = margin;
  layers.forEach((list, index) => {
    let side = margin + (widest - span[index]) / 2;
    for (const id of list) {
      const node = known.get(id);
      const deep = depth + (thick[index] - along(node)) / 2;
      at.set(id, down ? { x: side, y: deep } : { x: deep, y: side });
      side += across(node) + gap;
    }
    depth += thick[index] + layerGap;
  });
  const length = depth - layerGap + margin;
  const breadth = widest + 2 * margin;
  return { at, back, width: down ? breadth : length, height: down ? length : breadth };
}
