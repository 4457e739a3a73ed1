//! Datetimes of the payload, as pydantic reads an `AwareDatetime` from JSON.
//!
//! pydantic parses with the `speedate` crate, and so does this: spellings, the guess between seconds and milliseconds, and
//! error texts are its own.

use chrono::{FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Utc};
use speedate::{DateTimeConfig, MicrosecondsPrecisionOverflowBehavior, ParseError, TimeConfig};
use strum::EnumMessage;

use super::{Instant, Json};

/// Why a value is not an aware datetime: kind of error and message.
#[derive(Debug)]
pub(super) struct BadDateTime {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// An aware datetime, or `None` when it has no instant in UTC within Python's years 1 to 9999.
pub(super) fn aware(value: &Json) -> Result<Option<Instant>, BadDateTime> {
    let parsed = parse(value)?;
    let Some(offset) = parsed.offset else {
        return Err(no_zone());
    };
    Ok(FixedOffset::east_opt(offset).and_then(|_| {
        let utc = parsed.naive.checked_sub_signed(TimeDelta::seconds(i64::from(offset)))?;
        python_range(utc).then(|| Utc.from_utc_datetime(&utc))
    }))
}

fn no_zone() -> BadDateTime {
    BadDateTime { kind: "timezone_aware", message: "Input should have timezone info".to_owned() }
}

struct Parsed {
    naive: NaiveDateTime,
    offset: Option<i32>,
}

fn python_range(value: NaiveDateTime) -> bool {
    use chrono::Datelike;
    (1..=9999).contains(&value.year())
}

fn config() -> DateTimeConfig {
    DateTimeConfig {
        time_config: TimeConfig {
            microseconds_precision_overflow_behavior: MicrosecondsPrecisionOverflowBehavior::Truncate,
            unix_timestamp_offset: Some(0),
        },
        ..DateTimeConfig::default()
    }
}

fn parse(value: &Json) -> Result<Parsed, BadDateTime> {
    let not_a_datetime =
        || BadDateTime { kind: "datetime_type", message: "Input should be a valid datetime".to_owned() };
    match value {
        Json::String(text) => match speedate::DateTime::parse_bytes_with_config(text.as_bytes(), &config()) {
            Ok(parsed) => convert(&parsed),
            // a date alone is a midnight, which has no zone; when it is no date either, that error is the one reported
            Err(_) => match speedate::Date::parse_bytes(text.as_bytes()) {
                Ok(_) => Err(no_zone()),
                Err(error) => Err(BadDateTime {
                    kind: "datetime_from_date_parsing",
                    message: format!("Input should be a valid datetime or date, {}", text_of(&error)),
                }),
            },
        },
        Json::Number(number) => {
            let text = number.as_str();
            let parsed = if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                let Ok(seconds) = text.parse::<i64>() else { return Err(not_a_datetime()) };
                speedate::DateTime::from_timestamp_with_config(seconds, 0, &config())
            } else {
                let Ok(seconds) = text.parse::<f64>() else { return Err(not_a_datetime()) };
                speedate::DateTime::from_float_with_config(seconds, &config())
            };
            parsed.map_err(|error| parsing(text_of(&error))).and_then(|parsed| convert(&parsed))
        }
        _ => Err(not_a_datetime()),
    }
}

fn convert(parsed: &speedate::DateTime) -> Result<Parsed, BadDateTime> {
    let date = naive_date(&parsed.date)?;
    let time = &parsed.time;
    let naive = date
        .and_hms_micro_opt(time.hour.into(), time.minute.into(), time.second.into(), time.microsecond)
        .ok_or_else(|| parsing("time is out of range"))?;
    Ok(Parsed { naive, offset: time.tz_offset })
}

fn naive_date(date: &speedate::Date) -> Result<NaiveDate, BadDateTime> {
    if date.year == 0 {
        return Err(parsing("year 0 is out of range"));
    }
    NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into())
        .ok_or_else(|| parsing("day is out of range for month"))
}

fn parsing(detail: &str) -> BadDateTime {
    BadDateTime { kind: "datetime_parsing", message: format!("Input should be a valid datetime, {detail}") }
}

fn text_of(error: &ParseError) -> &'static str {
    error.get_documentation().unwrap_or_default()
}
