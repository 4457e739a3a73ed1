//! Jinja2's 39 tests (`value is name`) as functions, by name.

use super::filters::{Sig, is_mapping, only_subject};
use super::markup::has_html;
use super::{Cx, FilterFn};
use crate::python::{self, Args, BinOp, CmpOp, Interp, PyErr, PyResult, Value, View, text, view};

/// Every test of Jinja2 3.1.6.
pub fn builtin() -> &'static [(&'static str, FilterFn)] {
    &[
        ("odd", odd),
        ("even", even),
        ("divisibleby", divisibleby),
        ("defined", defined),
        ("undefined", undefined),
        ("filter", filter),
        ("test", test),
        ("none", none),
        ("boolean", boolean),
        ("false", is_false),
        ("true", is_true),
        ("integer", integer),
        ("float", float),
        ("lower", lower),
        ("upper", upper),
        ("string", string),
        ("mapping", mapping),
        ("number", number),
        ("sequence", sequence),
        ("iterable", iterable),
        ("callable", callable),
        ("sameas", sameas),
        ("escaped", escaped),
        ("in", is_in),
        ("==", eq),
        ("eq", eq),
        ("equalto", eq),
        ("!=", ne),
        ("ne", ne),
        (">", gt),
        ("gt", gt),
        ("greaterthan", gt),
        ("ge", ge),
        (">=", ge),
        ("<", lt),
        ("lt", lt),
        ("lessthan", lt),
        ("<=", le),
        ("le", le),
    ]
}

fn answer(answer: bool) -> PyResult {
    Ok(Value::from(answer))
}

/// Checks that nothing but the value was given.
fn alone(name: &'static str, args: &Args<'_>) -> PyResult<()> {
    if !args.is_empty() {
        Sig::<0> { name, leading: &["value"], params: [], required: 0 }.bind(args)?;
    }
    Ok(())
}

fn remainder_is(value: &Value, divisor: &Value, wanted: i64, it: &mut dyn Interp) -> PyResult {
    let remainder = python::binary(BinOp::Mod, value, divisor, it)?;
    answer(python::compare(CmpOp::Eq, &remainder, &Value::from(wanted), it)?)
}

fn odd(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_odd", args)?;
    remainder_is(value, &Value::from(2), 1, it)
}

fn even(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_even", args)?;
    remainder_is(value, &Value::from(2), 0, it)
}

fn divisibleby(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [num] = Sig { name: "test_divisibleby", leading: &["value"], params: ["num"], required: 1 }.bind(args)?;
    remainder_is(value, num.unwrap_or(&Value::UNDEFINED), 0, it)
}

fn defined(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_defined", args)?;
    answer(!super::is_undefined(value))
}

fn undefined(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_undefined", args)?;
    answer(super::is_undefined(value))
}

fn filter(cx: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "test_filter", leading: &["env", "value"], params: [], required: 0 }.bind(args)?;
    answer(cx.env.has_filter(value)?)
}

fn test(cx: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "test_test", leading: &["env", "value"], params: [], required: 0 }.bind(args)?;
    answer(cx.env.has_test(value)?)
}

fn none(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_none", args)?;
    answer(value.is_none())
}

fn boolean(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_boolean", args)?;
    answer(matches!(view(value), View::Bool(_)))
}

fn is_false(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_false", args)?;
    answer(matches!(view(value), View::Bool(false)))
}

fn is_true(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_true", args)?;
    answer(matches!(view(value), View::Bool(true)))
}

fn integer(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_integer", args)?;
    answer(matches!(view(value), View::Int(_)) || python::big(value).is_some())
}

fn float(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_float", args)?;
    answer(matches!(view(value), View::Float(_)))
}

fn lower(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_lower", args)?;
    let text = Value::from(python::str(value, it)?);
    python::call_method(&text, "islower", &Args::default(), it)
}

fn upper(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_upper", args)?;
    let text = Value::from(python::str(value, it)?);
    python::call_method(&text, "isupper", &Args::default(), it)
}

fn string(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_string", args)?;
    answer(text(value).is_some())
}

fn mapping(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_mapping", args)?;
    answer(is_mapping(value))
}

fn number(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_number", args)?;
    answer(matches!(view(value), View::Int(_) | View::Bool(_) | View::Float(_)) || python::big(value).is_some())
}

fn sequence(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_sequence", args)?;
    // any exception of len() means no
    let sized = match python::len(value, it) {
        Ok(_) => true,
        Err(error) if matches!(&*error.class, "Unsupported" | "LimitExceeded") => return Err(error),
        Err(_) => false,
    };
    let subscripts = match view(value) {
        View::Str(_) | View::Bytes(_) => true,
        View::Object(object) => sized && (object.as_text().is_some() || object.getitem(&Value::from(0), it).is_some()),
        _ => false,
    };
    answer(sized && subscripts)
}

fn iterable(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    alone("test_iterable", args)?;
    match python::iter(value, it) {
        Ok(_) => answer(true),
        Err(error) if error.class == "TypeError" => answer(false),
        // a set can be iterated, though its order may not be told
        Err(error) if error.class == "Unsupported" => answer(true),
        Err(error) => Err(error),
    }
}

fn callable(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    only_subject("callable", args)?;
    answer(match view(value) {
        // macros and loops of the engine
        View::Foreign => true,
        _ => python::is_callable(value),
    })
}

fn sameas(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [other] = Sig { name: "test_sameas", leading: &["value"], params: ["other"], required: 1 }.bind(args)?;
    let Some(other) = other else { return answer(false) };
    if !python::identical(value, other) {
        return answer(false);
    }
    // equal numbers and texts may or may not be one object in CPython, except for those it keeps only once
    let certain = match (view(value), view(other)) {
        (View::Int(int), _) => (-5..=256).contains(&int),
        (View::Float(_), _) => false,
        // one character may be the cached one or a constant of the template's code
        (View::Str(text), View::Str(other)) => std::ptr::eq(text, other) || (text.is_empty() && !value.is_safe()),
        (View::Bytes(bytes), _) => bytes.is_empty(),
        _ => true,
    };
    if !certain {
        return Err(PyErr::unsupported("sameas of equal values: whether they are one object, only CPython knows")
            .with_hint("compare with =="));
    }
    answer(true)
}

fn escaped(_: &Cx, value: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    alone("test_escaped", args)?;
    answer(has_html(value))
}

fn is_in(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [seq] = Sig { name: "test_in", leading: &["value"], params: ["seq"], required: 1 }.bind(args)?;
    answer(python::contains(seq.unwrap_or(&Value::UNDEFINED), value, it)?)
}

/// A function of Python's `operator` module.
fn operator(name: &str, op: CmpOp, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    if !args.kw.is_empty() {
        return Err(PyErr::type_error(format!("_operator.{name}() takes no keyword arguments")));
    }
    match args.pos {
        [other] => answer(python::compare(op, value, other, it)?),
        others => Err(PyErr::type_error(format!("{name} expected 2 arguments, got {}", others.len() + 1))),
    }
}

fn eq(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("eq", CmpOp::Eq, value, args, it)
}

fn ne(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("ne", CmpOp::Ne, value, args, it)
}

fn lt(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("lt", CmpOp::Lt, value, args, it)
}

fn le(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("le", CmpOp::Le, value, args, it)
}

fn gt(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("gt", CmpOp::Gt, value, args, it)
}

fn ge(_: &Cx, value: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    operator("ge", CmpOp::Ge, value, args, it)
}
