//! When a rollup may fire.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::asset::pytext::{is_integer, repr};
use crate::python::{PyErr, PyResult};

/// Airflow's wait policies.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum WaitPolicy {
    /// `WaitForAll`: every expected key
    #[default]
    WaitForAll,
    /// `MinimumCount(n)`: n keys, or with a negative n all but that many; kept as given
    MinimumCount(Json),
}

/// What a policy says of the keys received (Airflow's `PartitionSatisfaction`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Satisfaction {
    /// The run may fire.
    pub satisfied: bool,
    /// It never can, and why, in Airflow's words.
    pub unreachable: Option<String>,
}

impl WaitPolicy {
    /// `MinimumCount(n)`; zero is refused.
    pub fn minimum_count(n: &Json) -> PyResult<Self> {
        match n {
            Json::Number(number) if number.as_f64() != Some(0.0) => Ok(WaitPolicy::MinimumCount(n.clone())),
            Json::Bool(true) => Ok(WaitPolicy::MinimumCount(n.clone())),
            Json::Number(_) | Json::Bool(false) => Err(PyErr::value_error(
                "MinimumCount(0) is degenerate: n=0 would always fire, even on empty windows. Use WaitForAll() to require \
                 every key, or MinimumCount(n) with n != 0.",
            )),
            other => Err(PyErr::unsupported(format!("MinimumCount({})", repr(other)))),
        }
    }

    /// `repr(self)`
    pub fn repr(&self) -> String {
        match self {
            WaitPolicy::WaitForAll => "WaitForAll()".to_owned(),
            WaitPolicy::MinimumCount(n) => format!("MinimumCount(n={})", repr(n)),
        }
    }

    /// How many of `expected` keys must have arrived.
    pub fn needed(&self, expected: usize) -> f64 {
        let expected = expected as f64;
        match self {
            WaitPolicy::WaitForAll => expected,
            WaitPolicy::MinimumCount(n) => {
                let n = count(n);
                if n > 0.0 { n } else { (expected + n).max(0.0) }
            }
        }
    }

    /// `is_satisfied_by_keys`: keys outside of the window do not count.
    pub fn is_satisfied_by_keys(&self, received: &BTreeSet<String>, expected: &BTreeSet<String>) -> Satisfaction {
        let cardinality = expected.len();
        let matched = expected.intersection(received).count();
        let satisfied = matched as f64 >= self.needed(cardinality);
        let unreachable = match self {
            WaitPolicy::MinimumCount(n) if count(n) > cardinality as f64 => Some(format!(
                "wait policy {} can never be satisfied given the window's cardinality {cardinality}",
                self.repr()
            )),
            _ => None,
        };
        Satisfaction { satisfied, unreachable }
    }

    /// The serialized form.
    pub fn encode(&self) -> Json {
        match self {
            WaitPolicy::WaitForAll => {
                json!({"__type": "airflow.partition_mappers.wait_policy.WaitForAll", "__var": {}})
            }
            WaitPolicy::MinimumCount(n) => {
                json!({"__type": "airflow.partition_mappers.wait_policy.MinimumCount", "__var": {"n": n}})
            }
        }
    }
}

/// Window sizes are far below 2^53, so a count compares exactly as a float.
fn count(n: &Json) -> f64 {
    match n {
        Json::Number(number) if is_integer(number) => number.as_f64().unwrap_or(f64::MAX),
        Json::Number(number) => number.as_f64().unwrap_or_default(),
        _ => 1.0,
    }
}
