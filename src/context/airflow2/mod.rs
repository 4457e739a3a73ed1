//! The template context of Airflow 2.10 (`airflow.models.taskinstance._get_template_context`).

mod events;
mod record;
mod rows;
mod secrets;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::jinja::Names;
use crate::python::{self, PyErr, PyResult, Value, object};
use crate::run::{Instant, Json};
use crate::timetable::{
    ContinuousTimetable, CronDataIntervalTimetable, DataInterval, DeltaDataIntervalTimetable, TimeRestriction,
};

use super::{broken, convert, dates, ds_nodash, format, isoformat};
use record::{Class, Print, Record};

pub use world::{EventRow, Item, Previous, RunRow, Schedule, ScheduleInterval, TaskRow, World, XComs};

/// All names, in the order Airflow fills its context.
pub const NAMES: &[&str] = &[
    "conf",
    "dag",
    "dag_run",
    "data_interval_end",
    "data_interval_start",
    "outlet_events",
    "ds",
    "ds_nodash",
    "execution_date",
    "expanded_ti_count",
    "inlets",
    "inlet_events",
    "logical_date",
    "macros",
    "map_index_template",
    "next_ds",
    "next_ds_nodash",
    "next_execution_date",
    "outlets",
    "params",
    "prev_data_interval_start_success",
    "prev_data_interval_end_success",
    "prev_ds",
    "prev_ds_nodash",
    "prev_execution_date",
    "prev_execution_date_success",
    "prev_start_date_success",
    "prev_end_date_success",
    "run_id",
    "task",
    "task_instance",
    "task_instance_key_str",
    "test_mode",
    "ti",
    "tomorrow_ds",
    "tomorrow_ds_nodash",
    "triggering_dataset_events",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
    "var",
    "conn",
    "yesterday_ds",
    "yesterday_ds_nodash",
];

/// Names that warn when they are read, with what Airflow says to use.
const DEPRECATED: &[(&str, &[&str])] = &[
    ("execution_date", &["data_interval_start", "logical_date"]),
    ("next_ds", &["{{ data_interval_end | ds }}"]),
    ("next_ds_nodash", &["{{ data_interval_end | ds_nodash }}"]),
    ("next_execution_date", &["data_interval_end"]),
    ("prev_ds", &[]),
    ("prev_ds_nodash", &[]),
    ("prev_execution_date", &[]),
    ("prev_execution_date_success", &["prev_data_interval_start_success"]),
    ("tomorrow_ds", &[]),
    ("tomorrow_ds_nodash", &[]),
    ("yesterday_ds", &[]),
    ("yesterday_ds_nodash", &[]),
    ("conf", &[]),
];

static DAG: Class = Class { name: "DAG", module: "airflow.models.dag", by_value: false, closed: true };
static TASK: Class =
    Class { name: "BaseOperator", module: "airflow.models.baseoperator", by_value: false, closed: false };
static TIMETABLE: Class =
    Class { name: "Timetable", module: "airflow.timetables.base", by_value: false, closed: false };

/// Texts of deprecation warnings, each once, in the order they came.
#[derive(Debug, Clone, Default)]
struct Deprecations(Arc<Mutex<Vec<String>>>);

impl Deprecations {
    fn note(&self, text: &str) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
    }
}

/// The template context of one rendering.
#[derive(Debug)]
pub struct Context {
    world: Arc<World>,
    interval: (Instant, Instant),
    made: [OnceLock<Value>; 6],
    events: OnceLock<Vec<Value>>,
    deprecations: Deprecations,
    /// Which of [`NAMES`] were read, one bit each.
    read: AtomicU64,
}

const TI: usize = 0;
const TRIGGERING: usize = 1;
const OUTLET_EVENTS: usize = 2;
const VAR: usize = 3;
const CONN: usize = 4;
const DAG_RUN: usize = 5;

/// Builds the context of a run of Airflow 2.10, given as the `run` of a request.
///
/// # Errors
/// `Unsupported` for what the run does not say; what Airflow raises for its schedule and its datasets.
pub fn build(run: &Json, now: Option<Instant>) -> PyResult<Context> {
    of_world(World::read(run, now)?)
}

/// Builds the context of a run of Airflow 2.10 in a situation.
///
/// # Errors
/// `Unsupported` for a run without a data interval.
pub fn of_world(world: World) -> PyResult<Context> {
    let interval =
        world.run.data_interval.ok_or_else(|| PyErr::unsupported("a run of Airflow 2.10 without a data interval"))?;
    Ok(Context {
        world: Arc::new(world),
        interval,
        made: std::array::from_fn(|_| OnceLock::new()),
        events: OnceLock::new(),
        deprecations: Deprecations::default(),
        read: AtomicU64::new(0),
    })
}

impl Context {
    /// Texts of the deprecation warnings so far.
    pub fn deprecations(&self) -> Vec<String> {
        self.deprecations.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Names that a template has read so far, in Airflow's order.
    pub fn names_read(&self) -> Vec<&'static str> {
        let read = self.read.load(Ordering::Relaxed);
        NAMES.iter().enumerate().filter(|(at, _)| read & (1 << at) != 0).map(|(_, name)| *name).collect()
    }

    /// The map index of the task instance.
    pub fn map_index(&self) -> i64 {
        self.world.ti.map_index
    }

    /// The clock of the run.
    pub fn now(&self) -> Instant {
        self.world.now
    }

    fn logical_date(&self) -> Instant {
        self.world.run.logical_date
    }

    /// `dag.next_dagrun_info(data_interval, restricted=False)`; what a timetable raises is logged and means none.
    fn next_execution_date(&self) -> PyResult<Option<Instant>> {
        if self.world.run.external_trigger {
            return Ok(Some(self.logical_date()));
        }
        let Some(timetable) = &self.world.schedule.timetable else { return Ok(None) };
        // without a start date to begin with, `ContinuousTimetable` has no next run
        if timetable.as_any().is::<ContinuousTimetable>() {
            return Ok(None);
        }
        let last = DataInterval { start: self.interval.0, end: self.interval.1 };
        let restriction = TimeRestriction { earliest: None, latest: None, catchup: true };
        match crate::schedule::datasets::next_dagrun_info(timetable.as_ref(), Some(last), &restriction, self.world.now)
        {
            Ok(info) => Ok(info.and_then(|info| info.logical_date())),
            Err(error) if error.is_refusal() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// `dag.previous_schedule`: only timetables of data intervals know it.
    fn prev_execution_date(&self) -> PyResult<Option<Instant>> {
        if self.world.run.external_trigger {
            return Ok(Some(self.logical_date()));
        }
        if self.world.schedule.either {
            return Ok(None);
        }
        let Some(timetable) = self.world.schedule.timetable.as_deref() else { return Ok(None) };
        if let Some(cron) = timetable.as_any().downcast_ref::<CronDataIntervalTimetable>() {
            return cron.schedule().previous(self.logical_date()).map(Some);
        }
        if timetable.as_any().is::<DeltaDataIntervalTimetable>() {
            return Ok(Some(timetable.infer_manual_data_interval(self.logical_date())?.start));
        }
        Ok(None)
    }

    /// The date of the previous success of this task (`TaskInstance.get_previous_execution_date`).
    fn prev_execution_date_success(&self) -> PyResult<Option<Instant>> {
        if let Some(previous) = &self.world.previous {
            return match previous.logical_date {
                Some(date) => Ok(Some(date)),
                None => Err(PyErr::unsupported("the logical date of the previous success is not given")
                    .with_hint("add `logical_date` to `prev_success` of the scenario")),
            };
        }
        let Some(run) = self.previous_success()? else { return Ok(None) };
        let own = |ti: &&world::TaskRow| ti.task_id == self.world.task_id && ti.map_index == self.world.ti.map_index;
        Ok(run.task_instances.iter().find(own).map(|_| run.logical_date))
    }

    fn previous_success(&self) -> PyResult<Option<&RunRow>> {
        match self.world.previous_success() {
            None if !self.world.complete => Err(PyErr::unsupported("the runs before this one are not given")
                .with_hint("say it in `prev_success` of a scenario")),
            found => Ok(found),
        }
    }

    /// A part of the previous success: `None` when there was none.
    fn previous(
        &self,
        given: fn(&world::Previous) -> Option<Instant>,
        of_run: impl Fn(&RunRow) -> PyResult<Option<Instant>>,
    ) -> PyResult {
        let found = match &self.world.previous {
            Some(previous) => given(previous),
            None => self.previous_success()?.map(of_run).transpose()?.flatten(),
        };
        Ok(convert::pendulum(found))
    }

    fn day(&self, days: i64) -> PyResult<Instant> {
        let moved = chrono::Duration::try_days(days).and_then(|days| self.logical_date().checked_add_signed(days));
        moved.ok_or_else(|| PyErr::overflow("date value out of range"))
    }

    fn once(&self, slot: usize, make: impl FnOnce() -> PyResult) -> PyResult {
        match self.made.get(slot) {
            Some(made) => convert::once(made, make),
            None => make(),
        }
    }

    /// The event table as objects, each made once.
    fn events(&self) -> PyResult<&[Value]> {
        if let Some(events) = self.events.get() {
            return Ok(events);
        }
        let made = self.world.events.iter().map(|row| rows::event(&self.world, row)).collect::<PyResult<Vec<_>>>()?;
        Ok(self.events.get_or_init(|| made))
    }

    fn dag_run(&self) -> PyResult {
        self.once(DAG_RUN, || {
            let events = self.events()?;
            let consumed = self.world.events.iter().zip(events).filter(|(row, _)| row.consumed);
            let consumed = consumed.map(|(_, event)| event.clone()).collect();
            rows::dag_run(&self.world.run, Some(python::list(consumed)))
        })
    }

    fn triggering_events(&self) -> PyResult {
        self.once(TRIGGERING, || {
            let events = self.events()?;
            let consumed = self.world.events.iter().zip(events).filter(|(row, _)| row.consumed && !row.missing);
            let filed: Vec<(String, Value)> = consumed.map(|(row, event)| (row.uri.clone(), event.clone())).collect();
            events::TriggeringEvents::build(&filed)
        })
    }

    fn inlet_events(&self) -> PyResult {
        let stored = self.world.events.iter().zip(self.events()?).map(|(row, event)| events::StoredEvent {
            uri: (!row.missing).then(|| row.uri.clone()),
            aliases: row.aliases.clone(),
            timestamp: row.timestamp,
            event: event.clone(),
        });
        let accessor = events::InletEvents {
            inlets: items(&self.world.inlets)?,
            events: stored.collect(),
            deprecations: self.deprecations.clone(),
        };
        Ok(accessor.into_value())
    }

    fn dag(&self) -> PyResult {
        let world = &self.world;
        let id = Value::from(world.dag_id.as_str());
        let mut values = vec![
            ("dag_id", id.clone()),
            ("dag_display_name", id),
            ("catchup", Value::from(world.catchup)),
            ("max_active_runs", Value::from(world.max_active_runs)),
            ("start_date", convert::pendulum(world.start_date)),
            ("end_date", convert::pendulum(world.end_date)),
            ("description", python::none()),
            ("doc_md", python::none()),
            ("tags", python::list(Vec::new())),
        ];
        if let Some(owner) = &world.dag_owner {
            values.push(("owner", Value::from(owner.as_str())));
        }
        if let Some(zone) = world.zone_name {
            values.push(("timezone", dates::timezone(zone)));
        }
        if let Some(interval) = world.schedule.interval.value() {
            values.push(("schedule_interval", interval));
        }
        let (class, summary) = match &world.schedule.timetable {
            Some(timetable) => (timetable.class_name(), timetable.summary()),
            None => ("DatasetTriggeredTimetable", "Dataset".to_owned()),
        };
        if !world.schedule.either {
            let mut parts = vec![("summary", Value::from(summary.as_str()))];
            if let Some(description) = daily_description(&summary) {
                parts.push(("description", Value::from(description)));
            }
            values.push(("timetable", Record::named(&TIMETABLE, class, Print::Refused, parts)));
        }
        let [unknown, _] = &world.unknown;
        values.retain(|(name, _)| !unknown.iter().any(|known| known == name));
        Ok(Record::build(&DAG, Print::Text(format!("<DAG: {}>", world.dag_id)), values))
    }

    fn task(&self) -> PyResult {
        let world = &self.world;
        let operator = world.operator.as_str();
        let dag = self.dag()?;
        let [queue, pool] = &world.queue_and_pool;
        let mut values = vec![
            ("task_id", Value::from(world.task_id.as_str())),
            ("dag_id", Value::from(world.dag_id.as_str())),
            ("owner", Value::from(world.owner.as_str())),
            ("retries", Value::from(world.retries)),
            ("queue", Value::from(queue.as_str())),
            ("pool", Value::from(pool.as_str())),
            ("task_type", Value::from(operator)),
            ("inlets", items(&world.inlets)?),
            ("outlets", items(&world.outlets)?),
            ("map_index_template", convert::opt_str(world.map_index_template.as_deref())),
            ("dag", dag.clone()),
            ("_dag", dag),
        ];
        let [_, unknown] = &world.unknown;
        values.retain(|(name, _)| !unknown.iter().any(|known| known == name));
        let print = Print::Text(format!("<Task({operator}): {}>", world.task_id));
        Ok(Record::named(&TASK, operator, print, values))
    }

    fn task_instance(&self) -> PyResult {
        self.once(TI, || {
            let [queue, pool] = &self.world.queue_and_pool;
            let [_, unknown] = &self.world.unknown;
            let mut own = vec![
                ("task", self.task()?),
                ("dag_run", self.dag_run()?),
                ("test_mode", Value::from(false)),
                ("max_tries", Value::from(self.world.max_tries)),
                ("operator", Value::from(self.world.operator.as_str())),
                ("queue", Value::from(queue.as_str())),
                ("pool", Value::from(pool.as_str())),
            ];
            own.retain(|(name, _)| !unknown.iter().any(|known| known == name));
            Ok(rows::task_instance(&self.world.run, &self.world.ti, rows::Pull::own(&self.world), own))
        })
    }

    /// `params`: those of the Dag, of the task, and of `conf`.
    fn params(&self) -> PyResult {
        let mut merged = self.world.dag_params.clone();
        for (name, value) in self.world.task_params.iter().chain(&self.world.run.conf) {
            merged.insert(name.clone(), value.clone());
        }
        convert::dict(&merged)
    }

    fn make(&self, name: &str) -> Option<PyResult> {
        let world = &self.world;
        let logical = self.logical_date();
        let interval = |run: &RunRow| {
            run.data_interval.ok_or_else(|| PyErr::unsupported("a previous run without a data interval"))
        };
        let text = |text: PyResult<String>| text.map(Value::from);
        let day = |date: PyResult<Option<Instant>>, nodash: bool| -> PyResult {
            match date? {
                None => Ok(python::none()),
                Some(date) => text(if nodash { ds_nodash(date) } else { format(date, "%Y-%m-%d") }),
            }
        };
        Some(match name {
            "conf" => Ok(object(secrets::Configuration)),
            "dag" => self.dag(),
            "dag_run" => self.dag_run(),
            "data_interval_start" => Ok(dates::pendulum(self.interval.0)),
            "data_interval_end" => Ok(dates::pendulum(self.interval.1)),
            "outlet_events" => self.once(OUTLET_EVENTS, || Ok(events::OutletEvents::build(&self.deprecations))),
            "ds" => day(Ok(Some(logical)), false),
            "ds_nodash" => day(Ok(Some(logical)), true),
            "execution_date" | "logical_date" => Ok(dates::pendulum(logical)),
            "expanded_ti_count" => Ok(world.expanded.map_or_else(python::none, Value::from)),
            "map_index_template" => Ok(convert::opt_str(world.map_index_template.as_deref())),
            "inlets" => items(&world.inlets),
            "outlets" => items(&world.outlets),
            "inlet_events" => self.inlet_events(),
            "macros" => Ok(object(secrets::MacrosModule(super::airflow_macros()))),
            "next_execution_date" => self.next_execution_date().map(convert::pendulum),
            "next_ds" => day(self.next_execution_date(), false),
            "next_ds_nodash" => day(self.next_execution_date(), true),
            "prev_execution_date" => self.prev_execution_date().map(convert::pendulum),
            "prev_ds" => day(self.prev_execution_date(), false),
            "prev_ds_nodash" => day(self.prev_execution_date(), true),
            "prev_execution_date_success" => self.prev_execution_date_success().map(convert::pendulum),
            "prev_data_interval_start_success" => {
                self.previous(|given| given.data_interval_start, |run| Ok(Some(interval(run)?.0)))
            }
            "prev_data_interval_end_success" => {
                self.previous(|given| given.data_interval_end, |run| Ok(Some(interval(run)?.1)))
            }
            "prev_start_date_success" => self.previous(|given| given.start_date, |run| Ok(run.start_date)),
            "prev_end_date_success" => self.previous(|given| given.end_date, |run| Ok(run.end_date)),
            "params" => self.params(),
            "run_id" => Ok(Value::from(world.run.run_id.as_str())),
            "task" => self.task_instance().and_then(|ti| part(&ti, "task")),
            "ti" | "task_instance" => self.task_instance(),
            "task_instance_key_str" => {
                text(ds_nodash(logical).map(|day| format!("{}__{}__{day}", world.dag_id, world.task_id)))
            }
            "test_mode" => Ok(Value::from(false)),
            "tomorrow_ds" => day(self.day(1).map(Some), false),
            "tomorrow_ds_nodash" => day(self.day(1).map(Some), true),
            "yesterday_ds" => day(self.day(-1).map(Some), false),
            "yesterday_ds_nodash" => day(self.day(-1).map(Some), true),
            "triggering_dataset_events" => self.triggering_events(),
            "ts" => Ok(Value::from(isoformat(logical))),
            "ts_nodash" => text(format(logical, "%Y%m%dT%H%M%S")),
            "ts_nodash_with_tz" => Ok(Value::from(isoformat(logical).replace(['-', ':'], ""))),
            "var" => self.once(VAR, || Ok(secrets::var(world))),
            "conn" => self.once(CONN, || Ok(secrets::conn(world))),
            _ => return None,
        })
    }
}

fn items(items: &[world::Item]) -> PyResult {
    Ok(python::list(items.iter().map(rows::item).collect::<PyResult<_>>()?))
}

/// `timetable.description` of a cron expression that names one time of every day, as cron-descriptor words it.
fn daily_description(expression: &str) -> Option<String> {
    let fields: Vec<&str> = expression.split(' ').collect();
    let [minute, hour, "*", "*", "*"] = fields.as_slice() else { return None };
    let number = |text: &str, limit: u8| {
        let number = text.parse::<u8>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        (number < limit).then_some(number)
    };
    Some(format!("At {:02}:{:02}", number(hour, 24)?, number(minute, 60)?))
}

/// An attribute of a record.
fn part(record: &Value, name: &str) -> PyResult {
    let value = python::downcast::<Record>(record).and_then(|record| record.value(name));
    value.cloned().ok_or_else(|| PyErr::unsupported(format!("`{name}`")))
}

/// What a deprecated name's place takes, in a few words; `None` for a name that is not deprecated.
pub fn deprecated(name: &str) -> Option<String> {
    let (_, instead) = DEPRECATED.iter().find(|(known, _)| *known == name)?;
    let instead: Vec<String> = instead.iter().map(|name| format!("`{name}`")).collect();
    Some(if instead.is_empty() { "deprecated".to_owned() } else { format!("deprecated: use {}", instead.join(" or ")) })
}

/// What Airflow warns when a deprecated name is read; `None` for a name that is not deprecated.
pub fn deprecation(name: &str) -> Option<String> {
    let (_, instead) = DEPRECATED.iter().find(|(known, _)| *known == name)?;
    let mut text =
        format!("Accessing '{name}' from the template is deprecated and will be removed in a future version.");
    let quoted: Vec<String> = instead.iter().map(|name| format!("'{name}'")).collect();
    if let Some((last, rest)) = quoted.split_last() {
        let rest = if rest.is_empty() { String::new() } else { format!("{} or ", rest.join(", ")) };
        text.push_str(&format!(" Please use {rest}{last} instead."));
    }
    Some(text)
}

impl Names for Context {
    fn get(&self, name: &str) -> Option<Value> {
        let made = self.make(name)?;
        if let Some(at) = NAMES.iter().position(|known| *known == name) {
            self.read.fetch_or(1 << at, Ordering::Relaxed);
        }
        if let Some(text) = deprecation(name) {
            self.deprecations.note(&text);
        }
        Some(made.unwrap_or_else(broken::value))
    }

    fn hint(&self, name: &str) -> Option<String> {
        Some(match name {
            "triggering_asset_events" => "Airflow 2.10 calls it `triggering_dataset_events`".to_owned(),
            "partition_key" | "partition_date" => {
                "Airflow 2.10 has no partitions: they come with Airflow 3.2 and later".to_owned()
            }
            "task_reschedule_count" | "task_state_store" | "asset_state_store" => {
                format!("Airflow 2.10 has no `{name}`: it comes with Airflow 3")
            }
            "try_number" | "map_index" => format!("use `ti.{name}`"),
            "run_after" => "Airflow 2.10 has no `run_after`: use `data_interval_end`".to_owned(),
            _ if NAMES.contains(&name) => format!(
                "the run has `{name}`, but an import without `with context` and expressions of `user_defined_macros` \
                 do not see it: give it as an argument"
            ),
            _ => {
                let near = |known: &&'static str| (strsim::jaro_winkler(name, known), *known);
                let close = NAMES.iter().map(near).filter(|(score, _)| *score > 0.9);
                match close.max_by(|a, b| a.0.total_cmp(&b.0)) {
                    Some((_, close)) => format!("did you mean `{close}`?"),
                    None => format!(
                        "no name of Airflow's context; if the Dag defines it, add `{name}` to `user_defined_macros` of \
                         the pipeline: a value, or {{expression: \"...\"}}"
                    ),
                }
            }
        })
    }
}
