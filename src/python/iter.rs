//! Iterators and generators.

use std::sync::{Mutex, PoisonError};

use super::guard::address;
use super::{
    Dict, Interp, List, PyErr, PyIter, PyIterator, PyObject, PyResult, Tuple, Value, View, downcast, object, type_name,
    view,
};

/// An iterator over values at hand.
pub struct Values(pub std::vec::IntoIter<Value>);

impl PyIterator for Values {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        Ok(self.0.next())
    }
}

/// An iterator over values at hand.
pub fn values(items: Vec<Value>) -> PyIter {
    Box::new(Values(items.into_iter()))
}

/// An iterator from a closure.
pub struct FromFn<F>(pub F);

impl<F: FnMut(&mut dyn Interp) -> PyResult<Option<Value>> + Send + Sync> PyIterator for FromFn<F> {
    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        (self.0)(it)
    }
}

/// An iterator from a closure that gives the next value.
pub fn from_fn(next: impl FnMut(&mut dyn Interp) -> PyResult<Option<Value>> + Send + Sync + 'static) -> PyIter {
    Box::new(FromFn(next))
}

/// The characters of a text as values.
pub(crate) fn chars(text: &str) -> Vec<Value> {
    let mut buffer = [0; 4];
    text.chars().map(|c| Value::from(&*c.encode_utf8(&mut buffer))).collect()
}

struct Characters {
    text: Value,
    at: usize,
}

impl PyIterator for Characters {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let text = super::text(&self.text).unwrap_or_default();
        let Some(c) = text.get(self.at..).and_then(|rest| rest.chars().next()) else { return Ok(None) };
        self.at += c.len_utf8();
        Ok(Some(Value::from(&*c.encode_utf8(&mut [0; 4]))))
    }
}

/// `TypeError` of what cannot be iterated.
pub(crate) fn not_iterable(value: &Value) -> PyErr {
    PyErr::type_error(format!("'{}' object is not iterable", type_name(value)))
}

/// `iter(x)`.
pub fn iter(value: &Value, it: &mut dyn Interp) -> PyResult<PyIter> {
    match view(value) {
        View::Str(_) => Ok(Box::new(Characters { text: value.clone(), at: 0 })),
        View::Bytes(bytes) => Ok(values(bytes.iter().map(|b| Value::from(i64::from(*b))).collect())),
        View::Object(object) => match object.iter(value, it) {
            Some(iter) => iter,
            None if object.as_text().is_some() => Ok(Box::new(Characters { text: value.clone(), at: 0 })),
            None => Err(not_iterable(value)),
        },
        _ => Err(not_iterable(value)),
    }
}

/// `list(x)`, as Rust values.
pub fn to_vec(value: &Value, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    match view(value) {
        View::Str(text) => return Ok(chars(text)),
        View::Object(_) => {
            if let Some(list) = downcast::<List>(value) {
                return Ok(list.snapshot());
            }
            if let Some(tuple) = downcast::<Tuple>(value) {
                return Ok(tuple.items().to_vec());
            }
            if let Some(dict) = downcast::<Dict>(value) {
                return Ok(dict.keys());
            }
        }
        _ => {}
    }
    let iter = iter(value, it)?;
    drain(iter, it)
}

/// Like [`to_vec`] for callers to whom the order means nothing (sorting, counting, sums, membership): it also takes sets
/// whose order differs from process to process.
pub fn to_vec_unordered(value: &Value, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    match downcast::<super::Set>(value) {
        Some(set) => Ok(set.snapshot()),
        None => to_vec(value, it),
    }
}

/// The rest of an iterator.
pub fn drain(mut iter: PyIter, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    let mut out = Vec::new();
    while let Some(value) = iter.next(it)? {
        if out.len() >= it.limits().allocation / 16 {
            it.allocate((out.len() + 1).saturating_mul(16))?;
        }
        if out.len() % 64 == 0 {
            it.charge(1)?;
        }
        out.push(value);
    }
    Ok(out)
}

/// A one-shot iterator as an object: a generator, or one of the iterator types of builtins.
pub struct Generator {
    type_name: &'static str,
    iter: Mutex<Option<PyIter>>,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.type_name)
    }
}

/// A `generator` object over an iterator.
pub fn generator(iter: PyIter) -> Value {
    iterator("generator", iter)
}

/// An iterator object of a named type (`list_reverseiterator`, `map`, ...).
pub fn iterator(type_name: &'static str, iter: PyIter) -> Value {
    object(Generator { type_name, iter: Mutex::new(Some(iter)) })
}

impl Generator {
    /// The next item, `None` at the end.
    pub fn next(&self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        // taken out meanwhile: the body of a generator may run other code that meets the same generator
        let taken = self.iter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut iter) = taken else {
            return Err(PyErr::value_error("generator already executing"));
        };
        let next = iter.next(it);
        let rest = if matches!(next, Ok(Some(_))) { iter } else { values(Vec::new()) };
        *self.iter.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
        next
    }
}

struct Continue(Value);

impl PyIterator for Continue {
    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        match downcast::<Generator>(&self.0) {
            Some(generator) => generator.next(it),
            None => Ok(None),
        }
    }
}

impl PyObject for Generator {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(unprintable(self.type_name, "make a list of it: `| list`"))
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(Box::new(Continue(this.clone()))))
    }

    fn hash_key(&self) -> PyResult<super::HashKey> {
        Ok(super::HashKey::Identity(address(self)))
    }
}

/// What prints with a memory address has no text that could be right.
pub(crate) fn unprintable(what: &str, hint: &str) -> PyErr {
    PyErr::unsupported(format!("the text of a {what} holds a memory address, which differs in every process"))
        .with_hint(hint)
}
