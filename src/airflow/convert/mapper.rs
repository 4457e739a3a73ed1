//! Partition mappers in the short forms of a pipeline file.

use serde_json::{Map, Value as Json, json};

use crate::partition::{decode_partition_mapper, read_mapper};

/// A mapper as a pipeline file writes it, or what it is that exists only in Python.
pub(super) enum Written {
    /// The specification.
    Spec(Json),
    /// A stand-in that fails when it is asked, and the class it stands for.
    Custom(Json, String),
}

/// Writes a serialized mapper.
///
/// # Errors
/// What Airflow raises for it, when its class is not simply unknown.
pub(super) fn write(serialized: &Json) -> Result<Written, String> {
    let mapper = match decode_partition_mapper(serialized) {
        Ok(mapper) => mapper,
        Err(error)
            if matches!(&*error.class, "PartitionMapperNotFound" | "WindowNotSupported" | "WaitPolicyNotSupported") =>
        {
            let class = foreign(serialized, 0).unwrap_or("?").to_owned();
            return Ok(Written::Custom(stand_in(&class), class));
        }
        Err(error) => return Err(format!("{}: {}", error.class, error.message)),
    };
    let exact = mapper.encode();
    let spec = short(&exact, 0).filter(|spec| reads_as(spec, &exact));
    Ok(Written::Spec(spec.unwrap_or(exact)))
}

/// The first class that is not Airflow's own.
fn foreign(serialized: &Json, depth: usize) -> Option<&str> {
    if depth > 20 {
        return None;
    }
    match serialized {
        Json::Object(map) => match map.get("__type").and_then(Json::as_str) {
            Some(path) if !path.starts_with("airflow.partition_mappers.") => Some(path),
            _ => map.values().find_map(|value| foreign(value, depth + 1)),
        },
        Json::Array(items) => items.iter().find_map(|item| foreign(item, depth + 1)),
        _ => None,
    }
}

/// Fails with the class's name in the text, and shows where to write the real thing.
fn stand_in(class: &str) -> Json {
    let name: String =
        class.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect::<String>();
    json!({"ExpressionMapper": {"to_downstream": format!("{{{{ {name}(key) }}}}")}})
}

fn reads_as(spec: &Json, exact: &Json) -> bool {
    read_mapper(spec, None).is_ok_and(|mapper| mapper.encode() == *exact)
}

/// The class and its arguments, without those that are the constructor's own.
fn short(exact: &Json, depth: usize) -> Option<Json> {
    if depth > 20 {
        return None;
    }
    let class = exact.get("__type")?.as_str()?.rsplit('.').next()?.to_owned();
    let fields = exact.get("__var")?.as_object()?;
    let mut arguments = Map::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("upstream_mapper" | "downstream_mapper" | "window" | "wait_policy", value) => short(value, depth + 1)?,
            ("mappers", Json::Array(items)) => {
                items.iter().map(|item| short(item, depth + 1)).collect::<Option<Vec<_>>>()?.into()
            }
            (_, value) => value.clone(),
        };
        arguments.insert(name.clone(), value);
    }
    let whole = |arguments: &Map<String, Json>| json!({(class.clone()): arguments});
    let is_mapper = exact
        .get("__type")
        .and_then(Json::as_str)
        .is_some_and(|path| !path.contains(".window.") && !path.contains(".wait_policy."));
    if is_mapper {
        for name in arguments.keys().cloned().collect::<Vec<_>>() {
            let mut fewer = arguments.clone();
            fewer.shift_remove(&name);
            let spec = if fewer.is_empty() { Json::from(class.as_str()) } else { whole(&fewer) };
            if reads_as(&spec, exact) {
                arguments = fewer;
            }
        }
    } else if arguments.get("direction").and_then(Json::as_str) == Some("forward") {
        arguments.shift_remove("direction");
    }
    Some(match (arguments.len(), arguments.iter().next()) {
        (0, _) => class.into(),
        (1, Some((name, only)))
            if matches!(name.as_str(), "mappers" | "segments" | "allowed_keys" | "downstream_key" | "n") =>
        {
            json!({(class): only})
        }
        _ => whole(&arguments),
    })
}
