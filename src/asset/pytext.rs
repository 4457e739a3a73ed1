//! JSON values as Python prints them: for error texts about values read from files.

use serde_json::Value as Json;

use crate::python::{PyErr, repr_float, repr_str};

/// `type(x).__name__` of the Python value that JSON stands for.
pub fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "NoneType",
        Json::Bool(_) => "bool",
        Json::Number(n) if is_integer(n) => "int",
        Json::Number(_) => "float",
        Json::String(_) => "str",
        Json::Array(_) => "list",
        Json::Object(_) => "dict",
    }
}

/// True for a number that Python's `json` reads as `int`: written without fraction and exponent.
pub fn is_integer(number: &serde_json::Number) -> bool {
    !number.to_string().contains(['.', 'e', 'E'])
}

/// `repr(x)`
pub fn repr(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Number(n) if is_integer(n) => n.to_string(),
        Json::Number(n) => n.as_f64().map_or_else(|| n.to_string(), repr_float),
        Json::String(text) => repr_str(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(repr).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(map) => {
            let items: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", repr_str(key), repr(value))).collect();
            format!("{{{}}}", items.join(", "))
        }
    }
}

/// `str(x)`
pub fn str(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => repr(other),
    }
}

/// `bool(x)`
pub fn truth(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(b) => *b,
        Json::Number(n) => n.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}

/// `mapping[key]` of a mapping read from JSON, with Python's errors.
pub fn item<'a>(value: &'a Json, key: &str) -> Result<&'a Json, PyErr> {
    match value {
        Json::Object(map) => map.get(key).ok_or_else(|| key_error(key)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {
            Err(PyErr::type_error(format!("'{}' object is not subscriptable", type_name(value))))
        }
        Json::Array(_) => Err(PyErr::type_error("list indices must be integers or slices, not str")),
        Json::String(_) => Err(PyErr::type_error("string indices must be integers, not 'str'")),
    }
}

/// `KeyError` of a missing string key.
pub fn key_error(key: &str) -> PyErr {
    PyErr::new("KeyError", repr_str(key))
}
