//! Output: how values are written, and native mode, where they are collected as they are.

use minijinja::value::Object;
use minijinja::{AutoEscape, Environment as Mini, Error, ErrorKind, Output, State};

use super::super::markup;
use super::core::Core;
use super::vm::{self, Vm, core, raise};
use super::{Outcome, argument, evaluate};
use crate::python::{self, Dict, Interp, List, PyErr, PyResult, Tuple, Value, View, downcast, view};

/// Texts up to this length are paid for by the loop that writes them.
pub(super) const FREE: usize = 64;

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
        // Jinja2 joins these pieces without turning them into text, when the function they belong to ends
        let core = core(state)?;
        let mut machine = core.machine();
        if !core.exact {
            machine.again = true;
            return Err(raise(not_text(0, value)));
        }
        if let Some(frame) = machine.frames.last_mut()
            && frame.error.is_none()
        {
            frame.error = Some(not_text(frame.items, value));
        }
        Ok(nothing())
    });
    mini.add_filter("count_items", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        if let Some(frame) = core(state)?.machine().frames.last_mut() {
            frame.items += usize::try_from(argument(args, 1).as_i64().unwrap_or(0)).unwrap_or(0);
        }
        Ok(Value::from(()))
    });
    mini.add_filter("begin_frame", |state: &mut State<'_, '_>, _args: &[Value]| -> Outcome {
        Ok(Value::from(core(state)?.machine().begin()))
    });
    mini.add_filter("end_frame", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let depth = argument(args, 0).as_usize().unwrap_or(0);
        let written = core(state)?.machine().end(depth);
        written.check().map_err(raise)?;
        Ok(Value::from(()))
    });
}

/// The words before the number of an item that is no text.
const ITEM: &str = "sequence item ";

/// What `"".join` raises for an item.
pub(super) fn not_text(at: usize, value: &Value) -> PyErr {
    PyErr::type_error(format!("{ITEM}{at}: expected str instance, {} found", python::type_name(value)))
}

/// True for [`not_text`].
pub(crate) fn is_not_text(class: &str, message: &str) -> bool {
    class == "TypeError" && message.starts_with(ITEM)
}

/// The same error with so many more items before the one it is about.
pub(super) fn moved(error: PyErr, items: usize) -> PyErr {
    let numbered = error.message.strip_prefix(ITEM).and_then(|rest| rest.split_once(':'));
    match numbered.and_then(|(at, rest)| Some((at.parse::<usize>().ok()?, rest))) {
        Some((at, rest)) => PyErr::type_error(format!("{ITEM}{}:{rest}", at + items)),
        None => error,
    }
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
    if let Some(result) = evaluate::write_run(out, value) {
        return result.map_err(written);
    }
    if value.downcast_object_ref::<Nothing>().is_some() {
        return Ok(());
    }
    super::is_set(value)?;
    let escape = !matches!(state.auto_escape(), AutoEscape::None);
    if !vm::is_native(state) {
        match view(value) {
            View::Str(text) if text.len() <= FREE && (!escape || value.is_safe()) => {
                return out.write_str(text).map_err(written);
            }
            View::Int(int) if !escape => return write!(out, "{int}").map_err(written),
            _ => {}
        }
    }
    let mut vm = Vm::new(state)?;
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
        _ if escape => {
            let escaped = markup::escape(value, &mut vm).map_err(raise)?;
            out.write_str(escaped.as_str().unwrap_or_default()).map_err(written)
        }
        _ => {
            let text = printable(value, &mut vm, false).map_err(raise)?;
            if text.len() > FREE {
                vm.charge(text.len() as u64 / 8).map_err(raise)?;
            }
            out.write_str(&text).map_err(written)
        }
    }
}

/// `str(value)`. What cannot be shown at the top is no error of Airflow's: what goes wrong after it is what counts, so the
/// exact rendering goes on.
pub(super) fn printable(value: &Value, vm: &mut Vm<'_, '_, '_>, native: bool) -> PyResult<String> {
    match python::str(value, vm) {
        Err(error) if &*error.class == "Unsupported" => {
            let mut machine = vm.core.machine();
            let top = if native { machine.pieces.len() == 1 } else { machine.frames.len() == 1 };
            if !vm.core.exact {
                machine.again = true;
                return Err(error);
            }
            if !top {
                return Err(error);
            }
            Ok(String::new())
        }
        result => result,
    }
}

/// Native mode: keeps a piece. At the top, Jinja2 joins pieces while the template still runs: as soon as there are two,
/// each is turned into text before anything after it happens.
pub(super) fn collect(value: Value, vm: &mut Vm<'_, '_, '_>) -> PyResult<()> {
    let (pieces, joined) = {
        let mut machine = vm.core.machine();
        let joined = machine.pieces.len() == 1;
        (machine.pieces.last_mut().map(std::mem::take).unwrap_or_default(), joined)
    };
    let mut pieces = pieces;
    let size = value.as_str().map_or(0, str::len);
    pieces.push(value);
    if joined && pieces.len() > 1 {
        // all but the last two are text already
        let start = if pieces.len() == 2 { 0 } else { pieces.len() - 1 };
        for piece in pieces.iter_mut().skip(start) {
            if !matches!(view(piece), View::Str(_)) {
                *piece = Value::from(printable(piece, vm, true)?);
            }
        }
    }
    if let Some(own) = vm.core.machine().pieces.last_mut() {
        *own = pieces;
    }
    vm.charge(1 + size as u64 / 8)
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
                let limit = it.limits().output;
                if text.len() > limit {
                    return Err(super::too_long(limit));
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
