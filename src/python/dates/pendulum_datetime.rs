//! Methods and attributes of pendulum's `DateTime`.

use chrono::Datelike;

use super::date::{self, Date};
use super::datetime::{DateTime, make_naive};
use super::duration::locale_of;
use super::formatter::{self, Subject};
use super::interval::{Interval, Moment};
use super::pendulum::{UNITS, amounts, average, create, distance, instance, replace_parts, safe_timezone};
use super::pendulum_date::{Day, edge_of, edge_unit, nth_of};
use super::time::Time;
use super::tzinfo::TzInfo;
use super::{cargs, class, humans, locale, tzobject};
use crate::python::zone::Zone;
use crate::python::{Args, CmpOp, Interp, PyErr, PyResult, Sig, Value, View, downcast, none, object, truth, view};

/// Formats of the `to_..._string` methods that pendulum's tokens give.
const FORMATS: [(&str, &str); 12] = [
    ("to_time_string", "HH:mm:ss"),
    ("to_datetime_string", "YYYY-MM-DD HH:mm:ss"),
    ("to_day_datetime_string", "ddd, MMM D, YYYY h:mm A"),
    ("to_atom_string", "YYYY-MM-DDTHH:mm:ssZ"),
    ("to_cookie_string", "dddd, DD-MMM-YYYY HH:mm:ss zz"),
    ("to_rfc822_string", "ddd, DD MMM YY HH:mm:ss ZZ"),
    ("to_rfc850_string", "dddd, DD-MMM-YY HH:mm:ss zz"),
    ("to_rfc1036_string", "ddd, DD MMM YY HH:mm:ss ZZ"),
    ("to_rfc1123_string", "ddd, DD MMM YYYY HH:mm:ss ZZ"),
    ("to_rfc2822_string", "ddd, DD MMM YYYY HH:mm:ss ZZ"),
    ("to_rss_string", "ddd, DD MMM YYYY HH:mm:ss ZZ"),
    ("to_w3c_string", "YYYY-MM-DDTHH:mm:ssZ"),
];

const OWN: [&str; 22] = [
    "date",
    "time",
    "naive",
    "on",
    "at",
    "in_timezone",
    "in_tz",
    "to_iso8601_string",
    "to_rfc3339_string",
    "is_local",
    "is_utc",
    "is_dst",
    "get_offset",
    "replace",
    "create",
    "instance",
    "now",
    "utcnow",
    "today",
    "for_json",
    "format",
    "_cmp",
];

/// Whether the class has a method of its own of that name, or one of pendulum's Date.
pub(crate) fn has_method(name: &str) -> bool {
    OWN.contains(&name) || date::EXTRA.contains(&name) || FORMATS.iter().any(|(method, _)| *method == name)
}

/// Attributes and properties.
pub(crate) fn attribute(dt: &DateTime, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
    let offset = || dt.offset().map(|micros| micros / 1_000_000);
    Some(match name {
        "float_timestamp" => Ok(Value::from(dt.timestamp())),
        "int_timestamp" => dt.int_timestamp().map(Value::from),
        "offset" => Ok(date::optional(offset())),
        "offset_hours" => Ok(date::optional(offset().map(|seconds| seconds as f64 / 60.0 / 60.0))),
        "timezone" | "tz" => {
            Ok(dt.timezone().map_or_else(none, |zone| tzobject::optional(Some(&TzInfo::Pendulum(zone)))))
        }
        "timezone_name" => Ok(date::optional(dt.timezone().map(|zone| zone.name()))),
        "age" => it.now().and_then(|now| {
            let today = match dt.timezone() {
                Some(zone) => zone.local(now).0.date(),
                None => now.date_naive(),
            };
            let interval = Interval::new(&Moment::Date(dt.date()), &Moment::Date(today), false)?;
            Ok(Value::from(interval.diff.years))
        }),
        "EPOCH" => Ok(object(DateTime {
            naive: chrono::NaiveDateTime::default(),
            tz: Some(TzInfo::PENDULUM_UTC),
            fold: false,
            pendulum: true,
        })),
        _ => return date::extra_attribute(dt.date(), name),
    })
}

/// The clock, as pendulum's `now(tz)`.
pub(crate) fn now(zone: Option<Zone>, it: &mut dyn Interp) -> PyResult<DateTime> {
    let utc = DateTime::utc_pendulum(it.now()?);
    match zone {
        Some(zone) if zone != Zone::UTC => utc.astimezone(Some(&TzInfo::Pendulum(zone))),
        _ => Ok(utc),
    }
}

/// A datetime argument made one of pendulum's own.
fn instance_arg(value: &Value, it: &mut dyn Interp) -> PyResult<DateTime> {
    match downcast::<DateTime>(value) {
        Some(dt) => instance(dt, Some(Zone::UTC)),
        // what has a tzinfo but no date fails a step later
        None if downcast::<Time>(value).is_some() => Err(date::lacking(value, "year", it)),
        None => Err(date::lacking(value, "tzinfo", it)),
    }
}

fn is_none(value: Option<&Value>) -> bool {
    value.is_none_or(|value| matches!(view(value), View::None))
}

/// The other end of `diff`; now without one.
fn other_end(dt: &DateTime, value: Option<&Value>, it: &mut dyn Interp) -> PyResult<Moment> {
    match value {
        Some(value) if !is_none(Some(value)) => Moment::of(value)
            .ok_or_else(|| PyErr::value_error("Both start and end of an Interval must have the same type")),
        _ => now(dt.timezone(), it).map(Moment::DateTime),
    }
}

/// Numbers for the C constructor; `None` keeps, or counts as the number itself where `strict`.
fn parts_of(bound: &[Option<&Value>]) -> PyResult<[Option<i64>; 7]> {
    let mut parts = [None; 7];
    for (slot, value) in parts.iter_mut().zip(bound) {
        if let Some(value) = value.filter(|value| !matches!(view(value), View::None)) {
            *slot = Some(cargs::int(value)?);
        }
    }
    Ok(parts)
}

/// `x.name(...)`
pub(crate) fn call(dt: &DateTime, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let qualified = format!("DateTime.{name}");
    let sig = |names: &'static [&'static str], required: usize| {
        Sig::new(&qualified, names).required(required).method().bind(args)
    };
    if let Some((_, fmt)) = FORMATS.iter().find(|(method, _)| *method == name) {
        sig(&[], 0)?;
        return formatter::format(&Subject::DateTime(dt), fmt, locale::english()).map(Value::from);
    }
    if let Some(result) = date::extra_method(dt.date(), name, args) {
        return result;
    }
    match name {
        "format" => date::format_method(&Subject::DateTime(dt), args, it),
        "date" => sig(&[], 0).map(|_| object(Date { date: dt.date(), pendulum: true })),
        "time" => {
            sig(&[], 0)?;
            Ok(object(Time { time: dt.naive.time(), tz: None, fold: false, pendulum: true }))
        }
        "naive" => sig(&[], 0).map(|_| object(DateTime { tz: None, fold: false, ..dt.clone() })),
        "get_offset" => sig(&[], 0).map(|_| date::optional(dt.offset().map(|micros| micros / 1_000_000))),
        "is_utc" => sig(&[], 0).map(|_| Value::from(dt.offset() == Some(0))),
        "is_local" => sig(&[], 0).map(|_| Value::from(dt.offset() == Some(0))),
        "is_dst" => {
            sig(&[], 0)?;
            let dst = dt.tz.as_ref().and_then(|tz| tz.local(dt.naive, dt.fold).dst);
            Ok(Value::from(dst != Some(0)))
        }
        "for_json" => {
            Sig::new("FormattableMixin.for_json", &[]).method().bind(args)?;
            dt.isoformat('T', "auto").map(Value::from)
        }
        "to_iso8601_string" | "to_rfc3339_string" => {
            sig(&[], 0)?;
            let text = dt.isoformat('T', "auto")?;
            let utc = name == "to_iso8601_string" && dt.timezone() == Some(Zone::UTC);
            Ok(Value::from(if utc { text.replace("+00:00", "Z") } else { text }))
        }
        "is_long_year" => sig(&[], 0).map(|_| Value::from(date::long_year(dt.date()))),
        "is_future" | "is_past" => {
            sig(&[], 0)?;
            let now = now(dt.timezone(), it)?;
            dt.compare_with(if name == "is_future" { CmpOp::Gt } else { CmpOp::Lt }, &now).map(Value::from)
        }
        "in_timezone" | "in_tz" => {
            let bound = sig(&["tz"], 1)?;
            let tz = bound.first().copied().flatten().cloned().unwrap_or_default();
            dt.in_timezone(safe_timezone(&tz, None)?).map(object)
        }
        "set" => {
            let bound = sig(&["year", "month", "day", "hour", "minute", "second", "microsecond", "tz"], 0)?;
            let zone = match bound.get(7).copied().flatten() {
                Some(value) if !is_none(Some(value)) => Some(safe_timezone(value, None)?),
                _ => dt.timezone(),
            };
            let parts = parts_of(&bound)?;
            create(make_naive(replace_parts(dt.naive, parts))?, zone, dt.fold).map(object)
        }
        "replace" => replace(dt, args),
        "on" => {
            let bound = sig(&["year", "month", "day"], 3)?;
            let mut parts = [None; 7];
            for (slot, value) in parts.iter_mut().zip(bound) {
                let value = value.cloned().unwrap_or_default();
                *slot = Some(cargs::int(&class::int_call(&value, it)?)?);
            }
            dt.set(parts).map(object)
        }
        "at" => {
            let bound = sig(&["hour", "minute", "second", "microsecond"], 1)?;
            let mut time = [Some(0); 4];
            for (slot, value) in time.iter_mut().zip(&bound) {
                if let Some(value) = value {
                    // `set` keeps what is None
                    *slot = if is_none(Some(value)) { None } else { Some(cargs::int(value)?) };
                }
            }
            let [hour, minute, second, micros] = time;
            dt.set([None, None, None, hour, minute, second, micros]).map(object)
        }
        "add" | "subtract" => {
            let bound = sig(&UNITS, 0)?;
            dt.add(&amounts(&bound, name == "subtract", it)?).map(object)
        }
        "start_of" | "end_of" => {
            let (unit, is_text) = date::unit_arg(name, "DateTime", args, it)?;
            let moved = if name == "start_of" { dt.start_of(&unit) } else { dt.end_of(&unit) };
            moved.filter(|_| is_text).unwrap_or_else(|| Err(date::invalid_unit(name, &unit))).map(object)
        }
        "next" | "previous" => {
            let bound = sig(&["day_of_week", "keep_time"], 0)?;
            let keep = bound.get(1).copied().flatten().map_or(Ok(false), |value| truth(value, it))?;
            let day = Day::of(bound.first().copied().flatten()).step()?;
            dt.step_to(day, keep, if name == "next" { 1 } else { -1 }).map(object)
        }
        "first_of" | "last_of" => {
            let bound = sig(&["unit", "day_of_week"], 1)?;
            let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
            let shown = crate::python::str(&unit, it)?;
            let day = Day::of(bound.get(1).copied().flatten());
            edge_of(dt, edge_unit(&unit, &shown)?, day, name == "last_of").map(object)
        }
        "nth_of" => {
            let bound = sig(&["unit", "nth", "day_of_week"], 3)?;
            let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
            let shown = crate::python::str(&unit, it)?;
            let count = bound.get(1).copied().flatten().cloned().unwrap_or_default();
            nth_of(dt, edge_unit(&unit, &shown)?, &count, Day::of(bound.get(2).copied().flatten())).map(object)
        }
        "diff" => {
            let bound = sig(&["dt", "abs"], 0)?;
            let absolute = bound.get(1).copied().flatten().map_or(Ok(true), |value| truth(value, it))?;
            let other = other_end(dt, bound.first().copied().flatten(), it)?;
            Interval::new(&Moment::DateTime(dt.clone()), &other, absolute).map(object)
        }
        "diff_for_humans" => {
            let bound = sig(&["other", "absolute", "locale"], 0)?;
            let other = bound.first().copied().flatten();
            let is_now = is_none(other);
            let absolute = bound.get(1).copied().flatten().map_or(Ok(false), |value| truth(value, it))?;
            let other = if is_now { Moment::DateTime(now(None, it)?) } else { other_end(dt, other, it)? };
            let interval = Interval::new(&Moment::DateTime(dt.clone()), &other, true)?;
            let locale = locale_of(bound.get(2).copied().flatten(), it)?;
            humans::difference(&interval.units(), is_now, absolute, locale).map(Value::from)
        }
        "closest" | "farthest" => closest(dt, name, args, it),
        "is_same_day" => {
            let bound = sig(&["dt"], 1)?;
            let other = instance_arg(&bound.first().copied().flatten().cloned().unwrap_or_default(), it)?;
            Ok(Value::from(other.date() == dt.date()))
        }
        "is_anniversary" | "is_birthday" => {
            let qualified = if name == "is_birthday" { "Date.is_anniversary" } else { "DateTime.is_anniversary" };
            let bound = Sig::new(qualified, &["dt"]).required(0).method().bind(args)?;
            let other = bound.first().copied().flatten();
            // `is_birthday` is Date's method: it rebuilds the other date as a DateTime of its day
            let other = match other {
                Some(value) if !is_none(Some(value)) => match Moment::of(value) {
                    Some(Moment::Date(date)) if name == "is_birthday" => date,
                    _ => instance_arg(value, it)?.date(),
                },
                _ => now(dt.timezone(), it)?.date(),
            };
            Ok(Value::from((other.month(), other.day()) == (dt.date().month(), dt.date().day())))
        }
        "average" => {
            let bound = sig(&["dt"], 0)?;
            match other_end(dt, bound.first().copied().flatten(), it)? {
                Moment::DateTime(other) => average(dt, &other).map(object),
                Moment::Date(_) => Err(PyErr::value_error("Both start and end of an Interval must have the same type")),
            }
        }
        "now" | "utcnow" | "today" => {
            let bound = if name == "now" { sig(&["tz"], 0)? } else { sig(&[], 0)? };
            let zone = match bound.first().copied().flatten() {
                Some(value) if !is_none(Some(value)) => Some(safe_timezone(value, None)?),
                _ => None,
            };
            now(zone, it).map(object)
        }
        "instance" => {
            let bound = sig(&["dt", "tz"], 1)?;
            let value = bound.first().copied().flatten().cloned().unwrap_or_default();
            let Some(other) = downcast::<DateTime>(&value) else { return Err(date::lacking(&value, "tzinfo", it)) };
            let zone = match bound.get(1).copied().flatten() {
                None => Some(Zone::UTC),
                Some(value) if is_none(Some(value)) => None,
                Some(value) => Some(safe_timezone(value, None)?),
            };
            instance(other, zone).map(object)
        }
        "create" => class::pendulum_create(args, it),
        "_cmp" => {
            let bound = sig(&["other"], 1)?;
            let value = bound.first().copied().flatten().cloned().unwrap_or_default();
            let Some(other) = downcast::<DateTime>(&value) else {
                return Err(PyErr::unsupported("comparing a datetime with this value"));
            };
            let sign = if dt.compare_with(CmpOp::Eq, other)? {
                0
            } else if dt.compare_with(CmpOp::Gt, other)? {
                1
            } else {
                -1
            };
            Ok(Value::from(sign))
        }
        _ => Err(PyErr::unsupported(format!("DateTime.{name}"))),
    }
}

fn replace(dt: &DateTime, args: &Args<'_>) -> PyResult {
    let names = super::datetime_object::FIELDS;
    let bound = Sig::new("DateTime.replace", &names).required(0).method().bind(args)?;
    let zone = match bound.get(7).copied().flatten() {
        None => dt.tz.as_ref().map(|tz| tz.to_pendulum(None)).transpose()?,
        Some(value) => match view(value) {
            View::Bool(true) => dt.tz.as_ref().map(|tz| tz.to_pendulum(None)).transpose()?,
            View::None => None,
            _ => Some(safe_timezone(value, None)?),
        },
    };
    let parts = parts_of(&bound)?;
    let naive = make_naive(replace_parts(dt.naive, parts))?;
    let fold = match bound.get(8).copied().flatten() {
        Some(value) if !is_none(Some(value)) => class::fold_arg(value)?,
        _ => dt.fold,
    };
    create(naive, zone, fold).map(object)
}

/// The one of several datetimes that lies nearest or farthest; the first of equally distant ones.
fn closest(dt: &DateTime, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    if let Some((key, _)) = args.kw.first() {
        return Err(PyErr::type_error(format!("DateTime.{name}() got an unexpected keyword argument '{key}'")));
    }
    let mut best: Option<(i128, DateTime)> = None;
    for value in args.pos {
        let candidate = instance_arg(value, it)?;
        if candidate.tz.is_some() != dt.tz.is_some() {
            return Err(PyErr::type_error("can't compare offset-naive and offset-aware datetimes"));
        }
        let away = distance(dt, &candidate);
        let better = match &best {
            None => true,
            Some((least, _)) if name == "closest" => away < *least,
            Some((most, _)) => away > *most,
        };
        if better {
            best = Some((away, candidate));
        }
    }
    let verb = if name == "closest" { "min" } else { "max" };
    best.map(|(_, dt)| object(dt)).ok_or_else(|| PyErr::value_error(format!("{verb}() arg is an empty sequence")))
}
