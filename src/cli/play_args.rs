//! Options that say which runs a command is about: scenarios, or runs without one.

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::{Failure, Io, select};
use crate::pipeline::reader::parse_instant;
use crate::pipeline::{
    self, Asked, Pipeline, PlayError, Played, PlayedRun, Problem, Profile, Scenario, Step, assumed_run, given_run,
};
use crate::report;
use crate::run::DagRunType;

/// Which runs.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PlayArgs {
    /// The Airflow whose behaviour is shown, in place of the one the pipeline names
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub profile: Option<Profile>,

    /// Only these scenarios, by name or path; all of a pipeline's without one
    #[arg(long, value_name = "NAME")]
    pub scenario: Vec<String>,

    /// Only these Dags
    #[arg(long, value_name = "DAG_ID")]
    pub dag: Vec<String>,

    /// The run that an asset event would have made for this key, without events
    #[arg(long, value_name = "KEY")]
    pub partition_key: Option<String>,

    /// An asset event, in place of a scenario's steps: ASSET=KEY, ASSET=KEY@DATE, or ASSET
    #[arg(long, value_name = "ASSET=KEY[@DATE]", conflicts_with_all = ["partition_key", "run"])]
    pub emit: Vec<String>,

    /// A run as Airflow gives it: a TIRunContext, or the body of a REST dagRun
    #[arg(long, value_name = "FILE", conflicts_with = "partition_key")]
    pub run: Option<Utf8PathBuf>,

    /// The upstreamAssetEvents body of a REST dagRun
    #[arg(long, value_name = "FILE", requires = "run")]
    pub events: Option<Utf8PathBuf>,

    /// A backfill: every partition from this date on, and every consumer run that results
    #[arg(long, value_name = "DATE", requires = "to", conflicts_with_all = ["partition_key", "emit", "run"])]
    pub from: Option<String>,

    /// The last date of a backfill; a day alone is taken to its end
    #[arg(long, value_name = "DATE", requires = "from")]
    pub to: Option<String>,

    /// Only these Dags' partitions in a backfill
    #[arg(long, value_name = "DAG_ID", requires = "from")]
    pub producer: Vec<String>,

    /// The runs of a stored queue, as `partita emit` and `partita tick` left it
    #[cfg(feature = "sqlite")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["partition_key", "emit", "run", "from"])]
    pub store: Option<Utf8PathBuf>,

    /// The type of the run that --partition-key or --logical-date asks for
    #[arg(long, value_name = "TYPE", value_parser = run_type, conflicts_with_all = ["emit", "run", "from"])]
    pub run_type: Option<DagRunType>,

    /// The logical date of the run that is asked for; without an offset it is UTC
    #[arg(long, value_name = "INSTANT", value_parser = instant, conflicts_with_all = ["emit", "run", "from"])]
    pub logical_date: Option<DateTime<Utc>>,
}

/// `airflow-3.3` or `airflow-2.10`.
pub fn profile(text: &str) -> Result<Profile, String> {
    Profile::parse(text).ok_or_else(|| "airflow-3.3 or airflow-2.10 is expected".to_owned())
}

fn run_type(text: &str) -> Result<DagRunType, String> {
    let of_2_10 = DagRunType::DatasetTriggered;
    DagRunType::parse(text).or((text == of_2_10.value()).then_some(of_2_10)).ok_or_else(|| {
        let known: Vec<&str> = DagRunType::ALL.iter().chain([&of_2_10]).map(|kind| kind.value()).collect();
        format!("one of {} is expected", known.join(", "))
    })
}

fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    parse_instant(text).ok_or_else(|| "a date and time is expected, such as 2026-03-10T09:00:00Z".to_owned())
}

impl PlayArgs {
    /// Checks names against the pipelines.
    ///
    /// # Errors
    /// A Dag or scenario that no pipeline has.
    pub fn check(&self, pipelines: &[Pipeline]) -> Result<(), Failure> {
        let dags = || pipelines.iter().flat_map(|pipeline| &pipeline.dags).map(|dag| dag.dag_id.as_str());
        for name in self.dag.iter().chain(&self.producer) {
            if !dags().any(|dag| dag == name) {
                return Err(select::unknown("Dag", name, &dags().collect::<Vec<_>>()));
            }
        }
        if !pipelines.is_empty() && pipelines.iter().all(|pipeline| pipeline.profile == Profile::Airflow210) {
            if self.partition_key.is_some() {
                return Err(no_partitions("--partition-key"));
            }
            if self.from.is_some() {
                return Err(no_partitions("--from and --to"));
            }
        }
        for name in &self.scenario {
            let mut known = Vec::new();
            for pipeline in pipelines {
                let files = select::scenario_files(pipeline)?;
                known.extend(files.iter().filter_map(|file| file.file_stem().map(str::to_owned)));
            }
            let is_file = camino::Utf8Path::new(name).is_file();
            let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
            if !is_file && !known.iter().any(|known| known == name || known == stem) {
                return Err(select::unknown("scenario", name, &known));
            }
        }
        Ok(())
    }

    /// True when an option says what happens, and not only which of the runs are meant.
    pub fn says_what_happens(&self) -> bool {
        let mut rest = self.clone();
        rest.dag.clear();
        rest.partition_key = None;
        rest.any()
    }

    /// True when any of these options is given.
    pub fn any(&self) -> bool {
        #[cfg(feature = "sqlite")]
        let store = self.store.is_some();
        #[cfg(not(feature = "sqlite"))]
        let store = false;
        store
            || self.profile.is_some()
            || self.asks_for_a_run()
            || self.run.is_some()
            || self.from.is_some()
            || ![&self.scenario, &self.dag, &self.emit, &self.producer].iter().all(|list| list.is_empty())
    }

    fn asks_for_a_run(&self) -> bool {
        self.partition_key.is_some() || self.logical_date.is_some() || self.run_type.is_some()
    }
}

fn no_partitions(option: &str) -> Failure {
    Failure::Usage(format!(
        "{option}: Airflow 2.10 has no partitions\nhelp: name a run by --logical-date, or the updates of datasets by --emit"
    ))
}

/// One scenario to play, or runs to take as they are.
#[derive(Debug)]
pub struct Play {
    /// Clock, variables, connections and steps.
    pub scenario: Scenario,
    /// Runs that no step makes.
    pub runs: Vec<PlayedRun>,
    /// Only this task, where a run document names it.
    pub task_id: Option<String>,
    /// The stored queue whose runs these are.
    pub store: Option<Utf8PathBuf>,
}

impl Play {
    /// Plays the steps and adds the runs that no step makes.
    ///
    /// # Errors
    /// What ends a scenario, with its place.
    pub fn play(&self, pipeline: &Pipeline) -> Result<Played, Failure> {
        if let Some(store) = &self.store {
            return stored(pipeline, &self.scenario, store);
        }
        let mut played = pipeline::play(pipeline, &self.scenario).map_err(failure)?;
        played.runs.extend(self.runs.iter().cloned());
        Ok(played)
    }
}

/// Reads the runs of a stored queue, without changing the file.
#[cfg(feature = "sqlite")]
fn stored(pipeline: &Pipeline, scenario: &Scenario, path: &Utf8PathBuf) -> Result<Played, Failure> {
    if pipeline.profile == Profile::Airflow210 {
        return Err(Failure::Fatal(format!(
            "{}: a stored queue holds assets of Airflow 3, not datasets of Airflow 2.10",
            pipeline.name
        )));
    }
    use crate::schedule::{Scheduler, SqliteStore};

    if !path.is_file() {
        return Err(Failure::Fatal(format!(
            "there is no stored queue {path}\nhelp: `partita emit --store {path}` makes one"
        )));
    }
    let store = SqliteStore::open(path.as_std_path()).map_err(|error| Failure::Fatal(error.to_string()))?;
    let mut scheduler = Scheduler::new(Box::new(store));
    let read = (|| {
        // The Dags must be known to read what waits for them; whoever reads declares nothing.
        scheduler.store_mut().begin()?;
        pipeline::declare(pipeline, &mut scheduler, scenario.clock())?;
        scheduler.store_mut().rollback();
        Ok(())
    })();
    read.map_err(|error: crate::schedule::ScheduleError| Failure::Fatal(error.to_string()))?;
    pipeline::stored(pipeline, scenario, scheduler).map_err(failure)
}

#[cfg(not(feature = "sqlite"))]
fn stored(_pipeline: &Pipeline, _scenario: &Scenario, path: &Utf8PathBuf) -> Result<Played, Failure> {
    Err(Failure::Fatal(format!("{path}: this partita was built without stored queues (feature `sqlite`)")))
}

/// A date of a window. A day alone is its midnight, or, as the end of the window, its last moment.
fn window_bound(text: &str, end: bool) -> Result<DateTime<chrono::FixedOffset>, Failure> {
    if let Ok(day) = text.parse::<chrono::NaiveDate>() {
        let time = if end { day.and_hms_micro_opt(23, 59, 59, 999_999) } else { day.and_hms_opt(0, 0, 0) };
        return Ok(time.unwrap_or_default().and_utc().fixed_offset());
    }
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Ok(date);
    }
    parse_instant(text)
        .map(|date| date.fixed_offset())
        .ok_or_else(|| Failure::Usage(format!("{text:?} is no date: write 2026-03-10 or 2026-03-10T09:00:00")))
}

/// What ended a scenario, with the step it was.
pub fn failure(error: PlayError) -> Failure {
    let message = match &*error.error.class {
        "Unsupported" => format!("not supported: {}", error.error.message),
        "LimitExceeded" => error.error.message.clone(),
        class => format!("{class}: {}", error.error.message),
    };
    let problem = match error.place {
        Some(place) => Problem::error(message, place),
        None => Problem::nowhere(message),
    };
    Failure::Report(report::problems(&[problem.maybe_help(error.error.hint)], true))
}

/// What is to be played of a pipeline.
///
/// # Errors
/// Files that cannot be read, names that nothing has.
pub fn plays(args: &PlayArgs, pipeline: &Pipeline, io: &mut Io<'_>) -> Result<Vec<Play>, Failure> {
    if let Some(path) = &args.run {
        return given(args, pipeline, path, io);
    }
    #[cfg(feature = "sqlite")]
    if let Some(store) = &args.store {
        let mut base = base_scenario(args, pipeline)?;
        base.name = store.file_stem().unwrap_or("store").to_owned();
        base.steps = Vec::new();
        return Ok(vec![Play { scenario: base, runs: Vec::new(), task_id: None, store: Some(store.clone()) }]);
    }
    if let (Some(from), Some(to)) = (&args.from, &args.to) {
        let mut base = base_scenario(args, pipeline)?;
        base.name = format!("{from} to {to}");
        if pipeline.profile == Profile::Airflow210 {
            writeln!(io.err, "note: {}: Airflow 2.10 has no partitions, so no backfill of them", pipeline.name)?;
            return Ok(Vec::new());
        }
        let window = pipeline::Window { from: window_bound(from, false)?, to: window_bound(to, true)? };
        if window.from > window.to {
            return Err(Failure::Usage(format!("--from {from} lies after --to {to}")));
        }
        let notes = match pipeline::backfill(pipeline, &args.producer, window, &mut base) {
            Ok(notes) => notes,
            // With several pipelines, those without partitions by time have nothing to show.
            Err(error) if error.class == "Unsupported" && args.producer.is_empty() => vec![error.message],
            Err(error) => return Err(Failure::Fatal(error.to_string())),
        };
        for note in notes {
            writeln!(io.err, "note: {note}")?;
        }
        return Ok(vec![Play { scenario: base, runs: Vec::new(), task_id: None, store: None }]);
    }
    if !args.emit.is_empty() || args.asks_for_a_run() {
        let mut base = base_scenario(args, pipeline)?;
        if args.emit.is_empty() {
            base.steps = Vec::new();
            return asked(args, pipeline, base, io);
        }
        base.name = "emit".to_owned();
        base.steps = emits(args, pipeline)?;
        if base.steps.is_empty() {
            return Ok(Vec::new());
        }
        return Ok(vec![Play { scenario: base, runs: Vec::new(), task_id: None, store: None }]);
    }
    let mut plays = Vec::new();
    for scenario in select::scenarios(pipeline, &args.scenario)? {
        let mut runs = Vec::new();
        for document in &scenario.runs {
            let given = given_run(pipeline, document, None)
                .map_err(|error| Failure::Fatal(format!("`runs` of {}: {error}", scenario.name)))?;
            runs.push(given.run);
        }
        plays.push(Play { scenario, runs, task_id: None, store: None });
    }
    Ok(plays)
}

/// The scenario that gives clock, variables and the like to runs without steps: the one that is named, if one is.
fn base_scenario(args: &PlayArgs, pipeline: &Pipeline) -> Result<Scenario, Failure> {
    let named = match args.scenario.as_slice() {
        [] => None,
        _ => select::scenarios(pipeline, &args.scenario)?.into_iter().next(),
    };
    Ok(named.unwrap_or_else(|| Scenario::of_steps("no scenario", Vec::new())))
}

fn asked(args: &PlayArgs, pipeline: &Pipeline, mut scenario: Scenario, io: &mut Io<'_>) -> Result<Vec<Play>, Failure> {
    let asked =
        Asked { partition_key: args.partition_key.clone(), run_type: args.run_type, logical_date: args.logical_date };
    scenario.name = "no scenario".to_owned();
    let mut runs = Vec::new();
    if asked.partition_key.is_some() && pipeline.profile == Profile::Airflow210 {
        return Ok(Vec::new());
    }
    for dag in &pipeline.dags {
        let wanted = if args.dag.is_empty() {
            dag.timetable.partitioned() || asked.partition_key.is_none()
        } else {
            args.dag.contains(&dag.dag_id)
        };
        if !wanted {
            continue;
        }
        match assumed_run(pipeline, &scenario, dag, &asked) {
            Ok(run) => runs.push(run),
            Err(error) if error.class == "Unsupported" => {
                return Err(Failure::Fatal(format!("{}: {}", dag.dag_id, error.message)));
            }
            Err(error) => writeln!(io.err, "warning: no run of {}: {}: {}", dag.dag_id, error.class, error.message)?,
        }
    }
    Ok(vec![Play { scenario, runs, task_id: None, store: None }])
}

fn given(args: &PlayArgs, pipeline: &Pipeline, path: &Utf8PathBuf, io: &mut Io<'_>) -> Result<Vec<Play>, Failure> {
    let read = |path: &Utf8PathBuf| -> Result<Json, Failure> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Fatal(format!("cannot read {path}: {error}")))?;
        serde_json::from_str(&text).map_err(|error| Failure::Fatal(format!("{path} is not JSON: {error}")))
    };
    let document = read(path)?;
    let events = args.events.as_ref().map(read).transpose()?;
    let mut given = given_run(pipeline, &document, events.as_ref()).map_err(|error| {
        let help = error.hint.as_ref().map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
        Failure::Fatal(format!("{path}: {}: {}{help}", error.class, error.message))
    })?;
    let dag_id = &given.run.run.dag_id;
    if pipeline.dag(dag_id).is_none() {
        let known: Vec<&str> = pipeline.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
        return Err(select::unknown("Dag", dag_id, &known));
    }
    for note in &given.notes {
        writeln!(io.err, "note: {note}")?;
    }
    if !args.scenario.is_empty() {
        let base = base_scenario(args, pipeline)?;
        let merge = |base: serde_json::Map<String, Json>, over: &mut serde_json::Map<String, Json>| {
            let over_given = std::mem::replace(over, base);
            over.extend(over_given);
        };
        merge(base.variables, &mut given.scenario.variables);
        merge(base.connections, &mut given.scenario.connections);
        merge(base.xcom, &mut given.scenario.xcom);
        merge(base.prev_success, &mut given.scenario.prev_success);
        merge(base.ti, &mut given.scenario.ti);
        given.scenario.now = base.now.or(given.scenario.now);
    }
    Ok(vec![Play { scenario: given.scenario, runs: vec![given.run], task_id: given.task_id, store: None }])
}

fn emits(args: &PlayArgs, pipeline: &Pipeline) -> Result<Vec<Step>, Failure> {
    let step = |text: &String| {
        pipeline::emit_step(pipeline, "--emit", text).map_err(|(message, hint)| {
            let help = hint.map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
            Failure::Usage(format!("{message}{help}"))
        })
    };
    args.emit.iter().map(step).collect()
}
