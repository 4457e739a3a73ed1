//! Class objects: `datetime.datetime`, `datetime.timedelta`, dateutil's.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::arith::tzinfo_arg;
use super::cargs;
use super::date::{self, Date};
use super::datetime::{DateTime, from_micros, make_naive, max_naive, min_naive};
use super::datetime_object::{self, FIELDS};
use super::iso;
use super::pendulum::{create, instance, localise, safe_timezone};
use super::relativedelta::RelativeDelta;
use super::strptime::{self, from_ordinal};
use super::time::Time;
use super::timedelta::{self, TimeDelta, delta};
use super::tzinfo::TzInfo;
use super::weekday::DateutilWeekday;
use crate::python::zone::Zone;
use crate::python::{
    Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, View, builtin_type, call, downcast, none,
    object, truth, type_name, view,
};

/// A class of the datetime module or of dateutil, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `datetime.datetime`
    DateTime,
    /// `datetime.timedelta`
    TimeDelta,
    /// `dateutil.relativedelta.relativedelta`
    RelativeDelta,
    /// `dateutil._common.weekday`
    Weekday,
}

impl Class {
    /// The class as a value.
    pub fn value(self) -> Value {
        object(self)
    }

    fn name(self) -> &'static str {
        match self {
            Class::DateTime => "datetime.datetime",
            Class::TimeDelta => "datetime.timedelta",
            Class::RelativeDelta => "dateutil.relativedelta.relativedelta",
            Class::Weekday => "dateutil._common.weekday",
        }
    }

    /// A value of the class, to ask for its methods.
    fn sample(self) -> Value {
        match self {
            Class::DateTime => object(DateTime::naive_plain(min_naive())),
            Class::TimeDelta => delta(0).unwrap_or_default(),
            Class::RelativeDelta => object(RelativeDelta::default()),
            Class::Weekday => object(DateutilWeekday::new(0)),
        }
    }

    fn is_class_method(self, name: &str) -> bool {
        self == Class::DateTime
            && (date::CLASS_METHODS.contains(&name) || datetime_object::CLASS_METHODS.contains(&name))
    }
}

impl PyObject for Class {
    fn type_name(&self) -> &str {
        "type"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<class '{}'>", self.name()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let constant = match self {
            Class::DateTime => datetime_constant(false, name),
            Class::TimeDelta => timedelta::class_attribute(name),
            _ => None,
        };
        if constant.is_some() {
            return constant;
        }
        if self.is_class_method(name) {
            return None;
        }
        let sample = self.sample();
        let View::Object(object) = view(&sample) else { return None };
        if object.has_method(name) {
            return Some(Ok(crate::python::object(Unbound { class: *self, name: name.to_owned() })));
        }
        let known = match self {
            Class::DateTime => FIELDS.contains(&name),
            Class::TimeDelta => matches!(name, "days" | "seconds" | "microseconds"),
            Class::RelativeDelta => name == "weeks",
            Class::Weekday => matches!(name, "weekday" | "n"),
        };
        known.then(|| Err(PyErr::unsupported(format!("the attribute '{name}' of the class itself"))))
    }

    fn has_method(&self, name: &str) -> bool {
        self.is_class_method(name)
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        datetime_class_method(false, name, args, it)
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match self {
            Class::DateTime => construct(args).map(object),
            Class::TimeDelta => TimeDelta::construct(args).map(object),
            Class::RelativeDelta => RelativeDelta::construct(args, it).map(object),
            Class::Weekday => {
                let bound = Sig::new("weekday.__init__", &["weekday", "n"]).required(1).method().bind(args)?;
                let day = bound.first().copied().flatten().and_then(Value::as_i64);
                let n = bound.get(1).copied().flatten().cloned().unwrap_or_else(none);
                match day.and_then(|day| u32::try_from(day).ok()).filter(|day| *day < 7) {
                    Some(weekday) => Ok(object(DateutilWeekday { weekday, n })),
                    None => Err(PyErr::unsupported("a weekday outside of 0 to 6")),
                }
            }
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let same = downcast::<Class>(other) == Some(self);
        match op {
            CmpOp::Eq => Some(Ok(same)),
            CmpOp::Ne => Some(Ok(!same)),
            _ => None,
        }
    }

    fn interned(&self, other: &Value) -> bool {
        downcast::<Class>(other) == Some(self)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("type", vec![HashKey::Str(self.name().into())]))
    }
}

/// A method read from its class: called with the object as its first argument.
#[derive(Debug)]
struct Unbound {
    class: Class,
    name: String,
}

impl Unbound {
    /// The class that defines the method.
    fn owner(&self) -> &'static str {
        let of_date = matches!(self.name.as_str(), "weekday" | "isoweekday" | "isocalendar" | "toordinal" | "strftime");
        if self.class == Class::DateTime && of_date { "datetime.date" } else { self.class.name() }
    }
}

impl PyObject for Unbound {
    fn type_name(&self) -> &str {
        match self.class {
            Class::DateTime | Class::TimeDelta => "method_descriptor",
            _ => "function",
        }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        match self.class {
            Class::DateTime | Class::TimeDelta => Ok(format!("<method '{}' of '{}' objects>", self.name, self.owner())),
            _ => Err(PyErr::unsupported("printing a function: its text holds a memory address")),
        }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let bare = self.owner().rsplit('.').next().unwrap_or_default();
        let Some((this, rest)) = args.pos.split_first() else {
            return Err(PyErr::type_error(format!("unbound method {bare}.{}() needs an argument", self.name)));
        };
        let fits = match self.class {
            Class::DateTime => {
                downcast::<DateTime>(this).is_some()
                    || self.owner() == "datetime.date" && downcast::<Date>(this).is_some()
            }
            Class::TimeDelta => timedelta::micros_of(this).is_some(),
            Class::RelativeDelta => downcast::<RelativeDelta>(this).is_some(),
            Class::Weekday => downcast::<DateutilWeekday>(this).is_some(),
        };
        if !fits {
            let got = type_name(this);
            return Err(PyErr::type_error(format!(
                "descriptor '{}' for '{}' objects doesn't apply to a '{got}' object",
                self.name,
                self.owner()
            )));
        }
        if let Some(dt) = downcast::<DateTime>(this).filter(|dt| dt.pendulum) {
            // the plain class's method, not pendulum's override
            let plain = object(DateTime { pendulum: false, ..dt.clone() });
            return crate::python::call_method(&plain, &self.name, &Args { pos: rest, kw: args.kw }, it);
        }
        crate::python::call_method(this, &self.name, &Args { pos: rest, kw: args.kw }, it)
    }
}

/// `datetime.datetime(...)`
pub(crate) fn construct(args: &Args<'_>) -> PyResult<DateTime> {
    let given = cargs::parse(None, &FIELDS, 3, 8, args)?;
    let mut parts = [0; 7];
    for (slot, value) in parts.iter_mut().zip(&given) {
        if let Some(value) = value {
            *slot = cargs::int(value)?;
        }
    }
    let tz = tzinfo_arg(given.get(7).copied().flatten())?;
    let naive = make_naive(parts)?;
    let fold = given.get(8).copied().flatten().map_or(Ok(false), fold_arg)?;
    Ok(DateTime { naive, tz, fold, pendulum: false })
}

/// The `fold` argument of a C function.
pub(crate) fn fold_arg(value: &Value) -> PyResult<bool> {
    match cargs::int(value)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(PyErr::value_error("fold must be either 0 or 1")),
    }
}

/// `int(value)`
pub(crate) fn int_call(value: &Value, it: &mut dyn Interp) -> PyResult {
    call(&builtin_type("int"), &Args::positional(std::slice::from_ref(value)), it)
}

/// `min`, `max` and `resolution` of the datetime classes.
pub(crate) fn datetime_constant(pendulum: bool, name: &str) -> Option<PyResult> {
    let naive = match name {
        "min" => min_naive(),
        "max" => max_naive(),
        "resolution" => return Some(delta(1)),
        _ => return None,
    };
    let tz = pendulum.then_some(TzInfo::PENDULUM_UTC);
    Some(Ok(object(DateTime { naive, tz, fold: false, pendulum })))
}

/// `min`, `max` and `resolution` of the date classes.
pub(crate) fn date_constant(name: &str) -> Option<PyResult> {
    let date = match name {
        "min" => min_naive().date(),
        "max" => max_naive().date(),
        _ => return Some(delta(timedelta::DAY)),
    };
    Some(Ok(object(Date { date, pendulum: false })))
}

/// The local time and, with a zone, the UTC time of a POSIX timestamp.
pub(crate) fn from_timestamp(value: Option<&Value>, qualified: &str, args: &Args<'_>) -> PyResult<(NaiveDateTime, ())> {
    let value = match value {
        Some(value) => value,
        None => cargs::one(qualified, args)?,
    };
    let far = || PyErr::overflow("timestamp out of range for platform time_t");
    let micros = match view(value) {
        View::Float(float) if float.is_nan() => return Err(PyErr::value_error("Invalid value NaN (not a number)")),
        View::Float(float) => {
            let whole = float.floor();
            if whole.abs() >= 9.2e18 {
                return Err(far());
            }
            let fraction = ((float - whole) * 1e6).round_ties_even();
            whole as i128 * 1_000_000 + fraction as i128
        }
        _ => match crate::python::as_bigint(value) {
            Some(big) => i128::from(i64::try_from(&big).map_err(|_| far())?) * 1_000_000,
            None => return Err(cargs::not_an_integer(value)),
        },
    };
    let naive = from_micros(micros).map_err(|_| {
        let year = 1970 + (micros / 31_556_952_000_000) as i64;
        if year.abs() > 2_000_000_000 {
            return PyErr::unsupported("a timestamp this far away");
        }
        let exact = i64::try_from(micros / 1_000_000)
            .ok()
            .and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0))
            .map_or(year, |date| i64::from(chrono::Datelike::year(&date)));
        PyErr::value_error(format!("year {exact} is out of range"))
    })?;
    Ok((naive, ()))
}

/// A class method of `datetime`, plain or pendulum's.
pub(crate) fn datetime_class_method(pendulum: bool, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let dt = if pendulum { pendulum_class_method(name, args, it)? } else { plain_class_method(name, args, it)? };
    Ok(object(DateTime { pendulum, ..dt }))
}

fn plain_class_method(name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<DateTime> {
    Ok(match name {
        "now" => {
            let given = cargs::parse(Some("now"), &["tz"], 0, 1, args)?;
            let now = DateTime::utc_plain(it.now()?);
            match tzinfo_arg(given.first().copied().flatten())? {
                None => DateTime { tz: None, ..now },
                Some(tz) => now.astimezone(Some(&tz))?,
            }
        }
        "utcnow" | "today" => {
            cargs::none(&format!("datetime.{name}"), args)?;
            DateTime { tz: None, ..DateTime::utc_plain(it.now()?) }
        }
        "strptime" => strptime_args(args)?,
        "fromisoformat" => {
            let (naive, tz) = iso::datetime_from_iso(cargs::one("datetime.fromisoformat", args)?)?;
            DateTime { naive, tz, fold: false, pendulum: false }
        }
        "fromtimestamp" => {
            let given = cargs::parse(Some("fromtimestamp"), &["timestamp", "tz"], 1, 2, args)?;
            let tz = tzinfo_arg(given.get(1).copied().flatten())?;
            let (naive, ()) = from_timestamp(given.first().copied().flatten(), "datetime.fromtimestamp", args)?;
            match tz {
                None => DateTime::naive_plain(naive),
                Some(tz) => {
                    let (naive, fold) = tz.local_of_utc(naive)?;
                    DateTime { naive, tz: Some(tz), fold, pendulum: false }
                }
            }
        }
        "utcfromtimestamp" => {
            let value = crate::python::cargs::parse_tuple("datetime.utcfromtimestamp", args, 1, 1)?;
            DateTime::naive_plain(from_timestamp(value.first(), "datetime.utcfromtimestamp", args)?.0)
        }
        "fromordinal" => {
            let value = crate::python::cargs::parse_tuple("datetime.fromordinal", args, 1, 1)?;
            let value = value.first().cloned().unwrap_or_default();
            midnight(from_ordinal(cargs::int(&value)?)?)
        }
        "fromisocalendar" => midnight(iso::from_isocalendar(args)?),
        "combine" => {
            let given = cargs::parse(Some("combine"), &["date", "time", "tzinfo"], 2, 3, args)?;
            combine(given.first().copied().flatten(), given.get(1).copied().flatten(), given.get(2).copied().flatten())?
        }
        _ => return Err(PyErr::unsupported(format!("datetime.{name}"))),
    })
}

fn midnight(date: NaiveDate) -> DateTime {
    DateTime::naive_plain(date.and_time(NaiveTime::MIN))
}

fn strptime_args(args: &Args<'_>) -> PyResult<DateTime> {
    let pos = crate::python::cargs::parse_tuple("datetime.strptime", args, 2, 2).map_err(|error| PyErr {
        message: error.message.replace("exactly 2 argument ", "exactly 2 arguments "),
        ..error
    })?;
    let [text, format] = pos else { return Err(PyErr::type_error("strptime() takes exactly 2 arguments")) };
    parse_text(cargs::str_arg("strptime", 1, text)?, cargs::str_arg("strptime", 2, format)?)
}

/// `datetime.strptime(text, format)` as a value.
pub fn parse_text(text: &str, format: &str) -> PyResult<DateTime> {
    let parsed = strptime::strptime(text, format)?;
    let tz = parsed.offset.map(|micros| TzInfo::plain(micros, parsed.tzname.as_deref())).transpose()?;
    Ok(DateTime { naive: parsed.naive, tz, fold: false, pendulum: false })
}

fn combine(date: Option<&Value>, time: Option<&Value>, tz: Option<&Value>) -> PyResult<DateTime> {
    let wrong = |position: usize, class: &str, value: Option<&Value>| {
        let name = value.map(cargs::none_name).unwrap_or_default();
        PyErr::type_error(format!("combine() argument {position} must be {class}, not {name}"))
    };
    let day = match date {
        Some(value) => match (downcast::<Date>(value), downcast::<DateTime>(value)) {
            (Some(date), _) => date.date,
            (_, Some(dt)) => dt.date(),
            _ => return Err(wrong(1, "datetime.date", date)),
        },
        None => return Err(wrong(1, "datetime.date", date)),
    };
    let clock = time.and_then(downcast::<Time>).ok_or_else(|| wrong(2, "datetime.time", time))?;
    let tz = match tz {
        None => clock.tz.clone(),
        tz => tzinfo_arg(tz)?,
    };
    Ok(DateTime { naive: day.and_time(clock.time), tz, fold: clock.fold, pendulum: false })
}

fn pendulum_class_method(name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<DateTime> {
    let qualified = format!("DateTime.{name}");
    match name {
        "strptime" => {
            let bound = Sig::new(&qualified, &["time", "fmt"]).method().bind(args)?;
            let values: Vec<Value> = bound.into_iter().flatten().cloned().collect();
            instance(&strptime_args(&Args::positional(&values))?, Some(Zone::UTC))
        }
        "fromisoformat" | "fromisocalendar" => plain_class_method(name, args, it),
        "fromtimestamp" => {
            let bound = Sig::new(&qualified, &["t", "tz"]).required(1).method().bind(args)?;
            let zone = bound.get(1).copied().flatten().map_or(Ok(Zone::UTC), |value| safe_timezone(value, None))?;
            let (utc, ()) = from_timestamp(bound.first().copied().flatten(), &qualified, args)?;
            DateTime { naive: utc, tz: Some(TzInfo::PENDULUM_UTC), fold: false, pendulum: true }
                .astimezone(Some(&TzInfo::Pendulum(zone)))
        }
        "utcfromtimestamp" => {
            let bound = Sig::new(&qualified, &["t"]).method().bind(args)?;
            let (naive, ()) = from_timestamp(bound.first().copied().flatten(), &qualified, args)?;
            create(naive, None, false)
        }
        "fromordinal" => {
            let bound = Sig::new(&qualified, &["n"]).method().bind(args)?;
            let n = bound.first().copied().flatten().cloned().unwrap_or_default();
            create(from_ordinal(cargs::int(&n)?)?.and_time(NaiveTime::MIN), None, false)
        }
        "combine" => {
            let bound = Sig::new(&qualified, &["date", "time", "tzinfo"]).required(2).method().bind(args)?;
            let dt = combine(bound.first().copied().flatten(), bound.get(1).copied().flatten(), None)?;
            let zone = match bound.get(2).copied().flatten() {
                Some(value) if !matches!(view(value), View::None) => Some(safe_timezone(value, None)?),
                _ => None,
            };
            instance(&dt, zone)
        }
        _ => Err(PyErr::unsupported(format!("DateTime.{name}"))),
    }
}

/// `DateTime.create(...)`
pub(crate) fn pendulum_create(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let names =
        ["year", "month", "day", "hour", "minute", "second", "microsecond", "tz", "fold", "raise_on_unknown_times"];
    let bound = Sig::new("DateTime.create", &names).required(3).method().bind(args)?;
    let zone = match bound.get(7).copied().flatten() {
        None => Some(Zone::UTC),
        Some(value) if matches!(view(value), View::None) => None,
        Some(value) => Some(safe_timezone(value, None)?),
    };
    let mut parts = [0; 7];
    for (slot, value) in parts.iter_mut().zip(&bound) {
        if let Some(value) = value {
            *slot = cargs::int(value)?;
        }
    }
    let fold = bound.get(8).copied().flatten().map_or(Ok(true), fold_arg)?;
    let naive = make_naive(parts)?;
    let strict = bound.get(9).copied().flatten().map_or(Ok(false), |value| truth(value, it))?;
    if let (true, Some(zone @ Zone::Named(_))) = (strict, zone) {
        let (before, after) = (zone.utcoffset(naive, false), zone.utcoffset(naive, true));
        let shown = DateTime::naive_plain(naive).text();
        if after > before {
            return Err(PyErr::new("NonExistingTime", format!("The datetime {shown} does not exist.")));
        }
        if before > after {
            return Err(PyErr::new("AmbiguousTime", format!("The datetime {shown} is ambiguous.")));
        }
        return localise(naive, zone, fold).map(object);
    }
    create(naive, zone, fold).map(object)
}
