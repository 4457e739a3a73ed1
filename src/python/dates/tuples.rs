//! Tuples with named fields: `time.struct_time` and `datetime.IsoCalendarDate`.

use chrono::{Datelike, NaiveDate, Timelike};

use super::strftime::Fields;
use super::strptime::StructTime;
use crate::python::Named;
use crate::python::{Tuple, Value, downcast, named_tuple};

const STRUCT_TIME: Named = Named {
    class: "time.struct_time",
    fields: &["tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst"],
    plain_repr: false,
};
const ISO_CALENDAR: Named =
    Named { class: "datetime.IsoCalendarDate", fields: &["year", "week", "weekday"], plain_repr: false };

/// `isocalendar()` of a date.
pub(crate) fn iso_calendar(date: NaiveDate) -> Value {
    let week = date.iso_week();
    let items =
        vec![Value::from(week.year()), Value::from(week.week()), Value::from(date.weekday().number_from_monday())];
    named_tuple(ISO_CALENDAR, items)
}

/// `timetuple()` of a value.
pub(crate) fn struct_time(fields: &Fields) -> Value {
    let t = &fields.naive;
    of_numbers(&[
        i64::from(t.year()),
        t.month().into(),
        t.day().into(),
        t.hour().into(),
        t.minute().into(),
        t.second().into(),
        t.weekday().num_days_from_monday().into(),
        t.ordinal().into(),
        fields.dst.map_or(-1, i64::from),
    ])
}

/// `time.strptime`'s result.
pub(crate) fn parsed_time(parsed: &StructTime) -> Value {
    let date = parsed.date;
    of_numbers(&[
        i64::from(date.year()),
        date.month().into(),
        date.day().into(),
        parsed.hour.into(),
        parsed.minute.into(),
        parsed.second.into(),
        parsed.weekday.into(),
        parsed.julian,
        parsed.isdst,
    ])
}

/// A `struct_time` of nine numbers.
pub(crate) fn of_numbers(items: &[i64]) -> Value {
    named_tuple(STRUCT_TIME, items.iter().copied().map(Value::from).collect())
}

/// The nine numbers of a `struct_time` or a tuple.
pub(crate) fn numbers(value: &Value) -> Option<Vec<i64>> {
    let items = downcast::<Tuple>(value)?.items();
    items.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>().filter(|items| items.len() == 9)
}
