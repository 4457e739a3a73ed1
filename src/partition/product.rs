//! `ProductMapper`

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, KeyStep, Mapper, Moment, PartitionMapper};
use crate::python::{PyErr, PyResult};

/// Splits a key into segments and maps each by its own mapper.
#[derive(Debug, Clone)]
pub struct ProductMapper {
    mappers: Vec<Mapper>,
    delimiter: String,
    cap: Option<KeyCap>,
}

impl ProductMapper {
    /// The constructor; at least two mappers, which the callers check with Python's own words.
    pub(super) fn new(mappers: Vec<Mapper>, delimiter: String, cap: Option<KeyCap>) -> Self {
        ProductMapper { mappers, delimiter, cap }
    }

    fn segments<'a>(&self, key: &'a str) -> PyResult<Vec<&'a str>> {
        if self.delimiter.is_empty() {
            return Err(PyErr::value_error("empty separator"));
        }
        Ok(key.split(self.delimiter.as_str()).collect())
    }
}

impl PartitionMapper for ProductMapper {
    fn class_name(&self) -> &str {
        "ProductMapper"
    }

    fn label(&self) -> String {
        let mappers: Vec<String> = self.mappers.iter().map(|mapper| mapper.label()).collect();
        format!("ProductMapper({})", mappers.join(", "))
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let segments = self.segments(key)?;
        if segments.len() != self.mappers.len() {
            return Err(PyErr::value_error(format!(
                "Expected {} segments in key, got {}",
                self.mappers.len(),
                segments.len()
            )));
        }
        let mut results = Vec::with_capacity(segments.len());
        for (mapper, segment) in self.mappers.iter().zip(segments) {
            match mapper.to_downstream(segment)? {
                Downstream::One(key) => results.push(key),
                Downstream::Many(_) => {
                    return Err(PyErr::type_error(format!(
                        "ProductMapper child mappers must return a single key, but {} returned multiple keys",
                        mapper.class_name()
                    )));
                }
            }
        }
        Ok(Downstream::One(results.join(&self.delimiter)))
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        let segments = self.segments(downstream_key)?;
        if segments.len() != self.mappers.len() {
            return Ok(None);
        }
        let mut dates = Vec::new();
        for (mapper, segment) in self.mappers.iter().zip(segments) {
            dates.extend(mapper.to_partition_date(segment)?);
        }
        // Two dates in one key leave open which of them is the partition's.
        Ok(if dates.len() == 1 { dates.pop() } else { None })
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn steps(&self, key: &str, depth: usize) -> Vec<KeyStep> {
        let result = self.to_downstream(key).map(Downstream::into_keys);
        let mut steps = vec![KeyStep { depth, mapper: self.label(), key: key.to_owned(), result }];
        let segments = self.segments(key).unwrap_or_default();
        if segments.len() == self.mappers.len() {
            for (mapper, segment) in self.mappers.iter().zip(segments) {
                steps.extend(mapper.steps(segment, depth + 1));
            }
        }
        steps
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("delimiter".into(), self.delimiter.clone().into());
        fields.insert("mappers".into(), self.mappers.iter().map(|mapper| mapper.encode()).collect());
        encoded("product.ProductMapper", fields, self.cap.as_ref())
    }
}
