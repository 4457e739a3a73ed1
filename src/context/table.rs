//! The whole context of a run, for people.

use crate::jinja::Names;
use crate::python::{self, Interp, PyErr, View, view};

use super::any::AnyContext;
use super::{Context, airflow2, keys};

/// One name of the context.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// The Python type with its module, except for builtins; `None` when the name is undefined.
    pub python_type: Option<String>,
    /// What `{{ name }}` prints, or why it cannot be printed; `None` when the name is undefined.
    pub printed: Option<Result<String, PyErr>>,
    /// What to use in its place when it is undefined or deprecated.
    pub advice: Option<String>,
}

impl Entry {
    /// False when `{{ name }}` raises `UndefinedError`.
    pub fn is_defined(&self) -> bool {
        self.printed.is_some()
    }
}

/// Every name of Airflow's context in this run, in Airflow's order.
pub fn describe(context: &AnyContext, it: &mut dyn Interp) -> Vec<Entry> {
    let entry = |name: &'static str, advice: Option<String>, it: &mut dyn Interp| match context.get(name) {
        Some(value) => Entry {
            name,
            python_type: Some(match view(&value) {
                View::Object(object) => object.qualified_name(),
                _ => python::type_name(&value),
            }),
            printed: Some(python::str(&value, it)),
            advice: None,
        },
        None => Entry { name, python_type: None, printed: None, advice },
    };
    match context {
        AnyContext::Airflow33(inner) => {
            let run = &inner.shared.run.dag_run;
            let advice = |name: &str| keys::advice(name, run, inner.shared.around.profile);
            Context::all_names().map(|name| entry(name, advice(name), it)).collect()
        }
        AnyContext::Airflow210(_) => airflow2::NAMES
            .iter()
            .map(|name| Entry { advice: airflow2::deprecated(name), ..entry(name, None, it) })
            .collect(),
    }
}
