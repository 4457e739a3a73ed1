//! `RollupMapper`

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{Downstream, KeyCap, KeyStep, Mapper, Moment, PartitionMapper, WaitPolicy, Window};
use crate::python::{PyErr, PyResult};

/// Gathers many upstream keys under one downstream key, and waits for them.
#[derive(Debug, Clone)]
pub struct RollupMapper {
    upstream_mapper: Mapper,
    window: Window,
    wait_policy: WaitPolicy,
    cap: Option<KeyCap>,
}

impl RollupMapper {
    /// The constructor; window and mapper must agree on what a decoded key is.
    pub fn new(upstream_mapper: Mapper, window: Window, wait_policy: WaitPolicy, cap: Option<&Json>) -> PyResult<Self> {
        let (decoded, expected) = (upstream_mapper.decodes_to(), window.expects());
        if !decoded.fits(expected) {
            return Err(PyErr::type_error(format!(
                "{} expects decoded values of type '{}', but {} decodes to '{}'. Pair a window and an upstream mapper whose \
                 'expected_decoded_type' match.",
                window.class_name(),
                expected.name(),
                upstream_mapper.class_name(),
                decoded.name()
            )));
        }
        Ok(RollupMapper { upstream_mapper, window, wait_policy, cap: KeyCap::check(cap)? })
    }

    /// Every upstream key that a downstream key waits for: a set, whatever the window counts twice.
    pub fn to_upstream(&self, downstream_key: &str) -> PyResult<BTreeSet<String>> {
        let decoded = self.upstream_mapper.decode_downstream(downstream_key)?;
        self.window.to_upstream(&decoded)?.iter().map(|member| self.upstream_mapper.encode_upstream(member)).collect()
    }

    /// When the run may fire.
    pub fn wait_policy(&self) -> &WaitPolicy {
        &self.wait_policy
    }

    /// The window that lists what belongs together.
    pub fn window(&self) -> &Window {
        &self.window
    }
}

impl PartitionMapper for RollupMapper {
    fn class_name(&self) -> &str {
        "RollupMapper"
    }

    fn label(&self) -> String {
        format!("RollupMapper({}, {}, {})", self.upstream_mapper.label(), self.window.label(), self.wait_policy.repr())
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        self.upstream_mapper.to_downstream(key)
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        self.upstream_mapper.to_partition_date(downstream_key)
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn as_rollup(&self) -> Option<&RollupMapper> {
        Some(self)
    }

    fn steps(&self, key: &str, depth: usize) -> Vec<KeyStep> {
        let result = self.to_downstream(key).map(Downstream::into_keys);
        let mut steps = vec![KeyStep { depth, mapper: self.label(), key: key.to_owned(), result }];
        steps.extend(self.upstream_mapper.steps(key, depth + 1));
        steps
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("upstream_mapper".into(), self.upstream_mapper.encode());
        fields.insert("window".into(), self.window.encode());
        fields.insert("wait_policy".into(), self.wait_policy.encode());
        encoded("base.RollupMapper", fields, self.cap.as_ref())
    }
}
