//! Jinja expressions in files: `ExpressionMapper`, user-defined macros and filters.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::jinja::{Engine, Environment, Names, Rendered, UserFunction};
use crate::partition::Evaluate;
use crate::python::{self, Interp, List, PyErr, PyResult, Value, downcast};

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
        let environment = Environment { native: true, ..Environment::default() };
        Expressions { engine: Engine::new(), environment: Arc::new(environment) }
    }
}

impl Expressions {
    fn value(&self, expression: &str, names: BTreeMap<String, Value>) -> PyResult<Value> {
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

    /// A macro: a function whose expression reads `args` and `kwargs`.
    pub fn function(this: &Arc<Self>, name: &str, expression: &str) -> Value {
        let (this, expression) = (Arc::clone(this), expression.to_owned());
        let _ = name;
        python::function("macro", move |args, _: &mut dyn Interp| {
            let kwargs = args.kw.iter().map(|(name, value)| (name.to_string(), value.clone()));
            let names = BTreeMap::from([
                ("args".to_owned(), python::list(args.pos.to_vec())),
                ("kwargs".to_owned(), python::str_dict(kwargs)),
            ]);
            this.value(&expression, names)
        })
    }

    /// A filter: its expression reads `value`, `args` and `kwargs`.
    pub fn filter(this: &Arc<Self>, expression: &str) -> UserFunction {
        let (this, expression) = (Arc::clone(this), expression.to_owned());
        Arc::new(move |subject, args, _| {
            let kwargs = args.kw.iter().map(|(name, value)| (name.to_string(), value.clone()));
            let names = BTreeMap::from([
                ("value".to_owned(), subject.clone()),
                ("args".to_owned(), python::list(args.pos.to_vec())),
                ("kwargs".to_owned(), python::str_dict(kwargs)),
            ]);
            this.value(&expression, names)
        })
    }
}

impl Evaluate for Expressions {
    fn evaluate(&self, expression: &str, names: &[(&str, Value)]) -> PyResult<Value> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.value(expression, names)
    }
}
