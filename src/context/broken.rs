//! A value that could not be made: every use of it raises why.

use crate::python::{Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Value, object};

#[derive(Debug)]
struct Broken(PyErr);

/// The value of a name whose making failed.
pub(super) fn value(error: PyErr) -> Value {
    object(Broken(error))
}

impl PyObject for Broken {
    fn type_name(&self) -> &str {
        "object"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(self.0.clone())
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Err(self.0.clone())
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Err(self.0.clone()))
    }

    fn getattr(&self, _name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(self.0.clone()))
    }

    fn call(&self, _args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Err(self.0.clone())
    }

    fn getitem(&self, _key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(self.0.clone()))
    }

    fn iter(&self, _this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Err(self.0.clone()))
    }

    fn compare(&self, _op: CmpOp, _other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(Err(self.0.clone()))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(self.0.clone())
    }
}
