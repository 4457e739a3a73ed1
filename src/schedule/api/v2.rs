//! The API of Airflow 3.3: `airflow.api_fastapi.core_api.routes.public.assets`.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, TimeZone, Utc};
use serde_json::{Map, Value as Json, json};

use super::source::{self, SourceFilter};
use super::{Answer, ORDERS, Request};
use crate::asset::AssetEvent;
use crate::python::{PyErr, repr_str};
use crate::schedule::{AssetChange, QueueRow, ScheduleError, Scheduler};

/// `[api] fallback_page_limit` and `[api] maximum_page_limit`.
const DEFAULT_LIMIT: i64 = 50;
const MAXIMUM_LIMIT: i64 = 100;

/// Longest partition key, in characters.
const KEY_LIMIT: usize = 250;

/// How deep an extra is searched for secrets.
const MASK_DEPTH: usize = 5;

/// What the queue does not know.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The display name of a Dag, where it has one of its own.
    pub display_name: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a value of that name is a secret: it is masked in the extras of events.
    pub is_sensitive: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Surroundings")
    }
}

/// What stops a request: an answer of Airflow's, or something refused.
enum Stop {
    Answer(Answer),
    Refused(ScheduleError),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Refused(error.into())
    }
}

impl From<ScheduleError> for Stop {
    fn from(error: ScheduleError) -> Self {
        Stop::Refused(error)
    }
}

type Handled = Result<Answer, Stop>;

/// Answers a request of the queued-event endpoints or of `/assets/events`.
///
/// # Errors
/// `Unsupported` for other endpoints, parameters and values; those of the store.
pub fn answer(
    scheduler: &mut Scheduler,
    around: Surroundings<'_>,
    request: &Request,
    at: DateTime<Utc>,
) -> Result<Answer, ScheduleError> {
    match route(scheduler, around, request, at) {
        Ok(answer) | Err(Stop::Answer(answer)) => Ok(answer),
        Err(Stop::Refused(error)) => Err(error),
    }
}

fn route(scheduler: &mut Scheduler, around: Surroundings<'_>, request: &Request, at: DateTime<Utc>) -> Handled {
    let segments: Vec<&str> = request.path.split('/').skip(1).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["assets", "events"]) => get_events(scheduler, around, request),
        ("POST", ["assets", "events"]) => post_event(scheduler, around, request, at),
        (_, ["assets", asset, "queuedEvents"]) => queued_events(scheduler, around, request, None, Some(asset)),
        (_, ["dags", dag, "assets", "queuedEvents"]) => queued_events(scheduler, around, request, Some(dag), None),
        (_, ["dags", dag, "assets", asset, "queuedEvents"]) => {
            queued_events(scheduler, around, request, Some(dag), Some(asset))
        }
        _ => Err(request.unknown().into()),
    }
}

fn queued_events(
    scheduler: &mut Scheduler,
    around: Surroundings<'_>,
    request: &Request,
    dag_id: Option<&str>,
    asset_id: Option<&str>,
) -> Handled {
    let asset_id = match asset_id.map(|text| integer(text, "path", "asset_id")) {
        None => None,
        Some(Ok(Ok(id))) => Some(id),
        Some(Ok(Err(error))) => return Err(invalid(vec![error])),
        Some(Err(error)) => return Err(error.into()),
    };
    let before = before(request)?;
    let mut rows = scheduler.queue()?;
    rows.retain(|row| {
        dag_id.is_none_or(|dag_id| row.dag_id == dag_id)
            && asset_id.is_none_or(|id| row.asset_id == id)
            && before.is_none_or(|before| row.created_at < before)
    });
    if dag_id.is_none() {
        // SQLite reads them from the primary key.
        rows.sort_by(|a, b| a.dag_id.cmp(&b.dag_id));
    }
    let one = || match (dag_id, asset_id) {
        (Some(dag_id), Some(asset_id)) => {
            detail(404, format!("Queued event with dag_id: `{dag_id}` and asset_id: `{asset_id}` was not found"))
        }
        (Some(dag_id), None) => detail(404, format!("Queue event with dag_id: `{dag_id}` was not found")),
        (None, asset_id) => {
            let asset_id = asset_id.unwrap_or_default();
            detail(404, format!("Queue event with asset_id: `{asset_id}` was not found"))
        }
    };
    let entry = |row: &QueueRow| {
        let name = (around.display_name)(&row.dag_id).unwrap_or_else(|| row.dag_id.clone());
        json!({
            "dag_id": row.dag_id,
            "asset_id": row.asset_id,
            "created_at": timestamp(row.created_at),
            "dag_display_name": name,
        })
    };
    match request.method.as_str() {
        "GET" if dag_id.is_some() && asset_id.is_some() => {
            let row = rows.first().ok_or_else(one)?;
            Ok(Answer::new(200, entry(row)))
        }
        "GET" => {
            let entries: Vec<Json> = rows.iter().map(entry).collect();
            Ok(Answer::new(200, json!({"total_entries": entries.len(), "queued_events": entries})))
        }
        "DELETE" if rows.is_empty() => Err(one()),
        "DELETE" => {
            scheduler.transact(|this| {
                for row in &rows {
                    this.store.dequeue(&row.dag_id, &[row.asset_id])?;
                }
                Ok(())
            })?;
            Ok(Answer::no_content())
        }
        _ => Err(request.unknown().into()),
    }
}

fn post_event(scheduler: &mut Scheduler, around: Surroundings<'_>, request: &Request, at: DateTime<Utc>) -> Handled {
    let body = match &request.body {
        None | Some(Json::Null) => {
            return Err(invalid(vec![json!({
                "type": "missing", "loc": ["body"], "msg": "Field required", "input": null,
            })]));
        }
        Some(Json::Object(body)) => body,
        Some(other) => return Err(PyErr::unsupported(format!("the body {other}")).into()),
    };
    let mut errors = Vec::new();
    let asset_id = read_asset_id(body, &mut errors)?;
    let partition_key = read_partition_key(body, &mut errors)?;
    let extra = read_extra(body, &mut errors);
    if body.get("access_control").is_some_and(|value| !value.is_null()) {
        return Err(PyErr::unsupported("an event with access_control").into());
    }
    for (name, value) in body {
        if !["asset_id", "partition_key", "extra", "access_control"].contains(&name.as_str()) {
            errors.push(json!({
                "type": "extra_forbidden",
                "loc": ["body", name],
                "msg": "Extra inputs are not permitted",
                "input": value,
            }));
        }
    }
    let (Some(asset_id), true) = (asset_id, errors.is_empty()) else { return Err(invalid(errors)) };
    let asset = scheduler.store().assets()?.into_iter().find(|row| row.id == asset_id);
    let missing = || detail(404, format!("Asset with ID: `{asset_id}` was not found"));
    let Some(asset) = asset else { return Err(missing()) };
    let change = AssetChange { extra: Some(extra), partition_key, ..AssetChange::of(asset.key) };
    let id = scheduler.register_asset_change(&change, at)?.ok_or_else(missing)?;
    let event = scheduler.event(id)?.ok_or_else(missing)?;
    Ok(Answer::new(200, event_json(scheduler, around, &event)?))
}

fn read_asset_id(body: &Map<String, Json>, errors: &mut Vec<Json>) -> Result<Option<i64>, Stop> {
    let kind = |kind: &str, message: &str, input: &Json| json!({"type": kind, "loc": ["body", "asset_id"], "msg": message, "input": input});
    let error = match body.get("asset_id") {
        None => kind("missing", "Field required", &Json::Object(body.clone())),
        Some(Json::Bool(flag)) => return Ok(Some(i64::from(*flag))),
        Some(Json::Number(number)) if number.as_i64().is_some() => return Ok(number.as_i64()),
        Some(value @ Json::Number(number)) => match number.as_f64() {
            Some(float) if float.fract() != 0.0 => {
                kind("int_from_float", "Input should be a valid integer, got a number with a fractional part", value)
            }
            _ => return Err(PyErr::unsupported(format!("the asset id {number}")).into()),
        },
        Some(Json::String(text)) => match integer(text, "body", "asset_id")? {
            Ok(id) => return Ok(Some(id)),
            Err(error) => error,
        },
        Some(other) => kind("int_type", "Input should be a valid integer", other),
    };
    errors.push(error);
    Ok(None)
}

fn read_partition_key(body: &Map<String, Json>, errors: &mut Vec<Json>) -> Result<Option<String>, Stop> {
    match body.get("partition_key") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(key)) => {
            let blank = key.chars().all(char::is_whitespace);
            if blank || key.chars().count() > KEY_LIMIT {
                return Err(PyErr::unsupported("a partition key that is blank or too long").into());
            }
            Ok(Some(key.clone()))
        }
        Some(other) => {
            errors.push(json!({
                "type": "string_type",
                "loc": ["body", "partition_key"],
                "msg": "Input should be a valid string",
                "input": other,
            }));
            Ok(None)
        }
    }
}

/// The extra, marked as coming from the API; one that is not given is not marked.
fn read_extra(body: &Map<String, Json>, errors: &mut Vec<Json>) -> Json {
    match body.get("extra") {
        None => Json::Object(Map::new()),
        Some(Json::Object(extra)) => {
            let mut extra = extra.clone();
            extra.insert("from_rest_api".to_owned(), true.into());
            Json::Object(extra)
        }
        Some(other) => {
            errors.push(json!({
                "type": "dict_type",
                "loc": ["body", "extra"],
                "msg": "Input should be a valid dictionary",
                "input": other,
            }));
            Json::Null
        }
    }
}

fn get_events(scheduler: &Scheduler, around: Surroundings<'_>, request: &Request) -> Handled {
    for (name, _) in &request.query {
        if name.starts_with("timestamp_") || name.starts_with("name_") {
            return Err(PyErr::unsupported(format!("the parameter {name}")).into());
        }
    }
    let mut errors = Vec::new();
    let mut number = |name: &str, minimum: Option<i64>| -> Result<Option<i64>, Stop> {
        let Some(text) = request.parameter(name)? else { return Ok(None) };
        match integer(text, "query", name)? {
            Ok(number) if minimum.is_some_and(|minimum| number < minimum) => errors.push(json!({
                "type": "greater_than_equal",
                "loc": ["query", name],
                "msg": "Input should be greater than or equal to 0",
                "input": text,
                "ctx": {"ge": 0},
            })),
            Ok(number) => return Ok(Some(number)),
            Err(error) => errors.push(error),
        }
        Ok(None)
    };
    let (limit, offset) = (number("limit", Some(0))?, number("offset", Some(0))?);
    let (asset_id, map_index) = (number("asset_id", None)?, number("source_map_index", None)?);
    if !errors.is_empty() {
        return Err(invalid(errors));
    }
    let filter = SourceFilter {
        dag_id: request.parameter("source_dag_id")?,
        task_id: request.parameter("source_task_id")?,
        run_id: request.parameter("source_run_id")?,
        map_index,
    };
    let mut order: Vec<&str> =
        request.query.iter().filter(|(name, _)| name == "order_by").map(|(_, value)| value.as_str()).collect();
    if order.is_empty() {
        order.push("timestamp");
    }
    if order.len() > 10 {
        return Err(PyErr::unsupported("ordering by more than ten attributes").into());
    }
    for attribute in order.iter().map(|name| name.trim_start_matches('-')) {
        if !ORDERS.contains(&attribute) {
            let text =
                format!("Ordering with '{attribute}' is disallowed or the attribute does not exist on the model");
            return Err(detail(400, text));
        }
    }
    let assets = scheduler.store().assets()?;
    let ids: Vec<i64> = assets.iter().map(|row| row.id).filter(|id| asset_id.is_none_or(|only| only == *id)).collect();
    let mut events = Vec::new();
    for id in scheduler.store().events_between(&ids, &[], None, DateTime::<Utc>::MAX_UTC)? {
        let Some(event) = scheduler.event(id)? else { continue };
        if filter.picks(event.source.as_ref()) {
            events.push(event);
        }
    }
    let descending = order.first().is_some_and(|name| name.starts_with('-'));
    events.sort_by(|a, b| {
        let by_id = if descending { b.id.cmp(&a.id) } else { a.id.cmp(&b.id) };
        order.iter().fold(std::cmp::Ordering::Equal, |so_far, name| so_far.then(compare(name, a, b))).then(by_id)
    });
    let total = events.len();
    let take = usize::try_from(limit.unwrap_or(DEFAULT_LIMIT).min(MAXIMUM_LIMIT)).unwrap_or_default();
    let skip = usize::try_from(offset.unwrap_or(0)).unwrap_or_default();
    let consumed: HashSet<i64> = scheduler.runs()?.into_iter().flat_map(|run| run.run.events).collect();
    let mut entries = Vec::new();
    for event in events.iter().skip(skip).take(take) {
        if consumed.contains(&event.id) {
            // The answer names start and end of those runs, which the queue does not know.
            return Err(PyErr::unsupported("an event that Dag runs consumed").into());
        }
        entries.push(event_json(scheduler, around, event)?);
    }
    Ok(Answer::new(200, json!({"asset_events": entries, "total_entries": total})))
}

fn compare(name: &str, a: &AssetEvent, b: &AssetEvent) -> std::cmp::Ordering {
    let by_source = source::compare(name.trim_start_matches('-'), a.source.as_ref(), b.source.as_ref());
    let ascending = by_source.unwrap_or(a.timestamp.cmp(&b.timestamp));
    if name.starts_with('-') { ascending.reverse() } else { ascending }
}

/// An event that no run consumed.
fn event_json(scheduler: &Scheduler, around: Surroundings<'_>, event: &AssetEvent) -> Result<Json, Stop> {
    let asset = scheduler.store().asset(&event.asset)?;
    let source = event.source.as_ref();
    Ok(json!({
        "id": event.id,
        "asset_id": asset.map(|row| row.id),
        "uri": event.asset.uri,
        "name": event.asset.name,
        "group": "asset",
        "extra": masked(&event.extra, None, around, 0),
        "source_task_id": source.map(|source| &source.task_id),
        "source_dag_id": source.map(|source| &source.dag_id),
        "source_run_id": source.map(|source| &source.run_id),
        "source_map_index": source::map_index(source),
        "created_dagruns": [],
        "timestamp": timestamp(event.timestamp),
        "partition_key": event.partition_key,
    }))
}

/// The extra with the texts under sensitive names replaced.
fn masked(value: &Json, name: Option<&str>, around: Surroundings<'_>, depth: usize) -> Json {
    if depth > MASK_DEPTH {
        return value.clone();
    }
    if name.is_some_and(|name| (around.is_sensitive)(name)) {
        return all_masked(value, depth);
    }
    match value {
        Json::Object(fields) => {
            let field = |(key, value): (&String, &Json)| (key.clone(), masked(value, Some(key), around, depth + 1));
            Json::Object(fields.iter().map(field).collect())
        }
        Json::Array(items) => items.iter().map(|item| masked(item, None, around, depth + 1)).collect(),
        other => other.clone(),
    }
}

fn all_masked(value: &Json, depth: usize) -> Json {
    match value {
        Json::String(_) => "***".into(),
        _ if depth > MASK_DEPTH => "***".into(),
        Json::Object(fields) => {
            Json::Object(fields.iter().map(|(key, value)| (key.clone(), all_masked(value, depth + 1))).collect())
        }
        Json::Array(items) => items.iter().map(|item| all_masked(item, depth + 1)).collect(),
        other => other.clone(),
    }
}

/// An integer as pydantic reads it from a text, or the entry of its error.
fn integer(text: &str, place: &str, name: &str) -> Result<Result<i64, Json>, PyErr> {
    let trimmed = text.trim();
    if let Ok(number) = trimmed.parse::<i64>() {
        return Ok(Ok(number));
    }
    if trimmed.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(PyErr::unsupported(format!("the number {text:?} for {name}")));
    }
    Ok(Err(json!({
        "type": "int_parsing",
        "loc": [place, name],
        "msg": "Input should be a valid integer, unable to parse string as an integer",
        "input": text,
    })))
}

/// The parameter `before`: what `pendulum.parse` reads, UTC where it has no zone.
fn before(request: &Request) -> Result<Option<DateTime<Utc>>, Stop> {
    let Some(text) = request.parameter("before")? else { return Ok(None) };
    let iso = text.get(10..11) == Some("T");
    if iso && let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(Some(at.to_utc()));
    }
    if iso && let Ok(at) = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S") {
        return Ok(Some(Utc.from_utc_datetime(&at)));
    }
    if text.len() == 10
        && let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d")
    {
        return Ok(Some(Utc.from_utc_datetime(&date.and_time(chrono::NaiveTime::MIN))));
    }
    // A plus sign that was not encoded arrives as a space.
    let plus = text.rsplit_once(' ').is_some_and(|(head, offset)| {
        offset.len() == 5 && DateTime::parse_from_rfc3339(&format!("{head}+{offset}")).is_ok()
    });
    let letters = !text.is_empty() && text != "now" && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if plus || letters {
        let text = repr_str(text);
        return Err(detail(400, format!("Invalid datetime: {text}. Please check the date parameter have this value.")));
    }
    Err(PyErr::unsupported(format!("the date {text:?} in the parameter before")).into())
}

/// A time as pydantic writes it.
fn timestamp(at: DateTime<Utc>) -> String {
    let form = if at.timestamp_subsec_micros() == 0 { SecondsFormat::Secs } else { SecondsFormat::Micros };
    at.to_rfc3339_opts(form, true)
}

fn invalid(errors: Vec<Json>) -> Stop {
    Stop::Answer(Answer::new(422, json!({"detail": errors})))
}

fn detail(status: u16, text: String) -> Stop {
    Stop::Answer(Answer::new(status, json!({"detail": text})))
}
