//! `list`.

use std::sync::{PoisonError, RwLock};

use super::guard::{ReprGuard, address, drop_items};
use super::seq::{self, Repeat};
use super::{
    Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, cargs, downcast,
    identical_or_equal, iter, object,
};

/// A `list`: mutable, shared by everything that refers to it.
#[derive(Debug, Default)]
pub struct List(RwLock<Vec<Value>>);

/// A `list` as a value.
pub fn list(items: Vec<Value>) -> Value {
    object(List(RwLock::new(items)))
}

impl List {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Value>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Value>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The items as they are now.
    pub fn snapshot(&self) -> Vec<Value> {
        self.read().clone()
    }

    /// The number of items.
    pub fn size(&self) -> usize {
        self.read().len()
    }

    /// The item at an index from the front.
    pub fn get(&self, index: usize) -> Option<Value> {
        self.read().get(index).cloned()
    }

    /// Adds an item at the end.
    pub fn push(&self, value: Value) {
        self.write().push(value);
    }

    /// The index an `int` means, counted from the end when negative.
    fn position(&self, key: &Value, out_of_range: &str) -> PyResult<usize> {
        seq::position(key, self.size(), out_of_range, "list indices must be integers or slices")
    }

    /// `x[start:stop:step]`
    pub(crate) fn slice(&self, indices: seq::Indices) -> Value {
        list(seq::pick(&self.read(), indices))
    }

    /// `x[key] = value` for an integer key.
    pub fn set_item(&self, key: &Value, value: Value) -> PyResult<()> {
        let at = self.position(key, "list assignment index out of range")?;
        if let Some(slot) = self.write().get_mut(at) {
            *slot = value;
        }
        Ok(())
    }

    fn index(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let pos = cargs::positional("list.index", args, 1, 3)?;
        let (start, stop) = seq::find_bounds(pos.get(1), pos.get(2), self.size())?;
        let mut at = start;
        while at < stop {
            let Some(item) = self.get(at) else { break };
            if let Some(wanted) = pos.first()
                && identical_or_equal(&item, wanted, it)?
            {
                return Ok(Value::from(at as i64));
            }
            at += 1;
        }
        let text = super::repr(pos.first().unwrap_or(&Value::from(())), it)?;
        Err(PyErr::value_error(format!("{text} is not in list")))
    }

    fn sort(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if !args.pos.is_empty() {
            return Err(PyErr::type_error("sort() takes no positional arguments"));
        }
        let [key, reverse] = cargs::keywords("sort", &["*key", "*reverse"], 0, args)?;
        let reverse = match reverse {
            Some(value) => cargs::index(value)? != 0,
            None => false,
        };
        let sorted = super::sorted(self.snapshot(), key.filter(|k| !k.is_none()), reverse, it)?;
        *self.write() = sorted;
        Ok(super::none())
    }
}

impl Drop for List {
    fn drop(&mut self) {
        drop_items(std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner)));
    }
}

struct ListIter {
    list: Value,
    at: usize,
}

impl PyIterator for ListIter {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let item = downcast::<List>(&self.list).and_then(|list| list.get(self.at));
        match item {
            Some(_) => self.at += 1,
            // what is added to the list after its end was reached is not seen
            None => self.at = usize::MAX,
        }
        Ok(item)
    }
}

impl PyObject for List {
    fn type_name(&self) -> &str {
        "list"
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let Some(_guard) = ReprGuard::enter(address(self))? else { return Ok("[...]".to_owned()) };
        let mut out = String::from("[");
        seq::repr_items(&self.snapshot(), &mut out, it)?;
        out.push(']');
        Ok(out)
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(!self.read().is_empty())
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.size()))
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.position(key, "list index out of range").map(|at| self.get(at).unwrap_or_default()))
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(Box::new(ListIter { list: this.clone(), at: 0 })))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(seq::contains(&self.snapshot(), item, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<List>(other)?;
        Some(seq::compare(op, &self.snapshot(), &other.snapshot(), it))
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(
            name,
            "append"
                | "clear"
                | "copy"
                | "count"
                | "extend"
                | "index"
                | "insert"
                | "pop"
                | "remove"
                | "reverse"
                | "sort"
        )
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match name {
            "append" => {
                let item = cargs::one("list.append", args)?.clone();
                if self.size() >= it.limits().allocation / 16 {
                    it.allocate((self.size() + 1).saturating_mul(16))?;
                }
                self.push(item);
            }
            "clear" => {
                cargs::none("list.clear", args)?;
                drop_items(std::mem::take(&mut *self.write()));
            }
            "copy" => {
                cargs::none("list.copy", args)?;
                let items = self.snapshot();
                it.allocate(items.len() * 16)?;
                return Ok(list(items));
            }
            "count" => {
                let wanted = cargs::one("list.count", args)?;
                return seq::count(&self.snapshot(), wanted, it);
            }
            "extend" => {
                let more = cargs::one("list.extend", args)?;
                let more = iter::to_vec(more, it)?;
                it.allocate((self.size() + more.len()) * 16)?;
                self.write().extend(more);
            }
            "index" => return self.index(args, it),
            "insert" => {
                let pos = cargs::positional("list.insert", args, 2, 2)?;
                let [at, value] = pos else { return Ok(super::none()) };
                let at = cargs::index(at)?;
                let mut items = self.write();
                let len = items.len() as i64;
                let at = if at < 0 { at.saturating_add(len).max(0) } else { at.min(len) };
                items.insert(at as usize, value.clone());
            }
            "pop" => {
                let pos = cargs::positional("list.pop", args, 0, 1)?;
                let at = pos.first().map_or(Ok(-1), cargs::index)?;
                let mut items = self.write();
                if items.is_empty() {
                    return Err(PyErr::new("IndexError", "pop from empty list"));
                }
                let at = if at < 0 { at.saturating_add(items.len() as i64) } else { at };
                if at < 0 || at as usize >= items.len() {
                    return Err(PyErr::new("IndexError", "pop index out of range"));
                }
                return Ok(items.remove(at as usize));
            }
            "remove" => {
                let wanted = cargs::one("list.remove", args)?;
                for (at, item) in self.snapshot().iter().enumerate() {
                    if identical_or_equal(item, wanted, it)? {
                        let mut items = self.write();
                        if at < items.len() {
                            items.remove(at);
                        }
                        return Ok(super::none());
                    }
                }
                return Err(PyErr::value_error("list.remove(x): x not in list"));
            }
            "reverse" => {
                cargs::none("list.reverse", args)?;
                self.write().reverse();
            }
            "sort" => return self.sort(args, it),
            _ => return Err(super::no_attribute(this, name)),
        }
        Ok(super::none())
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'list'"))
    }
}

impl Repeat for List {
    fn repeat(&self, times: i64, it: &mut dyn Interp) -> PyResult {
        Ok(list(seq::repeat_items(&self.snapshot(), times, it)?))
    }
}
