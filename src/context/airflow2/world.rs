//! The situation a template of Airflow 2.10 is rendered in: what its Dag says and what its metadata database holds.

use std::sync::Arc;

use serde_json::Map;

use crate::asset::dataset_uri;
use crate::python::{PyErr, PyResult, TimeDelta, Value, Zone, object as python_object};
use crate::run::{Connections, Instant, Json, JsonMap};
use crate::timetable::Timetable;

/// A Dag run's row.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// The Dag.
    pub dag_id: String,
    /// The run id.
    pub run_id: String,
    /// `scheduled`, `manual`, `backfill` or `dataset_triggered`
    pub run_type: String,
    /// `execution_date`
    pub logical_date: Instant,
    /// Start and end of the data interval.
    pub data_interval: Option<(Instant, Instant)>,
    /// Started by a person.
    pub external_trigger: bool,
    /// When it was queued.
    pub queued_at: Option<Instant>,
    /// When it started.
    pub start_date: Option<Instant>,
    /// When it ended.
    pub end_date: Option<Instant>,
    /// Its state.
    pub state: String,
    /// What the trigger passed.
    pub conf: JsonMap,
    /// Its task instances, where they are known.
    pub task_instances: Vec<TaskRow>,
    /// Attributes that nobody gave: reading them is refused.
    pub unknown: &'static [&'static str],
}

/// A task instance's row.
#[derive(Debug, Clone)]
pub struct TaskRow {
    /// The task.
    pub task_id: String,
    /// -1 unless the task is mapped.
    pub map_index: i64,
    /// Its state.
    pub state: Option<String>,
    /// When it started.
    pub start_date: Option<Instant>,
    /// When it ended.
    pub end_date: Option<Instant>,
    /// Which try it is, from 1.
    pub try_number: i64,
}

/// A dataset event's row.
#[derive(Debug, Clone)]
pub struct EventRow {
    /// The row id.
    pub id: i64,
    /// URI of the dataset.
    pub uri: String,
    /// The dataset has no row (any more).
    pub missing: bool,
    /// When it was recorded.
    pub timestamp: Instant,
    /// What the producer attached.
    pub extra: JsonMap,
    /// Dag, task and run that emitted it.
    pub source: [Option<String>; 3],
    /// Map index of the task that emitted it.
    pub map_index: i64,
    /// Names of the aliases it came through.
    pub aliases: Vec<String>,
    /// The run consumed it.
    pub consumed: bool,
}

/// An inlet or outlet.
#[derive(Debug, Clone)]
pub enum Item {
    /// `Dataset(uri, extra)`
    Dataset {
        /// The URI as sanitised.
        uri: String,
        /// `extra`, `None` when it is not given.
        extra: Option<JsonMap>,
    },
    /// `DatasetAlias(name)`
    Alias(String),
    /// Any other object.
    Object(Json),
}

/// When a Dag runs.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Runs by time; `None` for a Dag on datasets alone.
    pub timetable: Option<Arc<dyn Timetable>>,
    /// `DatasetOrTimeSchedule`
    pub either: bool,
    /// `dag.schedule_interval`
    pub interval: ScheduleInterval,
}

/// `dag.schedule_interval`, which keeps what the Dag file wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleInterval {
    /// `None`
    None,
    /// A preset, a cron expression, or a timetable's summary.
    Text(String),
    /// A timedelta, in seconds.
    Seconds(i64),
    /// Not modelled: reading it is refused.
    Unknown,
}

/// The last success before a run.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// Its logical date; reading it is refused without.
    pub logical_date: Option<Instant>,
    /// Start of its data interval.
    pub data_interval_start: Option<Instant>,
    /// End of its data interval.
    pub data_interval_end: Option<Instant>,
    /// When it started.
    pub start_date: Option<Instant>,
    /// When it ended.
    pub end_date: Option<Instant>,
}

/// XComs of the run.
#[derive(Debug, Clone)]
pub enum XComs {
    /// There are none: what is pulled is the default.
    Empty,
    /// Some are given, by task and key; whether there are others is not known, so pulling one is refused.
    Given(JsonMap),
}

/// Everything of one rendering.
#[derive(Debug)]
pub struct World {
    /// The clock.
    pub now: Instant,
    /// The Dag.
    pub dag_id: String,
    /// Attributes of the Dag and of the task whose values are not known: reading one is refused.
    pub unknown: [Vec<String>; 2],
    /// When it runs.
    pub schedule: Schedule,
    /// `start_date`
    pub start_date: Option<Instant>,
    /// `end_date`
    pub end_date: Option<Instant>,
    /// The time zone of the Dag, where it is one of the IANA database.
    pub zone_name: Option<chrono_tz::Tz>,
    /// `catchup`
    pub catchup: bool,
    /// `max_active_runs`
    pub max_active_runs: i64,
    /// `params` of the Dag.
    pub dag_params: JsonMap,
    /// `dag.owner`: the owners of its tasks; `None` when Airflow's order of several is not known.
    pub dag_owner: Option<String>,
    /// The task.
    pub task_id: String,
    /// Class name of the operator.
    pub operator: String,
    /// `owner` of the task.
    pub owner: String,
    /// `retries` of the task.
    pub retries: i64,
    /// `queue` and `pool` of the task.
    pub queue_and_pool: [String; 2],
    /// `max_tries` of the task instance.
    pub max_tries: i64,
    /// `map_index_template` of the task.
    pub map_index_template: Option<String>,
    /// How many instances a mapped task has.
    pub expanded: Option<i64>,
    /// `params` of the task.
    pub task_params: JsonMap,
    /// `inlets` of the task.
    pub inlets: Vec<Item>,
    /// `outlets` of the task.
    pub outlets: Vec<Item>,
    /// The run.
    pub run: RunRow,
    /// The task instance being rendered.
    pub ti: TaskRow,
    /// Every other run.
    pub other_runs: Vec<RunRow>,
    /// The run of this Dag that succeeded last before this one, where it is given apart from the runs.
    pub previous: Option<Previous>,
    /// False when runs and dates of others are not known: what depends on them is refused.
    pub complete: bool,
    /// XComs of the run.
    pub xcom: XComs,
    /// Rows of the dataset table, ids from 1: URI and extra.
    pub datasets: Vec<(String, JsonMap)>,
    /// Rows of the event table, by id.
    pub events: Vec<EventRow>,
    /// Variables as stored.
    pub variables: Arc<JsonMap>,
    /// Connections: URIs, or objects of their fields.
    pub connections: Arc<Connections>,
}

/// The clock unless somebody sets it: 2024-06-01T00:00:00 UTC.
const START: i64 = 1_717_200_000;

const SECTIONS: &[&str] = &[
    "now",
    "dag",
    "task",
    "dag_run",
    "task_instance",
    "other_runs",
    "datasets",
    "aliases",
    "dataset_events",
    "variables",
    "connections",
];

fn wants(what: &str) -> PyErr {
    PyErr::unsupported(format!("a run of Airflow 2.10 without {what}"))
}

fn text<'a>(value: &'a Json, name: &str) -> PyResult<&'a str> {
    value.get(name).and_then(Json::as_str).ok_or_else(|| wants(&format!("`{name}`")))
}

fn instant(value: &Json, name: &str) -> PyResult<Option<Instant>> {
    match value.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => match chrono::DateTime::parse_from_rfc3339(text) {
            Ok(instant) => Ok(Some(instant.to_utc())),
            Err(_) => Err(PyErr::unsupported(format!("`{name}` is an instant with its offset, not {text:?}"))),
        },
        Some(other) => Err(PyErr::unsupported(format!("`{name}` is an instant, not {other}"))),
    }
}

fn object(value: &Json, name: &str) -> PyResult<JsonMap> {
    match value.get(name) {
        None | Some(Json::Null) => Ok(Map::new()),
        Some(Json::Object(map)) => Ok(map.clone()),
        Some(other) => Err(PyErr::unsupported(format!("`{name}` is an object, not {other}"))),
    }
}

fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value.get(name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn texts(value: &Json, name: &str) -> Vec<String> {
    list(value, name).iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

impl Schedule {
    /// Reads the `schedule` of a request.
    fn read(schedule: &Json, zone: Zone) -> PyResult<Self> {
        if schedule.get("dataset_list").is_some() || schedule.get("dataset_expr").is_some() {
            let interval = ScheduleInterval::Text("Dataset".to_owned());
            return Ok(Schedule { timetable: None, either: false, interval });
        }
        let both = schedule.get("dataset_or_time");
        let by_time = both.map_or(Some(schedule), |both| both.get("timetable")).unwrap_or(&Json::Null);
        let interval = match schedule {
            Json::Null => ScheduleInterval::None,
            Json::String(text) => ScheduleInterval::Text(text.clone()),
            _ => match schedule.get("timedelta_seconds").and_then(Json::as_i64) {
                Some(seconds) => ScheduleInterval::Seconds(seconds),
                None => ScheduleInterval::Unknown,
            },
        };
        let timetable = crate::schedule::datasets::time_schedule(by_time, zone)?;
        Ok(Schedule { timetable: Some(timetable), either: both.is_some(), interval })
    }
}

impl ScheduleInterval {
    /// The Python value; `None` when it is not known.
    pub(super) fn value(&self) -> Option<Value> {
        Some(match self {
            ScheduleInterval::None => crate::python::none(),
            ScheduleInterval::Text(text) => Value::from(text.as_str()),
            ScheduleInterval::Seconds(seconds) => python_object(TimeDelta::new(i128::from(*seconds) * 1_000_000).ok()?),
            ScheduleInterval::Unknown => return None,
        })
    }
}

impl RunRow {
    fn read(value: &Json) -> PyResult<RunRow> {
        let interval = (instant(value, "data_interval_start")?, instant(value, "data_interval_end")?);
        Ok(RunRow {
            dag_id: text(value, "dag_id")?.to_owned(),
            run_id: text(value, "run_id")?.to_owned(),
            run_type: text(value, "run_type")?.to_owned(),
            logical_date: instant(value, "logical_date")?.ok_or_else(|| wants("`logical_date`"))?,
            data_interval: interval.0.zip(interval.1),
            external_trigger: value.get("external_trigger").and_then(Json::as_bool).unwrap_or(false),
            queued_at: instant(value, "queued_at")?,
            start_date: instant(value, "start_date")?,
            end_date: instant(value, "end_date")?,
            state: text(value, "state")?.to_owned(),
            conf: object(value, "conf")?,
            task_instances: list(value, "task_instances").iter().map(TaskRow::read).collect::<PyResult<_>>()?,
            unknown: &[],
        })
    }
}

impl TaskRow {
    fn read(value: &Json) -> PyResult<TaskRow> {
        Ok(TaskRow {
            task_id: text(value, "task_id")?.to_owned(),
            map_index: value.get("map_index").and_then(Json::as_i64).unwrap_or(-1),
            state: value.get("state").and_then(Json::as_str).map(str::to_owned),
            start_date: instant(value, "start_date")?,
            end_date: instant(value, "end_date")?,
            try_number: value.get("try_number").and_then(Json::as_i64).unwrap_or(1),
        })
    }
}

impl EventRow {
    fn read(value: &Json) -> PyResult<EventRow> {
        let source = |name: &str| value.get(name).and_then(Json::as_str).map(str::to_owned);
        Ok(EventRow {
            id: value.get("id").and_then(Json::as_i64).ok_or_else(|| wants("the `id` of an event"))?,
            uri: text(value, "uri")?.to_owned(),
            missing: value.get("dataset_missing").and_then(Json::as_bool).unwrap_or(false),
            timestamp: instant(value, "timestamp")?.ok_or_else(|| wants("the `timestamp` of an event"))?,
            extra: object(value, "extra")?,
            source: [source("source_dag_id"), source("source_task_id"), source("source_run_id")],
            map_index: value.get("source_map_index").and_then(Json::as_i64).unwrap_or(-1),
            aliases: texts(value, "source_aliases"),
            consumed: value.get("consumed").and_then(Json::as_bool).unwrap_or(false),
        })
    }
}

impl Item {
    fn read(value: &Json) -> PyResult<Item> {
        if let Some(uri) = value.as_str() {
            return Ok(Item::Dataset { uri: dataset_uri(uri)?.uri, extra: None });
        }
        if let Some(uri) = value.get("uri").and_then(Json::as_str) {
            let extra = value.get("extra").and_then(Json::as_object).cloned();
            return Ok(Item::Dataset { uri: dataset_uri(uri)?.uri, extra });
        }
        if let Some(name) = value.get("alias").and_then(Json::as_str) {
            return Ok(Item::Alias(name.to_owned()));
        }
        match value.get("object") {
            Some(object) => Ok(Item::Object(object.clone())),
            None => Err(PyErr::unsupported(format!("the inlet or outlet {value}"))),
        }
    }
}

impl World {
    /// Reads the `run` of a request; `now` is the request's clock.
    ///
    /// # Errors
    /// `Unsupported` for what is missing or of another form; what Airflow raises for a dataset's URI.
    pub(super) fn read(value: &Json, now: Option<Instant>) -> PyResult<World> {
        let Json::Object(map) = value else { return Err(wants("its sections")) };
        if let Some(name) = map.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            return Err(PyErr::unsupported(format!("a run of Airflow 2.10 has no section `{name}`"))
                .with_hint(format!("its sections are {}", SECTIONS.join(", "))));
        }
        let null = Json::Null;
        let section = |name: &str| value.get(name).unwrap_or(&null);
        let (dag, task, ti) = (section("dag"), section("task"), section("task_instance"));
        let zone_name = dag.get("timezone").and_then(Json::as_str).unwrap_or("UTC");
        let now = instant(value, "now")?.or(now).unwrap_or(Instant::from_timestamp(START, 0).unwrap_or_default());
        let task_id = task.get("task_id").and_then(Json::as_str).unwrap_or("t").to_owned();
        let read = |name: &str| list(task, name).iter().map(Item::read).collect::<PyResult<Vec<_>>>();
        let (inlets, outlets) = (read("inlets")?, read("outlets")?);
        let datasets: Vec<(String, JsonMap)> = list(value, "datasets")
            .iter()
            .map(|row| Ok((text(row, "uri")?.to_owned(), object(row, "extra")?)))
            .collect::<PyResult<_>>()?;
        let mut events: Vec<EventRow> =
            list(value, "dataset_events").iter().map(EventRow::read).collect::<PyResult<_>>()?;
        events.sort_by_key(|event| event.id);
        Ok(World {
            now,
            dag_id: text(dag, "dag_id")?.to_owned(),
            unknown: [Vec::new(), Vec::new()],
            schedule: Schedule::read(dag.get("schedule").unwrap_or(&null), Zone::parse(zone_name)?)?,
            start_date: instant(dag, "start_date")?,
            end_date: instant(dag, "end_date")?,
            zone_name: zone_name.parse().ok(),
            catchup: dag.get("catchup").and_then(Json::as_bool).unwrap_or(false),
            max_active_runs: dag.get("max_active_runs").and_then(Json::as_i64).unwrap_or(16),
            dag_params: object(dag, "params")?,
            dag_owner: Some("airflow".to_owned()),
            operator: "RenderOperator".to_owned(),
            owner: "airflow".to_owned(),
            retries: 0,
            queue_and_pool: ["default".to_owned(), "default_pool".to_owned()],
            max_tries: 0,
            map_index_template: None,
            expanded: None,
            task_params: object(task, "params")?,
            inlets,
            outlets,
            run: RunRow::read(section("dag_run"))?,
            ti: TaskRow {
                task_id: task_id.clone(),
                map_index: -1,
                state: Some("running".to_owned()),
                start_date: instant(ti, "start_date")?,
                end_date: None,
                try_number: ti.get("try_number").and_then(Json::as_i64).unwrap_or(1),
            },
            task_id,
            previous: None,
            complete: true,
            xcom: XComs::Empty,
            other_runs: list(value, "other_runs").iter().map(RunRow::read).collect::<PyResult<_>>()?,
            datasets,
            events,
            variables: Arc::new(object(value, "variables")?),
            connections: Arc::new(object(value, "connections")?.into_iter().collect()),
        })
    }

    /// The id of a dataset's row, if the row is given.
    pub(super) fn dataset_id(&self, uri: &str) -> Option<usize> {
        self.datasets.iter().position(|(known, _)| known == uri).map(|at| at + 1)
    }

    /// The newest run of the Dag before this one that succeeded (`DagRun.get_previous_dagrun`).
    pub(super) fn previous_success(&self) -> Option<&RunRow> {
        self.other_runs
            .iter()
            .filter(|run| run.dag_id == self.dag_id && run.state == "success")
            .filter(|run| run.logical_date < self.run.logical_date)
            .max_by_key(|run| run.logical_date)
    }
}
