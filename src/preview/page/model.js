// What the server says, in the form the views use.
import { get, getPath, post, ApiError } from "./api.js";

const ORIGINS = {
  events: "made by events",
  step: "a step of the scenario",
  given: "given with the scenario",
  assumed: "asked for, without events",
};

/** A run. */
class Run {
  constructor(data, dag) {
    this.dag = data.dag_id;
    this.id = data.run_id;
    this.type = data.run_type;
    this.key = data.partition_key ?? null;
    this.date = data.partition_date ?? null;
    this.logical = data.logical_date ?? null;
    this.reason = data.date_reason || null;
    this.origin = ORIGINS[data.origin] ?? data.origin;
    this.short = { events: "", step: "step", given: "given", assumed: "asked for" }[data.origin] ?? "";
    this.events = (data.triggering_events ?? []).map((event) => ({
      asset: event.asset.name,
      key: event.partition_key ?? null,
      at: event.timestamp,
      dag: event.source_dag_id ?? null,
      run: event.source_run_id ?? null,
    }));
    this.tasks = dag?.tasks ?? [];
    this.words = [this.dag, this.key, this.id, this.date, this.logical].filter((text) => text !== null).join(" ");
  }

  task(id) {
    return this.tasks.find((task) => task.id === id) ?? null;
  }

  /** The first task with a field somebody wrote; else the first with any. */
  firstTask() {
    return this.tasks.find((task) => task.given.length) ?? this.tasks.find((task) => task.fields.length) ?? this.tasks[0] ?? null;
  }

  /** Every field of every task; `given: true` leaves out what only the operator sets. */
  fields({ given = false } = {}) {
    return this.tasks.flatMap((task) =>
      (given ? task.given : task.fields).map((field) => ({ task: task.id, field, label: `${task.id}.${field}`, own: !task.given.includes(field), mapped: task.mapped, length: task.length })),
    );
  }
}

/** A scenario, a what-if or the open queue after its last step. */
class Scene {
  constructor(data, dags) {
    const byName = new Map(dags.map((dag) => [dag.name, dag]));
    this.runs = (data.runs ?? []).map((run) => new Run(run, byName.get(run.dag_id)));
    this.pending = (data.pending ?? []).map(waiting);
    this.warnings = data.warnings ?? [];
    this.byId = new Map(this.runs.map((run) => [`${run.dag}\n${run.id}`, run]));
  }

  find(wanted) {
    return this.byId.get(`${wanted.dag}\n${wanted.run}`) ?? null;
  }

  /** The run that takes the place of one that is gone: same Dag, same key if there is one. */
  like(wanted, before = null) {
    if (!wanted.dag) return null;
    const same = this.runs.filter((run) => run.dag === wanted.dag);
    return same.find((run) => run.key === wanted.run) ?? same.find((run) => run.key === (before?.key ?? null)) ?? same[0] ?? null;
  }

  /** The run people look at first: one that events made and that has something to render. */
  first() {
    const useful = (run) => run.tasks.some((task) => task.given.length);
    return this.runs.find((run) => run.events.length && useful(run)) ?? this.runs.find(useful) ?? this.runs[0] ?? null;
  }

  /** The way a run came about and what came of it: runs by Dag, keys by Dag, assets, and how many hops. */
  way(start) {
    const runs = new Map();
    const assets = new Set();
    let hops = 0;
    if (!start) return { runs, dags: new Map(), assets, hops };
    const consumers = new Map();
    for (const run of this.runs) {
      for (const event of run.events) {
        const from = `${event.dag}\n${event.run}`;
        if (!consumers.has(from)) consumers.set(from, new Set());
        consumers.get(from).add(run);
      }
    }
    const seen = new Set([start]);
    const walk = (first, next) => {
      let layer = [first];
      let depth = 0;
      while (layer.length) {
        const further = new Set();
        for (const run of layer) for (const other of next(run)) if (!seen.has(other)) further.add(other);
        for (const run of further) seen.add(run);
        layer = [...further];
        if (layer.length) depth += 1;
      }
      return depth;
    };
    hops += walk(start, (run) => {
      for (const event of run.events) assets.add(event.asset);
      return run.events.map((event) => this.byId.get(`${event.dag}\n${event.run}`)).filter(Boolean);
    });
    hops += walk(start, (run) => {
      const further = [...(consumers.get(`${run.dag}\n${run.id}`) ?? [])];
      for (const other of further) for (const event of other.events) if (event.run === run.id) assets.add(event.asset);
      return further;
    });
    const dags = new Map();
    for (const run of seen) {
      if (!runs.has(run.dag)) runs.set(run.dag, run);
      if (!dags.has(run.dag) || run === start) dags.set(run.dag, run.key ?? "");
    }
    return { runs, dags, assets, hops };
  }
}

/** A pending partition run, of a report or of the queue's own state. */
function waiting(data) {
  const assets = (data.assets ?? []).map((asset) => ({
    name: asset.name ?? asset.asset?.name,
    satisfied: Boolean(asset.satisfied),
    active: asset.active ?? true,
    mapper: asset.mapper ?? null,
    received: (asset.received ?? []).map((one) => (typeof one === "string" ? one : one.key)),
    missing: asset.missing ?? [],
    required: asset.required ?? null,
    matched: asset.matched ?? 0,
    needed: asset.needed ?? null,
    policy: asset.wait_policy ?? null,
    unreachable: asset.unreachable ?? null,
    error: asset.error ?? null,
  }));
  return {
    dag: data.dag_id,
    key: data.partition_key,
    since: data.since ?? null,
    carried: data.partition_date ?? null,
    stale: Boolean(data.stale),
    outdated: Boolean(data.outdated),
    satisfied: assets.length > 0 && assets.every((asset) => asset.satisfied),
    assets,
    words: [data.dag_id, data.partition_key, ...assets.flatMap((asset) => [asset.name, ...asset.received])].join(" "),
  };
}

class Pipeline {
  constructor(data) {
    this.name = data.name;
    this.path = data.path;
    /** Airflow 2.10 knows no partitions. */
    this.partitions = data.profile !== "airflow-2.10";
    this.errors = data.errors ?? [];
    this.warnings = data.warnings ?? [];
    this.problem = this.errors.length > 0;
    this.dags = (data.dags ?? []).map((dag) => ({
      name: dag.dag_id,
      schedule: dag.schedule,
      paused: dag.is_paused,
      partitioned: Boolean(dag.partitioned),
      tasks: dag.tasks.map((task) => ({
        id: task.task_id,
        operator: task.operator,
        mapped: Boolean(task.mapped),
        length: task.map_length ?? null,
        fields: task.fields.map((field) => field.name),
        given: task.fields.filter((field) => field.given).map((field) => field.name),
      })),
    }));
    this.assets = data.assets ?? [];
    this.scenarios = (data.scenarios ?? []).map((scenario) => ({ ...scenario, problem: (scenario.errors ?? []).length > 0 }));
  }

  scenario(name) {
    return this.scenarios.find((scenario) => scenario.name === name) ?? null;
  }

  /** The scenario to begin with: one in which Dags run. */
  firstScenario() {
    return this.scenarios.find((scenario) => !scenario.problem && scenario.runs.length) ?? this.scenarios[0] ?? null;
  }
}

/** Parameters that say which scene is asked about. */
export function sceneOf(chosen) {
  const parameters = { pipeline: chosen.pipeline, scenario: chosen.scenario };
  if (chosen.store) parameters.store = "true";
  else if (chosen.key) parameters.partition_key = chosen.key;
  else if (chosen.emit) {
    parameters.emit = chosen.emit.split("\n");
    parameters.after = chosen.after ? "true" : null;
  }
  return parameters;
}

function instanceOf(chosen) {
  return { ...sceneOf(chosen), dag: chosen.dag, run: chosen.run, task: chosen.task, map_index: chosen.map };
}

export const model = {
  loaded: false,
  revision: null,
  pipelines: [],
  missing: null,
  store: null,
  scene: null,
  sceneKey: null,
  sceneError: null,

  pipeline(name) {
    return this.pipelines.find((pipeline) => pipeline.name === name) ?? null;
  },

  firstPipeline() {
    return this.pipelines.find((pipeline) => !pipeline.problem) ?? this.pipelines[0] ?? null;
  },

  dagNames() {
    return this.names ?? new Set();
  },

  async load(signal) {
    const data = await get("pipelines", {}, signal);
    this.pipelines = (data.pipelines ?? []).map((pipeline) => new Pipeline(pipeline));
    this.missing = data.missing ?? null;
    this.store = data.store ?? null;
    this.revision = data.revision;
    this.loaded = true;
    this.sceneKey = null;
  },

  /** Makes the runs of what is chosen known: a scenario's came with the pipelines, others are asked for. */
  async loadScene(chosen, signal) {
    const key = JSON.stringify([chosen.pipeline, chosen.scenario, chosen.emit, chosen.after, chosen.key, chosen.store]);
    if (key === this.sceneKey) return;
    const pipeline = this.pipeline(chosen.pipeline);
    let scene = null;
    let failure = null;
    if (pipeline && !pipeline.problem) {
      if (chosen.emit || chosen.key || chosen.store) {
        try {
          scene = new Scene(await get("runs", sceneOf(chosen), signal), pipeline.dags);
        } catch (problem) {
          if (!(problem instanceof ApiError)) throw problem;
          failure = problem;
        }
      } else {
        const scenario = pipeline.scenario(chosen.scenario);
        if (scenario && !scenario.problem) scene = new Scene(scenario, pipeline.dags);
      }
    }
    this.scene = scene;
    this.sceneError = failure;
    this.sceneKey = key;
    this.names = new Set(pipeline?.dags.map((dag) => dag.name));
  },

  /** Every other run of a Dag: those beside the chosen one first, then those of other scenarios. */
  others(chosen, run) {
    const pipeline = this.pipeline(chosen.pipeline);
    const here = (this.scene?.runs ?? []).filter((one) => one.dag === run.dag && one !== run).map((one) => ({ scenario: null, run: one }));
    const plain = !(chosen.emit || chosen.key || chosen.store);
    const elsewhere = (pipeline?.scenarios ?? [])
      .filter((scenario) => !scenario.problem && !(plain && scenario.name === chosen.scenario))
      .flatMap((scenario) => new Scene({ runs: scenario.runs.filter((one) => one.dag_id === run.dag) }, pipeline.dags).runs.map((one) => ({ scenario: scenario.name, run: one })));
    return [...here, ...elsewhere];
  },

  /** What is wrong with the files of what is chosen. */
  problems(chosen) {
    const wrong = [];
    if (this.missing) wrong.push({ kind: "file", message: this.missing });
    const pipeline = this.pipeline(chosen.pipeline);
    wrong.push(...(pipeline?.errors ?? []));
    if (pipeline && !pipeline.problem) wrong.push(...(pipeline.scenario(chosen.scenario)?.errors ?? []));
    if (this.sceneError) wrong.push(this.sceneError.error, ...this.sceneError.others);
    return wrong;
  },

  async render(chosen, signal) {
    const data = await get("render", { ...instanceOf(chosen), field: chosen.field }, signal);
    const { revision, ...rest } = data;
    const files = (data.templates ?? []).map((source, index) => ({
      id: String(index),
      key: `${source.path}\n${source.name}`,
      label: source.kind === "inline" ? `${source.path.split("/").at(-1)} · ${source.name}` : source.name,
      path: source.path,
      source: source.text,
      html: source.html,
      first: source.first_line ?? 1,
      inline: source.kind === "inline",
    }));
    const origins = Array.isArray(data.map) ? data.map.map((places) => (places ?? []).map((place) => ({ file: String(place.template), line: place.line }))) : null;
    return {
      of: [chosen.pipeline, chosen.scenario, chosen.dag, chosen.run, chosen.task, chosen.map, chosen.field].join("\n"),
      text: data.text ?? "",
      html: data.html,
      language: data.language,
      nested: data.repr !== null && data.repr !== undefined,
      repr: data.repr ?? null,
      error: data.error ?? null,
      rendered: data.rendered,
      given: data.given,
      files,
      origins,
      assumed: data.assumed ?? [],
      revision,
      whole: JSON.stringify(rest),
    };
  },

  async context(chosen, signal) {
    const data = await get("context", instanceOf(chosen), signal);
    return data.names;
  },

  explain(chosen, signal) {
    return get("explain", { ...sceneOf(chosen), dag: chosen.dag, run: chosen.run }, signal);
  },

  async graph(chosen, signal) {
    const data = await get("graph", sceneOf(chosen), signal);
    const count = (list, name) => {
      const counts = new Map();
      for (const one of list ?? []) counts.set(name(one), (counts.get(name(one)) ?? 0) + 1);
      return counts;
    };
    const events = count(data.events, (event) => event.asset.name);
    const runs = count(data.runs, (run) => run.dag_id);
    const played = this.scene !== null;
    return {
      assets: (data.assets ?? []).map((asset) => ({
        key: asset.key,
        name: asset.name,
        kind: asset.kind,
        uri: asset.uri ?? null,
        producers: asset.producers,
        consumers: asset.consumers,
        readers: asset.readers,
        events: played && asset.kind === "asset" ? (events.get(asset.name) ?? 0) : null,
      })),
      dags: (data.dags ?? []).map((dag) => ({ name: dag.dag_id, runs: played ? (runs.get(dag.dag_id) ?? 0) : null, schedule: dag.schedule, paused: dag.is_paused })),
    };
  },

  /** One field against its accepted snapshot. */
  async snapshot(chosen, field, signal) {
    const parameters = { ...instanceOf(chosen), task: field.task, map_index: field.mapped ? (chosen.map ?? "0") : null, field: field.field };
    const data = await get("diff", parameters, signal);
    return { label: field.label, status: data.status, note: data.note ?? null, path: data.path, pending: Boolean(data.pending), hunks: hunks(data.hunks) };
  },

  /** One field of two runs of the same Dag. */
  async compare(chosen, field, a, b, signal) {
    const parameters = { ...sceneOf(chosen), dag: b.dag, a: a.run.id, a_scenario: a.scenario, b: b.id, task: field.task, map_index: field.mapped ? (chosen.map ?? "0") : null, field: field.field };
    const data = await get("compare", parameters, signal);
    const [first, second] = data.failed ?? [false, false];
    const note = first && second ? "does not render in either run" : first ? "does not render in the first" : second ? "does not render in the second" : null;
    return { label: field.label, status: data.status, note, hunks: hunks(data.hunks) };
  },

  /** What waits after what is chosen, or in the open queue. */
  async waiting(chosen, signal) {
    if (!chosen.store) {
      if (!this.scene) return { pending: [], queued: [] };
      const data = await get("partitions", sceneOf(chosen), signal);
      return { pending: data.partitions.map(waiting), queued: [] };
    }
    const data = await get("partitions", {}, signal);
    const plain = (this.pipeline(chosen.pipeline)?.dags ?? []).filter((dag) => !dag.partitioned).slice(0, 50);
    const queued = await Promise.all(plain.map((dag) => queuedOf(dag.name, signal)));
    return { pending: data.partitions.map(waiting), queued: queued.flat() };
  },

  /** What a what-if makes. */
  async whatIf(chosen, what, signal) {
    const body = { pipeline: chosen.pipeline };
    if (chosen.scenario) body.scenario = chosen.scenario;
    if (what.key) body.partition_key = what.key;
    else {
      body.emit = what.emit.split("\n");
      if (what.record) body.store = true;
      else body.after = Boolean(what.after);
    }
    const data = await post("what-if", body, signal);
    const fresh = new Set((data.runs ?? []).filter((run) => run.new).map((run) => `${run.dag_id}\n${run.run_id}`));
    const scene = new Scene(data, this.pipeline(chosen.pipeline)?.dags ?? []);
    return { runs: scene.runs.filter((run) => fresh.has(`${run.dag}\n${run.id}`)), pending: scene.pending, warnings: scene.warnings, written: data.written };
  },
};

/** Events queued for a Dag without partitions, as Airflow's own endpoint lists them. */
async function queuedOf(dag, signal) {
  try {
    const data = await getPath(`/api/v2/dags/${encodeURIComponent(dag)}/assets/queuedEvents`, signal);
    return data.queued_events.map((row) => ({ dag, asset: row.asset_id, at: row.created_at, words: dag }));
  } catch (problem) {
    // Airflow answers 404 where nothing is queued.
    if (problem instanceof ApiError && problem.status === 404) return [];
    throw problem;
  }
}

/** Hunks in the form `diff` draws. */
function hunks(list) {
  return (list ?? []).map((hunk) =>
    hunk.lines.map((line) => ({
      tag: line.op,
      old: line.old ?? null,
      new: line.new ?? null,
      parts: line.parts.map(([text, changed]) => [changed, text]),
      newline: line.newline !== false,
    })),
  );
}
