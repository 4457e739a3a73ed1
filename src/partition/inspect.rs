//! One mapper operation from a JSON request: what `inspect mapper --jsonl` answers.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDateTime};
use serde_json::{Value as Json, json};

use super::{Decoded, DecodedType, Downstream, Moment, Offset, PartitionMapper, RollupMapper, decode_partition_mapper};
use crate::asset::pytext::repr;
use crate::python::{PyErr, PyResult};

/// Performs an operation of the corpus `mappers.jsonl` on a serialized mapper and returns the `ok` value.
pub fn operate(mapper: &Json, op: &str, input: &Json) -> PyResult<Json> {
    let mapper = decode_partition_mapper(mapper)?;
    perform(mapper.as_ref(), op, input)
}

/// Performs an operation on a mapper.
pub fn perform(mapper: &dyn PartitionMapper, op: &str, input: &Json) -> PyResult<Json> {
    match op {
        "construct" => Ok(mapper.encode()),
        "to_downstream" => Ok(match mapper.to_downstream(key(input)?)? {
            Downstream::One(key) => key.into(),
            Downstream::Many(keys) => keys.into(),
        }),
        "to_upstream" => Ok(json!(rollup(mapper)?.to_upstream(key(input)?)?)),
        "to_partition_date" => Ok(date(mapper.to_partition_date(key(input)?)?.as_ref())),
        "decode_downstream" => Ok(match mapper.decode_downstream(key(input)?)? {
            Decoded::Key(key) => key.into(),
            Decoded::Date(moment) => moment.isoformat().into(),
        }),
        "encode_upstream" => {
            let decoded = match mapper.decodes_to() {
                DecodedType::Str => Decoded::Key(key(input)?.to_owned()),
                DecodedType::Datetime | DecodedType::Any => Decoded::Date(moment(key(input)?)?),
            };
            mapper.encode_upstream(&decoded).map(Json::from)
        }
        "carry_partition_date" => {
            let source = match input {
                Json::Null => None,
                other => Some(moment(key(other)?)?.instant()),
            };
            Ok(mapper.carry_partition_date(source)?.map_or(Json::Null, |date| Moment::utc(date).isoformat().into()))
        }
        "is_satisfied" => is_satisfied(rollup(mapper)?, input),
        other => Err(PyErr::unsupported(format!("mapper operation {}", repr(&other.into())))),
    }
}

fn key(input: &Json) -> PyResult<&str> {
    input.as_str().ok_or_else(|| PyErr::unsupported(format!("an input that is {}", repr(input))))
}

/// An ISO date-time, with or without an offset.
fn moment(text: &str) -> PyResult<Moment> {
    if let Ok(aware) = DateTime::parse_from_rfc3339(text) {
        let micros = i64::from(aware.offset().local_minus_utc()) * 1_000_000;
        return Ok(Moment { naive: aware.naive_local(), offset: Some(Offset::Fixed(micros, None)), fold: false });
    }
    text.parse::<NaiveDateTime>()
        .map(Moment::naive)
        .map_err(|_| PyErr::value_error(format!("Invalid isoformat string: {}", repr(&text.into()))))
}

fn date(moment: Option<&Moment>) -> Json {
    moment.map_or(Json::Null, |moment| moment.isoformat().into())
}

fn rollup(mapper: &dyn PartitionMapper) -> PyResult<&RollupMapper> {
    mapper.as_rollup().ok_or_else(|| {
        PyErr::attribute_error(format!("'{}' object has no attribute 'to_upstream'", mapper.class_name()))
    })
}

fn is_satisfied(rollup: &RollupMapper, input: &Json) -> PyResult<Json> {
    let downstream = key(input.get("downstream_key").unwrap_or(&Json::Null))?;
    let received: BTreeSet<String> = input
        .get("received")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(|key| key.as_str().map(str::to_owned))
        .collect();
    let state = rollup.wait_policy().is_satisfied_by_keys(&received, &rollup.to_upstream(downstream)?);
    Ok(json!({
        "satisfied": state.satisfied,
        "unreachable": state.unreachable.is_some(),
        "unreachable_reason": state.unreachable,
    }))
}
