//! The public face of mappers.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

use super::{Moment, RollupMapper};
use crate::asset::pytext;
use crate::python::{PyErr, PyResult};

/// A mapper, shared.
pub type Mapper = Arc<dyn PartitionMapper>;

/// What `to_downstream` returns: one key, or several in order with repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Downstream {
    /// A string
    One(String),
    /// An iterable of strings
    Many(Vec<String>),
}

impl Downstream {
    /// The keys, however many.
    pub fn into_keys(self) -> Vec<String> {
        match self {
            Downstream::One(key) => vec![key],
            Downstream::Many(keys) => keys,
        }
    }
}

/// A key in its decoded form: what windows count in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// The key itself
    Key(String),
    /// The start of a period
    Date(Moment),
}

/// `expected_decoded_type`: what a mapper decodes to, or a window wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedType {
    /// `str`
    Str,
    /// `datetime`
    Datetime,
    /// Known only when a key is decoded: a mapper made of expressions
    Any,
}

impl DecodedType {
    /// The name of the Python type.
    pub fn name(self) -> &'static str {
        match self {
            DecodedType::Str => "str",
            DecodedType::Datetime => "datetime",
            DecodedType::Any => "object",
        }
    }

    /// Whether a mapper of this type and a window of that one fit.
    pub fn fits(self, window: DecodedType) -> bool {
        self == DecodedType::Any || self == window
    }
}

/// `max_downstream_keys`: how many keys one event may map to; duplicates count.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyCap {
    /// The value as given: Python counts `True` as an int.
    given: Json,
    /// The limit.
    pub limit: usize,
}

impl KeyCap {
    /// Checks the argument of a constructor; `None` (null) means Airflow's global limit.
    pub fn check(given: Option<&Json>) -> PyResult<Option<Self>> {
        let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(None) };
        let limit = match given {
            Json::Bool(true) => Some(1),
            Json::Number(number) if pytext::is_integer(number) && !number.to_string().starts_with('-') => {
                number.to_string().parse::<usize>().map_or(Some(usize::MAX), |limit| (limit > 0).then_some(limit))
            }
            _ => None,
        };
        match limit {
            Some(limit) => Ok(Some(KeyCap { given: given.clone(), limit })),
            None => Err(PyErr::value_error(format!(
                "max_downstream_keys must be a positive integer or None, got {}",
                pytext::repr(given)
            ))),
        }
    }

    /// A cap of that many keys.
    pub fn of(limit: usize) -> Self {
        KeyCap { given: limit.into(), limit }
    }

    /// As Python prints it.
    pub fn text(&self) -> String {
        pytext::repr(&self.given)
    }

    /// As it was given.
    pub fn json(&self) -> &Json {
        &self.given
    }
}

/// What one mapper made of one key on the way from an event's key to a run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStep {
    /// Nesting: 0 for the consumer's mapper, 1 for its parts.
    pub depth: usize,
    /// The mapper, as [`PartitionMapper::label`] names it.
    pub mapper: String,
    /// The key it was given.
    pub key: String,
    /// The keys it made, or why it could not.
    pub result: Result<Vec<String>, PyErr>,
}

impl Serialize for KeyStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("depth", &self.depth)?;
        map.serialize_entry("mapper", &self.mapper)?;
        map.serialize_entry("key", &self.key)?;
        match &self.result {
            Ok(keys) => map.serialize_entry("keys", keys)?,
            Err(error) => map.serialize_entry("error", &json!({"kind": error.class, "message": error.message}))?,
        }
        map.end()
    }
}

/// Maps keys of asset events to keys of consumer runs (Airflow's `PartitionMapper`).
///
/// Implement it for a mapper of your own; `decode_downstream` and `encode_upstream` belong together: override both or
/// neither.
pub trait PartitionMapper: fmt::Debug + Send + Sync {
    /// `type(self).__name__`
    fn class_name(&self) -> &str;

    /// A short text for people: the class and its main arguments.
    fn label(&self) -> String {
        self.class_name().to_owned()
    }

    /// The downstream keys an upstream key maps to.
    fn to_downstream(&self, key: &str) -> PyResult<Downstream>;

    /// The decoded form of a downstream key; the key itself unless overridden.
    fn decode_downstream(&self, downstream_key: &str) -> PyResult<Decoded> {
        Ok(Decoded::Key(downstream_key.to_owned()))
    }

    /// The upstream key of a decoded form; a key stands for itself unless overridden.
    fn encode_upstream(&self, decoded: &Decoded) -> PyResult<String> {
        match decoded {
            Decoded::Key(key) => Ok(key.clone()),
            Decoded::Date(_) => Err(PyErr::unsupported(format!("{}.encode_upstream of a datetime", self.class_name()))),
        }
    }

    /// The partition date a downstream key stands for; `None` when the key carries none.
    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        let _ = downstream_key;
        Ok(None)
    }

    /// The producer's date, if this mapper carries it to the consumer.
    fn carry_partition_date(&self, source: Option<DateTime<Utc>>) -> PyResult<Option<DateTime<Utc>>> {
        let _ = source;
        Ok(None)
    }

    /// The cap on downstream keys; only the outermost mapper's counts.
    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        None
    }

    /// What `decode_downstream` returns.
    fn decodes_to(&self) -> DecodedType {
        DecodedType::Str
    }

    /// `self.format(decoded)` for mappers that have a method of that name (the temporal ones).
    fn format(&self, decoded: &Decoded) -> Option<PyResult<String>> {
        let _ = decoded;
        None
    }

    /// The rollup, if it is one.
    fn as_rollup(&self) -> Option<&RollupMapper> {
        None
    }

    /// Each step from an upstream key to downstream keys, for explanations. The first is the mapper's own result.
    fn steps(&self, key: &str, depth: usize) -> Vec<KeyStep> {
        vec![KeyStep {
            depth,
            mapper: self.label(),
            key: key.to_owned(),
            result: self.to_downstream(key).map(Downstream::into_keys),
        }]
    }

    /// The serialized form inside a serialized Dag; it also tells whether two definitions are the same.
    fn encode(&self) -> Json;
}
