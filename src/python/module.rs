//! Modules as values.

use super::{CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Value, downcast, object};

/// How an attribute of a module is found.
pub type Attribute = fn(&str, &mut dyn Interp) -> Option<PyResult>;

/// A module.
#[derive(Debug)]
pub struct Module {
    name: &'static str,
    /// A module of the interpreter itself prints without a path
    builtin: bool,
    attribute: Attribute,
}

/// A module as a value; `builtin` for one that has no file.
pub fn module(name: &'static str, builtin: bool, attribute: Attribute) -> Value {
    object(Module { name, builtin, attribute })
}

impl PyObject for Module {
    fn type_name(&self) -> &str {
        "module"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        if self.builtin {
            return Ok(format!("<module '{}' (built-in)>", self.name));
        }
        Err(PyErr::unsupported("printing a module: its text holds the path of an installation"))
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        (self.attribute)(name, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let same = downcast::<Module>(other).is_some_and(|other| other.name == self.name);
        match op {
            CmpOp::Eq => Some(Ok(same)),
            CmpOp::Ne => Some(Ok(!same)),
            _ => None,
        }
    }

    fn interned(&self, other: &Value) -> bool {
        downcast::<Module>(other).is_some_and(|other| other.name == self.name)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("module", vec![HashKey::Str(self.name.into())]))
    }
}
