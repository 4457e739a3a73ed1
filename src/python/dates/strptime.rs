//! `strptime` as Python's `_strptime` module has it: the format becomes a regex, the regex's groups become a date.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime};
use regex::Regex;

use super::strftime::{month_name, weekday_name};
use super::text::{digit_class, digits};
use super::timedelta::timedelta_repr;
use crate::python::{PyErr, PyResult, repr_str};

/// What `datetime.strptime` reads from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Local date and time, without the offset applied.
    pub naive: NaiveDateTime,
    /// The offset of `%z` in microseconds; `None` when the format has no `%z`.
    pub offset: Option<i64>,
    /// The text matched by `%Z`: Python uses it only together with `%z`.
    pub tzname: Option<String>,
}

/// What `_strptime` itself returns, before a datetime is made of it.
#[derive(Debug, Clone)]
pub(crate) struct StructTime {
    pub date: NaiveDate,
    pub hour: u32,
    pub minute: u32,
    /// Up to 61
    pub second: u32,
    pub micros: u32,
    /// Monday 0
    pub weekday: u32,
    pub julian: i64,
    /// `tm_isdst`: -1 unless `%Z` named the local zone
    pub isdst: i64,
    pub tzname: Option<String>,
    /// Whole seconds and microseconds of `%z`
    pub gmtoff: Option<(i64, i64)>,
}

/// `datetime.strptime(text, format)`.
///
/// # Errors
/// `ValueError` with Python's text when the text does not match, does not end, or names no date; when the format has a
/// bad or stray directive. A directive used twice raises `re.error`, whose class name is `error`.
pub fn strptime(text: &str, format: &str) -> PyResult<Parsed> {
    let raw = parse(text, format)?;
    let offset = match raw.gmtoff {
        None => None,
        Some((seconds, micros)) => {
            let total = seconds * 1_000_000 + micros;
            if total.abs() >= 86_400_000_000 {
                return Err(PyErr::value_error(format!(
                    "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24), not {}.",
                    timedelta_repr(i128::from(total))
                )));
            }
            Some(total)
        }
    };
    let time = NaiveTime::from_hms_micro_opt(raw.hour, raw.minute, raw.second, raw.micros)
        .ok_or_else(|| PyErr::value_error("second must be in 0..59"))?;
    Ok(Parsed { naive: raw.date.and_time(time), offset, tzname: raw.tzname })
}

/// `_strptime._strptime(text, format)`.
pub(crate) fn parse(text: &str, format: &str) -> PyResult<StructTime> {
    let compiled = compiled(format)?;
    let Some(found) = compiled.regex.captures(text) else {
        return Err(PyErr::value_error(format!(
            "time data {} does not match format {}",
            repr_str(text),
            repr_str(format)
        )));
    };
    let end = found.get(0).map_or(0, |all| all.end());
    if end != text.len() {
        return Err(PyErr::value_error(format!("unconverted data remains: {}", text.get(end..).unwrap_or_default())));
    }
    let groups = compiled
        .directives
        .iter()
        .filter_map(|(c, name)| found.name(name).map(|group| (*c, group.as_str())))
        .collect::<Vec<_>>();
    Reading::of(&groups)?.resolve()
}

/// The groups of a match, read but not yet combined.
#[derive(Default)]
struct Reading {
    year: Option<i64>,
    iso_year: Option<i64>,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    weekday: Option<i64>,
    julian: Option<i64>,
    /// The week, and whether weeks start on Monday
    week: Option<(i64, bool)>,
    iso_week: Option<i64>,
    gmtoff: Option<(i64, i64)>,
    tzname: Option<String>,
}

impl Reading {
    fn of(groups: &[(char, &str)]) -> PyResult<Self> {
        let mut r = Reading { month: 1, day: 1, ..Reading::default() };
        let number = |text: &str| digits(text).unwrap_or_default();
        for (c, text) in groups {
            match c {
                'y' => {
                    let year = number(text);
                    r.year = Some(year + if year <= 68 { 2000 } else { 1900 });
                }
                'Y' => r.year = Some(number(text)),
                'G' => r.iso_year = Some(number(text)),
                'm' => r.month = number(text),
                'B' => r.month = 1 + position(text, (1..=12).map(month_name))?,
                'b' => r.month = 1 + position(text, (1..=12).map(|m| short(month_name(m))))?,
                'd' => r.day = number(text.trim_start()),
                'H' => r.hour = number(text),
                'I' => {
                    let half = groups.iter().find(|(c, _)| *c == 'p').map(|(_, text)| text.to_lowercase());
                    r.hour = match (number(text), half.as_deref()) {
                        (12, None | Some("am")) => 0,
                        (hour, Some("pm")) if hour != 12 => hour + 12,
                        (hour, _) => hour,
                    };
                }
                'M' => r.minute = number(text),
                'S' => r.second = number(text),
                'f' => r.micros = number(&format!("{text:0<6}")),
                'A' => r.weekday = Some(position(text, (0..7).map(weekday_name))?),
                'a' => r.weekday = Some(position(text, (0..7).map(|d| short(weekday_name(d))))?),
                'w' => r.weekday = Some((number(text) + 6) % 7),
                'u' => r.weekday = Some(number(text) - 1),
                'j' => r.julian = Some(number(text)),
                'U' => r.week = Some((number(text), false)),
                'W' => r.week = Some((number(text), true)),
                'V' => r.iso_week = Some(number(text)),
                'z' => r.gmtoff = Some(offset(text)?),
                'Z' => r.tzname = Some((*text).to_owned()),
                _ => {}
            }
        }
        Ok(r)
    }

    fn resolve(self) -> PyResult<StructTime> {
        self.refuse_iso_mixtures()?;
        let leap_day = self.year.is_none() && self.month == 2 && self.day == 29;
        let mut year = self.year.unwrap_or(if leap_day { 1904 } else { 1900 });
        let mut julian = self.julian;
        if let (None, Some(weekday)) = (julian, self.weekday) {
            if let Some((week, monday)) = self.week {
                julian = Some(julian_of_week(year, week, weekday, monday)?);
            } else if let (Some(iso_year), Some(iso_week)) = (self.iso_year, self.iso_week) {
                let (iso_year, day) = julian_of_iso_week(iso_year, iso_week, weekday + 1)?;
                year = iso_year;
                julian = Some(day);
            }
            if let Some(day) = julian
                && day <= 0
            {
                year -= 1;
                let leap = NaiveDate::from_ymd_opt(i32::try_from(year).unwrap_or(1), 2, 29).is_some();
                julian = Some(day + if leap { 366 } else { 365 });
            }
        }
        let (date, julian) = match julian {
            None => {
                let date = make_date(year, self.month, self.day)?;
                (date, i64::from(date.ordinal()))
            }
            Some(day) => (from_ordinal(day - 1 + ordinal_of(make_date(year, 1, 1)?))?, day),
        };
        let weekday = self.weekday.unwrap_or_else(|| i64::from(date.weekday().num_days_from_monday()));
        let date = if leap_day { make_date(1900, i64::from(date.month()), i64::from(date.day()))? } else { date };
        let small = |n: i64| u32::try_from(n).unwrap_or_default();
        Ok(StructTime {
            date,
            hour: small(self.hour),
            minute: small(self.minute),
            second: small(self.second),
            micros: small(self.micros),
            weekday: small(weekday),
            julian,
            isdst: if self.tzname.is_some() { 0 } else { -1 },
            tzname: self.tzname,
            gmtoff: self.gmtoff,
        })
    }

    fn refuse_iso_mixtures(&self) -> PyResult<()> {
        const DAYS: &str = "and a weekday directive ('%A', '%a', '%w', or '%u').";
        let message = if self.year.is_none() && self.iso_year.is_some() {
            if self.iso_week.is_none() || self.weekday.is_none() {
                format!("ISO year directive '%G' must be used with the ISO week directive '%V' {DAYS}")
            } else if self.julian.is_some() {
                "Day of the year directive '%j' is not compatible with ISO year directive '%G'. Use '%Y' instead."
                    .into()
            } else {
                return Ok(());
            }
        } else if self.week.is_none() && self.iso_week.is_some() {
            if self.weekday.is_none() {
                format!("ISO week directive '%V' must be used with the ISO year directive '%G' {DAYS}")
            } else {
                "ISO week directive '%V' is incompatible with the year directive '%Y'. Use the ISO year '%G' instead."
                    .into()
            }
        } else {
            return Ok(());
        };
        Err(PyErr::value_error(message))
    }
}

fn short(name: &str) -> &str {
    name.get(..3).unwrap_or_default()
}

/// Where a matched name stands in its list.
fn position<'a>(text: &str, mut names: impl Iterator<Item = &'a str>) -> PyResult<i64> {
    let lower = text.to_lowercase();
    let at = names.position(|name| name.to_lowercase() == lower);
    // letters that fold onto ASCII match the regex but are not in the list
    at.map(|at| at as i64).ok_or_else(|| PyErr::value_error(format!("{} is not in list", repr_str(&lower))))
}

/// The text of `%z` as seconds and microseconds.
fn offset(text: &str) -> PyResult<(i64, i64)> {
    if text == "Z" {
        return Ok((0, 0));
    }
    let mut z: Vec<char> = text.chars().collect();
    if z.get(3) == Some(&':') {
        z.remove(3);
        if z.len() > 5 {
            if z.get(5) != Some(&':') {
                return Err(PyErr::value_error(format!("Inconsistent use of : in {text}")));
            }
            z.remove(5);
        }
    }
    let part = |from: usize, to: usize| -> PyResult<i64> {
        let text: String = z.iter().take(to).skip(from).collect();
        if text.is_empty() {
            return Ok(0);
        }
        digits(&text)
            .ok_or_else(|| PyErr::value_error(format!("invalid literal for int() with base 10: {}", repr_str(&text))))
    };
    let seconds = part(1, 3)? * 3600 + part(3, 5)? * 60 + part(5, 7)?;
    let fraction: String = z.iter().skip(8).collect();
    let micros = digits(&format!("{fraction:0<6}")).unwrap_or_default();
    let sign = if text.starts_with('-') { -1 } else { 1 };
    Ok((sign * seconds, sign * micros))
}

/// `datetime.date(year, month, day)` with Python's errors.
pub(crate) fn make_date(year: i64, month: i64, day: i64) -> PyResult<NaiveDate> {
    if !(1..=9999).contains(&year) {
        return Err(PyErr::value_error(format!("year {year} is out of range")));
    }
    if !(1..=12).contains(&month) {
        return Err(PyErr::value_error("month must be in 1..12"));
    }
    u32::try_from(day)
        .ok()
        .and_then(|day| NaiveDate::from_ymd_opt(year as i32, month as u32, day))
        .ok_or_else(|| PyErr::value_error("day is out of range for month"))
}

/// `date.toordinal()`: day 1 is 0001-01-01.
pub(crate) fn ordinal_of(date: NaiveDate) -> i64 {
    i64::from(date.num_days_from_ce())
}

/// `date.fromordinal(n)`.
pub(crate) fn from_ordinal(ordinal: i64) -> PyResult<NaiveDate> {
    if ordinal < 1 {
        return Err(PyErr::value_error("ordinal must be >= 1"));
    }
    let date = i32::try_from(ordinal).ok().and_then(NaiveDate::from_num_days_from_ce_opt);
    match date {
        Some(date) if date.year() <= 9999 => Ok(date),
        Some(date) => Err(PyErr::value_error(format!("year {} is out of range", date.year()))),
        None => Err(PyErr::overflow("signed integer is greater than maximum")),
    }
}

fn julian_of_week(year: i64, week: i64, weekday: i64, monday: bool) -> PyResult<i64> {
    let mut first = i64::from(make_date(year, 1, 1)?.weekday().num_days_from_monday());
    let mut weekday = weekday;
    if !monday {
        first = (first + 1) % 7;
        weekday = (weekday + 1) % 7;
    }
    Ok(match week {
        0 => 1 + weekday - first,
        _ => 1 + (7 - first) % 7 + 7 * (week - 1) + weekday,
    })
}

fn julian_of_iso_week(year: i64, week: i64, isoweekday: i64) -> PyResult<(i64, i64)> {
    let correction = i64::from(make_date(year, 1, 4)?.weekday().number_from_monday()) + 3;
    let day = week * 7 + isoweekday - correction;
    if day >= 1 {
        return Ok((year, day));
    }
    let this = ordinal_of(make_date(year, 1, 1)?);
    let before = ordinal_of(make_date(year - 1, 1, 1)?);
    Ok((year - 1, day + this - before))
}

struct Compiled {
    regex: Regex,
    /// Directives in the order of the format, with their group's name
    directives: Vec<(char, String)>,
}

thread_local! {
    /// Formats come from mappers and templates: a few, used a great many times.
    static CACHE: RefCell<HashMap<String, Rc<Compiled>>> = RefCell::default();
}

fn compiled(format: &str) -> PyResult<Rc<Compiled>> {
    if let Some(found) = CACHE.with_borrow(|cache| cache.get(format).cloned()) {
        return Ok(found);
    }
    let made = Rc::new(compile(format)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= 64 {
            cache.clear();
        }
        cache.insert(format.to_owned(), Rc::clone(&made));
    });
    Ok(made)
}

/// `str.isspace()` of one character.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The pattern of a directive as `_strptime` writes it; `None` for a letter it does not know.
fn pattern_of(directive: char) -> Option<&'static str> {
    Some(match directive {
        'd' => r"(?P<d>3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9])",
        'f' => r"(?P<f>[0-9]{1,6})",
        'H' => r"(?P<H>2[0-3]|[0-1]\d|\d)",
        'I' => r"(?P<I>1[0-2]|0[1-9]|[1-9])",
        'G' => r"(?P<G>\d\d\d\d)",
        'j' => r"(?P<j>36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9])",
        'm' => r"(?P<m>1[0-2]|0[1-9]|[1-9])",
        'M' => r"(?P<M>[0-5]\d|\d)",
        'S' => r"(?P<S>6[0-1]|[0-5]\d|\d)",
        'U' => r"(?P<U>5[0-3]|[0-4]\d|\d)",
        'W' => r"(?P<W>5[0-3]|[0-4]\d|\d)",
        'w' => r"(?P<w>[0-6])",
        'u' => r"(?P<u>[1-7])",
        'V' => r"(?P<V>5[0-3]|0[1-9]|[1-4]\d|\d)",
        'y' => r"(?P<y>\d\d)",
        'Y' => r"(?P<Y>\d\d\d\d)",
        'z' => r"(?P<z>[+-]\d\d:?[0-5]\d(:?[0-5]\d(\.\d{1,6})?)?|(?-i:Z))",
        'A' => r"(?P<A>wednesday|thursday|saturday|tuesday|monday|friday|sunday)",
        'a' => r"(?P<a>mon|tue|wed|thu|fri|sat|sun)",
        'B' => r"(?P<B>september|february|november|december|january|october|august|march|april|june|july|may)",
        'b' => r"(?P<b>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
        'p' => r"(?P<p>am|pm)",
        'Z' => r"(?P<Z>utc|gmt)",
        '%' => "%",
        _ => return None,
    })
}

fn compile(format: &str) -> PyResult<Compiled> {
    let mut pattern = Pattern { text: r"\A(?i:".into(), ..Pattern::default() };
    pattern.add(format, format)?;
    if let Some(twice) = pattern.twice {
        return Err(twice);
    }
    pattern.text.push(')');
    // the pattern is shown to be valid by its construction; only its size can be refused
    let text = pattern.text.replace(r"\d", &digit_class());
    let regex = Regex::new(&text).map_err(|_| PyErr::unsupported("a strptime format of this size"))?;
    Ok(Compiled { regex, directives: pattern.directives })
}

#[derive(Default)]
struct Pattern {
    text: String,
    directives: Vec<(char, String)>,
    /// Number of each directive's group, and how many characters and groups Python's own pattern has so far
    numbers: Vec<(char, usize)>,
    length: usize,
    groups: usize,
    /// The error of the first directive used twice
    twice: Option<PyErr>,
}

impl Pattern {
    fn add(&mut self, format: &str, whole: &str) -> PyResult<()> {
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if is_space(c) {
                while chars.next_if(|c| is_space(*c)).is_some() {}
                self.text.push_str(r"[\s\x1c-\x1f]+");
                self.length += 3;
            } else if c != '%' {
                self.text.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
                self.length += if r"\.^$*+?(){}[]|".contains(c) { 2 } else { 1 };
            } else {
                let Some(directive) = chars.next() else {
                    return Err(PyErr::value_error(format!("stray % in format '{whole}'")));
                };
                self.directive(directive, whole)?;
            }
        }
        Ok(())
    }

    fn directive(&mut self, directive: char, whole: &str) -> PyResult<()> {
        match directive {
            'c' => return self.add("%a %b %d %H:%M:%S %Y", whole),
            'x' => return self.add("%m/%d/%y", whole),
            'X' => return self.add("%H:%M:%S", whole),
            _ => {}
        }
        let Some(pattern) = pattern_of(directive) else {
            // the format is escaped before its directives are read: what gets a backslash is reported as "%"
            let escaped = is_space(directive) || r"\.^$*+?(){}[]|".contains(directive);
            let shown = if escaped { '%' } else { directive };
            return Err(PyErr::value_error(format!("'{shown}' is a bad directive in format '{whole}'")));
        };
        if directive != '%' {
            self.groups += 1;
            if let Some((_, first)) = self.numbers.iter().find(|(c, _)| *c == directive) {
                // found only when the regex is compiled: a bad directive further on comes first
                let message = format!(
                    "redefinition of group name '{directive}' as group {}; was group {first} at position {}",
                    self.groups,
                    self.length + 4
                );
                self.twice.get_or_insert_with(|| PyErr::new("error", message));
            }
            self.numbers.push((directive, self.groups));
            self.directives.push((directive, directive.to_string()));
            if directive == 'z' {
                self.groups += 2;
            }
        }
        self.text.push_str(pattern);
        self.length += pattern.chars().count();
        Ok(())
    }
}
