//! `triggering_asset_events` (`airflow.sdk.execution_time.context.TriggeringAssetEventsAccessor`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, downcast, object,
};

use super::Shared;
use super::accessor;
use super::asset::{AssetLike, EventKey, asset_like, not_asset_like};
use super::dag_run;

/// Events by asset and alias, in a `defaultdict(list)`: reading a key that is not there files an empty list under it.
#[derive(Debug)]
pub(super) struct TriggeringEvents {
    shared: Shared,
    events: Mutex<Vec<(EventKey, Value)>>,
}

impl TriggeringEvents {
    /// Files the consumed events, in the payload's order.
    pub(super) fn build(shared: &Shared) -> PyResult {
        let mut filed: Vec<(EventKey, Vec<Value>)> = Vec::new();
        let mut file = |key: EventKey, event: &Value| match filed.iter_mut().find(|(known, _)| *known == key) {
            Some((_, events)) => events.push(event.clone()),
            None => filed.push((key, vec![event.clone()])),
        };
        for event in &shared.run.dag_run.consumed_asset_events {
            let value = dag_run::triggering(event, shared)?;
            file(EventKey::Asset { name: event.asset.name.clone(), uri: event.asset.uri.clone() }, &value);
            for alias in &event.source_aliases {
                file(EventKey::Alias(alias.clone()), &value);
            }
        }
        let events = filed.into_iter().map(|(key, events)| (key, python::list(events))).collect();
        Ok(object(TriggeringEvents { shared: shared.clone(), events: Mutex::new(events) }))
    }

    fn events(&self) -> MutexGuard<'_, Vec<(EventKey, Value)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, key: EventKey) -> Value {
        let mut events = self.events();
        if let Some((_, found)) = events.iter().find(|(known, _)| *known == key) {
            return found.clone();
        }
        let empty = python::list(Vec::new());
        events.push((key, empty.clone()));
        empty
    }

    fn subscript(&self, key: &Value) -> PyResult {
        let key = match asset_like(key) {
            Some(AssetLike::Asset(asset)) => EventKey::of(asset),
            Some(AssetLike::Ref(reference)) => self.shared.resolve(reference)?.0,
            Some(AssetLike::Alias(alias)) => EventKey::Alias(alias.name.clone()),
            None => return Err(not_asset_like(key)),
        };
        Ok(self.file(key))
    }

    fn print(&self, class: &str, it: &mut dyn Interp) -> PyResult<String> {
        let events = self.events().clone();
        let mut parts = Vec::with_capacity(events.len());
        for (key, list) in events {
            parts.push(format!("{}: {}", key.repr(), python::repr(&list, it)?));
        }
        Ok(format!("{class}(_events=defaultdict(<class 'list'>, {{{}}}))", parts.join(", ")))
    }
}

impl PyObject for TriggeringEvents {
    fn type_name(&self) -> &str {
        "TriggeringAssetEventsAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.TriggeringAssetEventsAccessor".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        self.print("TriggeringAssetEventsAccessor", it)
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        // the class prints itself without the s
        self.print("TriggeringAssetEventAccessor", it)
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.events().len()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "_is_protocol" => Some(Ok(Value::from(false))),
            "_events" | "_abc_impl" | "_asset_ref_cache" | "_get_asset_from_db" | "_resolve_asset_ref" | "build" => {
                Some(Err(super::convert::not_built(self.type_name(), name)))
            }
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        accessor::has_method(name)
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        accessor::call_method(this, name, args, it)
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.subscript(key))
    }

    fn contains(&self, item: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(accessor::contains(self.subscript(item)))
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(Box::new(Keys { accessor: this.clone(), at: 0, len: self.events().len() })))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<TriggeringEvents>(other)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        // one after the other: both may be the same object
        let a = self.events().clone();
        let b = other.events().clone();
        let mut equal = || -> PyResult<bool> {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, list) in &a {
                let Some((_, other)) = b.iter().find(|(known, _)| known == key) else { return Ok(false) };
                if !python::compare(CmpOp::Eq, list, other, it)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'TriggeringAssetEventsAccessor'"))
    }
}

/// Iterates the keys of the dict underneath, and notices when it grew meanwhile.
struct Keys {
    accessor: Value,
    at: usize,
    len: usize,
}

impl PyIterator for Keys {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let Some(accessor) = downcast::<TriggeringEvents>(&self.accessor) else { return Ok(None) };
        let key = {
            let events = accessor.events();
            if self.at > self.len {
                return Ok(None);
            }
            if events.len() != self.len {
                return Err(PyErr::new("RuntimeError", "dictionary changed size during iteration"));
            }
            match events.get(self.at) {
                Some((key, _)) => key.clone(),
                None => {
                    self.at = self.len + 1;
                    return Ok(None);
                }
            }
        };
        self.at += 1;
        key.to_value().map(Some)
    }
}
