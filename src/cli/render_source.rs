//! `partita render --db` and `--api`: runs that an Airflow really made.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definitions::Definitions;
use super::import::output::findings;
use super::source_args::SourceArgs;
use super::{Failure, Io, select};
use crate::airflow::sweep::{Definition, Runs, version_of};
use crate::airflow::verify::{Known, given, render_instance};
use crate::airflow::{Needs, StoredInstance, StoredRun, Surrounding, Values};
use crate::context::Masker;
use crate::jinja::Engine;
use crate::pipeline::{Outcome as Played, Pipeline, RunOutcome};
use crate::python::PyErr;

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

/// Rendered runs, and what hides their secrets.
#[derive(Debug)]
pub struct Rendered {
    /// The runs.
    pub outcome: Played,
    /// The pipeline they are rendered with: the latest version of the Dag.
    pub pipeline: Arc<Pipeline>,
    /// Hides what is secret.
    pub masker: Masker,
}

/// Renders the runs that are asked for.
///
/// # Errors
/// A source that cannot be read, a Dag or run that it does not have.
pub fn render(
    source: &SourceArgs,
    wanted: &Wanted<'_>,
    definitions: &mut Definitions,
    io: &mut Io<'_>,
) -> Result<Rendered, Failure> {
    match (&source.db, &source.api) {
        (Some(url), None) => of_database(url, wanted, definitions, io),
        (_, Some(url)) => of_api(source, url, wanted, definitions, io),
        (None, None) => Err(Failure::Usage("which Airflow? --db or --api names it".into())),
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn of_database(
    url: &str,
    wanted: &Wanted<'_>,
    definitions: &mut Definitions,
    io: &mut Io<'_>,
) -> Result<Rendered, Failure> {
    use crate::airflow::db::RunFilter;

    let mut database = super::source_args::database(url)?;
    let known = database.dag_ids()?;
    if !known.iter().any(|dag_id| dag_id == wanted.dag_id) {
        return Err(select::unknown("Dag", wanted.dag_id, &known.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    let values = super::source_args::values(&mut database)?;
    let latest = definitions.define(&mut database, wanted.dag_id, None)?;
    let filter = RunFilter {
        run_id: wanted.run_id.map(str::to_owned),
        partition_key: wanted.partition_key.map(str::to_owned),
        rendered: false,
    };
    // The version that ran may read more than the latest.
    let needs = Needs { xcom: true, previous: true };
    let mut runs = Vec::new();
    let mut after = 0;
    loop {
        let (page, next) = database.runs(wanted.dag_id, &filter, needs, after)?;
        runs.extend(page);
        match next {
            Some(id) => after = id,
            None => break,
        }
    }
    if runs.is_empty() {
        let queue = database.queue()?;
        let waits = queue.partitions.iter().any(|pending| {
            pending.dag_id == wanted.dag_id && Some(pending.partition_key.as_str()) == wanted.partition_key
        });
        return Err(no_run(wanted, &database.run_ids(wanted.dag_id)?, waits));
    }
    let name = database.address().to_string();
    rendered(&mut database, &name, runs, &values, wanted, (definitions, latest), io)
}

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
fn of_database(_: &str, _: &Wanted<'_>, _: &mut Definitions, _: &mut Io<'_>) -> Result<Rendered, Failure> {
    Err(super::source_args::without_feature("--db", "sqlite` or `postgres"))
}

#[cfg(feature = "api")]
fn of_api(
    source: &SourceArgs,
    url: &str,
    wanted: &Wanted<'_>,
    definitions: &mut Definitions,
    io: &mut Io<'_>,
) -> Result<Rendered, Failure> {
    let mut api = source.connect(url, definitions.given().is_some())?;
    let latest = definitions.define(&mut api, wanted.dag_id, None)?;
    let values = api.values()?;
    let needs = Needs::of(&latest.text);
    let runs = match (wanted.run_id, wanted.partition_key) {
        (Some(run_id), _) => api.run(wanted.dag_id, run_id, needs)?.into_iter().collect(),
        (None, Some(key)) => api.runs_of_partition(wanted.dag_id, key, needs)?,
        (None, None) => Vec::new(),
    };
    if runs.is_empty() {
        let known = api.dag_ids()?;
        if !known.iter().any(|dag_id| dag_id == wanted.dag_id) {
            return Err(select::unknown("Dag", wanted.dag_id, &known.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        return Err(no_run(wanted, &api.run_ids(wanted.dag_id)?, false));
    }
    if let Some(untold) = api.untold(&latest.text) {
        writeln!(io.err, "warning: {untold}")?;
    }
    let name = api.base().to_owned();
    rendered(&mut api, &name, runs, &values, wanted, (definitions, latest), io)
}

#[cfg(not(feature = "api"))]
fn of_api(_: &SourceArgs, _: &str, _: &Wanted<'_>, _: &mut Definitions, _: &mut Io<'_>) -> Result<Rendered, Failure> {
    Err(super::source_args::without_feature("--api", "api"))
}

fn no_run(wanted: &Wanted<'_>, run_ids: &[String], waits: bool) -> Failure {
    match (wanted.run_id, wanted.partition_key) {
        (Some(run_id), _) => {
            let known: Vec<&str> = run_ids.iter().map(String::as_str).collect();
            select::unknown(&format!("run of {}", wanted.dag_id), run_id, &known)
        }
        (None, key) => {
            let help = match waits {
                true => "the partition waits for more events: `partita resolve` with the same --db says for which",
                false => "without --db, --partition-key renders the run that an event would make",
            };
            Failure::Fatal(format!(
                "{} has no run of the partition {:?}\nhelp: {help}",
                wanted.dag_id,
                key.unwrap_or_default()
            ))
        }
    }
}

fn rendered(
    source: &mut dyn Runs,
    name: &str,
    runs: Vec<StoredRun>,
    values: &Values,
    wanted: &Wanted<'_>,
    (definitions, latest): (&mut Definitions, Definition),
    io: &mut Io<'_>,
) -> Result<Rendered, Failure> {
    let engine = Engine::new();
    let mut secrets = crate::context::masker::Secrets::default();
    values.connections.values().for_each(|connection| secrets.add_connection(connection));
    secrets.add_named(&values.variables);
    let mut outcomes = Vec::new();
    for run in &runs {
        // Every version that some task instance ran, and the one the run was made with for those that have not run.
        let mut versions: BTreeMap<Option<String>, Definition> = BTreeMap::new();
        let mut define = |version: Option<String>| -> Result<Definition, Failure> {
            if let Some(known) = versions.get(&version) {
                return Ok(known.clone());
            }
            let made = match &version {
                Some(id) => definitions.define(source, &run.dag_id, Some(id)),
                None => Ok(latest.clone()),
            }?;
            versions.insert(version, made.clone());
            Ok(made)
        };
        let base = define(run.version.clone()).or_else(|_| define(None))?;
        let mut instances: Vec<(Definition, StoredInstance)> = Vec::new();
        for instance in &run.instances {
            instances.push((define(version_of(run, instance))?, instance.clone()));
        }
        let text: String = std::iter::once(&*base.text).chain(instances.iter().map(|(made, _)| &*made.text)).collect();
        let surrounding: Surrounding = source.surrounding(&text)?;
        let known = Known { values, surrounding: &surrounding, xcoms: true };
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
        let mut tasks = Vec::new();
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
            let results = render_instance(
                &engine,
                &definition.pipeline,
                (dag, task),
                (run, instance),
                known,
                chrono::Duration::zero(),
            );
            let (results, _) = results.map_err(|error| refused(run, &error))?;
            tasks.extend(results);
        }
        outcomes.push(RunOutcome {
            run: played.run.run.clone(),
            origin: played.run.origin,
            date_reason: played.run.date_reason.clone(),
            tasks,
        });
    }
    findings(definitions.findings.iter(), io)?;
    let outcome =
        Played { pipeline: wanted.dag_id.to_owned(), scenario: name.to_owned(), runs: outcomes, ..Played::default() };
    let masker = Masker::new(secrets);
    Ok(Rendered { outcome, pipeline: latest.pipeline, masker })
}

fn refused(run: &StoredRun, error: &PyErr) -> Failure {
    Failure::Fatal(format!("{} of {}: {}: {}", run.run_id, run.dag_id, error.class, error.message))
}
