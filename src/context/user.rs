//! `user_defined_macros` and `user_defined_filters` of a pipeline: plain values, or Jinja expressions.
//!
//! Airflow's are Python; partita runs no Python. A value stands for itself. An expression is evaluated at each call, over
//! `args` (a tuple of the positional arguments), `kwargs` (a dict of the others) and, in a filter, `value` (what stands left
//! of `|`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::jinja::{Engine, Environment, Names, Rendered, UserFunction};
use crate::python::{self, Args, Interp, List, PyErr, PyObject, PyResult, Value, downcast, object};
use crate::run::{Json, JsonMap};

use super::convert;

/// The key that makes an object an expression.
const EXPRESSION: &str = "expression";

/// A Jinja expression that can be called.
struct Expression {
    name: String,
    source: String,
    engine: Arc<Engine>,
    env: Arc<Environment>,
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expression").field("name", &self.name).field("source", &self.source).finish_non_exhaustive()
    }
}

/// Globals of the environment: values as they are, expressions as callables. `env` is what expressions are evaluated in.
pub fn user_defined_macros(
    macros: &JsonMap,
    engine: &Arc<Engine>,
    env: &Arc<Environment>,
) -> PyResult<BTreeMap<String, Value>> {
    macros
        .iter()
        .map(|(name, given)| {
            let value = match expression(given) {
                Some(source) => object(Expression::new(name, source, engine, env)),
                None => convert::json(given)?,
            };
            Ok((name.clone(), value))
        })
        .collect()
}

/// The plugins among user macros: a name `macros.<plugin>.<macro>` stands for one macro of a plugin, whose code partita does
/// not run.
pub fn plugin_macros(macros: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut plugins: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for (name, value) in macros {
        if let Some((plugin, function)) = name.strip_prefix("macros.").and_then(|name| name.split_once('.')) {
            plugins.entry(plugin.to_owned()).or_default().insert(function.to_owned(), value.clone());
        }
    }
    plugins.into_iter().map(|(name, macros)| (name.clone(), object(Plugin { name, macros }))).collect()
}

/// A plugin's module of macros.
#[derive(Debug)]
struct Plugin {
    name: String,
    macros: BTreeMap<String, Value>,
}

impl PyObject for Plugin {
    fn type_name(&self) -> &str {
        "module"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported(format!("printing the plugin `{}`", self.name)))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.macros.get(name).cloned().ok_or_else(|| {
            PyErr::unsupported(format!("macro `{name}` of the plugin `{}` is not supplied", self.name))
                .with_hint(format!("add `macros.{}.{name}` to `user_defined_macros` of the pipeline", self.name))
        }))
    }
}

/// Filters of the environment; each is an expression.
pub fn user_defined_filters(
    filters: &JsonMap,
    engine: &Arc<Engine>,
    env: &Arc<Environment>,
) -> PyResult<BTreeMap<String, UserFunction>> {
    filters
        .iter()
        .map(|(name, given)| {
            let Some(source) = expression(given) else {
                return Err(PyErr::unsupported(format!("filter `{name}` is not an expression"))
                    .with_hint(format!("write {name}: {{expression: \"...\"}}, over `value` and `args`")));
            };
            let expression = Expression::new(name, source, engine, env);
            let filter: UserFunction = Arc::new(move |value: &Value, args: &Args<'_>, it: &mut dyn Interp| {
                expression.evaluate(Some(value), args, it)
            });
            Ok((name.clone(), filter))
        })
        .collect()
}

fn expression(given: &Json) -> Option<&str> {
    let map = given.as_object().filter(|map| map.len() == 1)?;
    map.get(EXPRESSION)?.as_str()
}

impl Expression {
    fn new(name: &str, source: &str, engine: &Arc<Engine>, env: &Arc<Environment>) -> Self {
        // delimiters around the whole are allowed and mean nothing
        let inner = source.trim();
        let inner = inner.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")).unwrap_or(inner);
        // native rendering of a list gives the list itself, whatever its item is
        Expression {
            name: name.to_owned(),
            source: format!("{{{{ [({})] }}}}", inner.trim()),
            engine: Arc::clone(engine),
            env: Arc::clone(env),
        }
    }

    fn evaluate(&self, value: Option<&Value>, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        it.charge(1)?;
        let mut names: BTreeMap<String, Value> = BTreeMap::new();
        names.insert("args".to_owned(), python::tuple(args.pos.to_vec()));
        names.insert("kwargs".to_owned(), python::str_dict(args.kw.iter().map(|(key, value)| (&**key, value.clone()))));
        if let Some(value) = value {
            names.insert("value".to_owned(), value.clone());
        }
        let names: Arc<dyn Names> = Arc::new(names);
        match self.engine.render(&self.env, &self.source, &names)? {
            Rendered::Native(list) => match downcast::<List>(&list).and_then(|list| list.get(0)) {
                Some(value) => Ok(value),
                None => Err(PyErr::unsupported(format!("`{}` is not one expression", self.name))),
            },
            Rendered::Text(_) => {
                Err(PyErr::unsupported(format!("`{}` in an environment that is not native", self.name)))
            }
        }
    }
}

impl PyObject for Expression {
    fn type_name(&self) -> &str {
        "function"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(convert::address("function").with_hint(format!("call it: `{}()`", self.name)))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        self.evaluate(None, args, it)
    }
}
