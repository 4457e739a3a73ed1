//! `strftime` as CPython 3.11 has it: Python replaces `%z`, `%Z` and `%f` itself, the C library does the rest.
//!
//! The C half follows glibc in the C locale on a host in UTC: padding flags, field widths, case flags, the `E` and `O`
//! modifiers, and directives it does not know left as they are.

use chrono::{Datelike, NaiveDateTime, Timelike};

use super::text::offset_text;
use crate::python::PyResult;

/// What `strftime` reads of a value: `timetuple()` and what Python's own directives need.
#[derive(Debug, Clone)]
pub struct Fields {
    /// Local date and time; a `time` uses 1900-01-01.
    pub naive: NaiveDateTime,
    /// `utcoffset()` in microseconds; `None` for naive values.
    pub offset: Option<i64>,
    /// `tzname()`; `None` prints nothing.
    pub tzname: Option<String>,
    /// `tm_isdst`: `None` is -1, the state of naive values and of zones that do not say.
    pub dst: Option<bool>,
}

impl Fields {
    /// The fields of a naive date and time.
    pub fn naive(naive: NaiveDateTime) -> Self {
        Fields { naive, offset: None, tzname: None, dst: None }
    }
}

/// `value.strftime(format)` of `datetime`, `date` and `time` objects.
///
/// As in C, the text ends at the first NUL of the format, and a result that outgrows the C library's buffer is empty.
pub fn strftime(format: &str, fields: &Fields) -> PyResult<String> {
    let mut out = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '\0' => break,
            '%' => match chars.next() {
                None | Some('\0') => {
                    out.push('%');
                    break;
                }
                Some('z') => {
                    if let Some(offset) = fields.offset {
                        out.push_str(&offset_text(offset, ""));
                    }
                }
                Some('Z') => {
                    if let Some(name) = &fields.tzname {
                        out.push_str(&name.replace('%', "%%"));
                    }
                }
                Some('f') => {
                    out.push_str(&format!("{:06}", fields.naive.nanosecond() % 1_000_000_000 / 1000));
                }
                Some(other) => {
                    out.push('%');
                    out.push(other);
                }
            },
            other => out.push(other),
        }
    }
    Ok(time_strftime(&out, fields))
}

/// `time.strftime(format, t)`: the C library alone.
pub fn time_strftime(format: &str, fields: &Fields) -> String {
    let format = format.split('\0').next().unwrap_or_default();
    let count = format.chars().count();
    // time.strftime doubles its buffer from 1024 and gives up with an empty text at 256 times the format's length
    let mut limit = 1024_usize;
    while limit < count.saturating_mul(256) {
        limit = limit.saturating_mul(2);
    }
    let mut out = Output { text: String::with_capacity(format.len() + 16), len: 0, limit, failed: false };
    expand(format, fields, &mut out);
    if out.failed { String::new() } else { out.text }
}

struct Output {
    text: String,
    len: usize,
    limit: usize,
    failed: bool,
}

impl Output {
    fn pad(&mut self, c: char, n: usize) {
        self.len = self.len.saturating_add(n);
        if self.len >= self.limit {
            self.failed = true;
            return;
        }
        self.text.extend(std::iter::repeat_n(c, n));
    }

    fn push(&mut self, text: &str) {
        self.len += text.chars().count();
        if self.len >= self.limit {
            self.failed = true;
            return;
        }
        self.text.push_str(text);
    }
}

/// The flags, width and modifier between `%` and the directive's letter.
#[derive(Default, Clone, Copy)]
struct Spec {
    pad: Option<char>,
    upper: bool,
    change: bool,
    width: usize,
    modifier: Option<char>,
}

impl Spec {
    /// A text in a field: padded to the width, its case changed if the flags say so.
    fn text(&self, text: &str, lower: bool, out: &mut Output) {
        let n = text.chars().count();
        if n < self.width {
            out.pad(if self.pad == Some('0') { '0' } else { ' ' }, self.width - n);
        }
        if lower {
            out.push(&text.to_lowercase());
        } else if self.upper {
            out.push(&text.to_uppercase());
        } else {
            out.push(text);
        }
    }

    /// A number of at least `digits` digits; a width asks for more of them.
    fn number(&self, value: i64, digits: usize, out: &mut Output) {
        let text = value.to_string();
        let digits = digits.max(self.width);
        match self.pad {
            Some('-') => self.text(&text, false, out),
            pad => {
                if text.len() < digits {
                    out.pad(if pad == Some('_') { ' ' } else { '0' }, digits - text.len());
                }
                out.push(&text);
            }
        }
    }

    /// The same for directives padded by spaces unless a flag asks otherwise.
    fn spaced(mut self, value: i64, digits: usize, out: &mut Output) {
        if !matches!(self.pad, Some('0' | '-')) {
            self.pad = Some('_');
        }
        self.number(value, digits, out);
    }

    /// A directive that stands for a longer format.
    fn sub(&self, format: &str, fields: &Fields, out: &mut Output) {
        let mut inner = Output { text: String::new(), len: 0, limit: out.limit, failed: false };
        expand(format, fields, &mut inner);
        self.text(&inner.text, false, out);
    }
}

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The English name of a weekday, Monday 0.
pub(super) fn weekday_name(monday_based: u32) -> &'static str {
    WEEKDAYS.get(monday_based as usize).copied().unwrap_or_default()
}

/// The English name of a month, January 1.
pub(super) fn month_name(month: u32) -> &'static str {
    MONTHS.get((month as usize).wrapping_sub(1)).copied().unwrap_or_default()
}

fn expand(format: &str, fields: &Fields, out: &mut Output) {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, tail) = rest.split_at(at);
        if !before.is_empty() {
            out.push(before);
        }
        let used = directive(tail, fields, out);
        rest = tail.get(used..).unwrap_or_default();
        if out.failed {
            return;
        }
    }
    if !rest.is_empty() {
        out.push(rest);
    }
}

/// One directive at the start of `tail`; returns how many bytes it takes.
fn directive(tail: &str, fields: &Fields, out: &mut Output) -> usize {
    let mut spec = Spec::default();
    let mut chars = tail.char_indices().skip(1).peekable();
    while let Some(&(_, c)) = chars.peek() {
        match c {
            '_' | '-' | '0' => spec.pad = Some(c),
            '^' => spec.upper = true,
            '#' => spec.change = true,
            _ => break,
        }
        chars.next();
    }
    while let Some(&(_, c)) = chars.peek() {
        let Some(digit) = c.to_digit(10) else { break };
        spec.width = spec.width.saturating_mul(10).saturating_add(digit as usize).min(i32::MAX as usize);
        chars.next();
    }
    if let Some(&(_, c @ ('E' | 'O'))) = chars.peek() {
        spec.modifier = Some(c);
        chars.next();
    }
    let Some((at, c)) = chars.next() else {
        spec.text(tail, false, out);
        return tail.len();
    };
    let end = at + c.len_utf8();
    // before month names the flag takes effect even where the modifier is then refused
    spec.upper |= spec.change && matches!(c, 'b' | 'h' | 'B');
    if !known(c, spec.modifier) || !print(c, spec, fields, out) {
        spec.text(tail.get(..end).unwrap_or_default(), false, out);
    }
    end
}

/// Whether the C library takes this modifier before this letter.
fn known(c: char, modifier: Option<char>) -> bool {
    match modifier {
        None => true,
        Some('E') => "cCxXyY%ntpPrRTsuZz".contains(c),
        Some(_) => "CdeHImMSUVwWyjklgGbhB%ntpPrRTsuZz".contains(c),
    }
}

fn print(c: char, spec: Spec, fields: &Fields, out: &mut Output) -> bool {
    let t = &fields.naive;
    let upper = Spec { upper: spec.upper || spec.change, ..spec };
    let weekday = t.weekday().num_days_from_monday();
    let hour12 = i64::from((t.hour() + 11) % 12 + 1);
    let year = i64::from(t.year());
    let yday = i64::from(t.ordinal0());
    match c {
        '%' => spec.text("%", false, out),
        'n' => spec.text("\n", false, out),
        't' => spec.text("\t", false, out),
        'a' => upper.text(weekday_name(weekday).get(..3).unwrap_or_default(), false, out),
        'A' => upper.text(weekday_name(weekday), false, out),
        'b' | 'h' => upper.text(month_name(t.month()).get(..3).unwrap_or_default(), false, out),
        'B' => upper.text(month_name(t.month()), false, out),
        'c' => spec.sub("%a %b %e %H:%M:%S %Y", fields, out),
        'C' => spec.number(year.div_euclid(100), 1, out),
        'x' | 'D' => spec.sub("%m/%d/%y", fields, out),
        'X' | 'T' => spec.sub("%H:%M:%S", fields, out),
        'F' => spec.sub("%Y-%m-%d", fields, out),
        'R' => spec.sub("%H:%M", fields, out),
        'r' => spec.sub("%I:%M:%S %p", fields, out),
        'd' => spec.number(i64::from(t.day()), 2, out),
        'e' => spec.spaced(i64::from(t.day()), 2, out),
        'H' => spec.number(i64::from(t.hour()), 2, out),
        'I' => spec.number(hour12, 2, out),
        'k' => spec.spaced(i64::from(t.hour()), 2, out),
        'l' => spec.spaced(hour12, 2, out),
        'j' => spec.number(yday + 1, 3, out),
        'm' => spec.number(i64::from(t.month()), 2, out),
        'M' => spec.number(i64::from(t.minute()), 2, out),
        'S' => spec.number(i64::from(t.second()), 2, out),
        'p' => spec.text(if t.hour() >= 12 { "PM" } else { "AM" }, spec.change, out),
        'P' => spec.text(if t.hour() >= 12 { "PM" } else { "AM" }, true, out),
        's' => {
            // mktime on a host in UTC: the zone of the value is not seen, but its summer time takes an hour off
            let seconds = t.and_utc().timestamp() - if fields.dst == Some(true) { 3600 } else { 0 };
            spec.text(&seconds.to_string(), false, out);
        }
        'u' => spec.number(i64::from(weekday) + 1, 1, out),
        'w' => spec.number(i64::from((weekday + 1) % 7), 1, out),
        'U' => spec.number((yday + 7 - i64::from((weekday + 1) % 7)) / 7, 2, out),
        'W' => spec.number((yday + 7 - i64::from(weekday)) / 7, 2, out),
        'V' => spec.number(i64::from(t.iso_week().week()), 2, out),
        'G' => spec.number(i64::from(t.iso_week().year()), 1, out),
        'g' => spec.number(i64::from(t.iso_week().year()).rem_euclid(100), 2, out),
        'y' => spec.number(year.rem_euclid(100), 2, out),
        'Y' => spec.number(year, 1, out),
        'z' => {
            if fields.dst.is_some() {
                spec.text("+", false, out);
                spec.number(0, 4, out);
            }
        }
        'Z' => spec.text(if fields.dst.is_some() { "UTC" } else { "" }, spec.change, out),
        _ => return false,
    }
    true
}
