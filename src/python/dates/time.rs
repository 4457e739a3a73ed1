//! `datetime.time` and pendulum's `Time`.

use chrono::{NaiveDate, NaiveTime, Timelike};

use super::arith::{Temp, tzinfo_arg};
use super::datetime::{make_time, microsecond, time_text};
use super::duration::{Duration, locale_of};
use super::formatter::Subject;
use super::number::N;
use super::pendulum::add_duration;
use super::strftime::{Fields, strftime};
use super::text::offset_text;
use super::timedelta::delta;
use super::tzinfo::TzInfo;
use super::{arith, cargs, date, humans, tzobject};
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, View, downcast, none, object, truth,
    view,
};

/// A time of day: `datetime.time`, or pendulum's `Time`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Time {
    /// To the microsecond
    pub time: NaiveTime,
    /// `tzinfo`
    pub tz: Option<TzInfo>,
    /// `fold`
    pub fold: bool,
    /// True for pendulum's class
    pub pendulum: bool,
}

fn seconds(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight())
}

/// Adds or subtracts a timedelta of less than a day.
pub(crate) fn add_delta(x: &Time, y: Temp<'_>, subtract: bool) -> PyResult<Time> {
    let (days, seconds, micros) = match y {
        Temp::Delta(td) => td.fields(),
        Temp::Duration(d) => (super::timedelta::fields(d.base).0, d.seconds, d.microseconds),
        Temp::Interval(iv) => (iv.duration.days, iv.duration.seconds, iv.duration.microseconds),
        _ => return Err(PyErr::unsupported("adding this to a time")),
    };
    if days != 0 {
        let verb = if subtract { "subtract timedelta with days to" } else { "add timedelta with days to" };
        return Err(PyErr::type_error(format!("Cannot {verb} Time.")));
    }
    let sign = if subtract { -1 } else { 1 };
    let mut amounts = [N::I(0); 8];
    let [.., s, us] = &mut amounts;
    *s = N::I(i128::from(sign * seconds));
    *us = N::I(i128::from(sign * micros));
    x.moved(&amounts)
}

/// `x - y` of two times, one of them pendulum's: whole seconds, as `diff` has them.
pub(crate) fn subtract(x: &Time, y: &Time) -> PyResult {
    let guest = if x.pendulum { y } else { x };
    if guest.tz.is_some() {
        return Err(PyErr::type_error("Cannot subtract aware times to or from Time."));
    }
    Duration::of_micros(i128::from(seconds(x.time) - seconds(y.time)) * 1_000_000).map(object)
}

/// Methods both classes have.
const PLAIN: [&str; 8] =
    ["isoformat", "strftime", "replace", "utcoffset", "dst", "tzname", "fromisoformat", "__format__"];
/// Methods of pendulum's class.
const EXTRA: [&str; 11] = [
    "format",
    "for_json",
    "closest",
    "farthest",
    "add",
    "subtract",
    "add_timedelta",
    "subtract_timedelta",
    "diff",
    "diff_for_humans",
    "instance",
];

impl Time {
    fn class(&self) -> &'static str {
        if self.pendulum { "Time" } else { "datetime.time" }
    }

    fn fields(&self) -> Fields {
        let naive = NaiveDate::from_ymd_opt(1900, 1, 1).unwrap_or_default().and_time(self.time);
        let (offset, tzname) = match &self.tz {
            None => (None, None),
            Some(tz) => {
                let dateless = tz.dateless();
                (tz.is_fixed().then_some(dateless.offset), dateless.name)
            }
        };
        Fields { naive, offset, tzname, dst: None }
    }

    /// `utcoffset()` in microseconds: only zones of one offset have it without a date.
    fn offset(&self) -> Option<i64> {
        self.tz.as_ref().filter(|tz| tz.is_fixed()).map(|tz| tz.dateless().offset)
    }

    fn text(&self, timespec: &str) -> PyResult<String> {
        let mut text = time_text(self.time, timespec)?;
        if let Some(offset) = self.offset() {
            text.push_str(&offset_text(offset, ":"));
        }
        Ok(text)
    }

    fn new(time: NaiveTime) -> Time {
        Time { time, tz: None, fold: false, pendulum: true }
    }

    fn moved(&self, amounts: &super::pendulum::Amounts) -> PyResult<Time> {
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap_or_default();
        Ok(Time::new(add_duration(epoch.and_time(self.time), amounts)?.time()))
    }

    fn other(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<NaiveTime> {
        match value {
            Some(value) if !matches!(view(value), View::None) => {
                if let Some(time) = downcast::<Time>(value) {
                    return Ok(time.time);
                }
                if let Some(dt) = downcast::<super::datetime::DateTime>(value) {
                    return Ok(dt.naive.time());
                }
                Err(date::lacking(value, "hour", it))
            }
            _ => Ok(it.now()?.time()),
        }
    }

    fn difference(&self, other: NaiveTime, absolute: bool) -> PyResult<Duration> {
        let micros = i128::from(seconds(other) - seconds(self.time)) * 1_000_000;
        if absolute { Duration::absolute_micros(micros) } else { Duration::of_micros(micros) }
    }

    fn replace(&self, args: &Args<'_>) -> PyResult {
        let names = ["hour", "minute", "second", "microsecond", "tzinfo", "fold"];
        let bound = if self.pendulum {
            Sig::new("Time.replace", &names).required(0).method().bind(args)?
        } else {
            cargs::parse(Some("replace"), &names, 0, 5, args)?
        };
        let own = [self.time.hour(), self.time.minute(), self.time.second(), microsecond(&self.time)];
        let mut parts = own.map(i64::from);
        for (slot, value) in parts.iter_mut().zip(&bound) {
            if let Some(value) = value.filter(|value| !(self.pendulum && matches!(view(value), View::None))) {
                *slot = cargs::int(value)?;
            }
        }
        let tz = match bound.get(4).copied().flatten() {
            None => self.tz.clone(),
            Some(value) if self.pendulum && matches!(view(value), View::Bool(true)) => self.tz.clone(),
            value => tzinfo_arg(value)?,
        };
        let time = make_time(&parts)?;
        let fold = match bound.get(5).copied().flatten() {
            None => self.fold,
            Some(value) => super::class::fold_arg(value)?,
        };
        Ok(object(Time { time, tz, fold: fold && !self.pendulum, pendulum: self.pendulum }))
    }

    fn pendulum_method(&self, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let qualified = format!("Time.{name}");
        match name {
            "format" => date::format_method(&Subject::Time(self), args, it),
            "for_json" => {
                Sig::new(&qualified, &[]).method().bind(args)?;
                self.text("auto").map(Value::from)
            }
            "add" | "subtract" => {
                let names = ["hours", "minutes", "seconds", "microseconds"];
                let bound = Sig::new(&qualified, &names).required(0).method().bind(args)?;
                let mut given = vec![None; 4];
                given.extend(bound);
                self.moved(&super::pendulum::amounts(&given, name == "subtract", it)?).map(object)
            }
            "add_timedelta" | "subtract_timedelta" => {
                let bound = Sig::new(&qualified, &["delta"]).method().bind(args)?;
                let value = bound.first().copied().flatten().cloned().unwrap_or_default();
                let op = if name == "add_timedelta" { BinOp::Add } else { BinOp::Sub };
                self.binary(op, &value, false, it)
                    .unwrap_or_else(|| Err(PyErr::unsupported(format!("{qualified} of this value"))))
            }
            "closest" | "farthest" => {
                let bound = Sig::new(&qualified, &["dt1", "dt2"]).method().bind(args)?;
                let one = Self::other(bound.first().copied().flatten(), it)?;
                let two = Self::other(bound.get(1).copied().flatten(), it)?;
                let distance = |other: NaiveTime| (seconds(other) - seconds(self.time)).abs();
                let first =
                    if name == "closest" { distance(one) < distance(two) } else { distance(one) > distance(two) };
                Ok(object(Time::new(if first { one } else { two })))
            }
            "diff" => {
                let bound = Sig::new(&qualified, &["dt", "abs"]).required(0).method().bind(args)?;
                let absolute = bound.get(1).copied().flatten().map_or(Ok(true), |value| truth(value, it))?;
                let other = Self::other(bound.first().copied().flatten(), it)?;
                self.difference(other, absolute).map(object)
            }
            "diff_for_humans" => {
                let names = ["other", "absolute", "locale"];
                let bound = Sig::new(&qualified, &names).required(0).method().bind(args)?;
                let other = bound.first().copied().flatten();
                let is_now = other.is_none_or(|value| matches!(view(value), View::None));
                let absolute = bound.get(1).copied().flatten().map_or(Ok(false), |value| truth(value, it))?;
                let locale = locale_of(bound.get(2).copied().flatten(), it)?;
                let units = self.difference(Self::other(other, it)?, true)?.units();
                humans::difference(&units, is_now, absolute, locale).map(Value::from)
            }
            _ => Err(PyErr::unsupported(format!("Time.{name}"))),
        }
    }
}

impl PyObject for Time {
    fn type_name(&self) -> &str {
        self.class()
    }

    fn qualified_name(&self) -> String {
        if self.pendulum { "pendulum.time.Time".into() } else { "datetime.time".into() }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        let t = &self.time;
        let (s, us) = (t.second(), microsecond(t));
        let mut parts = vec![t.hour().to_string(), t.minute().to_string()];
        if self.pendulum || s != 0 || us != 0 {
            parts.push(s.to_string());
        }
        if us != 0 {
            parts.push(us.to_string());
        }
        if let Some(tz) = &self.tz {
            parts.push(format!("tzinfo={}", tz.repr()));
        }
        if self.fold && !self.pendulum {
            parts.push("fold=1".into());
        }
        Ok(format!("{}({})", self.class(), parts.join(", ")))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        self.text("auto")
    }

    fn format(&self, spec: &str, _it: &mut dyn Interp) -> PyResult<String> {
        if spec.is_empty() {
            return self.text("auto");
        }
        if self.pendulum {
            return date::format_spec(&Subject::Time(self), &self.fields(), spec);
        }
        strftime(spec, &self.fields())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Ok(match name {
            "hour" => Value::from(self.time.hour()),
            "minute" => Value::from(self.time.minute()),
            "second" => Value::from(self.time.second()),
            "microsecond" => Value::from(microsecond(&self.time)),
            "fold" => Value::from(i64::from(self.fold)),
            "tzinfo" => tzobject::optional(self.tz.as_ref()),
            "min" => object(Time { pendulum: self.pendulum, ..Time::new(NaiveTime::MIN) }),
            "max" => {
                let last = NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999).unwrap_or_default();
                object(Time { pendulum: self.pendulum, ..Time::new(last) })
            }
            "resolution" if self.pendulum => return Some(Duration::of_micros(1).map(object)),
            "resolution" => return Some(delta(1)),
            _ => return None,
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        PLAIN.contains(&name) || self.pendulum && EXTRA.contains(&name)
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if self.pendulum && EXTRA.contains(&name) {
            return self.pendulum_method(name, args, it);
        }
        let dateless = || self.tz.as_ref().map(|tz| (tz.is_fixed(), tz.dateless()));
        match name {
            "strftime" => date::strftime_method(&self.fields(), args),
            "replace" => self.replace(args),
            "isoformat" => {
                let given = cargs::parse(Some("isoformat"), &["timespec"], 0, 1, args)?;
                let timespec = match given.first().copied().flatten() {
                    None => "auto",
                    Some(value) => cargs::str_arg("isoformat", 1, value)?,
                };
                self.text(timespec).map(Value::from)
            }
            "utcoffset" | "dst" | "tzname" => {
                cargs::none(&format!("{}.{name}", if self.pendulum { "Time" } else { "time" }), args)?;
                let Some((fixed, local)) = dateless() else { return Ok(none()) };
                match name {
                    "tzname" => Ok(date::optional(local.name)),
                    "utcoffset" if fixed => delta(i128::from(local.offset)),
                    "dst" if fixed => local.dst.map_or_else(|| Ok(none()), |dst| delta(i128::from(dst))),
                    _ => Ok(none()),
                }
            }
            "fromisoformat" => {
                let value = cargs::one("time.fromisoformat", args)?;
                super::iso::time_from_iso(value, self.pendulum).map(object)
            }
            "__format__" => {
                let spec = cargs::one("time.__format__", args)?;
                let spec = cargs::str_arg("__format__", 0, spec)?.to_owned();
                self.format(&spec, it).map(Value::from)
            }
            _ => Err(PyErr::unsupported(format!("time.{name}"))),
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Time>(other)?;
        if self.tz == other.tz {
            return Some(Ok(crate::python::holds(op, self.time.cmp(&other.time))));
        }
        let micros =
            |time: &Time, offset: i64| seconds(time.time) * 1_000_000 + i64::from(microsecond(&time.time)) - offset;
        Some(match (self.offset(), other.offset()) {
            (Some(a), Some(b)) => Ok(crate::python::holds(op, micros(self, a).cmp(&micros(other, b)))),
            (None, None) => Ok(crate::python::holds(op, self.time.cmp(&other.time))),
            _ => match op {
                CmpOp::Eq => Ok(false),
                CmpOp::Ne => Ok(true),
                _ => Err(PyErr::type_error("can't compare offset-naive and offset-aware times")),
            },
        })
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        arith::binary(Temp::Time(self), op, other, reflected, it)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let micros = seconds(self.time) * 1_000_000 + i64::from(microsecond(&self.time));
        let mut parts = vec![HashKey::Int(micros - self.offset().unwrap_or_default())];
        parts.extend(self.offset().map(|_| HashKey::None));
        Ok(HashKey::Parts("time", parts))
    }
}
