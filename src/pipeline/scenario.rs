//! Scenario files: events and runs that happen, and what templates read besides.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Map, Value as Json};

use super::document::{DOCUMENT_KEYS, Document, is_document, read_document};
use super::load::{asset_expression, connections, variables};
use super::model::{Pipeline, Profile};
use super::reader::{Fields, Reader};
use super::schedule::{Surroundings, read_schedule};
use super::source::{Place, Problem, Severity, Source, closest, suggestion};
use super::yaml::{self, Kind, Node};
use crate::asset::{Asset, AssetCondition, AssetKey, AssetRef, EventSource, dataset_uri};
use crate::python::Zone;
use crate::timetable::{DagRunInfo, Timetable};

/// Keys of a scenario.
pub const SCENARIO_KEYS: [&str; 10] =
    ["now", "variables", "connections", "xcom", "prev_success", "ti", "conf", "steps", "follow", "runs"];

/// Words that begin a step, and the keys each step may have besides.
pub const STEPS: [(&str, &[&str]); 13] = [
    ("emit", &["partition_key", "partition_date", "extra", "source", "aliases", "at"]),
    ("run", &["partition_key", "logical_date", "conf", "tasks"]),
    ("tick", &[]),
    ("pause", &[]),
    ("unpause", &[]),
    ("deactivate_asset", &[]),
    ("activate_asset", &[]),
    ("update_timetable", &["schedule"]),
    ("event", &[]),
    ("mark_stale", &[]),
    ("unmark_stale", &[]),
    ("finish_runs", &[]),
    ("at", &[]),
];

const TASK_KEYS: [&str; 4] = ["state", "extra", "add_partitions", "add"];

/// A scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// The file, if it came from one.
    pub source: Option<Arc<Source>>,
    /// The frozen clock; `None` when the file does not say.
    pub now: Option<DateTime<Utc>>,
    /// `variables`; they win over the pipeline's.
    pub variables: Map<String, Json>,
    /// `connections`; they win over the pipeline's.
    pub connections: Map<String, Json>,
    /// `xcom`, by task and key.
    pub xcom: Map<String, Json>,
    /// `prev_success`
    pub prev_success: Map<String, Json>,
    /// `ti`: try_number, map_index, max_tries
    pub ti: Map<String, Json>,
    /// `conf` of every consumer run.
    pub conf: Map<String, Json>,
    /// `steps`
    pub steps: Vec<Step>,
    /// `follow`: consumer runs succeed and emit in turn.
    pub follow: bool,
    /// `runs` given as data.
    pub runs: Vec<Json>,
    /// Runs of other Dags that sources of events name, with their data intervals; Airflow 2.10 reads them.
    pub source_runs: Vec<SourceRun>,
    /// Assets and consumers of its own.
    pub document: Option<Document>,
}

/// A run that emitted an event and that no step makes: `source` of an event says when it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRun {
    /// The Dag.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// Its logical date; the start of the data interval unless it is written.
    pub logical_date: DateTime<Utc>,
    /// Start of its data interval.
    pub data_interval_start: DateTime<Utc>,
    /// End of its data interval.
    pub data_interval_end: DateTime<Utc>,
}

/// One step of a scenario.
#[derive(Debug, Clone)]
pub struct Step {
    /// What happens.
    pub action: Action,
    /// Where it is written.
    pub place: Place,
}

/// What happens in a step.
#[derive(Debug, Clone)]
pub enum Action {
    /// An asset event.
    Emit(Emit),
    /// A producer run.
    Run(ProducerRun),
    /// One pass of the scheduler.
    Tick,
    /// `is_paused` of a Dag.
    Pause(String, bool),
    /// Whether an asset is active.
    Activate(AssetKey, bool),
    /// A Dag gets another schedule.
    UpdateTimetable(String, Arc<dyn Timetable>),
    /// A Dag is stale: its file is gone.
    Stale(String, bool),
    /// All runs of a Dag succeed.
    FinishRuns(String),
    /// The next step happens at this instant.
    At(DateTime<Utc>),
}

/// An asset event as a step writes it.
#[derive(Debug, Clone)]
pub struct Emit {
    /// The asset.
    pub asset: AssetKey,
    /// `partition_key`
    pub partition_key: Option<String>,
    /// `partition_date`
    pub partition_date: Option<DateTime<Utc>>,
    /// `extra`
    pub extra: Json,
    /// `source`
    pub source: Option<EventSource>,
    /// `aliases`
    pub aliases: Vec<String>,
    /// `at`: when, in place of the scenario's clock.
    pub at: Option<DateTime<Utc>>,
}

/// A run of a producer.
#[derive(Debug, Clone)]
pub struct ProducerRun {
    /// The Dag.
    pub dag_id: String,
    /// `partition_key`
    pub partition_key: Option<String>,
    /// `logical_date`
    pub logical_date: Option<DateTime<Utc>>,
    /// `conf`
    pub conf: Map<String, Json>,
    /// `tasks`: what single tasks did; the others succeeded.
    pub tasks: Vec<TaskOutcome>,
    /// The partition of a backfill, exactly; files do not say it.
    pub partition: Option<DagRunInfo>,
}

/// What one task of a producer run did.
#[derive(Debug, Clone, Default)]
pub struct TaskOutcome {
    /// The task.
    pub task_id: String,
    /// False for `failed` and `skipped`: it emits nothing.
    pub succeeded: bool,
    /// `state`
    pub state: &'static str,
    /// `extra` by asset.
    pub extra: Vec<(AssetKey, Json)>,
    /// `add_partitions` by asset: keys found while the task ran, without repeats.
    pub add_partitions: Vec<(AssetKey, Vec<String>)>,
    /// `add`: events through an alias.
    pub add: Vec<AliasAdd>,
}

/// `outlet_events[AssetAlias(alias)].add(asset, extra=extra)`
#[derive(Debug, Clone, PartialEq)]
pub struct AliasAdd {
    /// The alias.
    pub alias: String,
    /// The asset.
    pub asset: AssetKey,
    /// `extra`
    pub extra: Json,
}

impl Scenario {
    /// A scenario of these steps and nothing else.
    pub fn of_steps(name: &str, steps: Vec<Step>) -> Self {
        Scenario {
            name: name.to_owned(),
            source: None,
            now: None,
            variables: Map::new(),
            connections: Map::new(),
            xcom: Map::new(),
            prev_success: Map::new(),
            ti: Map::new(),
            conf: Map::new(),
            steps,
            follow: false,
            runs: Vec::new(),
            source_runs: Vec::new(),
            document: None,
        }
    }

    /// Where the clock starts: `now`, or a fixed instant that reports call assumed.
    pub fn clock(&self) -> DateTime<Utc> {
        self.now.unwrap_or_else(|| Utc.timestamp_opt(1_767_225_600, 0).single().unwrap_or_default())
    }
}

/// The scenario files of a pipeline, sorted by name; none without a folder `scenarios`. A file that is none, such as a link
/// to nowhere, is among them: whoever reads it learns why.
///
/// # Errors
/// A folder that cannot be listed: what is in it is not known, which is not the same as nothing.
pub fn scenario_files(pipeline: &Pipeline) -> Result<Vec<Utf8PathBuf>, Vec<Problem>> {
    if pipeline.document {
        return Ok(vec![pipeline.source.path.clone()]);
    }
    let folder = pipeline.root.join("scenarios");
    let list = || -> std::io::Result<Vec<Utf8PathBuf>> {
        match folder.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let entries = folder.read_dir_utf8()?.map(|entry| Ok(entry?.path().to_owned()));
        let mut files = entries.collect::<std::io::Result<Vec<_>>>()?;
        files.retain(|path| matches!(path.extension(), Some("yaml" | "yml" | "json")));
        files.sort();
        Ok(files)
    };
    list().map_err(|error| vec![Problem::nowhere(format!("cannot read the folder {folder}: {error}"))])
}

/// Reads a scenario file for a pipeline.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load_scenario(path: &Utf8Path, pipeline: &Pipeline) -> Result<Scenario, Vec<Problem>> {
    let source = yaml::read(path).map_err(|problem| vec![problem])?;
    scenario_from_source(&source, pipeline)
}

/// Reads a scenario from text in memory.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn scenario_from_source(source: &Arc<Source>, pipeline: &Pipeline) -> Result<Scenario, Vec<Problem>> {
    let tree = yaml::parse(source).map_err(|problem| vec![problem])?;
    let mut reader = Reader::default();
    let name = source.path.file_stem().unwrap_or("scenario");
    let scenario = read_scenario(&mut reader, &tree, name, pipeline);
    let errors = reader.problems.iter().any(|problem| problem.severity == Severity::Error);
    match scenario {
        Some(scenario) if !errors => Ok(Scenario { source: Some(source.clone()), ..scenario }),
        _ => Err(reader.problems),
    }
}

fn read_scenario(reader: &mut Reader, tree: &Node, name: &str, pipeline: &Pipeline) -> Option<Scenario> {
    let mut scenario = Scenario::of_steps(name, Vec::new());
    if tree.is_null() {
        return Some(scenario);
    }
    let known: Vec<&str> = match is_document(tree) {
        true => SCENARIO_KEYS.into_iter().chain(DOCUMENT_KEYS).collect(),
        false => SCENARIO_KEYS.to_vec(),
    };
    let fields = reader.fields(tree, "a scenario", &known)?;
    if is_document(tree) {
        // A document of a pipeline that was read from it already brings nothing new.
        let base = match pipeline.document {
            true => &Pipeline::empty(&pipeline.source, &pipeline.root, pipeline.name.clone()),
            false => pipeline,
        };
        scenario.document = Some(read_document(reader, &fields, base)?);
    }
    let merged = scenario.document.as_ref().map(|document| Arc::clone(&document.pipeline));
    let pipeline = merged.as_deref().unwrap_or(pipeline);
    scenario.now = fields.get("now").and_then(|node| reader.instant(node, "`now`"));
    scenario.variables = variables(reader, fields.get("variables"));
    scenario.connections = connections(reader, fields.get("connections"));
    let mut object =
        |name: &str| fields.get(name).and_then(|node| reader.object(node, &format!("`{name}`"))).unwrap_or_default();
    scenario.xcom = object("xcom");
    scenario.prev_success = object("prev_success");
    scenario.ti = object("ti");
    scenario.conf = object("conf");
    if let Some(node) = fields.get("ti") {
        let _ = reader.fields(node, "`ti`", &["try_number", "map_index", "max_tries"]);
    }
    if let Some(node) = fields.get("prev_success") {
        let _ = reader.fields(
            node,
            "`prev_success`",
            match pipeline.profile {
                Profile::Airflow33 => &["data_interval_start", "data_interval_end", "start_date", "end_date"],
                Profile::Airflow210 => {
                    &["logical_date", "data_interval_start", "data_interval_end", "start_date", "end_date"]
                }
            },
        );
    }
    scenario.follow = fields.get("follow").and_then(|node| reader.boolean(node, "`follow`")).unwrap_or(false);
    if let Some(node) = fields.get("runs") {
        scenario.runs = reader.list(node, "`runs`").unwrap_or_default().iter().map(Node::to_json).collect();
    }
    if let Some(node) = fields.get("steps") {
        for step in reader.list(node, "`steps`").unwrap_or_default() {
            if let Some(read) = read_step(reader, step, pipeline) {
                scenario.steps.push(read);
            }
            let source = step.get("source").or_else(|| step.get("event").and_then(|event| event.get("source")));
            scenario.source_runs.extend(source.and_then(|source| source_run(reader, source)));
        }
    }
    Some(scenario)
}

fn read_step(reader: &mut Reader, node: &Node, pipeline: &Pipeline) -> Option<Step> {
    let words = || STEPS.iter().map(|(word, _)| *word);
    let place = node.place.clone();
    let step = |action| Some(Step { action, place: place.clone() });
    if let Some(word) = node.as_str() {
        if word == "tick" {
            return step(Action::Tick);
        }
        let problem = Problem::error(format!("`{word}` is not a step"), node.place.clone());
        reader.problem(problem.maybe_help(suggestion(word, words())));
        return None;
    }
    let entries = reader.entries(node, "a step")?;
    let Some((word, keys)) = STEPS.iter().find(|(word, _)| entries.iter().any(|(name, _, _)| name == word)) else {
        let names: Vec<&str> = entries.iter().map(|(name, _, _)| *name).collect();
        let close =
            names.iter().find_map(|name| closest(name, words())).map(|close| format!("did you mean `{close}`?"));
        let known: Vec<String> = words().map(|word| format!("`{word}`")).collect();
        let problem = Problem::error("this is not a step", node.place.clone());
        reader.problem(
            problem.maybe_help(close.or_else(|| Some(format!("a step begins with one of {}", known.join(", "))))),
        );
        return None;
    };
    let known: Vec<&str> = std::iter::once(*word).chain(keys.iter().copied()).collect();
    let fields = reader.fields(node, &format!("step `{word}`"), &known)?;
    if pipeline.profile == Profile::Airflow210 {
        refuse_of_3(reader, word, &fields)?;
    }
    let Some(subject) = fields.get(word) else {
        reader.problem(Problem::error(format!("`{word}` of what?"), node.place.clone()));
        return None;
    };
    match *word {
        "emit" => {
            let asset = asset_key(reader, subject, pipeline)?;
            step(Action::Emit(emit(reader, &fields, asset)?))
        }
        "event" => {
            let fields = reader.fields(
                subject,
                "an event",
                &["asset", "partition_key", "partition_date", "extra", "source", "aliases", "at"],
            )?;
            let Some(asset) = fields.get("asset") else {
                reader.problem(Problem::error("an event needs `asset`", fields.place.clone()));
                return None;
            };
            let asset = asset_key(reader, asset, pipeline)?;
            step(Action::Emit(emit(reader, &fields, asset)?))
        }
        "run" => step(Action::Run(producer_run(reader, &fields, subject, pipeline)?)),
        "tick" => match subject.kind {
            Kind::Bool(true) => step(Action::Tick),
            _ => {
                reader.expected(subject, "`tick`", "true");
                None
            }
        },
        "pause" | "unpause" => step(Action::Pause(dag_id(reader, subject, pipeline)?, *word == "pause")),
        "mark_stale" | "unmark_stale" => step(Action::Stale(dag_id(reader, subject, pipeline)?, *word == "mark_stale")),
        "at" => step(Action::At(reader.instant(subject, "`at`")?)),
        "finish_runs" => step(Action::FinishRuns(dag_id(reader, subject, pipeline)?)),
        "deactivate_asset" | "activate_asset" => {
            step(Action::Activate(asset_key(reader, subject, pipeline)?, *word == "activate_asset"))
        }
        "update_timetable" => {
            let (dag, schedule) = match subject.get("dag_id") {
                Some(dag) => (dag, subject.get("timetable").or_else(|| subject.get("schedule"))),
                None => (subject, fields.get("schedule")),
            };
            let dag = dag_id(reader, dag, pipeline)?;
            let Some(schedule) = schedule else {
                reader.problem(Problem::error("`update_timetable` needs `schedule`", place.clone()));
                return None;
            };
            let zone = pipeline.dag(&dag).and_then(|dag| Zone::parse(&dag.timezone).ok()).unwrap_or(Zone::UTC);
            let timetable = read_schedule(reader, &Surroundings { pipeline, zone }, Some(schedule))?;
            step(Action::UpdateTimetable(dag, timetable))
        }
        other => {
            reader.problem(Problem::error(format!("step `{other}` is not supported"), place.clone()));
            None
        }
    }
}

/// Steps and keys that Airflow 2.10 has nothing for.
fn refuse_of_3(reader: &mut Reader, word: &str, fields: &Fields<'_>) -> Option<()> {
    if matches!(word, "deactivate_asset" | "activate_asset") {
        let problem = Problem::error(format!("Airflow 2.10 has no step `{word}`"), fields.place.clone());
        reader.problem(problem.help("datasets are not active or inactive there"));
        return None;
    }
    let inner = if word == "event" { fields.get(word) } else { None };
    for name in ["partition_key", "partition_date"] {
        let place = fields.key_place(name).or_else(|| inner.and_then(|node| node.get(name)).map(|node| &node.place));
        if let Some(place) = place {
            let problem = Problem::error(format!("Airflow 2.10 has no partitions: no `{name}`"), place.clone());
            reader.problem(problem.help("leave it out, or write `profile: airflow-3.3` in the pipeline"));
            return None;
        }
    }
    Some(())
}

/// The run behind a `source` that says its data interval.
fn source_run(reader: &mut Reader, node: &Node) -> Option<SourceRun> {
    if !["data_interval_start", "data_interval_end", "logical_date"].iter().any(|name| node.get(name).is_some()) {
        return None;
    }
    let mut instant = |name: &str| node.get(name).and_then(|node| reader.instant(node, &format!("`{name}`")));
    let (start, end, logical) = (instant("data_interval_start"), instant("data_interval_end"), instant("logical_date"));
    let (Some(start), Some(end)) = (start.or(logical), end.or(logical)) else {
        let problem = Problem::error("`source` needs both ends of its data interval, or neither", node.place.clone());
        reader.problem(problem);
        return None;
    };
    let text = |name: &str| node.get(name).and_then(Node::as_str).map(str::to_owned);
    Some(SourceRun {
        dag_id: text("dag_id")?,
        run_id: text("run_id")?,
        logical_date: logical.unwrap_or(start),
        data_interval_start: start,
        data_interval_end: end,
    })
}

fn emit(reader: &mut Reader, fields: &Fields<'_>, asset: AssetKey) -> Option<Emit> {
    let before = reader.problems.len();
    let emit = Emit {
        asset,
        partition_key: fields.get("partition_key").and_then(|node| reader.partition_key(node, "`partition_key`")),
        partition_date: fields.get("partition_date").and_then(|node| reader.instant(node, "`partition_date`")),
        extra: fields.get("extra").map_or(Json::Null, Node::to_json),
        source: fields.get("source").and_then(|node| source(reader, node)),
        aliases: fields.get("aliases").and_then(|node| reader.strings(node, "`aliases`")).unwrap_or_default(),
        at: fields.get("at").and_then(|node| reader.instant(node, "`at`")),
    };
    (reader.problems.len() == before).then_some(emit)
}

fn source(reader: &mut Reader, node: &Node) -> Option<EventSource> {
    let known =
        ["dag_id", "task_id", "run_id", "map_index", "logical_date", "data_interval_start", "data_interval_end"];
    let fields = reader.fields(node, "`source`", &known)?;
    let mut text = |name: &str| match fields.get(name) {
        Some(node) => reader.string(node, &format!("`{name}` of `source`")),
        None => {
            reader.problem(Problem::error(format!("`source` needs `{name}`"), node.place.clone()));
            None
        }
    };
    let (dag_id, task_id, run_id) = (text("dag_id")?, text("task_id")?, text("run_id")?);
    let map_index = match fields.get("map_index") {
        Some(node) => reader.integer(node, "`map_index`", -1..=i64::from(i32::MAX))?,
        None => -1,
    };
    Some(EventSource { dag_id, task_id, run_id, map_index })
}

fn producer_run(reader: &mut Reader, fields: &Fields<'_>, subject: &Node, pipeline: &Pipeline) -> Option<ProducerRun> {
    let dag_id = dag_id(reader, subject, pipeline)?;
    let dag = pipeline.dag(&dag_id)?;
    let mut run = ProducerRun {
        partition_key: fields.get("partition_key").and_then(|node| reader.partition_key(node, "`partition_key`")),
        logical_date: fields.get("logical_date").and_then(|node| reader.instant(node, "`logical_date`")),
        conf: fields.get("conf").and_then(|node| reader.object(node, "`conf`")).unwrap_or_default(),
        tasks: Vec::new(),
        partition: None,
        dag_id,
    };
    let Some(tasks) = fields.get("tasks") else { return Some(run) };
    for (task_id, key, node) in reader.entries(tasks, "`tasks`")? {
        if !dag.tasks.iter().any(|task| task.task_id == task_id) {
            let problem =
                Problem::error(format!("task `{task_id}`: Dag `{}` has no such task", run.dag_id), key.place.clone());
            reader.problem(problem.maybe_help(suggestion(task_id, dag.tasks.iter().map(|task| task.task_id.as_str()))));
            continue;
        }
        let fields = reader.fields(node, &format!("task `{task_id}`"), &TASK_KEYS)?;
        let mut outcome =
            TaskOutcome { task_id: task_id.to_owned(), succeeded: true, state: "success", ..TaskOutcome::default() };
        if let Some(state) = fields.get("state") {
            let words = ["success", "failed", "skipped", "upstream_failed"].map(|state| (state, state));
            outcome.state = reader.word(state, "`state`", &words)?;
            outcome.succeeded = outcome.state == "success";
        }
        if let Some(node) = fields.get("extra") {
            for (asset, _, value) in by_asset(reader, node, "`extra`", pipeline) {
                outcome.extra.push((asset, value.to_json()));
            }
        }
        if let Some(node) = fields.get("add_partitions") {
            if pipeline.profile == Profile::Airflow210 {
                let problem = Problem::error("Airflow 2.10 has no partitions: no `add_partitions`", node.place.clone());
                reader.problem(problem);
                continue;
            }
            for (asset, name, value) in by_asset(reader, node, "`add_partitions`", pipeline) {
                outcome.add_partitions.push((asset, partition_keys(reader, value, name)));
            }
        }
        if let Some(node) = fields.get("add") {
            for item in reader.list(node, "`add`")? {
                let fields = reader.fields(item, "an item of `add`", &["alias", "asset", "extra"])?;
                let (Some(alias), Some(asset)) = (fields.get("alias"), fields.get("asset")) else {
                    reader.problem(Problem::error("an item of `add` needs `alias` and `asset`", item.place.clone()));
                    continue;
                };
                let add = AliasAdd {
                    alias: reader.string(alias, "`alias`")?,
                    asset: any_asset_key(reader, asset, pipeline)?,
                    extra: fields.get("extra").map_or_else(|| Json::Object(Map::new()), Node::to_json),
                };
                if !outcome.add.contains(&add) {
                    outcome.add.push(add);
                }
            }
        }
        run.tasks.push(outcome);
    }
    Some(run)
}

fn partition_keys(reader: &mut Reader, node: &Node, name: &str) -> Vec<String> {
    let items = match &node.kind {
        Kind::Seq(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut keys = Vec::new();
    for item in items {
        match reader.partition_key(item, &format!("a partition key of `{name}`")) {
            Some(key) if !keys.contains(&key) => keys.push(key),
            _ => {}
        }
    }
    keys
}

fn by_asset<'n>(
    reader: &mut Reader,
    node: &'n Node,
    what: &str,
    pipeline: &Pipeline,
) -> Vec<(AssetKey, &'n str, &'n Node)> {
    let mut found = Vec::new();
    for (name, key, value) in reader.entries(node, what).unwrap_or_default() {
        if let Some(asset) = asset_key(reader, key, pipeline) {
            found.push((asset, name, value));
        }
    }
    found
}

fn dag_id(reader: &mut Reader, node: &Node, pipeline: &Pipeline) -> Option<String> {
    let name = reader.string(node.get("dag_id").unwrap_or(node), "a Dag id")?;
    if pipeline.dag(&name).is_some() {
        return Some(name);
    }
    let problem = Problem::error(format!("unknown Dag `{name}`"), node.place.clone());
    reader.problem(problem.maybe_help(suggestion(&name, pipeline.dags.iter().map(|dag| dag.dag_id.as_str()))));
    None
}

/// Any asset, of the pipeline or not: as [`asset_key`], or by a URI that nothing declares, as tasks make assets while they run.
fn any_asset_key(reader: &mut Reader, node: &Node, pipeline: &Pipeline) -> Option<AssetKey> {
    let (name, uri) = match (node.as_str(), node.get("uri")) {
        (Some(text), _) if text.contains("://") && !text.contains(['"', '\'', '(']) => (None, text.to_owned()),
        (_, Some(uri)) => {
            let fields = reader.fields(node, "an asset", &["name", "uri"])?;
            let name = match fields.get("name") {
                Some(name) => Some(reader.string(name, "`name`")?),
                None => None,
            };
            (name, reader.string(uri, "`uri`")?)
        }
        _ => return asset_key(reader, node, pipeline),
    };
    let made = match pipeline.profile {
        Profile::Airflow33 => Asset::new(name.as_deref(), Some(&uri)).map(|(asset, _)| asset.key()),
        Profile::Airflow210 => {
            dataset_uri(&uri).map(|sanitized| AssetKey { name: sanitized.uri.clone(), uri: sanitized.uri })
        }
    };
    match made {
        // An asset that is declared is meant by its URI, whatever its name.
        Ok(key) if name.is_none() => {
            Some(pipeline.assets.iter().find(|def| def.asset.uri == key.uri).map_or(key, |def| def.asset.key()))
        }
        Ok(key) => Some(key),
        Err(error) => {
            let problem = Problem::error(error.message, node.place.clone());
            reader.problem(problem.label(format!("Airflow raises {}", error.class)));
            None
        }
    }
}

/// One asset: by key or name, by reference, or as `{name, uri}`.
pub(super) fn asset_key(reader: &mut Reader, node: &Node, pipeline: &Pipeline) -> Option<AssetKey> {
    let node = node.get("asset").unwrap_or(node);
    if let (Some(name), Some(uri)) = (node.get("name").and_then(Node::as_str), node.get("uri").and_then(Node::as_str)) {
        return Some(AssetKey { name: name.to_owned(), uri: uri.to_owned() });
    }
    let condition = asset_expression(reader, node, pipeline, "an asset")?;
    let found = match &condition {
        AssetCondition::Asset(asset) => Some(asset.key()),
        AssetCondition::Ref(AssetRef::Name(name)) => {
            pipeline.assets.iter().find(|def| def.asset.name == *name).map(|def| def.asset.key())
        }
        AssetCondition::Ref(AssetRef::Uri(uri)) => {
            pipeline.assets.iter().find(|def| def.asset.uri == *uri).map(|def| def.asset.key())
        }
        _ => None,
    };
    if found.is_none() {
        reader.problem(Problem::error("one asset of the pipeline is expected here", node.place.clone()));
    }
    found
}
