//! `dateutil.parser.parse`: dates in free form.

use chrono::{Datelike, NaiveDateTime, NaiveTime};

use super::datetime::{DateTime, make_naive};
use super::lexer::split;
use super::pendulum::{last_day, replace_parts};
use super::relativedelta::next_weekday;
use super::tzinfo::TzInfo;
use super::words::{HMS, Number, WEEKDAYS, ampm, index_of, jump, month, seconds, utc_zone, whole};
use super::ymd::{Entry, Ymd};
use crate::python::{
    Args, Interp, PyErr, PyResult, Value, View, downcast, object, text, truth, tuple, type_name, view,
};

/// What makes dateutil say that it does not know the form (`ValueError` and `IndexError` inside of it).
pub(crate) struct Unknown;

type Step<T> = Result<T, Stop>;

/// Why parsing ends early.
pub(crate) enum Stop {
    Unknown,
    Error(PyErr),
}

impl From<Unknown> for Stop {
    fn from(_: Unknown) -> Self {
        Stop::Unknown
    }
}

#[derive(Default)]
struct Found {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    weekday: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: Option<i64>,
    tzname: Option<String>,
    tzoffset: Option<i64>,
    ampm: Option<i64>,
}

impl Found {
    fn is_empty(&self) -> bool {
        [
            self.year,
            self.month,
            self.day,
            self.weekday,
            self.hour,
            self.minute,
            self.second,
            self.micros,
            self.tzoffset,
            self.ampm,
        ]
        .iter()
        .all(Option::is_none)
            && self.tzname.is_none()
    }
}

struct Parser {
    tokens: Vec<String>,
    ymd: Ymd,
    found: Found,
    fuzzy: bool,
    skipped: Vec<usize>,
}

fn adjust(hour: i64, ampm: i64) -> i64 {
    match (hour, ampm) {
        (hour, 1) if hour < 12 => hour + 12,
        (12, 0) => 0,
        (hour, _) => hour,
    }
}

impl Parser {
    fn token(&self, at: usize) -> Step<&str> {
        self.tokens.get(at).map(String::as_str).ok_or(Stop::Unknown)
    }

    fn peek(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", String::as_str)
    }

    fn could_be_tzname(&self, token: &str) -> bool {
        self.found.hour.is_some()
            && self.found.tzname.is_none()
            && self.found.tzoffset.is_none()
            && token.chars().count() <= 5
            && (token.chars().all(|c| c.is_ascii_uppercase()) || matches!(token, "UTC" | "GMT" | "Z" | "z"))
    }

    fn run(&mut self) -> Step<()> {
        let len = self.tokens.len();
        let mut i = 0;
        while i < len {
            let token = self.peek(i).to_owned();
            let lower = token.to_lowercase();
            if matches!(lower.as_str(), "nan" | "inf" | "infinity") {
                return Err(Stop::Unknown);
            }
            if Number::of(&token).is_some() {
                i = self.number(i)?;
            } else if token.chars().any(|c| c.is_numeric()) {
                return Err(Stop::Error(PyErr::unsupported("parsing a date with digits other than 0 to 9")));
            } else if let Some(day) = index_of(&WEEKDAYS, &token) {
                self.found.weekday = Some(day);
            } else if let Some(month) = month(&token) {
                i = self.month(i, month)?;
            } else if let Some(half) = ampm(&token) {
                self.half(i, half)?;
            } else if self.could_be_tzname(&token) {
                self.found.tzoffset = matches!(lower.as_str(), "utc" | "gmt" | "z").then_some(0).filter(|_| {
                    // names are looked up in lower case only, so that capitals have no offset yet
                    token == lower
                });
                self.found.tzname = Some(token.clone());
                if let Some(sign @ ("+" | "-")) = self.tokens.get(i + 1).map(String::as_str) {
                    // "GMT+3" is west of Greenwich in POSIX but means the time is 3 hours ahead here: the sign turns
                    let turned = if sign == "+" { "-" } else { "+" };
                    if let Some(slot) = self.tokens.get_mut(i + 1) {
                        *slot = turned.to_owned();
                    }
                    self.found.tzoffset = None;
                    if utc_zone(&token) {
                        self.found.tzname = None;
                    }
                }
            } else if self.found.hour.is_some() && matches!(token.as_str(), "+" | "-") {
                i = self.offset(i, if token == "+" { 1 } else { -1 })?;
            } else if !(jump(&token) || self.fuzzy) {
                return Err(Stop::Unknown);
            } else {
                self.skipped.push(i);
            }
            i += 1;
        }
        Ok(())
    }

    fn month(&mut self, mut i: usize, month: i64) -> Step<usize> {
        let len = self.tokens.len();
        self.ymd.push(Entry::Number { whole: month, beyond_hundred: false }, Some('M'))?;
        if i + 1 >= len {
            return Ok(i);
        }
        if matches!(self.peek(i + 1), "-" | "/") {
            let separator = self.peek(i + 1).to_owned();
            let next = self.token(i + 2)?.to_owned();
            self.ymd.push(Entry::Text(&next), None)?;
            if i + 3 < len && self.peek(i + 3) == separator {
                let next = self.token(i + 4)?.to_owned();
                self.ymd.push(Entry::Text(&next), None)?;
                i += 2;
            }
            i += 2;
        } else if i + 4 < len
            && self.peek(i + 1) == " "
            && self.peek(i + 3) == " "
            && self.peek(i + 2).to_lowercase() == "of"
        {
            let year = self.peek(i + 4).to_owned();
            if year.bytes().all(|b| b.is_ascii_digit()) && !year.is_empty() {
                if year.len() <= 2 {
                    return Err(Stop::Error(PyErr::unsupported("a year of two digits after `of`")));
                }
                self.ymd.push(Entry::Text(&year), Some('Y'))?;
            }
            i += 4;
        }
        Ok(i)
    }

    fn half(&mut self, i: usize, half: i64) -> Step<()> {
        let mut valid = !(self.fuzzy && self.found.ampm.is_some());
        match self.found.hour {
            Some(hour) if (0..=12).contains(&hour) => {}
            _ if self.fuzzy => valid = false,
            _ => return Err(Stop::Unknown),
        }
        if valid {
            self.found.hour = self.found.hour.map(|hour| adjust(hour, half));
            self.found.ampm = Some(half);
        } else if self.fuzzy {
            self.skipped.push(i);
        }
        Ok(())
    }

    fn offset(&mut self, mut i: usize, sign: i64) -> Step<usize> {
        let len = self.tokens.len();
        let digits = self.token(i + 1)?.to_owned();
        let width = digits.chars().count();
        let (hours, minutes) = if width == 4 {
            (whole(digits.get(..2).unwrap_or_default())?, whole(digits.get(2..).unwrap_or_default())?)
        } else if i + 2 < len && self.peek(i + 2) == ":" {
            let minutes = whole(self.token(i + 3)?)?;
            i += 2;
            (whole(&digits)?, minutes)
        } else if width <= 2 {
            (whole(&digits)?, 0)
        } else {
            return Err(Stop::Unknown);
        };
        self.found.tzoffset = Some(sign * (hours * 3600 + minutes * 60));
        if i + 5 < len && jump(self.peek(i + 2)) && self.peek(i + 3) == "(" && self.peek(i + 5) == ")" {
            let name = self.peek(i + 4).to_owned();
            let offset = self.found.tzoffset.take();
            let fits = name.chars().count() >= 3 && self.could_be_tzname(&name);
            self.found.tzoffset = offset;
            if fits {
                self.found.tzname = Some(name);
                i += 4;
            }
        }
        Ok(i + 1)
    }

    fn hms_at(&self, i: usize) -> Option<usize> {
        let len = self.tokens.len();
        let is_hms = |at: usize| index_of(&HMS, self.peek(at)).is_some();
        if i + 1 < len && is_hms(i + 1) {
            Some(i + 1)
        } else if i + 2 < len && self.peek(i + 1) == " " && is_hms(i + 2) {
            Some(i + 2)
        } else if i > 0 && is_hms(i - 1) {
            Some(i - 1)
        } else if i > 1 && i == len - 1 && self.peek(i - 1) == " " && is_hms(i - 2) {
            Some(i - 2)
        } else {
            None
        }
    }

    fn number(&mut self, mut i: usize) -> Step<usize> {
        let token = self.peek(i).to_owned();
        let Some(value) = Number::of(&token) else { return Err(Stop::Unknown) };
        let len = self.tokens.len();
        let width = token.len();
        let cut = |from: usize, to: usize| token.get(from..to.min(width)).unwrap_or_default();
        let next_hms = index_of(&HMS, self.peek(i + 1)).is_some();
        if self.ymd.len() == 3
            && matches!(width, 2 | 4)
            && self.found.hour.is_none()
            && (i + 1 >= len || self.peek(i + 1) != ":" && !next_hms)
        {
            self.found.hour = Some(whole(cut(0, 2))?);
            if width == 4 {
                self.found.minute = Some(whole(cut(2, 4))?);
            }
        } else if width == 6 || width > 6 && token.find('.') == Some(6) {
            if self.ymd.len() == 0 && !token.contains('.') {
                for from in [0, 2, 4] {
                    self.ymd.push(Entry::Text(cut(from, from + 2)), None)?;
                }
            } else {
                self.found.hour = Some(whole(cut(0, 2))?);
                self.found.minute = Some(whole(cut(2, 4))?);
                let (second, micros) = seconds(cut(4, width))?;
                self.found.second = Some(second);
                self.found.micros = Some(micros);
            }
        } else if matches!(width, 8 | 12 | 14) {
            self.ymd.push(Entry::Text(cut(0, 4)), Some('Y'))?;
            self.ymd.push(Entry::Text(cut(4, 6)), None)?;
            self.ymd.push(Entry::Text(cut(6, 8)), None)?;
            if width > 8 {
                self.found.hour = Some(whole(cut(8, 10))?);
                self.found.minute = Some(whole(cut(10, 12))?);
                if width > 12 {
                    self.found.second = Some(whole(cut(12, 14))?);
                }
            }
        } else if let Some(at) = self.hms_at(i) {
            let mut kind = index_of(&HMS, self.peek(at)).unwrap_or(0);
            if at > i {
                i = at;
            } else {
                kind += 1;
            }
            match kind {
                0 => {
                    self.found.hour = Some(value.whole);
                    if value.has_fraction() {
                        self.found.minute = Some(value.sixtieths());
                    }
                }
                1 => {
                    self.found.minute = Some(value.whole);
                    self.found.second = value.has_fraction().then(|| value.sixtieths());
                }
                2 => {
                    let (second, micros) = seconds(&token)?;
                    self.found.second = Some(second);
                    self.found.micros = Some(micros);
                }
                _ => {}
            }
        } else if i + 2 < len && self.peek(i + 1) == ":" {
            self.found.hour = Some(value.whole);
            let next = self.peek(i + 2).to_owned();
            let minute = Number::of(&next).ok_or(Stop::Unknown)?;
            self.found.minute = Some(minute.whole);
            self.found.second = minute.has_fraction().then(|| minute.sixtieths());
            if i + 4 < len && self.peek(i + 3) == ":" {
                let (second, micros) = seconds(self.peek(i + 4))?;
                self.found.second = Some(second);
                self.found.micros = Some(micros);
                i += 2;
            }
            i += 2;
        } else if i + 1 < len && matches!(self.peek(i + 1), "-" | "/" | ".") {
            i = self.separated(i, &token)?;
        } else if i + 1 >= len || jump(self.peek(i + 1)) {
            match ampm(self.peek(i + 2)).filter(|_| i + 2 < len) {
                Some(half) => {
                    self.found.hour = Some(adjust(value.whole, half));
                    i += 1;
                }
                None => self.ymd.push(value.entry(), None)?,
            }
            i += 1;
        } else if let Some(half) = ampm(self.peek(i + 1)).filter(|_| (0..24).contains(&value.whole)) {
            self.found.hour = Some(adjust(value.whole, half));
            i += 1;
        } else if self.ymd.could_be_day(value.whole, value.has_fraction()) {
            self.ymd.push(value.entry(), None)?;
        } else if !self.fuzzy {
            return Err(Stop::Unknown);
        }
        Ok(i)
    }

    /// `2026-03-10`, `10/Mar/2026`, `10.3.2026`
    fn separated(&mut self, mut i: usize, token: &str) -> Step<usize> {
        let len = self.tokens.len();
        let separator = self.peek(i + 1).to_owned();
        self.ymd.push(Entry::Text(token), None)?;
        if i + 2 < len && !jump(self.peek(i + 2)) {
            let next = self.peek(i + 2).to_owned();
            if !next.is_empty() && next.bytes().all(|b| b.is_ascii_digit()) {
                self.ymd.push(Entry::Text(&next), None)?;
            } else {
                let month = month(&next).ok_or(Stop::Unknown)?;
                self.ymd.push(Entry::Number { whole: month, beyond_hundred: false }, Some('M'))?;
            }
            if i + 3 < len && self.peek(i + 3) == separator {
                let last = self.token(i + 4)?.to_owned();
                match month(&last) {
                    Some(month) => self.ymd.push(Entry::Number { whole: month, beyond_hundred: false }, Some('M'))?,
                    None => self.ymd.push(Entry::Text(&last), None)?,
                }
                i += 2;
            }
            i += 1;
        }
        Ok(i + 1)
    }
}

/// The keyword arguments of `parse`.
struct Options {
    default: Option<Value>,
    dayfirst: bool,
    yearfirst: bool,
    fuzzy: bool,
    with_tokens: bool,
    ignoretz: bool,
}

fn options<'a>(args: &Args<'a>, it: &mut dyn Interp) -> PyResult<(&'a Value, Options)> {
    let mut out =
        Options { default: None, dayfirst: false, yearfirst: false, fuzzy: false, with_tokens: false, ignoretz: false };
    let mut subject = args.pos.first();
    if args.pos.len() > 2 {
        return Err(PyErr::type_error(format!(
            "parse() takes from 1 to 2 positional arguments but {} were given",
            args.pos.len()
        )));
    }
    if let Some(info) = args.pos.get(1)
        && truth(info, it)?
    {
        return Err(PyErr::unsupported("a parserinfo"));
    }
    for (name, value) in args.kw {
        let flag = match &**name {
            "timestr" if subject.is_none() => {
                subject = Some(value);
                continue;
            }
            "timestr" => return Err(PyErr::type_error("parse() got multiple values for argument 'timestr'")),
            "default" if matches!(view(value), View::None) => continue,
            "default" => {
                out.default = Some(value.clone());
                continue;
            }
            "tzinfos" | "parserinfo" if !truth(value, it)? => continue,
            "tzinfos" | "parserinfo" => return Err(PyErr::unsupported(format!("the argument {name} of parse"))),
            "dayfirst" => &mut out.dayfirst,
            "yearfirst" => &mut out.yearfirst,
            "fuzzy" => &mut out.fuzzy,
            "fuzzy_with_tokens" => &mut out.with_tokens,
            "ignoretz" => &mut out.ignoretz,
            _ => {
                return Err(PyErr::type_error(format!("parser._parse() got an unexpected keyword argument '{name}'")));
            }
        };
        *flag = truth(value, it)?;
    }
    let subject =
        subject.ok_or_else(|| PyErr::type_error("parse() missing 1 required positional argument: 'timestr'"))?;
    out.fuzzy |= out.with_tokens;
    Ok((subject, out))
}

fn parser_error(message: &str, text: &str) -> PyErr {
    PyErr::new("ParserError", format!("{message}: {text}"))
}

/// `dateutil.parser.parse(text, ...)`
pub(crate) fn parse(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let (subject, options) = options(args, it)?;
    let Some(source) = text(subject) else {
        return Err(PyErr::type_error(format!(
            "Parser must be a string or character stream, not {}",
            type_name(subject)
        )));
    };
    it.charge(source.len() as u64 / 8)?;
    let mut parser = Parser {
        tokens: split(source),
        ymd: Ymd::default(),
        found: Found::default(),
        fuzzy: options.fuzzy,
        skipped: Vec::new(),
    };
    let outcome = parser.run().and_then(|()| parser.ymd.resolve(options.yearfirst, options.dayfirst));
    let (year, month, day) = match outcome {
        Ok(found) => found,
        Err(Stop::Unknown) => return Err(parser_error("Unknown string format", source)),
        Err(Stop::Error(error)) => return Err(error),
    };
    let century = parser.ymd.century;
    let mut found = std::mem::take(&mut parser.found);
    found.year = year.map(|year| convert_year(year, century, it)).transpose()?;
    found.month = month;
    found.day = day;
    validate(&mut found);
    if found.is_empty() {
        return Err(parser_error("String does not contain a date", source));
    }
    let base = base_of(&options, &found, it)?;
    let naive = build(&found, base.naive).map_err(|error| match &*error.class {
        "ValueError" | "IllegalMonthError" => parser_error(&error.message, source),
        _ => error,
    })?;
    let mut dt = DateTime { naive, ..base };
    if !options.ignoretz
        && let Some(tz) = zone_of(&found)?
    {
        dt.tz = Some(tz);
    }
    let value = object(dt);
    if !options.with_tokens {
        return Ok(value);
    }
    let mut skipped: Vec<String> = Vec::new();
    let mut last = None;
    for at in &parser.skipped {
        let token = parser.peek(*at);
        match skipped.last_mut().filter(|_| last == at.checked_sub(1)) {
            Some(previous) => previous.push_str(token),
            None => skipped.push(token.to_owned()),
        }
        last = Some(*at);
    }
    Ok(tuple(vec![value, tuple(skipped.into_iter().map(Value::from).collect())]))
}

/// A year of two digits lies within fifty years of now.
fn convert_year(year: i64, century: bool, it: &mut dyn Interp) -> PyResult<i64> {
    if year >= 100 || century {
        return Ok(year);
    }
    let now = i64::from(it.now()?.year());
    let guess = year + now / 100 * 100;
    Ok(if guess >= now + 50 {
        guess - 100
    } else if guess < now - 50 {
        guess + 100
    } else {
        guess
    })
}

fn validate(found: &mut Found) {
    let named = found.tzname.as_deref().is_some_and(|name| !name.is_empty());
    if found.tzoffset == Some(0) && !named || matches!(found.tzname.as_deref(), Some("Z" | "z")) {
        found.tzname = Some("UTC".into());
        found.tzoffset = Some(0);
    } else if found.tzoffset != Some(0) && found.tzname.as_deref().is_some_and(utc_zone) {
        found.tzoffset = Some(0);
    }
}

/// The date whose fields stand in for those not found: today unless given.
fn base_of(options: &Options, found: &Found, it: &mut dyn Interp) -> PyResult<DateTime> {
    match &options.default {
        Some(value) => downcast::<DateTime>(value)
            .cloned()
            .ok_or_else(|| PyErr::unsupported("a default of parse that is no datetime")),
        None => {
            let complete = found.year.is_some() && found.month.is_some() && found.day.is_some();
            let date = if complete { chrono::NaiveDate::default() } else { it.now()?.date_naive() };
            Ok(DateTime::naive_plain(date.and_time(NaiveTime::MIN)))
        }
    }
}

fn build(found: &Found, base: NaiveDateTime) -> PyResult<NaiveDateTime> {
    let mut parts = [found.year, found.month, found.day, found.hour, found.minute, found.second, found.micros];
    if found.day.is_none() {
        let year = found.year.unwrap_or(i64::from(base.year()));
        let month = found.month.unwrap_or(i64::from(base.month()));
        if !(1..=12).contains(&month) {
            return Err(PyErr::new("IllegalMonthError", format!("bad month number {month}; must be 1-12")));
        }
        let longest = last_day(year.rem_euclid(400), month);
        if base.day() > longest
            && let Some(day) = parts.get_mut(2)
        {
            *day = Some(i64::from(longest));
        }
    }
    if parts.iter().flatten().any(|part| *part > i64::from(i32::MAX)) {
        return Err(PyErr::overflow("signed integer is greater than maximum"));
    }
    let naive = make_naive(replace_parts(base, parts))?;
    match found.weekday {
        Some(weekday) if found.day.unwrap_or(0) == 0 => {
            Ok(next_weekday(naive.date(), weekday as u32)?.and_time(naive.time()))
        }
        _ => Ok(naive),
    }
}

fn zone_of(found: &Found) -> PyResult<Option<TzInfo>> {
    let name = found.tzname.as_deref().filter(|name| !name.is_empty());
    // a host in UTC calls its own zone UTC
    if name == Some("UTC") {
        return Ok(Some(TzInfo::DateutilLocal));
    }
    match found.tzoffset {
        Some(0) => Ok(Some(TzInfo::DateutilUtc)),
        Some(seconds) => {
            let seconds = i32::try_from(seconds)
                .ok()
                .filter(|seconds| seconds.abs() < 86_400)
                .ok_or_else(|| PyErr::unsupported("a time zone offset of a day or more"))?;
            Ok(Some(TzInfo::DateutilOffset { name: name.map(Into::into), seconds }))
        }
        None => Ok(None),
    }
}
