//! `dict_keys`, `dict_values`, `dict_items`, and iterating over a dict.

use super::guard::{ReprGuard, address};
use super::{
    Args, BinOp, CmpOp, Dict, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Set, Value, cargs,
    downcast, identical_or_equal, iter, object, seq, tuple,
};

/// What a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Keys,
    Values,
    Items,
}

/// A view of a dict: it follows the dict's changes.
#[derive(Debug)]
pub struct DictView {
    dict: Value,
    kind: Kind,
}

pub(crate) fn view_of(dict: &Value, kind: Kind) -> Value {
    object(DictView { dict: dict.clone(), kind })
}

pub(crate) fn iterate(dict: &Value, kind: Kind) -> PyIter {
    let size = downcast::<Dict>(dict).map_or(0, Dict::size);
    Box::new(DictIter { dict: dict.clone(), kind, at: 0, size })
}

struct DictIter {
    dict: Value,
    kind: Kind,
    at: usize,
    size: usize,
}

impl PyIterator for DictIter {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let Some(dict) = downcast::<Dict>(&self.dict) else { return Ok(None) };
        if dict.size() != self.size {
            self.at = usize::MAX - 1;
            return Err(PyErr::new("RuntimeError", "dictionary changed size during iteration"));
        }
        let entry = dict.at(self.at);
        self.at += 1;
        Ok(entry.map(|entry| pick(self.kind, entry)))
    }
}

fn pick(kind: Kind, (key, value): (Value, Value)) -> Value {
    match kind {
        Kind::Keys => key,
        Kind::Values => value,
        Kind::Items => tuple(vec![key, value]),
    }
}

impl DictView {
    fn dict(&self) -> Option<&Dict> {
        downcast::<Dict>(&self.dict)
    }

    /// The items of the view as they are now.
    pub fn snapshot(&self) -> Vec<Value> {
        let items = self.dict().map(Dict::items).unwrap_or_default();
        items.into_iter().map(|entry| pick(self.kind, entry)).collect()
    }

    fn size(&self) -> usize {
        self.dict().map_or(0, Dict::size)
    }

    fn has(&self, item: &Value, it: &mut dyn Interp) -> PyResult<bool> {
        let Some(dict) = self.dict() else { return Ok(false) };
        match self.kind {
            Kind::Keys => Ok(dict.get(item)?.is_some()),
            Kind::Values => seq::contains(&dict.values(), item, it),
            Kind::Items => {
                let Some(pair) = downcast::<super::Tuple>(item) else { return Ok(false) };
                let [key, value] = pair.items() else { return Ok(false) };
                match dict.get(key)? {
                    Some(found) => identical_or_equal(&found, value, it),
                    None => Ok(false),
                }
            }
        }
    }
}

impl PyObject for DictView {
    fn type_name(&self) -> &str {
        match self.kind {
            Kind::Keys => "dict_keys",
            Kind::Values => "dict_values",
            Kind::Items => "dict_items",
        }
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let Some(_guard) = ReprGuard::enter(address(self))? else { return Ok("...".to_owned()) };
        let mut out = format!("{}([", self.type_name());
        seq::repr_items(&self.snapshot(), &mut out, it)?;
        out.push_str("])");
        Ok(out)
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.size()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        (name == "mapping").then(|| Err(PyErr::unsupported("the attribute 'mapping' of a view of a dict")))
    }

    fn iter(&self, _this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(iterate(&self.dict, self.kind)))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(self.has(item, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if self.kind == Kind::Values {
            return None;
        }
        let theirs = set_like(other)?;
        Some((|| {
            let (mine, its) = (self.size(), theirs.len());
            let subset = |it: &mut dyn Interp| -> PyResult<bool> {
                for item in self.snapshot() {
                    if !super::contains(other, &item, it)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            let superset = |it: &mut dyn Interp| -> PyResult<bool> {
                for item in &theirs {
                    if !self.has(item, it)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            match op {
                CmpOp::Eq => Ok(mine == its && subset(it)?),
                CmpOp::Ne => Ok(!(mine == its && subset(it)?)),
                CmpOp::Lt => Ok(mine < its && subset(it)?),
                CmpOp::Le => Ok(mine <= its && subset(it)?),
                CmpOp::Gt => Ok(mine > its && superset(it)?),
                CmpOp::Ge => Ok(mine >= its && superset(it)?),
            }
        })())
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        if op != BinOp::Sub || self.kind == Kind::Values || (reflected && set_like(other).is_none()) {
            return None;
        }
        Some((|| {
            let (from, without) = if reflected {
                (iter::to_vec_unordered(other, it)?, self.snapshot())
            } else {
                (self.snapshot(), iter::to_vec_unordered(other, it)?)
            };
            let set = Set::from_items(from, false)?;
            for item in without {
                set.discard(&item)?;
            }
            Ok(object(set))
        })())
    }

    fn has_method(&self, name: &str) -> bool {
        name == "isdisjoint" && self.kind != Kind::Values
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if !self.has_method(name) {
            return Err(super::no_attribute(this, name));
        }
        let other = cargs::one(&format!("{}.isdisjoint", self.type_name()), args)?;
        for item in iter::to_vec_unordered(other, it)? {
            if self.has(&item, it)? {
                return Ok(Value::from(false));
            }
        }
        Ok(Value::from(true))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        if self.kind == Kind::Values {
            return Ok(HashKey::Identity(address(self)));
        }
        Err(PyErr::type_error(format!("unhashable type: '{}'", self.type_name())))
    }
}

/// The elements of a set or of a view that behaves like one.
fn set_like(value: &Value) -> Option<Vec<Value>> {
    if let Some(set) = downcast::<Set>(value) {
        return Some(set.snapshot());
    }
    downcast::<DictView>(value).filter(|view| view.kind != Kind::Values).map(DictView::snapshot)
}
