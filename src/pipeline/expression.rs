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
        let source = format!("{{{{ [({})] }}}}", body(expression));
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

/// The expression without the delimiters that may stand around the whole.
fn body(expression: &str) -> &str {
    let body = expression.trim();
    body.strip_prefix("{{").and_then(|body| body.strip_suffix("}}")).unwrap_or(body)
}

impl Evaluate for Expressions {
    fn check(&self, expression: &str) -> PyResult<()> {
        let body = body(expression);
        let Err(wrapped) = self.engine.check(&self.environment, &format!("{{{{ [({body})] }}}}")) else {
            return Ok(());
        };
        // Alone it reads better: the parser then names what the user wrote, not the brackets around it.
        match self.engine.check(&self.environment, &format!("{{{{ {body} }}}}")) {
            Err(alone) => Err(PyErr::unsupported(format!("{expression:?} is no Jinja expression: {}", alone.message))),
            Ok(()) if body.contains("}}") || body.contains("{%") => {
                Err(PyErr::unsupported(format!("{expression:?} is a template, where one Jinja expression is expected"))
                    .with_hint("join the pieces by `~`: \"{{ key[:4] ~ '-' ~ key[4:6] }}\""))
            }
            Ok(()) => Err(PyErr::unsupported(format!("{expression:?} is no Jinja expression: {}", wrapped.message))),
        }
    }

    fn evaluate(&self, expression: &str, names: &[(&str, Value)]) -> PyResult<Value> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.value(expression, names)
    }
}
