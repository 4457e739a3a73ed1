//! The template context of a run: Airflow's names, as the Python values behind them.
//!
//! [`build`] checks what Airflow checks when it builds its context and makes nothing else: each value is made when a template
//! first reads its name, and kept for that rendering. Building costs next to nothing, so it is done anew for each rendering:
//! templates can change dicts and lists they are given.

mod accessor;
pub mod airflow2;
mod any;
mod asset;
mod babel;
mod broken;
mod connection;
mod convert;
mod dag;
mod dag_run;
mod dates;
mod dump;
mod enums;
mod environment;
mod filters;
mod inlet_events;
mod keys;
mod lookup;
mod macros;
pub mod masker;
mod model;
mod outlet_events;
mod params;
mod prev_success;
mod proxy;
mod source_task;
mod state_store;
mod surroundings;
mod table;
mod task;
mod task_instance;
mod triggering_events;
mod user;
mod variable;
mod views;
mod xcom;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::Timelike;

use crate::jinja::Names;
use crate::python::{self, Fields, PyErr, PyResult, Value, strftime};
use crate::run::{Instant, Run};

use keys::Key;

pub use any::AnyContext;
pub use environment::environment;
pub use filters::filters;
pub use keys::attribute_advice;
pub use masker::Masker;
pub use surroundings::{AssetItem, DagInfo, MissingXCom, Profile, StoredEvent, Surroundings, TaskInfo};
pub use table::{Entry, describe};
pub use user::{plugin_macros, user_defined_filters, user_defined_macros};

/// The template context of one rendering.
#[derive(Debug)]
pub struct Context {
    shared: Shared,
}

/// What the objects of one context share.
type Shared = Arc<SharedInner>;

#[derive(Debug)]
struct SharedInner {
    run: Arc<Run>,
    around: Arc<Surroundings>,
    references: Mutex<lookup::RefCache>,
    /// Values already made, by key. Emptied when the context is dropped: the objects in it point back here.
    made: Mutex<Vec<Option<Value>>>,
    /// Params merged with `conf`, as they were before any template changed them.
    merged: OnceLock<Vec<(String, Value)>>,
    /// Which keys were read, one bit each.
    read: AtomicU64,
    /// Which of [`WATCHED`] were read, one bit each.
    attributes: AtomicU64,
}

/// Attributes whose values are often assumed rather than given: class, attribute, and what a report calls it.
const WATCHED: &[(&str, &str, &str)] = &[
    ("DagRun", "run_id", "dag_run.run_id"),
    ("DagRun", "run_after", "dag_run.run_after"),
    ("DagRun", "start_date", "dag_run.start_date"),
    ("RuntimeTaskInstance", "run_id", "ti.run_id"),
    ("RuntimeTaskInstance", "try_number", "ti.try_number"),
    ("RuntimeTaskInstance", "max_tries", "ti.max_tries"),
    ("RuntimeTaskInstance", "map_index", "ti.map_index"),
    ("RuntimeTaskInstance", "start_date", "ti.start_date"),
    ("AssetEventDagRunReference", "timestamp", "event.timestamp"),
    ("AssetEventDagRunReferenceResult", "timestamp", "event.timestamp"),
    ("AssetEventDagRunReference", "source_run_id", "event.source_run_id"),
    ("AssetEventDagRunReferenceResult", "source_run_id", "event.source_run_id"),
];

/// Builds the context of a run.
///
/// Fails as `RuntimeTaskInstance.get_template_context` of Airflow fails: an inlet may refer to an asset that does not exist.
pub fn build(run: Arc<Run>, around: Arc<Surroundings>) -> PyResult<Context> {
    if around.profile != Profile::Airflow33 {
        return Err(PyErr::unsupported("the template context of Airflow 2.10"));
    }
    let shared = Arc::new(SharedInner {
        run,
        around,
        references: Mutex::default(),
        made: Mutex::new(vec![None; Key::ALL.len()]),
        merged: OnceLock::new(),
        read: AtomicU64::new(0),
        attributes: AtomicU64::new(0),
    });
    for item in &shared.around.task.inlets {
        if let AssetItem::Ref(reference) = item {
            shared.find(reference)?;
        }
    }
    Ok(Context { shared })
}

/// Airflow's `macros`, for expressions outside of a run: a mapper of one's own reads dates with `macros.datetime`.
pub fn airflow_macros() -> Value {
    macros::value(&Arc::default())
}

/// `user_defined_macros` of the run that are plain values: globals of the environment, so that the context's names win.
pub fn user_macros(run: &Run) -> PyResult<BTreeMap<String, Value>> {
    run.user_macros.iter().map(|(name, value)| Ok((name.clone(), convert::json(value)?))).collect()
}

impl Context {
    /// The run.
    pub fn run(&self) -> &Arc<Run> {
        &self.shared.run
    }

    /// Names that a template has read so far, in Airflow's order: what of the assumed run it depends on.
    pub fn names_read(&self) -> Vec<&'static str> {
        let read = self.shared.read.load(Ordering::Relaxed);
        Key::ALL.iter().filter(|key| read & (1 << **key as u64) != 0).map(|key| key.name()).collect()
    }

    /// Attributes read so far whose values are often assumed: `ti.try_number`, `event.timestamp` and the like.
    pub fn attributes_read(&self) -> Vec<&'static str> {
        let read = self.shared.attributes.load(Ordering::Relaxed);
        let mut names: Vec<&'static str> =
            WATCHED.iter().enumerate().filter(|(at, _)| read & (1 << at) != 0).map(|(_, watched)| watched.2).collect();
        names.dedup();
        names
    }

    /// Every name of Airflow's context, defined in this kind of run or not, in Airflow's order.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        Key::ALL.iter().map(|key| key.name())
    }
}

impl Names for Context {
    fn get(&self, name: &str) -> Option<Value> {
        let key = Key::parse(name)?;
        self.shared.read.fetch_or(1 << key as u64, Ordering::Relaxed);
        self.shared.get(key).map(|made| made.unwrap_or_else(broken::value))
    }

    fn hint(&self, name: &str) -> Option<String> {
        keys::advice(name, &self.shared.run.dag_run, self.shared.around.profile)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.shared.made().clear();
    }
}

impl SharedInner {
    /// Notes that an attribute was read.
    fn note(&self, class: &str, attribute: &str) {
        if let Some(at) = WATCHED.iter().position(|watched| watched.0 == class && watched.1 == attribute) {
            self.attributes.fetch_or(1 << at, Ordering::Relaxed);
        }
    }

    fn made(&self) -> MutexGuard<'_, Vec<Option<Value>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refs(&self) -> MutexGuard<'_, lookup::RefCache> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key; `None` when the run does not define it.
    fn get(self: &Arc<Self>, key: Key) -> Option<PyResult> {
        let slot = key as usize;
        if let Some(Some(made)) = self.made().get(slot) {
            return Some(Ok(made.clone()));
        }
        let value = match self.make(key)? {
            Ok(value) => value,
            Err(error) => return Some(Err(error)),
        };
        // made without the lock held: the making of one value may read another
        Some(Ok(match self.made().get_mut(slot) {
            Some(slot) => slot.get_or_insert(value).clone(),
            None => value,
        }))
    }

    fn expect(self: &Arc<Self>, key: Key) -> PyResult {
        self.get(key).unwrap_or_else(|| Err(PyErr::unsupported(format!("`{}` in this run", key.name()))))
    }

    /// `dag`
    fn dag(self: &Arc<Self>) -> PyResult {
        self.expect(Key::Dag)
    }

    /// `task`
    fn task(self: &Arc<Self>) -> PyResult {
        self.expect(Key::Task)
    }

    /// `inlets`
    fn inlets(self: &Arc<Self>) -> PyResult {
        self.expect(Key::Inlets)
    }

    /// `outlets`
    fn outlets(self: &Arc<Self>) -> PyResult {
        self.expect(Key::Outlets)
    }

    /// `ti._ti_context_from_server`
    fn ti_run_context(self: &Arc<Self>) -> PyResult {
        Ok(dag_run::ti_run_context(self.expect(Key::DagRun)?, &self.run))
    }

    /// The whole context as a dict: `ti.get_template_context()`.
    fn as_dict(self: &Arc<Self>) -> PyResult {
        let mut pairs = Vec::with_capacity(Key::ALL.len());
        for key in Key::ALL {
            if let Some(value) = self.get(*key) {
                pairs.push((key.name(), value?));
            }
        }
        Ok(python::str_dict(pairs))
    }

    fn make(self: &Arc<Self>, key: Key) -> Option<PyResult> {
        let run = &self.run;
        let dag_run = &run.dag_run;
        let logical_date = || dag_run.logical_date;
        if key.needs_logical_date() && logical_date().is_none() {
            return None;
        }
        Some(match key {
            Key::Dag => Ok(dag::Dag::build(self)),
            Key::Task => Ok(task::Task::build(self)),
            Key::Ti => Ok(task_instance::RuntimeTaskInstance::build(self)),
            Key::TaskInstance => self.expect(Key::Ti),
            Key::Inlets => items(&self.around.task.inlets),
            Key::Outlets => items(&self.around.task.outlets),
            Key::MapIndexTemplate => Ok(convert::opt_str(self.around.task.map_index_template.as_deref())),
            Key::RunId => Ok(Value::from(dag_run.run_id.as_str())),
            Key::OutletEvents => Ok(outlet_events::OutletEvents::build(self)),
            Key::InletEvents => self.inlets().and_then(|inlets| inlet_events::InletEvents::build(self, &inlets)),
            Key::Macros => Ok(macros::value(&self.around.plugins)),
            Key::Params => self.merged_params().map(|merged| python::str_dict(merged.iter().cloned())),
            Key::Var => Ok(variable::var(self)),
            Key::Conn => Ok(connection::conn(self)),
            Key::TaskStateStore => Ok(state_store::task_state_store()),
            Key::AssetStateStore => return state_store::asset_state_store(self).map(Ok),
            Key::DagRun => self.make_dag_run(),
            Key::PartitionKey => Ok(convert::opt_str(dag_run.partition_key.as_deref())),
            Key::PartitionDate => Ok(convert::pendulum(dag_run.partition_date)),
            Key::TriggeringAssetEvents => triggering_events::TriggeringEvents::build(self),
            Key::TaskInstanceKeyStr => self.task_instance_key_str().map(Value::from),
            Key::TaskRescheduleCount => Ok(convert::int_of(run.ti.task_reschedule_count)),
            Key::PrevStartDateSuccess => Ok(prev_success::proxy(run, "start_date")),
            Key::PrevEndDateSuccess => Ok(prev_success::proxy(run, "end_date")),
            Key::PrevDataIntervalStartSuccess => Ok(prev_success::proxy(run, "data_interval_start")),
            Key::PrevDataIntervalEndSuccess => Ok(prev_success::proxy(run, "data_interval_end")),
            Key::LogicalDate => Ok(convert::pendulum(logical_date())),
            Key::DataIntervalStart => Ok(convert::pendulum(dag_run.data_interval_start)),
            Key::DataIntervalEnd => Ok(convert::pendulum(dag_run.data_interval_end)),
            Key::Ds => format(logical_date()?, "%Y-%m-%d").map(Value::from),
            Key::DsNodash => ds_nodash(logical_date()?).map(Value::from),
            Key::Ts => Ok(Value::from(isoformat(logical_date()?))),
            Key::TsNodash => format(logical_date()?, "%Y%m%dT%H%M%S").map(Value::from),
            Key::TsNodashWithTz => Ok(Value::from(isoformat(logical_date()?).replace(['-', ':'], ""))),
        })
    }

    /// The values of `params`. Those that `conf` overrides or adds are the objects `dag_run.conf` holds, so that value is
    /// made first, and the merging is done before a template can change it.
    fn merged_params(self: &Arc<Self>) -> PyResult<&[(String, Value)]> {
        if self.run.dag_run.conf.as_ref().is_some_and(|conf| !conf.is_empty()) {
            self.expect(Key::DagRun)?;
        }
        match self.merged.get() {
            Some(merged) => Ok(merged),
            None => self.merge_params(None),
        }
    }

    fn merge_params(&self, conf: Option<&Value>) -> PyResult<&[(String, Value)]> {
        let merged = params::merged(&self.run, conf)?;
        Ok(self.merged.get_or_init(|| merged))
    }

    fn make_dag_run(self: &Arc<Self>) -> PyResult {
        let dag_run = dag_run::dag_run(self)?;
        let conf = python::downcast::<model::Model>(&dag_run).and_then(|model| model.field("conf")).transpose()?;
        self.merge_params(conf.as_ref())?;
        Ok(dag_run)
    }

    fn task_instance_key_str(&self) -> PyResult<String> {
        let dag_run = &self.run.dag_run;
        let last = match dag_run.logical_date {
            Some(date) => ds_nodash(date)?,
            None => dag_run.run_id.clone(),
        };
        Ok(format!("{}__{}__{last}", dag_run.dag_id, self.run.ti.task_id))
    }
}

fn items(items: &[AssetItem]) -> PyResult {
    items.iter().map(asset::item_value).collect::<PyResult<Vec<_>>>().map(python::list)
}

fn format(date: Instant, format: &str) -> PyResult<String> {
    strftime(format, &Fields::naive(date.naive_utc()))
}

fn ds_nodash(date: Instant) -> PyResult<String> {
    Ok(format(date, "%Y-%m-%d")?.replace('-', ""))
}

/// `isoformat()` of a datetime in UTC.
fn isoformat(date: Instant) -> String {
    let naive = date.naive_utc();
    let text = naive.format("%Y-%m-%dT%H:%M:%S");
    match naive.nanosecond() / 1000 {
        0 => format!("{text}+00:00"),
        micros => format!("{text}.{micros:06}+00:00"),
    }
}
