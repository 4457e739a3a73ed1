//! Tuples with named fields: `time.struct_time` and `datetime.IsoCalendarDate`.

use chrono::{Datelike, NaiveDate, Timelike};

use super::strftime::Fields;
use super::strptime::StructTime;
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyIter, PyObject, PyResult, Value, call_method, compare, downcast, getitem,
    hash_key, none, object, tuple,
};

/// A named tuple of the C library.
#[derive(Debug)]
pub struct NamedTuple {
    class: &'static str,
    names: &'static [&'static str],
    items: Vec<Value>,
    /// What the tuple leaves out but has as attributes
    extra: Vec<(&'static str, Value)>,
    tuple: Value,
}

const STRUCT_TIME: [&str; 9] =
    ["tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst"];

fn named(class: &'static str, names: &'static [&'static str], items: Vec<Value>, extra: Vec<(&'static str, Value)>) -> Value {
    let plain = tuple(items.clone());
    object(NamedTuple { class, names, items, extra, tuple: plain })
}

/// `isocalendar()` of a date.
pub(crate) fn iso_calendar(date: NaiveDate) -> Value {
    let week = date.iso_week();
    let items = vec![
        Value::from(week.year()),
        Value::from(week.week()),
        Value::from(date.weekday().number_from_monday()),
    ];
    named("datetime.IsoCalendarDate", &["year", "week", "weekday"], items, Vec::new())
}

/// `timetuple()` of a value.
pub(crate) fn struct_time(fields: &Fields) -> Value {
    let t = &fields.naive;
    let isdst = fields.dst.map_or(-1, i64::from);
    let items = [
        i64::from(t.year()),
        t.month().into(),
        t.day().into(),
        t.hour().into(),
        t.minute().into(),
        t.second().into(),
        t.weekday().num_days_from_monday().into(),
        t.ordinal().into(),
        isdst,
    ];
    of_numbers(&items, none(), none())
}

/// `time.strptime`'s result.
pub(crate) fn parsed_time(parsed: &StructTime) -> Value {
    let date = parsed.date;
    let items = [
        i64::from(date.year()),
        date.month().into(),
        date.day().into(),
        parsed.hour.into(),
        parsed.minute.into(),
        parsed.second.into(),
        parsed.weekday.into(),
        parsed.julian,
        parsed.isdst,
    ];
    let zone = parsed.tzname.clone().map_or_else(none, Value::from);
    of_numbers(&items, zone, parsed.gmtoff.map_or_else(none, |(seconds, _)| Value::from(seconds)))
}

/// A `struct_time` of nine numbers.
pub(crate) fn of_numbers(items: &[i64], zone: Value, gmtoff: Value) -> Value {
    let items = items.iter().copied().map(Value::from).collect();
    named("time.struct_time", &STRUCT_TIME, items, vec![("tm_zone", zone), ("tm_gmtoff", gmtoff)])
}

/// The nine numbers of a `struct_time` or a tuple.
pub(crate) fn numbers(value: &Value, it: &mut dyn Interp) -> Option<Vec<i64>> {
    let items = match downcast::<NamedTuple>(value) {
        Some(named) => named.items.clone(),
        None if crate::python::type_name(value) == "tuple" => crate::python::to_vec(value, it).ok()?,
        None => return None,
    };
    items.iter().map(|item| item.as_i64()).collect::<Option<Vec<i64>>>().filter(|items| items.len() == 9)
}

impl PyObject for NamedTuple {
    fn type_name(&self) -> &str {
        self.class
    }

    fn qualified_name(&self) -> String {
        self.class.into()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let mut parts = Vec::new();
        for (name, item) in self.names.iter().zip(&self.items) {
            parts.push(format!("{name}={}", crate::python::repr(item, it)?));
        }
        Ok(format!("{}({})", self.class, parts.join(", ")))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(true)
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(Ok(self.items.len()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some((_, value)) = self.extra.iter().find(|(extra, _)| *extra == name) {
            return Some(Ok(value.clone()));
        }
        let at = self.names.iter().position(|known| *known == name)?;
        self.items.get(at).cloned().map(Ok)
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "count" | "index")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        call_method(&self.tuple, name, args, it)
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(getitem(&self.tuple, key, it))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(crate::python::iter(&self.tuple, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<NamedTuple>(other).map_or(other, |named| &named.tuple);
        (crate::python::type_name(other) == "tuple").then(|| compare(op, &self.tuple, other, it))
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        let other = downcast::<NamedTuple>(other).map_or(other, |named| &named.tuple);
        Some(match reflected {
            false => crate::python::binary(op, &self.tuple, other, it),
            true => crate::python::binary(op, other, &self.tuple, it),
        })
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        hash_key(&self.tuple)
    }
}
