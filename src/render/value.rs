//! Arguments of operators before they are rendered.

use serde_json::{Number, Value as Json};

use crate::python::{self, PyErr, PyResult, Value};

/// An argument of an operator as its author wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// `None`
    Null,
    /// `True` or `False`
    Bool(bool),
    /// An int or a float
    Number(Number),
    /// A string: a template, or the name of a file that holds one
    Str(String),
    /// A list
    List(Vec<FieldValue>),
    /// A tuple (from serialized Dags; files have lists)
    Tuple(Vec<FieldValue>),
    /// A set (from serialized Dags)
    Set(Vec<FieldValue>),
    /// A dict in the order written; keys are never rendered
    Dict(Vec<(FieldValue, FieldValue)>),
    /// An object with `template_fields` of its own: its class and these attributes
    Object(String, Vec<(String, FieldValue)>),
}

impl FieldValue {
    /// `bool(value)`: Airflow skips fields that are false.
    pub fn truth(&self) -> bool {
        match self {
            FieldValue::Null => false,
            FieldValue::Bool(value) => *value,
            FieldValue::Number(number) => number.as_f64() != Some(0.0),
            FieldValue::Str(text) => !text.is_empty(),
            FieldValue::List(items) | FieldValue::Tuple(items) | FieldValue::Set(items) => !items.is_empty(),
            FieldValue::Dict(entries) => !entries.is_empty(),
            FieldValue::Object(..) => true,
        }
    }

    /// Whether any string in it, keys left out, is such.
    pub fn any_string(&self, such: &dyn Fn(&str) -> bool) -> bool {
        match self {
            FieldValue::Null | FieldValue::Bool(_) | FieldValue::Number(_) => false,
            FieldValue::Str(text) => such(text),
            FieldValue::List(items) | FieldValue::Tuple(items) | FieldValue::Set(items) => {
                items.iter().any(|item| item.any_string(such))
            }
            FieldValue::Dict(entries) => entries.iter().any(|(_, value)| value.any_string(such)),
            FieldValue::Object(_, attributes) => attributes.iter().any(|(_, value)| value.any_string(such)),
        }
    }

    /// The value unrendered, as Python has it.
    pub fn to_python(&self) -> PyResult {
        self.map_strings(&mut |_, text| Ok(Value::from(text)), &mut Vec::new())
    }

    /// Builds the Python value, every string made by `string`, which gets the path to it (keys and indexes).
    pub fn map_strings<E: From<PyErr>>(
        &self,
        string: &mut dyn FnMut(&[String], &str) -> Result<Value, E>,
        path: &mut Vec<String>,
    ) -> Result<Value, E> {
        let mut items = |items: &[FieldValue], path: &mut Vec<String>| -> Result<Vec<Value>, E> {
            let mut made = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                made.push(item.map_strings(string, path)?);
                path.pop();
            }
            Ok(made)
        };
        Ok(match self {
            FieldValue::Null => python::none(),
            FieldValue::Bool(value) => Value::from(*value),
            FieldValue::Number(number) => python::json::from_json(&Json::Number(number.clone()))?,
            FieldValue::Str(text) => string(path, text)?,
            FieldValue::List(list) => python::list(items(list, path)?),
            FieldValue::Tuple(tuple) => python::tuple(items(tuple, path)?),
            FieldValue::Set(set) => python::set(items(set, path)?)?,
            FieldValue::Dict(entries) => {
                let mut made = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    path.push(key.key_text());
                    made.push((key.to_python()?, value.map_strings(string, path)?));
                    path.pop();
                }
                python::dict(made)?
            }
            FieldValue::Object(_, attributes) => {
                let mut made = Vec::with_capacity(attributes.len());
                for (name, value) in attributes {
                    path.push(name.clone());
                    made.push((Value::from(name.as_str()), value.map_strings(string, path)?));
                    path.pop();
                }
                python::dict(made)?
            }
        })
    }

    /// The value as JSON; tuples and sets become lists, keys their text.
    pub fn to_json(&self) -> Json {
        match self {
            FieldValue::Null => Json::Null,
            FieldValue::Bool(value) => Json::Bool(*value),
            FieldValue::Number(number) => Json::Number(number.clone()),
            FieldValue::Str(text) => Json::from(text.as_str()),
            FieldValue::List(items) | FieldValue::Tuple(items) | FieldValue::Set(items) => {
                items.iter().map(FieldValue::to_json).collect()
            }
            FieldValue::Dict(entries) => {
                Json::Object(entries.iter().map(|(key, value)| (key.key_text(), value.to_json())).collect())
            }
            FieldValue::Object(_, attributes) => {
                Json::Object(attributes.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
            }
        }
    }

    /// A key of a dict as it appears in paths.
    pub fn key_text(&self) -> String {
        match self {
            FieldValue::Str(text) => text.clone(),
            FieldValue::Null => "None".to_owned(),
            FieldValue::Bool(true) => "True".to_owned(),
            FieldValue::Bool(false) => "False".to_owned(),
            FieldValue::Number(number) => number.to_string(),
            other => format!("{other:?}"),
        }
    }
}

impl From<&Json> for FieldValue {
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => FieldValue::Null,
            Json::Bool(value) => FieldValue::Bool(*value),
            Json::Number(number) => FieldValue::Number(number.clone()),
            Json::String(text) => FieldValue::Str(text.clone()),
            Json::Array(items) => FieldValue::List(items.iter().map(FieldValue::from).collect()),
            Json::Object(map) => FieldValue::Dict(
                map.iter().map(|(key, value)| (FieldValue::Str(key.clone()), FieldValue::from(value))).collect(),
            ),
        }
    }
}
