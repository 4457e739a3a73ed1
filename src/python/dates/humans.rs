//! Durations in words: `in_words` and `diff_for_humans`.

use super::locale::Locale;
use crate::python::{PyErr, PyResult};

/// A duration split into units.
pub(crate) struct Units {
    pub years: i64,
    pub months: i64,
    pub weeks: i64,
    /// Without the weeks
    pub days: i64,
    pub hours: i64,
    pub minutes: i64,
    pub seconds: i64,
    pub microseconds: i64,
    /// Whether it goes backwards
    pub invert: bool,
    /// An Interval words fractions of a second in the form of one
    pub of_interval: bool,
}

fn missing(key: &str) -> PyErr {
    PyErr::unsupported(format!("a phrase pendulum's locale lacks ({key})"))
}

fn fill(pattern: &str, with: &str) -> String {
    pattern.replace("{0}", with).replace("{}", with)
}

/// `in_words(locale, separator)`
pub(crate) fn in_words(units: &Units, locale: &Locale, separator: &str) -> PyResult<String> {
    let mut parts = Vec::new();
    for (unit, count) in [
        ("year", units.years),
        ("month", units.months),
        ("week", units.weeks),
        ("day", units.days),
        ("hour", units.hours),
        ("minute", units.minutes),
        ("second", units.seconds),
    ] {
        if count != 0 {
            let key = format!("units.{unit}");
            let pattern = locale.form(&key, locale.plural(count.abs())).ok_or_else(|| missing(&key))?;
            parts.push(fill(pattern, &count.to_string()));
        }
    }
    if parts.is_empty() {
        let (key, form, count) = if units.microseconds != 0 {
            let form = locale.plural(i64::from(units.of_interval));
            ("units.second", form, format!("{:.2}", units.microseconds.abs() as f64 / 1e6))
        } else {
            ("units.microsecond", locale.plural(0), "0".to_owned())
        };
        parts.push(fill(locale.form(key, form).ok_or_else(|| missing(key))?, &count));
    }
    Ok(parts.join(separator))
}

/// The unit and count of a rough description; `None` for a few seconds.
fn rough(units: &Units) -> Option<(&'static str, i64)> {
    let days = units.weeks * 7 + units.days;
    Some(if units.years > 0 {
        ("year", units.years + i64::from(units.months > 6))
    } else if units.months == 11 && days > 15 {
        ("year", 1)
    } else if units.months > 0 {
        ("month", units.months + i64::from(days >= 27))
    } else if units.weeks > 0 {
        ("week", units.weeks + i64::from(units.days > 3))
    } else if units.days > 0 {
        ("day", units.days + i64::from(units.hours >= 22))
    } else if units.hours > 0 {
        ("hour", units.hours)
    } else if units.minutes > 0 {
        ("minute", units.minutes)
    } else if 10 < units.seconds && units.seconds < 60 {
        ("second", units.seconds)
    } else {
        return None;
    })
}

/// `format_diff(diff, is_now, absolute, locale)`
pub(crate) fn difference(units: &Units, is_now: bool, absolute: bool, locale: &Locale) -> PyResult<String> {
    let get = |key: &str| locale.get(key).ok_or_else(|| missing(key));
    let side = if units.invert { "after" } else { "before" };
    let (unit, count) = match (rough(units), locale.get("custom.few_second")) {
        (Some(found), _) => found,
        (None, Some(few)) if absolute => return Ok(few.to_owned()),
        (None, Some(few)) => {
            let key = match (is_now, units.invert) {
                (true, true) => "custom.from_now",
                (true, false) => "custom.ago",
                (false, true) => "custom.after",
                (false, false) => "custom.before",
            };
            return Ok(fill(get(key)?, few));
        }
        (None, None) => ("second", units.seconds),
    };
    let count = if count == 0 { 1 } else { count };
    let form = locale.plural(count);
    let when = if units.invert { "future" } else { "past" };
    let phrase = |key: String| locale.form(&key, form).ok_or_else(|| missing(&key));
    if absolute {
        return Ok(fill(phrase(format!("units.{unit}"))?, &count.to_string()));
    }
    if is_now {
        return Ok(fill(phrase(format!("relative.{unit}.{when}"))?, &count.to_string()));
    }
    let relative = format!("custom.relative.{unit}.{when}");
    let key = if locale.get(&relative).is_some() { relative } else { format!("units.{unit}") };
    let time = fill(phrase(key)?, &count.to_string());
    Ok(fill(get(&format!("custom.{side}"))?, &time))
}
