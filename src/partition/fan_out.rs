//! `FanOutMapper`

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::serialized::encoded;
use super::{
    Decoded, Downstream, KeyCap, KeyStep, Mapper, Moment, PartitionMapper, Period, Span, TemporalMapper, Window,
};
use crate::python::{PyErr, PyResult};

/// Spreads one upstream key over the members of a window.
#[derive(Debug, Clone)]
pub struct FanOutMapper {
    upstream_mapper: Mapper,
    window: Window,
    downstream_mapper: Mapper,
    cap: Option<KeyCap>,
}

impl FanOutMapper {
    /// The constructor; without a `downstream_mapper` the window's usual one is taken, where it has one.
    pub fn new(
        upstream_mapper: Mapper,
        window: Window,
        downstream_mapper: Option<Mapper>,
        cap: Option<&Json>,
    ) -> PyResult<Self> {
        let cap = KeyCap::check(cap)?;
        let downstream_mapper = match downstream_mapper {
            Some(mapper) => mapper,
            None => Arc::new(TemporalMapper::of(usual_period(&window)?)?),
        };
        Ok(FanOutMapper { upstream_mapper, window, downstream_mapper, cap })
    }
}

fn usual_period(window: &Window) -> PyResult<Period> {
    match window {
        Window::Span(Span::Day, _) => Ok(Period::Hour),
        Window::Span(Span::Week | Span::Month, _) => Ok(Period::Day),
        Window::Span(Span::Quarter | Span::Year, _) => Ok(Period::Month),
        Window::Span(Span::Hour, _) | Window::Segment(_) => Err(PyErr::value_error(format!(
            "FanOutMapper has no default downstream_mapper for window type {}; pass downstream_mapper explicitly.",
            window.class_name()
        ))),
    }
}

/// The key a mapper gives a member of a window: by its `format`, else the ISO form, else the text itself.
fn format_with(mapper: &Mapper, member: &Decoded) -> PyResult<String> {
    match (mapper.format(member), member) {
        (Some(text), _) => text,
        (None, Decoded::Date(moment)) => Ok(moment.isoformat()),
        (None, Decoded::Key(key)) => Ok(key.clone()),
    }
}

impl PartitionMapper for FanOutMapper {
    fn class_name(&self) -> &str {
        "FanOutMapper"
    }

    fn label(&self) -> String {
        let (upstream, downstream) = (self.upstream_mapper.label(), self.downstream_mapper.label());
        format!("FanOutMapper({upstream}, {}, {downstream})", self.window.label())
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let Downstream::One(formatted) = self.upstream_mapper.to_downstream(key)? else {
            return Err(PyErr::type_error(
                "FanOutMapper.upstream_mapper must produce a single key from to_downstream; chained fan-out (mapper that \
                 itself returns multiple keys) is not supported.",
            ));
        };
        let start = self.upstream_mapper.decode_downstream(&formatted)?;
        let members = self.window.to_upstream(&start)?;
        let keys: PyResult<Vec<String>> =
            members.iter().map(|member| format_with(&self.downstream_mapper, member)).collect();
        keys.map(Downstream::Many)
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        self.downstream_mapper.to_partition_date(downstream_key)
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
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
        fields.insert("downstream_mapper".into(), self.downstream_mapper.encode());
        encoded("temporal.FanOutMapper", fields, self.cap.as_ref())
    }
}
