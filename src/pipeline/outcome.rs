//! What a scenario comes to: runs, what they render, and what is still waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};

use super::names::file_name;
use crate::asset::AssetKey;
use crate::render::RenderedField;
use crate::run::DagRun;

/// A scenario of a pipeline, played to its end.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The pipeline's name.
    pub pipeline: String,
    /// The scenario's name.
    pub scenario: String,
    /// Runs in the order they were made.
    pub runs: Vec<RunOutcome>,
    /// Partitions that wait for more events, and Dags that wait for more assets.
    pub pending: Vec<PendingOutcome>,
    /// Airflow's audit log.
    pub log: Vec<LogOutcome>,
    /// What a person should know, in the order it was noticed.
    pub warnings: Vec<String>,
}

/// How a run came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Asset events made it, by the scheduler's rules.
    Events,
    /// A step of the scenario.
    Step,
    /// It was given as data: `runs` of a scenario, `--run FILE`.
    Given,
    /// Nobody made it: `--partition-key` asked what it would be.
    Assumed,
}

/// A Dag run and what its tasks render.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The run as a worker gets it.
    pub run: Arc<DagRun>,
    /// How it came to be.
    pub origin: Origin,
    /// Why the partition date is what it is, or why there is none.
    pub date_reason: String,
    /// Its tasks, those with template fields.
    pub tasks: Vec<TaskResult>,
}

/// A task instance and its rendered fields.
#[derive(Debug, Clone)]
pub struct TaskResult {
    /// The task.
    pub task_id: String,
    /// The map index; -1 for a task that is not mapped.
    pub map_index: i64,
    /// Its template fields, in order.
    pub fields: Vec<RenderedField>,
    /// Names a template read whose values nobody gave: they were assumed.
    pub assumed: Vec<String>,
    /// Texts of the deprecation warnings that Airflow 2.10 logs while it renders, each once.
    pub deprecations: Vec<String>,
    /// Names of the context that its templates read, in Airflow's order.
    pub names_read: Vec<&'static str>,
}

impl TaskResult {
    /// The task with its map index: `unload[1]`.
    pub fn label(&self) -> String {
        match self.map_index {
            -1 => self.task_id.clone(),
            index => format!("{}[{index}]", self.task_id),
        }
    }
}

impl RunOutcome {
    /// A run without what its tasks render.
    pub fn bare(run: &super::play::PlayedRun) -> Self {
        RunOutcome { run: run.run.clone(), origin: run.origin, date_reason: run.date_reason.clone(), tasks: Vec::new() }
    }

    /// The key, or the run id of a run without one.
    pub fn label(&self) -> &str {
        self.run.partition_key.as_deref().unwrap_or(&self.run.run_id)
    }

    /// True when some field could not be rendered.
    pub fn failed(&self) -> bool {
        self.tasks.iter().any(|task| task.fields.iter().any(|field| field.value.is_err()))
    }
}

impl Outcome {
    /// True when some field could not be rendered.
    pub fn failed(&self) -> bool {
        self.runs.iter().any(RunOutcome::failed)
    }
}

/// A run that is not there yet.
#[derive(Debug, Clone)]
pub struct PendingOutcome {
    /// The consumer.
    pub dag_id: String,
    /// The key of the run to be; `None` for a Dag on a plain asset schedule.
    pub partition_key: Option<String>,
    /// The date carried so far.
    pub partition_date: Option<DateTime<Utc>>,
    /// What has come and what is missing, asset by asset.
    pub assets: Vec<PendingAsset>,
}

/// One asset of a pending run.
#[derive(Debug, Clone)]
pub struct PendingAsset {
    /// The asset.
    pub asset: AssetKey,
    /// Source keys that came.
    pub received: Vec<String>,
    /// Source keys that are expected and did not come; `None` when the mapper expects no set of keys.
    pub missing: Option<Vec<String>>,
    /// Whether the asset has what it needs.
    pub satisfied: bool,
    /// One sentence about it.
    pub reason: String,
}

/// A row of Airflow's audit log.
#[derive(Debug, Clone)]
pub struct LogOutcome {
    /// Its kind, in Airflow's words.
    pub event: String,
    /// Its text, Airflow's own.
    pub extra: String,
    /// Who emitted the event.
    pub source: Option<String>,
}

/// A folder for each run, in their order, relative and safe as a path: pipeline, scenario, Dag, and key or run id. Runs of a
/// Dag that share a key get `~2`, `~3` in the order they were made.
pub fn run_folders(outcome: &Outcome) -> Vec<Utf8PathBuf> {
    let base = Utf8PathBuf::from(file_name(&outcome.pipeline)).join(file_name(&outcome.scenario));
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let folder = |run| {
        let run: &RunOutcome = run;
        let count = seen.entry((&run.run.dag_id, run.label())).or_default();
        *count += 1;
        let mut name = file_name(run.label());
        if *count > 1 {
            name.push_str(&format!("~{count}"));
        }
        base.join(file_name(&run.run.dag_id)).join(name)
    };
    outcome.runs.iter().map(folder).collect()
}
