//! Functions, bound methods and builtin types as values.

use std::fmt;
use std::sync::Arc;

use super::guard::address;
use super::iter::unprintable;
use super::{Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Value, downcast, identical, object};

type Body = dyn Fn(&Args<'_>, &mut dyn Interp) -> PyResult + Send + Sync;

/// A function.
pub struct Function {
    name: &'static str,
    body: Box<Body>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function {}", self.name)
    }
}

/// A function as a value; `name` is its `__name__`.
pub fn function(
    name: &'static str,
    body: impl Fn(&Args<'_>, &mut dyn Interp) -> PyResult + Send + Sync + 'static,
) -> Value {
    object(Function { name, body: Box::new(body) })
}

impl Function {
    /// `__name__`
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl PyObject for Function {
    fn type_name(&self) -> &str {
        "function"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(unprintable("function", "call it"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        matches!(name, "__name__" | "__qualname__").then(|| Ok(Value::from(self.name)))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        (self.body)(args, it)
    }
}

/// A method with the object it belongs to.
#[derive(Debug)]
pub struct BoundMethod {
    /// The object
    pub this: Value,
    /// The method's name
    pub name: Arc<str>,
}

/// `this.name`, where that is a method.
pub fn bound_method(this: &Value, name: &str) -> Value {
    object(BoundMethod { this: this.clone(), name: name.into() })
}

impl PyObject for BoundMethod {
    fn type_name(&self) -> &str {
        "builtin_function_or_method"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(unprintable("method", "call it: add `()`"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "__name__" => Some(Ok(Value::from(self.name.clone()))),
            "__self__" => Some(Ok(self.this.clone())),
            _ => None,
        }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        super::call_method(&self.this, &self.name, args, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<BoundMethod>(other)?;
        let same = identical(&self.this, &other.this) && self.name == other.name;
        match op {
            CmpOp::Eq => Some(Ok(same)),
            CmpOp::Ne => Some(Ok(!same)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Identity(address(self)))
    }
}

/// A builtin type such as `dict`: callable, and printed as `<class 'dict'>`.
#[derive(Debug)]
pub struct Type {
    name: &'static str,
}

/// A builtin type by name.
pub fn builtin_type(name: &'static str) -> Value {
    object(Type { name })
}

impl Type {
    /// `__name__`
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl PyObject for Type {
    fn type_name(&self) -> &str {
        "type"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<class '{}'>", self.name))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        matches!(name, "__name__" | "__qualname__").then(|| Ok(Value::from(self.name)))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        super::types::construct(self.name, args, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Type>(other)?;
        match op {
            CmpOp::Eq => Some(Ok(self.name == other.name)),
            CmpOp::Ne => Some(Ok(self.name != other.name)),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!((self.name, name), ("dict", "fromkeys") | ("str", "maketrans"))
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match (self.name, name) {
            ("dict", "fromkeys") => super::call_method(&super::str_dict::<&str>([]), name, args, it),
            ("str", "maketrans") => super::call_method(&Value::from(""), name, args, it),
            _ => Err(PyErr::attribute_error(format!("type object '{}' has no attribute '{name}'", {
                let _ = this;
                self.name
            }))),
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("type", vec![HashKey::Str(self.name.into())]))
    }
}
