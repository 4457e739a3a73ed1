//! `set` and `frozenset`.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::guard::{ReprGuard, address};
use super::set_table::Table;
use super::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, cargs, downcast,
    hash_key, iter, object, seq,
};

/// A `set`, or a `frozenset`.
#[derive(Debug)]
pub struct Set {
    table: RwLock<Table>,
    frozen: bool,
}

/// A `set` as a value; unhashable items raise `TypeError`.
pub fn set(items: impl IntoIterator<Item = Value>) -> PyResult {
    Ok(object(Set::from_items(items, false)?))
}

/// A `frozenset` as a value; unhashable items raise `TypeError`.
pub fn frozenset(items: impl IntoIterator<Item = Value>) -> PyResult {
    Ok(object(Set::from_items(items, true)?))
}

impl Set {
    fn from_table(table: Table, frozen: bool) -> Set {
        Set { table: RwLock::new(table), frozen }
    }

    /// A set of these items.
    pub fn from_items(items: impl IntoIterator<Item = Value>, frozen: bool) -> PyResult<Set> {
        let mut table = Table::default();
        for item in items {
            table.add(hash_key(&item)?, item);
        }
        Ok(Set::from_table(table, frozen))
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.read().len()
    }

    /// The elements, in CPython's order where that is the same in every process.
    pub fn snapshot(&self) -> Vec<Value> {
        self.read().values().cloned().collect()
    }

    /// False when CPython's order of the elements differs from process to process (hashes of text do).
    pub fn is_ordered(&self) -> bool {
        let table = self.read();
        table.len() < 2 || table.is_stable()
    }

    fn ordered(&self) -> PyResult<Vec<Value>> {
        if self.is_ordered() {
            return Ok(self.snapshot());
        }
        Err(PyErr::unsupported(format!("the order of a {}, which differs in every Python process", self.type_name()))
            .with_hint("sort it: `| sort`"))
    }

    /// True when an element equals this value.
    pub fn has(&self, item: &Value) -> PyResult<bool> {
        let key = element_key(item)?;
        Ok(self.read().contains(&key))
    }

    /// Removes an element; false when it was not there.
    pub fn discard(&self, item: &Value) -> PyResult<bool> {
        let key = element_key(item)?;
        Ok(self.write().remove(&key))
    }

    fn insert(&self, item: Value) -> PyResult<()> {
        let key = hash_key(&item)?;
        self.write().add(key, item);
        Ok(())
    }

    /// The table of what `other` holds, as `set(other)` builds it.
    fn table_of(other: &Value, it: &mut dyn Interp) -> PyResult<Table> {
        if let Some(set) = downcast::<Set>(other) {
            return Ok(set.read().copy());
        }
        let mut table = Table::default();
        if let Some(dict) = downcast::<super::Dict>(other) {
            table.reserve_for_dict(dict.size());
        }
        for item in iter::to_vec(other, it)? {
            table.add(hash_key(&item)?, item);
        }
        Ok(table)
    }

    fn merge(&self, other: &Value, it: &mut dyn Interp) -> PyResult<()> {
        if let Some(set) = downcast::<Set>(other) {
            if address(set) != address(self) {
                let theirs = set.read().copy_exact();
                self.write().merge(&theirs);
            }
            return Ok(());
        }
        if let Some(dict) = downcast::<super::Dict>(other) {
            self.write().reserve_for_dict(dict.size());
        }
        for item in iter::to_vec(other, it)? {
            self.insert(item)?;
        }
        Ok(())
    }

    fn copy(&self) -> Set {
        Set::from_table(self.read().copy(), self.frozen)
    }

    fn difference(&self, other: &Value, it: &mut dyn Interp) -> PyResult<Set> {
        let theirs = Self::table_of(other, it)?;
        let mine = self.read();
        let sized = downcast::<Set>(other).is_some() || downcast::<super::Dict>(other).is_some();
        if !sized || mine.len() >> 2 > theirs.len() {
            let mut table = mine.copy();
            table.subtract(&theirs);
            return Ok(Set::from_table(table, self.frozen));
        }
        let mut table = Table::default();
        for (key, value) in mine.entries() {
            if !theirs.contains(key) {
                table.add(key.clone(), value.clone());
            }
        }
        Ok(Set::from_table(table, self.frozen))
    }

    fn intersection(&self, other: &Value, it: &mut dyn Interp) -> PyResult<Set> {
        let mut table = Table::default();
        if let Some(other) = downcast::<Set>(other) {
            if address(self) == address(other) {
                return Ok(self.copy());
            }
            let (mine, theirs) = (self.read(), other.read());
            let (small, large) = if theirs.len() > mine.len() { (&mine, &theirs) } else { (&theirs, &mine) };
            for (key, value) in small.entries() {
                if large.contains(key) {
                    table.add(key.clone(), value.clone());
                }
            }
        } else {
            for item in iter::to_vec(other, it)? {
                let key = hash_key(&item)?;
                if self.read().contains(&key) {
                    table.add(key, item);
                }
            }
        }
        Ok(Set::from_table(table, self.frozen))
    }

    fn symmetric_difference(&self, other: &Value, it: &mut dyn Interp) -> PyResult<Set> {
        let mut table = Self::table_of(other, it)?;
        for (key, value) in self.read().entries() {
            if !table.remove(key) {
                table.add(key.clone(), value.clone());
            }
        }
        Ok(Set::from_table(table, self.frozen))
    }

    fn is_subset(&self, other: &Table) -> bool {
        let mine = self.read();
        mine.len() <= other.len() && mine.entries().all(|(key, _)| other.contains(key))
    }

    fn become_table(&self, of: Set) {
        *self.write() = of.table.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
}

/// The key of a value to look for: a set is looked up as a frozenset.
fn element_key(item: &Value) -> PyResult<HashKey> {
    match downcast::<Set>(item) {
        Some(set) => Ok(set.frozen_key()),
        None => hash_key(item),
    }
}

impl Set {
    fn frozen_key(&self) -> HashKey {
        let mut keys: Vec<HashKey> = self.read().entries().map(|(key, _)| key.clone()).collect();
        keys.sort();
        HashKey::FrozenSet(keys)
    }
}

struct SetIter {
    set: Value,
    items: std::vec::IntoIter<Value>,
    size: usize,
}

impl PyIterator for SetIter {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        if downcast::<Set>(&self.set).is_some_and(|set| set.size() != self.size) {
            return Err(PyErr::new("RuntimeError", "Set changed size during iteration"));
        }
        Ok(self.items.next())
    }
}

impl PyObject for Set {
    fn type_name(&self) -> &str {
        if self.frozen { "frozenset" } else { "set" }
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let Some(_guard) = ReprGuard::enter(address(self))? else {
            return Ok(format!("{}(...)", self.type_name()));
        };
        if self.size() == 0 {
            return Ok(format!("{}()", self.type_name()));
        }
        let mut out = String::from(if self.frozen { "frozenset({" } else { "{" });
        seq::repr_items(&self.ordered()?, &mut out, it)?;
        out.push_str(if self.frozen { "})" } else { "}" });
        Ok(out)
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.size()))
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(self.ordered().map(|items| {
            Box::new(SetIter { set: this.clone(), size: items.len(), items: items.into_iter() }) as PyIter
        }))
    }

    fn contains(&self, item: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(self.has(item))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Set>(other)?;
        if address(self) == address(other) {
            return Some(Ok(matches!(op, CmpOp::Eq | CmpOp::Le | CmpOp::Ge)));
        }
        let (mine, theirs) = (self.size(), other.size());
        let subset = || self.is_subset(&other.read());
        let superset = || other.is_subset(&self.read());
        Some(Ok(match op {
            CmpOp::Eq => mine == theirs && subset(),
            CmpOp::Ne => !(mine == theirs && subset()),
            CmpOp::Lt => mine < theirs && subset(),
            CmpOp::Le => subset(),
            CmpOp::Gt => mine > theirs && superset(),
            CmpOp::Ge => superset(),
        }))
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        if op != BinOp::Sub || reflected {
            return None;
        }
        downcast::<Set>(other)?;
        Some(self.difference(other, it).map(object))
    }

    fn has_method(&self, name: &str) -> bool {
        match name {
            "copy"
            | "difference"
            | "intersection"
            | "isdisjoint"
            | "issubset"
            | "issuperset"
            | "symmetric_difference"
            | "union" => true,
            "add"
            | "clear"
            | "difference_update"
            | "discard"
            | "intersection_update"
            | "pop"
            | "remove"
            | "symmetric_difference_update"
            | "update" => !self.frozen,
            _ => false,
        }
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if !self.has_method(name) {
            return Err(super::no_attribute(this, name));
        }
        let qualified = format!("{}.{name}", self.type_name());
        let one = || cargs::one(&qualified, args);
        let any = || cargs::positional(&qualified, args, 0, usize::MAX);
        match name {
            "copy" => {
                cargs::none(&qualified, args)?;
                return Ok(if self.frozen { this.clone() } else { object(self.copy()) });
            }
            "union" => {
                let out = self.copy();
                for other in any()? {
                    out.merge(other, it)?;
                }
                return Ok(object(out));
            }
            "update" => {
                for other in any()? {
                    self.merge(other, it)?;
                }
            }
            "difference" => {
                let Some((first, rest)) = any()?.split_first() else { return Ok(object(self.copy())) };
                let out = self.difference(first, it)?;
                for other in rest {
                    let theirs = Self::table_of(other, it)?;
                    out.write().subtract(&theirs);
                }
                return Ok(object(out));
            }
            "difference_update" => {
                for other in any()? {
                    let theirs = Self::table_of(other, it)?;
                    self.write().subtract(&theirs);
                }
            }
            "intersection" | "intersection_update" => {
                let mut out = self.copy();
                for other in any()? {
                    out = out.intersection(other, it)?;
                }
                if name == "intersection" {
                    return Ok(object(out));
                }
                self.become_table(out);
            }
            "symmetric_difference" => return Ok(object(self.symmetric_difference(one()?, it)?)),
            "symmetric_difference_update" => {
                let theirs = Self::table_of(one()?, it)?;
                let mut mine = self.write();
                for (key, value) in theirs.entries() {
                    if !mine.remove(key) {
                        mine.add(key.clone(), value.clone());
                    }
                }
            }
            "isdisjoint" => {
                let theirs = Self::table_of(one()?, it)?;
                let disjoint = !self.read().entries().any(|(key, _)| theirs.contains(key));
                return Ok(Value::from(disjoint));
            }
            "issubset" => {
                let theirs = Self::table_of(one()?, it)?;
                return Ok(Value::from(self.is_subset(&theirs)));
            }
            "issuperset" => {
                let theirs = Self::table_of(one()?, it)?;
                let mine = self.read();
                return Ok(Value::from(theirs.entries().all(|(key, _)| mine.contains(key))));
            }
            "add" => {
                if self.size() >= it.limits().allocation / 64 {
                    it.allocate((self.size() + 1).saturating_mul(64))?;
                }
                self.insert(one()?.clone())?;
            }
            "clear" => {
                cargs::none(&qualified, args)?;
                *self.write() = Table::default();
            }
            "discard" => {
                self.discard(one()?)?;
            }
            "remove" => {
                let item = one()?;
                if !self.discard(item)? {
                    return Err(super::dict::key_error(item, it));
                }
            }
            "pop" => {
                cargs::none(&qualified, args)?;
                self.ordered()?;
                return self.write().pop().ok_or_else(|| PyErr::new("KeyError", "'pop from an empty set'"));
            }
            _ => return Err(super::no_attribute(this, name)),
        }
        Ok(super::none())
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        if !self.frozen {
            return Err(PyErr::type_error("unhashable type: 'set'"));
        }
        Ok(self.frozen_key())
    }
}
