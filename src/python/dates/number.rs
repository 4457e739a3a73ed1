//! Numbers as dates compute with them.

use num_traits::ToPrimitive;

use crate::python::{Value, View, as_bigint, view};

/// An `int` or a `float`. Ints beyond any date's reach are cut to size: whatever is done with them overflows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum N {
    I(i128),
    F(f64),
}

const FAR: i128 = 1_000_000_000_000_000_000_000_000_000_000;

impl N {
    /// The number behind a value, if it is one.
    pub(crate) fn of(value: &Value) -> Option<N> {
        match view(value) {
            View::Float(float) => Some(N::F(float)),
            View::Int(int) => Some(N::I(i128::from(int))),
            View::Bool(bool) => Some(N::I(i128::from(bool))),
            View::Object(_) => {
                let big = as_bigint(value)?;
                let far = if big.sign() == num_bigint::Sign::Minus { -FAR } else { FAR };
                Some(N::I(big.to_i128().filter(|int| int.abs() < FAR).unwrap_or(far)))
            }
            _ => None,
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            N::I(int) => int == 0,
            N::F(float) => float == 0.0,
        }
    }

    pub(crate) fn to_f64(self) -> f64 {
        match self {
            N::I(int) => int as f64,
            N::F(float) => float,
        }
    }

    pub(crate) fn abs(self) -> N {
        match self {
            N::I(int) => N::I(int.abs()),
            N::F(float) => N::F(float.abs()),
        }
    }

    pub(crate) fn neg(self) -> N {
        match self {
            N::I(int) => N::I(-int),
            N::F(float) => N::F(-float),
        }
    }

    pub(crate) fn add(self, other: N) -> N {
        match (self, other) {
            (N::I(a), N::I(b)) => N::I(a.saturating_add(b)),
            _ => N::F(self.to_f64() + other.to_f64()),
        }
    }

    pub(crate) fn mul(self, factor: i128) -> N {
        match self {
            N::I(int) => N::I(int.saturating_mul(factor)),
            N::F(float) => N::F(float * factor as f64),
        }
    }

    /// `abs(x) > limit`
    pub(crate) fn beyond(self, limit: i128) -> bool {
        match self {
            N::I(int) => int.abs() > limit,
            N::F(float) => float.abs() > limit as f64,
        }
    }

    /// `divmod(x * sign, base)`, both times the sign of x: the carry, and what stays.
    pub(crate) fn carry(self, base: i128) -> (N, N) {
        match self {
            N::I(int) => (N::I(int / base), N::I(int % base)),
            N::F(float) => {
                let sign = 1.0_f64.copysign(float);
                let x = float.abs();
                let base = base as f64;
                let rest = x % base;
                let mut div = (x - rest) / base;
                // float floor division: the quotient rounded to the nearest whole below
                let floor = div.floor();
                if div - floor > 0.5 {
                    div = floor + 1.0;
                } else {
                    div = floor;
                }
                (N::F(div * sign), N::F(rest * sign))
            }
        }
    }
}
