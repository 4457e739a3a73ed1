//! Objects of Airflow 2.10 by their attributes: rows of the metadata database, a Dag, a task.

use crate::python::{self, Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Value, downcast, object};

use super::super::convert;

/// Which attributes the classes have: a class and its names on each line.
const ATTRIBUTES: &str = include_str!("../data/airflow2_attributes.tsv");

/// How an object prints.
#[derive(Debug, Clone)]
pub(super) enum Print {
    /// This text.
    Text(String),
    /// `Class(name=value, ...)` of these attributes.
    Fields(&'static [&'static str]),
    /// As a memory address, or as something of the deployment.
    Refused,
}

/// A class of Airflow 2.10.
#[derive(Debug)]
pub(super) struct Class {
    /// Class name.
    pub name: &'static str,
    /// Module of the class.
    pub module: &'static str,
    /// Objects are equal when their values are.
    pub by_value: bool,
    /// All attributes of the class are in [`ATTRIBUTES`]: others do not exist.
    pub closed: bool,
}

/// An object of such a class.
#[derive(Debug)]
pub(super) struct Record {
    class: &'static Class,
    name: String,
    values: Vec<(&'static str, Value)>,
    print: Print,
}

impl Record {
    /// An object with these attributes; the others its class has are refused.
    pub(super) fn build(class: &'static Class, print: Print, values: Vec<(&'static str, Value)>) -> Value {
        object(Record { class, name: class.name.to_owned(), values, print })
    }

    /// An object of a subclass of that name.
    pub(super) fn named(class: &'static Class, name: &str, print: Print, values: Vec<(&'static str, Value)>) -> Value {
        object(Record { class, name: name.to_owned(), values, print })
    }

    /// True when it is of that class.
    pub(super) fn is(&self, class: &'static Class) -> bool {
        std::ptr::eq(self.class, class)
    }

    /// An attribute it was given.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// True when a class has an attribute of that name.
fn known(class: &str, name: &str) -> bool {
    ATTRIBUTES
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(known, _)| *known == class)
        .is_some_and(|(_, names)| names.split(' ').any(|known| known == name))
}

/// What an attribute that is not modelled means: refused when the class has it, `None` when it does not.
pub(super) fn unmodelled(class: &str, name: &str) -> Option<PyResult> {
    known(class, name).then(|| Err(convert::not_built(class, name)))
}

impl PyObject for Record {
    fn type_name(&self) -> &str {
        &self.name
    }

    fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.module, self.name)
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        match &self.print {
            Print::Text(text) => Ok(text.clone()),
            Print::Fields(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for name in *fields {
                    let value = self.value(name).ok_or_else(|| convert::not_built(&self.name, name))?;
                    parts.push(format!("{name}={}", python::repr(value, it)?));
                }
                Ok(format!("{}({})", self.name, parts.join(", ")))
            }
            Print::Refused => Err(convert::address(&self.name)),
        }
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some(value) = self.value(name) {
            return Some(Ok(value.clone()));
        }
        if convert::is_of_object(name) {
            return None;
        }
        if self.class.closed {
            return unmodelled(self.class.name, name);
        }
        Some(Err(convert::not_built(&self.name, name)))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Record>(other)?;
        if !self.class.by_value || !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let mut equal = || -> PyResult<bool> {
            if !other.is(self.class) {
                return Ok(false);
            }
            for ((_, a), (_, b)) in self.values.iter().zip(&other.values) {
                if !python::compare(CmpOp::Eq, a, b, it)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        if self.class.by_value {
            return Err(PyErr::unsupported(format!("a `{}` as a key", self.name)));
        }
        Ok(HashKey::Identity(std::ptr::from_ref(self).cast::<()>() as usize))
    }

    fn call(&self, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let _ = args;
        Err(PyErr::type_error(format!("'{}' object is not callable", self.name)))
    }
}
