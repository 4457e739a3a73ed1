//! `KeysView`, `ValuesView` and `ItemsView` of `collections.abc`, over any mapping.

use crate::python::{self, CmpOp, Interp, PyIter, PyIterator, PyObject, PyResult, Value, object};

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    /// `.keys()`
    Keys,
    /// `.values()`
    Values,
    /// `.items()`
    Items,
}

impl ViewKind {
    /// The view that a method of a mapping gives.
    pub fn of_method(name: &str) -> Option<Self> {
        match name {
            "keys" => Some(ViewKind::Keys),
            "values" => Some(ViewKind::Values),
            "items" => Some(ViewKind::Items),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct MappingView {
    kind: ViewKind,
    mapping: Value,
}

/// A view of a mapping: it iterates the mapping and subscripts it anew for each item.
pub fn view(kind: ViewKind, mapping: Value) -> Value {
    object(MappingView { kind, mapping })
}

impl PyObject for MappingView {
    fn type_name(&self) -> &str {
        match self.kind {
            ViewKind::Keys => "KeysView",
            ViewKind::Values => "ValuesView",
            ViewKind::Items => "ItemsView",
        }
    }

    fn qualified_name(&self) -> String {
        format!("collections.abc.{}", self.type_name())
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("{}({})", self.type_name(), python::repr(&self.mapping, it)?))
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(python::len(&self.mapping, it))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        let keys = match python::iter(&self.mapping, it) {
            Ok(keys) => keys,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(match self.kind {
            ViewKind::Keys => keys,
            kind => Box::new(Subscripts { kind, keys, mapping: self.mapping.clone() }),
        }))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        match self.kind {
            ViewKind::Keys => Some(python::contains(&self.mapping, item, it)),
            ViewKind::Values | ViewKind::Items => None,
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let _ = (op, other);
        None
    }
}

struct Subscripts {
    kind: ViewKind,
    keys: PyIter,
    mapping: Value,
}

impl PyIterator for Subscripts {
    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let Some(key) = self.keys.next(it)? else { return Ok(None) };
        let value = python::getitem(&self.mapping, &key, it)?;
        Ok(Some(match self.kind {
            ViewKind::Items => python::tuple(vec![key, value]),
            _ => value,
        }))
    }
}
