//! `--db` and `--api` of `partita render` and `partita context`: runs that an Airflow really made.

use std::sync::Arc;

use super::definitions::Definitions;
use super::import::output::findings;
use super::play_args::PlayArgs;
use super::source_args::SourceArgs;
use super::{Failure, Io, select};
use crate::airflow::sweep::{Definition, version_of};
use crate::airflow::verify::{Known, given, with_renderer};
use crate::airflow::{Needs, RunFilter, Source, StoredInstance, StoredRun, Surrounding};
use crate::context::Masker;
use crate::jinja::Engine;
use crate::pipeline::{Dag, Pipeline, PlayedRun, Renderer, Task};
use crate::python::{PyErr, PyResult};

/// Newest runs among which a name that is meant is looked for.
const SUGGESTED: usize = 1000;

/// Which run.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The Dag.
    pub dag_id: &'a str,
    /// The run of this id.
    pub run_id: Option<&'a str>,
    /// Runs of this partition.
    pub partition_key: Option<&'a str>,
    /// Only these tasks.
    pub tasks: &'a [String],
    /// Only this index of mapped tasks.
    pub map_index: Option<usize>,
}

/// Options that name a run of an Airflow.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StoredArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// With --db or --api: the run of this id
    #[arg(long, value_name = "RUN_ID", conflicts_with = "partition_key")]
    pub run_id: Option<String>,
}

impl StoredArgs {
    /// True when an Airflow is named.
    ///
    /// # Errors
    /// A run of nobody's.
    pub fn any(&self) -> Result<bool, Failure> {
        match (self.source.any(), &self.run_id) {
            (false, Some(_)) => {
                Err(Failure::Usage("--run-id names a run of an Airflow: --db or --api says which one".into()))
            }
            (any, _) => Ok(any),
        }
    }

    /// The run that these options name, together with --dag and --partition-key.
    ///
    /// # Errors
    /// Options that name none.
    pub fn wanted<'a>(&'a self, play: &'a PlayArgs) -> Result<Wanted<'a>, Failure> {
        if play.says_what_happens() {
            return Err(Failure::Usage(
                "--db and --api take runs that Airflow made: --dag with --run-id or --partition-key says which".into(),
            ));
        }
        let (run_id, partition_key) = (self.run_id.as_deref(), play.partition_key.as_deref());
        let ([dag_id], true) = (play.dag.as_slice(), run_id.is_some() || partition_key.is_some()) else {
            return Err(Failure::Usage(
                "which run? --dag names the Dag, --run-id or --partition-key the run\nhelp: `partita verify` renders all"
                    .into(),
            ));
        };
        Ok(Wanted { dag_id, run_id, partition_key, tasks: &[], map_index: None })
    }
}

/// What was visited.
#[derive(Debug)]
pub struct Visited {
    /// The latest version of the Dag.
    pub pipeline: Arc<Pipeline>,
    /// Hides what is secret in the runs.
    pub masker: Masker,
}

/// A run with the task instances that are asked for.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The run.
    pub run: &'a PlayedRun,
    /// Its task instances, in the order of the Dag's tasks.
    pub instances: Vec<Instance<'a>>,
}

/// A task instance of a run.
#[derive(Debug)]
pub struct Instance<'a> {
    /// Its Dag, as it was when the instance ran.
    pub dag: &'a Dag,
    /// Its task.
    pub task: &'a Task,
    /// Its map index; -1 without.
    pub map_index: i64,
    pipeline: &'a Pipeline,
    stored: (&'a StoredRun, &'a StoredInstance),
    known: Known<'a>,
}

impl Instance<'_> {
    /// Does something with a renderer that stands where Airflow stood when the instance ran.
    ///
    /// # Errors
    /// A run that Airflow would not accept, and what `work` raises.
    pub fn with_renderer<T>(
        &self,
        engine: &Engine,
        work: impl FnOnce(&Renderer<'_>, &PlayedRun) -> PyResult<T>,
    ) -> PyResult<T> {
        with_renderer(engine, self.pipeline, self.stored, self.known, chrono::Duration::zero(), work)
    }
}

/// Goes through the runs that are asked for.
///
/// # Errors
/// A source that cannot be read, a Dag or run that it does not have, what `work` raises.
pub fn visit(
    source: &mut dyn Source,
    wanted: &Wanted<'_>,
    definitions: &mut Definitions,
    io: &mut Io<'_>,
    work: &mut dyn FnMut(Visit<'_>) -> PyResult<()>,
) -> Result<Visited, Failure> {
    let latest = match definitions.define(source, wanted.dag_id, None) {
        Ok(latest) => latest,
        Err(error) => return Err(unknown_dag(source, wanted)?.unwrap_or_else(|| error.into())),
    };
    let filter = RunFilter {
        run_id: wanted.run_id.map(str::to_owned),
        partition_key: wanted.partition_key.map(str::to_owned),
        rendered: false,
    };
    // The version that ran may read more than the latest.
    let needs = definitions.given().map_or(Needs::ALL, |given| Needs::of(&given.text));
    let mut runs = Vec::new();
    let mut after = 0;
    loop {
        let (page, next) = source.runs(wanted.dag_id, &filter, needs, after)?;
        runs.extend(page);
        match next {
            Some(id) => after = id,
            None => break,
        }
    }
    if runs.is_empty() {
        return Err(match unknown_dag(source, wanted)? {
            Some(unknown) => unknown,
            None => no_run(source, wanted)?,
        });
    }
    if let Some(untold) = source.untold(&latest.text) {
        writeln!(io.err, "warning: {untold}")?;
    }
    let values = source.values()?;
    let mut secrets = values.secrets();
    let mut surrounding = Surrounding::default();
    let mut surrounding_of = None;
    for run in &runs {
        // Every version that some task instance ran, and the one the run was made with for those that have not run.
        let mut define = |version: Option<&str>| match version {
            Some(id) => definitions.define(source, &run.dag_id, Some(id)),
            None => Ok(latest.clone()),
        };
        let base = define(run.version.as_deref()).or_else(|_| define(None))?;
        let mut instances: Vec<(Definition, StoredInstance)> = Vec::new();
        for instance in &run.instances {
            instances.push((define(version_of(run, instance).as_deref())?, instance.clone()));
        }
        let text: String = std::iter::once(&*base.text).chain(instances.iter().map(|(made, _)| &*made.text)).collect();
        if surrounding_of.as_ref() != Some(&text) {
            surrounding = source.surrounding(&text)?;
            surrounding_of = Some(text);
        }
        let known = Known { values: &values, surrounding: &surrounding, xcoms: true };
        let played = given(&base.pipeline, run, None, known).map_err(|error| refused(run, &error))?;
        if let Some(dag) = base.pipeline.dag(&run.dag_id) {
            secrets.add_named(&dag.params);
            for task in &dag.tasks {
                secrets.add_named(&task.params);
                // Airflow makes a run's task instances with it; a task that came later has none.
                if !instances.iter().any(|(_, instance)| instance.task_id == task.task_id) {
                    let instance = StoredInstance {
                        task_id: task.task_id.clone(),
                        map_index: -1,
                        try_number: 1,
                        max_tries: task.retries,
                        ..StoredInstance::default()
                    };
                    instances.push((base.clone(), instance));
                }
            }
            let order = |task_id: &str| dag.tasks.iter().position(|task| task.task_id == task_id);
            instances.sort_by_key(|(_, instance)| (order(&instance.task_id), instance.map_index));
        }
        if let Some(conf) = &played.run.run.conf {
            secrets.add_named(conf);
        }
        let mut chosen = Vec::new();
        for (definition, instance) in &instances {
            if !wanted.tasks.is_empty() && !wanted.tasks.contains(&instance.task_id) {
                continue;
            }
            let found = definition
                .pipeline
                .dag(&run.dag_id)
                .and_then(|dag| dag.tasks.iter().find(|task| task.task_id == instance.task_id).map(|task| (dag, task)));
            let Some((dag, task)) = found else {
                writeln!(io.err, "note: {}.{} is not in the Dag any more", run.dag_id, instance.task_id)?;
                continue;
            };
            if let Some(index) = wanted.map_index
                && task.mapped
                && instance.map_index >= 0
                && usize::try_from(instance.map_index).ok() != Some(index)
            {
                continue;
            }
            let (pipeline, map_index) = (&*definition.pipeline, instance.map_index);
            chosen.push(Instance { dag, task, map_index, pipeline, stored: (run, instance), known });
        }
        work(Visit { run: &played.run, instances: chosen }).map_err(|error| refused(run, &error))?;
    }
    findings(definitions.findings.iter(), io)?;
    Ok(Visited { pipeline: latest.pipeline, masker: Masker::new(secrets) })
}

/// That the source does not have the Dag.
fn unknown_dag(source: &mut dyn Source, wanted: &Wanted<'_>) -> Result<Option<Failure>, Failure> {
    let known = source.dag_ids()?;
    let there = known.iter().any(|dag_id| dag_id == wanted.dag_id);
    Ok((!there).then(|| select::unknown("Dag", wanted.dag_id, &known)))
}

/// That the Dag has no such run.
fn no_run(source: &mut dyn Source, wanted: &Wanted<'_>) -> Result<Failure, Failure> {
    let key = match (wanted.run_id, wanted.partition_key) {
        (Some(run_id), _) => {
            let known = source.run_ids(wanted.dag_id, SUGGESTED)?;
            return Ok(select::unknown(&format!("run of {}", wanted.dag_id), run_id, &known));
        }
        (None, key) => key.unwrap_or_default(),
    };
    let waits = source.queue()?.is_some_and(|queue| {
        queue.partitions.iter().any(|pending| pending.dag_id == wanted.dag_id && pending.partition_key == key)
    });
    let help = match waits {
        true => "the partition waits for more events: `partita resolve` with the same --db says for which",
        false => "without --db, --partition-key renders the run that an event would make",
    };
    Ok(Failure::Fatal(format!("{} has no run of the partition {key:?}\nhelp: {help}", wanted.dag_id)))
}

fn refused(run: &StoredRun, error: &PyErr) -> Failure {
    Failure::Fatal(format!("{} of {}: {}: {}", run.run_id, run.dag_id, error.class, error.message))
}
