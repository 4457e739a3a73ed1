//! The open queue: what Airflow's own endpoints answer from, and where events go that are to stay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Duration, Utc};
use serde_json::Value as Json;

use super::answer::Failure;
use super::scene::Scene;
use crate::asset::AssetKey;
use crate::context::masker::is_sensitive;
use crate::pipeline::{self, Action, Pipeline, Scenario};
use crate::python::PyErr;
use crate::schedule::api::{self, Answer, v1, v2};
use crate::schedule::datasets::{DatasetEvent, DatasetRow, DatasetScheduler};
use crate::schedule::{AssetChange, DagRun, PendingStatus, ScheduleError, Scheduler};

/// The time a request comes in at, UTC.
pub type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The rows behind the endpoints.
pub enum Queue {
    /// In memory: a scheduler of Airflow 3.3 and one of 2.10, each behind its own endpoints.
    Memory(Box<Scheduler>, Box<DatasetScheduler>),
    /// A file, opened for the pipeline when it is first asked for and again when the pipeline has changed.
    File(Utf8PathBuf, Option<(Arc<Pipeline>, Box<Scheduler>)>),
}

/// An open queue, and the clock its rows are stamped by.
pub struct Queues {
    queue: Mutex<Queue>,
    path: Option<Utf8PathBuf>,
    pipeline: Option<String>,
    clock: Clock,
    display: Mutex<BTreeMap<String, String>>,
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queues").field("path", &self.path).field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

impl Queues {
    /// A queue in memory; both schedulers can be changed between requests by [`lock`](Self::lock).
    pub fn memory(scheduler: Scheduler, datasets: DatasetScheduler, clock: Clock) -> Self {
        let queue = Queue::Memory(Box::new(scheduler), Box::new(datasets));
        Queues { queue: Mutex::new(queue), path: None, pipeline: None, clock, display: Mutex::default() }
    }

    /// A queue in a file, whose consumers are the Dags of the pipeline of that name.
    pub fn file(path: Utf8PathBuf, pipeline: String, clock: Clock) -> Self {
        let queue = Queue::File(path.clone(), None);
        Queues {
            queue: Mutex::new(queue),
            path: Some(path),
            pipeline: Some(pipeline),
            clock,
            display: Mutex::default(),
        }
    }

    /// Display names of Dags that have one of their own.
    pub fn set_display_names(&self, names: BTreeMap<String, String>) {
        *self.display.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Utf8Path> {
        self.path.as_deref()
    }

    /// The name of the pipeline whose Dags consume.
    pub fn pipeline_name(&self) -> Option<&str> {
        self.pipeline.as_deref()
    }

    /// Refuses another pipeline than the one whose Dags consume.
    pub(super) fn belong_to(&self, pipeline: &str) -> Result<(), Failure> {
        if self.pipeline.as_deref().is_none_or(|own| own == pipeline) {
            return Ok(());
        }
        let message = format!("the open store belongs to another pipeline than {pipeline}");
        Err(Failure::new(409, "no_store", message))
    }

    /// The rows, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request of Airflow 3.3's API. `pipeline` is the one whose Dags consume, as last read.
    pub(super) fn v2(&self, pipeline: Option<&Arc<Pipeline>>, request: &api::Request) -> Result<Answer, Failure> {
        let names = self.display.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let around =
            v2::Surroundings { display_name: &|dag_id| names.get(dag_id).cloned(), is_sensitive: &is_sensitive };
        let mut queue = self.lock();
        match &mut *queue {
            Queue::Memory(scheduler, _) => Ok(v2::answer(scheduler, around, request, (self.clock)())?),
            Queue::File(..) => {
                self.in_one(opened(&mut queue, pipeline)?, |scheduler, at| v2::answer(scheduler, around, request, at))
            }
        }
    }

    /// Answers a request of Airflow 2.10's API: datasets are the assets, by URI.
    pub(super) fn v1(&self, pipeline: Option<&Arc<Pipeline>>, request: &api::Request) -> Result<Answer, Failure> {
        let mut queue = self.lock();
        match &mut *queue {
            Queue::Memory(_, datasets) => Ok(v1::answer(datasets, request, (self.clock)())?),
            Queue::File(..) => {
                self.in_one(opened(&mut queue, pipeline)?, |scheduler, at| stored_v1(scheduler, request, at))
            }
        }
    }

    /// What waits in the queue.
    pub(super) fn pending(&self, pipeline: Option<&Arc<Pipeline>>) -> Result<Vec<PendingStatus>, Failure> {
        let mut queue = self.lock();
        Ok(scheduler(&mut queue, pipeline)?.pending_status()?)
    }

    /// Records events for good and makes one pass of the scheduler: the runs that came of it.
    pub(super) fn emit(&self, pipeline: &Arc<Pipeline>, events: &[String]) -> Result<Vec<DagRun>, Failure> {
        let mut changes = Vec::new();
        for text in events {
            let step = pipeline::emit_step(pipeline, "event", text)
                .map_err(|(message, hint)| Failure::new(422, "event", message).hinted(hint))?;
            if let Action::Emit(emit) = step.action {
                changes.push(AssetChange {
                    partition_key: emit.partition_key,
                    partition_date: emit.partition_date,
                    ..AssetChange::of(emit.asset)
                });
            }
        }
        let mut queue = self.lock();
        let scheduler = scheduler(&mut queue, Some(pipeline))?;
        self.in_one(scheduler, |scheduler, at| {
            let last = scheduler.runs()?.last().map_or(0, |run| run.id);
            let mut at = at;
            for change in &changes {
                scheduler.register_asset_change(change, at)?;
                at += Duration::microseconds(1);
            }
            scheduler.tick(at)?;
            scheduler.runs_after(last)
        })
    }

    /// The runs of the queue as a scene, read from the file anew.
    pub(super) fn scene(&self, pipeline: &Arc<Pipeline>, base: Option<&Scenario>) -> Result<Arc<Scene>, Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::new(409, "no_store", "the open queue is not a file"));
        };
        self.belong_to(&pipeline.name)?;
        let mut scenario = base.cloned().unwrap_or_else(|| Scenario::of_steps("store", Vec::new()));
        scenario.name = path.file_stem().unwrap_or("store").to_owned();
        scenario.steps = Vec::new();
        let mut scheduler = open(path)?;
        // The Dags must be known to read what waits for them; whoever reads declares nothing.
        scheduler.store_mut().begin()?;
        let declared = pipeline::declare(pipeline, &mut scheduler, scenario.clock());
        scheduler.store_mut().rollback();
        declared?;
        let played = pipeline::stored(pipeline, &scenario, scheduler)?;
        Ok(Scene::of(pipeline, scenario, played, Vec::new()))
    }

    /// Does something in one transaction, at a time after everything in the store.
    fn in_one<T>(
        &self,
        scheduler: &mut Scheduler,
        change: impl FnOnce(&mut Scheduler, DateTime<Utc>) -> Result<T, ScheduleError>,
    ) -> Result<T, Failure> {
        scheduler.store_mut().begin()?;
        let time = |scheduler: &Scheduler| -> Result<DateTime<Utc>, ScheduleError> {
            let now = (self.clock)();
            let newest = scheduler.store().newest()?;
            Ok(newest.map_or(now, |newest| now.max(newest + Duration::microseconds(1))))
        };
        let result = time(scheduler).and_then(|at| change(scheduler, at));
        // A server runs for long: nobody asks it for old decisions.
        scheduler.forget();
        match result {
            Ok(value) => {
                scheduler.store_mut().commit()?;
                Ok(value)
            }
            Err(error) => {
                scheduler.store_mut().rollback();
                Err(error.into())
            }
        }
    }
}

/// The scheduler of Airflow 3.3's rules behind a queue.
fn scheduler<'q>(queue: &'q mut Queue, pipeline: Option<&Arc<Pipeline>>) -> Result<&'q mut Scheduler, Failure> {
    match queue {
        Queue::Memory(scheduler, _) => Ok(scheduler),
        Queue::File(..) => opened(queue, pipeline),
    }
}

/// The scheduler over the file, with the pipeline's Dags as they were last read.
fn opened<'q>(queue: &'q mut Queue, pipeline: Option<&Arc<Pipeline>>) -> Result<&'q mut Scheduler, Failure> {
    let Queue::File(path, known) = queue else {
        return Err(Failure::new(409, "no_store", "the open queue is not a file"));
    };
    let stale = match (&known, pipeline) {
        (None, _) => true,
        (Some((declared, _)), Some(pipeline)) => !Arc::ptr_eq(declared, pipeline),
        // While its file cannot be read, a pipeline stays what it was.
        (Some(_), None) => false,
    };
    if stale {
        let pipeline =
            pipeline.ok_or_else(|| Failure::new(422, "file", "the pipeline of the open store cannot be read"))?;
        let mut scheduler = open(path)?.with_seed(pipeline.name.clone());
        let newest = scheduler.store().newest()?.unwrap_or_default();
        pipeline::declare(pipeline, &mut scheduler, newest)?;
        *known = Some((pipeline.clone(), Box::new(scheduler)));
    }
    match known {
        Some((_, scheduler)) => Ok(scheduler),
        None => Err(Failure::new(409, "no_store", "no store is open")),
    }
}

#[cfg(feature = "sqlite")]
fn open(path: &Utf8Path) -> Result<Scheduler, Failure> {
    let store = crate::schedule::SqliteStore::open(path.as_std_path())?;
    Ok(Scheduler::new(Box::new(store)))
}

#[cfg(not(feature = "sqlite"))]
fn open(path: &Utf8Path) -> Result<Scheduler, Failure> {
    Err(Failure::new(
        501,
        "Unsupported",
        format!("{path}: this partita was built without stored queues (feature `sqlite`)"),
    ))
}

/// Answers a request of 2.10's API from a store, and carries what it changed back into it.
fn stored_v1(scheduler: &mut Scheduler, request: &api::Request, at: DateTime<Utc>) -> Result<Answer, ScheduleError> {
    let about_events = request.path == "/datasets/events";
    let mut datasets = restored(scheduler, about_events && request.method == "GET")?;
    let (events, queue) = (datasets.events().len(), datasets.queue().to_vec());
    let answer = v1::answer(&mut datasets, request, at)?;
    for row in queue.iter().filter(|row| !datasets.queue().contains(row)) {
        scheduler.store_mut().dequeue(&row.dag_id, &[row.asset_id])?;
    }
    let mut answer = answer;
    for event in datasets.events().iter().skip(events).cloned().collect::<Vec<DatasetEvent>>() {
        let assets = scheduler.store().assets()?;
        let Some(asset) = assets.iter().find(|row| row.id == event.dataset_id) else { continue };
        let change = AssetChange { extra: Some(event.extra), ..AssetChange::of(asset.key.clone()) };
        let id = scheduler.register_asset_change(&change, at)?;
        // The store numbers its events itself.
        if let (Some(id), Some(Json::Object(body))) = (id, &mut answer.body) {
            body.insert("id".to_owned(), id.into());
        }
    }
    Ok(answer)
}

/// The rows of a store as 2.10's tables; its events only where somebody asks for them.
fn restored(scheduler: &Scheduler, events: bool) -> Result<DatasetScheduler, ScheduleError> {
    let assets = scheduler.store().assets()?;
    let id = |key: &AssetKey| assets.iter().find(|row| row.key == *key).map_or(0, |row| row.id);
    let datasets = assets.iter().map(|row| DatasetRow { id: row.id, uri: row.key.uri.clone() }).collect();
    let mut found = Vec::new();
    if events {
        let runs = scheduler.runs()?;
        if runs.iter().any(|run| !run.run.events.is_empty()) {
            let what = "dataset events of a store that has runs: Airflow 2.10 shows a logical date and a data interval of \
                        each, which the store does not have";
            return Err(PyErr::unsupported(what).into());
        }
        while let Some(event) = scheduler.event(i64::try_from(found.len()).unwrap_or(i64::MAX - 1) + 1)? {
            found.push(DatasetEvent {
                id: event.id,
                dataset_id: id(&event.asset),
                timestamp: event.timestamp,
                extra: event.extra,
                source: event.source,
                aliases: event.aliases,
            });
        }
    }
    Ok(DatasetScheduler::restored(datasets, found, scheduler.queue()?))
}

/// What Airflow's endpoints refuse is told in partita's own words, under a status that no client takes for an answer.
pub(super) fn refused(error: Failure) -> Failure {
    match error.error["kind"].as_str() {
        Some("Unsupported") => Failure { status: 501, ..error },
        _ => error,
    }
}
