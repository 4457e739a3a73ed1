//! The words and numbers dateutil's date parser knows.

use super::parser::Stop;
use super::ymd::Entry;

type Step<T> = Result<T, Stop>;

pub(crate) const JUMP: [&str; 18] =
    [" ", ".", ",", ";", "-", "/", "'", "at", "on", "and", "ad", "m", "t", "of", "st", "nd", "rd", "th"];
pub(crate) const WEEKDAYS: [[&str; 2]; 7] = [
    ["mon", "monday"],
    ["tue", "tuesday"],
    ["wed", "wednesday"],
    ["thu", "thursday"],
    ["fri", "friday"],
    ["sat", "saturday"],
    ["sun", "sunday"],
];
pub(crate) const MONTHS: [[&str; 3]; 12] = [
    ["jan", "january", ""],
    ["feb", "february", ""],
    ["mar", "march", ""],
    ["apr", "april", ""],
    ["may", "may", ""],
    ["jun", "june", ""],
    ["jul", "july", ""],
    ["aug", "august", ""],
    ["sep", "sept", "september"],
    ["oct", "october", ""],
    ["nov", "november", ""],
    ["dec", "december", ""],
];
pub(crate) const HMS: [[&str; 3]; 3] = [["h", "hour", "hours"], ["m", "minute", "minutes"], ["s", "second", "seconds"]];

pub(crate) fn jump(token: &str) -> bool {
    JUMP.contains(&token.to_lowercase().as_str())
}

pub(crate) fn index_of<const N: usize>(table: &[[&str; N]], token: &str) -> Option<i64> {
    let lower = token.to_lowercase();
    table.iter().position(|names| !lower.is_empty() && names.contains(&lower.as_str())).map(|at| at as i64)
}

pub(crate) fn month(token: &str) -> Option<i64> {
    index_of(&MONTHS, token).map(|at| at + 1)
}

pub(crate) fn ampm(token: &str) -> Option<i64> {
    match token.to_lowercase().as_str() {
        "am" | "a" => Some(0),
        "pm" | "p" => Some(1),
        _ => None,
    }
}

pub(crate) fn utc_zone(token: &str) -> bool {
    matches!(token.to_lowercase().as_str(), "utc" | "gmt" | "z")
}

/// A token that is a number: its digits before and after the point.
#[derive(Clone, Copy)]
pub(crate) struct Number<'a> {
    pub(crate) whole: i64,
    fraction: &'a str,
}

impl<'a> Number<'a> {
    pub(crate) fn of(token: &'a str) -> Option<Number<'a>> {
        let (whole, fraction) = token.split_once('.').unwrap_or((token, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        Some(Number { whole: if whole.is_empty() { 0 } else { whole.parse().ok()? }, fraction })
    }

    pub(crate) fn has_fraction(&self) -> bool {
        self.fraction.bytes().any(|b| b != b'0')
    }

    /// `int(60 * (x % 1))`
    pub(crate) fn sixtieths(&self) -> i64 {
        let digits: String = self.fraction.chars().take(15).collect();
        let scale = 10_i64.pow(digits.len() as u32);
        digits.parse::<i64>().unwrap_or(0) * 60 / scale
    }

    pub(crate) fn entry(&self) -> Entry<'static> {
        Entry::Number {
            whole: self.whole,
            beyond_hundred: self.whole > 100 || self.whole == 100 && self.has_fraction(),
        }
    }
}

/// A whole number of a token or part of one.
pub(crate) fn whole(token: &str) -> Step<i64> {
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Stop::Unknown);
    }
    token.parse().map_err(|_| Stop::Unknown)
}

/// Seconds and microseconds of `09.5`.
pub(crate) fn seconds(token: &str) -> Step<(i64, i64)> {
    match token.split_once('.') {
        None => Ok((whole(token)?, 0)),
        Some((seconds, fraction)) => {
            let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
            Ok((whole(seconds)?, whole(&micros)?))
        }
    }
}
