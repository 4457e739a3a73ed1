//! The scheduler's state and the calls that change it from outside.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::decision::{Decision, Entry};
use super::rows::{DagRow, DagRun, LogRow, PendingRow, QueueRow, RunState};
use super::store::{MemoryStore, Store, Stored};
use super::{PendingStatus, ScheduleError};
use crate::asset::{AssetCondition, AssetEvent, AssetKey, AssetRef, Registry};
use crate::python::PyResult;
use crate::timetable::Timetable;

/// How many pending partition rows one pass looks at.
pub const PARTITION_ROWS_PER_TICK: usize = 500;

/// `[scheduler] partition_mapper_max_downstream_keys`
const MAX_DOWNSTREAM_KEYS: usize = 1000;

/// A Dag as far as asset scheduling goes.
#[derive(Debug, Clone)]
pub struct ConsumerDag {
    /// The Dag id.
    pub dag_id: String,
    /// Its timetable; only those with an asset condition are ever triggered here.
    pub timetable: Arc<dyn Timetable>,
    /// Whether the first plain run takes events from before the Dag was there.
    pub catchup: bool,
    /// How many plain runs may be unfinished at once; partition runs do not count it.
    pub max_active_runs: usize,
    /// Paused from the start.
    pub paused: bool,
}

impl ConsumerDag {
    /// A Dag with Airflow's defaults.
    pub fn new(dag_id: impl Into<String>, timetable: Arc<dyn Timetable>) -> Self {
        ConsumerDag { dag_id: dag_id.into(), timetable, catchup: false, max_active_runs: 16, paused: false }
    }
}

/// A Dag and what is computed from it once.
#[derive(Debug)]
pub(super) struct Consumer {
    pub dag: ConsumerDag,
    pub references: References,
    pub fingerprint: PyResult<Json>,
}

/// What a Dag is registered for: Airflow's schedule reference tables.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    pub assets: Vec<AssetKey>,
    pub aliases: Vec<String>,
    pub names: Vec<String>,
    pub uris: Vec<String>,
}

impl References {
    fn of(condition: Option<&AssetCondition>) -> Self {
        let mut references = References::default();
        for leaf in condition.map(AssetCondition::leaves).unwrap_or_default() {
            match leaf {
                AssetCondition::Asset(asset) => push_new(&mut references.assets, asset.key()),
                AssetCondition::Alias(alias) => push_new(&mut references.aliases, alias.name.clone()),
                AssetCondition::Ref(AssetRef::Name(name)) => push_new(&mut references.names, name.clone()),
                AssetCondition::Ref(AssetRef::Uri(uri)) => push_new(&mut references.uris, uri.clone()),
                AssetCondition::All(_) | AssetCondition::Any(_) => {}
            }
        }
        references
    }

    /// Takes the references of a Dag written again. Airflow leaves a table alone when the Dag has nothing for it, so the
    /// old references of that kind stay in force.
    fn replace(&mut self, new: References) {
        fn take<T>(old: &mut Vec<T>, new: Vec<T>) {
            if !new.is_empty() {
                *old = new;
            }
        }
        take(&mut self.assets, new.assets);
        take(&mut self.aliases, new.aliases);
        take(&mut self.names, new.names);
        take(&mut self.uris, new.uris);
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// What a pass did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TickOutcome {
    /// The runs created, in order: partition runs first.
    pub runs: Vec<i64>,
}

/// Which consumers listen to what.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    pub assets: HashMap<AssetKey, Vec<usize>>,
    pub aliases: HashMap<String, Vec<usize>>,
    pub names: HashMap<String, Vec<usize>>,
    pub uris: HashMap<String, Vec<usize>>,
}

/// The queue and the scheduler over a store.
pub struct Scheduler {
    pub(super) store: Box<dyn Store>,
    pub(super) consumers: Vec<Consumer>,
    pub(super) listeners: Listeners,
    pub(super) seed: String,
    pub(super) rows_per_tick: usize,
    pub(super) max_downstream_keys: usize,
    /// Rollups reported as unreachable: Airflow says it once per Dag and asset.
    pub(super) unreachable_seen: HashSet<(String, AssetKey)>,
    tracing: bool,
    entries: Vec<Entry>,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("consumers", &self.consumers).finish_non_exhaustive()
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Scheduler::new(Box::<MemoryStore>::default())
    }
}

impl Scheduler {
    /// A scheduler over a store, without Dags.
    pub fn new(store: Box<dyn Store>) -> Self {
        Scheduler {
            store,
            consumers: Vec::new(),
            listeners: Listeners::default(),
            seed: String::new(),
            rows_per_tick: PARTITION_ROWS_PER_TICK,
            max_downstream_keys: MAX_DOWNSTREAM_KEYS,
            unreachable_seen: HashSet::new(),
            tracing: true,
            entries: Vec::new(),
        }
    }

    /// The text that run ids take the place of randomness from: a scenario's name.
    #[must_use]
    pub fn with_seed(mut self, seed: impl Into<String>) -> Self {
        self.seed = seed.into();
        self
    }

    /// How many pending rows a pass looks at, in place of [`PARTITION_ROWS_PER_TICK`].
    #[must_use]
    pub fn with_rows_per_tick(mut self, rows: usize) -> Self {
        self.rows_per_tick = rows;
        self
    }

    /// Keeps no decisions: for bulk work that nobody will ask about.
    #[must_use]
    pub fn without_trace(mut self) -> Self {
        self.tracing = false;
        self
    }

    pub(super) fn is_tracing(&self) -> bool {
        self.tracing
    }

    pub(super) fn note(&mut self, at: DateTime<Utc>, decision: Decision) {
        if self.tracing {
            self.entries.push(Entry { at, decision });
        }
    }

    /// Runs a change as one transaction of the store.
    pub(super) fn transact<T>(&mut self, change: impl FnOnce(&mut Self) -> Stored<T>) -> Stored<T> {
        self.store.begin()?;
        match change(self) {
            Ok(value) => {
                self.store.commit()?;
                Ok(value)
            }
            Err(error) => {
                self.store.rollback();
                Err(error)
            }
        }
    }

    /// Adds a Dag, with the assets and aliases it is scheduled on, as the Dag processor does.
    pub fn add_dag(&mut self, dag: ConsumerDag, at: DateTime<Utc>) -> Result<(), ScheduleError> {
        let references = References::of(dag.timetable.asset_condition());
        self.transact(|this| {
            let known = this.store.add_dag(&dag.dag_id)?;
            if dag.paused {
                this.store.set_dag(&DagRow { paused: true, ..known })?;
            }
            this.sync_references(&dag.dag_id, &references, at)
        })?;
        let fingerprint = dag.timetable.rollup_fingerprint();
        self.consumers.push(Consumer { dag, references, fingerprint });
        self.index();
        Ok(())
    }

    /// Writes a Dag again with another timetable; it is no longer stale.
    pub fn update_timetable(
        &mut self,
        dag_id: &str,
        timetable: Arc<dyn Timetable>,
        at: DateTime<Utc>,
    ) -> Result<(), ScheduleError> {
        let index = self.position(dag_id)?;
        let Some(consumer) = self.consumers.get_mut(index) else { return Ok(()) };
        let references = References::of(timetable.asset_condition());
        consumer.references.replace(references.clone());
        consumer.fingerprint = timetable.rollup_fingerprint();
        consumer.dag.timetable = timetable;
        self.index();
        self.transact(|this| {
            let row = this.store.add_dag(dag_id)?;
            this.store.set_dag(&DagRow { stale: false, ..row })?;
            this.sync_references(dag_id, &references, at)
        })
    }

    fn sync_references(&mut self, dag_id: &str, references: &References, at: DateTime<Utc>) -> Stored {
        if references.assets.is_empty() {
            return Ok(());
        }
        let ids = references.assets.iter().map(|key| self.store.add_asset(key)).collect::<Stored<Vec<i64>>>()?;
        self.store.set_schedule_refs(dag_id, &ids, at)
    }

    fn index(&mut self) {
        let mut listeners = Listeners::default();
        for (index, consumer) in self.consumers.iter().enumerate() {
            let References { assets, aliases, names, uris } = &consumer.references;
            for key in assets {
                listeners.assets.entry(key.clone()).or_default().push(index);
            }
            for (texts, map) in
                [(aliases, &mut listeners.aliases), (names, &mut listeners.names), (uris, &mut listeners.uris)]
            {
                for text in texts {
                    map.entry(text.clone()).or_default().push(index);
                }
            }
        }
        self.listeners = listeners;
    }

    fn position(&self, dag_id: &str) -> Result<usize, ScheduleError> {
        let found = self.consumers.iter().position(|consumer| consumer.dag.dag_id == dag_id);
        found.ok_or_else(|| ScheduleError::UnknownDag(dag_id.to_owned()))
    }

    pub(super) fn consumer(&self, dag_id: &str) -> Option<&Consumer> {
        self.consumers.iter().find(|consumer| consumer.dag.dag_id == dag_id)
    }

    /// The Dags, in the order they were added.
    pub fn dags(&self) -> impl Iterator<Item = &ConsumerDag> {
        self.consumers.iter().map(|consumer| &consumer.dag)
    }

    /// Declares an asset; it is active from now on.
    pub fn add_asset(&mut self, key: &AssetKey) -> Result<i64, ScheduleError> {
        self.transact(|this| {
            let id = this.store.add_asset(key)?;
            this.store.set_active(id, true)?;
            Ok(id)
        })
    }

    /// Marks an asset active or inactive; false when there is no such asset.
    pub fn set_asset_active(&mut self, key: &AssetKey, active: bool) -> Result<bool, ScheduleError> {
        self.transact(|this| match this.store.asset(key)? {
            Some(row) => this.store.set_active(row.id, active).map(|()| true),
            None => Ok(false),
        })
    }

    /// Associates an asset with an alias, as an earlier event through the alias would have.
    pub fn associate(&mut self, alias: &str, asset: &AssetKey) -> Result<(), ScheduleError> {
        self.transact(|this| {
            let id = this.store.add_asset(asset)?;
            this.store.associate(alias, id)
        })
    }

    /// Pauses or unpauses a Dag.
    pub fn set_paused(&mut self, dag_id: &str, paused: bool) -> Result<(), ScheduleError> {
        self.position(dag_id)?;
        self.transact(|this| {
            let row = this.store.add_dag(dag_id)?;
            this.store.set_dag(&DagRow { paused, ..row })
        })
    }

    /// Marks a Dag as gone from the Dag processor's sight, or back.
    pub fn set_stale(&mut self, dag_id: &str, stale: bool) -> Result<(), ScheduleError> {
        self.position(dag_id)?;
        self.transact(|this| {
            let row = this.store.add_dag(dag_id)?;
            this.store.set_dag(&DagRow { stale, ..row })
        })
    }

    /// Finishes one run, or every unfinished run of a Dag.
    pub fn finish_runs(&mut self, dag_id: &str, run: Option<i64>, state: RunState) -> Result<(), ScheduleError> {
        self.transact(|this| this.store.finish_runs(dag_id, run, state))
    }

    /// Every decision so far.
    pub fn trace(&self) -> &[Entry] {
        &self.entries
    }

    /// Drops the decisions so far: for a long stream of events that nobody will ask about.
    pub fn forget(&mut self) {
        self.entries.clear();
    }

    /// Every run created so far, oldest first.
    pub fn runs(&self) -> Result<Vec<DagRun>, ScheduleError> {
        self.store.runs()
    }

    /// The runs created after one, oldest first.
    pub fn runs_after(&self, run_id: i64) -> Result<Vec<DagRun>, ScheduleError> {
        self.store.runs_after(run_id)
    }

    /// One event.
    pub fn event(&self, id: i64) -> Result<Option<AssetEvent>, ScheduleError> {
        self.store.event(id)
    }

    /// The pending partition rows, oldest first, those of stale Dags too.
    pub fn pending(&self) -> Result<Vec<PendingRow>, ScheduleError> {
        self.store.pending(true, None)
    }

    /// What each pending partition row waits for.
    pub fn pending_status(&self) -> Result<Vec<PendingStatus>, ScheduleError> {
        self.pending()?.iter().map(|row| self.status(row)).collect()
    }

    /// The queue of plain consumers.
    pub fn queue(&self) -> Result<Vec<QueueRow>, ScheduleError> {
        self.store.queue()
    }

    /// The audit log.
    pub fn logs(&self) -> Result<Vec<LogRow>, ScheduleError> {
        self.store.logs()
    }

    /// The store, for what the calls here do not cover.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// The store, to change rows as a user of Airflow's API would (deleting queued events).
    pub fn store_mut(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }
}

/// A store as what conditions ask. An error of the store counts as nothing found; the call that follows reports it.
pub(super) struct StoreRegistry<'a>(pub &'a dyn Store);

impl Registry for StoreRegistry<'_> {
    fn resolve_ref(&self, reference: &AssetRef) -> Option<AssetKey> {
        self.0.resolve_ref(reference).ok().flatten().map(|row| row.key)
    }

    fn assets_of_alias(&self, alias: &str) -> Vec<AssetKey> {
        self.0.assets_of_alias(alias).unwrap_or_default().into_iter().map(|row| row.key).collect()
    }
}
