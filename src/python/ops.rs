//! Operators on values of any type.

use super::number::{self, Num};
use super::seq::Repeat;
use super::{
    BinOp, CmpOp, Interp, List, PyErr, PyResult, Tuple, UnaryOp, Value, View, bytes, downcast, identical,
    identical_or_equal, markup, printf, type_name, view,
};

fn swapped(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => other,
    }
}

fn symbol(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

/// `a < b` and its kin.
pub fn compare(op: CmpOp, a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    match (view(a), view(b)) {
        (View::Int(x), View::Int(y)) => return Ok(number::holds(op, x.cmp(&y))),
        (View::Str(x), View::Str(y)) => return Ok(number::holds(op, x.cmp(y))),
        (View::Bytes(x), View::Bytes(y)) => return Ok(number::holds(op, x.cmp(y))),
        (View::Object(x), _) => {
            if let Some(result) = x.compare(op, b, it) {
                return result;
            }
            if let View::Object(y) = view(b)
                && let Some(result) = y.compare(swapped(op), a, it)
            {
                return result;
            }
        }
        (_, View::Object(y)) => {
            if let Some(result) = y.compare(swapped(op), a, it) {
                return result;
            }
        }
        _ => {}
    }
    if let (Some(x), Some(y)) = (Num::of(a), Num::of(b)) {
        return Ok(number::compare(op, x, y));
    }
    if let (Some(x), Some(y)) = (super::text(a), super::text(b)) {
        return Ok(number::holds(op, x.cmp(y)));
    }
    match op {
        CmpOp::Eq => Ok(identical(a, b)),
        CmpOp::Ne => Ok(!identical(a, b)),
        _ => Err(PyErr::type_error(format!(
            "'{}' not supported between instances of '{}' and '{}'",
            symbol(op),
            type_name(a),
            type_name(b)
        ))),
    }
}

/// `item in container`.
pub fn contains(container: &Value, item: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    match view(container) {
        View::Str(text) => str_contains(text, item),
        View::Bytes(bytes) => bytes::contains(bytes, item),
        View::Object(object) => {
            if let Some(result) = object.contains(item, it) {
                return result;
            }
            if let Some(text) = object.as_text() {
                return str_contains(text, item);
            }
            let Some(iter) = object.iter(container, it) else { return Err(not_a_container(container)) };
            let mut iter = iter?;
            while let Some(candidate) = iter.next(it)? {
                it.charge(1)?;
                if identical_or_equal(&candidate, item, it)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(not_a_container(container)),
    }
}

fn not_a_container(value: &Value) -> PyErr {
    PyErr::type_error(format!("argument of type '{}' is not iterable", type_name(value)))
}

fn str_contains(text: &str, item: &Value) -> PyResult<bool> {
    match super::text(item) {
        Some(part) => Ok(text.contains(part)),
        None => {
            Err(PyErr::type_error(format!("'in <string>' requires string as left operand, not {}", type_name(item))))
        }
    }
}

fn op_symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::FloorDiv => "//",
        BinOp::Mod => "%",
        BinOp::Pow => "** or pow()",
    }
}

/// `a + b` and its kin.
pub fn binary(op: BinOp, a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult {
    let (left, right) = (view(a), view(b));
    match (&left, &right) {
        (View::Int(x), View::Int(y)) => return number::binary(op, Num::Int(*x), Num::Int(*y), it),
        (View::Str(x), View::Str(y)) if op == BinOp::Add && !a.is_safe() && !b.is_safe() => {
            it.allocate(x.len() + y.len())?;
            return Ok(Value::from([*x, *y].concat()));
        }
        _ => {}
    }
    if let (Some(x), Some(y)) = (Num::of(a), Num::of(b)) {
        return number::binary(op, x, y, it);
    }
    if op == BinOp::Mod && matches!(left, View::Bytes(_)) {
        return Err(PyErr::unsupported("`%` of bytes"));
    }
    if a.is_safe() || b.is_safe() {
        if let Some(result) = markup::binary(op, a, b, it) {
            return result;
        }
    } else if op == BinOp::Mod {
        // `str % x` comes before anything the right side could do
        if let View::Str(text) = left {
            return printf::format(text, b, it).map(Value::from);
        }
    }
    if let View::Object(object) = left
        && let Some(result) = object.binary(op, b, false, it)
    {
        return result;
    }
    if let View::Object(object) = right
        && let Some(result) = object.binary(op, a, true, it)
    {
        return result;
    }
    match op {
        BinOp::Add => concatenate(a, b, it),
        BinOp::Mul => multiply(a, b, it),
        // a subclass of str without directives is the result itself
        BinOp::Mod if super::text(a).is_some_and(|text| !text.contains('%')) => {
            printf::format(super::text(a).unwrap_or_default(), b, it).map(|_| a.clone())
        }
        BinOp::Mod if super::text(a).is_some() => {
            printf::format(super::text(a).unwrap_or_default(), b, it).map(Value::from)
        }
        _ => Err(unsupported_operands(op, a, b)),
    }
}

fn unsupported_operands(op: BinOp, a: &Value, b: &Value) -> PyErr {
    PyErr::type_error(format!(
        "unsupported operand type(s) for {}: '{}' and '{}'",
        op_symbol(op),
        type_name(a),
        type_name(b)
    ))
}

fn concatenate(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(x) = super::text(a) {
        let Some(y) = super::text(b) else {
            return Err(PyErr::type_error(format!("can only concatenate str (not \"{}\") to str", type_name(b))));
        };
        it.allocate(x.len() + y.len())?;
        return Ok(Value::from([x, y].concat()));
    }
    if let View::Bytes(x) = view(a) {
        let View::Bytes(y) = view(b) else {
            return Err(PyErr::type_error(format!("can't concat {} to bytes", type_name(b))));
        };
        it.allocate(x.len() + y.len())?;
        return Ok(Value::from_bytes([x, y].concat()));
    }
    if let Some(x) = downcast::<List>(a) {
        let Some(y) = downcast::<List>(b) else {
            return Err(PyErr::type_error(format!("can only concatenate list (not \"{}\") to list", type_name(b))));
        };
        it.allocate((x.size() + y.size()) * 16)?;
        let mut items = x.snapshot();
        items.extend(y.snapshot());
        return Ok(super::list(items));
    }
    if let Some(x) = downcast::<Tuple>(a) {
        let Some(y) = downcast::<Tuple>(b) else {
            return Err(PyErr::type_error(format!("can only concatenate tuple (not \"{}\") to tuple", type_name(b))));
        };
        it.allocate((x.items().len() + y.items().len()) * 16)?;
        return Ok(super::tuple([x.items(), y.items()].concat()));
    }
    Err(unsupported_operands(BinOp::Add, a, b))
}

/// Repeats a sequence; `None` when the value is not one.
fn repeat(value: &Value, times: &Value, it: &mut dyn Interp) -> Option<PyResult> {
    let sequence = super::text(value).is_some()
        || matches!(view(value), View::Bytes(_))
        || downcast::<List>(value).is_some()
        || downcast::<Tuple>(value).is_some();
    if !sequence {
        return None;
    }
    let count = match view(times) {
        View::Int(int) => int,
        View::Bool(bool) => i64::from(bool),
        _ if number::big(times).is_some() => {
            return Some(Err(PyErr::overflow("cannot fit 'int' into an index-sized integer")));
        }
        _ => {
            return Some(Err(PyErr::type_error(format!(
                "can't multiply sequence by non-int of type '{}'",
                type_name(times)
            ))));
        }
    };
    let times = usize::try_from(count).unwrap_or(0);
    Some(if let Some(text) = super::text(value) {
        it.allocate(text.len().saturating_mul(times)).map(|()| Value::from(text.repeat(times)))
    } else if let View::Bytes(bytes) = view(value) {
        it.allocate(bytes.len().saturating_mul(times)).map(|()| Value::from_bytes(bytes.repeat(times)))
    } else if let Some(list) = downcast::<List>(value) {
        list.repeat(count, it)
    } else if let Some(tuple) = downcast::<Tuple>(value) {
        tuple.repeat(count, it)
    } else {
        return None;
    })
}

fn multiply(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(result) = repeat(a, b, it) {
        return result;
    }
    repeat(b, a, it).unwrap_or_else(|| Err(unsupported_operands(BinOp::Mul, a, b)))
}

/// `-a` and `+a`.
pub fn unary(op: UnaryOp, a: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(num) = Num::of(a) {
        return Ok(number::unary(op, num));
    }
    if let View::Object(object) = view(a)
        && let Some(result) = object.unary(op, it)
    {
        return result;
    }
    let symbol = if op == UnaryOp::Neg { '-' } else { '+' };
    Err(PyErr::type_error(format!("bad operand type for unary {symbol}: '{}'", type_name(a))))
}
