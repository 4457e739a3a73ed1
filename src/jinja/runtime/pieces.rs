//! Output: how values are written, and native mode, where they are collected as they are.

use minijinja::value::Object;
use minijinja::{AutoEscape, Environment as Mini, Error, ErrorKind, Output, State};

use super::super::markup;
use super::core::Core;
use super::vm::{Vm, core, raise};
use super::{Outcome, argument};
use crate::python::{self, Dict, Interp, List, PyErr, PyResult, Tuple, Value, View, downcast, view};

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
    mini.add_filter("constant", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if !has_literal_form(value) {
            return Ok(value.clone());
        }
        let text = python::str(value, &mut Vm::new(state)?).map_err(raise)?;
        Ok(Value::from(text))
    });
    mini.add_filter("folded", |args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        match nameless_float(value) {
            Some(name) => Err(raise(PyErr::new("NameError", format!("name '{name}' is not defined")))),
            None => Ok(value.clone()),
        }
    });
    mini.add_filter("block_value", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if !super::autoescape(state) || value.is_safe() {
            return Ok(value.clone());
        }
        let text = python::str(value, &mut Vm::new(state)?).map_err(raise)?;
        Ok(Value::from_safe_string(text))
    });
    mini.add_filter("written", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if let Some(text) = python::text(value) {
            let safe = super::autoescape(state) && !value.is_safe();
            return Ok(if safe { Value::from_safe_string(text.to_owned()) } else { value.clone() });
        }
        // Jinja2 joins these pieces without turning them into text; which number the piece has depends on all others
        let message = format!("sequence item 0: expected str instance, {} found", python::type_name(value));
        Err(raise(PyErr::type_error(message)))
    });
}

/// `has_safe_repr`: values that the optimizer can write into code.
fn has_literal_form(value: &Value) -> bool {
    match view(value) {
        View::Bytes(_) | View::Foreign => false,
        View::Object(object) => {
            if let Some(items) = items(value) {
                // a named tuple is no tuple to the optimizer
                return matches!(object.type_name(), "list" | "tuple") && items.iter().all(has_literal_form);
            }
            match downcast::<Dict>(value) {
                Some(dict) => dict.items().iter().all(|(key, value)| has_literal_form(key) && has_literal_form(value)),
                None => matches!(object.type_name(), "int" | "range"),
            }
        }
        _ => true,
    }
}

fn items(value: &Value) -> Option<Vec<Value>> {
    match downcast::<List>(value) {
        Some(list) => Some(list.snapshot()),
        None => downcast::<Tuple>(value).map(Tuple::snapshot),
    }
}

/// The name Python prints for a float that has no literal, found anywhere in a folded value.
fn nameless_float(value: &Value) -> Option<&'static str> {
    match view(value) {
        View::Float(float) if float.is_nan() => Some("nan"),
        View::Float(float) if float.is_infinite() => Some("inf"),
        View::Object(_) => items(value)?.iter().find_map(nameless_float),
        _ => None,
    }
}

/// What prints nothing: its output is where it belongs already.
#[derive(Debug)]
struct Nothing;

impl Object for Nothing {}

/// A value that prints nothing.
pub(super) fn nothing() -> Value {
    Value::from_object(Nothing)
}

fn native(core: &Core) -> bool {
    core.env.native
}

/// `{{ value }}`.
fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.downcast_object_ref::<Nothing>().is_some() {
        return Ok(());
    }
    super::is_set(value)?;
    let escape = !matches!(state.auto_escape(), AutoEscape::None);
    let vm = Vm::new(state)?;
    let mut vm = vm;
    if native(&vm.core) {
        return collect(value.clone(), &mut vm).map_err(raise);
    }
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

/// Native mode: keeps a piece. At the top, Jinja2 joins pieces while the template still runs: as soon as there are two,
/// each is turned into text before anything after it happens.
fn collect(value: Value, vm: &mut Vm<'_, '_, '_>) -> PyResult<()> {
    let (pieces, joined) = {
        let mut machine = vm.core.machine();
        if machine.pieces.is_empty() {
            machine.pieces.push(Vec::new());
        }
        let joined = machine.pieces.len() == 1;
        (machine.pieces.last_mut().map(std::mem::take).unwrap_or_default(), joined)
    };
    let mut pieces = pieces;
    pieces.push(value);
    if joined && pieces.len() > 1 {
        // all but the last two are text already
        let start = if pieces.len() == 2 { 0 } else { pieces.len() - 1 };
        for piece in pieces.iter_mut().skip(start) {
            if !matches!(view(piece), View::Str(_)) {
                *piece = Value::from(python::str(piece, vm)?);
            }
        }
    }
    if let Some(own) = vm.core.machine().pieces.last_mut() {
        *own = pieces;
    }
    vm.charge(1)
}

fn written(error: std::fmt::Error) -> Error {
    Error::new(ErrorKind::WriteFailure, "output").with_source(error)
}

/// True when Python's parser refuses the text because its first line of code is indented.
fn is_indented(text: &str) -> bool {
    let code = |line: &&str| {
        let line = line.trim_start_matches([' ', '\t', '\x0c']);
        !line.is_empty() && !line.starts_with('#')
    };
    text.split(['\n', '\r']).find(code).is_some_and(|line| line.starts_with([' ', '\t']))
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
    if is_indented(text) {
        return Ok(raw);
    }
    match python::literal_eval(text) {
        Ok(value) => Ok(value),
        Err(error) if matches!(&*error.class, "ValueError" | "SyntaxError" | "IndentationError" | "MemoryError") => {
            Ok(raw)
        }
        Err(error) => Err(error),
    }
}
