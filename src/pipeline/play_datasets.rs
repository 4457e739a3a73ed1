//! Plays a scenario by the rules of Airflow 2.10: dataset events and producer runs in, dataset-triggered runs out.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Duration, SubsecRound, Utc};
use serde_json::{Map, Value as Json, json};

use super::datasets::scheduler_dag;
use super::model::{Dag, Pipeline};
use super::outcome::{Origin, PendingAsset, PendingOutcome};
use super::play::{PlayError, Played, PlayedRun, ProducerFacts, before, event_time};
use super::scenario::{Action, Emit, ProducerRun, Scenario, SourceRun, TaskOutcome};
use crate::asset::{AssetKey, EventSource};
use crate::context::airflow2::TaskRow;
use crate::python::{PyErr, PyResult};
use crate::run::{DagRun, DagRunState, DagRunType};
use crate::schedule::datasets::{self, DatasetRun, DatasetScheduler, EventKey, RegisterChange};
use crate::schedule::{HOP_LIMIT, Scheduler};
use crate::timetable::{DataInterval, isoformat, run_id};

/// The rows of Airflow 2.10's tables after a scenario.
#[derive(Debug, Clone, Default)]
pub struct DatasetPlay {
    /// Datasets, events, runs and the queue.
    pub scheduler: DatasetScheduler,
    /// What tasks of runs did, by Dag and run id.
    pub instances: BTreeMap<(String, String), Vec<TaskRow>>,
    /// `conf` of runs, by Dag and run id.
    pub confs: BTreeMap<(String, String), Map<String, Json>>,
    /// Names of datasets in the pipeline, by URI.
    pub names: BTreeMap<String, String>,
}

impl DatasetPlay {
    /// The name and URI of a dataset.
    pub fn key(&self, uri: &str) -> AssetKey {
        AssetKey { name: self.names.get(uri).map_or(uri, String::as_str).to_owned(), uri: uri.to_owned() }
    }

    /// Dags that have something queued and are not ready.
    pub fn pending(&self) -> Vec<PendingOutcome> {
        let mut pending = Vec::new();
        for (dag_id, condition) in self.scheduler.conditions() {
            let queued: Vec<&str> = self
                .scheduler
                .queue()
                .iter()
                .filter(|row| row.dag_id == dag_id)
                .filter_map(|row| self.scheduler.uri(row.asset_id))
                .collect();
            if queued.is_empty() {
                continue;
            }
            let mut assets: Vec<PendingAsset> = Vec::new();
            let wanted = condition.assets().into_iter().map(|asset| asset.uri.as_str());
            for uri in wanted.chain(queued.iter().copied()) {
                if assets.iter().any(|known| known.asset.uri == uri) {
                    continue;
                }
                let satisfied = queued.contains(&uri);
                let reason = if satisfied { "an update is queued" } else { "no update since the last run" };
                assets.push(PendingAsset {
                    asset: self.key(uri),
                    received: Vec::new(),
                    missing: None,
                    satisfied,
                    reason: reason.to_owned(),
                });
            }
            pending.push(PendingOutcome {
                dag_id: dag_id.to_owned(),
                partition_key: None,
                partition_date: None,
                assets,
            });
        }
        pending
    }
}

/// Plays a scenario of a pipeline of Airflow 2.10.
pub(super) fn play(pipeline: &Pipeline, scenario: &Scenario) -> Result<Played, PlayError> {
    let mut player = Player::new(pipeline, scenario)?;
    for step in &scenario.steps {
        let placed = |error: PyErr| PlayError { error, place: Some(step.place.clone()) };
        if let Action::At(at) = step.action {
            player.clock = before(at, player.clock).map_err(placed)?;
            continue;
        }
        player.clock += Duration::seconds(1);
        player.step(&step.action).map_err(placed)?;
    }
    player.clock += Duration::seconds(1);
    player.tick()?;
    if scenario.follow {
        player.follow()?;
    }
    player.notice();
    Ok(Played {
        runs: player.runs,
        scheduler: Scheduler::default(),
        clock: player.clock,
        warnings: player.warnings,
        datasets: Some(Arc::new(player.play)),
    })
}

struct Player<'a> {
    pipeline: &'a Pipeline,
    scenario: &'a Scenario,
    play: DatasetPlay,
    clock: DateTime<Utc>,
    runs: Vec<PlayedRun>,
    warnings: Vec<String>,
    /// Runs that `follow` has let emit.
    followed: usize,
}

impl<'a> Player<'a> {
    fn new(pipeline: &'a Pipeline, scenario: &'a Scenario) -> PyResult<Self> {
        if scenario.document.is_some() {
            return Err(PyErr::unsupported("a scenario document of Airflow 3.3 in a pipeline of Airflow 2.10"));
        }
        let clock = scenario.clock().trunc_subsecs(6);
        let mut play = DatasetPlay::default();
        for def in &pipeline.assets {
            play.names.entry(def.asset.uri.clone()).or_insert_with(|| def.key.clone());
        }
        for alias in &pipeline.asset_aliases {
            play.scheduler.add_alias(&alias.name);
        }
        let dags: Vec<_> = pipeline.dags.iter().map(scheduler_dag).collect();
        play.scheduler.parse(&dags, clock)?;
        for run in &scenario.source_runs {
            if !play.scheduler.runs().iter().any(|known| known.dag_id == run.dag_id && known.run_id == run.run_id) {
                play.scheduler.add_run(source_run(run));
            }
        }
        Ok(Player { pipeline, scenario, play, clock, runs: Vec::new(), warnings: Vec::new(), followed: 0 })
    }

    fn step(&mut self, action: &Action) -> PyResult<()> {
        match action {
            Action::Emit(emit) => self.emit(emit)?,
            Action::Run(run) => self.producer_run(run)?,
            Action::Tick => self.tick()?,
            Action::At(_) => {}
            Action::Pause(dag_id, paused) => self.play.scheduler.set_dag(dag_id, "is_paused", *paused)?,
            Action::Stale(dag_id, stale) => self.play.scheduler.set_dag(dag_id, "is_active", !stale)?,
            Action::FinishRuns(dag_id) => self.play.scheduler.finish_runs(dag_id),
            Action::Activate(..) => return Err(PyErr::unsupported("an inactive dataset in Airflow 2.10")),
            Action::UpdateTimetable(dag_id, timetable) => {
                if let Some(dag) = self.pipeline.dag(dag_id) {
                    let changed = Dag { timetable: timetable.clone(), ..dag.clone() };
                    self.play.scheduler.parse(&[scheduler_dag(&changed)], self.clock)?;
                }
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit: &Emit) -> PyResult<()> {
        if let Some(at) = emit.at {
            self.clock = event_time(at, self.clock)?;
        }
        if let Some(source) = &emit.source {
            let known = |run: &&DatasetRun| run.dag_id == source.dag_id && run.run_id == source.run_id;
            if !self.play.scheduler.runs().iter().any(|run| known(&run)) {
                return Err(PyErr::unsupported(format!(
                    "an event of the run {:?} of {}, which no step made: its data interval is that of the consumers",
                    source.run_id, source.dag_id
                ))
                .with_hint(
                    "write a `run` step before, or add `data_interval_start` and `data_interval_end` to `source`",
                ));
            }
        }
        if let Some(id) = self.play.scheduler.dataset(&emit.asset.uri).map(|row| row.id) {
            emit.aliases.iter().for_each(|alias| self.play.scheduler.associate(alias, id));
        }
        let change = RegisterChange {
            uri: emit.asset.uri.clone(),
            extra: emit.extra.clone(),
            source: emit.source.clone(),
            aliases: emit.aliases.clone(),
        };
        let events = self.play.scheduler.events().len();
        if self.play.scheduler.register_dataset_change(&change, self.clock).is_none() {
            let name = &emit.asset.name;
            self.warnings
                .push(format!("no event of {name}: Airflow knows no dataset that no Dag consumes or produces"));
        }
        self.missed(events);
        self.reparse()
    }

    /// What the Dag processor does with Dags that consume an alias whose datasets changed.
    fn reparse(&mut self) -> PyResult<()> {
        let wanted: Vec<String> = self.play.scheduler.reparse_requested().map(str::to_owned).collect();
        let dags: Vec<_> = wanted.iter().filter_map(|dag_id| self.pipeline.dag(dag_id)).map(scheduler_dag).collect();
        if dags.is_empty() { Ok(()) } else { self.play.scheduler.parse(&dags, self.clock) }
    }

    /// One pass of the scheduler. A pass that raises makes no run, as in Airflow; it is told and the scenario goes on.
    fn tick(&mut self) -> PyResult<()> {
        let made = match self.play.scheduler.tick(self.clock) {
            Ok(made) => made,
            Err(error) if !error.is_refusal() => {
                let PyErr { class, message, .. } = &error;
                self.warnings.push(format!("the scheduler's pass failed and made no run: {class}: {message}"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for run in self.play.scheduler.start_runs(made, self.clock) {
            self.play.confs.insert((run.dag_id.clone(), run.run_id.clone()), self.scenario.conf.clone());
            let reason = reason(&run);
            let played = self.played(&run, Origin::Events, reason)?;
            self.runs.push(played);
        }
        Ok(())
    }

    fn played(&self, run: &DatasetRun, origin: Origin, date_reason: String) -> PyResult<PlayedRun> {
        let events: Vec<Json> = run.consumed.iter().filter_map(|id| self.event(*id)).collect();
        let conf = self.play.confs.get(&(run.dag_id.clone(), run.run_id.clone())).cloned().unwrap_or_default();
        played_run(run, events, conf, origin, date_reason)
    }

    /// An event as reports show it.
    fn event(&self, id: i64) -> Option<Json> {
        let event = self.play.scheduler.events().iter().find(|event| event.id == id)?;
        let key = self.play.key(self.play.scheduler.uri(event.dataset_id)?);
        let source = event.source.as_ref();
        let aliases: Vec<Json> = event.aliases.iter().map(|name| json!({"name": name})).collect();
        Some(json!({
            "asset": {"name": key.name, "uri": key.uri, "extra": {}},
            "extra": if event.extra.is_object() { event.extra.clone() } else { json!({}) },
            "source_task_id": source.map(|source| &source.task_id),
            "source_dag_id": source.map(|source| &source.dag_id),
            "source_run_id": source.map(|source| &source.run_id),
            "source_map_index": source.map_or(-1, |source| source.map_index),
            "source_aliases": aliases,
            "timestamp": isoformat(event.timestamp),
            "partition_key": null,
        }))
    }

    fn producer_run(&mut self, step: &ProducerRun) -> PyResult<()> {
        let Some(dag) = self.pipeline.dag(&step.dag_id) else { return Ok(()) };
        let run = match of_step(dag, step, self.clock) {
            Ok(run) => run,
            Err(error) if error.class == "Unsupported" => return Err(error),
            Err(error) => {
                self.warnings.push(format!("no run of {}: {}: {}", step.dag_id, error.class, error.message));
                return Ok(());
            }
        };
        let same = |known: &&DatasetRun| {
            known.dag_id == run.dag_id && (known.run_id == run.run_id || known.logical_date == run.logical_date)
        };
        if self.play.scheduler.runs().iter().any(|known| same(&known)) {
            self.warnings.push(format!(
                "no second run of {}: DagRunAlreadyExists: there is one of {} ({})",
                run.dag_id,
                isoformat(run.logical_date),
                run.run_id
            ));
            return Ok(());
        }
        let key = (run.dag_id.clone(), run.run_id.clone());
        self.play.confs.insert(key.clone(), step.conf.clone());
        self.play.scheduler.add_run(run.clone());
        let origin = self.played(&run, Origin::Step, interval_text(&run))?;
        self.runs.push(origin);
        let (instances, failed) = self.tasks(dag, &run.run_id, &step.tasks)?;
        self.play.instances.insert(key, instances);
        self.play.scheduler.end_run(&run.dag_id, &run.run_id, if failed { "failed" } else { "success" }, self.clock);
        self.reparse()
    }

    /// The tasks of a run, in order: those that succeed emit. Whether one failed.
    fn tasks(&mut self, dag: &Dag, run_id: &str, outcomes: &[TaskOutcome]) -> PyResult<(Vec<TaskRow>, bool)> {
        let (mut instances, mut any_failed) = (Vec::new(), false);
        let events = self.play.scheduler.events().len();
        for task in &dag.tasks {
            let outcome = outcomes.iter().find(|outcome| outcome.task_id == task.task_id);
            let mut state = "success";
            if let Some(outcome) = outcome.filter(|outcome| !outcome.succeeded) {
                state = outcome.state;
            } else if !task.outlets.is_empty() {
                let source = EventSource {
                    dag_id: dag.dag_id.clone(),
                    task_id: task.task_id.clone(),
                    run_id: run_id.to_owned(),
                    map_index: -1,
                };
                let emits = outcome.map(emits).unwrap_or_default();
                match self.play.scheduler.run_task(&source, &emits, self.clock) {
                    Err(error) if !error.is_refusal() => {
                        state = "failed";
                        self.warnings.push(format!(
                            "{}.{} fails and emits nothing: {}: {}",
                            dag.dag_id, task.task_id, error.class, error.message
                        ));
                    }
                    other => other?,
                }
            }
            any_failed |= matches!(state, "failed" | "upstream_failed");
            instances.push(TaskRow {
                task_id: task.task_id.clone(),
                map_index: -1,
                state: Some(state.to_owned()),
                start_date: Some(self.clock),
                end_date: Some(self.clock),
                try_number: 1,
            });
        }
        self.missed(events);
        Ok((instances, any_failed))
    }

    /// Consumer runs succeed and emit in turn, hop by hop.
    fn follow(&mut self) -> PyResult<()> {
        let mut lineage: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for _ in 0..=HOP_LIMIT {
            let fresh: Vec<Arc<DagRun>> = self.runs.iter().skip(self.followed).map(|run| run.run.clone()).collect();
            self.followed = self.runs.len();
            let mut emitted = false;
            for run in fresh.iter().filter(|run| run.run_type == DagRunType::DatasetTriggered) {
                let mut path: Vec<String> = Vec::new();
                for source in run.consumed_asset_events.iter().filter_map(|event| event.source_run_id.as_ref()) {
                    let before = lineage.get(source).cloned().unwrap_or_default();
                    if before.contains(&run.dag_id) {
                        return Err(endless(&before, &run.dag_id, "comes back to a Dag it came from"));
                    }
                    if before.len() > path.len() {
                        path = before;
                    }
                }
                path.push(run.dag_id.clone());
                lineage.insert(run.run_id.clone(), path);
                let Some(dag) = self.pipeline.dag(&run.dag_id) else { continue };
                let events = self.play.scheduler.events().len();
                let (instances, _) = self.tasks(dag, &run.run_id, &[])?;
                self.play.instances.insert((run.dag_id.clone(), run.run_id.clone()), instances);
                self.play.scheduler.end_run(&run.dag_id, &run.run_id, "success", self.clock);
                emitted |= self.play.scheduler.events().len() > events;
                self.clock += Duration::seconds(1);
            }
            self.reparse()?;
            if !emitted {
                return Ok(());
            }
            // At most ten Dags get a run in one pass.
            loop {
                let before = self.runs.len();
                self.tick()?;
                self.clock += Duration::seconds(1);
                if self.runs.len() == before {
                    break;
                }
            }
        }
        let last = lineage.into_values().max_by_key(Vec::len).unwrap_or_default();
        Err(endless(&last, "...", "is longer than 100 hops"))
    }

    /// Paused Dags that miss events: they are not queued.
    fn missed(&mut self, since: usize) {
        let scheduler = &self.play.scheduler;
        for event in scheduler.events().iter().skip(since) {
            for dag_id in scheduler.listeners(event).filter(|dag_id| scheduler.is_paused(dag_id)) {
                let name = scheduler.uri(event.dataset_id).map(|uri| self.play.key(uri).name).unwrap_or_default();
                let text = format!("{dag_id} is paused and misses an update of {name}");
                if !self.warnings.contains(&text) {
                    self.warnings.push(text);
                }
            }
        }
    }

    fn notice(&mut self) {
        let scheduler = &self.play.scheduler;
        let mut unheard: Vec<(String, String)> = Vec::new();
        for event in scheduler.events() {
            let heard = scheduler.listeners(event).next().is_some();
            let source = event.source.as_ref().map_or("the scenario", |source| source.dag_id.as_str());
            let name = scheduler.uri(event.dataset_id).map(|uri| self.play.key(uri).name).unwrap_or_default();
            let known = (source.to_owned(), name);
            if !heard && !unheard.contains(&known) {
                unheard.push(known);
            }
        }
        for (source, name) in unheard {
            self.warnings.push(format!("{source} updated {name} but nothing consumes it"));
        }
        for dag in self.pipeline.dags.iter().filter(|dag| scheduler.is_full(&dag.dag_id)) {
            let queued = scheduler.queue().iter().any(|row| row.dag_id == dag.dag_id);
            if queued {
                self.warnings.push(format!(
                    "{} has max_active_runs {} active runs: nothing starts before one of them ends (`finish_runs`)",
                    dag.dag_id, dag.max_active_runs
                ));
            }
        }
    }
}

/// A run as reports and renderings take it.
pub(super) fn played_run(
    run: &DatasetRun,
    events: Vec<Json>,
    conf: Map<String, Json>,
    origin: Origin,
    date_reason: String,
) -> PyResult<PlayedRun> {
    let wire = json!({
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "logical_date": isoformat(run.logical_date),
        "data_interval_start": run.data_interval.map(|interval| isoformat(interval.start)),
        "data_interval_end": run.data_interval.map(|interval| isoformat(interval.end)),
        "run_after": isoformat(run.logical_date),
        "start_date": run.start_date.map(isoformat),
        "end_date": null,
        "clear_number": 0,
        "run_type": "manual",
        "state": "running",
        "conf": conf,
        "consumed_asset_events": events,
        "partition_key": null,
        "partition_date": null,
    });
    let mut dag_run = DagRun::from_json(&wire)?;
    dag_run.run_type = run_type(&run.run_type);
    dag_run.state = DagRunState::parse(&run.state).unwrap_or(DagRunState::Running);
    Ok(PlayedRun { run: Arc::new(dag_run), wire, origin, date_reason })
}

fn endless(path: &[String], last: &str, why: &str) -> PyErr {
    let error = PyErr::limit(format!("the chain of datasets {why}: {} -> {last}", path.join(" -> ")));
    error.with_hint("leave out `follow`, or take the outlet that closes the circle away")
}

/// `outlet_events` as a step says it.
fn emits(outcome: &TaskOutcome) -> Vec<datasets::Emit> {
    let extras = outcome.extra.iter().map(|(asset, extra)| datasets::Emit::Extra {
        key: EventKey::Dataset(asset.uri.clone()),
        extra: extra.clone(),
    });
    let added = outcome.add.iter().map(|add| datasets::Emit::AliasAdd {
        key: EventKey::Alias(add.alias.clone()),
        dataset: EventKey::Dataset(add.asset.uri.clone()),
        extra: add.extra.clone(),
    });
    extras.chain(added).collect()
}

pub(super) fn run_type(name: &str) -> DagRunType {
    match name {
        "dataset_triggered" => DagRunType::DatasetTriggered,
        other => DagRunType::parse(other).unwrap_or(DagRunType::Manual),
    }
}

/// The run that a `run` step makes: the scheduled one of a logical date on the timetable's grid, else one that somebody
/// triggers.
pub(super) fn of_step(dag: &Dag, step: &ProducerRun, clock: DateTime<Utc>) -> PyResult<DatasetRun> {
    let facts = ProducerFacts::of(dag, step, clock)?;
    let logical_date = facts.logical_date.unwrap_or(clock);
    let interval = match facts.interval {
        Some(interval) => interval,
        None => dag.timetable.infer_manual_data_interval(logical_date)?,
    };
    Ok(DatasetRun {
        dag_id: dag.dag_id.clone(),
        run_id: run_id(facts.run_type, &isoformat(logical_date)),
        run_type: facts.run_type.to_owned(),
        logical_date,
        data_interval: Some(interval),
        external_trigger: facts.run_type == "manual",
        state: "running".to_owned(),
        queued_at: Some(clock),
        start_date: Some(clock),
        end_date: None,
        consumed: Vec::new(),
    })
}

fn source_run(run: &SourceRun) -> DatasetRun {
    let kind =
        run.run_id.split("__").next().filter(|kind| matches!(*kind, "scheduled" | "backfill" | "dataset_triggered"));
    DatasetRun {
        dag_id: run.dag_id.clone(),
        run_id: run.run_id.clone(),
        run_type: kind.unwrap_or("manual").to_owned(),
        logical_date: run.logical_date,
        data_interval: Some(DataInterval { start: run.data_interval_start, end: run.data_interval_end }),
        external_trigger: kind.is_none(),
        state: "success".to_owned(),
        queued_at: None,
        start_date: None,
        end_date: None,
        consumed: Vec::new(),
    }
}

fn reason(run: &DatasetRun) -> String {
    format!("the last update queued; {}", interval_text(run))
}

/// The data interval in words.
pub(super) fn interval_text(run: &DatasetRun) -> String {
    let short = |at: DateTime<Utc>| {
        let text = at.format("%Y-%m-%d %H:%M:%S").to_string();
        text.strip_suffix(":00").map_or(text.clone(), str::to_owned)
    };
    match run.data_interval {
        Some(interval) if interval.start == interval.end => format!("data interval {}", short(interval.start)),
        Some(interval) => format!("data interval {} to {}", short(interval.start), short(interval.end)),
        None => "no data interval".to_owned(),
    }
}
