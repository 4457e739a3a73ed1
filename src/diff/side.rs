//! One side of a comparison: its pipelines, played and rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::tree::{self, Files, Tree};
use crate::context::Masker;
use crate::jinja::Engine;
use crate::pipeline::{
    self, Outcome, Pipeline, PlayedRun, Problem, Renderer, RunOutcome, Scenario, given_run, outcome,
};
use crate::render::{RenderedField, display};
use crate::timetable::isoformat;

/// A pipeline of a side.
#[derive(Debug, Clone)]
pub struct SidePipeline {
    /// Its folder or file, relative to the root of its side.
    pub path: Utf8PathBuf,
    /// Its name.
    pub name: String,
    /// The file itself, relative to the root.
    pub file: Utf8PathBuf,
    /// Dags as the file defines them, by id: what tells a renamed one from a new one.
    pub definitions: BTreeMap<String, String>,
    /// The operator of each task, by Dag and task, and the connection type where it is known: what SQL dialect it speaks.
    pub operators: BTreeMap<(String, String), Operator>,
    /// Its scenarios, or what is wrong with the file.
    pub scenarios: Result<Vec<SideScenario>, Vec<Problem>>,
    /// Hides its secrets.
    pub masks: Masks,
}

/// What a task's SQL is for.
#[derive(Debug, Clone, Default)]
pub struct Operator {
    /// The class.
    pub class: String,
    /// `conn_type` of its connection.
    pub conn_type: String,
}

/// Maskers of all scenarios of a pipeline.
#[derive(Debug, Clone, Default)]
pub struct Masks(pub Vec<Arc<Masker>>);

impl Masks {
    /// A text without the secrets.
    pub fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, masker| masker.mask(&text).into_owned())
    }
}

/// A scenario of a side.
#[derive(Debug, Clone)]
pub struct SideScenario {
    /// Its name.
    pub name: String,
    /// Its file, relative to the root; the pipeline's own for a document.
    pub file: Utf8PathBuf,
    /// Its runs, or why it could not be read or played to the end.
    pub runs: Result<Vec<SideRun>, Vec<Problem>>,
    /// Runs that wait, and for what: Dag, key, reason.
    pub pending: Vec<(String, Option<String>, String)>,
}

/// A run of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideRun {
    /// The Dag.
    pub dag_id: String,
    /// The partition key, or the run id of a run without one.
    pub label: String,
    /// The run id; snapshots do not have it.
    pub run_id: Option<String>,
    /// `run_type`
    pub run_type: Option<String>,
    /// `partition_key`
    pub partition_key: Option<String>,
    /// `partition_date`, in ISO 8601.
    pub partition_date: Option<String>,
    /// `logical_date`, in ISO 8601.
    pub logical_date: Option<String>,
    /// `data_interval_start` and `data_interval_end`, in ISO 8601.
    pub data_interval: Option<(String, String)>,
    /// Events it consumed: asset and key.
    pub events: Vec<String>,
    /// The events' `extra`, as JSON.
    pub extras: Vec<String>,
    /// Why the date is what it is.
    pub date_reason: String,
    /// Its rendered fields.
    pub fields: Vec<SideField>,
}

/// A rendered field of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideField {
    /// The task with its map index.
    pub task: String,
    /// The field.
    pub field: String,
    /// The file it was read from, relative to the root; none for one that does not exist.
    pub file: Option<Utf8PathBuf>,
    /// Every template that was looked for, relative to the root; those that were not found by their names.
    pub templates: Vec<Utf8PathBuf>,
    /// The exact text, or the error as text.
    pub text: Result<String, String>,
}

impl SideField {
    /// The text that is compared: of an error, what Airflow would raise.
    pub fn shown(&self) -> &str {
        match &self.text {
            Ok(text) | Err(text) => text,
        }
    }
}

/// Reads, plays and renders a pipeline of a tree. `name` is the pipeline's name in place of its folder's; `scenarios` are the
/// only ones, by name, if there are any.
pub fn pipeline(
    tree: &Tree,
    path: &Utf8Path,
    name: Option<&str>,
    files: Option<&Files>,
    scenarios: &[String],
) -> SidePipeline {
    let hidden = |problems: Vec<Problem>| problems.into_iter().map(|problem| hide(tree, problem)).collect::<Vec<_>>();
    let full = if path.as_str().is_empty() { tree.root.clone() } else { tree.root.join(path) };
    let mut side = SidePipeline {
        path: path.to_owned(),
        name: name.map(str::to_owned).unwrap_or_else(|| name_of(tree, path)),
        file: path.to_owned(),
        definitions: BTreeMap::new(),
        operators: BTreeMap::new(),
        scenarios: Ok(Vec::new()),
        masks: Masks::default(),
    };
    let mut loaded = match pipeline::load(&full) {
        Ok(loaded) => loaded,
        Err(problems) => {
            side.scenarios = Err(hidden(problems));
            return side;
        }
    };
    loaded.name.clone_from(&side.name);
    side.file = relative(tree, &loaded.source.path);
    side.definitions = definitions(&loaded);
    let listed = match pipeline::scenario_files(&loaded) {
        Ok(listed) => listed,
        Err(problems) => {
            side.scenarios = Err(hidden(problems));
            return side;
        }
    };
    let engine = Engine::new();
    let pointers: BTreeSet<&Utf8Path> = files
        .into_iter()
        .flatten()
        .filter(|(_, content)| content.as_deref().is_some_and(tree::is_lfs_pointer))
        .map(|(path, _)| path.as_path())
        .collect();
    let played: Vec<(SideScenario, Option<(Masker, Connections)>)> = listed
        .into_iter()
        .filter(|file| scenarios.is_empty() || scenarios.iter().any(|name| is_named(file, name)))
        .collect::<Vec<_>>()
        .par_iter()
        .map(|file| {
            let mut scenario = SideScenario {
                name: file.file_stem().unwrap_or_default().to_owned(),
                file: relative(tree, file),
                runs: Ok(Vec::new()),
                pending: Vec::new(),
            };
            let mut more = None;
            match play(&engine, &loaded, file) {
                Ok((outcome, found, connections)) => {
                    scenario.pending = pending(&outcome);
                    scenario.runs =
                        Ok(outcome.runs.iter().map(|run| side_run(tree, &loaded, run, &pointers)).collect());
                    more = Some((found, connections));
                }
                Err(problems) => scenario.runs = Err(hidden(problems)),
            }
            (scenario, more)
        })
        .collect();
    let (scenarios, more): (Vec<_>, Vec<_>) = played.into_iter().unzip();
    let (maskers, connections): (Vec<Masker>, Vec<Connections>) = more.into_iter().flatten().unzip();
    side.masks = Masks(maskers.into_iter().map(Arc::new).collect());
    side.operators = operators(&loaded, &connections);
    side.scenarios = Ok(scenarios);
    side
}

fn is_named(file: &Utf8Path, name: &str) -> bool {
    file.file_stem() == Some(name) || file.file_name() == Some(name)
}

/// The name of a pipeline: its folder's, or for one that is the whole side a name that does not depend on where it lies.
fn name_of(tree: &Tree, path: &Utf8Path) -> String {
    let folder = if tree.root.join(path).is_file() { path.parent().unwrap_or(Utf8Path::new("")) } else { path };
    folder.file_name().unwrap_or("pipeline").to_owned()
}

/// Connections by id, as files write them.
type Connections = serde_json::Map<String, serde_json::Value>;

/// A scenario played and rendered, with what hides its secrets and its connections.
fn play(engine: &Engine, pipeline: &Pipeline, file: &Utf8Path) -> Result<(Outcome, Masker, Connections), Vec<Problem>> {
    let scenario: Scenario = pipeline::load_scenario(file, pipeline)?;
    let failed = |error: pipeline::PlayError| {
        let message = format!("{}: {}", error.error.class, error.error.message);
        let problem = match error.place {
            Some(place) => Problem::error(message, place),
            None => Problem::nowhere(format!("{file}: {message}")),
        };
        vec![problem.maybe_help(error.error.hint)]
    };
    let mut played = pipeline::play(pipeline, &scenario).map_err(failed)?;
    for document in &scenario.runs {
        let given: PlayedRun = given_run(pipeline, document, None)
            .map_err(|error| vec![Problem::nowhere(format!("`runs` of {file}: {}: {}", error.class, error.message))])?
            .run;
        played.runs.push(given);
    }
    let renderer = Renderer::new(engine, pipeline, &scenario, played.clock).with_played(&played);
    let outcome = outcome(pipeline, &scenario, &played, |run| renderer.run(run)).map_err(failed)?;
    let masker = renderer.masker();
    Ok((outcome, masker, scenario.connections.clone()))
}

fn pending(outcome: &Outcome) -> Vec<(String, Option<String>, String)> {
    let reason = |pending: &pipeline::PendingOutcome| {
        let waits = pending.assets.iter().filter(|asset| !asset.satisfied);
        waits.map(|asset| format!("{}: {}", asset.asset.name, asset.reason)).collect::<Vec<_>>().join("; ")
    };
    let pending = outcome.pending.iter();
    pending.map(|pending| (pending.dag_id.clone(), pending.partition_key.clone(), reason(pending))).collect()
}

fn side_run(tree: &Tree, pipeline: &Pipeline, run: &RunOutcome, pointers: &BTreeSet<&Utf8Path>) -> SideRun {
    let dag_run = &run.run;
    let mut fields = Vec::new();
    for task in &run.tasks {
        for field in task.fields.iter().filter(|field| field.rendered && field.given) {
            fields.push(side_field(tree, pipeline, &task.label(), field, pointers));
        }
    }
    let events = dag_run.consumed_asset_events.iter();
    SideRun {
        dag_id: dag_run.dag_id.clone(),
        label: run.label().to_owned(),
        run_id: Some(dag_run.run_id.clone()),
        run_type: Some(dag_run.run_type.value().to_owned()),
        partition_key: dag_run.partition_key.clone(),
        partition_date: dag_run.partition_date.map(isoformat),
        logical_date: dag_run.logical_date.map(isoformat),
        data_interval: match (dag_run.data_interval_start, dag_run.data_interval_end) {
            (Some(start), Some(end)) => Some((isoformat(start), isoformat(end))),
            _ => None,
        },
        extras: events.clone().map(|event| serde_json::to_string(&event.extra).unwrap_or_default()).collect(),
        events: events
            .map(|event| match &event.partition_key {
                Some(key) => format!("{} {key}", event.asset.name),
                None => event.asset.name.clone(),
            })
            .collect(),
        date_reason: run.date_reason.clone(),
        fields,
    }
}

fn side_field(
    tree: &Tree,
    pipeline: &Pipeline,
    task: &str,
    field: &RenderedField,
    pointers: &BTreeSet<&Utf8Path>,
) -> SideField {
    let place = |name: &str| relative(tree, &pipeline.root.join(name));
    let templates: Vec<Utf8PathBuf> = field.templates.iter().map(|name| place(name)).collect();
    let pointer = templates.iter().find(|template| pointers.contains(template.as_path()));
    let text = match (&field.value, pointer) {
        (_, Some(pointer)) => {
            Err(format!("{pointer} is a pointer of Git LFS: its content is not here (`git lfs pull`)\n"))
        }
        (Ok(value), None) => Ok(display(value)),
        (Err(error), None) => {
            let line = error.error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let place = error.shown.as_ref().map(|shown| format!(" in {shown}{line}")).unwrap_or_default();
            Err(tree.hide(&format!("{}: {}{place}\n", error.error.class, error.error.message)))
        }
    };
    SideField {
        task: task.to_owned(),
        field: field.name.clone(),
        file: field.file.as_deref().map(place).filter(|file| tree.root.join(file).is_file()),
        templates,
        text,
    }
}

/// A path of a tree relative to its root.
fn relative(tree: &Tree, path: &Utf8Path) -> Utf8PathBuf {
    let below = path.strip_prefix(&tree.root).unwrap_or(path);
    tree::normal(below).unwrap_or_else(|| below.to_owned())
}

/// A problem whose paths are relative to the root.
fn hide(tree: &Tree, problem: Problem) -> Problem {
    let hide_place = |place: pipeline::Place| pipeline::Place {
        source: Arc::new(pipeline::Source {
            path: relative(tree, &place.source.path),
            text: place.source.text.clone(),
        }),
        range: place.range,
    };
    Problem {
        message: tree.hide(&problem.message),
        place: problem.place.map(hide_place),
        help: problem.help.map(|help| tree.hide(&help)),
        related: problem.related.into_iter().map(|(place, label)| (hide_place(place), label)).collect(),
        ..problem
    }
}

fn definitions(pipeline: &Pipeline) -> BTreeMap<String, String> {
    let Ok(file) = pipeline::yaml::parse(&pipeline.source) else { return BTreeMap::new() };
    let dags = file.get("dags").map(pipeline::yaml::Node::to_json);
    let Some(serde_json::Value::Object(dags)) = dags else { return BTreeMap::new() };
    dags.into_iter().map(|(dag_id, definition)| (dag_id, definition.to_string())).collect()
}

fn operators(pipeline: &Pipeline, connections: &[Connections]) -> BTreeMap<(String, String), Operator> {
    let connection = |conn_id: &str| {
        let known = std::iter::once(&pipeline.connections).chain(connections);
        known.filter_map(|known| known.get(conn_id)).find_map(|one| one.get("conn_type")?.as_str().map(str::to_owned))
    };
    let mut found = BTreeMap::new();
    for dag in &pipeline.dags {
        for task in &dag.tasks {
            let class = task.operator.as_deref().unwrap_or_default();
            let given = task.arguments.iter().chain(&dag.default_args);
            let fields = task.fields.iter().filter_map(|field| Some((&field.name, field.value.as_ref()?)));
            let conn_id =
                given.map(|(name, value)| (name, value)).chain(fields).find_map(|(name, value)| match value {
                    crate::render::FieldValue::Str(text) if name.ends_with("conn_id") => Some(text.as_str()),
                    _ => None,
                });
            let operator = Operator {
                class: class.rsplit('.').next().unwrap_or(class).to_owned(),
                conn_type: conn_id.and_then(connection).unwrap_or_default(),
            };
            found.insert((dag.dag_id.clone(), task.task_id.clone()), operator);
        }
    }
    found
}
