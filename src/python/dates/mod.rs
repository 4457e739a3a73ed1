//! Dates and times as Python values: the `datetime` module, pendulum 3 and dateutil as far as templates reach them.

mod arith;
mod cargs;
mod class;
mod date;
mod datetime;
mod datetime_object;
mod dateutil;
mod duration;
mod formatter;
mod humans;
mod interval;
mod iso;
mod isoparser;
mod lexer;
mod locale;
mod number;
mod parser;
mod pendulum;
mod pendulum_date;
mod pendulum_datetime;
mod relativedelta;
mod relativedelta_object;
mod strftime;
mod strptime;
mod text;
mod time;
mod timedelta;
pub(crate) mod tuples;
mod tzinfo;
mod tzobject;
mod weekday;
mod words;
mod ymd;

pub use class::{Class, parse_text};
pub use date::Date;
pub(crate) use date::ctime;
pub use datetime::DateTime;
pub use dateutil::dateutil;
pub use duration::Duration;
pub use interval::Interval;
pub use relativedelta::RelativeDelta;
pub use strftime::{Fields, strftime, time_strftime};
pub(crate) use strptime::parse as raw_strptime;
pub use strptime::{Parsed, strptime};
pub use time::Time;
pub use timedelta::TimeDelta;
pub use tzinfo::TzInfo;
pub use tzobject::TzObject;
pub use weekday::{DateutilWeekday, WeekDay};

/// The UTC time of a POSIX timestamp, as `fromtimestamp` reads it.
pub(crate) fn from_timestamp(
    value: Option<&crate::python::Value>,
    name: &str,
    args: &crate::python::Args<'_>,
) -> crate::python::PyResult<chrono::NaiveDateTime> {
    class::from_timestamp(value, name, args).map(|(naive, ())| naive)
}

/// pendulum's `instance(x)` for datetimes, dates and times, and what `datetime_diff_for_humans` does with it.
pub fn pendulum_instance(value: &crate::python::Value, it: &mut dyn crate::python::Interp) -> crate::python::PyResult {
    use crate::python::{PyErr, downcast, getattr, object, type_name, zone::Zone};
    if let Some(dt) = downcast::<DateTime>(value) {
        return if dt.pendulum { Ok(value.clone()) } else { pendulum::instance(dt, Some(Zone::UTC)).map(object) };
    }
    if let Some(date) = downcast::<Date>(value) {
        return Ok(object(Date { pendulum: true, ..date.clone() }));
    }
    if let Some(time) = downcast::<Time>(value) {
        if time.pendulum {
            return Ok(value.clone());
        }
        let zone = time.tz.as_ref().map_or(Ok(Zone::UTC), |tz| tz.to_pendulum(None))?;
        return Ok(object(Time { tz: Some(TzInfo::Pendulum(zone)), pendulum: true, ..time.clone() }));
    }
    // What is undefined raises its own error when it is asked.
    getattr(value, "tzinfo", it)?;
    Err(PyErr::attribute_error(format!("'{}' object has no attribute 'tzinfo'", type_name(value))))
}
