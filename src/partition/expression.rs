//! `ExpressionMapper`: a custom mapper made of Jinja expressions.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::IdentityMapper;
use crate::python::{PyErr, PyResult, Value};

/// Evaluates one expression, such as `{{ key[:10] }}`, with names bound to values.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// The value of the expression: an object, not its text.
    fn evaluate(&self, expression: &str, names: &[(&str, Value)]) -> PyResult<Value>;
}

/// A mapper whose methods are expressions.
#[derive(Debug, Clone)]
pub struct ExpressionMapper;

impl ExpressionMapper {
    /// Reads the arguments of a pipeline file.
    pub fn read(_arguments: &Json, _evaluate: Arc<dyn Evaluate>) -> PyResult<IdentityMapper> {
        Err(PyErr::unsupported("ExpressionMapper"))
    }
}
