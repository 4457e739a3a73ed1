//! `var.value` and `var.json` (`airflow.sdk.execution_time.context.VariableAccessor`).

use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, downcast, object, repr_str,
};

use super::Shared;
use crate::run::{readable_json, unreadable_error};

/// Reads Airflow variables by attribute.
#[derive(Debug)]
struct VariableAccessor {
    shared: Shared,
    deserialize_json: bool,
}

/// `var`: a dict of both accessors.
pub(super) fn var(shared: &Shared) -> Value {
    let accessor = |deserialize_json| object(VariableAccessor { shared: shared.clone(), deserialize_json });
    python::str_dict([("json", accessor(true)), ("value", accessor(false))])
}

/// `NOTSET`, which `var.value.get` of a missing variable gives.
#[derive(Debug)]
struct NotSet;

impl PyObject for NotSet {
    fn type_name(&self) -> &str {
        "ArgNotSet"
    }

    fn qualified_name(&self) -> String {
        "airflow.serialization.definitions.notset.ArgNotSet".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("NOTSET".to_owned())
    }
}

fn not_found(key: &str) -> PyErr {
    PyErr::new(
        "AirflowRuntimeError",
        format!("VARIABLE_NOT_FOUND: {{'message': {}}}", repr_str(&format!("Variable {key} not found"))),
    )
    .with_hint(format!("add `{key}` to `variables`, or use `var.value.get('{key}', default)`"))
}

impl VariableAccessor {
    fn read(&self, key: &str, it: &mut dyn Interp) -> PyResult {
        let raw = match self.shared.run.variables.get(key) {
            Some(serde_json::Value::String(raw)) => raw.as_str(),
            other => match other.and_then(readable_json).filter(|_| self.deserialize_json) {
                Some(text) => text,
                None => return Err(other.and_then(unreadable_error).unwrap_or_else(|| not_found(key))),
            },
        };
        if !self.deserialize_json {
            return Ok(Value::from(raw));
        }
        // a value that is no JSON makes the backend look as if it had no such variable
        match python::json::loads(raw, it) {
            Err(error) if error.class == "JSONDecodeError" => Err(not_found(key)
                .with_hint(format!("variable `{key}` is there, but its value is not JSON: use `var.value.{key}`"))),
            result => result,
        }
    }
}

impl PyObject for VariableAccessor {
    fn type_name(&self) -> &str {
        "VariableAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.VariableAccessor".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("<VariableAccessor (dynamic access)>".to_owned())
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" => None,
            "_deserialize_json" => Some(Ok(Value::from(self.deserialize_json))),
            _ if super::convert::is_of_object(name) => None,
            _ => Some(self.read(name, it)),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("VariableAccessor.get", &["key", "default"]).required(1).method().bind(args)?;
        let key = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
        let Some(key) = python::text(&key) else {
            // the request does not validate, which looks as if there were no such variable
            return Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(|| object(NotSet)));
        };
        match self.read(key, it) {
            Err(error) if error.class == "AirflowRuntimeError" => {
                Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(|| object(NotSet)))
            }
            result => result,
        }
    }

    fn call(&self, _args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        // the sandbox asks whether the callee is safe, and that question is a variable's name too
        self.read("unsafe_callable", it)?;
        Err(PyErr::type_error("'VariableAccessor' object is not callable"))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let equal = downcast::<VariableAccessor>(other).is_some();
        match op {
            CmpOp::Eq => Some(Ok(equal)),
            CmpOp::Ne => Some(Ok(!equal)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("VariableAccessor", Vec::new()))
    }
}
