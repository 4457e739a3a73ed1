//! Values in the encoding of `BaseSerialization`: `{"__type": ..., "__var": ...}` around what JSON has no form for.

use serde_json::Value as Json;

use crate::render::FieldValue;

/// Deepest nesting read.
const DEPTH: usize = 60;

/// A value that a pipeline file cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::airflow) enum Undecodable {
    /// `XComArg`: the task whose XCom it is
    XCom(String),
    /// `NOTSET`
    NotSet,
    /// Any other: what it is
    Other(String),
}

impl Undecodable {
    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match self {
            Undecodable::XCom(task_id) => format!("the XCom of task `{task_id}`, known only when that has run"),
            Undecodable::NotSet => "a value that is not set".to_owned(),
            Undecodable::Other(what) => what.clone(),
        }
    }
}

/// Decodes a value (`BaseSerialization.deserialize`).
///
/// # Errors
/// What has no form in a pipeline file.
pub(in crate::airflow) fn decode(value: &Json) -> Result<FieldValue, Undecodable> {
    at(value, 0)
}

fn at(value: &Json, depth: usize) -> Result<FieldValue, Undecodable> {
    if depth > DEPTH {
        return Err(Undecodable::Other(format!("nested deeper than {DEPTH}")));
    }
    let items = |value: &Json| -> Result<Vec<FieldValue>, Undecodable> {
        match value {
            Json::Array(items) => items.iter().map(|item| at(item, depth + 1)).collect(),
            _ => Err(Undecodable::Other("a collection that is no list".to_owned())),
        }
    };
    let map = match value {
        Json::Null => return Ok(FieldValue::Null),
        Json::Bool(value) => return Ok(FieldValue::Bool(*value)),
        Json::Number(number) => return Ok(FieldValue::Number(number.clone())),
        Json::String(text) => return Ok(FieldValue::Str(text.clone())),
        Json::Array(_) => return items(value).map(FieldValue::List),
        Json::Object(map) => map,
    };
    let (Some(Json::String(kind)), Some(var)) = (map.get("__type"), map.get("__var")) else {
        return Err(Undecodable::Other("a mapping without `__type`".to_owned()));
    };
    match kind.as_str() {
        "dict" => {
            let Json::Object(entries) = var else { return Err(Undecodable::Other("a dict that is none".to_owned())) };
            entries
                .iter()
                .map(|(key, value)| Ok((FieldValue::Str(key.clone()), at(value, depth + 1)?)))
                .collect::<Result<_, _>>()
                .map(FieldValue::Dict)
        }
        "tuple" => items(var).map(FieldValue::Tuple),
        "set" => items(var).map(FieldValue::Set),
        "xcomref" => Err(Undecodable::XCom(xcom_task(var, 0))),
        "arg_not_set" => Err(Undecodable::NotSet),
        "MappedArgument" => Err(Undecodable::Other("an argument of a mapped task group".to_owned())),
        other => Err(Undecodable::Other(format!("a {other}"))),
    }
}

/// The task behind an XComArg, through `map`, `zip`, `concat` and `filter`.
fn xcom_task(var: &Json, depth: usize) -> String {
    if let Some(task_id) = var.get("task_id").and_then(Json::as_str) {
        return task_id.to_owned();
    }
    let inner = var.get("arg").or_else(|| var.get("args").and_then(|args| args.get(0)));
    match inner {
        Some(inner) if depth < DEPTH => xcom_task(inner, depth + 1),
        _ => "?".to_owned(),
    }
}
