//! Filters over numbers.

use num_bigint::Sign;

use crate::jinja::Cx;
use crate::jinja::undefined::as_undefined;
use crate::python::{self, Args, BinOp, Interp, PyErr, PyResult, Value, View, text, view};

use super::bind::{Sig, only_subject};

/// `abs`
pub fn abs(_: &Cx, subject: &Value, args: &Args<'_>, _: &mut dyn Interp) -> PyResult {
    only_subject("abs", args)?;
    python::abs(subject)
}

/// `do_int`
pub fn int(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [default, base] =
        Sig { name: "do_int", leading: &["value"], params: ["default", "base"], required: 0 }.bind(args)?;
    if let Some(undefined) = as_undefined(subject) {
        return Err(undefined.error(it));
    }
    let first = match text(subject) {
        Some(text) => match base.map(view) {
            None => python::parse_int(text, 10),
            Some(View::Int(base)) => python::parse_int(text, u32::try_from(base).unwrap_or(1)),
            Some(View::Bool(base)) => python::parse_int(text, u32::from(base)),
            Some(_) => Err(PyErr::type_error("the base is no int")),
        },
        None => python::to_int(subject),
    };
    match first {
        Err(error) if matches!(&*error.class, "TypeError" | "ValueError") => {}
        result => return result,
    }
    match python::to_float(subject).and_then(python::float_to_int) {
        Err(error) if matches!(&*error.class, "TypeError" | "ValueError" | "OverflowError") => {
            Ok(default.cloned().unwrap_or_else(|| Value::from(0)))
        }
        result => result,
    }
}

/// `do_float`
pub fn float(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [default] = Sig { name: "do_float", leading: &["value"], params: ["default"], required: 0 }.bind(args)?;
    if let Some(undefined) = as_undefined(subject) {
        return Err(undefined.error(it));
    }
    match python::to_float(subject) {
        Ok(float) => Ok(Value::from(float)),
        Err(error) if matches!(&*error.class, "TypeError" | "ValueError") => {
            Ok(default.cloned().unwrap_or_else(|| Value::from(0.0)))
        }
        Err(error) => Err(error),
    }
}

/// `do_round`
pub fn round(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [precision, method] =
        Sig { name: "do_round", leading: &["value"], params: ["precision", "method"], required: 0 }.bind(args)?;
    let zero = Value::from(0);
    let precision = precision.unwrap_or(&zero);
    let method = match method {
        None => "common",
        Some(method) => match text(method) {
            Some(method @ ("common" | "ceil" | "floor")) => method,
            _ => {
                python::hash_key(method)?;
                return Err(PyErr::new("FilterArgumentError", "method must be common, ceil or floor"));
            }
        },
    };
    if method == "common" {
        // CPython clips what no index holds
        let clipped = match python::big(precision) {
            Some(big) => Value::from(if big.sign() == Sign::Minus { i64::MIN + 1 } else { i64::MAX }),
            None => precision.clone(),
        };
        return python::round(subject, Some(&clipped), it);
    }
    let scale = python::binary(BinOp::Pow, &Value::from(10), precision, it)?;
    let scaled = python::binary(BinOp::Mul, subject, &scale, it)?;
    let whole = match view(&scaled) {
        View::Int(_) => scaled.clone(),
        View::Bool(bool) => Value::from(i64::from(bool)),
        View::Float(float) => python::float_to_int(if method == "ceil" { float.ceil() } else { float.floor() })?,
        _ if python::big(&scaled).is_some() => scaled.clone(),
        _ => {
            return Err(PyErr::type_error(format!("must be real number, not {}", python::type_name(&scaled))));
        }
    };
    python::binary(BinOp::Div, &whole, &scale, it)
}

/// `do_filesizeformat`
pub fn filesizeformat(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [binary] =
        Sig { name: "do_filesizeformat", leading: &["value"], params: ["binary"], required: 0 }.bind(args)?;
    if let Some(undefined) = as_undefined(subject) {
        return Err(undefined.error(it));
    }
    let bytes = match python::to_float(subject) {
        // the message shows the value as it is
        Err(error) if subject.is_safe() && error.class == "ValueError" => {
            let shown = python::repr(subject, it)?;
            return Err(PyErr::value_error(format!("could not convert string to float: {shown}")));
        }
        bytes => bytes?,
    };
    let binary = binary.map_or(Ok(false), |binary| python::truth(binary, it))?;
    let (base, prefixes): (u128, [&str; 8]) = if binary {
        (1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"])
    } else {
        (1000, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"])
    };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base as f64 {
        let whole = python::str(&python::float_to_int(bytes)?, it)?;
        return Ok(Value::from(format!("{whole} Bytes")));
    }
    let mut unit = base;
    for (index, prefix) in prefixes.iter().enumerate() {
        unit *= base;
        // the comparison is exact, as between Python's float and int
        let below = bytes.is_finite() && (bytes < 3e38) && (bytes as u128) < unit;
        if below || index == prefixes.len() - 1 {
            let amount = base as f64 * bytes / unit as f64;
            let digits = if amount.is_nan() {
                "nan".to_owned()
            } else if amount.is_infinite() {
                "inf".to_owned()
            } else {
                format!("{amount:.1}")
            };
            return Ok(Value::from(format!("{digits} {prefix}")));
        }
    }
    Ok(Value::from(""))
}
