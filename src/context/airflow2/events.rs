//! `triggering_dataset_events`, `inlet_events` and `outlet_events` (`airflow.utils.context` of Airflow 2.10).

use crate::asset::sanitize_dataset_uri;
use crate::python::{
    self, Args, CmpOp, Dict, Interp, List, PyErr, PyIter, PyObject, PyResult, Slice, Value, View, downcast, object,
    repr_str, text, view,
};

use super::super::accessor;
use super::super::views::ViewKind;
use super::Deprecations;
use super::record::{Class, Print, Record, unmodelled};
use super::rows::{ALIAS, DATASET};

/// `triggering_dataset_events`: a proxy of a `defaultdict(list)` of URIs; reading a URI that is not there files an empty list.
#[derive(Debug)]
pub(super) struct TriggeringEvents {
    events: Value,
}

impl TriggeringEvents {
    /// Files events by the URI of their dataset, in order.
    pub(super) fn build(events: &[(String, Value)]) -> PyResult {
        let mut filed: Vec<(Value, Vec<Value>)> = Vec::new();
        for (uri, event) in events {
            match filed.iter_mut().find(|(known, _)| text(known) == Some(uri)) {
                Some((_, list)) => list.push(event.clone()),
                None => filed.push((Value::from(uri.as_str()), vec![event.clone()])),
            }
        }
        let events = python::dict(filed.into_iter().map(|(uri, list)| (uri, python::list(list))))?;
        Ok(object(TriggeringEvents { events }))
    }
}

impl PyObject for TriggeringEvents {
    fn type_name(&self) -> &str {
        "defaultdict"
    }

    fn qualified_name(&self) -> String {
        "collections.defaultdict".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        // the proxy's own repr, around that of the dict
        Err(super::super::convert::address("Proxy"))
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("defaultdict(<class 'list'>, {})", python::repr(&self.events, it)?))
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(python::len(&self.events, it))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "copy" | "default_factory" => Some(Err(super::super::convert::not_built("defaultdict", name))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name != "copy" && python::has_method(&self.events, name)
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        python::call_method(&self.events, name, args, it)
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        let dict = downcast::<Dict>(&self.events)?;
        let find = || -> PyResult {
            if let Some(found) = dict.get(key)? {
                return Ok(found);
            }
            let empty = python::list(Vec::new());
            dict.insert(key, empty.clone())?;
            Ok(empty)
        };
        Some(find())
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(python::contains(&self.events, item, it))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(python::iter(&self.events, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<TriggeringEvents>(other).map_or(other, |other| &other.events);
        Some(python::compare(op, &self.events, other, it))
    }

    fn hash_key(&self) -> PyResult<python::HashKey> {
        Err(PyErr::type_error("unhashable type: 'collections.defaultdict'"))
    }
}

/// The key under which an accessor files a dataset, an alias or a text (`extract_event_key`).
fn event_key(key: &Value, it: &mut dyn Interp) -> PyResult<String> {
    match dataset_like(key) {
        Some((_, name)) => Ok(name),
        None => Ok(sanitize_dataset_uri(&python::str(key, it)?)?.uri),
    }
}

/// The class and the key of a `Dataset` or `DatasetAlias`.
fn dataset_like(value: &Value) -> Option<(&'static Class, String)> {
    let record = downcast::<Record>(value)?;
    let (class, field) = match () {
        () if record.is(&DATASET) => (&DATASET, "uri"),
        () if record.is(&ALIAS) => (&ALIAS, "name"),
        () => return None,
    };
    Some((class, text(record.value(field)?)?.to_owned()))
}

/// One event of the table for `inlet_events`.
#[derive(Debug, Clone)]
pub(super) struct StoredEvent {
    pub uri: Option<String>,
    pub aliases: Vec<String>,
    pub timestamp: crate::run::Instant,
    pub event: Value,
}

/// `inlet_events`
#[derive(Debug)]
pub(super) struct InletEvents {
    pub inlets: Value,
    pub events: Vec<StoredEvent>,
    pub deprecations: Deprecations,
}

impl InletEvents {
    pub(super) fn into_value(self) -> Value {
        object(Accessor(self))
    }

    fn items(&self) -> Vec<Value> {
        downcast::<List>(&self.inlets).map(List::snapshot).unwrap_or_default()
    }

    fn subscript(&self, key: &Value, it: &mut dyn Interp) -> PyResult {
        let index = match view(key) {
            View::Int(index) => Some(index),
            View::Bool(value) => Some(i64::from(value)),
            _ => None,
        };
        let items = self.items();
        let item = match index {
            Some(index) => {
                let item = python::getitem(&self.inlets, &Value::from(index), it)?;
                if dataset_like(&item).is_none() {
                    return Err(PyErr::new("IndexError", index.to_string()));
                }
                item
            }
            None => key.clone(),
        };
        let inlet = |class: &'static Class, name: &str| {
            let known = items.iter().filter_map(dataset_like);
            let found = known.into_iter().any(|(known, key)| std::ptr::eq(known, class) && key == name);
            if found { Ok(()) } else { Err(PyErr::new("KeyError", repr_str(name))) }
        };
        let mut found: Vec<&StoredEvent> = match dataset_like(&item) {
            Some((class, name)) if std::ptr::eq(class, &raw const ALIAS) => {
                inlet(&ALIAS, &name)?;
                self.events.iter().filter(|event| event.aliases.contains(&name)).collect()
            }
            Some((_, uri)) => {
                inlet(&DATASET, &uri)?;
                self.events.iter().filter(|event| event.uri.as_ref() == Some(&uri)).collect()
            }
            None if text(&item).is_some() => {
                self.deprecations.note(
                    "Accessing inlet_events using string is deprecated and will be removed in Airflow 3. \
                     Please use the Dataset object (renamed as Asset in Airflow 3) directly",
                );
                let uri = event_key(&item, it)?;
                inlet(&DATASET, &uri)?;
                self.events.iter().filter(|event| event.uri.as_ref() == Some(&uri)).collect()
            }
            None => {
                // raised with the key itself, an undefined one as well
                let message = match python::str(key, it) {
                    Err(error) if error.class == "UndefinedError" => error.message,
                    result => result?,
                };
                return Err(PyErr::value_error(message));
            }
        };
        found.sort_by_key(|event| event.timestamp);
        let ascending: Vec<Value> = found.iter().map(|event| event.event.clone()).collect();
        found.sort_by_key(|event| std::cmp::Reverse(event.timestamp));
        let descending = found.iter().map(|event| event.event.clone()).collect();
        Ok(object(Selected { ascending, descending }))
    }
}

impl Accessors for InletEvents {
    const CLASS: &'static str = "InletEventsAccessors";

    fn keys(&self) -> &Value {
        &self.inlets
    }

    fn subscript(&self, key: &Value, it: &mut dyn Interp) -> PyResult {
        InletEvents::subscript(self, key, it)
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        // it prints the session of the database
        Err(super::super::convert::address(Self::CLASS))
    }
}

/// `LazyDatasetEventSelectSequence`: the events of one inlet, sliced as its SQL does.
#[derive(Debug)]
struct Selected {
    ascending: Vec<Value>,
    descending: Vec<Value>,
}

/// `OFFSET offset LIMIT limit` of SQLite: a negative limit is none, a negative offset is zero.
fn rows(of: &[Value], offset: i64, limit: Option<i64>) -> Vec<Value> {
    let offset = usize::try_from(offset).unwrap_or(0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    of.iter().skip(offset).take(limit).cloned().collect()
}

impl Selected {
    fn slice(&self, slice: &Slice) -> PyResult {
        let index = |value: &Value| match view(value) {
            View::None => Ok(None),
            View::Int(index) => Ok(Some(index)),
            View::Bool(value) => Ok(Some(i64::from(value))),
            _ => Err(PyErr::type_error("slice indices must be integers or None or have an __index__ method")),
        };
        let reverse = match view(&slice.step) {
            View::None | View::Int(1) => false,
            View::Int(-1) => true,
            View::Bool(_) | View::Float(_) => return Err(PyErr::unsupported("such a step of a slice")),
            _ => return Err(PyErr::value_error("non-trivial slice step not supported")),
        };
        let (start, stop) = (index(&slice.start)?.unwrap_or(0), index(&slice.stop)?);
        let len = i64::try_from(self.ascending.len()).unwrap_or(i64::MAX);
        let between = |of: &[Value], start: i64, stop: i64| rows(of, start, Some(stop.saturating_sub(start)));
        let (mut found, turn) = if start >= 0 {
            let found = match stop {
                None => rows(&self.ascending, start, None),
                Some(stop) if stop >= 0 => between(&self.ascending, start, stop),
                Some(stop) => between(&self.ascending, start, len.saturating_add(stop)),
            };
            (found, reverse)
        } else {
            let back = start.saturating_neg();
            let found = match stop {
                None => rows(&self.descending, 0, Some(back)),
                Some(stop) if stop < 0 => between(&self.descending, stop.saturating_neg(), back),
                Some(stop) => between(&self.descending, len.saturating_sub(stop), back),
            };
            (found, !reverse)
        };
        if turn {
            found.reverse();
        }
        Ok(python::list(found))
    }
}

impl PyObject for Selected {
    fn type_name(&self) -> &str {
        "LazyDatasetEventSelectSequence"
    }

    fn qualified_name(&self) -> String {
        "airflow.utils.context.LazyDatasetEventSelectSequence".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        let len = self.ascending.len();
        Ok(format!("LazySelectSequence([{len} {}])", if len == 1 { "item" } else { "items" }))
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.ascending.len()))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        if self.ascending.is_empty() {
            // the query for existence finds no row, and its result is returned as it is
            return Err(PyErr::type_error("__bool__ should return bool, returned NoneType"));
        }
        Ok(true)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if self.has_method(name) { None } else { unmodelled("LazyDatasetEventSelectSequence", name) }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "index" | "count")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match python::call_method(&python::list(self.ascending.clone()), name, args, it) {
            // `Sequence.index` of Python says nothing more
            Err(error) if error.class == "ValueError" => Err(PyErr::value_error("")),
            result => result,
        }
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some(slice) = downcast::<Slice>(key) {
            return Some(self.slice(slice));
        }
        let index = match view(key) {
            View::Int(index) => index,
            View::Bool(value) => i64::from(value),
            _ => {
                return Some(Err(PyErr::type_error(format!(
                    "Sequence indices must be integers or slices, not {}",
                    python::class_name(key)
                ))));
            }
        };
        let (of, at) = if index >= 0 { (&self.ascending, index) } else { (&self.descending, -1 - index) };
        let found = usize::try_from(at).ok().and_then(|at| of.get(at)).cloned();
        Some(found.ok_or_else(|| PyErr::new("IndexError", index.to_string())))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(python::iter(&python::list(self.ascending.clone()), it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let own = python::list(self.ascending.clone());
        match downcast::<Selected>(other) {
            Some(other) => Some(python::compare(op, &own, &python::list(other.ascending.clone()), it)),
            None if downcast::<List>(other).is_some() => Some(python::compare(op, &own, other, it)),
            None => None,
        }
    }

    fn hash_key(&self) -> PyResult<python::HashKey> {
        Err(PyErr::type_error("unhashable type: 'LazyDatasetEventSelectSequence'"))
    }
}

static OUTLET_EVENT: Class =
    Class { name: "OutletEventAccessor", module: "airflow.utils.context", by_value: true, closed: true };

/// `outlet_events`: an accessor for each key that was read.
#[derive(Debug)]
pub(super) struct OutletEvents {
    made: Value,
    deprecations: Deprecations,
}

impl OutletEvents {
    pub(super) fn build(deprecations: &Deprecations) -> Value {
        let made = python::str_dict(Vec::<(&str, Value)>::new());
        object(Accessor(OutletEvents { made, deprecations: deprecations.clone() }))
    }

    fn subscript(&self, key: &Value, it: &mut dyn Interp) -> PyResult {
        if text(key).is_some() {
            self.deprecations.note(
                "Accessing outlet_events using string is deprecated and will be removed in Airflow 3. \
                 Please use the Dataset or DatasetAlias object (renamed as Asset and AssetAlias in Airflow 3) directly",
            );
        }
        let name = Value::from(event_key(key, it)?);
        let Some(made) = downcast::<Dict>(&self.made) else { return Err(PyErr::unsupported("`outlet_events`")) };
        if let Some(found) = made.get(&name)? {
            return Ok(found);
        }
        let values = vec![
            ("raw_key", key.clone()),
            ("extra", python::str_dict(Vec::<(&str, Value)>::new())),
            ("dataset_alias_events", python::list(Vec::new())),
        ];
        let print = Print::Fields(&["raw_key", "extra", "dataset_alias_events"]);
        let accessor = Record::build(&OUTLET_EVENT, print, values);
        made.insert(&name, accessor.clone())?;
        Ok(accessor)
    }
}

impl Accessors for OutletEvents {
    const CLASS: &'static str = "OutletEventAccessors";

    fn keys(&self) -> &Value {
        &self.made
    }

    fn subscript(&self, key: &Value, it: &mut dyn Interp) -> PyResult {
        OutletEvents::subscript(self, key, it)
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("{}(_dict={})", Self::CLASS, python::repr(&self.made, it)?))
    }
}

/// A class of `airflow.utils.context` that is a `Mapping`: what it is asked by key, and what it runs over.
trait Accessors: std::fmt::Debug + Send + Sync + 'static {
    const CLASS: &'static str;

    /// The container whose length and items are its own.
    fn keys(&self) -> &Value;

    fn subscript(&self, key: &Value, it: &mut dyn Interp) -> PyResult;

    fn str(&self, it: &mut dyn Interp) -> PyResult<String>;
}

/// Such a class as a Python object.
#[derive(Debug)]
struct Accessor<T>(T);

impl<T: Accessors> PyObject for Accessor<T> {
    fn type_name(&self) -> &str {
        T::CLASS
    }

    fn qualified_name(&self) -> String {
        format!("airflow.utils.context.{}", T::CLASS)
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(super::super::convert::address(T::CLASS))
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        self.0.str(it)
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(python::len(self.0.keys(), it))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if self.has_method(name) { None } else { unmodelled(T::CLASS, name) }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get" || ViewKind::of_method(name).is_some()
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        accessor::call_method(this, name, args, it)
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.0.subscript(key, it))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(accessor::contains(self.0.subscript(item, it)))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(python::iter(self.0.keys(), it))
    }

    fn hash_key(&self) -> PyResult<python::HashKey> {
        Err(PyErr::type_error(format!("unhashable type: '{}'", T::CLASS)))
    }
}
