//! The situation a template of Airflow 2.10 is rendered in: what its Dag says and what its metadata database holds.

use serde_json::Map;

use crate::asset::dataset_uri;
use crate::python::{PyErr, PyResult, Zone};
use crate::run::{Instant, Json, JsonMap};

/// A Dag run's row.
#[derive(Debug, Clone)]
pub(super) struct RunRow {
    pub dag_id: String,
    pub run_id: String,
    pub run_type: String,
    pub logical_date: Instant,
    pub data_interval: Option<(Instant, Instant)>,
    pub external_trigger: bool,
    pub queued_at: Option<Instant>,
    pub start_date: Option<Instant>,
    pub end_date: Option<Instant>,
    pub state: String,
    pub conf: JsonMap,
    pub task_instances: Vec<TaskRow>,
}

/// A task instance's row.
#[derive(Debug, Clone)]
pub(super) struct TaskRow {
    pub task_id: String,
    pub map_index: i64,
    pub state: Option<String>,
    pub start_date: Option<Instant>,
    pub end_date: Option<Instant>,
    pub try_number: i64,
}

/// A dataset event's row.
#[derive(Debug, Clone)]
pub(super) struct EventRow {
    pub id: i64,
    pub uri: String,
    pub missing: bool,
    pub timestamp: Instant,
    pub extra: JsonMap,
    pub source: [Option<String>; 3],
    pub map_index: i64,
    pub aliases: Vec<String>,
    pub consumed: bool,
}

/// An inlet or outlet.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Dataset { uri: String, extra: Option<JsonMap> },
    Alias(String),
    Object(Json),
}

/// Everything of one rendering.
#[derive(Debug)]
pub(super) struct World {
    pub now: Instant,
    pub dag_id: String,
    pub schedule: Json,
    pub start_date: Option<Instant>,
    pub end_date: Option<Instant>,
    pub zone: Zone,
    pub zone_name: Option<chrono_tz::Tz>,
    pub catchup: bool,
    pub max_active_runs: i64,
    pub dag_params: JsonMap,
    pub task_id: String,
    pub task_params: JsonMap,
    pub inlets: Vec<Item>,
    pub outlets: Vec<Item>,
    pub run: RunRow,
    pub ti: TaskRow,
    pub other_runs: Vec<RunRow>,
    pub datasets: Vec<(String, JsonMap)>,
    pub events: Vec<EventRow>,
    pub variables: JsonMap,
    pub connections: JsonMap,
}

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
        let default_now =
            instant(&Json::Object(Map::from_iter([("now".into(), "2024-06-01T00:00:00Z".into())])), "now")?;
        let now = instant(value, "now")?.or(now).or(default_now).ok_or_else(|| wants("`now`"))?;
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
            schedule: dag.get("schedule").cloned().unwrap_or_default(),
            start_date: instant(dag, "start_date")?,
            end_date: instant(dag, "end_date")?,
            zone: Zone::parse(zone_name)?,
            zone_name: zone_name.parse().ok(),
            catchup: dag.get("catchup").and_then(Json::as_bool).unwrap_or(false),
            max_active_runs: dag.get("max_active_runs").and_then(Json::as_i64).unwrap_or(16),
            dag_params: object(dag, "params")?,
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
            other_runs: list(value, "other_runs").iter().map(RunRow::read).collect::<PyResult<_>>()?,
            datasets,
            events,
            variables: object(value, "variables")?,
            connections: object(value, "connections")?,
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
