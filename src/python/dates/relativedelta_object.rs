//! `relativedelta` as a Python object.

use super::arith::Temp;
use super::number::N;
use super::relativedelta::{ABSOLUTE, RELATIVE, RelativeDelta, is_none, number_value};
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, UnaryOp, Value, downcast, hash_key, object,
    truth,
};

impl PyObject for RelativeDelta {
    fn type_name(&self) -> &str {
        "relativedelta"
    }

    fn qualified_name(&self) -> String {
        "dateutil.relativedelta.relativedelta".into()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let mut parts = Vec::new();
        for (at, (name, n)) in RELATIVE.iter().zip(self.relative).enumerate() {
            if !n.is_zero() {
                parts.push(format!("{name}={}", crate::python::format(&number_value(n), "+g", it)?));
            }
            if at == 2 && truth(&self.leapdays, it)? {
                parts.push(format!("leapdays={}", crate::python::format(&self.leapdays, "+g", it)?));
            }
        }
        for (at, (name, value)) in ABSOLUTE.iter().zip(&self.absolute).enumerate() {
            if at == 3 && !is_none(&self.weekday) {
                parts.push(format!("weekday={}", crate::python::repr(&self.weekday, it)?));
            }
            if !is_none(value) {
                parts.push(format!("{name}={}", crate::python::repr(value, it)?));
            }
        }
        Ok(format!("relativedelta({})", parts.join(", ")))
    }

    fn truth(&self, it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.relative.iter().any(|n| !n.is_zero())
            || truth(&self.leapdays, it)?
            || self.absolute.iter().any(|value| !is_none(value))
            || !is_none(&self.weekday))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some((_, n)) = RELATIVE.iter().zip(self.relative).find(|(known, _)| **known == name) {
            return Some(Ok(number_value(n)));
        }
        if let Some((_, value)) = ABSOLUTE.iter().zip(&self.absolute).find(|(known, _)| **known == name) {
            return Some(Ok(value.clone()));
        }
        let days = self.relative.get(2).map_or(0.0, |days| days.to_f64());
        Some(Ok(match name {
            "leapdays" => self.leapdays.clone(),
            "weekday" => self.weekday.clone(),
            "weeks" => Value::from((days / 7.0).trunc() as i64),
            "_has_time" => Value::from(i64::from(self.has_time())),
            _ => return None,
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        name == "normalized"
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Sig::new("relativedelta.normalized", &[]).method().bind(args)?;
        if self.relative.iter().all(|n| matches!(n, N::I(_))) {
            return Ok(object(self.clone()));
        }
        Err(PyErr::unsupported(format!("relativedelta.{name} of fractions")))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<RelativeDelta>(other)?;
        match op {
            CmpOp::Eq => Some(self.same(other, it)),
            CmpOp::Ne => Some(self.same(other, it).map(|same| !same)),
            _ => None,
        }
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        // multiplied by a text, that is read as a float
        if matches!(op, BinOp::Mul | BinOp::Div)
            && (op == BinOp::Mul || !reflected)
            && crate::python::text(other).is_some()
        {
            return Some(crate::python::to_float(other).and_then(|factor| {
                if op == BinOp::Div && factor == 0.0 {
                    return Err(PyErr::new("ZeroDivisionError", "float division by zero"));
                }
                self.scaled(if op == BinOp::Div { 1.0 / factor } else { factor }).map(object)
            }));
        }
        super::arith::binary(Temp::Relative(self), op, other, reflected, it)
    }

    fn unary(&self, op: UnaryOp, _it: &mut dyn Interp) -> Option<PyResult> {
        match op {
            UnaryOp::Neg => Some(self.map(|n| Ok(n.neg())).map(object)),
            UnaryOp::Pos => None,
        }
    }

    fn abs(&self) -> Option<PyResult> {
        Some(self.map(|n| Ok(n.abs())).map(object))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let mut parts = vec![hash_key(&self.weekday)?, hash_key(&self.leapdays)?];
        for n in self.relative {
            parts.push(hash_key(&number_value(n))?);
        }
        for value in &self.absolute {
            parts.push(hash_key(value)?);
        }
        Ok(HashKey::Parts("relativedelta", parts))
    }
}
