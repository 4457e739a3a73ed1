//! Timetables in the form they have inside a serialized Dag.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, NaiveDateTime};
use serde_json::{Value as Json, json};

use super::partition::RunOffset;
use super::{
    AssetOrTimeSchedule, AssetTriggeredTimetable, ContinuousTimetable, CronDataIntervalTimetable,
    CronPartitionTimetable, CronSchedule, CronTriggerTimetable, Delta, DeltaDataIntervalTimetable,
    DeltaTriggerTimetable, EventsTimetable, MultipleCronTriggerTimetable, NullTimetable, OnceTimetable,
    PartitionedAssetTimetable, PartitionedAtRuntime, RunImmediately, Timetable,
};
use crate::asset::decode_asset_like;
use crate::asset::pytext::{item, repr, type_name};
use crate::python::{PyErr, PyResult, Zone, repr_str};

/// How deep `AssetOrTimeSchedule` may nest.
const DEPTH: usize = 50;

/// Reads a serialized timetable: `{"__type": import path, "__var": {...}}`.
///
/// # Errors
/// What Airflow raises for it: `KeyError`, `ImportError`, `TimetableNotRegistered`, `InvalidTimezone`, ...
pub fn decode_timetable(value: &Json) -> PyResult<Arc<dyn Timetable>> {
    decode(value, 0)
}

/// A timetable in its serialized form.
pub fn encode_timetable(timetable: &dyn Timetable) -> Json {
    json!({
        "__type": format!("{}.{}", timetable.module(), timetable.class_name()),
        "__var": timetable.serialize(),
    })
}

/// The classes by the module that defines them.
const CLASSES: [(&str, &[&str]); 5] = [
    ("assets", &["AssetOrTimeSchedule", "AssetTriggeredTimetable"]),
    ("events", &["EventsTimetable"]),
    ("interval", &["CronDataIntervalTimetable", "DeltaDataIntervalTimetable"]),
    (
        "simple",
        &[
            "AssetTriggeredTimetable",
            "ContinuousTimetable",
            "NullTimetable",
            "OnceTimetable",
            "PartitionedAssetTimetable",
            "PartitionedAtRuntime",
        ],
    ),
    (
        "trigger",
        &["CronPartitionTimetable", "CronTriggerTimetable", "DeltaTriggerTimetable", "MultipleCronTriggerTimetable"],
    ),
];

/// The class an import path names, with the errors of importing it.
fn class_of(path: &str) -> PyResult<&str> {
    let Some(rest) = path.strip_prefix("airflow.timetables.") else {
        return Err(PyErr::new(
            "TimetableNotRegistered",
            format!(
                "Timetable class {} is not registered or you have a top level database access that disrupted the \
                 session. Please check the airflow best practices documentation.",
                repr_str(path)
            ),
        )
        .with_hint("partita knows the timetables that Airflow ships; a timetable of your own cannot be run here"));
    };
    let (module, class) = match rest.rsplit_once('.') {
        Some(parts) => parts,
        None => {
            return Err(PyErr::new(
                "ImportError",
                format!("Module \"airflow.timetables\" does not define a \"{rest}\" attribute/class"),
            ));
        }
    };
    if let Some((_, classes)) = CLASSES.iter().find(|(known, _)| *known == module) {
        if classes.contains(&class) {
            return Ok(class);
        }
        if imported(class) {
            return Err(PyErr::unsupported(format!("{path} as a timetable")));
        }
    } else if matches!(module, "_cron" | "_delta" | "base") {
        return Err(PyErr::unsupported(format!("{path} as a timetable")));
    } else {
        let missing = missing_module(module);
        return Err(PyErr::new("ModuleNotFoundError", format!("No module named {}", repr_str(&missing))));
    }
    Err(PyErr::new(
        "ImportError",
        format!("Module \"airflow.timetables.{module}\" does not define a \"{class}\" attribute/class"),
    ))
}

/// The first part of a path below `airflow.timetables` that is no module.
fn missing_module(module: &str) -> String {
    let first = module.split('.').next().unwrap_or_default();
    let known = CLASSES.iter().any(|(known, _)| *known == first) || matches!(first, "_cron" | "_delta" | "base");
    if known {
        let second = module.split('.').nth(1).unwrap_or_default();
        let package = format!("airflow.timetables.{first}");
        return format!("{package}.{second}");
    }
    format!("airflow.timetables.{first}")
}

/// Names that modules of timetables import for themselves: importable, but not what anybody means.
fn imported(name: &str) -> bool {
    let known = [
        "CronMixin",
        "DeltaMixin",
        "Timetable",
        "DagRunInfo",
        "DataInterval",
        "TimeRestriction",
        "DateTime",
        "Any",
        "annotations",
        "datetime",
        "functools",
        "math",
        "operator",
        "time",
        "timezone",
        "log",
        "structlog",
        "pendulum",
        "itertools",
        "relativedelta",
        "IdentityMapper",
        "DEFAULT_PARTITION_MAPPER",
        "BaseAsset",
        "DagRunType",
    ];
    known.contains(&name) || name.starts_with('_') || name.starts_with("Serialized")
}

fn decode(value: &Json, depth: usize) -> PyResult<Arc<dyn Timetable>> {
    if depth > DEPTH {
        return Err(PyErr::limit(format!("timetables nested deeper than {DEPTH}")));
    }
    let path = encoding(value, "TYPE", "__type")?;
    let path = path
        .as_str()
        .ok_or_else(|| PyErr::attribute_error(format!("'{}' object has no attribute 'startswith'", type_name(path))))?;
    let class = class_of(path)?;
    let fields = encoding(value, "VAR", "__var")?;
    Ok(match class {
        "CronPartitionTimetable" => {
            // Anything but an int is dropped, with a warning in Airflow's log.
            let run_offset = RunOffset::read(Some(item(fields, "run_offset")?))?.unwrap_or_default();
            let expression = text(item(fields, "expression")?, "expression")?;
            let zone = decode_zone(item(fields, "timezone")?)?;
            let run_immediately = RunImmediately::decode(optional(fields, "run_immediately").unwrap_or(&false.into()))?;
            let key_format = text(item(fields, "key_format")?, "key_format")?;
            Arc::new(cron_partition(expression, zone, run_immediately, run_offset, key_format))
        }
        "CronTriggerTimetable" => {
            let expression = text(item(fields, "expression")?, "expression")?;
            let zone = decode_zone(item(fields, "timezone")?)?;
            Arc::new(CronTriggerTimetable {
                interval: Delta::decode(item(fields, "interval")?)?,
                run_immediately: RunImmediately::decode(optional(fields, "run_immediately").unwrap_or(&false.into()))?,
                partitioned_at_runtime: optional(fields, "partitioned_at_runtime") == Some(&Json::Bool(true)),
                ..CronTriggerTimetable::new(expression, zone)
            })
        }
        "MultipleCronTriggerTimetable" => {
            let expressions = item(fields, "expressions")?;
            let expressions = expressions
                .as_array()
                .ok_or_else(|| PyErr::unsupported(format!("cron expressions {}", repr(expressions))))?
                .iter()
                .map(|one| text(one, "expression").map(str::to_owned))
                .collect::<PyResult<Vec<_>>>()?;
            let zone = decode_zone(item(fields, "timezone")?)?;
            let interval = Delta::decode(item(fields, "interval")?)?;
            let run_immediately = RunImmediately::decode(item(fields, "run_immediately")?)?;
            Arc::new(MultipleCronTriggerTimetable::new(&expressions, zone, &interval, &run_immediately)?)
        }
        "DeltaTriggerTimetable" => Arc::new(DeltaTriggerTimetable {
            delta: Delta::decode(item(fields, "delta")?)?,
            interval: Delta::decode(item(fields, "interval")?)?,
        }),
        "CronDataIntervalTimetable" => {
            let expression = text(item(fields, "expression")?, "expression")?;
            let zone = decode_zone(item(fields, "timezone")?)?;
            Arc::new(CronDataIntervalTimetable { schedule: CronSchedule::new(expression, zone) })
        }
        "DeltaDataIntervalTimetable" => {
            Arc::new(DeltaDataIntervalTimetable { delta: Delta::decode(item(fields, "delta")?)? })
        }
        "EventsTimetable" => Arc::new(events(fields)?),
        "NullTimetable" => Arc::new(NullTimetable),
        "OnceTimetable" => Arc::new(OnceTimetable),
        "ContinuousTimetable" => Arc::new(ContinuousTimetable),
        "PartitionedAtRuntime" => Arc::new(PartitionedAtRuntime),
        "AssetTriggeredTimetable" => {
            Arc::new(AssetTriggeredTimetable { condition: decode_asset_like(item(fields, "asset_condition")?)? })
        }
        "PartitionedAssetTimetable" => Arc::new(PartitionedAssetTimetable::deserialize(fields)?),
        "AssetOrTimeSchedule" => {
            let condition = decode_asset_like(item(fields, "asset_condition")?)?;
            Arc::new(AssetOrTimeSchedule::new(condition, decode(item(fields, "timetable")?, depth + 1)?))
        }
        other => return Err(PyErr::unsupported(format!("the timetable {other}"))),
    })
}

/// `var[Encoding.TYPE]`, `var[Encoding.VAR]`: the errors name the enum's member.
fn encoding<'a>(value: &'a Json, member: &str, key: &str) -> PyResult<&'a Json> {
    match value {
        Json::Object(map) => {
            map.get(key).ok_or_else(|| PyErr::new("KeyError", format!("<Encoding.{member}: '{key}'>")))
        }
        Json::Array(_) => Err(PyErr::type_error("list indices must be integers or slices, not Encoding")),
        Json::String(_) => Err(PyErr::type_error("string indices must be integers, not 'Encoding'")),
        other => Err(PyErr::type_error(format!("'{}' object is not subscriptable", type_name(other)))),
    }
}

/// A partition timetable of these parts.
pub(super) fn cron_partition(
    expression: &str,
    zone: Zone,
    run_immediately: RunImmediately,
    run_offset: RunOffset,
    key_format: &str,
) -> CronPartitionTimetable {
    CronPartitionTimetable {
        trigger: CronTriggerTimetable { run_immediately, ..CronTriggerTimetable::new(expression, zone) },
        run_offset,
        key_format: key_format.to_owned(),
    }
}

fn events(fields: &Json) -> PyResult<EventsTimetable> {
    let dates = item(fields, "event_dates")?;
    let dates = dates
        .as_array()
        .ok_or_else(|| PyErr::unsupported(format!("event dates {}", repr(dates))))?
        .iter()
        .map(|date| event_date(text(date, "event date")?))
        .collect::<PyResult<Vec<_>>>()?;
    let restrict = item(fields, "restrict_to_events")?;
    let description = item(fields, "description")?;
    let restrict = crate::asset::pytext::truth(restrict);
    let timetable = EventsTimetable::new(dates, restrict, true, description.as_str());
    Ok(timetable.with_summary(text(item(fields, "_summary")?, "_summary")?.to_owned()))
}

/// A date of a list of events: with its offset, or in UTC.
pub(super) fn event_date(text: &str) -> PyResult<DateTime<FixedOffset>> {
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Ok(date);
    }
    text.parse::<NaiveDateTime>()
        .map(|naive| naive.and_utc().fixed_offset())
        .map_err(|_| PyErr::value_error(format!("Invalid isoformat string: {}", repr_str(text))))
}

/// `parse_timezone` of a serialized zone: a name, or an offset in seconds.
pub(super) fn decode_zone(value: &Json) -> PyResult<Zone> {
    match value {
        Json::String(name) => Zone::parse(name),
        Json::Bool(flag) => Zone::fixed(i64::from(*flag)),
        Json::Number(number) if number.as_i64().is_some() => Zone::fixed(number.as_i64().unwrap_or(0)),
        other => Err(PyErr::attribute_error(format!("'{}' object has no attribute 'lower'", type_name(other)))),
    }
}

/// A zone in its serialized form: a name, or an offset in seconds; no offset is UTC.
pub(super) fn encode_zone(zone: Zone) -> Json {
    match zone {
        Zone::Fixed(0) => "UTC".into(),
        Zone::Fixed(seconds) => seconds.into(),
        Zone::Named(_) => zone.name().into(),
    }
}

fn optional<'a>(fields: &'a Json, name: &str) -> Option<&'a Json> {
    fields.as_object().and_then(|map| map.get(name))
}

fn text<'a>(value: &'a Json, what: &str) -> PyResult<&'a str> {
    value.as_str().ok_or_else(|| PyErr::unsupported(format!("{what} that is {}", repr(value))))
}
