//! `inlet_events` (`airflow.sdk.execution_time.context.InletEventsAccessors` and `InletEventsAccessor`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::asset::{Asset, AssetAlias, AssetRef};
use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, View, downcast, object,
    repr_str, view,
};
use crate::run::{Instant, Json, Validator};

use super::Shared;
use super::accessor;
use super::asset::{AssetLike, EventKey, asset_like, asset_value, item_value, ref_repr};
use super::convert;
use super::dag_run;
use super::dates;
use super::surroundings::{AssetItem, StoredEvent};

/// The accessors of all inlets.
#[derive(Debug)]
pub(super) struct InletEvents {
    shared: Shared,
    inlets: Value,
    items: Vec<Value>,
    assets: Vec<(EventKey, Asset)>,
    aliases: Vec<(EventKey, AssetAlias)>,
}

impl InletEvents {
    /// Reads the task's inlets; one that is a reference is resolved at once, and may fail.
    pub(super) fn build(shared: &Shared, inlets: &Value) -> PyResult {
        let mut assets: Vec<(EventKey, Asset)> = Vec::new();
        let mut aliases: Vec<(EventKey, AssetAlias)> = Vec::new();
        let mut items = Vec::new();
        for inlet in &shared.around.task.inlets {
            items.push(item_value(inlet)?);
            let asset = match inlet {
                AssetItem::Asset(asset) => asset.clone(),
                AssetItem::Ref(reference) => shared.find(reference)?,
                AssetItem::Alias(alias) => {
                    let key = EventKey::Alias(alias.name.clone());
                    aliases.retain(|(known, _)| *known != key);
                    aliases.push((key, alias.clone()));
                    continue;
                }
                AssetItem::Object(_) => continue,
            };
            let key = EventKey::of(&asset);
            match assets.iter_mut().find(|(known, _)| *known == key) {
                Some((_, slot)) => *slot = asset,
                None => assets.push((key, asset)),
            }
        }
        let inlets = inlets.clone();
        Ok(object(InletEvents { shared: shared.clone(), inlets, items, assets, aliases }))
    }

    fn accessor(&self, query: Query) -> Value {
        object(InletEventsAccessor { shared: self.shared.clone(), state: Mutex::new(State { query, events: None }) })
    }

    fn subscript(&self, key: &Value) -> PyResult {
        let index = match view(key) {
            View::Int(index) => Some(index),
            View::Bool(value) => Some(i64::from(value)),
            _ => None,
        };
        let item = match index {
            Some(index) => {
                let len = i64::try_from(self.items.len()).unwrap_or(i64::MAX);
                let at = if index < 0 { index.saturating_add(len) } else { index };
                let Some(item) = usize::try_from(at).ok().and_then(|at| self.items.get(at)) else {
                    return Err(PyErr::new("IndexError", "list index out of range"));
                };
                if asset_like(item).is_none() {
                    return Err(PyErr::new("IndexError", index.to_string()));
                }
                item
            }
            None => key,
        };
        let key_error = |text: String| PyErr::new("KeyError", text);
        match asset_like(item) {
            Some(AssetLike::Asset(asset)) => {
                let wanted = EventKey::of(asset);
                match self.assets.iter().find(|(known, _)| *known == wanted) {
                    Some((_, asset)) => Ok(self.accessor(Query {
                        name: Some(asset.name.clone()),
                        uri: Some(asset.uri.clone()),
                        ..Query::default()
                    })),
                    None => Err(key_error(wanted.repr())),
                }
            }
            Some(AssetLike::Alias(alias)) => {
                let wanted = EventKey::Alias(alias.name.clone());
                match self.aliases.iter().find(|(known, _)| *known == wanted) {
                    Some((_, alias)) => {
                        Ok(self.accessor(Query { alias: Some(alias.name.clone()), ..Query::default() }))
                    }
                    None => Err(key_error(wanted.repr())),
                }
            }
            Some(AssetLike::Ref(reference)) => {
                let found = self.assets.iter().map(|(_, asset)| asset).find(|asset| match reference {
                    AssetRef::Name(name) => asset.name == *name,
                    AssetRef::Uri(uri) => asset.uri == *uri,
                });
                match (found, reference) {
                    (Some(asset), AssetRef::Name(_)) => {
                        Ok(self.accessor(Query { name: Some(asset.name.clone()), ..Query::default() }))
                    }
                    (Some(asset), AssetRef::Uri(_)) => {
                        Ok(self.accessor(Query { uri: Some(asset.uri.clone()), ..Query::default() }))
                    }
                    (None, _) => Err(key_error(ref_repr(reference))),
                }
            }
            None => Err(PyErr::type_error(format!("`key` is of unknown type ({})", python::type_name(key)))),
        }
    }
}

impl PyObject for InletEvents {
    fn type_name(&self) -> &str {
        "InletEventsAccessors"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.InletEventsAccessors".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let mut assets = Vec::with_capacity(self.assets.len());
        for (key, asset) in &self.assets {
            assets.push(format!("{}: {}", key.repr(), python::repr(&asset_value(asset.clone())?, it)?));
        }
        let mut aliases = Vec::with_capacity(self.aliases.len());
        for (key, alias) in &self.aliases {
            aliases.push(format!("{}: {}", key.repr(), python::repr(&super::asset::alias_value(alias.clone()), it)?));
        }
        Ok(format!(
            "InletEventsAccessors(_inlets={}, _assets={{{}}}, _asset_aliases={{{}}})",
            python::repr(&self.inlets, it)?,
            assets.join(", "),
            aliases.join(", ")
        ))
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.items.len()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "_inlets" => Some(Ok(self.inlets.clone())),
            "_is_protocol" => Some(Ok(Value::from(false))),
            "_assets" | "_asset_aliases" | "_abc_impl" => Some(Err(convert::not_built(self.type_name(), name))),
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
        Some(python::iter(&self.inlets, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<InletEvents>(other)?;
        match op {
            CmpOp::Eq | CmpOp::Ne => Some(python::compare(op, &self.inlets, &other.inlets, it)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'InletEventsAccessors'"))
    }
}

/// What is asked of the event table.
#[derive(Debug, Clone)]
struct Query {
    name: Option<String>,
    uri: Option<String>,
    alias: Option<String>,
    after: Value,
    before: Value,
    ascending: Value,
    limit: Value,
}

impl Default for Query {
    fn default() -> Self {
        Query {
            name: None,
            uri: None,
            alias: None,
            after: python::none(),
            before: python::none(),
            ascending: Value::from(true),
            limit: python::none(),
        }
    }
}

#[derive(Debug)]
struct State {
    query: Query,
    events: Option<Value>,
}

/// The events of one inlet: a sequence that asks when it is first read; its methods change it in place.
#[derive(Debug)]
struct InletEventsAccessor {
    shared: Shared,
    state: Mutex<State>,
}

impl InletEventsAccessor {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list of events.
    fn events(&self) -> PyResult {
        let mut state = self.state();
        if let Some(events) = &state.events {
            return Ok(events.clone());
        }
        let found = state.query.run(&self.shared)?;
        let events = found.into_iter().map(|event| dag_run::stored(event, &self.shared)).collect::<PyResult<_>>()?;
        let events = python::list(events);
        state.events = Some(events.clone());
        Ok(events)
    }
}

impl Query {
    fn run<'s>(&self, shared: &'s Shared) -> PyResult<Vec<&'s StoredEvent>> {
        let title = if self.alias.is_some() { "GetAssetEventByAssetAlias" } else { "GetAssetEventByAsset" };
        let mut v = Validator::new(title);
        let after = instant(&mut v, "after", &self.after)?;
        let before = instant(&mut v, "before", &self.before)?;
        let ascending = match view(&self.ascending) {
            View::Bool(value) => value,
            View::Int(0) => false,
            View::Int(1) => true,
            _ => return Err(PyErr::unsupported("`ascending` with something else than True and False")),
        };
        let limit = match view(&self.limit) {
            View::None => None,
            View::Int(limit) => Some(i128::from(limit)),
            View::Str(text) => v.at("limit", |v| v.opt_int(&Json::from(text))),
            View::Bool(value) => Some(i128::from(value)),
            _ => return Err(PyErr::unsupported("`limit` with something else than an int")),
        };
        if let Some(error) = v.finish()? {
            return Err(error);
        }
        let Some(table) = &shared.around.asset_events else {
            return Err(PyErr::unsupported("the asset events of the metadata database are not known")
                .with_hint("the events that triggered this run are in `triggering_asset_events`"));
        };
        let mut found: Vec<&StoredEvent> = table
            .iter()
            .filter(|event| self.name.as_ref().is_none_or(|name| event.asset.name == *name))
            .filter(|event| self.uri.as_ref().is_none_or(|uri| event.asset.uri == *uri))
            .filter(|event| self.alias.as_ref().is_none_or(|alias| event.source_aliases.contains(alias)))
            .filter(|event| after.is_none_or(|after| event.timestamp >= after))
            .filter(|event| before.is_none_or(|before| event.timestamp <= before))
            .collect();
        found.sort_by_key(|event| (event.timestamp, event.id));
        if !ascending {
            found.reverse();
        }
        if let Some(limit) = limit.filter(|limit| *limit != 0) {
            let limit = usize::try_from(limit).map_err(|_| PyErr::unsupported("a negative `limit`"))?;
            found.truncate(limit);
        }
        Ok(found)
    }
}

/// `after` or `before`, validated as an aware datetime.
fn instant(v: &mut Validator, field: &str, value: &Value) -> PyResult<Option<Instant>> {
    if let Some(date) = dates::instant_of(value) {
        return match date {
            Some(instant) => Ok(Some(instant)),
            None => Err(PyErr::unsupported(format!("`{field}` with a datetime without a zone"))),
        };
    }
    match view(value) {
        View::None => Ok(None),
        View::Int(seconds) => Ok(v.at(field, |v| v.opt_instant(&Json::from(seconds)))),
        View::Float(seconds) => Ok(v.at(field, |v| v.opt_instant(&Json::from(seconds)))),
        _ => match python::text(value) {
            Some(text) => Ok(v.at(field, |v| v.opt_instant(&Json::from(text)))),
            None => Err(PyErr::unsupported(format!("`{field}` with a {}", python::type_name(value)))),
        },
    }
}

impl PyObject for InletEventsAccessor {
    fn type_name(&self) -> &str {
        "InletEventsAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.InletEventsAccessor".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let query = self.state().query.clone();
        let text = |text: &Option<String>| text.as_deref().map_or_else(|| "None".to_owned(), repr_str);
        Ok(format!(
            "InletEventsAccessor(_after={}, _before={}, _ascending={}, _limit={}, _asset_name={}, _asset_uri={}, \
             _alias_name={})",
            python::repr(&query.after, it)?,
            python::repr(&query.before, it)?,
            python::repr(&query.ascending, it)?,
            python::repr(&query.limit, it)?,
            text(&query.name),
            text(&query.uri),
            text(&query.alias)
        ))
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(self.events().and_then(|events| python::len(&events, it)))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let query = self.state().query.clone();
        Some(match name {
            "_after" => Ok(query.after),
            "_before" => Ok(query.before),
            "_ascending" => Ok(query.ascending),
            "_limit" => Ok(query.limit),
            "_asset_name" => Ok(convert::opt_str(query.name.as_deref())),
            "_asset_uri" => Ok(convert::opt_str(query.uri.as_deref())),
            "_alias_name" => Ok(convert::opt_str(query.alias.as_deref())),
            "_asset_events" => self.events(),
            "_reset_cache" | "_abc_impl" | "_is_protocol" => Err(convert::not_built(self.type_name(), name)),
            _ => return None,
        })
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "after" | "before" | "ascending" | "limit" | "index" | "count")
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let qualified = format!("InletEventsAccessor.{name}");
        match name {
            "index" | "count" => python::call_method(&self.events()?, name, args, it),
            _ => {
                let params = [name];
                let required = usize::from(name != "ascending");
                let bound = Sig::new(&qualified, &params).required(required).method().bind(args)?;
                let value = bound.first().copied().flatten().cloned().unwrap_or_else(|| Value::from(true));
                let mut state = self.state();
                match name {
                    "after" => state.query.after = value,
                    "before" => state.query.before = value,
                    "limit" => state.query.limit = value,
                    _ => state.query.ascending = value,
                }
                state.events = None;
                drop(state);
                Ok(this.clone())
            }
        }
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.events().and_then(|events| python::getitem(&events, key, it)))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(self.events().and_then(|events| python::iter(&events, it)))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<InletEventsAccessor>(other)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        // one after the other: both may be the same object
        let a = self.state().query.clone();
        let b = other.state().query.clone();
        let mut equal = || -> PyResult<bool> {
            Ok(a.name == b.name
                && a.uri == b.uri
                && a.alias == b.alias
                && python::compare(CmpOp::Eq, &a.after, &b.after, it)?
                && python::compare(CmpOp::Eq, &a.before, &b.before, it)?
                && python::compare(CmpOp::Eq, &a.ascending, &b.ascending, it)?
                && python::compare(CmpOp::Eq, &a.limit, &b.limit, it)?)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'InletEventsAccessor'"))
    }
}
