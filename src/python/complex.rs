//! `complex`, which a negative number to a fractional power gives.

use super::number::{Num, number_key};
use super::repr::{push_positional, shortest_digits};
use super::{Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, UnaryOp, Value, cargs, downcast, object};

/// A `complex` number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Complex {
    /// `real`
    pub real: f64,
    /// `imag`
    pub imag: f64,
}

/// The digits of a part, without the `.0` of whole numbers.
fn part(value: f64) -> String {
    if !value.is_finite() {
        return super::repr_float(value);
    }
    let (digits, exponent) = shortest_digits(value);
    let mut out = String::new();
    if value.is_sign_negative() {
        out.push('-');
    }
    push_positional(&digits, exponent, -4, 16, false, &mut out);
    out
}

impl Complex {
    /// The complex number of a value: itself, or a real number.
    fn of(value: &Value) -> Option<PyResult<Complex>> {
        if let Some(complex) = downcast::<Complex>(value) {
            return Some(Ok(*complex));
        }
        Num::of(value).map(|num| num.to_f64().map(|real| Complex { real, imag: 0.0 }))
    }

    fn times(self, other: Complex) -> Complex {
        Complex {
            real: self.real * other.real - self.imag * other.imag,
            imag: self.real * other.imag + self.imag * other.real,
        }
    }

    /// Scaled by the larger part of the divisor.
    fn divided_by(self, other: Complex) -> Option<Complex> {
        if other.real.abs() >= other.imag.abs() {
            if other.real == 0.0 {
                return None;
            }
            let ratio = other.imag / other.real;
            let scale = other.real + other.imag * ratio;
            return Some(Complex {
                real: (self.real + self.imag * ratio) / scale,
                imag: (self.imag - self.real * ratio) / scale,
            });
        }
        if other.imag.abs() >= other.real.abs() {
            let ratio = other.real / other.imag;
            let scale = other.real * ratio + other.imag;
            return Some(Complex {
                real: (self.real * ratio + self.imag) / scale,
                imag: (self.imag * ratio - self.real) / scale,
            });
        }
        Some(Complex { real: f64::NAN, imag: f64::NAN })
    }

    /// A whole power by squaring.
    fn whole_power(self, exponent: i64) -> Option<Complex> {
        let one = Complex { real: 1.0, imag: 0.0 };
        let (mut result, mut square, mut rest) = (one, self, exponent.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.times(square);
            }
            square = square.times(square);
            rest >>= 1;
        }
        if exponent < 0 { one.divided_by(result) } else { Some(result) }
    }

    fn power(self, exponent: Complex) -> PyResult<Complex> {
        let zero = || PyErr::new("ZeroDivisionError", "0.0 to a negative or complex power");
        let result = if exponent.imag == 0.0 && exponent.real.fract() == 0.0 && exponent.real.abs() <= 100.0 {
            self.whole_power(exponent.real as i64).ok_or_else(zero)?
        } else if self.real == 0.0 && self.imag == 0.0 {
            if exponent.imag != 0.0 || exponent.real < 0.0 {
                return Err(zero());
            }
            Complex { real: 0.0, imag: 0.0 }
        } else {
            let radius = self.real.hypot(self.imag);
            let angle = self.imag.atan2(self.real);
            let mut length = radius.powf(exponent.real);
            let mut phase = angle * exponent.real;
            if exponent.imag != 0.0 {
                length /= (angle * exponent.imag).exp();
                phase += exponent.imag * radius.ln();
            }
            Complex { real: length * phase.cos(), imag: length * phase.sin() }
        };
        if result.real.is_infinite() || result.imag.is_infinite() {
            return Err(PyErr::overflow("complex exponentiation"));
        }
        Ok(result)
    }

    /// `abs(x)`.
    pub(crate) fn magnitude(self) -> PyResult<f64> {
        let magnitude = self.real.hypot(self.imag);
        if magnitude.is_infinite() && self.real.is_finite() && self.imag.is_finite() {
            return Err(PyErr::overflow("absolute value too large"));
        }
        Ok(magnitude)
    }
}

/// `base ** exponent` of floats where the result is complex.
pub(crate) fn power(base: f64, exponent: f64) -> PyResult {
    let complex = |real| Complex { real, imag: 0.0 };
    complex(base).power(complex(exponent)).map(object)
}

impl PyObject for Complex {
    fn type_name(&self) -> &str {
        "complex"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        if self.real == 0.0 && self.real.is_sign_positive() {
            return Ok(format!("{}j", part(self.imag)));
        }
        let imag = part(self.imag);
        let sign = if imag.starts_with('-') { "" } else { "+" };
        Ok(format!("({}{sign}{imag}j)", part(self.real)))
    }

    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        if spec.is_empty() {
            return self.repr(it);
        }
        Err(PyErr::unsupported("a format specification for complex numbers"))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.real != 0.0 || self.imag != 0.0)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "real" => Some(Ok(Value::from(self.real))),
            "imag" => Some(Ok(Value::from(self.imag))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "conjugate"
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        if name != "conjugate" {
            return Err(super::no_attribute(this, name));
        }
        cargs::none("complex.conjugate", args)?;
        Ok(object(Complex { real: self.real, imag: -self.imag }))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = Complex::of(other)?;
        match op {
            CmpOp::Eq => Some(Ok(other.is_ok_and(|other| *self == other))),
            CmpOp::Ne => Some(Ok(!other.is_ok_and(|other| *self == other))),
            _ => None,
        }
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, _it: &mut dyn Interp) -> Option<PyResult> {
        if matches!(op, BinOp::FloorDiv | BinOp::Mod) {
            return None;
        }
        let other = match Complex::of(other)? {
            Ok(other) => other,
            Err(error) => return Some(Err(error)),
        };
        let (a, b) = if reflected { (other, *self) } else { (*self, other) };
        Some(match op {
            BinOp::Add => Ok(object(Complex { real: a.real + b.real, imag: a.imag + b.imag })),
            BinOp::Sub => Ok(object(Complex { real: a.real - b.real, imag: a.imag - b.imag })),
            BinOp::Mul => Ok(object(a.times(b))),
            BinOp::Pow => a.power(b).map(object),
            _ => match a.divided_by(b) {
                Some(quotient) => Ok(object(quotient)),
                None => Err(PyErr::new("ZeroDivisionError", "complex division by zero")),
            },
        })
    }

    fn unary(&self, op: UnaryOp, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Ok(object(match op {
            UnaryOp::Neg => Complex { real: -self.real, imag: -self.imag },
            UnaryOp::Pos => *self,
        })))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let real = number_key(Num::Float(self.real));
        if self.imag == 0.0 {
            return Ok(real);
        }
        Ok(HashKey::Parts("complex", vec![real, number_key(Num::Float(self.imag))]))
    }
}
