//! `FixedKeyMapper`

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, PartitionMapper};
use crate::asset::pytext::repr;
use crate::python::{PyErr, PyResult, repr_str};

/// Maps every key to one.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedKeyMapper {
    downstream_key: String,
    cap: Option<KeyCap>,
}

impl FixedKeyMapper {
    /// The constructor; the key must be a text that is not empty.
    pub fn new(downstream_key: &Json, cap: Option<&Json>) -> PyResult<Self> {
        match downstream_key {
            Json::String(key) if !key.is_empty() => {
                Ok(FixedKeyMapper { downstream_key: key.clone(), cap: KeyCap::check(cap)? })
            }
            other => Err(PyErr::value_error(format!(
                "FixedKeyMapper downstream_key must be a non-empty str; got {}.",
                repr(other)
            ))),
        }
    }
}

impl PartitionMapper for FixedKeyMapper {
    fn class_name(&self) -> &str {
        "FixedKeyMapper"
    }

    fn label(&self) -> String {
        format!("FixedKeyMapper({})", repr_str(&self.downstream_key))
    }

    fn to_downstream(&self, _key: &str) -> PyResult<Downstream> {
        Ok(Downstream::One(self.downstream_key.clone()))
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("downstream_key".into(), self.downstream_key.clone().into());
        encoded("fixed_key.FixedKeyMapper", fields, self.cap.as_ref())
    }
}
