//! Mappers, windows and policies as they are inside a serialized Dag.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    AllowedKeyMapper, ChainMapper, Direction, FanOutMapper, FixedKeyMapper, IdentityMapper, KeyCap, Mapper, Period,
    ProductMapper, RollupMapper, Span, TemporalMapper, WaitPolicy, Window,
};
use crate::asset::pytext::{item, repr, type_name};
use crate::python::{PyErr, PyResult, Zone, repr_str};

/// Deepest nesting of mappers read.
const DEPTH_LIMIT: usize = 50;

/// The package that Airflow's own classes live in.
const PACKAGE: &str = "airflow.partition_mappers";

/// The serialized form of a mapper of Airflow's own.
pub(super) fn encoded(path: &str, mut fields: Map<String, Json>, cap: Option<&KeyCap>) -> Json {
    if let Some(cap) = cap {
        fields.insert("max_downstream_keys".into(), cap.json().clone());
    }
    let mut map = Map::new();
    map.insert("__type".into(), format!("{PACKAGE}.{path}").into());
    map.insert("__var".into(), Json::Object(fields));
    Json::Object(map)
}

/// Reads a serialized mapper (`decode_partition_mapper`).
///
/// # Errors
/// Airflow's: an unknown class, a missing field, an argument its constructor refuses.
pub fn decode_partition_mapper(value: &Json) -> PyResult<Mapper> {
    decode_mapper(value, 0)
}

/// `__type` and `__var` of a serialized object. The fields are looked up only after the class was found.
fn type_path(value: &Json) -> PyResult<&str> {
    let path = match value {
        Json::Object(map) => map.get("__type").ok_or_else(|| PyErr::new("KeyError", "<Encoding.TYPE: '__type'>"))?,
        other => item(other, "__type")?,
    };
    path.as_str()
        .ok_or_else(|| PyErr::attribute_error(format!("'{}' object has no attribute 'startswith'", type_name(path))))
}

fn fields(value: &Json) -> PyResult<&Json> {
    value.get("__var").ok_or_else(|| PyErr::new("KeyError", "<Encoding.VAR: '__var'>"))
}

/// `data.get(name)`
fn get<'a>(data: &'a Json, name: &str) -> PyResult<Option<&'a Json>> {
    match data {
        Json::Object(map) => Ok(map.get(name)),
        other => Err(PyErr::attribute_error(format!("'{}' object has no attribute 'get'", type_name(other)))),
    }
}

fn text(data: &Json, name: &str) -> PyResult<String> {
    match item(data, name)? {
        Json::String(text) => Ok(text.clone()),
        other => Err(PyErr::unsupported(format!("{name} that is {}", repr(other)))),
    }
}

fn abstract_class(class: &str, method: &str) -> PyErr {
    PyErr::type_error(format!("Can't instantiate abstract class {class} with abstract method {method}"))
}

/// The class a path names, in one of the modules of the package, or the error of importing it.
fn import<'a>(path: &'a str, modules: &[(&str, &[&str])], reexports: &[&str]) -> PyResult<&'a str> {
    let (module, class) = path.rsplit_once('.').unwrap_or(("", path));
    if module == PACKAGE && reexports.contains(&class) {
        return Ok(class);
    }
    let inner = module.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('.'));
    match modules.iter().find(|(name, _)| Some(*name) == inner) {
        Some((_, classes)) if classes.contains(&class) => Ok(class),
        Some(_) => {
            Err(PyErr::new("ImportError", format!("Module \"{module}\" does not define a \"{class}\" attribute/class")))
        }
        None if module == PACKAGE => {
            Err(PyErr::new("ImportError", format!("Module \"{module}\" does not define a \"{class}\" attribute/class")))
        }
        None => Err(PyErr::new("ModuleNotFoundError", format!("No module named {}", repr_str(module)))),
    }
}

const MAPPER_MODULES: [(&str, &[&str]); 8] = [
    ("base", &["PartitionMapper", "RollupMapper"]),
    ("identity", &["IdentityMapper", "PartitionMapper"]),
    ("allowed_key", &["AllowedKeyMapper", "PartitionMapper"]),
    ("fixed_key", &["FixedKeyMapper", "PartitionMapper"]),
    ("product", &["ProductMapper", "PartitionMapper"]),
    ("chain", &["ChainMapper", "PartitionMapper"]),
    (
        "temporal",
        &[
            "StartOfHourMapper",
            "StartOfDayMapper",
            "StartOfWeekMapper",
            "StartOfMonthMapper",
            "StartOfQuarterMapper",
            "StartOfYearMapper",
            "FanOutMapper",
            "_BaseTemporalMapper",
            "PartitionMapper",
        ],
    ),
    ("window", &[]),
];

const MAPPER_REEXPORTS: [&str; 14] = [
    "AllowedKeyMapper",
    "ChainMapper",
    "FanOutMapper",
    "FixedKeyMapper",
    "IdentityMapper",
    "PartitionMapper",
    "ProductMapper",
    "RollupMapper",
    "StartOfDayMapper",
    "StartOfHourMapper",
    "StartOfMonthMapper",
    "StartOfQuarterMapper",
    "StartOfWeekMapper",
    "StartOfYearMapper",
];

fn decode_mapper(value: &Json, depth: usize) -> PyResult<Mapper> {
    if depth > DEPTH_LIMIT {
        return Err(PyErr::limit(format!("partition mappers nested deeper than {DEPTH_LIMIT}")));
    }
    let path = type_path(value)?;
    if !path.starts_with("airflow.partition_mappers.") {
        return Err(PyErr::new(
            "PartitionMapperNotFound",
            format!(
                "PartitionMapper class {} could not be imported or you have a top level database access that disrupted the \
                 session. Please check the airflow best practices documentation.",
                repr_str(path)
            ),
        )
        .with_hint("a mapper of your own exists only in Python: give it as an ExpressionMapper"));
    }
    let class = import(path, &MAPPER_MODULES, &MAPPER_REEXPORTS)?;
    let data = fields(value)?;
    let child = |name: &str| item(data, name).and_then(|inner| decode_mapper(inner, depth + 1));
    let cap = || get(data, "max_downstream_keys");
    Ok(match class {
        "IdentityMapper" => Arc::new(IdentityMapper::new(KeyCap::check(cap()?)?)),
        "AllowedKeyMapper" => {
            let allowed = item(data, "allowed_keys")?.clone();
            Arc::new(AllowedKeyMapper::new(allowed, KeyCap::check(cap()?)?))
        }
        "FixedKeyMapper" => Arc::new(FixedKeyMapper::new(item(data, "downstream_key")?, cap()?)?),
        "ProductMapper" => {
            let mappers = decode_mappers(data, depth)?;
            let delimiter = match get(data, "delimiter")? {
                None => "|".to_owned(),
                Some(Json::String(delimiter)) => delimiter.clone(),
                Some(other) => return Err(PyErr::unsupported(format!("delimiter that is {}", repr(other)))),
            };
            at_least_two("ProductMapper", mappers.len())?;
            Arc::new(ProductMapper::new(mappers, delimiter, KeyCap::check(cap()?)?))
        }
        "ChainMapper" => {
            let mappers = decode_mappers(data, depth)?;
            at_least_two("ChainMapper", mappers.len())?;
            Arc::new(ChainMapper::new(mappers, KeyCap::check(cap()?)?))
        }
        "RollupMapper" => {
            let upstream = child("upstream_mapper")?;
            let window = item(data, "window").and_then(decode_window)?;
            let policy = item(data, "wait_policy").and_then(decode_wait_policy)?;
            Arc::new(RollupMapper::new(upstream, window, policy, cap()?)?)
        }
        "FanOutMapper" => {
            let upstream = child("upstream_mapper")?;
            let window = item(data, "window").and_then(decode_window)?;
            let downstream = child("downstream_mapper")?;
            Arc::new(FanOutMapper::new(upstream, window, Some(downstream), cap()?)?)
        }
        "PartitionMapper" => {
            cap()?;
            return Err(abstract_class("PartitionMapper", "to_downstream"));
        }
        _ => Arc::new(decode_temporal(class, data)?),
    })
}

fn decode_mappers(data: &Json, depth: usize) -> PyResult<Vec<Mapper>> {
    match item(data, "mappers")? {
        Json::Array(mappers) => mappers.iter().map(|mapper| decode_mapper(mapper, depth + 1)).collect(),
        other => Err(PyErr::type_error(format!("'{}' object is not iterable", type_name(other)))),
    }
}

/// The error Python raises when one of the two required positional arguments is missing.
pub(super) fn at_least_two(class: &str, given: usize) -> PyResult<()> {
    match given {
        0 => Err(PyErr::type_error(format!(
            "{class}.__init__() missing 2 required positional arguments: 'mapper0' and 'mapper1'"
        ))),
        1 => Err(PyErr::type_error(format!("{class}.__init__() missing 1 required positional argument: 'mapper1'"))),
        _ => Ok(()),
    }
}

fn decode_temporal(class: &str, data: &Json) -> PyResult<TemporalMapper> {
    let timezone = get(data, "timezone")?;
    let impossible = timezone.and_then(Json::as_i64).filter(|seconds| seconds.unsigned_abs() >= 86_400);
    let zone = match timezone {
        Some(zone) if impossible.is_none() => read_zone(zone)?,
        _ => Zone::UTC,
    };
    let input_format = text(data, "input_format")?;
    let output_format = match item(data, "output_format")? {
        Json::Null => None,
        _ => Some(text(data, "output_format")?),
    };
    let cap = get(data, "max_downstream_keys")?;
    match Period::named(class) {
        Some(period) => {
            let mapper = TemporalMapper::new(period, zone, input_format, output_format, KeyCap::check(cap)?)?;
            Ok(match impossible {
                Some(seconds) => mapper.with_impossible_offset(seconds),
                None => mapper,
            })
        }
        None => Err(abstract_class(class, "normalize")),
    }
}

/// `parse_timezone(value)`: a name, or an offset in seconds.
pub(super) fn read_zone(value: &Json) -> PyResult<Zone> {
    match value {
        Json::String(name) => Zone::parse(name),
        Json::Number(number) if number.is_i64() => Zone::fixed(number.as_i64().unwrap_or_default()),
        Json::Bool(_) | Json::Number(_) => Err(PyErr::unsupported(format!("timezone {}", repr(value)))),
        other => Err(PyErr::attribute_error(format!("'{}' object has no attribute 'lower'", type_name(other)))),
    }
}

const WINDOW_MODULE: [(&str, &[&str]); 1] = [(
    "window",
    &["HourWindow", "DayWindow", "WeekWindow", "MonthWindow", "QuarterWindow", "YearWindow", "SegmentWindow", "Window"],
)];

fn decode_window(value: &Json) -> PyResult<Window> {
    let path = type_path(value)?;
    if !path.starts_with("airflow.partition_mappers.window.") {
        return Err(PyErr::new(
            "WindowNotSupported",
            format!(
                "Window class {} is not registered. Custom Window subclasses must be registered via the ``windows`` \
                 attribute on an AirflowPlugin.",
                repr_str(path)
            ),
        ));
    }
    let class = import(path, &WINDOW_MODULE, &[])?;
    let data = fields(value)?;
    if class == "SegmentWindow" {
        return Window::segments(item(data, "segments")?);
    }
    let direction = Direction::read(item(data, "direction")?)?;
    match Span::named(class) {
        Some(span) => Ok(Window::Span(span, direction)),
        None => Err(abstract_class(class, "to_upstream")),
    }
}

const POLICY_MODULE: [(&str, &[&str]); 1] = [("wait_policy", &["WaitForAll", "MinimumCount", "WaitPolicy"])];

fn decode_wait_policy(value: &Json) -> PyResult<WaitPolicy> {
    let path = type_path(value)?;
    if !path.starts_with("airflow.partition_mappers.wait_policy.") {
        return Err(PyErr::new(
            "WaitPolicyNotSupported",
            format!(
                "WaitPolicy class {} is not a built-in. Custom WaitPolicy subclasses are not supported; use one of the \
                 built-in policies under ``airflow.partition_mappers.wait_policy``.",
                repr_str(path)
            ),
        ));
    }
    let class = import(path, &POLICY_MODULE, &[])?;
    let data = fields(value)?;
    match class {
        "WaitForAll" => Ok(WaitPolicy::WaitForAll),
        "MinimumCount" => WaitPolicy::minimum_count(item(data, "n")?),
        _ => Err(PyErr::new("NotImplementedError", "")),
    }
}
