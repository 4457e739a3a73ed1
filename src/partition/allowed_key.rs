//! `AllowedKeyMapper`

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, PartitionMapper};
use crate::asset::pytext::{repr, str, type_name};
use crate::python::{PyErr, PyResult, repr_str};

/// Passes listed keys and refuses all others.
#[derive(Debug, Clone, PartialEq)]
pub struct AllowedKeyMapper {
    /// As given: Airflow does not check the type, and `in` works on a text or a mapping too.
    allowed_keys: Json,
    cap: Option<KeyCap>,
}

impl AllowedKeyMapper {
    /// The constructor.
    pub fn new(allowed_keys: Json, cap: Option<KeyCap>) -> Self {
        AllowedKeyMapper { allowed_keys, cap }
    }
}

impl PartitionMapper for AllowedKeyMapper {
    fn class_name(&self) -> &str {
        "AllowedKeyMapper"
    }

    fn label(&self) -> String {
        format!("AllowedKeyMapper({})", repr(&self.allowed_keys))
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let allowed = match &self.allowed_keys {
            Json::Array(keys) => keys.iter().any(|allowed| allowed.as_str() == Some(key)),
            Json::Object(keys) => keys.contains_key(key),
            Json::String(text) => text.contains(key),
            other => {
                let class = type_name(other);
                return Err(PyErr::type_error(format!("argument of type '{class}' is not iterable")));
            }
        };
        if allowed {
            return Ok(Downstream::One(key.to_owned()));
        }
        let (key, allowed) = (repr_str(key), str(&self.allowed_keys));
        Err(PyErr::value_error(format!("Key {key} not in allowed keys {allowed}")))
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("allowed_keys".into(), self.allowed_keys.clone());
        encoded("allowed_key.AllowedKeyMapper", fields, self.cap.as_ref())
    }
}
