//! Cells: variables that several functions share.

use std::sync::Mutex;

use minijinja::value::Object;
use minijinja::{Environment as Mini, Error, State};

use super::super::undefined::Undefined;
use super::core::lock;
use super::vm::{core, raise};
use super::{Outcome, access, argument};
use crate::python::{self, Interp, PyErr, PyObject, PyResult, Value, object};

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.add_filter("new_cell", |_args: &[Value]| Value::from_object(Cell(Mutex::new(Content::Unbound))));
    mini.add_filter("cell_of", |args: &[Value]| {
        Value::from_object(Cell(Mutex::new(Content::Value(argument(args, 0).clone()))))
    });
    mini.add_filter("set_cell", |args: &[Value]| -> Outcome {
        cell(argument(args, 0))?.set(Content::Value(argument(args, 1).clone()));
        Ok(python::none())
    });
    mini.add_filter("load_cell", |args: &[Value]| -> Outcome {
        let value = argument(args, 1);
        let missing = access::is_missing(value, argument(args, 2).as_str().unwrap_or_default());
        cell(argument(args, 0))?.set(if missing { Content::Missing } else { Content::Value(value.clone()) });
        Ok(python::none())
    });
    mini.add_filter("unless_missing", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if !is_missing(value) {
            return Ok(value.clone());
        }
        Ok(Undefined::name(core(state)?.env.undefined, argument(args, 1).as_str().unwrap_or_default()))
    });
    mini.add_filter("clear_cell", |args: &[Value]| -> Outcome {
        cell(argument(args, 0))?.set(Content::Missing);
        Ok(python::none())
    });
    mini.add_filter("cell_value", |state: &mut State<'_, '_>, args: &[Value]| {
        read(state, argument(args, 0), argument(args, 1).as_str())
    });
}

/// True for Jinja2's sentinel.
pub(super) fn is_missing(value: &Value) -> bool {
    python::downcast::<Missing>(value).is_some()
}

/// Refuses the sentinel where Jinja2 takes it for a value that was not given.
pub(super) fn refuse_missing<'a>(values: impl IntoIterator<Item = &'a Value>) -> PyResult<()> {
    match values.into_iter().any(is_missing) {
        true => Err(PyErr::unsupported("a variable of a loop or `with` that has ended, handed on by a macro")),
        false => Ok(()),
    }
}

/// What a cell holds.
#[derive(Debug)]
enum Content {
    /// Nothing was ever assigned.
    Unbound,
    /// `jinja2.utils.missing`
    Missing,
    Value(Value),
}

/// A variable of a function.
#[derive(Debug)]
struct Cell(Mutex<Content>);

impl Object for Cell {}

impl Cell {
    fn set(&self, content: Content) {
        *lock(&self.0) = content;
    }
}

fn cell(value: &Value) -> Result<&Cell, Error> {
    value
        .downcast_object_ref::<Cell>()
        .ok_or_else(|| raise(PyErr::unsupported("a shared variable that is none: please report this template")))
}

/// The value of a cell; without one, the name is undefined, or Jinja2's sentinel shows.
pub(super) fn read(state: &mut State<'_, '_>, value: &Value, name: Option<&str>) -> Outcome {
    match (&*lock(&cell(value)?.0), name) {
        (Content::Value(value), _) => Ok(value.clone()),
        (Content::Missing, Some(name)) => Ok(Undefined::name(core(state)?.env.undefined, name)),
        (Content::Missing, None) => Ok(object(Missing)),
        // the message holds the variable's name in the generated code
        (Content::Unbound, _) => Err(raise(PyErr::unsupported(
            "a macro that reads a variable of the code around it before that code has run",
        ))),
    }
}

/// `jinja2.utils.missing`
#[derive(Debug)]
struct Missing;

impl PyObject for Missing {
    fn type_name(&self) -> &str {
        "MissingType"
    }

    fn qualified_name(&self) -> String {
        "jinja2.utils.MissingType".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("missing".to_owned())
    }

    fn interned(&self, other: &Value) -> bool {
        python::downcast::<Missing>(other).is_some()
    }
}
