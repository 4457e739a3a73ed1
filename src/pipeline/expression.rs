//! Jinja expressions of `ExpressionMapper`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context;
use crate::context::airflow_macros;
use crate::jinja::{Engine, Environment, Names, Rendered};
use crate::partition::Evaluate;
use crate::python::{List, PyErr, PyResult, Value, downcast};

/// Evaluates expressions to values, not to text.
#[derive(Debug)]
pub struct Expressions {
    engine: Engine,
    environment: Arc<Environment>,
}

impl Default for Expressions {
    fn default() -> Self {
        // A native environment joins no pieces when there is one, and reads no literal out of what is no string: a list of
        // one item comes out as it is.
        let environment = Environment { native: true, filters: context::filters(), ..Environment::default() };
        Expressions { engine: Engine::new(), environment: Arc::new(environment) }
    }
}

impl Expressions {
    fn value(&self, expression: &str, mut names: BTreeMap<String, Value>) -> PyResult<Value> {
        names.entry("macros".to_owned()).or_insert_with(airflow_macros);
        let body = expression.trim();
        let body = body.strip_prefix("{{").and_then(|body| body.strip_suffix("}}")).unwrap_or(body);
        let source = format!("{{{{ [({body})] }}}}");
        let names: Arc<dyn Names> = Arc::new(names);
        match self.engine.render(&self.environment, &source, &names) {
            Ok(Rendered::Native(value)) => match downcast::<List>(&value).and_then(|list| list.get(0)) {
                Some(value) => Ok(value),
                None => Err(PyErr::unsupported(format!("the expression {expression:?}"))),
            },
            Ok(Rendered::Text(_)) => Err(PyErr::unsupported(format!("the expression {expression:?}"))),
            Err(error) => Err(error.into()),
        }
    }
}

impl Evaluate for Expressions {
    fn evaluate(&self, expression: &str, names: &[(&str, Value)]) -> PyResult<Value> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.value(expression, names)
    }
}
