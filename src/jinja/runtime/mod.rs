//! The run time: what the filters of lowered templates do.

mod access;
mod cells;
pub(crate) mod context;
pub(crate) mod core;
pub(crate) mod evaluate;
mod functions;
mod loops;
mod operators;
pub(crate) mod pieces;
mod templates;
pub(crate) mod vm;

use minijinja::{AutoEscape, Environment as Mini, Error, State};

use super::code::Codes;
use crate::python::{PyErr, Value};

/// What a filter gives to minijinja.
type Outcome = Result<Value, Error>;

/// Registers all filters.
pub(crate) fn register(mini: &mut Mini<'static>, codes: &std::sync::Arc<Codes>) {
    operators::register(mini);
    access::register(mini);
    pieces::register(mini);
    loops::register(mini);
    functions::register(mini);
    templates::register(mini);
    cells::register(mini);
    evaluate::register(mini, codes);
}

/// An argument that lowering always passes.
#[inline]
fn argument(args: &[Value], index: usize) -> &Value {
    const NOTHING: &Value = &Value::UNDEFINED;
    args.get(index).unwrap_or(NOTHING)
}

/// Refuses a variable that no scoping rule gave a value: the lowering would be at fault, and nothing may be printed for it.
#[inline]
fn is_set(value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(vm::raise(PyErr::unsupported("a variable without a value: please report this template")));
    }
    Ok(())
}

/// What is raised for more output than an environment allows.
pub(crate) fn too_long(limit: usize) -> PyErr {
    PyErr::limit(format!("the output is longer than the limit of {limit} bytes"))
}

/// True inside `autoescape`.
fn autoescape(state: &State<'_, '_>) -> bool {
    !matches!(state.auto_escape(), AutoEscape::None)
}
