//! The template context of Airflow 2.10 (`airflow.models.taskinstance._get_template_context`).

mod events;
mod record;
mod rows;
mod secrets;
mod world;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::jinja::Names;
use crate::python::{self, PyErr, PyResult, TimeDelta, Value, object};
use crate::run::{Instant, Json};
use crate::timetable::{
    ContinuousTimetable, CronDataIntervalTimetable, DataInterval, DeltaDataIntervalTimetable, TimeRestriction,
    Timetable,
};

use super::{broken, convert, dates, ds_nodash, format, isoformat};
use record::{Class, Print, Record};
use world::World;

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
    timetable: Option<Arc<dyn Timetable>>,
    interval: (Instant, Instant),
    made: [OnceLock<Value>; 6],
    events: OnceLock<Vec<Value>>,
    deprecations: Deprecations,
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
    let world = Arc::new(World::read(run, now)?);
    let schedule = &world.schedule;
    let timetable = if schedule.get("dataset_list").is_some() || schedule.get("dataset_expr").is_some() {
        None
    } else {
        let by_time = schedule.get("dataset_or_time").map_or(Some(schedule), |both| both.get("timetable"));
        Some(crate::schedule::datasets::time_schedule(by_time.unwrap_or(&Json::Null), world.zone)?)
    };
    let interval =
        world.run.data_interval.ok_or_else(|| PyErr::unsupported("a run of Airflow 2.10 without a data interval"))?;
    let deprecations = Deprecations::default();
    let made = std::array::from_fn(|_| OnceLock::new());
    Ok(Context { world, timetable, interval, made, events: OnceLock::new(), deprecations })
}

impl Context {
    /// Texts of the deprecation warnings so far.
    pub fn deprecations(&self) -> Vec<String> {
        self.deprecations.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let Some(timetable) = &self.timetable else { return Ok(None) };
        // without a start date to begin with, `ContinuousTimetable` has no next run
        if timetable.as_any().is::<ContinuousTimetable>() {
            return Ok(None);
        }
        let last = DataInterval { start: self.interval.0, end: self.interval.1 };
        let restriction = TimeRestriction { earliest: None, latest: None, catchup: true };
        match timetable.next_dagrun_info(Some(last), &restriction, self.world.now) {
            Ok(info) => Ok(info.and_then(|info| info.logical_date())),
            Err(error) if matches!(&*error.class, "Unsupported" | "LimitExceeded") => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// `dag.previous_schedule`: only timetables of data intervals know it.
    fn prev_execution_date(&self) -> PyResult<Option<Instant>> {
        if self.world.run.external_trigger {
            return Ok(Some(self.logical_date()));
        }
        if self.world.schedule.get("dataset_or_time").is_some() {
            return Ok(None);
        }
        let Some(timetable) = self.timetable.as_deref() else { return Ok(None) };
        if let Some(cron) = timetable.as_any().downcast_ref::<CronDataIntervalTimetable>() {
            return cron.schedule().previous(self.logical_date()).map(Some);
        }
        if timetable.as_any().is::<DeltaDataIntervalTimetable>() {
            return Ok(Some(timetable.infer_manual_data_interval(self.logical_date())?.start));
        }
        Ok(None)
    }

    /// The date of the previous success of this task (`TaskInstance.get_previous_execution_date`).
    fn prev_execution_date_success(&self) -> Option<Instant> {
        let run = self.world.previous_success()?;
        let own = |ti: &&world::TaskRow| ti.task_id == self.world.task_id && ti.map_index == self.world.ti.map_index;
        run.task_instances.iter().find(own)?;
        Some(run.logical_date)
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
        Ok(object(events::InletEvents {
            inlets: items(&self.world.inlets)?,
            events: stored.collect(),
            deprecations: self.deprecations.clone(),
        }))
    }

    fn schedule_interval(&self) -> Option<Value> {
        let schedule = &self.world.schedule;
        Some(match schedule {
            Json::Null => python::none(),
            Json::String(text) => Value::from(text.as_str()),
            _ if schedule.get("dataset_list").is_some() || schedule.get("dataset_expr").is_some() => {
                Value::from("Dataset")
            }
            _ => {
                let seconds = schedule.get("timedelta_seconds")?.as_i64()?;
                object(TimeDelta::new(i128::from(seconds) * 1_000_000).ok()?)
            }
        })
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
            ("owner", Value::from("airflow")),
            ("tags", python::list(Vec::new())),
        ];
        if let Some(zone) = world.zone_name {
            values.push(("timezone", dates::timezone(zone)));
        }
        if let Some(interval) = self.schedule_interval() {
            values.push(("schedule_interval", interval));
        }
        let either = world.schedule.get("dataset_or_time").is_some();
        let (class, summary) = match &self.timetable {
            Some(timetable) => (timetable.class_name(), timetable.summary()),
            None => ("DatasetTriggeredTimetable", "Dataset".to_owned()),
        };
        if !either {
            let mut parts = vec![("summary", Value::from(summary.as_str()))];
            if let Some(description) = daily_description(&summary) {
                parts.push(("description", Value::from(description)));
            }
            values.push(("timetable", Record::named(&TIMETABLE, class, Print::Refused, parts)));
        }
        Ok(Record::build(&DAG, Print::Text(format!("<DAG: {}>", world.dag_id)), values))
    }

    fn task(&self) -> PyResult {
        let world = &self.world;
        let operator = "RenderOperator";
        let dag = self.dag()?;
        let values = vec![
            ("task_id", Value::from(world.task_id.as_str())),
            ("dag_id", Value::from(world.dag_id.as_str())),
            ("owner", Value::from("airflow")),
            ("retries", Value::from(0)),
            ("queue", Value::from("default")),
            ("pool", Value::from("default_pool")),
            ("task_type", Value::from(operator)),
            ("inlets", items(&world.inlets)?),
            ("outlets", items(&world.outlets)?),
            ("map_index_template", python::none()),
            ("dag", dag.clone()),
            ("_dag", dag),
        ];
        let print = Print::Text(format!("<Task({operator}): {}>", world.task_id));
        Ok(Record::named(&TASK, operator, print, values))
    }

    fn task_instance(&self) -> PyResult {
        self.once(TI, || {
            let own = vec![
                ("task", self.task()?),
                ("dag_run", self.dag_run()?),
                ("test_mode", Value::from(false)),
                ("max_tries", Value::from(0)),
                ("operator", Value::from("RenderOperator")),
                ("queue", Value::from("default")),
                ("pool", Value::from("default_pool")),
            ];
            Ok(rows::task_instance(&self.world.run, &self.world.ti, own))
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
        let success = || world.previous_success();
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
            "expanded_ti_count" | "map_index_template" => Ok(python::none()),
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
            "prev_execution_date_success" => Ok(convert::pendulum(self.prev_execution_date_success())),
            "prev_data_interval_start_success" | "prev_data_interval_end_success" => match success() {
                None => Ok(python::none()),
                Some(run) => match run.data_interval {
                    Some((start, end)) => Ok(dates::pendulum(if name.contains("start") { start } else { end })),
                    None => Err(PyErr::unsupported("a previous run without a data interval")),
                },
            },
            "prev_start_date_success" => Ok(convert::pendulum(success().and_then(|run| run.start_date))),
            "prev_end_date_success" => Ok(convert::pendulum(success().and_then(|run| run.end_date))),
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

/// What Airflow warns when a deprecated name is read.
fn deprecation(name: &str) -> Option<String> {
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
        if let Some(text) = deprecation(name) {
            self.deprecations.note(&text);
        }
        Some(made.unwrap_or_else(broken::value))
    }

    fn hint(&self, name: &str) -> Option<String> {
        match name {
            "triggering_asset_events" => Some("Airflow 2.10 calls it `triggering_dataset_events`".to_owned()),
            "partition_key" | "partition_date" => Some("Airflow 2.10 has no partitions".to_owned()),
            _ => None,
        }
    }
}
