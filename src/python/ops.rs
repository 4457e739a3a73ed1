//! Operators and builtin functions on values of any type.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::number::{self, Num};
use super::seq::{self, Indices, Repeat};
use super::{
    Args, BinOp, CmpOp, Complex, Interp, List, Markup, PyErr, PyResult, Range, Slice, Tuple, UnaryOp, Value, View,
    bytes, cargs, downcast, float, guard, markup, object, printf, repr as text_repr, spec, str_methods, view,
};

/// `None`.
pub fn none() -> Value {
    Value::from(())
}

/// `type(x).__name__`: unlike [`type_name`], which C code prints with its module, the bare name.
pub fn class_name(value: &Value) -> String {
    let name = type_name(value);
    name.rsplit('.').next().map(str::to_owned).unwrap_or(name)
}

/// `type(x).__name__`.
pub fn type_name(value: &Value) -> String {
    match view(value) {
        View::None => "NoneType".to_owned(),
        View::Bool(_) => "bool".to_owned(),
        View::Int(_) => "int".to_owned(),
        View::Float(_) => "float".to_owned(),
        View::Str(_) => if value.is_safe() { "Markup" } else { "str" }.to_owned(),
        View::Bytes(_) => "bytes".to_owned(),
        View::Object(object) => object.type_name().to_owned(),
        View::Foreign => "object".to_owned(),
    }
}

/// `AttributeError: 'X' object has no attribute 'y'`.
pub fn no_attribute(value: &Value, name: &str) -> PyErr {
    PyErr::attribute_error(format!("'{}' object has no attribute '{name}'", type_name(value)))
}

/// `bool(x)`.
#[inline]
pub fn truth(value: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    match view(value) {
        View::None => Ok(false),
        View::Bool(bool) => Ok(bool),
        View::Int(int) => Ok(int != 0),
        View::Float(float) => Ok(float != 0.0),
        View::Str(text) => Ok(!text.is_empty()),
        View::Bytes(bytes) => Ok(!bytes.is_empty()),
        View::Object(object) => object.truth(it),
        View::Foreign => Ok(value.is_true()),
    }
}

/// Appends `repr(x)`.
pub(crate) fn push_repr(value: &Value, out: &mut String, it: &mut dyn Interp) -> PyResult<()> {
    match view(value) {
        View::Int(int) => {
            let _ = write!(out, "{int}");
        }
        _ => out.push_str(&repr(value, it)?),
    }
    Ok(())
}

/// `repr(x)`.
pub fn repr(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    Ok(match view(value) {
        View::None => "None".to_owned(),
        View::Bool(true) => "True".to_owned(),
        View::Bool(false) => "False".to_owned(),
        View::Int(int) => int.to_string(),
        View::Float(float) => text_repr::repr_float(float),
        View::Str(text) if value.is_safe() => format!("Markup({})", text_repr::repr_str(text)),
        View::Str(text) => text_repr::repr_str(text),
        View::Bytes(bytes) => text_repr::repr_bytes(bytes),
        View::Object(object) => return object.repr(it),
        View::Foreign => return Err(PyErr::unsupported("printing this object")),
    })
}

/// `str(x)`.
pub fn str(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    match view(value) {
        View::Str(text) => Ok(text.to_owned()),
        View::Object(object) => object.str(it),
        _ => repr(value, it),
    }
}

/// `format(x, spec)`.
pub fn format(value: &Value, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
    match view(value) {
        View::Str(text) => spec::format_str(text, spec, if value.is_safe() { "Markup" } else { "str" }, it),
        View::Bool(_) if spec.is_empty() => str(value, it),
        View::Bool(bool) => spec::format_integral(&Num::Int(i64::from(bool)), spec, "bool", it),
        View::Int(int) => spec::format_int(&Num::Int(int), spec, it),
        View::Float(float) => spec::format_float(float, spec, it),
        View::Object(object) => object.format(spec, it),
        _ if spec.is_empty() => str(value, it),
        _ => Err(PyErr::type_error(format!("unsupported format string passed to {}.__format__", type_name(value)))),
    }
}

/// `a is b`, as far as values can tell: objects by identity, everything else by type and value.
pub fn identical(a: &Value, b: &Value) -> bool {
    match (view(a), view(b)) {
        (View::Object(x), View::Object(y)) => guard::address(x) == guard::address(y) && !x.is_always_new(),
        (View::None, View::None) => true,
        (View::Bool(x), View::Bool(y)) => x == y,
        (View::Int(x), View::Int(y)) => x == y,
        (View::Float(x), View::Float(y)) => x.to_bits() == y.to_bits(),
        (View::Str(x), View::Str(y)) => x == y && a.is_safe() == b.is_safe(),
        (View::Bytes(x), View::Bytes(y)) => x == y,
        _ => false,
    }
}

/// `a is b or a == b`: how containers compare their items.
pub fn identical_or_equal(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    if identical(a, b) { Ok(true) } else { compare(CmpOp::Eq, a, b, it) }
}

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

/// The number of code points of a text.
pub(crate) fn char_count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// `len(x)`.
pub fn len(value: &Value, it: &mut dyn Interp) -> PyResult<usize> {
    match view(value) {
        View::Str(text) => return Ok(char_count(text)),
        View::Bytes(bytes) => return Ok(bytes.len()),
        View::Object(object) => {
            if let Some(len) = object.len(it) {
                return len;
            }
            if let Some(text) = object.as_text() {
                return Ok(char_count(text));
            }
        }
        _ => {}
    }
    Err(PyErr::type_error(format!("object of type '{}' has no len()", type_name(value))))
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

/// The code point at an index.
fn char_at(text: &str, key: &Value) -> PyResult {
    let wrong = "string indices must be integers";
    let error = |error: PyErr| {
        if error.class == "TypeError" {
            PyErr::type_error(format!("string indices must be integers, not '{}'", type_name(key)))
        } else {
            error
        }
    };
    let at = seq::position(key, char_count(text), "string index out of range", wrong).map_err(error)?;
    let found = if text.is_ascii() { text.get(at..=at) } else { None };
    if let Some(found) = found {
        return Ok(Value::from(found));
    }
    let c = text.chars().nth(at).unwrap_or_default();
    Ok(Value::from(&*c.encode_utf8(&mut [0; 4])))
}

/// `x[key]`.
pub fn getitem(value: &Value, key: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(cut) = downcast::<Slice>(key)
        && !matches!(view(value), View::Object(object) if object.as_text().is_none() && !is_sequence(value))
    {
        return slice(value, &cut.start, &cut.stop, &cut.step, it);
    }
    match view(value) {
        View::Str(text) => {
            let item = char_at(text, key)?;
            Ok(if value.is_safe() { Markup::wrap(super::text(&item).unwrap_or_default()) } else { item })
        }
        View::Bytes(bytes) => {
            let wrong = "byte indices must be integers or slices";
            let at = seq::position(key, bytes.len(), "index out of range", wrong)?;
            Ok(Value::from(i64::from(bytes.get(at).copied().unwrap_or_default())))
        }
        View::Object(object) => match object.getitem(key, it) {
            Some(result) => result,
            None => match object.as_text() {
                Some(text) => char_at(text, key),
                None => Err(not_subscriptable(value)),
            },
        },
        _ => Err(not_subscriptable(value)),
    }
}

fn not_subscriptable(value: &Value) -> PyErr {
    if let Some(ty) = downcast::<super::Type>(value) {
        return PyErr::type_error(format!("type '{}' is not subscriptable", ty.name()));
    }
    PyErr::type_error(format!("'{}' object is not subscriptable", type_name(value)))
}

fn is_sequence(value: &Value) -> bool {
    downcast::<List>(value).is_some() || downcast::<Tuple>(value).is_some() || downcast::<Range>(value).is_some()
}

/// `x[start:stop:step]`; what was not written is `None`.
pub fn slice(value: &Value, start: &Value, stop: &Value, step: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(text) = super::text(value) {
        let cut = slice_str(text, start, stop, step)?;
        return Ok(if value.is_safe() { Markup::wrap(cut) } else { Value::from(cut) });
    }
    if let View::Bytes(bytes) = view(value) {
        return Ok(Value::from_bytes(seq::pick(bytes, Indices::new(start, stop, step, bytes.len())?)));
    }
    if let Some(list) = downcast::<List>(value) {
        return Ok(list.slice(Indices::new(start, stop, step, list.size())?));
    }
    if let Some(tuple) = downcast::<Tuple>(value) {
        return Ok(tuple.slice(Indices::new(start, stop, step, tuple.items().len())?));
    }
    if let Some(range) = downcast::<Range>(value) {
        return range.slice(start, stop, step);
    }
    let key = object(Slice { start: start.clone(), stop: stop.clone(), step: step.clone() });
    match view(value) {
        View::Object(object) => object.getitem(&key, it).unwrap_or_else(|| Err(not_subscriptable(value))),
        _ => Err(not_subscriptable(value)),
    }
}

fn slice_str(text: &str, start: &Value, stop: &Value, step: &Value) -> PyResult<String> {
    let indices = Indices::new(start, stop, step, char_count(text))?;
    if text.is_ascii() {
        let bytes = seq::pick(text.as_bytes(), indices);
        return Ok(String::from_utf8(bytes).unwrap_or_default());
    }
    if indices.step == 1 {
        return Ok(text.chars().skip(indices.start as usize).take(indices.count).collect());
    }
    let chars: Vec<char> = text.chars().collect();
    Ok(indices.iter().filter_map(|at| chars.get(at)).collect())
}

/// True when `x.name` is a method of the value's type.
pub fn has_method(value: &Value, name: &str) -> bool {
    match view(value) {
        View::Str(_) => str_methods::has(name) || (value.is_safe() && markup::has(name)),
        View::Bytes(_) => bytes::has(name),
        View::Int(_) | View::Bool(_) => number_method(name),
        View::Float(_) => matches!(name, "is_integer" | "as_integer_ratio" | "conjugate" | "hex" | "fromhex"),
        View::Object(object) => {
            object.has_method(name)
                || (object.as_text().is_some() && str_methods::has(name))
                || (number::big(value).is_some() && number_method(name))
        }
        _ => false,
    }
}

fn number_method(name: &str) -> bool {
    matches!(name, "bit_length" | "bit_count" | "conjugate" | "as_integer_ratio" | "to_bytes" | "from_bytes")
}

/// `getattr(x, name)`; `None` is `AttributeError`.
pub fn getattr(value: &Value, name: &str, it: &mut dyn Interp) -> PyResult<Option<Value>> {
    if let View::Object(object) = view(value)
        && let Some(result) = object.getattr(name, it)
    {
        return result.map(Some);
    }
    if has_method(value, name) {
        return Ok(Some(super::bound_method(value, name)));
    }
    if let Some(num) = Num::of(value) {
        return Ok(match (name, num) {
            ("real" | "numerator", Num::Int(int)) => Some(Value::from(int)),
            ("real" | "numerator", Num::Big(_)) => Some(value.clone()),
            ("imag", Num::Int(_) | Num::Big(_)) => Some(Value::from(0)),
            ("denominator", Num::Int(_) | Num::Big(_)) => Some(Value::from(1)),
            ("real", Num::Float(float)) => Some(Value::from(float)),
            ("imag", Num::Float(_)) => Some(Value::from(0.0)),
            _ => special_attribute(value, name)?,
        });
    }
    special_attribute(value, name)
}

/// `__x__` of builtins exists in Python and is nothing a template should need.
fn special_attribute(value: &Value, name: &str) -> PyResult<Option<Value>> {
    if name == "__class__"
        && let Some(class) = super::types::class_of(value)
    {
        return Ok(Some(super::builtin_type(class)));
    }
    if name.len() > 4 && name.starts_with("__") && name.ends_with("__") && COMMON_SPECIAL.contains(&name) {
        return Err(PyErr::unsupported(format!("the attribute '{name}' of a '{}'", type_name(value))));
    }
    Ok(None)
}

const COMMON_SPECIAL: &[&str] = &[
    "__class__",
    "__doc__",
    "__dict__",
    "__module__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__contains__",
    "__add__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__str__",
    "__repr__",
    "__hash__",
    "__init__",
    "__new__",
    "__format__",
    "__sizeof__",
    "__dir__",
    "__reduce__",
    "__reduce_ex__",
    "__getattribute__",
    "__setattr__",
    "__delattr__",
    "__init_subclass__",
    "__subclasshook__",
    "__mul__",
    "__mod__",
    "__rmul__",
    "__rmod__",
    "__next__",
    "__call__",
    "__name__",
    "__qualname__",
    "__self__",
    "__int__",
    "__float__",
    "__bool__",
    "__index__",
    "__abs__",
    "__neg__",
    "__sub__",
    "__pow__",
    "__truediv__",
    "__floordiv__",
    "__setitem__",
    "__delitem__",
    "__reversed__",
    "__getnewargs__",
    "__getstate__",
    "__html__",
    "__or__",
    "__ror__",
    "__ior__",
    "__iadd__",
    "__imul__",
    "__class_getitem__",
    "__func__",
    "__wrapped__",
    "__globals__",
    "__code__",
    "__defaults__",
    "__closure__",
];

/// True when `callable(x)`.
pub fn is_callable(value: &Value) -> bool {
    matches!(view(value), View::Object(object) if object.is_callable())
}

/// `f(...)`.
pub fn call(callee: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match view(callee) {
        View::Object(object) => object.call(args, it),
        View::Foreign => it.call(callee, args),
        _ => Err(PyErr::type_error(format!("'{}' object is not callable", type_name(callee)))),
    }
}

/// `x.name(...)`.
pub fn call_method(value: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match view(value) {
        View::Str(text) => {
            if value.is_safe() {
                return markup::call_method(value, text, name, args, it);
            }
            if str_methods::has(name) {
                return str_methods::call(text, name, args, it);
            }
        }
        View::Bytes(data) if bytes::has(name) => return bytes::call(data, name, args, it),
        View::Object(object) => {
            if object.has_method(name) {
                return object.call_method(value, name, args, it);
            }
            if let Some(attribute) = object.getattr(name, it) {
                return it.call(&attribute?, args);
            }
            if let Some(text) = object.as_text()
                && str_methods::has(name)
            {
                return str_methods::call(text, name, args, it);
            }
        }
        _ => {}
    }
    if has_method(value, name) {
        return float::call_number_method(value, name, args, it);
    }
    match getattr(value, name, it)? {
        Some(attribute) => it.call(&attribute, args),
        None => Err(no_attribute(value, name)),
    }
}

/// `sorted(items, key=..., reverse=...)`: stable, by `<` alone.
pub fn sorted(items: Vec<Value>, key: Option<&Value>, reverse: bool, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    let mut keyed: Vec<(Value, Value)> = Vec::with_capacity(items.len());
    for item in items {
        let by = match key {
            Some(key) => it.call(key, &Args::positional(std::slice::from_ref(&item)))?,
            None => item.clone(),
        };
        keyed.push((by, item));
    }
    sort_keyed(&mut keyed, reverse, it)?;
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// Sorts pairs of key and item by key as `list.sort` does; the first failing comparison is the error.
pub fn sort_keyed(keyed: &mut Vec<(Value, Value)>, reverse: bool, it: &mut dyn Interp) -> PyResult<()> {
    it.charge(keyed.len() as u64 / 4)?;
    // Python reverses before and after, which keeps equal items in order
    if reverse {
        keyed.reverse();
    }
    let result = super::sort::merge_sort(keyed, it);
    if reverse {
        keyed.reverse();
    }
    result
}

/// The order of two values by `<`, for searching the smallest.
pub fn less(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    compare(CmpOp::Lt, a, b, it)
}

/// `round(x, ndigits)`; `None` for no digits.
pub fn round(value: &Value, ndigits: Option<&Value>, it: &mut dyn Interp) -> PyResult {
    let Some(num) = Num::of(value) else {
        return Err(PyErr::type_error(format!("type {} doesn't define __round__ method", type_name(value))));
    };
    let digits = match ndigits {
        Some(value) if !value.is_none() => Some(cargs::index(value)?),
        _ => None,
    };
    match (num, digits) {
        (Num::Float(float), None) => float::round_float_to_int(float),
        (Num::Float(float), Some(digits)) => float::round_float(float, digits).map(Value::from),
        (num, digits) => number::round_int(&num.to_bigint().unwrap_or_default(), digits.unwrap_or(0), it),
    }
}

/// `abs(x)`.
pub fn abs(value: &Value, it: &mut dyn Interp) -> PyResult {
    match Num::of(value) {
        Some(Num::Float(float)) => Ok(Value::from(float.abs())),
        Some(num) if number::order(num, Num::Int(0)) == Some(Ordering::Less) => Ok(number::unary(UnaryOp::Neg, num)),
        Some(num) => Ok(number::unary(UnaryOp::Pos, num)),
        None if downcast::<Complex>(value).is_some() => {
            downcast::<Complex>(value).map_or(Ok(0.0), |complex| complex.magnitude()).map(Value::from)
        }
        None => {
            // timedelta and its kin: -x where x is negative
            if let View::Object(object) = view(value)
                && object.has_method("__abs__")
            {
                return object.call_method(value, "__abs__", &Args::default(), it);
            }
            Err(PyErr::type_error(format!("bad operand type for abs(): '{}'", type_name(value))))
        }
    }
}
