//! `datetime.date` and pendulum's `Date`.

use chrono::{Datelike, NaiveDate, NaiveTime};

use super::datetime::date_text;
use super::duration::locale_of;
use super::formatter::{self, Subject};
use super::interval::{Interval, Moment};
use super::pendulum::amounts;
use super::pendulum_date::{self, Day, edge_of, edge_unit, nth_of};
use super::strftime::{Fields, month_name, strftime, weekday_name};
use super::strptime::{from_ordinal, make_date, ordinal_of};
use super::timedelta::DAY;
use super::weekday::WeekDay;
use super::{arith, cargs, humans, tuples};
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, View, downcast, none, object, text,
    truth, view,
};

/// A date: `datetime.date`, or pendulum's `Date`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Date {
    /// The day
    pub date: NaiveDate,
    /// True for pendulum's class
    pub pendulum: bool,
}

/// What dicts file a date under.
pub(crate) fn key(date: NaiveDate) -> HashKey {
    HashKey::Parts("date", vec![HashKey::Int(ordinal_of(date))])
}

/// `date + timedelta` of the C class: whole days only.
pub(crate) fn plain_add(x: &Date, micros: i128) -> PyResult<Date> {
    let ordinal = ordinal_of(x.date) + micros.div_euclid(DAY) as i64;
    from_ordinal(ordinal)
        .map(|date| Date { date, pendulum: x.pendulum })
        .map_err(|_| PyErr::overflow("date value out of range"))
}

/// `ctime()` of a date, with its time.
pub(crate) fn ctime(date: NaiveDate, clock: &str) -> String {
    let weekday = weekday_name(date.weekday().num_days_from_monday()).get(..3).unwrap_or_default();
    let month = month_name(date.month()).get(..3).unwrap_or_default();
    format!("{weekday} {month} {:2} {clock} {:04}", date.day(), date.year())
}

/// Methods a plain date has, and datetimes with it.
pub(crate) const PLAIN: [&str; 10] = [
    "isoformat",
    "strftime",
    "weekday",
    "isoweekday",
    "isocalendar",
    "toordinal",
    "timetuple",
    "ctime",
    "replace",
    "__format__",
];

/// Names that pendulum's Date adds.
pub(crate) const EXTRA: [&str; 25] = [
    "set",
    "to_date_string",
    "to_formatted_date_string",
    "closest",
    "farthest",
    "is_future",
    "is_past",
    "is_leap_year",
    "is_long_year",
    "is_same_day",
    "is_anniversary",
    "is_birthday",
    "add",
    "subtract",
    "diff",
    "diff_for_humans",
    "start_of",
    "end_of",
    "next",
    "previous",
    "first_of",
    "last_of",
    "nth_of",
    "average",
    "format",
];

/// Class methods of a date class, which instances have too.
pub(crate) const CLASS_METHODS: [&str; 5] =
    ["today", "fromtimestamp", "fromordinal", "fromisoformat", "fromisocalendar"];

/// Attributes that pendulum's Date has and its DateTime inherits.
pub(crate) fn extra_attribute(date: NaiveDate, name: &str) -> Option<PyResult> {
    let first = date.with_day(1).unwrap_or(date).weekday().number_from_monday();
    Some(Ok(match name {
        "day_of_week" => object(WeekDay(date.weekday().num_days_from_monday())),
        "day_of_year" => Value::from(date.ordinal()),
        "week_of_year" => Value::from(date.iso_week().week()),
        "days_in_month" => Value::from(super::pendulum::last_day(i64::from(date.year()), i64::from(date.month()))),
        "week_of_month" => Value::from((date.day() + first - 1).div_ceil(7)),
        "quarter" => Value::from(date.month().div_ceil(3)),
        _ => return None,
    }))
}

/// Methods that only look at the date, alike for both classes and their datetimes.
pub(crate) fn common_method(class: &str, date: NaiveDate, name: &str, args: &Args<'_>) -> Option<PyResult> {
    let qualified = format!("{class}.{name}");
    let monday = date.weekday().num_days_from_monday();
    let value = match name {
        "weekday" => Value::from(monday),
        "isoweekday" => Value::from(monday + 1),
        "toordinal" => Value::from(ordinal_of(date)),
        "isocalendar" => tuples::iso_calendar(date),
        _ => return None,
    };
    Some(cargs::none(&qualified, args).map(|()| value))
}

/// `is_leap_year`, `is_long_year` and texts of pendulum's classes.
pub(crate) fn extra_method(date: NaiveDate, name: &str, args: &Args<'_>) -> Option<PyResult> {
    let qualified = format!("Date.{name}");
    let nothing = || Sig::new(&qualified, &[]).method().bind(args).map(drop);
    Some(match name {
        "is_leap_year" => nothing().map(|()| Value::from(date.leap_year())),
        "to_date_string" => nothing()
            .and_then(|()| strftime("%Y-%m-%d", &Fields::naive(date.and_time(NaiveTime::MIN))).map(Value::from)),
        "to_formatted_date_string" => nothing()
            .and_then(|()| strftime("%b %d, %Y", &Fields::naive(date.and_time(NaiveTime::MIN))).map(Value::from)),
        _ => return None,
    })
}

/// Whether the year of a date has 53 ISO weeks.
pub(crate) fn long_year(date: NaiveDate) -> bool {
    NaiveDate::from_ymd_opt(date.year(), 12, 28).is_some_and(|last| last.iso_week().week() == 53)
}

/// `strftime(format)` of any of the classes.
pub(crate) fn strftime_method(fields: &Fields, args: &Args<'_>) -> PyResult {
    let given = cargs::parse(Some("strftime"), &["format"], 1, 1, args)?;
    let Some(Some(format)) = given.first() else { return Err(PyErr::type_error("strftime() takes 1 argument")) };
    strftime(cargs::str_arg("strftime", 1, format)?, fields).map(Value::from)
}

/// `format(fmt, locale)` of pendulum's classes.
pub(crate) fn format_method(subject: &Subject<'_>, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("FormattableMixin.format", &["fmt", "locale"]).required(1).method().bind(args)?;
    let locale = locale_of(bound.get(1).copied().flatten(), it)?;
    let fmt = bound.first().copied().flatten().cloned().unwrap_or_default();
    let fmt = text(&fmt).ok_or_else(|| {
        PyErr::type_error(format!("expected string or bytes-like object, got '{}'", crate::python::type_name(&fmt)))
    })?;
    formatter::format(subject, fmt, locale).map(Value::from)
}

/// `__format__` of pendulum's classes: `%` means strftime, anything else pendulum's tokens.
pub(crate) fn format_spec(subject: &Subject<'_>, fields: &Fields, spec: &str) -> PyResult<String> {
    if spec.contains('%') {
        return strftime(spec, fields);
    }
    formatter::format(subject, spec, super::locale::english())
}

/// The unit argument of `start_of` and `end_of`, as text for the error.
pub(crate) fn unit_arg(name: &str, class: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<(String, bool)> {
    let qualified = format!("{class}.{name}");
    let bound = Sig::new(&qualified, &["unit"]).method().bind(args)?;
    let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
    Ok((crate::python::str(&unit, it)?, text(&unit).is_some()))
}

pub(crate) fn invalid_unit(name: &str, unit: &str) -> PyErr {
    PyErr::value_error(format!("Invalid unit \"{unit}\" for {name}()"))
}

impl Date {
    fn class(&self) -> &'static str {
        if self.pendulum { "Date" } else { "datetime.date" }
    }

    /// The class as messages about a bound method name it.
    fn bare(&self) -> &'static str {
        if self.pendulum { "Date" } else { "date" }
    }

    fn fields(&self) -> Fields {
        Fields::naive(self.date.and_time(NaiveTime::MIN))
    }

    fn new(date: NaiveDate) -> Self {
        Date { date, pendulum: true }
    }

    fn ymd(&self) -> (i64, i64, i64) {
        (i64::from(self.date.year()), i64::from(self.date.month()), i64::from(self.date.day()))
    }

    pub(crate) fn step_to(&self, day: Option<i64>, step: i64) -> PyResult<Date> {
        let weekday = |date: &Date| i64::from(date.date.weekday().num_days_from_monday());
        let day = day.unwrap_or_else(|| weekday(self));
        if !(0..=6).contains(&day) {
            return Err(PyErr::value_error("Invalid day of week"));
        }
        let one = pendulum_date::Step::days(step);
        let mut date = pendulum_date::add(self.date, &one)?;
        while weekday(&date) != day {
            date = pendulum_date::add(date.date, &one)?;
        }
        Ok(date)
    }

    fn start_of(&self, unit: &str) -> Option<PyResult<Date>> {
        let (year, month, _) = self.ymd();
        let make = |y: i64, m: i64, d: i64| make_date(y, m, d).map(Date::new);
        Some(match unit {
            "day" => Ok(self.clone()),
            "week" => {
                if self.date.weekday().num_days_from_monday() == 0 {
                    Ok(self.clone())
                } else {
                    self.step_to(Some(0), -1)
                }
            }
            "month" => make(year, month, 1),
            "year" => make(year, 1, 1),
            "decade" => make(year - year % 10, 1, 1),
            "century" => make(year - 1 - (year - 1) % 100 + 1, 1, 1),
            _ => return None,
        })
    }

    fn end_of(&self, unit: &str) -> Option<PyResult<Date>> {
        let (year, month, _) = self.ymd();
        let make = |y: i64, m: i64, d: i64| make_date(y, m, d).map(Date::new);
        Some(match unit {
            "day" => Ok(self.clone()),
            "week" => {
                if self.date.weekday().num_days_from_monday() == 6 {
                    Ok(self.clone())
                } else {
                    self.step_to(Some(6), 1)
                }
            }
            "month" => make(year, month, i64::from(super::pendulum::last_day(year, month))),
            "year" => make(year, 12, 31),
            "decade" => make(year - year % 10 + 9, 12, 31),
            "century" => make(year - 1 - (year - 1) % 100 + 100, 12, 31),
            _ => return None,
        })
    }

    /// The other date of `diff`; today without one.
    fn other(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<NaiveDate> {
        match value {
            Some(value) if !matches!(view(value), View::None) => match Moment::of(value) {
                Some(Moment::Date(date)) => Ok(date),
                Some(Moment::DateTime(dt)) => Ok(dt.date()),
                None => Err(lacking(value, "year", it)),
            },
            _ => Ok(it.now()?.date_naive()),
        }
    }

    fn interval(&self, other: NaiveDate, absolute: bool) -> PyResult<Interval> {
        Interval::new(&Moment::Date(self.date), &Moment::Date(other), absolute)
    }

    fn pendulum_method(&self, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let qualified = format!("Date.{name}");
        let sig = |names: &'static [&'static str], required: usize| {
            Sig::new(&qualified, names).required(required).method().bind(args)
        };
        if let Some(result) = extra_method(self.date, name, args) {
            return result;
        }
        match name {
            "format" => format_method(&Subject::Date(self.date), args, it),
            "for_json" => sig(&[], 0).map(|_| Value::from(date_text(self.date))),
            "is_long_year" => sig(&[], 0).map(|_| Value::from(long_year(self.date))),
            "set" | "replace" => {
                let bound = sig(&["year", "month", "day"], 0)?;
                let (year, month, day) = self.ymd();
                let mut parts = [year, month, day];
                for (slot, value) in parts.iter_mut().zip(bound) {
                    if let Some(value) = value.filter(|value| !matches!(view(value), View::None)) {
                        *slot = cargs::int(value)?;
                    }
                }
                let [year, month, day] = parts;
                Ok(object(Date::new(make_date(year, month, day)?)))
            }
            "add" | "subtract" => {
                let bound =
                    Sig::new(&qualified, &["years", "months", "weeks", "days"]).required(0).method().bind(args)?;
                pendulum_date::add(self.date, &amounts(&bound, name == "subtract", it)?).map(object)
            }
            "diff" => {
                let bound = sig(&["dt", "abs"], 0)?;
                let absolute = bound.get(1).copied().flatten().map_or(Ok(true), |value| truth(value, it))?;
                let other = Self::other(bound.first().copied().flatten(), it)?;
                self.interval(other, absolute).map(object)
            }
            "diff_for_humans" => {
                let bound = sig(&["other", "absolute", "locale"], 0)?;
                let other = bound.first().copied().flatten();
                let is_now = other.is_none_or(|value| matches!(view(value), View::None));
                let absolute = bound.get(1).copied().flatten().map_or(Ok(false), |value| truth(value, it))?;
                let locale = locale_of(bound.get(2).copied().flatten(), it)?;
                let units = self.interval(Self::other(other, it)?, true)?.units();
                humans::difference(&units, is_now, absolute, locale).map(Value::from)
            }
            "start_of" | "end_of" => {
                let (unit, is_text) = unit_arg(name, "Date", args, it)?;
                let moved = if name == "start_of" { self.start_of(&unit) } else { self.end_of(&unit) };
                moved.filter(|_| is_text).unwrap_or_else(|| Err(invalid_unit(name, &unit))).map(object)
            }
            "next" | "previous" => {
                let bound = sig(&["day_of_week"], 0)?;
                let day = Day::of(bound.first().copied().flatten()).step()?;
                self.step_to(day, if name == "next" { 1 } else { -1 }).map(object)
            }
            "first_of" | "last_of" => {
                let bound = sig(&["unit", "day_of_week"], 1)?;
                let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
                let shown = crate::python::str(&unit, it)?;
                let day = Day::of(bound.get(1).copied().flatten());
                edge_of(self, edge_unit(&unit, &shown)?, day, name == "last_of").map(object)
            }
            "nth_of" => {
                let bound = sig(&["unit", "nth", "day_of_week"], 3)?;
                let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
                let shown = crate::python::str(&unit, it)?;
                let count = bound.get(1).copied().flatten().cloned().unwrap_or_default();
                nth_of(self, edge_unit(&unit, &shown)?, &count, Day::of(bound.get(2).copied().flatten())).map(object)
            }
            "closest" | "farthest" => {
                let bound = sig(&["dt1", "dt2"], 2)?;
                let one = Self::other(bound.first().copied().flatten(), it)?;
                let two = Self::other(bound.get(1).copied().flatten(), it)?;
                let distance = |other: NaiveDate| (ordinal_of(other) - ordinal_of(self.date)).abs();
                let first =
                    if name == "closest" { distance(one) < distance(two) } else { distance(one) > distance(two) };
                Ok(object(Date::new(if first { one } else { two })))
            }
            "is_future" | "is_past" => {
                sig(&[], 0)?;
                let today = it.now()?.date_naive();
                Ok(Value::from(if name == "is_future" { self.date > today } else { self.date < today }))
            }
            "is_same_day" => {
                let bound = sig(&["dt"], 1)?;
                let other = bound.first().copied().flatten().cloned().unwrap_or_default();
                Ok(Value::from(downcast::<Date>(&other).is_some_and(|other| other.date == self.date)))
            }
            "is_anniversary" | "is_birthday" => {
                let bound = Sig::new("Date.is_anniversary", &["dt"]).required(0).method().bind(args)?;
                let other = Self::other(bound.first().copied().flatten(), it)?;
                Ok(Value::from((other.month(), other.day()) == (self.date.month(), self.date.day())))
            }
            "average" => {
                let bound = sig(&["dt"], 0)?;
                let other = Self::other(bound.first().copied().flatten(), it)?;
                let days = ordinal_of(other) - ordinal_of(self.date);
                pendulum_date::add(self.date, &pendulum_date::Step::days(days / 2)).map(object)
            }
            _ => Err(PyErr::unsupported(format!("Date.{name}"))),
        }
    }
}

/// A class method of `date`, plain or pendulum's.
pub(crate) fn class_method(pendulum: bool, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let date = match name {
        "today" => {
            cargs::none("date.today", args)?;
            it.now()?.date_naive()
        }
        "fromtimestamp" => super::class::from_timestamp(args.pos.first(), "date.fromtimestamp", args)?.0.date(),
        "fromordinal" => {
            let value = cargs::one("date.fromordinal", args)?;
            from_ordinal(cargs::int(value)?)?
        }
        "fromisoformat" => {
            let value = cargs::one("date.fromisoformat", args)?;
            super::iso::date_from_iso(value)?
        }
        _ => super::iso::from_isocalendar(args)?,
    };
    Ok(object(Date { date, pendulum }))
}

impl PyObject for Date {
    fn type_name(&self) -> &str {
        self.class()
    }

    fn qualified_name(&self) -> String {
        if self.pendulum { "pendulum.date.Date".into() } else { "datetime.date".into() }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        let (year, month, day) = self.ymd();
        Ok(format!("{}({year}, {month}, {day})", self.class()))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(date_text(self.date))
    }

    fn format(&self, spec: &str, _it: &mut dyn Interp) -> PyResult<String> {
        if spec.is_empty() {
            return Ok(date_text(self.date));
        }
        if self.pendulum {
            return format_spec(&Subject::Date(self.date), &self.fields(), spec);
        }
        strftime(spec, &self.fields())
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        let (year, month, day) = self.ymd();
        Some(Ok(match name {
            "year" => Value::from(year),
            "month" => Value::from(month),
            "day" => Value::from(day),
            "min" | "max" | "resolution" => return super::class::date_constant(name),
            "age" if self.pendulum => {
                return Some(it.now().and_then(|now| {
                    self.interval(now.date_naive(), false).map(|interval| Value::from(interval.diff.years))
                }));
            }
            _ if self.pendulum => return extra_attribute(self.date, name),
            _ => return None,
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        PLAIN.contains(&name)
            || CLASS_METHODS.contains(&name)
            || self.pendulum && (EXTRA.contains(&name) || name == "for_json")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if CLASS_METHODS.contains(&name) {
            return class_method(self.pendulum, name, args, it);
        }
        if self.pendulum && (EXTRA.contains(&name) || matches!(name, "replace" | "for_json")) {
            return self.pendulum_method(name, args, it);
        }
        if let Some(result) = common_method(self.bare(), self.date, name, args) {
            return result;
        }
        match name {
            "isoformat" => {
                cargs::none(&format!("{}.isoformat", self.bare()), args).map(|()| Value::from(date_text(self.date)))
            }
            "ctime" => {
                cargs::none(&format!("{}.ctime", self.bare()), args).map(|()| Value::from(ctime(self.date, "00:00:00")))
            }
            "strftime" => strftime_method(&self.fields(), args),
            "timetuple" => {
                cargs::none(&format!("{}.timetuple", self.bare()), args).map(|()| tuples::struct_time(&self.fields()))
            }
            "replace" => {
                let given = cargs::parse(Some("replace"), &["year", "month", "day"], 0, 3, args)?;
                let (year, month, day) = self.ymd();
                let mut parts = [year, month, day];
                for (slot, value) in parts.iter_mut().zip(given) {
                    if let Some(value) = value {
                        *slot = cargs::int(value)?;
                    }
                }
                let [year, month, day] = parts;
                Ok(object(Date { date: make_date(year, month, day)?, pendulum: false }))
            }
            "__format__" => {
                let spec = cargs::one("date.__format__", args)?;
                let spec = cargs::str_arg("__format__", 0, spec)?.to_owned();
                self.format(&spec, it).map(Value::from)
            }
            _ => Err(PyErr::unsupported(format!("date.{name}"))),
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if let Some(other) = downcast::<Date>(other) {
            return Some(Ok(crate::python::holds(op, self.date.cmp(&other.date))));
        }
        let dt = downcast::<super::datetime::DateTime>(other)?;
        if self.pendulum && !dt.pendulum {
            // neither class derives from the other: the C code of date compares the days alone
            return Some(Ok(crate::python::holds(op, self.date.cmp(&dt.date()))));
        }
        Some(match op {
            CmpOp::Eq => Ok(false),
            CmpOp::Ne => Ok(true),
            _ => Err(PyErr::type_error(format!("can't compare {} to {}", dt.type_name(), self.class()))),
        })
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        arith::binary(arith::Temp::Date(self), op, other, reflected, it)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(key(self.date))
    }
}

/// `None` as a value, for optional results.
pub(crate) fn optional(value: Option<impl Into<Value>>) -> Value {
    value.map_or_else(none, Into::into)
}

/// The error of reading an attribute that a value lacks; an undefined value has its own.
pub(crate) fn lacking(value: &Value, name: &str, it: &mut dyn Interp) -> PyErr {
    match crate::python::getattr(value, name, it) {
        Err(error) => error,
        Ok(Some(_)) => {
            PyErr::unsupported(format!("an object of type '{}' in place of a date", crate::python::type_name(value)))
        }
        Ok(None) => {
            PyErr::attribute_error(format!("'{}' object has no attribute '{name}'", crate::python::type_name(value)))
        }
    }
}
