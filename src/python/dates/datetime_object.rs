//! `datetime.datetime` and pendulum's `DateTime` as Python objects: what both classes have.

use chrono::Timelike;

use super::arith::{self, Temp, tzinfo_arg};
use super::date::{self, Date, ctime};
use super::datetime::{DateTime, make_naive, microsecond};
use super::formatter::Subject;
use super::pendulum::replace_parts;
use super::pendulum_datetime;
use super::time::Time;
use super::timedelta::delta;
use super::{cargs, class, tuples, tzobject};
use crate::python::strftime;
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, downcast, none, object, text, type_name,
};

/// Methods that a plain datetime has beside those of a date.
const PLAIN: [&str; 9] =
    ["date", "time", "timetz", "utcoffset", "dst", "tzname", "astimezone", "timestamp", "utctimetuple"];

/// Class methods a datetime class has beside those of a date.
pub(crate) const CLASS_METHODS: [&str; 5] = ["now", "utcnow", "strptime", "combine", "utcfromtimestamp"];

/// Names of a datetime's fields in the order of its constructor.
pub(crate) const FIELDS: [&str; 9] =
    ["year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo", "fold"];

impl DateTime {
    fn class(&self) -> &'static str {
        if self.pendulum { "DateTime" } else { "datetime.datetime" }
    }

    /// The class as messages about a bound method name it.
    fn bare(&self) -> &'static str {
        if self.pendulum { "DateTime" } else { "datetime" }
    }

    /// `replace(...)` of the C class.
    fn plain_replace(&self, args: &Args<'_>) -> PyResult {
        let given = cargs::parse(Some("replace"), &FIELDS, 0, 8, args)?;
        let mut parts = [None; 7];
        for (slot, value) in parts.iter_mut().zip(&given) {
            *slot = value.map(cargs::int).transpose()?;
        }
        let fold = given.get(8).copied().flatten().map_or(Ok(self.fold), class::fold_arg)?;
        let tz = match given.get(7).copied().flatten() {
            None => self.tz.clone(),
            value => tzinfo_arg(value)?,
        };
        let naive = make_naive(replace_parts(self.naive, parts))?;
        Ok(object(DateTime { naive, tz, fold, pendulum: false }))
    }

    fn isoformat_method(&self, args: &Args<'_>) -> PyResult {
        let given = cargs::parse(Some("isoformat"), &["sep", "timespec"], 0, 2, args)?;
        let separator = match given.first().copied().flatten() {
            None => 'T',
            Some(value) => {
                let mut chars = text(value).unwrap_or_default().chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => c,
                    _ => {
                        return Err(PyErr::type_error(format!(
                            "isoformat() argument 1 must be a unicode character, not {}",
                            cargs::none_name(value)
                        )));
                    }
                }
            }
        };
        let timespec = match given.get(1).copied().flatten() {
            None => "auto",
            Some(value) => cargs::str_arg("isoformat", 2, value)?,
        };
        self.isoformat(separator, timespec).map(Value::from)
    }

    /// A method of the C class; pendulum's overrides are taken before.
    fn plain_method(&self, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if let Some(result) = date::common_method(self.bare(), self.date(), name, args) {
            return result;
        }
        let qualified = format!("{}.{name}", self.bare());
        let nothing = || cargs::none(&qualified, args);
        match name {
            "isoformat" => self.isoformat_method(args),
            "strftime" => date::strftime_method(&self.fields(), args),
            "replace" => self.plain_replace(args),
            "date" => {
                nothing()?;
                Ok(object(Date { date: self.date(), pendulum: false }))
            }
            "time" => {
                nothing()?;
                Ok(object(Time { time: self.naive.time(), tz: None, fold: self.fold, pendulum: false }))
            }
            "timetz" => {
                nothing()?;
                Ok(object(Time { time: self.naive.time(), tz: self.tz.clone(), fold: self.fold, pendulum: false }))
            }
            "timestamp" => nothing().map(|()| Value::from(self.timestamp())),
            "ctime" => {
                nothing()?;
                let t = &self.naive;
                let clock = format!("{:02}:{:02}:{:02}", t.hour(), t.minute(), t.second());
                Ok(Value::from(ctime(self.date(), &clock)))
            }
            "utcoffset" | "dst" | "tzname" => {
                nothing()?;
                let Some(tz) = &self.tz else { return Ok(none()) };
                let local = tz.local(self.naive, self.fold);
                match name {
                    "utcoffset" => delta(i128::from(local.offset)),
                    "dst" => local.dst.map_or_else(|| Ok(none()), |dst| delta(i128::from(dst))),
                    _ => Ok(date::optional(local.name)),
                }
            }
            "timetuple" => nothing().map(|()| tuples::struct_time(&self.fields())),
            "utctimetuple" => {
                nothing()?;
                let utc = super::datetime::from_micros(self.instant_micros())?;
                let fields = super::Fields { dst: Some(false), ..super::Fields::naive(utc) };
                Ok(tuples::struct_time(&fields))
            }
            "astimezone" => {
                let bound = if self.pendulum {
                    Sig::new("DateTime.astimezone", &["tz"]).required(0).method().bind(args)?
                } else {
                    cargs::parse(Some("astimezone"), &["tz"], 0, 1, args)?
                };
                let tz = tzinfo_arg(bound.first().copied().flatten())?;
                self.astimezone(tz.as_ref()).map(object)
            }
            "__format__" => {
                let spec = cargs::one("datetime.__format__", args)?;
                let spec = cargs::str_arg("__format__", 0, spec)?.to_owned();
                self.format(&spec, it).map(Value::from)
            }
            _ => Err(PyErr::unsupported(format!("datetime.{name}"))),
        }
    }
}

impl PyObject for DateTime {
    fn type_name(&self) -> &str {
        self.class()
    }

    fn qualified_name(&self) -> String {
        if self.pendulum { "pendulum.datetime.DateTime".into() } else { "datetime.datetime".into() }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.repr_text())
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.text())
    }

    fn format(&self, spec: &str, _it: &mut dyn Interp) -> PyResult<String> {
        if spec.is_empty() {
            return Ok(self.text());
        }
        if self.pendulum {
            return date::format_spec(&Subject::DateTime(self), &self.fields(), spec);
        }
        strftime(spec, &self.fields())
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        use chrono::Datelike;
        let t = &self.naive;
        Some(Ok(match name {
            "year" => Value::from(t.year()),
            "month" => Value::from(t.month()),
            "day" => Value::from(t.day()),
            "hour" => Value::from(t.hour()),
            "minute" => Value::from(t.minute()),
            "second" => Value::from(t.second()),
            "microsecond" => Value::from(microsecond(t)),
            "fold" => Value::from(i64::from(self.fold)),
            "tzinfo" => tzobject::optional(self.tz.as_ref()),
            "min" | "max" | "resolution" => return class::datetime_constant(self.pendulum, name),
            _ if self.pendulum => return pendulum_datetime::attribute(self, name, it),
            _ => return None,
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        date::PLAIN.contains(&name)
            || PLAIN.contains(&name)
            || date::CLASS_METHODS.contains(&name)
            || CLASS_METHODS.contains(&name)
            || self.pendulum && pendulum_datetime::has_method(name)
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let _ = this;
        if self.pendulum && pendulum_datetime::has_method(name) {
            return pendulum_datetime::call(self, name, args, it);
        }
        if date::CLASS_METHODS.contains(&name) || CLASS_METHODS.contains(&name) {
            return class::datetime_class_method(self.pendulum, name, args, it);
        }
        self.plain_method(name, args, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if let Some(other) = downcast::<DateTime>(other) {
            return Some(self.compare_with(op, other));
        }
        downcast::<Date>(other)?;
        Some(match op {
            CmpOp::Eq => Ok(false),
            CmpOp::Ne => Ok(true),
            _ => Err(PyErr::type_error(format!("can't compare {} to {}", self.class(), type_name(other)))),
        })
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        arith::binary(Temp::DateTime(self), op, other, reflected, it)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(self.key())
    }
}
