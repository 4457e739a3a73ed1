//! `dict`.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use indexmap::IndexMap;

use super::guard::{ReprGuard, address, drop_items};
use super::hash::StrKey;
use super::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Value, cargs, dict_views, downcast,
    hash_key, identical_or_equal, iter, object, text, tuple,
};

type Entries = IndexMap<HashKey, (Value, Value), foldhash::fast::RandomState>;

/// A `dict`: mutable, in order of insertion, shared by everything that refers to it.
#[derive(Debug, Default)]
pub struct Dict(RwLock<Entries>);

/// A `dict` as a value; a later pair of an equal key replaces the value. Unhashable keys raise `TypeError`.
pub fn dict(pairs: impl IntoIterator<Item = (Value, Value)>) -> PyResult {
    let dict = Dict::default();
    for (key, value) in pairs {
        dict.insert(&key, value)?;
    }
    Ok(object(dict))
}

/// A `dict` with keys of text.
pub fn str_dict<K: AsRef<str>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
    let mut entries = Entries::default();
    for (key, value) in pairs {
        let key = key.as_ref();
        entries.insert(HashKey::Str(key.into()), (Value::from(key), value));
    }
    object(Dict(RwLock::new(entries)))
}

fn set_entry(entries: &mut Entries, hashed: HashKey, key: &Value, value: Value) {
    match entries.get_mut(&hashed) {
        // the first key stays
        Some(entry) => entry.1 = value,
        None => {
            entries.insert(hashed, (key.clone(), value));
        }
    }
}

/// `KeyError`, whose text is the `repr` of the key.
pub fn key_error(key: &Value, it: &mut dyn Interp) -> PyErr {
    match super::repr(key, it) {
        Ok(text) => PyErr::new("KeyError", text),
        Err(error) => error,
    }
}

impl Dict {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of entries.
    pub fn size(&self) -> usize {
        self.read().len()
    }

    /// The value of a key of text.
    pub fn get_str(&self, key: &str) -> Option<Value> {
        self.read().get(&StrKey(key)).map(|(_, value)| value.clone())
    }

    /// The value of a key; unhashable keys raise `TypeError`.
    pub fn get(&self, key: &Value) -> PyResult<Option<Value>> {
        if let Some(key) = text(key) {
            return Ok(self.get_str(key));
        }
        let hashed = hash_key(key)?;
        Ok(self.read().get(&hashed).map(|(_, value)| value.clone()))
    }

    /// `d[key] = value`; unhashable keys raise `TypeError`.
    pub fn insert(&self, key: &Value, value: Value) -> PyResult<()> {
        let hashed = hash_key(key)?;
        set_entry(&mut self.write(), hashed, key, value);
        Ok(())
    }

    /// Removes a key and returns its value.
    pub fn remove(&self, key: &Value) -> PyResult<Option<Value>> {
        let hashed = hash_key(key)?;
        Ok(self.write().shift_remove(&hashed).map(|(_, value)| value))
    }

    /// The keys in order.
    pub fn keys(&self) -> Vec<Value> {
        self.read().values().map(|(key, _)| key.clone()).collect()
    }

    /// The values in order.
    pub fn values(&self) -> Vec<Value> {
        self.read().values().map(|(_, value)| value.clone()).collect()
    }

    /// Keys and values in order.
    pub fn items(&self) -> Vec<(Value, Value)> {
        self.read().values().cloned().collect()
    }

    /// Keys and values in order (the same as [`items`](Self::items)).
    pub fn snapshot(&self) -> Vec<(Value, Value)> {
        self.items()
    }

    /// Refuses to grow without end.
    fn check_growth(&self, it: &mut dyn Interp) -> PyResult<()> {
        let size = self.size();
        if size >= it.limits().allocation / 64 { it.allocate((size + 1).saturating_mul(64)) } else { Ok(()) }
    }

    /// The entry at a place in the order.
    pub(crate) fn at(&self, index: usize) -> Option<(Value, Value)> {
        self.read().get_index(index).map(|(_, entry)| entry.clone())
    }

    /// Reads what `dict(x)` and `d.update(x)` take: a mapping, or pairs.
    fn update_from(&self, value: &Value, it: &mut dyn Interp) -> PyResult<()> {
        if let Some(other) = downcast::<Dict>(value) {
            for (key, item) in other.items() {
                self.insert(&key, item)?;
            }
            return Ok(());
        }
        if let super::View::Object(object) = super::view(value)
            && object.has_method("keys")
        {
            let keys = object.call_method(value, "keys", &Args::default(), it)?;
            for key in iter::to_vec(&keys, it)? {
                let item = super::getitem(value, &key, it)?;
                self.insert(&key, item)?;
            }
            return Ok(());
        }
        // looking for `keys` is what undefined values raise at
        super::getattr(value, "keys", it)?;
        for (at, pair) in iter::to_vec(value, it)?.iter().enumerate() {
            let parts = iter::to_vec(pair, it).map_err(|error| {
                if error.class == "TypeError" {
                    PyErr::type_error(format!("cannot convert dictionary update sequence element #{at} to a sequence"))
                } else {
                    error
                }
            })?;
            let [key, item] = parts.as_slice() else {
                return Err(PyErr::value_error(format!(
                    "dictionary update sequence element #{at} has length {}; 2 is required",
                    parts.len()
                )));
            };
            self.insert(key, item.clone())?;
        }
        Ok(())
    }

    /// `dict(*args, **kwargs)` and `d.update(*args, **kwargs)`; `name` is `dict` or `update`.
    pub(crate) fn update(&self, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<()> {
        let positional = Args::positional(args.pos);
        if let Some(value) = cargs::positional(name, &positional, 0, 1)?.first() {
            self.update_from(value, it)?;
        }
        for (key, value) in args.kw {
            self.insert(&Value::from(key.clone()), value.clone())?;
        }
        Ok(())
    }

    fn equals(&self, other: &Dict, it: &mut dyn Interp) -> PyResult<bool> {
        let _depth = super::guard::Depth::enter()?;
        if address(self) == address(other) {
            return Ok(true);
        }
        if self.size() != other.size() {
            return Ok(false);
        }
        it.charge(8 + self.size() as u64)?;
        for (key, value) in self.items() {
            match other.get(&key)? {
                Some(theirs) if identical_or_equal(&value, &theirs, it)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Drop for Dict {
    fn drop(&mut self) {
        let entries = std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        drop_items(entries.into_values().flat_map(|(key, value)| [key, value]).collect());
    }
}

impl PyObject for Dict {
    fn type_name(&self) -> &str {
        "dict"
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let Some(_guard) = ReprGuard::enter(address(self))? else { return Ok("{...}".to_owned()) };
        let mut out = String::from("{");
        for (at, (key, value)) in self.items().iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            super::push_repr(key, &mut out, it)?;
            out.push_str(": ");
            super::push_repr(value, &mut out, it)?;
            if out.len() > it.limits().allocation {
                it.allocate(out.len())?;
            }
        }
        out.push('}');
        Ok(out)
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(!self.read().is_empty())
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.size()))
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(match self.get(key) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(key_error(key, it)),
            Err(error) => Err(error),
        })
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(dict_views::iterate(this, dict_views::Kind::Keys)))
    }

    fn contains(&self, item: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if let Some(key) = text(item) {
            return Some(Ok(self.read().contains_key(&StrKey(key))));
        }
        Some(hash_key(item).map(|key| self.read().contains_key(&key)))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Dict>(other)?;
        match op {
            CmpOp::Eq => Some(self.equals(other, it)),
            CmpOp::Ne => Some(self.equals(other, it).map(|equal| !equal)),
            _ => None,
        }
    }

    fn binary(&self, _op: BinOp, _other: &Value, _reflected: bool, _it: &mut dyn Interp) -> Option<PyResult> {
        None
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(
            name,
            "get"
                | "items"
                | "keys"
                | "values"
                | "pop"
                | "popitem"
                | "update"
                | "setdefault"
                | "clear"
                | "copy"
                | "fromkeys"
        )
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match name {
            "get" => {
                let pos = cargs::positional("dict.get", args, 1, 2)?;
                let found = self.get(pos.first().unwrap_or(this))?;
                return Ok(found.or_else(|| pos.get(1).cloned()).unwrap_or_else(super::none));
            }
            "items" => {
                cargs::none("dict.items", args)?;
                return Ok(dict_views::view_of(this, dict_views::Kind::Items));
            }
            "keys" => {
                cargs::none("dict.keys", args)?;
                return Ok(dict_views::view_of(this, dict_views::Kind::Keys));
            }
            "values" => {
                cargs::none("dict.values", args)?;
                return Ok(dict_views::view_of(this, dict_views::Kind::Values));
            }
            "pop" => {
                let pos = cargs::positional("dict.pop", args, 1, 2)?;
                let key = pos.first().unwrap_or(this);
                // an empty dict does not even hash the key
                let found = if self.size() == 0 { None } else { self.remove(key)? };
                return match (found, pos.get(1)) {
                    (Some(value), _) => Ok(value),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(key_error(key, it)),
                };
            }
            "popitem" => {
                cargs::none("dict.popitem", args)?;
                let last = self.write().pop();
                return match last {
                    Some((_, (key, value))) => Ok(tuple(vec![key, value])),
                    None => Err(PyErr::new("KeyError", "'popitem(): dictionary is empty'")),
                };
            }
            "update" => {
                self.check_growth(it)?;
                self.update("update", args, it)?;
            }
            "setdefault" => {
                let pos = cargs::positional("dict.setdefault", args, 1, 2)?;
                let key = pos.first().unwrap_or(this);
                if let Some(found) = self.get(key)? {
                    return Ok(found);
                }
                let value = pos.get(1).cloned().unwrap_or_else(super::none);
                self.check_growth(it)?;
                self.insert(key, value.clone())?;
                return Ok(value);
            }
            "clear" => {
                cargs::none("dict.clear", args)?;
                let entries = std::mem::take(&mut *self.write());
                drop_items(entries.into_values().flat_map(|(key, value)| [key, value]).collect());
            }
            "copy" => {
                cargs::none("dict.copy", args)?;
                it.allocate(self.size() * 64)?;
                return Ok(object(Dict(RwLock::new(self.read().clone()))));
            }
            "fromkeys" => {
                let pos = cargs::positional("dict.fromkeys", args, 1, 2)?;
                let keys = iter::to_vec(pos.first().unwrap_or(this), it)?;
                let value = pos.get(1).cloned().unwrap_or_else(super::none);
                return dict(keys.into_iter().map(|key| (key, value.clone())));
            }
            _ => return Err(super::no_attribute(this, name)),
        }
        Ok(super::none())
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'dict'"))
    }
}
