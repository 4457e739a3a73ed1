//! The run time: what the filters of lowered templates do.

mod access;
pub(crate) mod context;
pub(crate) mod core;
mod functions;
mod loops;
mod operators;
pub(crate) mod pieces;
mod templates;
pub(crate) mod vm;

use minijinja::{AutoEscape, Environment as Mini, Error, State};

use crate::python::Value;

/// What a filter gives to minijinja.
type Outcome = Result<Value, Error>;

/// Registers all filters.
pub(crate) fn register(mini: &mut Mini<'static>) {
    operators::register(mini);
    access::register(mini);
    pieces::register(mini);
    loops::register(mini);
    functions::register(mini);
    templates::register(mini);
}

/// An argument that lowering always passes.
#[inline]
fn argument(args: &[Value], index: usize) -> &Value {
    const NOTHING: &Value = &Value::UNDEFINED;
    args.get(index).unwrap_or(NOTHING)
}

/// True inside `autoescape`.
fn autoescape(state: &State<'_, '_>) -> bool {
    !matches!(state.auto_escape(), AutoEscape::None)
}
