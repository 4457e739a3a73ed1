//! The whole context of a run, for people.

use crate::jinja::Names;
use crate::python::{self, Interp, PyErr, View, view};

use super::{Context, keys};

/// One name of the context.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// The Python type with its module, except for builtins; `None` when the name is undefined.
    pub python_type: Option<String>,
    /// What `{{ name }}` prints, or why it cannot be printed; `None` when the name is undefined.
    pub printed: Option<Result<String, PyErr>>,
    /// What to use in its place when it is undefined.
    pub advice: Option<String>,
}

impl Entry {
    /// False when `{{ name }}` raises `UndefinedError`.
    pub fn is_defined(&self) -> bool {
        self.printed.is_some()
    }
}

/// Every name of Airflow's context in this run, in Airflow's order.
pub fn describe(context: &Context, it: &mut dyn Interp) -> Vec<Entry> {
    let run = &context.shared.run.dag_run;
    let mut entries = Vec::new();
    for name in Context::all_names() {
        let entry = match context.get(name) {
            Some(value) => Entry {
                name,
                python_type: Some(match view(&value) {
                    View::Object(object) => object.qualified_name(),
                    _ => python::type_name(&value),
                }),
                printed: Some(python::str(&value, it)),
                advice: None,
            },
            None => Entry {
                name,
                python_type: None,
                printed: None,
                advice: keys::advice(name, run, context.shared.around.profile),
            },
        };
        entries.push(entry);
    }
    entries
}
