//! `ChainMapper`

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, KeyStep, Mapper, Moment, PartitionMapper};
use crate::python::PyResult;

/// Applies mappers one after the other; each key of a step goes through the next.
#[derive(Debug, Clone)]
pub struct ChainMapper {
    mappers: Vec<Mapper>,
    cap: Option<KeyCap>,
}

impl ChainMapper {
    /// The constructor; at least two mappers, which the callers check with Python's own words.
    pub(super) fn new(mappers: Vec<Mapper>, cap: Option<KeyCap>) -> Self {
        ChainMapper { mappers, cap }
    }
}

impl PartitionMapper for ChainMapper {
    fn class_name(&self) -> &str {
        "ChainMapper"
    }

    fn label(&self) -> String {
        let mappers: Vec<String> = self.mappers.iter().map(|mapper| mapper.label()).collect();
        format!("ChainMapper({})", mappers.join(", "))
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let mut keys = vec![key.to_owned()];
        for mapper in &self.mappers {
            let mut next = Vec::with_capacity(keys.len());
            for key in &keys {
                next.extend(mapper.to_downstream(key)?.into_keys());
            }
            keys = next;
        }
        Ok(match <[String; 1]>::try_from(keys) {
            Ok([key]) => Downstream::One(key),
            Err(keys) => Downstream::Many(keys),
        })
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        // The last mapper wrote the key.
        self.mappers.last().map_or(Ok(None), |mapper| mapper.to_partition_date(downstream_key))
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn steps(&self, key: &str, depth: usize) -> Vec<KeyStep> {
        let result = self.to_downstream(key).map(Downstream::into_keys);
        let mut steps = vec![KeyStep { depth, mapper: self.label(), key: key.to_owned(), result }];
        let mut keys = vec![key.to_owned()];
        for mapper in &self.mappers {
            let mut next = Vec::new();
            for key in &keys {
                let made = mapper.steps(key, depth + 1);
                let own = made.first().map(|step| step.result.clone());
                steps.extend(made);
                match own {
                    Some(Ok(keys)) => next.extend(keys),
                    _ => return steps,
                }
            }
            keys = next;
        }
        steps
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("mappers".into(), self.mappers.iter().map(|mapper| mapper.encode()).collect());
        encoded("chain.ChainMapper", fields, self.cap.as_ref())
    }
}
