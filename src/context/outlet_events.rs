//! `outlet_events` (`airflow.sdk.execution_time.context.OutletEventAccessors`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, downcast, object, repr_str,
};

use super::Shared;
use super::accessor;
use super::asset::{AssetLike, AssetObject, EventKey, asset_like, not_asset_like};
use super::convert;

/// Longest partition key, in characters: the width of the database column.
const PARTITION_KEY_MAX_LENGTH: usize = 250;

/// What the task would attach to the events of its outlets, by asset or alias; made when first asked for.
#[derive(Debug)]
pub(super) struct OutletEvents {
    shared: Shared,
    accessors: Mutex<Vec<(EventKey, Value)>>,
}

impl OutletEvents {
    pub(super) fn build(shared: &Shared) -> Value {
        object(OutletEvents { shared: shared.clone(), accessors: Mutex::new(Vec::new()) })
    }

    fn accessors(&self) -> MutexGuard<'_, Vec<(EventKey, Value)>> {
        self.accessors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscript(&self, key: &Value) -> PyResult {
        let key = match asset_like(key) {
            Some(AssetLike::Asset(asset)) => EventKey::of(asset),
            Some(AssetLike::Alias(alias)) => EventKey::Alias(alias.name.clone()),
            Some(AssetLike::Ref(reference)) => self.shared.resolve(reference)?.0,
            None => return Err(not_asset_like(key)),
        };
        let mut accessors = self.accessors();
        if let Some((_, found)) = accessors.iter().find(|(known, _)| *known == key) {
            return Ok(found.clone());
        }
        let accessor = object(OutletEvent {
            shared: self.shared.clone(),
            key: key.clone(),
            extra: python::str_dict(Vec::<(&str, Value)>::new()),
            alias_events: python::list(Vec::new()),
            partition_keys: python::set(Vec::new())?,
        });
        accessors.push((key, accessor.clone()));
        Ok(accessor)
    }
}

impl PyObject for OutletEvents {
    fn type_name(&self) -> &str {
        "OutletEventAccessors"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.OutletEventAccessors".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(convert::address(self.type_name()))
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        let accessors = self.accessors().clone();
        let mut parts = Vec::with_capacity(accessors.len());
        for (key, accessor) in accessors {
            parts.push(format!("{}: {}", key.repr(), python::repr(&accessor, it)?));
        }
        Ok(format!("OutletEventAccessors(_dict={{{}}})", parts.join(", ")))
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.accessors().len()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "_dict" | "_abc_impl" | "_asset_ref_cache" | "_get_asset_from_db" | "_resolve_asset_ref" => {
                Some(Err(convert::not_built(self.type_name(), name)))
            }
            "_is_protocol" => Some(Ok(Value::from(false))),
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

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        let keys: PyResult<Vec<Value>> = self.accessors().iter().map(|(key, _)| key.to_value()).collect();
        Some(keys.and_then(|keys| python::iter(&python::list(keys), it)))
    }
}

/// One of them (`OutletEventAccessor`).
#[derive(Debug)]
struct OutletEvent {
    shared: Shared,
    key: EventKey,
    extra: Value,
    alias_events: Value,
    partition_keys: Value,
}

impl OutletEvent {
    fn add_partitions(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("OutletEventAccessor.add_partitions", &["keys"]).method().bind(args)?;
        if matches!(self.key, EventKey::Alias(_)) {
            return Err(PyErr::type_error(
                "add_partitions() is not supported on asset alias outlet events; \
                 partition keys can only be attached to a concrete asset.",
            ));
        }
        let Some(keys) = bound.first().copied().flatten() else { return Ok(python::none()) };
        let keys = if python::text(keys).is_some() { vec![keys.clone()] } else { python::to_vec(keys, it)? };
        for key in &keys {
            let Some(text) = python::text(key) else {
                return Err(PyErr::unsupported("a partition key that is not text"));
            };
            if text.trim().is_empty() {
                return Err(PyErr::value_error(format!(
                    "partition_key must not be empty or whitespace-only; got {}.",
                    repr_str(text)
                )));
            }
            let length = text.chars().count();
            if length > PARTITION_KEY_MAX_LENGTH {
                return Err(PyErr::value_error(format!(
                    "partition_key must be at most {PARTITION_KEY_MAX_LENGTH} characters; got {length}."
                )));
            }
        }
        python::call_method(&self.partition_keys, "update", &Args::positional(&[python::list(keys)]), it)
    }

    fn add(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("OutletEventAccessor.add", &["asset", "extra"]).required(1).method().bind(args)?;
        let EventKey::Alias(alias) = &self.key else { return Ok(python::none()) };
        let asset = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
        let (key, asset_extra) = match asset_like(&asset) {
            Some(AssetLike::Asset(found)) => {
                let extra = match downcast::<AssetObject>(&asset) {
                    Some(_) => python::getattr(&asset, "extra", it)?.unwrap_or_else(python::none),
                    None => convert::json(&found.extra)?,
                };
                (EventKey::of(found), extra)
            }
            Some(AssetLike::Ref(reference)) => {
                let (key, extra) = self.shared.resolve(reference)?;
                (key, convert::json(&extra)?)
            }
            _ => return Err(PyErr::unsupported("`add` with something that is not an asset")),
        };
        let extra = match bound.get(1).copied().flatten() {
            Some(extra) if python::truth(extra, it)? => extra.clone(),
            _ => python::str_dict(Vec::<(&str, Value)>::new()),
        };
        let event = object(AliasEvent { alias: alias.clone(), key, asset_extra, extra });
        python::call_method(&self.alias_events, "append", &Args::positional(&[event]), it)
    }
}

impl PyObject for OutletEvent {
    fn type_name(&self) -> &str {
        "OutletEventAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.OutletEventAccessor".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!(
            "OutletEventAccessor(key={}, extra={}, asset_alias_events={}, partition_keys={}, \
             _PARTITION_KEY_MAX_LENGTH={PARTITION_KEY_MAX_LENGTH})",
            self.key.repr(),
            python::repr(&self.extra, it)?,
            python::repr(&self.alias_events, it)?,
            python::repr(&self.partition_keys, it)?
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "key" => Some(Ok(object(KeyObject(self.key.clone())))),
            "extra" => Some(Ok(self.extra.clone())),
            "asset_alias_events" => Some(Ok(self.alias_events.clone())),
            "partition_keys" => Some(Ok(self.partition_keys.clone())),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "add" | "add_partitions")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if name == "add" { self.add(args, it) } else { self.add_partitions(args, it) }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'OutletEventAccessor'"))
    }
}

/// `AssetAliasEvent(...)`
#[derive(Debug)]
struct AliasEvent {
    alias: String,
    key: EventKey,
    asset_extra: Value,
    extra: Value,
}

impl PyObject for AliasEvent {
    fn type_name(&self) -> &str {
        "AssetAliasEvent"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.definitions.asset.AssetAliasEvent".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!(
            "AssetAliasEvent(source_alias_name={}, dest_asset_key={}, dest_asset_extra={}, extra={})",
            repr_str(&self.alias),
            self.key.repr(),
            python::repr(&self.asset_extra, it)?,
            python::repr(&self.extra, it)?
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "source_alias_name" => Some(Ok(Value::from(self.alias.as_str()))),
            "dest_asset_key" => Some(Ok(object(KeyObject(self.key.clone())))),
            "dest_asset_extra" => Some(Ok(self.asset_extra.clone())),
            "extra" => Some(Ok(self.extra.clone())),
            _ => None,
        }
    }
}

/// `AssetUniqueKey(...)` or `AssetAliasUniqueKey(...)`
#[derive(Debug)]
pub(super) struct KeyObject(pub(super) EventKey);

impl PyObject for KeyObject {
    fn type_name(&self) -> &str {
        match self.0 {
            EventKey::Asset { .. } => "AssetUniqueKey",
            EventKey::Alias(_) => "AssetAliasUniqueKey",
        }
    }

    fn qualified_name(&self) -> String {
        format!("airflow.sdk.definitions.asset.{}", self.type_name())
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.0.repr())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match (&self.0, name) {
            (EventKey::Asset { name: text, .. } | EventKey::Alias(text), "name") => {
                Some(Ok(Value::from(text.as_str())))
            }
            (EventKey::Asset { uri, .. }, "uri") => Some(Ok(Value::from(uri.as_str()))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!((&self.0, name), (EventKey::Asset { .. }, "to_asset") | (EventKey::Alias(_), "to_asset_alias"))
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Sig::new(name, &[]).method().bind(args)?;
        self.0.to_value()
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<KeyObject>(other)?;
        match op {
            CmpOp::Eq => Some(Ok(self.0 == other.0)),
            CmpOp::Ne => Some(Ok(self.0 != other.0)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Str(self.0.repr().into())).map(|part| HashKey::Parts("AssetUniqueKey", vec![part]))
    }
}
