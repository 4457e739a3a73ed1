//! Operators, literals and conditions as filters.

use minijinja::value::Object;
use minijinja::{Environment as Mini, Error, State};
use num_bigint::BigInt;

use super::vm::{Vm, raise};
use super::{Outcome, argument};
use crate::python::{self, BinOp, CmpOp, PyErr, UnaryOp, Value, View, view};

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    macro_rules! binary {
        ($($name:literal => $op:ident),*) => {$(
            mini.add_filter($name, |state: &mut State<'_, '_>, args: &[Value]| binary(state, BinOp::$op, args));
        )*};
    }
    binary!("add" => Add, "sub" => Sub, "mul" => Mul, "div" => Div, "floordiv" => FloorDiv, "mod" => Mod, "pow" => Pow);
    macro_rules! compare {
        ($($name:literal => $op:ident),*) => {$(
            mini.add_filter($name, |state: &mut State<'_, '_>, args: &[Value]| compare(state, CmpOp::$op, args));
        )*};
    }
    compare!("eq" => Eq, "ne" => Ne, "lt" => Lt, "le" => Le, "gt" => Gt, "ge" => Ge);
    mini.add_filter("contained", |state: &mut State<'_, '_>, args: &[Value]| contained(state, args).map(Value::from));
    mini.add_filter("not_contained", |state: &mut State<'_, '_>, args: &[Value]| {
        contained(state, args).map(|found| Value::from(!found))
    });
    mini.add_filter("neg", |state: &mut State<'_, '_>, args: &[Value]| unary(state, UnaryOp::Neg, args));
    mini.add_filter("pos", |state: &mut State<'_, '_>, args: &[Value]| unary(state, UnaryOp::Pos, args));
    mini.add_filter("truth", |state: &mut State<'_, '_>, args: &[Value]| {
        truth(state, argument(args, 0)).map(Value::from)
    });
    mini.add_filter("negate", |state: &mut State<'_, '_>, args: &[Value]| {
        truth(state, argument(args, 0)).map(|truth| Value::from(!truth))
    });
    mini.add_filter("boolean", boolean);
    mini.add_filter("operand", |args: &[Value]| operand(argument(args, 0)));
    mini.add_filter("compare_first", |state: &mut State<'_, '_>, args: &[Value]| {
        chained(state, argument(args, 0).clone(), args, true)
    });
    mini.add_filter("compare_next", |state: &mut State<'_, '_>, args: &[Value]| {
        let left = pop_operand(state)?;
        chained(state, left, args, true)
    });
    mini.add_filter("compare_last", |state: &mut State<'_, '_>, args: &[Value]| {
        let left = pop_operand(state)?;
        chained(state, left, args, false)
    });
    mini.add_filter("concat", concat);
    mini.add_filter("list", |args: &[Value]| python::list(args.get(1..).unwrap_or_default().to_vec()));
    mini.add_filter("tuple", |args: &[Value]| python::tuple(args.get(1..).unwrap_or_default().to_vec()));
    mini.add_filter("dict", |args: &[Value]| dict(args.get(1..).unwrap_or_default().to_vec()));
    mini.add_filter("list_of", |args: &[Value]| long(args).map(python::list));
    mini.add_filter("tuple_of", |args: &[Value]| long(args).map(python::tuple));
    mini.add_filter("dict_of", |args: &[Value]| long(args).and_then(dict));
    mini.add_filter("big_int", |args: &[Value]| {
        let digits = argument(args, 0).as_str().unwrap_or_default();
        python::int(BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default())
    });
    mini.add_filter("float", |args: &[Value]| {
        Value::from(argument(args, 0).as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN))
    });
}

/// Arithmetic of integers that fit, which needs nobody.
#[inline]
pub(super) fn quick_binary(op: BinOp, a: &Value, b: &Value) -> Option<Value> {
    let (View::Int(x), View::Int(y)) = (view(a), view(b)) else { return None };
    let result = match op {
        BinOp::Add => x.checked_add(y),
        BinOp::Sub => x.checked_sub(y),
        BinOp::Mul => x.checked_mul(y),
        _ => None,
    };
    result.map(Value::from)
}

fn binary(state: &mut State<'_, '_>, op: BinOp, args: &[Value]) -> Outcome {
    let (a, b) = (argument(args, 0), argument(args, 1));
    if let Some(result) = quick_binary(op, a, b) {
        return Ok(result);
    }
    super::is_set(a)?;
    super::is_set(b)?;
    let mut vm = Vm::new(state)?;
    python::binary(op, a, b, &mut vm).map_err(raise)
}

fn unary(state: &mut State<'_, '_>, op: UnaryOp, args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    python::unary(op, argument(args, 0), &mut vm).map_err(raise)
}

fn compare(state: &mut State<'_, '_>, op: CmpOp, args: &[Value]) -> Outcome {
    test(state, op, argument(args, 0), argument(args, 1)).map(Value::from)
}

/// Comparison of integers that fit and of texts, which needs nobody.
#[inline]
pub(super) fn quick_compare(op: CmpOp, a: &Value, b: &Value) -> Option<bool> {
    let order = match (view(a), view(b)) {
        (View::Int(x), View::Int(y)) => x.cmp(&y),
        (View::Str(x), View::Str(y)) => x.cmp(y),
        _ => return None,
    };
    Some(python::holds(op, order))
}

fn test(state: &mut State<'_, '_>, op: CmpOp, a: &Value, b: &Value) -> Result<bool, Error> {
    if let Some(holds) = quick_compare(op, a, b) {
        return Ok(holds);
    }
    super::is_set(a)?;
    super::is_set(b)?;
    let mut vm = Vm::new(state)?;
    python::compare(op, a, b, &mut vm).map_err(raise)
}

fn contained(state: &mut State<'_, '_>, args: &[Value]) -> Result<bool, Error> {
    let mut vm = Vm::new(state)?;
    python::contains(argument(args, 1), argument(args, 0), &mut vm).map_err(raise)
}

/// Truth of values whose truth needs nobody.
#[inline]
pub(super) fn plain_truth(value: &Value) -> Option<bool> {
    match view(value) {
        View::Object(_) | View::Foreign => None,
        _ => Some(value.is_true()),
    }
}

pub(super) fn truth(state: &mut State<'_, '_>, value: &Value) -> Result<bool, Error> {
    match plain_truth(value) {
        Some(truth) => Ok(truth),
        None => {
            super::is_set(value)?;
            python::truth(value, &mut Vm::new(state)?).map_err(raise)
        }
    }
}

/// A false object on its way through `and` and `or`: minijinja sees its truth, and the value comes out again.
#[derive(Debug)]
struct FalseObject(Value);

impl Object for FalseObject {
    fn is_true(self: &std::sync::Arc<Self>) -> bool {
        false
    }
}

/// An operand whose truth minijinja can see.
fn boolean(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let value = argument(args, 0);
    match plain_truth(value) {
        Some(_) => Ok(value.clone()),
        None if truth(state, value)? => Ok(value.clone()),
        None => Ok(Value::from_object(FalseObject(value.clone()))),
    }
}

fn operand(value: &Value) -> Value {
    match value.downcast_object_ref::<FalseObject>() {
        Some(object) => object.0.clone(),
        None => value.clone(),
    }
}

fn pop_operand(state: &mut State<'_, '_>) -> Outcome {
    Ok(super::vm::core(state)?.machine().operands.pop().unwrap_or_default())
}

/// One link of a comparison chain; the right operand is kept when another link follows.
fn chained(state: &mut State<'_, '_>, left: Value, args: &[Value], more: bool) -> Outcome {
    let right = argument(args, 2);
    let holds = match argument(args, 1).as_str().unwrap_or_default() {
        "eq" => test(state, CmpOp::Eq, &left, right)?,
        "ne" => test(state, CmpOp::Ne, &left, right)?,
        "lt" => test(state, CmpOp::Lt, &left, right)?,
        "le" => test(state, CmpOp::Le, &left, right)?,
        "gt" => test(state, CmpOp::Gt, &left, right)?,
        "ge" => test(state, CmpOp::Ge, &left, right)?,
        "contained" => contained(state, &[left, right.clone()])?,
        _ => !contained(state, &[left, right.clone()])?,
    };
    if holds && more {
        super::vm::core(state)?.machine().operands.push(right.clone());
    }
    Ok(Value::from(holds))
}

/// Short texts joined; `None` where anything else is among them.
fn joined(args: &[Value]) -> Option<Value> {
    const SHORT: usize = 256;
    let mut size = 0;
    for value in args {
        match view(value) {
            View::Str(text) => size += text.len(),
            _ => return None,
        }
    }
    if size > SHORT {
        return None;
    }
    let mut out = String::with_capacity(size);
    args.iter().for_each(|value| out.push_str(value.as_str().unwrap_or_default()));
    Some(Value::from(out))
}

/// `a ~ b`: `str_join`, or `markup_join` inside `autoescape`.
pub(super) fn concat(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let autoescape = super::autoescape(state);
    if !autoescape && let Some(joined) = joined(args) {
        return Ok(joined);
    }
    let mut vm = Vm::new(state)?;
    let mut out = String::new();
    let markup = autoescape && args.iter().any(super::super::markup::has_html);
    for value in args {
        match view(value) {
            View::Str(text) if !markup => out.push_str(text),
            _ if markup => {
                let escaped = super::super::markup::escape(value, &mut vm).map_err(raise)?;
                out.push_str(escaped.as_str().unwrap_or_default());
            }
            _ => out.push_str(&python::str(value, &mut vm).map_err(raise)?),
        }
        if out.len() > 4096 {
            python::Interp::allocate(&mut vm, out.len()).map_err(raise)?;
        }
    }
    Ok(if markup { Value::from_safe_string(out) } else { Value::from(out) })
}

pub(super) fn dict(items: Vec<Value>) -> Outcome {
    let mut items = items.into_iter();
    let mut pairs = Vec::with_capacity(items.len() / 2);
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        pairs.push((key, value));
    }
    python::dict(pairs).map_err(raise)
}

/// The items of a literal too long for arguments.
fn long(args: &[Value]) -> Result<Vec<Value>, Error> {
    argument(args, 1).try_iter().map(Iterator::collect).map_err(|_| raise(PyErr::unsupported("a literal this long")))
}
