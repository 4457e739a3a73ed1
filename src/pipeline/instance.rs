//! Task instances of runs: environment, surroundings and context of each, and rendering.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::{Map, Value as Json};

use super::folder::FolderLoader;
use super::memo::Memo;
use super::model::{Dag, Pipeline, Profile, Task, is_behind};
use super::outcome::{Origin, Outcome, RunOutcome, TaskResult};
use super::play::{PlayError, Played, PlayedRun, play};
use super::play_datasets::DatasetPlay;
use super::scenario::Scenario;
use super::sources::attributes_read;
use crate::asset::{Asset, AssetCondition};
use crate::context::{
    self, AnyContext, AssetItem, DagInfo, Masker, MissingXCom, StoredEvent, Surroundings, TaskInfo, masker::Secrets,
};
use crate::jinja::{Engine, Environment, Names, Trace, split_template_path};
use crate::python::{PyErr, PyResult};
use crate::render::{FieldError, FieldPath, FieldValue, RenderedField, TaskTemplates, operators, prepare};
use crate::run::{Connections, DagRunType, Run, TaskInstance, XCom};

/// Most task instances of one mapped task that are rendered.
const MAPPED_LIMIT: usize = 10_000;

/// Attributes whose values a scenario does not give.
const ASSUMED_WORDS: [&str; 5] = ["run_id", "try_number", "timestamp", "run_after", "start_date"];

/// Names of Airflow 2.10 that tell the logical date of a run.
const OF_LOGICAL_DATE: [&str; 19] = [
    "ds",
    "ds_nodash",
    "execution_date",
    "logical_date",
    "next_ds",
    "next_ds_nodash",
    "next_execution_date",
    "prev_ds",
    "prev_ds_nodash",
    "prev_execution_date",
    "run_id",
    "task_instance_key_str",
    "tomorrow_ds",
    "tomorrow_ds_nodash",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
    "yesterday_ds",
    "yesterday_ds_nodash",
];

/// Renders runs of a pipeline under a scenario: holds what all of them share.
#[derive(Debug)]
pub struct Renderer<'a> {
    engine: &'a Engine,
    pub(super) pipeline: &'a Pipeline,
    pub(super) scenario: &'a Scenario,
    pub(super) now: DateTime<Utc>,
    environments: BTreeMap<(&'a str, bool), OnceLock<PyResult<Arc<Environment>>>>,
    events: Option<Arc<Vec<StoredEvent>>>,
    dag_runs: Arc<Vec<Json>>,
    /// Rows of Airflow 2.10's tables, in that profile.
    pub(super) datasets: Option<Arc<DatasetPlay>>,
    pub(super) variables: Arc<Map<String, Json>>,
    pub(super) connections: Arc<Connections>,
    xcom: Arc<XCom>,
    prev_success: Arc<Map<String, Json>>,
    missing_xcom: MissingXCom,
    /// Words that the templates of a task read, by Dag and task.
    words: Memo<(String, String), Arc<Vec<&'static str>>>,
    /// What is around all instances of a task, by Dag and task.
    around: Memo<(String, String), PyResult<Arc<Surroundings>>>,
    /// Where templates are found, by Dag and name.
    paths: Memo<(String, String), String>,
    /// A map index that is asked for; all of them without.
    pub map_index: Option<usize>,
    /// Texts with marks in them that say where their parts come from, in place of the texts alone.
    pub trace: Trace,
}

impl<'a> Renderer<'a> {
    /// A renderer; `now` is the frozen clock.
    pub fn new(engine: &'a Engine, pipeline: &'a Pipeline, scenario: &'a Scenario, now: DateTime<Utc>) -> Self {
        let both = |dag: &'a Dag| [false, true].map(|native| ((dag.dag_id.as_str(), native), OnceLock::new()));
        let environments = pipeline.dags.iter().flat_map(both).collect();
        let merged = |base: &Map<String, Json>, over: &Map<String, Json>| {
            let mut merged = base.clone();
            merged.extend(over.clone());
            merged
        };
        Renderer {
            engine,
            pipeline,
            scenario,
            now,
            environments,
            events: None,
            dag_runs: Arc::default(),
            datasets: None,
            variables: Arc::new(merged(&pipeline.variables, &scenario.variables)),
            connections: Arc::new(merged(&pipeline.connections, &scenario.connections).into_iter().collect()),
            xcom: Arc::new(
                scenario
                    .xcom
                    .iter()
                    .filter_map(|(task, values)| values.as_object().map(|values| (task.clone(), values.clone())))
                    .collect(),
            ),
            prev_success: Arc::new(scenario.prev_success.clone()),
            missing_xcom: MissingXCom::Refuse,
            words: Memo::default(),
            around: Memo::default(),
            paths: Memo::default(),
            map_index: None,
            trace: Trace::Off,
        }
    }

    /// Where the frozen clock stands.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Gives the event table and the runs of a played scenario: what `inlet_events` and `source_dag_run` read.
    #[must_use]
    pub fn with_played(mut self, played: &Played) -> Self {
        self.dag_runs = Arc::new(played.runs.iter().map(|run| run.wire.clone()).collect());
        self.datasets.clone_from(&played.datasets);
        self.events = Some(Arc::new(stored_events(self.pipeline, played)));
        self
    }

    /// Gives the event table and the runs behind events as an Airflow has them. `xcoms` says that the scenario holds every
    /// XCom of the run: one that is not there does not exist.
    #[must_use]
    pub fn with_stored(mut self, events: Option<Arc<Vec<StoredEvent>>>, dag_runs: Arc<Vec<Json>>, xcoms: bool) -> Self {
        self.events = events;
        self.dag_runs = dag_runs;
        if xcoms {
            self.missing_xcom = MissingXCom::None;
        }
        self
    }

    /// Renders every task of a run that has template fields.
    pub fn run(&self, run: &PlayedRun) -> RunOutcome {
        let tasks = match self.pipeline.dag(&run.run.dag_id) {
            Some(dag) => dag.tasks.iter().flat_map(|task| self.task(dag, task, run)).collect(),
            None => Vec::new(),
        };
        RunOutcome { run: run.run.clone(), origin: run.origin, date_reason: run.date_reason.clone(), tasks }
    }

    /// Renders one task of a run: one result, or one for each map index.
    pub fn task(&self, dag: &Dag, task: &Task, run: &PlayedRun) -> Vec<TaskResult> {
        let fields = task.fields.iter().filter(|field| field.value.is_some() || task.expands(&field.name));
        if fields.count() == 0 {
            return Vec::new();
        }
        if !task.mapped || task.expansion_unknown() {
            return vec![self.instance(dag, task, run, None)];
        }
        let count = declared_instances(task);
        let range = match self.map_index {
            Some(index) if index < count => index..index + 1,
            Some(_) => 0..0,
            None if count > MAPPED_LIMIT => {
                let error =
                    PyErr::limit(format!("{count} task instances of one mapped task; the limit is {MAPPED_LIMIT}"));
                return vec![self.failed(task, -1, &error.with_hint("ask for one of them by --map-index"))];
            }
            None => 0..count,
        };
        range.map(|index| self.instance(dag, task, run, Some(index))).collect()
    }

    /// A task instance none of whose templates could be rendered.
    fn failed(&self, task: &Task, map_index: i64, error: &PyErr) -> TaskResult {
        let field = |field: &super::model::TaskField| {
            let value = field.value.clone().unwrap_or(FieldValue::Null);
            let template = value.truth() || task.expands(&field.name);
            let value = if template {
                Err(failed(&field.name, error))
            } else {
                value.to_python().map_err(|error| failed(&field.name, &error))
            };
            RenderedField::without_template(&field.name, template, value)
        };
        let fields = task.fields.iter().filter(|field| field.value.is_some() || task.expands(&field.name)).map(field);
        TaskResult {
            task_id: task.task_id.clone(),
            map_index,
            fields: fields.collect(),
            assumed: Vec::new(),
            deprecations: Vec::new(),
            names_read: Vec::new(),
        }
    }

    fn instance(&self, dag: &Dag, task: &Task, run: &PlayedRun, index: Option<usize>) -> TaskResult {
        let map_index = index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1);
        let mut given: Vec<(String, FieldValue)> = Vec::with_capacity(task.fields.len());
        // Those that partita does not render, with their places among all.
        let mut refused: Vec<(usize, String, PyErr)> = Vec::new();
        for field in &task.fields {
            let value = index.and_then(|index| expanded(task, &field.name, index)).or_else(|| field.value.clone());
            let Some(value) = value else { continue };
            let made = match task.unsupported(&field.name) {
                Some(reason) => Err(PyErr::unsupported(reason)),
                None => prepared(task, &field.name, value),
            };
            match made {
                Ok(value) => given.push((field.name.clone(), value)),
                Err(error) => refused.push((given.len() + refused.len(), field.name.clone(), error)),
            }
        }
        let fail = |error: PyErr| self.failed(task, map_index, &error);
        let environment = match self.environment_of(dag, task.native.unwrap_or(dag.native)) {
            Ok(environment) => environment,
            Err(error) => return fail(error),
        };
        let context = match self.context(dag, task, run, map_index) {
            Ok(context) => Arc::new(context),
            Err(error) => return fail(error),
        };
        let templates = TaskTemplates {
            fields: given,
            template_ext: task.template_ext.clone(),
            inline_files: !task.mapped,
            environment,
            trace: self.trace,
        };
        let names: Arc<dyn Names> = context.clone();
        let mut fields = templates.render(self.engine, &names);
        for (at, name, error) in refused {
            let value = Err(failed(&name, &error));
            fields.insert(at, RenderedField::without_template(&name, true, value));
        }
        for field in &mut fields {
            let written = task.fields.iter().find(|known| known.name == field.name);
            let template = |value: &FieldValue| value.any_string(&|text| text.contains("{{") || text.contains("{%"));
            field.given = written.is_none_or(|written| {
                task.unsupported(&field.name).is_some()
                    || written.place.is_some()
                    || written.value.as_ref().is_none_or(template)
                    || task.expands(&field.name)
            });
            if let Some(file) = &mut field.file {
                *file = self.template_path(dag, file);
            }
            for template in &mut field.templates {
                *template = self.template_path(dag, template);
            }
            if let Err(error) = &mut field.value
                && error.error.hint.is_none()
                && self.pipeline.profile == Profile::Airflow33
            {
                error.error.hint = context::attribute_advice(&error.error.message).map(str::to_owned);
            }
            if let Err(error) = &mut field.value
                && let Some(shown) = &error.shown
            {
                error.shown = Some(self.template_path(dag, shown));
            }
        }
        let words = self.words_read(dag, task, &templates);
        let (deprecations, names_read) = (context.deprecations(), context.names_read());
        let reads_clock = fields.iter().any(|field| field.reads_clock);
        let assumed = self.assumed(run, &names_read, &words, reads_clock);
        TaskResult { task_id: task.task_id.clone(), map_index, fields, assumed, deprecations, names_read }
    }

    /// What a field holds before it is rendered, for a map index of a mapped task.
    ///
    /// # Errors
    /// What the operator does to the value and partita does not.
    pub fn field_value(&self, task: &Task, name: &str, map_index: i64) -> PyResult<Option<FieldValue>> {
        let index = usize::try_from(map_index).ok();
        let written = || task.fields.iter().find(|field| field.name == name).and_then(|field| field.value.clone());
        let value = index.and_then(|index| expanded(task, name, index)).or_else(written);
        value.map(|value| prepared(task, name, value)).transpose()
    }

    /// The Jinja environment of a Dag, made when it is first asked for.
    ///
    /// # Errors
    /// What a user-defined macro or filter is refused for.
    pub fn environment(&self, dag: &Dag) -> PyResult<Arc<Environment>> {
        self.environment_of(dag, dag.native)
    }

    /// The same, in native mode or not: a task's own `render_template_as_native_obj` wins over its Dag's.
    fn environment_of(&self, dag: &Dag, native: bool) -> PyResult<Arc<Environment>> {
        let make = || environment(self.pipeline, dag, native, self.now);
        match self.environments.get(&(dag.dag_id.as_str(), native)) {
            Some(made) => made.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// Where a template is found, relative to the pipeline's folder; its name when it is not found.
    pub fn template_path(&self, dag: &Dag, name: &str) -> String {
        let key = (dag.dag_id.clone(), name.to_owned());
        self.paths.get(&key, || self.find_template(dag, name))
    }

    fn find_template(&self, dag: &Dag, name: &str) -> String {
        let Ok(pieces) = split_template_path(name) else { return name.to_owned() };
        let below = pieces.join("/");
        let folders =
            std::iter::once(Utf8Path::new("")).chain(dag.template_searchpath.iter().map(Utf8PathBuf::as_path));
        let exists =
            |path: &Utf8PathBuf| self.pipeline.files.contains_key(path) || self.pipeline.root.join(path).is_file();
        let found = folders.map(|folder| folder.join(&below)).find(exists);
        found.map_or_else(|| name.to_owned(), Utf8PathBuf::into_string)
    }

    /// Builds the template context of a task instance.
    ///
    /// # Errors
    /// What Airflow raises when it builds its context, and what partita refuses.
    pub fn context(&self, dag: &Dag, task: &Task, run: &PlayedRun, map_index: i64) -> PyResult<AnyContext> {
        if self.pipeline.profile == Profile::Airflow210 {
            let world = self.world(dag, task, run, map_index)?;
            return context::airflow2::of_world(world).map(|context| AnyContext::Airflow210(Box::new(context)));
        }
        let around = self.surroundings(dag, task)?;
        context::build(Arc::new(self.document(dag, task, run, map_index)), around).map(AnyContext::Airflow33)
    }

    /// The run document of a task instance.
    pub fn document(&self, dag: &Dag, task: &Task, run: &PlayedRun, map_index: i64) -> Run {
        let mut ti = TaskInstance::new(&task.task_id);
        let given = |name: &str| self.scenario.ti.get(name).and_then(Json::as_i64).map(i128::from);
        ti.try_number = given("try_number").unwrap_or(1);
        ti.max_tries = given("max_tries").unwrap_or_else(|| i128::from(task.retries));
        ti.map_index = Some(if task.mapped { i128::from(map_index) } else { given("map_index").unwrap_or(-1) });
        ti.start_date = match self.scenario.ti.get("start_date").and_then(Json::as_str) {
            Some(date) => DateTime::parse_from_rfc3339(date).ok().map(|date| date.to_utc()),
            None => run.run.start_date,
        };
        let mut document = Run::new(run.run.clone(), ti);
        document.params.clone_from(&dag.params);
        document.params.extend(task.params.clone());
        document.variables.clone_from(&self.variables);
        document.connections.clone_from(&self.connections);
        document.xcom.clone_from(&self.xcom);
        document.prev_success.clone_from(&self.prev_success);
        document
    }

    /// What is around all instances of a task, made once.
    fn surroundings(&self, dag: &Dag, task: &Task) -> PyResult<Arc<Surroundings>> {
        let key = (dag.dag_id.clone(), task.task_id.clone());
        self.around.get(&key, || self.make_surroundings(dag, task).map(Arc::new))
    }

    fn make_surroundings(&self, dag: &Dag, task: &Task) -> PyResult<Surroundings> {
        let timezone: Tz =
            dag.timezone.parse().map_err(|_| PyErr::unsupported(format!("the time zone {}", dag.timezone)))?;
        let zoned = |date: Option<DateTime<Utc>>| date.map(|date| date.with_timezone(&timezone));
        let operator = task.operator.as_deref().map(|name| name.rsplit('.').next().unwrap_or(name).to_owned());
        Ok(Surroundings {
            profile: context::Profile::Airflow33,
            dag: DagInfo {
                start_date: zoned(dag.start_date),
                end_date: zoned(dag.end_date),
                timezone,
                catchup: dag.catchup,
                max_active_runs: dag.max_active_runs,
                native: dag.native,
                params: Some(dag.params.clone()),
                attributes: default_args(dag).map(|value| ("default_args".to_owned(), value)).into_iter().collect(),
                task_ids: dag.tasks.iter().map(|task| task.task_id.clone()).collect(),
                owner: dag.tasks.first().map_or(&task.owner, |first| &first.owner).clone(),
                unknown: super::unknown::of_dag(dag),
                ..DagInfo::default()
            },
            task: TaskInfo {
                module: operator.is_none().then(|| "airflow.sdk.bases.operator".to_owned()),
                operator: operator.unwrap_or_else(|| "BaseOperator".to_owned()),
                owner: task.owner.clone(),
                retries: task.retries,
                inlets: task.inlets.iter().filter_map(asset_item).collect(),
                outlets: task.outlets.iter().filter_map(asset_item).collect(),
                template_fields: task.fields.iter().map(|field| field.name.clone()).collect(),
                template_ext: task.template_ext.clone(),
                attributes: base_default_args(dag)
                    .chain(&task.arguments)
                    .filter(|(_, value)| is_json(value))
                    .map(|(name, value)| (name.clone(), value.to_json()))
                    .collect(),
                unknown: super::unknown::of_task(dag, task),
                ..TaskInfo::default()
            },
            missing_xcom: self.missing_xcom,
            assets: self.pipeline.assets.iter().map(|def| def.asset.clone()).collect(),
            asset_events: self.events.clone(),
            dag_runs: self.dag_runs.clone(),
            plugins: Arc::new(match self.environment(dag) {
                Ok(environment) => context::plugin_macros(&environment.globals),
                _ => BTreeMap::new(),
            }),
        })
    }

    /// Attributes in the task's templates whose values may be assumed.
    fn words_read(&self, dag: &Dag, task: &Task, templates: &TaskTemplates) -> Arc<Vec<&'static str>> {
        let key = (dag.dag_id.clone(), task.task_id.clone());
        let read =
            || attributes_read(&templates.environment, &templates.template_ext, &templates.fields, &ASSUMED_WORDS);
        self.words.get(&key, || Arc::new(read()))
    }

    /// What a template read that nobody gave.
    fn assumed(&self, run: &PlayedRun, read: &[&str], words: &[&str], reads_clock: bool) -> Vec<String> {
        let given = run.origin == Origin::Given;
        let mut assumed = match self.pipeline.profile {
            Profile::Airflow33 => self.assumed_3_3(given, read, words),
            Profile::Airflow210 => self.assumed_2_10(run, read, words),
        };
        if !given && reads_clock && self.scenario.now.is_none() {
            assumed.push(format!("now from {}", self.clock()));
        }
        assumed
    }

    /// Whose clock it is that runs and templates read.
    fn clock(&self) -> &'static str {
        if self.scenario.now.is_some() { "the scenario's clock" } else { "a clock that nobody set" }
    }

    fn assumed_3_3(&self, given: bool, read: &[&str], words: &[&str]) -> Vec<String> {
        let mut assumed = Vec::new();
        let reads = |name: &str| read.contains(&name);
        if !given && (reads("run_id") || reads("task_instance_key_str") || words.contains(&"run_id")) {
            assumed.push("the end of run_id".to_owned());
        }
        if words.contains(&"try_number") && !self.scenario.ti.contains_key("try_number") {
            assumed.push("try_number 1".to_owned());
        }
        let times: Vec<&str> =
            ["timestamp", "run_after", "start_date"].into_iter().filter(|word| words.contains(word)).collect();
        if !given && !times.is_empty() {
            assumed.push(format!("{} from {}", times.join(", "), self.clock()));
        }
        assumed
    }

    /// The same in Airflow 2.10: the logical date of a run that datasets trigger is a reading of the clock.
    fn assumed_2_10(&self, run: &PlayedRun, read: &[&str], words: &[&str]) -> Vec<String> {
        let mut assumed = Vec::new();
        let clock = self.clock();
        let made = run.origin != Origin::Given;
        if made && run.run.run_type == DagRunType::DatasetTriggered {
            let dates: Vec<&str> = read.iter().copied().filter(|name| OF_LOGICAL_DATE.contains(name)).collect();
            if !dates.is_empty() {
                assumed.push(format!("{} from {clock}", dates.join(", ")));
            }
        }
        if words.contains(&"try_number") && !self.scenario.ti.contains_key("try_number") {
            assumed.push("try_number 1".to_owned());
        }
        let times: Vec<&str> = ["timestamp", "start_date"].into_iter().filter(|word| words.contains(word)).collect();
        if made && !times.is_empty() {
            assumed.push(format!("{} from {clock}", times.join(", ")));
        }
        assumed
    }

    /// Hides the secrets of the pipeline and the scenario.
    pub fn masker(&self) -> Masker {
        let mut secrets = Secrets::default();
        for connection in self.connections.values() {
            secrets.add_connection(connection);
        }
        secrets.add_named(&self.variables);
        let confs = || {
            let of_runs = self.dag_runs.iter().filter_map(|run| run.get("conf").and_then(Json::as_object));
            std::iter::once(&self.scenario.conf).chain(of_runs)
        };
        confs().for_each(|conf| secrets.add_named(conf));
        for values in self.scenario.xcom.values().filter_map(Json::as_object) {
            secrets.add_named(values);
        }
        for dag in &self.pipeline.dags {
            secrets.add_named(&dag.params);
            for task in &dag.tasks {
                secrets.add_named(&task.params);
            }
        }
        for name in &self.pipeline.secrets {
            let mut declared = |value: Option<&Json>| value.into_iter().for_each(|value| declare(&mut secrets, value));
            declared(self.variables.get(name));
            declared(self.connections.get(name));
            confs().for_each(|conf| declared(conf.get(name)));
            for dag in &self.pipeline.dags {
                declared(dag.params.get(name));
                dag.tasks.iter().for_each(|task| declared(task.params.get(name)));
            }
        }
        Masker::new(secrets)
    }
}

/// Every scalar of a value that was declared secret.
fn declare(secrets: &mut Secrets, value: &Json) {
    match value {
        Json::String(text) => secrets.add_declared(text),
        Json::Number(number) => secrets.add_declared(&number.to_string()),
        Json::Array(items) => items.iter().for_each(|item| declare(secrets, item)),
        Json::Object(map) => map.values().for_each(|item| declare(secrets, item)),
        Json::Null | Json::Bool(_) => {}
    }
}

/// Arguments of `BaseOperator` that an operator keeps as attributes, just as they were given.
const BASE_ARGUMENTS: &[&str] = &[
    "depends_on_past",
    "do_xcom_push",
    "doc_md",
    "email",
    "email_on_failure",
    "email_on_retry",
    "executor",
    "executor_config",
    "execution_timeout",
    "max_active_tis_per_dag",
    "pool",
    "pool_slots",
    "priority_weight",
    "queue",
    "retry_delay",
    "run_as_user",
    "trigger_rule",
    "wait_for_downstream",
    "weight_rule",
];

/// What every operator takes from the Dag's `default_args`.
fn base_default_args(dag: &Dag) -> impl Iterator<Item = &(String, FieldValue)> {
    dag.default_args.iter().filter(|(name, _)| BASE_ARGUMENTS.contains(&name.as_str()))
}

/// `default_args`, when JSON can hold them.
fn default_args(dag: &Dag) -> Option<Json> {
    let whole = dag.default_args.iter().all(|(_, value)| is_json(value));
    whole.then(|| dag.default_args.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
}

/// True when JSON holds the value without loss: no tuples, no sets, no keys that are not text.
fn is_json(value: &FieldValue) -> bool {
    match value {
        FieldValue::Null | FieldValue::Bool(_) | FieldValue::Number(_) | FieldValue::Str(_) => true,
        FieldValue::List(items) => items.iter().all(is_json),
        FieldValue::Dict(entries) => {
            entries.iter().all(|(key, value)| matches!(key, FieldValue::Str(_)) && is_json(value))
        }
        _ => false,
    }
}

/// Plays a scenario and renders every run of it.
///
/// # Errors
/// As [`play`].
pub fn render_scenario(engine: &Engine, pipeline: &Pipeline, scenario: &Scenario) -> Result<Outcome, PlayError> {
    let played = play(pipeline, scenario)?;
    let renderer = Renderer::new(engine, pipeline, scenario, played.clock).with_played(&played);
    outcome(pipeline, scenario, &played, |run| renderer.run(run))
}

/// Plays a scenario without rendering.
///
/// # Errors
/// As [`play`].
pub fn resolve_scenario(pipeline: &Pipeline, scenario: &Scenario) -> Result<Outcome, PlayError> {
    let played = play(pipeline, scenario)?;
    outcome(pipeline, scenario, &played, |run| RunOutcome {
        run: run.run.clone(),
        origin: run.origin,
        date_reason: run.date_reason.clone(),
        tasks: Vec::new(),
    })
}

/// What a played scenario comes to, each run made by `run`.
///
/// # Errors
/// When the store fails.
pub fn outcome(
    pipeline: &Pipeline,
    scenario: &Scenario,
    played: &Played,
    run: impl Fn(&PlayedRun) -> RunOutcome + Send + Sync,
) -> Result<Outcome, PlayError> {
    Ok(Outcome {
        pipeline: pipeline.name.clone(),
        scenario: scenario.name.clone(),
        runs: played.runs.par_iter().map(run).collect(),
        pending: played.pending()?,
        log: played.log()?,
        warnings: played.warnings.clone(),
    })
}

/// How many instances a mapped task has.
pub(super) fn declared_instances(task: &Task) -> usize {
    let product = || task.expand.iter().fold(1, |all: usize, (_, items)| all.saturating_mul(items.len()));
    task.expand_kwargs.as_ref().map_or_else(product, Vec::len)
}

/// The value of an expanded argument at a map index: the last argument turns fastest.
fn expanded(task: &Task, field: &str, mut index: usize) -> Option<FieldValue> {
    if let Some(indexes) = &task.expand_kwargs {
        let given = indexes.get(index)?.iter().find(|(name, _)| is_behind(name, field));
        return given.map(|(_, value)| value.clone());
    }
    for (name, items) in task.expand.iter().rev() {
        if items.is_empty() {
            return None;
        }
        if is_behind(name, field) {
            return items.get(index % items.len()).cloned();
        }
        index /= items.len();
    }
    None
}

/// What an operator makes of an argument before it renders it.
fn prepared(task: &Task, field: &str, value: FieldValue) -> PyResult<FieldValue> {
    match task.operator.as_deref().and_then(operators::find) {
        Some(operator) => prepare(operator, &task.arguments, field, value),
        None => Ok(value),
    }
}

fn failed(field: &str, error: &PyErr) -> Box<FieldError> {
    Box::new(FieldError {
        path: FieldPath { field: field.to_owned(), inner: Vec::new() },
        file: None,
        source: None,
        shown: None,
        error: error.clone().into(),
    })
}

fn asset_item(condition: &AssetCondition) -> Option<AssetItem> {
    match condition {
        AssetCondition::Asset(asset) => Some(AssetItem::Asset(asset.clone())),
        AssetCondition::Alias(alias) => Some(AssetItem::Alias(alias.clone())),
        AssetCondition::Ref(reference) => Some(AssetItem::Ref(reference.clone())),
        AssetCondition::All(_) | AssetCondition::Any(_) => None,
    }
}

/// The Jinja environment of a Dag: search path, native mode, user macros and filters.
fn environment(pipeline: &Pipeline, dag: &Dag, native: bool, now: DateTime<Utc>) -> PyResult<Arc<Environment>> {
    let mut environment = Environment {
        native,
        undefined: dag.undefined,
        syntax: dag.syntax.clone(),
        autoescape: dag.autoescape,
        loader: Some(Arc::new(FolderLoader::new(pipeline, dag))),
        now: Some(now),
        ..Environment::default()
    };
    environment.filters = context::filters();
    let both = |of_pipeline: &Map<String, Json>, of_dag: &Map<String, Json>| {
        let mut both = of_pipeline.clone();
        both.extend(of_dag.clone());
        both
    };
    let macros = both(&pipeline.user_defined_macros, &dag.user_defined_macros);
    let filters = both(&pipeline.user_defined_filters, &dag.user_defined_filters);
    if !macros.is_empty() || !filters.is_empty() {
        let engine = Arc::new(Engine::new());
        let inner = Environment { native: true, filters: context::filters(), now: Some(now), ..Environment::default() };
        let inner = Arc::new(inner);
        environment.globals.extend(context::user_defined_macros(&macros, &engine, &inner)?);
        environment.filters.extend(context::user_defined_filters(&filters, &engine, &inner)?);
    }
    Ok(Arc::new(environment))
}

/// The event table after a scenario, as `inlet_events` reads it.
fn stored_events(pipeline: &Pipeline, played: &Played) -> Vec<StoredEvent> {
    let store = played.scheduler.store();
    let mut events = Vec::new();
    let mut id = 1;
    while let Ok(Some(event)) = store.event(id) {
        id += 1;
        let def = pipeline.assets.iter().find(|def| def.asset.key() == event.asset);
        let asset = match def {
            Some(def) => def.asset.clone(),
            None => match Asset::new(Some(&event.asset.name), Some(&event.asset.uri)) {
                Ok((asset, _)) => asset,
                Err(_) => continue,
            },
        };
        let source = event.source.as_ref();
        events.push(StoredEvent {
            id: event.id,
            asset,
            timestamp: event.timestamp,
            extra: event.extra.as_object().cloned().unwrap_or_default(),
            source_dag_id: source.map(|source| source.dag_id.clone()),
            source_task_id: source.map(|source| source.task_id.clone()),
            source_run_id: source.map(|source| source.run_id.clone()),
            source_map_index: Some(source.map_or(-1, |source| i128::from(source.map_index))),
            source_aliases: event.aliases.clone(),
            partition_key: event.partition_key.clone(),
        });
    }
    events
}
