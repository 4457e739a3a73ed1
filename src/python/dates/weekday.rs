//! Weekdays as objects: pendulum's `WeekDay` and dateutil's `weekday`.

use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, UnaryOp, Value, View, binary, compare,
    downcast, identical_or_equal, none, object, unary, view,
};

const NAMES: [&str; 7] = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

/// pendulum's `WeekDay`, an `IntEnum`: Monday is 0.
#[derive(Debug, Clone, Copy)]
pub struct WeekDay(pub u32);

impl WeekDay {
    fn name(self) -> &'static str {
        NAMES.get(self.0 as usize).copied().unwrap_or_default()
    }

    fn int(self) -> Value {
        Value::from(self.0)
    }

    /// `WeekDay(value).name.capitalize()`
    pub(crate) fn capitalized(index: i64) -> PyResult<String> {
        let name = usize::try_from(index).ok().and_then(|index| NAMES.get(index));
        let name = name.ok_or_else(|| PyErr::value_error(format!("{index} is not a valid WeekDay")))?;
        let (first, rest) = name.split_at(1);
        Ok(format!("{first}{}", rest.to_lowercase()))
    }
}

/// The index of a weekday object, where an integer is wanted.
pub(crate) fn as_index(value: &Value) -> Option<i64> {
    downcast::<WeekDay>(value).map(|day| i64::from(day.0))
}

/// What plain ints cannot do either is left to the caller, whose message names this class.
fn own_name<T>(result: PyResult<T>) -> Option<PyResult<T>> {
    match result {
        Err(error)
            if error.message.starts_with("unsupported operand type")
                || error.message.contains("not supported between") =>
        {
            None
        }
        other => Some(other),
    }
}

impl PyObject for WeekDay {
    fn type_name(&self) -> &str {
        "WeekDay"
    }

    fn qualified_name(&self) -> String {
        "pendulum.day.WeekDay".into()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<WeekDay.{}: {}>", self.name(), self.0))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.0.to_string())
    }

    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        crate::python::format(&self.int(), spec, it)
            .map_err(|error| PyErr { message: error.message.replace("of type 'int'", "of type 'WeekDay'"), ..error })
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.0 != 0)
    }

    fn as_int(&self) -> Option<i64> {
        Some(i64::from(self.0))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "name" => Some(Ok(Value::from(self.name()))),
            "value" | "real" | "numerator" => Some(Ok(self.int())),
            "imag" => Some(Ok(Value::from(0))),
            "denominator" => Some(Ok(Value::from(1))),
            _ => NAMES.iter().position(|known| *known == name).map(|at| Ok(object(WeekDay(at as u32)))),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "bit_length" | "bit_count" | "conjugate" | "as_integer_ratio" | "is_integer" | "to_bytes")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        crate::python::call_method(&self.int(), name, args, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        match as_index(other) {
            Some(other) => Some(compare(op, &self.int(), &Value::from(other), it)),
            None => match view(other) {
                View::Object(_) => None,
                _ => own_name(compare(op, &self.int(), other, it)),
            },
        }
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        let int = self.int();
        let plain = as_index(other).map(Value::from);
        let other = match (&plain, view(other)) {
            (Some(plain), _) => plain,
            // a sequence is repeated by the int
            (None, View::Object(sequence)) if op == BinOp::Mul && sequence.len(it).is_some() => other,
            (None, View::Object(_)) => return None,
            _ => other,
        };
        own_name(if reflected { binary(op, other, &int, it) } else { binary(op, &int, other, it) })
    }

    fn unary(&self, op: UnaryOp, it: &mut dyn Interp) -> Option<PyResult> {
        Some(unary(op, &self.int(), it))
    }

    fn interned(&self, other: &Value) -> bool {
        downcast::<WeekDay>(other).is_some_and(|other| other.0 == self.0)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Int(i64::from(self.0)))
    }
}

/// dateutil's `weekday`: `MO` to `SU`, with an occurrence where one was asked for.
#[derive(Debug, Clone)]
pub struct DateutilWeekday {
    /// Monday is 0
    pub weekday: u32,
    /// `n` of `MO(n)`, `None` without
    pub n: Value,
}

impl DateutilWeekday {
    /// `MO` to `SU`
    pub(crate) fn new(weekday: u32) -> Self {
        DateutilWeekday { weekday, n: none() }
    }

    /// The day of a name such as `MO`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let at = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"].iter().position(|known| *known == name)?;
        Some(Self::new(at as u32))
    }

    /// `n`, where it is an int other than 0.
    pub(crate) fn nth(&self) -> Option<i64> {
        match view(&self.n) {
            View::Int(n) if n != 0 => Some(n),
            _ => None,
        }
    }
}

impl PyObject for DateutilWeekday {
    fn type_name(&self) -> &str {
        "weekday"
    }

    fn qualified_name(&self) -> String {
        "dateutil._common.weekday".into()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let name = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"].get(self.weekday as usize).copied().unwrap_or_default();
        if !crate::python::truth(&self.n, it)? {
            return Ok(name.into());
        }
        match self.nth() {
            Some(n) => Ok(format!("{name}({n:+})")),
            None => Err(PyErr::unsupported("a weekday whose occurrence is no int")),
        }
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "weekday" => Some(Ok(Value::from(self.weekday))),
            "n" => Some(Ok(self.n.clone())),
            _ => None,
        }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("weekday.__call__", &["n"]).method().bind(args)?;
        let n = bound.first().copied().flatten().cloned().unwrap_or_else(none);
        Ok(object(DateutilWeekday { weekday: self.weekday, n }))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let same = match downcast::<DateutilWeekday>(other) {
            Some(other) if other.weekday == self.weekday => identical_or_equal(&self.n, &other.n, it),
            _ => Ok(false),
        };
        match op {
            CmpOp::Eq => Some(same),
            CmpOp::Ne => Some(same.map(|same| !same)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("weekday", vec![HashKey::Int(i64::from(self.weekday)), crate::python::hash_key(&self.n)?]))
    }
}
