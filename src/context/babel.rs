//! Dates in CLDR patterns, as Babel 2.19 formats them: what `macros.ds_format_locale` prints.

use std::collections::HashMap;
use std::sync::OnceLock;

use chrono::{Datelike, NaiveDate, Timelike};

use crate::python::{DateTime, PyErr, PyResult, repr_str};

/// The names and rules of one locale; what it lacks its parent has.
struct Locale {
    parent: Option<&'static str>,
    entries: HashMap<&'static str, &'static str>,
}

struct Table {
    languages: &'static str,
    locales: HashMap<&'static str, Locale>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table { languages: "", locales: HashMap::new() };
        let mut current = "";
        for line in include_str!("data/babel_locales.tsv").lines() {
            if let Some(languages) = line.strip_prefix('#') {
                table.languages = languages;
            } else if let Some(head) = line.strip_prefix('@') {
                let (name, parent) = head.split_once('\t').map_or((head, None), |(name, parent)| (name, Some(parent)));
                current = name;
                table.locales.insert(name, Locale { parent, entries: HashMap::new() });
            } else if let (Some(locale), Some((key, value))) = (table.locales.get_mut(current), line.split_once('\t')) {
                locale.entries.insert(key, value);
            }
        }
        table
    })
}

/// A locale, by the name the table has it under.
#[derive(Clone, Copy)]
pub(super) struct LocaleId(&'static str);

impl LocaleId {
    /// What Babel takes where the environment names no locale.
    pub(super) const DEFAULT: LocaleId = LocaleId("en_US");

    /// `Locale.parse(name)`
    ///
    /// # Errors
    /// `UnknownLocaleError` and `ValueError` as Babel raises them; `Unsupported` for a locale that is not in the table.
    pub(super) fn parse(name: &str) -> PyResult<LocaleId> {
        let base = name.split(['.', '@']).next().unwrap_or_default();
        if base.is_empty() {
            return Err(PyErr::unsupported("an empty locale"));
        }
        let mut parts = base.split('_');
        let language = parts.next().unwrap_or_default().to_lowercase();
        if !language.chars().all(char::is_alphabetic) {
            return Err(PyErr::value_error(format!("expected only letters, got {}", repr_str(&language))));
        }
        let mut normal = language.clone();
        for part in parts {
            normal.push('_');
            match part.len() {
                4 => {
                    let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
                    normal.push_str(&first.to_uppercase());
                    normal.push_str(&rest.to_lowercase());
                }
                _ => normal.push_str(&part.to_uppercase()),
            }
        }
        if let Some((name, _)) = table().locales.get_key_value(normal.as_str()) {
            return Ok(LocaleId(name));
        }
        let simple =
            normal.split('_').skip(1).all(|part| part.len() == 2 && part.chars().all(|c| c.is_ascii_alphabetic()));
        if simple && normal.split('_').count() <= 2 && !table().languages.split(' ').any(|known| known == language) {
            return Err(PyErr::new("UnknownLocaleError", format!("unknown locale {}", repr_str(name))));
        }
        Err(PyErr::unsupported(format!("the locale '{name}' of ds_format_locale")))
    }

    fn get(self, key: &str) -> &'static str {
        let mut name = self.0;
        // parents precede their children in the table, so that this ends
        for _ in 0..16 {
            let Some(locale) = table().locales.get(name) else { return "" };
            match (locale.entries.get(key), locale.parent) {
                (Some(value), _) => return value,
                (None, Some(parent)) => name = parent,
                (None, None) => return "",
            }
        }
        ""
    }

    fn item(self, key: &str, at: u32) -> &'static str {
        self.get(key).split('|').nth(at as usize).unwrap_or_default()
    }

    fn number(self, key: &str) -> i64 {
        self.get(key).parse().unwrap_or_default()
    }
}

/// The lengths each field may have; an empty list is any.
fn lengths(field: char) -> Option<&'static [usize]> {
    Some(match field {
        'y' | 'Y' | 'u' | 'g' | 'S' | 'A' => &[],
        'G' | 'Q' | 'q' | 'M' | 'L' | 'a' | 'b' | 'B' | 'Z' | 'x' | 'X' => &[1, 2, 3, 4, 5],
        'w' | 'h' | 'H' | 'K' | 'k' | 'm' | 's' => &[1, 2],
        'W' | 'F' => &[1],
        'd' | 'D' => &[1, 2, 3],
        'E' | 'e' => &[1, 2, 3, 4, 5, 6],
        'c' => &[1, 3, 4, 5, 6],
        'z' | 'V' => &[1, 2, 3, 4],
        'O' | 'v' => &[1, 4],
        _ => return None,
    })
}

enum Token {
    Text(String),
    Field(char, usize),
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut text = String::new();
    let mut field: Option<(char, usize)> = None;
    let mut quote: Option<String> = None;
    // two quotes are one, wherever they stand
    for c in pattern.replace("''", "\0").chars() {
        if let Some(inside) = &mut quote {
            if c == '\'' {
                text.push_str(inside);
                quote = None;
            } else {
                inside.push(c);
            }
            continue;
        }
        let is_field = lengths(c).is_some();
        if is_field
            && let Some((own, count)) = &mut field
            && *own == c
        {
            *count += 1;
            continue;
        }
        if let Some((own, count)) = field.take() {
            out.push(Token::Field(own, count));
        } else if (is_field || c == '\'') && !text.is_empty() {
            out.push(Token::Text(std::mem::take(&mut text)));
        }
        if c == '\'' {
            quote = Some(String::new());
        } else if is_field {
            field = Some((c, 1));
        } else {
            text.push(c);
        }
    }
    if let Some((own, count)) = field {
        out.push(Token::Field(own, count));
    } else if !text.is_empty() {
        out.push(Token::Text(text));
    }
    for token in &mut out {
        if let Token::Text(text) = token {
            *text = text.replace('\0', "'");
        }
    }
    out
}

/// `babel.dates.format_datetime(dt, format, locale=locale)`
///
/// # Errors
/// `ValueError` for a field of a length it cannot have; `Unsupported` for day periods and for zones other than UTC.
pub(super) fn format_datetime(dt: &DateTime, format: &str, locale: LocaleId) -> PyResult<String> {
    if matches!(format, "full" | "long" | "medium" | "short") {
        let part = |kind: &str| apply(dt, locale.get(&format!("{kind}.{format}")), locale);
        let frame = locale.get(&format!("datetime.{format}")).replace('\'', "");
        return Ok(frame.replace("{0}", &part("time")?).replace("{1}", &part("date")?));
    }
    apply(dt, format, locale)
}

fn apply(dt: &DateTime, pattern: &str, locale: LocaleId) -> PyResult<String> {
    let tokens = tokens(pattern);
    for token in &tokens {
        if let Token::Field(field, count) = token
            && lengths(*field).is_some_and(|allowed| !allowed.is_empty() && !allowed.contains(count))
        {
            let shown = field.to_string().repeat(*count);
            return Err(PyErr::value_error(format!("Invalid length for field: {}", repr_str(&shown))));
        }
    }
    let mut out = String::new();
    for token in tokens {
        match token {
            Token::Text(text) => out.push_str(&text),
            Token::Field(field, count) => out.push_str(&value(dt, field, count, locale)?),
        }
    }
    Ok(out)
}

fn width(count: usize) -> &'static str {
    match count {
        4 => "wide",
        5 => "narrow",
        6 => "short",
        _ => "abbreviated",
    }
}

fn value(dt: &DateTime, field: char, count: usize, locale: LocaleId) -> PyResult<String> {
    let t = &dt.naive;
    if count > 4096 {
        return Err(PyErr::limit("a date field of more than 4096 digits"));
    }
    let number = |n: i64| format!("{n:0count$}");
    let micros = i64::from(t.nanosecond() / 1000 % 1_000_000);
    let weekday = t.weekday().num_days_from_monday();
    Ok(match field {
        'G' => locale.get(&format!("era.{}", width(count))).to_owned(),
        'y' | 'u' | 'Y' => {
            let mut year = i64::from(t.year());
            if field == 'Y' {
                let week = week_of_year(t.date(), locale);
                if t.month() == 1 && t.day() < 7 && week >= 52 {
                    year -= 1;
                } else if t.month() == 12 && t.day() > 25 && week <= 2 {
                    year += 1;
                }
            }
            let text = number(year);
            if count == 2 { text.get(text.len().saturating_sub(2)..).unwrap_or_default().to_owned() } else { text }
        }
        'Q' | 'q' if count > 2 => {
            let context = if field == 'Q' { "format" } else { "stand-alone" };
            locale.item(&format!("quarter.{}.{context}", width(count)), t.month0() / 3).to_owned()
        }
        'Q' | 'q' => number(i64::from(t.month0() / 3 + 1)),
        'M' | 'L' if count > 2 => {
            let context = if field == 'M' { "format" } else { "stand-alone" };
            locale.item(&format!("month.{}.{context}", width(count)), t.month0()).to_owned()
        }
        'M' | 'L' => number(i64::from(t.month())),
        'w' => number(week_of_year(t.date(), locale)),
        'W' => week_number(i64::from(t.day()), i64::from(weekday), locale).to_string(),
        'd' => number(i64::from(t.day())),
        'D' => number(i64::from(t.ordinal())),
        'F' => (t.day0() / 7 + 1).to_string(),
        'g' => number(i64::from(t.date().num_days_from_ce()) + 1_721_425),
        'e' | 'c' if count < 3 => number((7 - locale.number("first") + i64::from(weekday)).rem_euclid(7) + 1),
        'E' | 'e' | 'c' => {
            let context = if field == 'c' { "stand-alone" } else { "format" };
            locale.item(&format!("day.{}.{context}", width(count.max(3))), weekday).to_owned()
        }
        'a' => {
            let half = if t.hour() >= 12 { "pm" } else { "am" };
            locale.get(&format!("{half}.{}", width(count.max(3)))).to_owned()
        }
        'b' | 'B' => return Err(PyErr::unsupported(format!("the field '{field}' of ds_format_locale"))),
        'h' => number(i64::from((t.hour() + 11) % 12 + 1)),
        'H' => number(i64::from(t.hour())),
        'K' => number(i64::from(t.hour() % 12)),
        'k' => number(if t.hour() == 0 { 24 } else { i64::from(t.hour()) }),
        'm' => number(i64::from(t.minute())),
        's' => number(i64::from(t.second())),
        'S' if count <= 6 => number(micros / 10_i64.pow(6 - count as u32)),
        'S' => format!(
            "{:0count$}",
            format!("{micros}{}", "0".repeat(count - 6)).trim_start_matches('0').parse::<u128>().unwrap_or(0)
        ),
        'A' => number(i64::from(t.num_seconds_from_midnight()) * 1000 + micros / 1000),
        'O' if count == 1 => "None".to_owned(),
        _ if dt.offset().is_some_and(|offset| offset != 0) => {
            return Err(PyErr::unsupported("the zone fields of ds_format_locale outside of UTC"));
        }
        _ => locale.get(&format!("zone.{}", field.to_string().repeat(count))).to_owned(),
    })
}

/// The number of the week a day of a period falls into; 0 when it still counts to the period before.
fn week_number(day: i64, weekday: i64, locale: LocaleId) -> i64 {
    let first = (weekday - locale.number("first") - day + 1).rem_euclid(7);
    (day + first - 1) / 7 + i64::from(7 - first >= locale.number("min"))
}

fn week_of_year(date: NaiveDate, locale: LocaleId) -> i64 {
    let weekday = |date: NaiveDate| i64::from(date.weekday().num_days_from_monday());
    let week = week_number(i64::from(date.ordinal()), weekday(date), locale);
    if week == 0 {
        let last = date.with_ordinal(1).and_then(|first| first.pred_opt()).unwrap_or(date);
        return week_number(i64::from(last.ordinal()), weekday(last), locale);
    }
    if week > 52 {
        let next = NaiveDate::from_ymd_opt(date.year() + 1, 1, 1).map_or(0, weekday);
        let starts = 32 - (next - locale.number("first")).rem_euclid(7) <= i64::from(date.day());
        if week_number(1, next, locale) == 1 && starts {
            return 1;
        }
    }
    week
}
