//! Python's `time` module, on a host in UTC.

use chrono::{Datelike, NaiveDate, Timelike};

use super::dates::tuples::{numbers, parsed_time};
use super::dates::{Fields, ctime, from_timestamp, raw_strptime, time_strftime};
use super::{Args, Interp, PyErr, PyResult, Value, View, cargs, function, module, text, type_name, view};

/// The module.
pub fn time_module() -> Value {
    module("time", true, attribute)
}

fn attribute(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    Some(Ok(match name {
        "time" => function("time", |args, it| {
            cargs::none("time.time", args)?;
            let now = it.now()?;
            Ok(Value::from(now.timestamp_micros() as f64 / 1e6))
        }),
        "time_ns" => function("time_ns", |args, it| {
            cargs::none("time.time_ns", args)?;
            Ok(super::int(i128::from(it.now()?.timestamp_micros()) * 1000))
        }),
        "strftime" => function("strftime", strftime),
        "strptime" => function("strptime", strptime),
        "gmtime" => function("gmtime", |args, it| broken_down("gmtime", args, it)),
        "localtime" => function("localtime", |args, it| broken_down("localtime", args, it)),
        "mktime" => function("mktime", mktime),
        "asctime" => function("asctime", |args, it| {
            let pos = cargs::positional("time.asctime", args, 0, 1)?;
            let fields = fields_of(pos.first(), it)?;
            let t = fields.naive;
            let clock = format!("{:02}:{:02}:{:02}", t.hour(), t.minute(), t.second());
            Ok(Value::from(ctime(t.date(), &clock)))
        }),
        "ctime" => function("ctime", |args, it| {
            let pos = cargs::positional("time.ctime", args, 0, 1)?;
            let t = instant(pos.first(), args, it)?;
            let clock = format!("{:02}:{:02}:{:02}", t.hour(), t.minute(), t.second());
            Ok(Value::from(ctime(t.date(), &clock)))
        }),
        "timezone" | "altzone" | "daylight" => Value::from(0),
        "tzname" => super::tuple(vec![Value::from("UTC"), Value::from("UTC")]),
        "sleep"
        | "monotonic"
        | "monotonic_ns"
        | "perf_counter"
        | "perf_counter_ns"
        | "process_time"
        | "process_time_ns"
        | "thread_time"
        | "thread_time_ns"
        | "clock_gettime"
        | "clock_getres"
        | "clock_settime"
        | "get_clock_info"
        | "struct_time"
        | "tzset"
        | "clock_gettime_ns"
        | "clock_settime_ns"
        | "pthread_getcpuclockid" => return Some(Err(PyErr::unsupported(format!("time.{name}")))),
        _ => return None,
    }))
}

/// The time given in seconds since 1970, or now.
fn instant(value: Option<&Value>, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<chrono::NaiveDateTime> {
    match value {
        Some(value) if !matches!(view(value), View::None) => {
            let naive = from_timestamp(Some(value), "time.gmtime", args)?;
            Ok(naive.with_nanosecond(0).unwrap_or(naive))
        }
        _ => Ok(it.now()?.naive_utc()),
    }
}

fn broken_down(name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let pos = cargs::parse_tuple(&format!("time.{name}"), args, 0, 1)?;
    let t = instant(pos.first(), args, it)?;
    Ok(super::dates::tuples::struct_time(&Fields { dst: Some(false), ..Fields::naive(t) }))
}

/// The fields of a `struct_time` or tuple of nine; now without one.
fn fields_of(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<Fields> {
    let Some(value) = value else {
        return Ok(Fields { dst: Some(false), ..Fields::naive(it.now()?.naive_utc()) });
    };
    let Some(parts) = numbers(value) else {
        return Err(match type_name(value).as_str() {
            "tuple" | "time.struct_time" => PyErr::unsupported("a time tuple that is not nine ints"),
            _ => PyErr::type_error("Tuple or struct_time argument required"),
        });
    };
    let [year, month, day, hour, minute, second, weekday, yday, isdst] = parts.as_slice() else {
        return Err(PyErr::type_error("time tuple must have exactly 9 elements"));
    };
    let date = i32::try_from(*year)
        .ok()
        .zip(u32::try_from(*month).ok())
        .zip(u32::try_from(*day).ok())
        .and_then(|((year, month), day)| NaiveDate::from_ymd_opt(year, month, day));
    let naive = date.and_then(|date| {
        date.and_hms_opt(u32::try_from(*hour).ok()?, u32::try_from(*minute).ok()?, u32::try_from(*second).ok()?)
    });
    // the C library prints weekday and day of year as given: only consistent tuples are taken
    let naive = naive.filter(|naive| {
        i64::from(naive.weekday().num_days_from_monday()) == *weekday && i64::from(naive.ordinal()) == *yday
    });
    let naive = naive.ok_or_else(|| PyErr::unsupported("a time tuple whose parts do not belong together"))?;
    let dst = match isdst {
        0 => Some(false),
        1.. => Some(true),
        _ => None,
    };
    Ok(Fields { dst, ..Fields::naive(naive) })
}

fn strftime(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let pos = cargs::parse_tuple("time.strftime", args, 1, 2)?;
    let format = pos.first().cloned().unwrap_or_default();
    let format = text(&format).ok_or_else(|| {
        PyErr::type_error(format!("strftime() argument 1 must be str, not {}", cargs::short_type_name(&format)))
    })?;
    let fields = fields_of(pos.get(1), it)?;
    Ok(Value::from(time_strftime(format, &fields)))
}

fn strptime(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let pos = cargs::positional("time.strptime", args, 1, 2)?;
    let part = |at: usize| {
        let value = pos.get(at).cloned().unwrap_or_else(|| Value::from("%a %b %d %H:%M:%S %Y"));
        match text(&value) {
            Some(text) => Ok(text.to_owned()),
            None => Err(PyErr::type_error(format!(
                "strptime() argument {at} must be str, not <class '{}'>",
                type_name(&value)
            ))),
        }
    };
    let (text, format) = (part(0)?, part(1)?);
    Ok(parsed_time(&raw_strptime(&text, &format)?))
}

fn mktime(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let value = cargs::one("time.mktime", args)?;
    let fields = fields_of(Some(value), it)?;
    let seconds = fields.naive.and_utc().timestamp() - if fields.dst == Some(true) { 3600 } else { 0 };
    Ok(Value::from(seconds as f64))
}
