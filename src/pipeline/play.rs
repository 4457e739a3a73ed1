//! Plays a scenario: events and producer runs in, consumer runs out.

use std::sync::Arc;

use chrono::{DateTime, Duration, SubsecRound, Utc};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::model::{Dag, Pipeline, Profile};
use super::outcome::{LogOutcome, Origin, PendingAsset, PendingOutcome};
use super::play_datasets::DatasetPlay;
use super::queue::declare;
use super::scenario::{Action, Emit, ProducerRun, Scenario, TaskOutcome};
use super::source::Place;
use crate::asset::{AssetEvent, AssetKey, EventSource};
use crate::python::PyErr;
use crate::run::DagRun;
use crate::schedule::{
    self, AliasEvent, AssetChange, DateRule, Decision, Follow, OutletEvent, PendingStatus, Producer, ScheduleError,
    Scheduler, TaskOutlets, validate_runtime_keys,
};
use crate::timetable::{DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable, isoformat};

/// Why a scenario could not be played to its end.
#[derive(Debug)]
pub struct PlayError {
    /// What went wrong.
    pub error: PyErr,
    /// The step, if it was one.
    pub place: Option<Place>,
}

impl From<ScheduleError> for PlayError {
    fn from(error: ScheduleError) -> Self {
        let error = match error {
            ScheduleError::Python(error) => error,
            other => PyErr::unsupported(other.to_string()),
        };
        PlayError { error, place: None }
    }
}

impl From<PyErr> for PlayError {
    fn from(error: PyErr) -> Self {
        PlayError { error, place: None }
    }
}

/// A run and how it came to be.
#[derive(Debug, Clone)]
pub struct PlayedRun {
    /// The run as a worker gets it.
    pub run: Arc<DagRun>,
    /// The same in its wire form.
    pub wire: Json,
    /// How it came to be.
    pub origin: Origin,
    /// Why the partition date is what it is.
    pub date_reason: String,
}

/// A scenario after its last step.
#[derive(Debug)]
pub struct Played {
    /// Runs in the order they were made.
    pub runs: Vec<PlayedRun>,
    /// The queue and scheduler, with the trace of every decision.
    pub scheduler: Scheduler,
    /// The clock after the last step.
    pub clock: DateTime<Utc>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The rows of Airflow 2.10's tables, in that profile.
    pub datasets: Option<Arc<DatasetPlay>>,
}

/// Plays a scenario. Pipelines without steps come out empty.
///
/// # Errors
/// What partita refuses, and chains without end. What one key or one mapper gets wrong is part of the result.
pub fn play(pipeline: &Pipeline, scenario: &Scenario) -> Result<Played, PlayError> {
    if pipeline.profile == Profile::Airflow210 {
        return super::play_datasets::play(pipeline, scenario);
    }
    let mut player = Player::new(pipeline, scenario)?;
    for step in &scenario.steps {
        if let Action::At(at) = step.action {
            player.clock =
                before(at, player.clock).map_err(|error| PlayError { error, place: Some(step.place.clone()) })?;
            continue;
        }
        player.clock += Duration::seconds(1);
        player.step(&step.action).map_err(|error| PlayError { place: Some(step.place.clone()), ..error })?;
    }
    player.clock += Duration::seconds(1);
    player.tick()?;
    if scenario.follow {
        player.clock += Duration::seconds(1);
        let producer = Outlets { pipeline };
        Follow::new().run(&mut player.scheduler, &producer, &mut player.clock)?;
        player.collect()?;
    }
    player.notice();
    Ok(Played {
        runs: player.runs,
        scheduler: player.scheduler,
        clock: player.clock,
        warnings: player.warnings,
        datasets: None,
    })
}

/// The time of an event that says when it happens: never before what happened already.
pub(super) fn event_time(at: DateTime<Utc>, clock: DateTime<Utc>) -> Result<DateTime<Utc>, PyErr> {
    if at < clock {
        return Err(PyErr::unsupported(format!(
            "an event at {}: the clock already stands at {}",
            isoformat(at),
            isoformat(clock)
        ))
        .with_hint("steps happen in the order they are written"));
    }
    Ok(at)
}

/// Where the clock must stand so that the next step happens at an instant.
pub(super) fn before(at: DateTime<Utc>, clock: DateTime<Utc>) -> Result<DateTime<Utc>, PyErr> {
    let before = at - Duration::seconds(1);
    if before < clock {
        return Err(PyErr::unsupported(format!(
            "the next step at {}: the clock already stands at {}",
            isoformat(at),
            isoformat(clock)
        ))
        .with_hint("steps happen in the order they are written, a second or more apart"));
    }
    Ok(before)
}

/// The runs of a queue that lives elsewhere, with the scenario that says what templates read besides.
///
/// # Errors
/// When the store fails.
pub fn stored(pipeline: &Pipeline, scenario: &Scenario, scheduler: Scheduler) -> Result<Played, PlayError> {
    let clock = scheduler.store().newest()?.unwrap_or_else(|| scenario.clock());
    let mut player =
        Player { pipeline, scenario, scheduler, clock, runs: Vec::new(), collected: 0, warnings: Vec::new() };
    player.collect()?;
    Ok(Played { runs: player.runs, scheduler: player.scheduler, clock, warnings: player.warnings, datasets: None })
}

struct Player<'a> {
    pipeline: &'a Pipeline,
    scenario: &'a Scenario,
    scheduler: Scheduler,
    clock: DateTime<Utc>,
    runs: Vec<PlayedRun>,
    /// The newest of the scheduler's runs that are in `runs`.
    collected: i64,
    warnings: Vec<String>,
}

impl<'a> Player<'a> {
    fn new(pipeline: &'a Pipeline, scenario: &'a Scenario) -> Result<Self, PlayError> {
        let clock = scenario.clock().trunc_subsecs(6);
        let document = scenario.document.as_ref();
        let pipeline = document.map_or(pipeline, |document| &document.pipeline);
        let mut scheduler = Scheduler::default().with_seed(format!("{}/{}", pipeline.name, scenario.name));
        if let Some(rows) = document.and_then(|document| document.rows_per_tick) {
            scheduler = scheduler.with_rows_per_tick(rows);
        }
        declare(pipeline, &mut scheduler, clock)?;
        for (alias, asset) in document.map(|document| document.alias_assets.as_slice()).unwrap_or_default() {
            scheduler.associate(alias, asset)?;
        }
        Ok(Player { pipeline, scenario, scheduler, clock, runs: Vec::new(), collected: 0, warnings: Vec::new() })
    }

    fn step(&mut self, action: &Action) -> Result<(), PlayError> {
        match action {
            Action::Emit(emit) => self.emit(emit)?,
            Action::Run(run) => self.producer_run(run)?,
            Action::Tick => self.tick()?,
            Action::At(_) => {}
            Action::Pause(dag_id, paused) => self.scheduler.set_paused(dag_id, *paused)?,
            Action::Stale(dag_id, stale) => self.scheduler.set_stale(dag_id, *stale)?,
            Action::FinishRuns(dag_id) => self.scheduler.finish_runs(dag_id, None, schedule::RunState::Success)?,
            Action::Activate(asset, active) => {
                self.scheduler.set_asset_active(asset, *active)?;
            }
            Action::UpdateTimetable(dag_id, timetable) => {
                self.scheduler.update_timetable(dag_id, timetable.clone(), self.clock)?;
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit: &Emit) -> Result<(), PlayError> {
        if let Some(at) = emit.at {
            self.clock = event_time(at, self.clock)?;
        }
        let change = AssetChange {
            asset: emit.asset.clone(),
            extra: (!emit.extra.is_null()).then(|| emit.extra.clone()),
            source: emit.source.clone(),
            aliases: emit.aliases.clone(),
            partition_key: emit.partition_key.clone(),
            partition_date: emit.partition_date,
        };
        self.scheduler.register_asset_change(&change, self.clock)?;
        Ok(())
    }

    /// One pass of the scheduler. A pass that raises makes no run, as in Airflow; it is told and the scenario goes on.
    fn tick(&mut self) -> Result<(), PlayError> {
        match self.scheduler.tick(self.clock) {
            Ok(_) => self.collect(),
            Err(ScheduleError::Python(error)) if !error.is_refusal() => {
                self.warnings
                    .push(format!("the scheduler's pass failed and made no run: {}: {}", error.class, error.message));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes over the runs that the scheduler made since.
    fn collect(&mut self) -> Result<(), PlayError> {
        let made = self.scheduler.runs_after(self.collected)?;
        for row in made.iter().filter(|row| self.pipeline.dag(&row.run.dag_id).is_some()) {
            let mut events = Vec::with_capacity(row.run.events.len());
            for id in &row.run.events {
                if let Some(event) = self.scheduler.event(*id)? {
                    events.push(event_wire(self.pipeline, &event));
                }
            }
            let wire = json!({
                "dag_id": row.run.dag_id,
                "run_id": row.run.run_id,
                "logical_date": null,
                "data_interval_start": null,
                "data_interval_end": null,
                "run_after": isoformat(row.run.run_after),
                "start_date": isoformat(row.run.run_after),
                "end_date": null,
                "clear_number": 0,
                "run_type": "asset_triggered",
                "state": "running",
                "conf": self.scenario.conf,
                "consumed_asset_events": events,
                "partition_key": row.run.partition_key,
                "partition_date": row.run.partition_date.map(isoformat),
            });
            let date_reason = date_reason(&self.scheduler, row)?;
            self.runs.push(PlayedRun {
                run: Arc::new(DagRun::from_json(&wire)?),
                wire,
                origin: Origin::Events,
                date_reason,
            });
        }
        self.collected = made.last().map_or(self.collected, |row| row.id);
        Ok(())
    }

    fn producer_run(&mut self, step: &ProducerRun) -> Result<(), PlayError> {
        let Some(dag) = self.pipeline.dag(&step.dag_id) else { return Ok(()) };
        let ordinal = self.runs.len();
        let made = match ProducerFacts::of(dag, step, self.clock) {
            Ok(made) => made,
            Err(error) if error.class == "Unsupported" => return Err(error.into()),
            Err(error) => {
                self.warnings.push(format!("no run of {}: {}: {}", step.dag_id, error.class, error.message));
                return Ok(());
            }
        };
        let parts = RunIdParts {
            run_type: made.run_type,
            run_after: made.run_after,
            data_interval: made.interval,
            partition_key: step.partition_key.as_deref(),
            random: &suffix(&[
                &self.pipeline.name,
                &self.scenario.name,
                &step.dag_id,
                step.partition_key.as_deref().unwrap_or(""),
                &ordinal.to_string(),
            ]),
        };
        let run_id = dag.timetable.generate_run_id(&parts);
        let wire = json!({
            "dag_id": step.dag_id,
            "run_id": run_id,
            "logical_date": made.logical_date.map(isoformat),
            "data_interval_start": made.interval.map(|interval| isoformat(interval.start)),
            "data_interval_end": made.interval.map(|interval| isoformat(interval.end)),
            "run_after": isoformat(made.run_after),
            "start_date": isoformat(self.clock),
            "end_date": null,
            "clear_number": 0,
            "run_type": made.run_type,
            "state": "running",
            "conf": step.conf,
            "consumed_asset_events": [],
            "partition_key": step.partition_key,
            "partition_date": made.partition_date.map(isoformat),
        });
        self.runs.push(PlayedRun {
            run: Arc::new(DagRun::from_json(&wire)?),
            wire,
            origin: Origin::Step,
            date_reason: made.date_reason,
        });
        if dag.timetable.partitioned() && !dag.timetable.partitioned_at_runtime() && step.partition_key.is_none() {
            self.warnings.push(format!(
                "{} is partitioned but its run has no partition_key: its events start no partitioned Dag",
                step.dag_id
            ));
        }
        for task in &dag.tasks {
            let outcome = step.tasks.iter().find(|outcome| outcome.task_id == task.task_id);
            if task.outlets.is_empty() || outcome.is_some_and(|outcome| !outcome.succeeded) {
                continue;
            }
            let outlets = TaskOutlets {
                source: EventSource {
                    dag_id: step.dag_id.clone(),
                    task_id: task.task_id.clone(),
                    run_id: run_id.clone(),
                    map_index: -1,
                },
                outlets: task.outlets.clone(),
                events: outcome.map(outlet_events).unwrap_or_default(),
                alias_events: outcome.map(|outcome| alias_events(self.pipeline, outcome)).unwrap_or_default(),
                partition_key: step.partition_key.clone(),
                partition_date: made.partition_date,
            };
            let keys = outlets.events.iter().try_for_each(|event| validate_runtime_keys(&event.partition_keys));
            if let Err(error) = keys {
                let task = &outlets.source.task_id;
                self.warnings.push(format!(
                    "{}.{task} fails and emits nothing: {}: {}",
                    step.dag_id, error.class, error.message
                ));
                continue;
            }
            self.scheduler.register_task_outlets(&outlets, self.clock)?;
        }
        Ok(())
    }

    /// What the decisions say that a person should know.
    fn notice(&mut self) {
        let mut unheard: Vec<(String, AssetKey, Vec<String>)> = Vec::new();
        let mut missed: Vec<((String, String, &str), usize)> = Vec::new();
        let mut notes = Vec::new();
        for entry in self.scheduler.trace() {
            match &entry.decision {
                Decision::AssetUnknown { asset } => notes.push(format!("no such asset: {} ({})", asset.name, asset.uri)),
                Decision::OutletInactive { outlet } => notes.push(format!("{outlet} is inactive: its task emits no event for it")),
                Decision::EventRecorded { event, asset, partition_key, inactive, paused, plain, unheard: alone, .. } => {
                    let key = partition_key.as_ref().map(|key| format!(" {key:?}")).unwrap_or_default();
                    if *inactive {
                        notes.push(format!("{} is inactive: its event{key} counts once it is active again", asset.name));
                    }
                    for dag_id in paused {
                        count(&mut missed, (dag_id.clone(), asset.name.clone(), "is paused"));
                    }
                    for dag_id in plain {
                        count(&mut missed, (dag_id.clone(), asset.name.clone(), "is not partitioned"));
                    }
                    if *alone {
                        let source = self.scheduler.event(*event).ok().flatten().and_then(|event| event.source);
                        let source = source.map_or_else(|| "the scenario".to_owned(), |source| source.dag_id);
                        let key = partition_key.as_ref().map_or_else(|| "an event".to_owned(), |key| format!("{key:?}"));
                        match unheard.iter_mut().find(|(known, name, _)| *known == source && name == asset) {
                            Some((_, _, keys)) => keys.push(key),
                            None => unheard.push((source, asset.clone(), vec![key])),
                        }
                    }
                }
                Decision::Dropped { dag_id, partition_key, .. } => notes.push(format!(
                    "the pending run {partition_key:?} of {dag_id} was dropped: its mappers changed since the events came"
                )),
                Decision::KeyMapped { dag_id, partition_key, carry_error: Some(error), .. } => notes.push(format!(
                    "{dag_id}: no date is carried for {partition_key:?}: {}: {}",
                    error.kind, error.message
                )),
                Decision::LimitReached { limit, behind } => {
                    notes.push(format!("the pass looked at {limit} pending runs; {behind} wait behind them"));
                }
                _ => {}
            }
        }
        for ((dag_id, asset, why), events) in missed {
            let events = if events == 1 { "an event".to_owned() } else { format!("{events} events") };
            let because = if why == "is paused" { "and misses" } else { "and is not started by" };
            let kind = if why == "is paused" { "" } else { " with a key" };
            notes.push(format!("{dag_id} {why} {because} {events} of {asset}{kind}"));
        }
        for (source, asset, mut keys) in unheard {
            keys.sort();
            keys.dedup();
            notes.push(format!("{source} emitted {} but nothing consumes {}", keys.join(", "), asset.name));
        }
        for note in notes {
            if !self.warnings.contains(&note) {
                self.warnings.push(note);
            }
        }
    }
}

fn count<K: PartialEq>(counts: &mut Vec<(K, usize)>, key: K) {
    match counts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, count)) => *count += 1,
        None => counts.push((key, 1)),
    }
}

/// What kind of run a `run` step makes.
pub(super) struct ProducerFacts {
    pub(super) run_type: &'static str,
    pub(super) run_after: DateTime<Utc>,
    pub(super) logical_date: Option<DateTime<Utc>>,
    pub(super) interval: Option<DataInterval>,
    partition_date: Option<DateTime<Utc>>,
    date_reason: String,
}

impl ProducerFacts {
    /// A key on the timetable's grid makes the scheduled run of that key, a logical date on the grid the scheduled run of
    /// that date; anything else is a run somebody triggers now.
    pub(super) fn of(dag: &Dag, step: &ProducerRun, now: DateTime<Utc>) -> Result<Self, PyErr> {
        let timetable = &dag.timetable;
        let mut facts = ProducerFacts {
            run_type: "manual",
            run_after: now,
            logical_date: step.logical_date,
            interval: None,
            partition_date: None,
            date_reason: String::new(),
        };
        if let Some(info) = &step.partition {
            facts.run_type = "backfill";
            facts.run_after = info.run_after;
            facts.interval = info.data_interval;
            facts.partition_date = info.partition_date;
            timetable.class_name().clone_into(&mut facts.date_reason);
            return Ok(facts);
        }
        if let Some(key) = &step.partition_key {
            facts.partition_date = timetable.resolve_partition_date(Some(key))?.map(|moment| moment.instant());
            facts.date_reason = match facts.partition_date {
                Some(_) => format!("{}; decoded", timetable.class_name()),
                None if timetable.partitioned() => format!("{} reads no date from a key", timetable.class_name()),
                None => "the Dag is not partitioned".to_owned(),
            };
        }
        if let (Some(key), Some(date), None) = (&step.partition_key, facts.partition_date, step.logical_date)
            && let Some(info) = scheduled_run(timetable.as_ref(), key, date)
        {
            facts.run_type = "scheduled";
            facts.run_after = info.run_after;
            facts.interval = info.data_interval;
            facts.partition_date = info.partition_date;
            timetable.class_name().clone_into(&mut facts.date_reason);
        }
        if let Some(date) = step.logical_date {
            let restriction = TimeRestriction { earliest: Some(date), latest: Some(date), catchup: true };
            let next = if timetable.partitioned() || timetable.asset_condition().is_some() {
                None
            } else {
                timetable.next_dagrun_info_v2(None, &restriction, now.max(date))?
            };
            match next.filter(|info| info.logical_date() == Some(date)) {
                Some(info) => {
                    facts.run_type = "scheduled";
                    facts.run_after = info.run_after;
                    facts.interval = info.data_interval;
                }
                None => {
                    facts.run_after = date;
                    facts.interval = Some(timetable.infer_manual_data_interval(date)?);
                }
            }
        }
        Ok(facts)
    }
}

/// The run that a timetable schedules for a key whose date is known. A key can say less than the date does (a day for a run
/// at four), so the first run with that key is looked for from the date on.
pub(super) fn scheduled_run(timetable: &dyn Timetable, key: &str, date: DateTime<Utc>) -> Option<DagRunInfo> {
    const LOOKED_AT: usize = 2_000;
    let end = date.checked_add_signed(Duration::days(366))?;
    let infos = timetable.iter_partition_dagrun_infos(date.fixed_offset(), end.fixed_offset()).ok()?;
    infos.take(LOOKED_AT).filter_map(Result::ok).find(|info| info.partition_key.as_deref() == Some(key))
}

/// `outlet_events[asset]` of a task: extra and keys together.
fn outlet_events(outcome: &TaskOutcome) -> Vec<OutletEvent> {
    let mut events: Vec<OutletEvent> = Vec::new();
    for (asset, keys) in &outcome.add_partitions {
        events.push(OutletEvent {
            asset: asset.clone(),
            extra: Json::Object(Map::new()),
            partition_keys: keys.clone(),
        });
    }
    for (asset, extra) in &outcome.extra {
        match events.iter_mut().find(|event| event.asset == *asset) {
            Some(event) => event.extra = extra.clone(),
            None => events.push(OutletEvent { asset: asset.clone(), extra: extra.clone(), partition_keys: Vec::new() }),
        }
    }
    events
}

fn alias_events(pipeline: &Pipeline, outcome: &TaskOutcome) -> Vec<AliasEvent> {
    let add = |add: &super::scenario::AliasAdd| AliasEvent {
        alias: add.alias.clone(),
        asset: add.asset.clone(),
        asset_extra: asset_extra(pipeline, &add.asset),
        extra: add.extra.clone(),
    };
    outcome.add.iter().map(add).collect()
}

fn asset_extra(pipeline: &Pipeline, key: &AssetKey) -> Json {
    let def = pipeline.assets.iter().find(|def| def.asset.name == key.name && def.asset.uri == key.uri);
    def.map_or_else(|| Json::Object(Map::new()), |def| def.asset.extra.clone())
}

/// An event as a run's payload holds it.
fn event_wire(pipeline: &Pipeline, event: &AssetEvent) -> Json {
    let source = event.source.as_ref();
    let aliases: Vec<Json> = event.aliases.iter().map(|name| json!({"name": name})).collect();
    json!({
        "asset": {"name": event.asset.name, "uri": event.asset.uri, "extra": asset_extra(pipeline, &event.asset)},
        "extra": event.extra,
        "source_task_id": source.map(|source| source.task_id.clone()),
        "source_dag_id": source.map(|source| source.dag_id.clone()),
        "source_run_id": source.map(|source| source.run_id.clone()),
        "source_map_index": source.map_or(-1, |source| source.map_index),
        "source_aliases": aliases,
        "timestamp": isoformat(event.timestamp),
        "partition_key": event.partition_key,
    })
}

/// What consumer runs emit when they succeed: every declared outlet, with the run's key and date.
struct Outlets<'a> {
    pipeline: &'a Pipeline,
}

impl Producer for Outlets<'_> {
    fn outlets(&self, run: &schedule::DagRun) -> Vec<TaskOutlets> {
        let Some(dag) = self.pipeline.dag(&run.run.dag_id) else { return Vec::new() };
        let outlets = |task: &super::model::Task| TaskOutlets {
            source: EventSource {
                dag_id: dag.dag_id.clone(),
                task_id: task.task_id.clone(),
                run_id: run.run.run_id.clone(),
                map_index: -1,
            },
            outlets: task.outlets.clone(),
            events: Vec::new(),
            alias_events: Vec::new(),
            partition_key: run.run.partition_key.clone(),
            partition_date: run.run.partition_date,
        };
        dag.tasks.iter().filter(|task| !task.outlets.is_empty()).map(outlets).collect()
    }
}

/// Eight characters in place of those Airflow draws at random.
pub(super) fn suffix(parts: &[&str]) -> String {
    // Of the characters Airflow draws from, those that read well in file names.
    const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// Why a run has its date, from the decision that made it.
fn date_reason(scheduler: &Scheduler, row: &schedule::DagRun) -> Result<String, ScheduleError> {
    // Asked right after the pass: the decision is among the last.
    let created = scheduler.trace().iter().rev().find_map(|entry| match &entry.decision {
        Decision::RunCreated { run, date, .. } if *run == row.id => Some(date.clone()),
        _ => None,
    });
    let rule = match created {
        Some(rule) => rule,
        None => scheduler.date_rule(&row.run)?,
    };
    let pending = row.run.pending_id;
    let class = |mapper: &str| mapper.split('(').next().unwrap_or(mapper).to_owned();
    let classes = |anchors: &[schedule::Anchor]| {
        let mut names: Vec<String> = Vec::new();
        for anchor in anchors {
            let name = class(&anchor.mapper);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    Ok(match rule {
        DateRule::Decoded { anchors } => {
            let dated: Vec<_> = anchors.iter().filter(|anchor| anchor.date.is_some()).cloned().collect();
            match dated.len() {
                0 | 1 => classes(&dated),
                count => format!("{}; {count} assets agree", classes(&dated)),
            }
        }
        DateRule::Carried { anchors } => format!("{}; carried", classes(&anchors)),
        DateRule::NoDate { anchors } => {
            let conflict = scheduler
                .trace()
                .iter()
                .rev()
                .find_map(|entry| match &entry.decision {
                    Decision::PendingJoined { pending: row, conflict: true, .. } if Some(*row) == pending => Some(true),
                    Decision::PendingOpened { pending: row, .. } if Some(*row) == pending => Some(false),
                    _ => None,
                })
                .unwrap_or(false);
            let classes = classes(&anchors);
            match (conflict, classes.contains("IdentityMapper")) {
                (true, _) => format!("{classes}; the events carried different dates"),
                (false, true) => format!("{classes}; no event carried a date"),
                (false, false) => format!("a key of {classes} has no date"),
            }
        }
        DateRule::Conflict { anchors } => {
            let said: Vec<String> = anchors
                .iter()
                .filter_map(|anchor| anchor.date.as_ref().map(|date| format!("{} says {date}", anchor.asset.name)))
                .collect();
            format!("the mappers disagree: {}", said.join(", "))
        }
        DateRule::Failed { asset, mapper, error } => {
            format!("{} of {} cannot decode the key: {}: {}", class(&mapper), asset.name, error.kind, error.message)
        }
        DateRule::NotPartitioned => String::new(),
    })
}

impl Played {
    /// Partitions and Dags that still wait.
    ///
    /// # Errors
    /// When the store fails.
    pub fn pending(&self) -> Result<Vec<PendingOutcome>, PlayError> {
        if let Some(datasets) = &self.datasets {
            return Ok(datasets.pending());
        }
        let mut pending: Vec<PendingOutcome> =
            self.scheduler.pending_status()?.iter().map(|status| pending_partition(&self.scheduler, status)).collect();
        for dag_id in self.waiting_plain()? {
            let queued: Vec<AssetKey> = {
                let assets = self.scheduler.store().assets()?;
                let queue = self.scheduler.queue()?;
                let rows = queue.iter().filter(|row| row.dag_id == dag_id);
                rows.filter_map(|row| assets.iter().find(|asset| asset.id == row.asset_id))
                    .map(|row| row.key.clone())
                    .collect()
            };
            if queued.is_empty() {
                continue;
            }
            let condition = self.scheduler.dags().find(|dag| dag.dag_id == dag_id);
            let wanted = condition.and_then(|dag| {
                dag.timetable
                    .asset_condition()
                    .map(|condition| condition.assets().into_iter().map(crate::asset::Asset::key).collect::<Vec<_>>())
            });
            let assets = wanted.unwrap_or_else(|| queued.clone()).into_iter().map(|asset| {
                let here = queued.contains(&asset);
                let reason = if here { "an event is queued" } else { "no event since the last run" };
                PendingAsset { asset, received: Vec::new(), missing: None, satisfied: here, reason: reason.to_owned() }
            });
            pending.push(PendingOutcome {
                assets: assets.collect(),
                dag_id,
                partition_key: None,
                partition_date: None,
            });
        }
        Ok(pending)
    }

    /// Plain consumers that the last pass left waiting; without a pass, all that something is queued for.
    fn waiting_plain(&self) -> Result<Vec<String>, PlayError> {
        let mut found: Vec<String> = Vec::new();
        for entry in self.scheduler.trace() {
            if let Decision::PlainWaiting { dag_id, .. } = &entry.decision
                && !found.contains(dag_id)
            {
                found.push(dag_id.clone());
            }
        }
        if found.is_empty() {
            found = self.scheduler.queue()?.into_iter().map(|row| row.dag_id).collect();
            found.sort();
            found.dedup();
        }
        Ok(found)
    }

    /// Airflow's audit log.
    ///
    /// # Errors
    /// When the store fails.
    pub fn log(&self) -> Result<Vec<LogOutcome>, PlayError> {
        let rows = self.scheduler.logs()?;
        Ok(rows
            .into_iter()
            .map(|row| LogOutcome {
                event: row.event,
                extra: row.extra,
                source: row.source.map(|source| format!("{}.{}", source.dag_id, source.task_id)),
            })
            .collect())
    }
}

fn pending_partition(scheduler: &Scheduler, status: &PendingStatus) -> PendingOutcome {
    let assets = status.assets.iter().map(|wait| {
        let mut reason = match (wait.expected, &wait.wait_policy, wait.received.is_empty()) {
            (Some(expected), Some(policy), _) => format!("{} of {expected} keys, {policy}", wait.matched),
            (_, _, true) => "no event yet".to_owned(),
            _ if wait.satisfied => "here".to_owned(),
            _ => "does not count".to_owned(),
        };
        if !wait.active {
            reason.push_str("; the asset is inactive");
        }
        if wait.received.is_empty()
            && let Some(error) = scheduler.never_agrees(&status.dag_id, &wait.asset, &status.partition_key)
        {
            reason = format!(
                "{reason}; can never come: {} makes no key like {:?} ({})",
                wait.mapper, status.partition_key, error.message
            );
        }
        if let Some(why) = &wait.unreachable {
            reason = format!("{reason}; can never be satisfied: {why}");
        }
        if let Some(error) = &wait.error {
            reason = format!("{reason}; {}: {}", error.kind, error.message);
        }
        PendingAsset {
            asset: wait.asset.clone(),
            received: wait.received.iter().map(|source| source.key.clone()).collect(),
            missing: wait.expected.map(|_| wait.missing.clone()),
            satisfied: wait.satisfied,
            reason,
        }
    });
    PendingOutcome {
        dag_id: status.dag_id.clone(),
        partition_key: Some(status.partition_key.clone()),
        partition_date: status.carried,
        assets: assets.collect(),
    }
}
