//! The package `dateutil`: `relativedelta`, `parser`, `tz` as far as templates reach them.

use super::cargs;
use super::class::Class;
use super::number::N;
use super::timedelta;
use super::tzinfo::TzInfo;
use super::tzobject::TzObject;
use super::weekday::DateutilWeekday;
use super::{isoparser, parser};
use crate::python::module::module;
use crate::python::zone::Zone;
use crate::python::{Args, Interp, PyErr, PyResult, Sig, Value, View, function, none, object, text, view};

/// `dateutil`
pub fn dateutil() -> Value {
    module("dateutil", false, |name, _it| {
        Some(match name {
            "relativedelta" => Ok(module("dateutil.relativedelta", false, relativedelta)),
            "parser" => Ok(module("dateutil.parser", false, parser_attribute)),
            "tz" => Ok(module("dateutil.tz", false, tz)),
            "__version__" => return None,
            "rrule" | "easter" | "utils" | "zoneinfo" => Err(PyErr::unsupported(format!("dateutil.{name}"))),
            _ => return None,
        })
    })
}

fn relativedelta(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    if let Some(day) = DateutilWeekday::named(name) {
        return Some(Ok(object(day)));
    }
    Some(Ok(match name {
        "relativedelta" => Class::RelativeDelta.value(),
        "weekday" => Class::Weekday.value(),
        "weekdays" => crate::python::tuple((0..7).map(|day| object(DateutilWeekday::new(day))).collect()),
        "datetime" | "calendar" | "operator" | "copysign" | "warn" => {
            return Some(Err(PyErr::unsupported(format!("dateutil.relativedelta.{name}"))));
        }
        _ => return None,
    }))
}

fn parser_attribute(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    Some(match name {
        "parse" => Ok(function("parse", parser::parse)),
        "isoparse" => Ok(function("isoparse", isoparser::isoparse)),
        "parser"
        | "parserinfo"
        | "isoparser"
        | "ParserError"
        | "UnknownTimezoneWarning"
        | "DEFAULTPARSER"
        | "DEFAULTTZPARSER"
        | "InvalidDatetimeError"
        | "InvalidDateError"
        | "InvalidTimeError" => Err(PyErr::unsupported(format!("dateutil.parser.{name}"))),
        _ => return None,
    })
}

fn zone(tz: TzInfo) -> Value {
    object(TzObject(tz))
}

fn tz(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    Some(Ok(match name {
        "UTC" => zone(TzInfo::DateutilUtc),
        "tzutc" => function("tzutc", |args, _it| {
            Sig::new("tzutc.__call__", &[]).method().bind(args)?;
            Ok(zone(TzInfo::DateutilUtc))
        }),
        "tzlocal" => function("tzlocal", |args, _it| {
            Sig::new("tzlocal.__init__", &[]).method().bind(args)?;
            Ok(zone(TzInfo::DateutilLocal))
        }),
        "gettz" => function("gettz", gettz),
        "tzoffset" => function("tzoffset", tzoffset),
        "tzfile"
        | "tzrange"
        | "tzstr"
        | "tzical"
        | "tzwin"
        | "tzwinlocal"
        | "enfold"
        | "datetime_ambiguous"
        | "datetime_exists"
        | "resolve_imaginary"
        | "DeprecatedTzFormatWarning" => {
            return Some(Err(PyErr::unsupported(format!("dateutil.tz.{name}"))));
        }
        _ => return None,
    }))
}

/// `tz.gettz(name)`: a zone of the IANA database; an unknown name is `None`.
fn gettz(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("__get_gettz.<locals>.GettzFunc.__call__", &["name"]).required(0).method().bind(args)?;
    let name = match bound.first().copied().flatten() {
        Some(value) if !matches!(view(value), View::None) => {
            text(value).ok_or_else(|| PyErr::unsupported("gettz of something that is no text"))?
        }
        _ => return Err(PyErr::unsupported("the time zone of the host")),
    };
    if let Ok(Zone::Named(tz)) = Zone::parse(name)
        && tz.name() == name
    {
        return Ok(zone(TzInfo::DateutilFile(tz)));
    }
    if name.is_empty() || name.starts_with([':', '/', '.']) || name.chars().any(|c| c.is_ascii_digit() || c == ' ') {
        return Err(PyErr::unsupported(format!("the time zone text '{name}'")));
    }
    match name {
        "GMT" | "UTC" | "utc" | "Utc" => Err(PyErr::unsupported(format!("the time zone text '{name}'"))),
        _ => Ok(none()),
    }
}

/// `tz.tzoffset(name, offset)`: seconds or a timedelta.
fn tzoffset(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("_TzOffsetFactory.__call__", &["name", "offset"]).method().bind(args)?;
    let value = bound.get(1).copied().flatten().cloned().unwrap_or_default();
    let seconds = match (timedelta::micros_of(&value), N::of(&value)) {
        (Some(micros), _) if micros % 1_000_000 == 0 => micros / 1_000_000,
        (None, Some(N::I(seconds))) => seconds,
        (None, None) => return Err(cargs::not_an_integer(&value)),
        _ => return Err(PyErr::unsupported("a time zone offset with a fraction of a second")),
    };
    let seconds = i32::try_from(seconds)
        .ok()
        .filter(|seconds| seconds.abs() < 86_400)
        .ok_or_else(|| PyErr::unsupported("a time zone offset of a day or more"))?;
    let name = match bound.first().copied().flatten() {
        Some(value) if matches!(view(value), View::None) => None,
        Some(value) => Some(text(value).ok_or_else(|| PyErr::unsupported("a time zone name that is no text"))?.into()),
        None => None,
    };
    Ok(zone(TzInfo::DateutilOffset { name, seconds }))
}
