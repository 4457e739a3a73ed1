//! `tuple` and its named kind.

use super::guard::{ReprGuard, address, drop_items};
use super::seq::{self, Repeat};
use super::{
    Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, cargs, downcast,
    identical_or_equal, object,
};

/// A `tuple`; with field names, a named tuple.
#[derive(Debug, Default)]
pub struct Tuple {
    items: Vec<Value>,
    named: Option<Named>,
}

/// The class of a named tuple.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// Class name as `repr` shows it
    pub class: &'static str,
    /// Field names in order
    pub fields: &'static [&'static str],
    /// Prints like a plain tuple (Jinja2's groups do)
    pub plain_repr: bool,
}

/// A `tuple` as a value.
pub fn tuple(items: Vec<Value>) -> Value {
    object(Tuple { items, named: None })
}

/// A named tuple as a value.
pub fn named_tuple(named: Named, items: Vec<Value>) -> Value {
    object(Tuple { items, named: Some(named) })
}

impl Tuple {
    /// The items.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The items, cloned.
    pub fn snapshot(&self) -> Vec<Value> {
        self.items.clone()
    }

    pub(crate) fn slice(&self, indices: seq::Indices) -> Value {
        tuple(seq::pick(&self.items, indices))
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        drop_items(std::mem::take(&mut self.items));
    }
}

struct TupleIter {
    tuple: Value,
    at: usize,
}

impl PyIterator for TupleIter {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let item = downcast::<Tuple>(&self.tuple).and_then(|tuple| tuple.items.get(self.at)).cloned();
        self.at += 1;
        Ok(item)
    }
}

impl PyObject for Tuple {
    fn type_name(&self) -> &str {
        self.named.map_or("tuple", |named| named.class)
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let Some(_guard) = ReprGuard::enter(address(self))? else { return Ok("(...)".to_owned()) };
        if let Some(named) = self.named.filter(|named| !named.plain_repr) {
            let mut out = format!("{}(", named.class);
            for (at, (field, item)) in named.fields.iter().zip(&self.items).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                out.push_str(field);
                out.push('=');
                out.push_str(&super::repr(item, it)?);
            }
            out.push(')');
            return Ok(out);
        }
        let mut out = String::from("(");
        seq::repr_items(&self.items, &mut out, it)?;
        if self.items.len() == 1 {
            out.push(',');
        }
        out.push(')');
        Ok(out)
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(!self.items.is_empty())
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.items.len()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let at = self.named?.fields.iter().position(|field| *field == name)?;
        self.items.get(at).cloned().map(Ok)
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(
            seq::position(
                key,
                self.items.len(),
                "tuple index out of range",
                "tuple indices must be integers or slices",
            )
            .map(|at| self.items.get(at).cloned().unwrap_or_default()),
        )
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(Box::new(TupleIter { tuple: this.clone(), at: 0 })))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(seq::contains(&self.items, item, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Tuple>(other)?;
        Some(seq::compare(op, &self.items, &other.items, it))
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "count" | "index")
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match name {
            "count" => seq::count(&self.items, cargs::one("tuple.count", args)?, it),
            "index" => {
                let pos = cargs::positional("tuple.index", args, 1, 3)?;
                let (start, stop) = seq::find_bounds(pos.get(1), pos.get(2), self.items.len())?;
                for (at, item) in self.items.iter().enumerate().take(stop).skip(start) {
                    if let Some(wanted) = pos.first()
                        && identical_or_equal(item, wanted, it)?
                    {
                        return Ok(Value::from(at as i64));
                    }
                }
                Err(PyErr::value_error("tuple.index(x): x not in tuple"))
            }
            _ => Err(super::no_attribute(this, name)),
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Tuple(self.items.iter().map(super::hash_key).collect::<PyResult<_>>()?))
    }
}

impl Repeat for Tuple {
    fn repeat(&self, times: i64, it: &mut dyn Interp) -> PyResult {
        Ok(tuple(seq::repeat_items(&self.items, times, it)?))
    }
}
