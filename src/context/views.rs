//! `KeysView`, `ValuesView` and `ItemsView` of `collections.abc`, over any mapping.

use crate::python::{
    self, BinOp, CmpOp, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, downcast, object,
};

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

    fn binary(&self, op: BinOp, other: &Value, _reflected: bool, _it: &mut dyn Interp) -> Option<PyResult> {
        let sets = self.kind != ViewKind::Values && op == BinOp::Sub && downcast::<MappingView>(other).is_some();
        sets.then(|| Err(PyErr::unsupported("the difference of views of a mapping")))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        match self.kind {
            ViewKind::Keys => Some(python::contains(&self.mapping, item, it)),
            ViewKind::Values | ViewKind::Items => None,
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if self.kind == ViewKind::Values {
            return None;
        }
        // keys and items are sets
        let other = downcast::<MappingView>(other).filter(|other| other.kind != ViewKind::Values)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return Some(Err(PyErr::unsupported("comparing views of a mapping by order")));
        }
        if self.kind != other.kind || self.kind == ViewKind::Items {
            return Some(Err(PyErr::unsupported("comparing views of items")));
        }
        let mut equal = || -> PyResult<bool> {
            if python::len(&self.mapping, it)? != python::len(&other.mapping, it)? {
                return Ok(false);
            }
            for key in python::to_vec(&self.mapping, it)? {
                if !python::contains(&other.mapping, &key, it)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
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
