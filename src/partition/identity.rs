//! `IdentityMapper`

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, PartitionMapper};
use crate::python::PyResult;

/// Leaves the key as it is. The only mapper that carries the producer's date.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IdentityMapper {
    cap: Option<KeyCap>,
}

impl IdentityMapper {
    /// The constructor.
    pub fn new(cap: Option<KeyCap>) -> Self {
        IdentityMapper { cap }
    }
}

impl PartitionMapper for IdentityMapper {
    fn class_name(&self) -> &str {
        "IdentityMapper"
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        Ok(Downstream::One(key.to_owned()))
    }

    fn carry_partition_date(&self, source: Option<DateTime<Utc>>) -> PyResult<Option<DateTime<Utc>>> {
        Ok(source)
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn encode(&self) -> Json {
        encoded("identity.IdentityMapper", Map::new(), self.cap.as_ref())
    }
}
