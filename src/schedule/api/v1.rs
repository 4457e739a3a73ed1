//! The stable API of Airflow 2.10: `airflow.api_connexion.endpoints.dataset_endpoint`.

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde_json::{Map, Value as Json, json};

use super::source::{self, SourceFilter};
use super::{Answer, ORDERS, Request};
use crate::asset::dataset_uri;
use crate::asset::pytext::repr;
use crate::python::{PyErr, PyResult, repr_str};
use crate::schedule::QueueRow;
use crate::schedule::datasets::{DatasetEvent, DatasetRun, DatasetScheduler, RegisterChange};
use crate::timetable::isoformat;

/// Where the error types are explained.
const ERRORS: &str = "https://airflow.apache.org/docs/apache-airflow/2.10.5/stable-rest-api-ref.html#section/Errors/";

/// `[api] maximum_page_limit` and `[api] fallback_page_limit`.
const PAGE_LIMIT: i64 = 100;

/// What stops a request: an answer of Airflow's, or something refused.
enum Stop {
    Answer(Answer),
    Refused(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Refused(error)
    }
}

type Handled = Result<Answer, Stop>;

/// Answers a request of the queued-event endpoints or of `/datasets/events`.
///
/// # Errors
/// `Unsupported` for other endpoints, and for what Airflow answers with an internal error or in an order that is random.
pub fn answer(scheduler: &mut DatasetScheduler, request: &Request, at: DateTime<Utc>) -> PyResult<Answer> {
    match route(scheduler, request, at) {
        Ok(answer) | Err(Stop::Answer(answer)) => Ok(answer),
        Err(Stop::Refused(error)) => Err(error),
    }
}

fn route(scheduler: &mut DatasetScheduler, request: &Request, at: DateTime<Utc>) -> Handled {
    if request.path == "/datasets/events" {
        return match request.method.as_str() {
            "GET" => get_events(scheduler, request),
            "POST" => post_event(scheduler, request, at),
            _ => Err(request.unknown().into()),
        };
    }
    let target = Target::of(&request.path).ok_or_else(|| request.unknown())?;
    queued_events(scheduler, request, &target)
}

/// What the queue is asked about.
struct Target<'a> {
    dag_id: Option<&'a str>,
    uri: Option<&'a str>,
}

impl<'a> Target<'a> {
    fn of(path: &'a str) -> Option<Self> {
        if let Some(uri) = path.strip_prefix("/datasets/queuedEvent/") {
            return (!uri.is_empty()).then_some(Target { dag_id: None, uri: Some(uri) });
        }
        let (dag_id, rest) = path.strip_prefix("/dags/")?.split_once('/')?;
        let rest = rest.strip_prefix("datasets/queuedEvent")?;
        let uri = match rest.strip_prefix('/') {
            None if rest.is_empty() => None,
            Some(uri) if !uri.is_empty() => Some(uri),
            _ => return None,
        };
        (!dag_id.is_empty()).then_some(Target { dag_id: Some(dag_id), uri })
    }

    fn missing(&self) -> Stop {
        let detail = match (self.dag_id, self.uri) {
            (Some(dag_id), Some(uri)) => {
                format!("Queue event with dag_id: `{dag_id}` and dataset uri: `{uri}` was not found")
            }
            (Some(dag_id), None) => format!("Queue event with dag_id: `{dag_id}` was not found"),
            (None, uri) => format!("Queue event with dataset uri: `{}` was not found", uri.unwrap_or_default()),
        };
        not_found("Queue event not found", &detail)
    }
}

fn queued_events(scheduler: &mut DatasetScheduler, request: &Request, target: &Target<'_>) -> Handled {
    known_parameters(request, &["before"])?;
    let before = before(request)?;
    let dataset = target.uri.map(|uri| scheduler.dataset(uri).map(|row| row.id));
    let picks = |row: &QueueRow| {
        target.dag_id.is_none_or(|dag_id| row.dag_id == dag_id)
            && dataset.is_none_or(|id| id == Some(row.asset_id))
            && before.is_none_or(|before| row.created_at < before)
    };
    match request.method.as_str() {
        "DELETE" => match scheduler.dequeue(picks) {
            0 => Err(target.missing()),
            _ => Ok(Answer::no_content()),
        },
        "GET" => {
            let mut rows: Vec<&QueueRow> = scheduler.queue().iter().filter(|row| picks(row)).collect();
            if target.dag_id.is_none() {
                // SQLite reads them from the primary key.
                rows.sort_by(|a, b| a.dag_id.cmp(&b.dag_id));
            }
            let entry = |row: &QueueRow| {
                let uri = scheduler.uri(row.asset_id);
                json!({"created_at": isoformat(row.created_at), "dag_id": row.dag_id, "uri": uri})
            };
            match rows.first() {
                None => Err(target.missing()),
                Some(row) if target.dag_id.is_some() && target.uri.is_some() => Ok(Answer::new(200, entry(row))),
                Some(_) => {
                    let entries: Vec<Json> = rows.iter().map(|row| entry(row)).collect();
                    Ok(Answer::new(200, json!({"total_entries": entries.len(), "queued_events": entries})))
                }
            }
        }
        _ => Err(request.unknown().into()),
    }
}

fn post_event(scheduler: &mut DatasetScheduler, request: &Request, at: DateTime<Utc>) -> Handled {
    let body = match &request.body {
        None | Some(Json::Null) => return Err(bad_request("Request body must not be empty")),
        Some(Json::Object(body)) => body,
        Some(other) => return Err(bad_request(&format!("{} is not of type 'object'", repr(other)))),
    };
    let uri = match body.get("dataset_uri") {
        None => return Err(bad_request("'dataset_uri' is a required property")),
        Some(Json::String(uri)) => uri,
        Some(other) => {
            return Err(bad_request(&format!("{} is not of type 'string' - 'dataset_uri'", repr(other))));
        }
    };
    let mut extra = match body.get("extra") {
        None => Map::new(),
        Some(Json::Object(extra)) => extra.clone(),
        Some(Json::Null) => {
            return Err(PyErr::unsupported("an event whose extra is null: Airflow answers an internal error").into());
        }
        Some(other) => return Err(bad_request(&format!("{} is not of type 'object' - 'extra'", repr(other)))),
    };
    let unknown: Vec<&String> = body.keys().filter(|key| *key != "dataset_uri" && *key != "extra").collect();
    match unknown.as_slice() {
        [] => {}
        [field] => return Err(bad_request(&format!("{{{}: ['Unknown field.']}}", repr_str(field)))),
        _ => return Err(PyErr::unsupported("several unknown fields: Airflow names them in random order").into()),
    }
    let missing = || not_found("Dataset not found", &format!("Dataset with uri: '{uri}' not found"));
    if scheduler.dataset(uri).is_none() {
        return Err(missing());
    }
    let sanitized = dataset_uri(uri).map_err(|error| {
        PyErr::unsupported(format!("an event of {uri:?}: Airflow answers an internal error ({})", error.message))
    })?;
    extra.insert("from_rest_api".to_owned(), true.into());
    let change = RegisterChange { uri: sanitized.uri, extra: Json::Object(extra), source: None, aliases: Vec::new() };
    let id = scheduler.register_dataset_change(&change, at).ok_or_else(missing)?;
    match scheduler.events().iter().find(|event| event.id == id) {
        Some(event) => Ok(Answer::new(200, event_json(scheduler, event))),
        None => Err(missing()),
    }
}

fn get_events(scheduler: &DatasetScheduler, request: &Request) -> Handled {
    known_parameters(
        request,
        &[
            "limit",
            "offset",
            "order_by",
            "dataset_id",
            "source_dag_id",
            "source_task_id",
            "source_run_id",
            "source_map_index",
        ],
    )?;
    let integer = |name: &str| integer(request, name);
    let (limit, offset) = (integer("limit")?, integer("offset")?.unwrap_or(0));
    if offset < 0 {
        return Err(bad_request(&format!(
            "{offset} is less than the minimum of 0\n\nFailed validating 'minimum' in schema:\n    \
             {{'type': 'integer', 'minimum': 0}}\n\nOn instance:\n    {offset}"
        )));
    }
    // Zero and the empty text count as not given.
    let dataset_id = integer("dataset_id")?.filter(|id| *id != 0);
    let map_index = integer("source_map_index")?.filter(|index| *index != 0);
    let text = |name: &str| request.parameter(name).map(|value| value.filter(|value| !value.is_empty()));
    let filter = SourceFilter {
        dag_id: text("source_dag_id")?,
        task_id: text("source_task_id")?,
        run_id: text("source_run_id")?,
        map_index,
    };
    let limit = match limit.unwrap_or(PAGE_LIMIT) {
        0 => PAGE_LIMIT,
        limit if limit < 0 => {
            return Err(problem(400, "Page limit must be a positive integer", None, "BadRequest"));
        }
        limit => limit.min(PAGE_LIMIT),
    };
    let order_by = request.parameter("order_by")?.unwrap_or("timestamp");
    let attribute = order_by.trim_start_matches('-');
    if !ORDERS.contains(&attribute) {
        let text = format!("Ordering with '{attribute}' is disallowed or the attribute does not exist on the model");
        return Err(bad_request(&text));
    }
    let picks = |event: &&DatasetEvent| {
        dataset_id.is_none_or(|id| event.dataset_id == id) && filter.picks(event.source.as_ref())
    };
    let mut events: Vec<&DatasetEvent> = scheduler.events().iter().filter(picks).collect();
    let total = events.len();
    events.sort_by(|a, b| {
        let (a, b) = if order_by.starts_with('-') { (b, a) } else { (a, b) };
        source::compare(attribute, a.source.as_ref(), b.source.as_ref()).unwrap_or(a.timestamp.cmp(&b.timestamp))
    });
    let page = usize::try_from(offset).unwrap_or(usize::MAX);
    let count = usize::try_from(limit).unwrap_or(usize::MAX);
    let entries: Vec<Json> =
        events.into_iter().skip(page).take(count).map(|event| event_json(scheduler, event)).collect();
    Ok(Answer::new(200, json!({"dataset_events": entries, "total_entries": total})))
}

fn event_json(scheduler: &DatasetScheduler, event: &DatasetEvent) -> Json {
    let source = event.source.as_ref();
    let runs: Vec<Json> = scheduler.runs_of_event(event.id).map(run_json).collect();
    let extra = if event.extra.is_null() { json!({}) } else { event.extra.clone() };
    json!({
        "created_dagruns": runs,
        "dataset_id": event.dataset_id,
        "dataset_uri": scheduler.uri(event.dataset_id),
        "extra": extra,
        "id": event.id,
        "source_dag_id": source.map(|source| &source.dag_id),
        "source_map_index": source::map_index(source),
        "source_run_id": source.map(|source| &source.run_id),
        "source_task_id": source.map(|source| &source.task_id),
        "timestamp": isoformat(event.timestamp),
    })
}

fn run_json(run: &DatasetRun) -> Json {
    json!({
        "dag_id": run.dag_id,
        "dag_run_id": run.run_id,
        "data_interval_end": run.data_interval.map(|interval| isoformat(interval.end)),
        "data_interval_start": run.data_interval.map(|interval| isoformat(interval.start)),
        "end_date": run.end_date.map(isoformat),
        "logical_date": isoformat(run.logical_date),
        "start_date": run.start_date.map(isoformat),
        "state": run.state,
    })
}

/// Refuses a parameter that the specification does not have, as Connexion does.
fn known_parameters(request: &Request, known: &[&str]) -> Result<(), Stop> {
    let mut unknown: Vec<&str> =
        request.query.iter().map(|(name, _)| name.as_str()).filter(|name| !known.contains(name)).collect();
    unknown.dedup();
    match unknown.as_slice() {
        [] => Ok(()),
        [name] => Err(Stop::Answer(Answer::new(
            400,
            json!({
                "detail": format!("Extra query parameter(s) {name} not in spec"),
                "status": 400,
                "title": null,
                "type": format!("{ERRORS}BadRequest"),
            }),
        ))),
        _ => Err(PyErr::unsupported("several unknown parameters: Airflow names them in random order").into()),
    }
}

fn integer(request: &Request, name: &str) -> Result<Option<i64>, Stop> {
    let Some(text) = request.parameter(name)? else { return Ok(None) };
    if let Ok(number) = text.trim().parse::<i64>() {
        return Ok(Some(number));
    }
    let digits = !text.trim().is_empty()
        && text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'+');
    if text.contains('_') || digits || !text.is_ascii() {
        return Err(PyErr::unsupported(format!("the number {text:?} in the parameter {name}")).into());
    }
    Err(bad_request(&format!("Wrong type, expected 'integer' for query parameter '{name}'")))
}

/// The parameter `before`, which has to be a date-time of RFC 3339.
fn before(request: &Request) -> Result<Option<DateTime<Utc>>, Stop> {
    let Some(text) = request.parameter("before")? else { return Ok(None) };
    if is_rfc3339(&text.to_uppercase()) {
        return match DateTime::parse_from_rfc3339(&text.to_uppercase()) {
            Ok(at) => Ok(Some(at.to_utc())),
            Err(_) => Err(PyErr::unsupported(format!("the date {text:?} in the parameter before")).into()),
        };
    }
    if text.chars().any(|c| c.is_control() || !c.is_ascii()) || (text.len() > 60 && text.contains(' ')) {
        return Err(PyErr::unsupported(format!("the date {text:?} in the parameter before")).into());
    }
    let text = repr_str(text);
    Err(bad_request(&format!(
        "{text} is not a 'date-time'\n\nFailed validating 'format' in schema:\n    \
         {{'type': 'string', 'format': 'date-time'}}\n\nOn instance:\n    {text}"
    )))
}

/// `2024-06-01T00:05:00(.5)(Z|+00:00)`, a date that exists, hours to 23 and no leap second.
fn is_rfc3339(text: &str) -> bool {
    let part = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok()).flatten()
    };
    let sign = |at: usize, sign: &str| text.get(at..at + 1) == Some(sign);
    let parsed = (|| {
        let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
        let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
        let signs = sign(4, "-") && sign(7, "-") && sign(10, "T") && sign(13, ":") && sign(16, ":");
        let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
        let mut rest = text.get(19..)?;
        if let Some(fraction) = rest.strip_prefix('.') {
            let digits = fraction.find(|c: char| !c.is_ascii_digit())?;
            rest = fraction.get(digits..).filter(|_| digits > 0)?;
        }
        let zone = rest == "Z" || {
            let offset = rest.strip_prefix(['+', '-'])?;
            let (hours, minutes) = offset.split_once(':')?;
            let number = |text: &str, limit: u32| {
                text.len() == 2
                    && text.bytes().all(|byte| byte.is_ascii_digit())
                    && text.parse::<u32>().is_ok_and(|number| number < limit)
            };
            number(hours, 24) && number(minutes, 60)
        };
        Some(signs && zone && hour < 24 && minute < 60 && second < 60 && date.year() > 0)
    })();
    parsed.unwrap_or(false)
}

fn problem(status: u16, title: &str, detail: Option<&str>, kind: &str) -> Stop {
    Stop::Answer(Answer::new(
        status,
        json!({"detail": detail, "status": status, "title": title, "type": format!("{ERRORS}{kind}")}),
    ))
}

fn not_found(title: &str, detail: &str) -> Stop {
    problem(404, title, Some(detail), "NotFound")
}

fn bad_request(detail: &str) -> Stop {
    problem(400, "Bad Request", Some(detail), "BadRequest")
}
