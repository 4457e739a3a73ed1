//! One operation on one timetable: what `partita inspect timetable` answers.

use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};
use serde_json::{Value as Json, json};

use super::rules::isoformat_with_offset;
use super::{DagRunInfo, DataInterval, TimeRestriction, Timetable, decode_timetable, encode_timetable, isoformat};
use crate::partition::Moment;
use crate::python::{PyErr, PyResult, repr_str};

/// Performs an operation on a serialized timetable and returns its value.
///
/// Operations: `construct`, `next_dagrun_info`, `iter_partition_dagrun_infos`, `resolve_partition_date`,
/// `localize_partition_datetime`, `infer_manual_data_interval`, `get_partition_mapper`, `partition_mapper_info`,
/// `rollup_fingerprint`.
///
/// # Errors
/// What Airflow raises for it; `Unsupported` for other operations and for inputs without what the operation needs.
pub fn operate(timetable: &Json, op: &str, input: &Json) -> PyResult<Json> {
    let timetable = decode_timetable(timetable)?;
    let timetable = &*timetable;
    match op {
        "construct" => {
            timetable.validate()?;
            Ok(json!({
                "summary": timetable.summary(),
                "partitioned": timetable.partitioned(),
                "partitioned_at_runtime": timetable.partitioned_at_runtime(),
                "can_be_scheduled": timetable.can_be_scheduled(),
                "periodic": timetable.periodic(),
                "active_runs_limit": timetable.active_runs_limit(),
                "serialized": encode_timetable(timetable),
            }))
        }
        "next_dagrun_info" => next_dagrun_info(timetable, input),
        "iter_partition_dagrun_infos" => {
            let limit = number(input, "limit")?;
            let runs = timetable.iter_partition_dagrun_infos(bound(input, "earliest")?, bound(input, "latest")?)?;
            runs.take(limit).map(|run| run.map(|run| run_json(&run))).collect::<PyResult<Vec<_>>>().map(Json::from)
        }
        "resolve_partition_date" => {
            let key = match input {
                Json::Null => None,
                Json::String(key) => Some(key.as_str()),
                _ => return Err(wants("a partition key")),
            };
            Ok(timetable.resolve_partition_date(key)?.map_or(Json::Null, |date| moment_text(&date).into()))
        }
        "localize_partition_datetime" => Ok(isoformat(timetable.localize_partition_datetime(date(input)?)?).into()),
        "infer_manual_data_interval" => Ok(interval_json(timetable.infer_manual_data_interval(date(input)?.to_utc())?)),
        "get_partition_mapper" => {
            let text = |name: &str| input.get(name).and_then(Json::as_str).unwrap_or_default();
            Ok(members(timetable.get_partition_mapper(text("name"), text("uri"))?.encode()))
        }
        "partition_mapper_info" => Ok(timetable.partition_mapper_info().into()),
        "rollup_fingerprint" => timetable.rollup_fingerprint().map(members),
        other => Err(PyErr::unsupported(format!("the timetable operation {}", repr_str(other)))),
    }
}

/// The keys of an encoded mapper as Airflow holds them before they are written: members of its `Encoding`.
fn members(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(members).collect(),
        Json::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let key = match key.as_str() {
                    "__type" => "Encoding.TYPE".to_owned(),
                    "__var" => "Encoding.VAR".to_owned(),
                    _ => key,
                };
                (key, members(value))
            })
            .collect(),
        other => other,
    }
}

fn next_dagrun_info(timetable: &dyn Timetable, input: &Json) -> PyResult<Json> {
    let now = bound(input, "now")?.to_utc();
    let limits = input.get("restriction").ok_or_else(|| wants("`restriction`"))?;
    let optional = |name: &str| match limits.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => date(value).map(|date| Some(date.to_utc())),
    };
    let restriction = TimeRestriction {
        earliest: optional("earliest")?,
        latest: optional("latest")?,
        catchup: limits.get("catchup").and_then(Json::as_bool).unwrap_or(false),
    };
    let mut last = match input.get("last") {
        None | Some(Json::Null) => None,
        Some(Json::Array(ends)) => match ends.as_slice() {
            [start, end] => Some(DagRunInfo::interval(date(start)?.to_utc(), date(end)?.to_utc())),
            _ => return Err(wants("`last` as [start, end]")),
        },
        Some(at) => Some(DagRunInfo { data_interval: None, ..DagRunInfo::exact(date(at)?.to_utc()) }),
    };
    let mut runs = Vec::new();
    for _ in 0..number(input, "count")? {
        last = timetable.next_dagrun_info_v2(last.as_ref(), &restriction, now)?;
        runs.push(last.as_ref().map_or(Json::Null, run_json));
        if last.is_none() {
            break;
        }
    }
    Ok(runs.into())
}

/// A run info as JSON, all instants in UTC.
pub fn run_json(run: &DagRunInfo) -> Json {
    json!({
        "run_after": isoformat(run.run_after),
        "data_interval": run.data_interval.map(interval_json),
        "partition_date": run.partition_date.map(isoformat),
        "partition_key": run.partition_key,
    })
}

fn interval_json(interval: DataInterval) -> Json {
    json!([isoformat(interval.start), isoformat(interval.end)])
}

/// `isoformat()` of a moment: with its offset if it has one.
fn moment_text(moment: &Moment) -> String {
    match moment.utcoffset() {
        Some(offset) => isoformat_with_offset(moment.naive, i32::try_from(offset / 1_000_000).unwrap_or_default()),
        None => {
            let text = isoformat_with_offset(moment.naive, 0);
            text.strip_suffix("+00:00").unwrap_or(&text).to_owned()
        }
    }
}

fn wants(what: &str) -> PyErr {
    PyErr::unsupported(format!("a request without {what}"))
}

fn bound(input: &Json, name: &str) -> PyResult<DateTime<FixedOffset>> {
    date(input.get(name).ok_or_else(|| wants(&format!("`{name}`")))?)
}

/// An ISO date and time; one without an offset is in UTC.
fn date(value: &Json) -> PyResult<DateTime<FixedOffset>> {
    let text = value.as_str().ok_or_else(|| wants("a date as a string"))?;
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Ok(date);
    }
    text.parse::<NaiveDateTime>()
        .map(|naive| naive.and_utc().fixed_offset())
        .or_else(|_| text.parse::<DateTime<Utc>>().map(|date| date.fixed_offset()))
        .map_err(|_| PyErr::value_error(format!("Invalid isoformat string: {}", repr_str(text))))
}

fn number(input: &Json, name: &str) -> PyResult<usize> {
    let number = input.get(name).and_then(Json::as_u64).ok_or_else(|| wants(&format!("`{name}`")))?;
    // More answers than this do not fit on a line anybody reads.
    Ok(usize::try_from(number).unwrap_or(usize::MAX).min(1_000_000))
}
