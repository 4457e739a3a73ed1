//! The protocol of Python objects: Python's special methods as a trait.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr};
use num_bigint::BigInt;

use super::{Args, Interp, PyErr, PyResult, Value};

/// Binary operators, without comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
}

/// Unary operators; `not` is truth and needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `+x`
    Pos,
}

/// Comparison operators, without membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CmpOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A value's identity as a key of a dict or an element of a set: two values are equal in Python exactly when their keys
/// are. Numbers are canonical: `1`, `1.0` and `True` have one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum HashKey {
    /// `None`
    None,
    /// Any integral number that fits
    Int(i64),
    /// A larger integral number
    BigInt(BigInt),
    /// A float that is not integral, by its bits
    Float(u64),
    /// `str` and its subclasses
    Str(Arc<str>),
    /// `bytes`
    Bytes(Arc<[u8]>),
    /// `tuple`
    Tuple(Vec<HashKey>),
    /// `frozenset`, elements sorted
    FrozenSet(Vec<HashKey>),
    /// An object equal to others of its kind by these parts
    Parts(&'static str, Vec<HashKey>),
    /// An object equal only to itself
    Identity(usize),
}

/// Python's iterator protocol.
pub trait PyIterator: Send + Sync {
    /// The next item; `None` is `StopIteration`.
    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>>;
}

/// An iterator in a box.
pub type PyIter = Box<dyn PyIterator>;

/// An object of a Python class: each method is one of Python's special methods, with Python's default.
///
/// Text is exact: what `repr` returns is what CPython's `repr()` of the object in Airflow's process returns.
pub trait PyObject: Any + fmt::Debug + Send + Sync {
    /// `type(x).__name__`
    fn type_name(&self) -> &str;

    /// The type as Jinja2 names it in `'...' has no attribute`: with its module, except for builtins.
    fn qualified_name(&self) -> String {
        self.type_name().to_owned()
    }

    /// `repr(x)`
    fn repr(&self, it: &mut dyn Interp) -> PyResult<String>;

    /// `str(x)`
    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        self.repr(it)
    }

    /// `format(x, spec)`
    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        if spec.is_empty() {
            return self.str(it);
        }
        Err(PyErr::type_error(format!("unsupported format string passed to {}.__format__", self.type_name())))
    }

    /// The number of a subclass of `int`.
    fn as_int(&self) -> Option<i64> {
        None
    }

    /// The value behind a transparent proxy.
    fn target(&self) -> Option<&Value> {
        None
    }

    /// The text of a subclass of `str`.
    fn as_text(&self) -> Option<&str> {
        None
    }

    /// `bool(x)`
    fn truth(&self, it: &mut dyn Interp) -> PyResult<bool> {
        match self.len(it) {
            Some(len) => Ok(len? != 0),
            None => Ok(true),
        }
    }

    /// `len(x)`; `None` when the type has no length.
    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        let _ = it;
        None
    }

    /// `getattr(x, name)` for what is not a method; `None` is `AttributeError`.
    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        let (_, _) = (name, it);
        None
    }

    /// True when the class has a method of that name: `x.name` is then a bound method.
    fn has_method(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// `x.name(...)` for a name of which [`has_method`](Self::has_method) is true. `this` is the value itself.
    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let (_, _, _) = (this, args, it);
        Err(PyErr::attribute_error(format!("'{}' object has no attribute '{name}'", self.type_name())))
    }

    /// True when `callable(x)`.
    fn is_callable(&self) -> bool {
        false
    }

    /// `x(...)`
    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let (_, _) = (args, it);
        Err(PyErr::type_error(format!("'{}' object is not callable", self.type_name())))
    }

    /// `x[key]`; `None` when the type has no subscripts.
    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        let (_, _) = (key, it);
        None
    }

    /// `iter(x)`; `None` when the type is not iterable.
    fn iter(&self, this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        let (_, _) = (this, it);
        None
    }

    /// `item in x`; `None` falls back to iteration.
    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let (_, _) = (item, it);
        None
    }

    /// Comparison; `None` is `NotImplemented`. Identity is tried by the caller for `==` and `!=`.
    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let (_, _, _) = (op, other, it);
        None
    }

    /// True when Python would make a new object wherever this one is met again, so that it is never identical to itself.
    fn is_always_new(&self) -> bool {
        false
    }

    /// `x op other`, or `other op x` when `reflected`; `None` is `NotImplemented`.
    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        let (_, _, _, _) = (op, other, reflected, it);
        None
    }

    /// `-x`, `+x`; `None` when the type has none.
    fn unary(&self, op: UnaryOp, it: &mut dyn Interp) -> Option<PyResult> {
        let (_, _) = (op, it);
        None
    }

    /// `abs(x)`; `None` when the type has none.
    fn abs(&self) -> Option<PyResult> {
        None
    }

    /// True when Python keeps one object for all values equal to this one, and `other` is that object as well.
    fn interned(&self, other: &Value) -> bool {
        let _ = other;
        false
    }

    /// The key under which a dict or set files it; unhashable types raise `TypeError`.
    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Identity(std::ptr::from_ref(self).cast::<()>() as usize))
    }
}

/// A [`PyObject`] inside a minijinja [`Value`].
#[derive(Clone)]
pub struct Py(Arc<dyn PyObject>);

impl Py {
    /// The object itself.
    #[inline]
    pub fn inner(&self) -> &dyn PyObject {
        &*self.0
    }
}

impl fmt::Debug for Py {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Object for Py {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

/// Makes a value of an object.
pub fn object<T: PyObject>(object: T) -> Value {
    Value::from_object(Py(Arc::new(object)))
}
