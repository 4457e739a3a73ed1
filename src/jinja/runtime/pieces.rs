//! Output: how values are written, and native mode, where they are collected as they are.

use minijinja::{AutoEscape, Environment as Mini, Error, ErrorKind, Output, State};

use super::super::markup;
use super::core::Core;
use super::vm::{Vm, core, raise};
use super::{Outcome, argument};
use crate::python::{self, Interp, PyErr, PyResult, Value, View, view};

/// Texts up to this length are paid for by the loop that writes them.
const FREE: usize = 64;

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.set_formatter(format);
    mini.add_filter("piece", |args: &[Value]| argument(args, 0).clone());
    mini.add_filter("begin_pieces", |state: &mut State<'_, '_>, _args: &[Value]| -> Outcome {
        core(state)?.machine().pieces.push(Vec::new());
        Ok(Value::from(()))
    });
    mini.add_filter("end_pieces", |state: &mut State<'_, '_>, _args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let pieces = vm.core.machine().pieces.pop().unwrap_or_default();
        concat(pieces, &mut vm).map_err(raise)
    });
    mini.add_filter("block_value", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if !super::autoescape(state) || value.is_safe() {
            return Ok(value.clone());
        }
        let text = python::str(value, &mut Vm::new(state)?).map_err(raise)?;
        Ok(Value::from_safe_string(text))
    });
    mini.add_filter("written", |args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if python::text(value).is_some() {
            return Ok(value.clone());
        }
        // Jinja2 joins these pieces without turning them into text; which number the piece has depends on all others
        let message = format!("sequence item 0: expected str instance, {} found", python::type_name(value));
        Err(raise(PyErr::type_error(message)))
    });
}

fn native(core: &Core) -> bool {
    core.env.native
}

/// `{{ value }}`.
fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Ok(());
    }
    let escape = !matches!(state.auto_escape(), AutoEscape::None);
    let vm = Vm::new(state)?;
    if native(&vm.core) {
        let mut machine = vm.core.machine();
        if machine.pieces.is_empty() {
            machine.pieces.push(Vec::new());
        }
        if let Some(pieces) = machine.pieces.last_mut() {
            pieces.push(value.clone());
        }
        return Ok(());
    }
    let mut vm = vm;
    match view(value) {
        View::Str(text) if !escape || value.is_safe() => {
            if text.len() > FREE {
                vm.charge(text.len() as u64 / 8).map_err(raise)?;
            }
            out.write_str(text).map_err(written)
        }
        View::Int(int) if !escape => write!(out, "{int}").map_err(written),
        _ if escape => {
            let escaped = markup::escape(value, &mut vm).map_err(raise)?;
            out.write_str(escaped.as_str().unwrap_or_default()).map_err(written)
        }
        _ => {
            let text = python::str(value, &mut vm).map_err(raise)?;
            if text.len() > FREE {
                vm.charge(text.len() as u64 / 8).map_err(raise)?;
            }
            out.write_str(&text).map_err(written)
        }
    }
}

fn written(error: std::fmt::Error) -> Error {
    Error::new(ErrorKind::WriteFailure, "output").with_source(error)
}

/// `jinja2.nativetypes.native_concat`: nothing is None, a single value stays what it is, everything else is joined as
/// text; text that is a Python literal becomes the literal's value.
pub(crate) fn concat(pieces: Vec<Value>, it: &mut dyn Interp) -> PyResult {
    let raw = match pieces.as_slice() {
        [] => return Ok(python::none()),
        [only] => match python::text(only) {
            Some(_) => only.clone(),
            None => return Ok(only.clone()),
        },
        _ => {
            let mut text = String::new();
            for piece in &pieces {
                match view(piece) {
                    View::Str(part) => text.push_str(part),
                    _ => text.push_str(&python::str(piece, it)?),
                }
            }
            Value::from(text)
        }
    };
    let text = python::text(&raw).unwrap_or_default();
    match python::literal_eval(text) {
        Ok(value) => Ok(value),
        Err(error) if matches!(&*error.class, "ValueError" | "SyntaxError" | "IndentationError" | "MemoryError") => {
            Ok(raw)
        }
        Err(error) => Err(error),
    }
}
