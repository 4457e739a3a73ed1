//! Time zones as pendulum's `Timezone` and `FixedTimezone`: names of the IANA database, or a fixed offset.
//!
//! Offsets follow CPython's `zoneinfo`: a wall-clock time plus its `fold` has exactly one offset, in gaps too.

use std::fmt;

use chrono::{DateTime, Datelike, Days, Duration, NaiveDate, NaiveDateTime, Offset, TimeZone, Utc};
use chrono_tz::{GapInfo, OffsetComponents, Tz};

use super::{PyErr, PyResult};

/// The last year for which the compiled zone tables spell out every transition.
const LAST_TABLE_YEAR: i32 = 2099;

/// A time zone, as `pendulum.timezone` makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// A zone of the IANA database (`pendulum.tz.Timezone`).
    Named(Tz),
    /// A fixed offset in seconds east of UTC (`pendulum.tz.FixedTimezone`).
    Fixed(i32),
}

impl Zone {
    /// UTC, the zone of everything Airflow stores.
    pub const UTC: Zone = Zone::Named(Tz::UTC);

    /// `pendulum.timezone(name)`: IANA names, case-sensitive except `UTC`.
    ///
    /// # Errors
    /// `InvalidTimezone` or `ValueError` as pendulum and zoneinfo raise them.
    pub fn parse(name: &str) -> PyResult<Zone> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Zone::UTC);
        }
        if let Ok(zone) = name.parse::<Tz>() {
            return Ok(Zone::Named(zone));
        }
        Err(Self::name_error(name))
    }

    fn name_error(name: &str) -> PyErr {
        if name.starts_with('/') {
            return PyErr::value_error(format!("ZoneInfo keys may not be absolute paths, got: {name}"));
        }
        if name.contains('\0') {
            return PyErr::value_error("embedded null byte");
        }
        if name.is_empty() || name.split('/').any(|part| part.is_empty() || part == ".") {
            return PyErr::value_error(format!("ZoneInfo keys must be normalized relative paths, got: {name}"));
        }
        if name.split('/').any(|part| part == "..") {
            return PyErr::value_error(format!("ZoneInfo keys must refer to subdirectories of TZPATH, got: {name}"));
        }
        let directory = format!("{name}/");
        if matches!(name, "Factory" | "posixrules" | "localtime" | "zone.tab" | "zone1970.tab" | "tzdata.zi")
            || name.starts_with("posix/")
            || name.starts_with("right/")
            || chrono_tz::TZ_VARIANTS.iter().any(|zone| zone.name().starts_with(&directory))
        {
            return PyErr::unsupported(format!("the time zone {name:?} depends on the files of the machine"));
        }
        PyErr::new("InvalidTimezone", name)
    }

    /// `pendulum.timezone(seconds)`: a fixed offset from UTC.
    ///
    /// # Errors
    /// Offsets of a day or more are refused: Python accepts them and fails at the first use.
    pub fn fixed(seconds: i64) -> PyResult<Zone> {
        match i32::try_from(seconds) {
            Ok(seconds) if seconds.abs() < 86_400 => Ok(Zone::Fixed(seconds)),
            _ => Err(PyErr::value_error(
                "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24).",
            )),
        }
    }

    /// The name: the IANA key, or `+05:30`.
    pub fn name(&self) -> String {
        match self {
            Zone::Named(zone) => zone.name().to_owned(),
            Zone::Fixed(seconds) => {
                let minutes = seconds.abs() / 60;
                format!("{}{:02}:{:02}", if *seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        }
    }

    /// True for UTC under its own name.
    pub fn is_utc(&self) -> bool {
        *self == Zone::UTC
    }

    /// The offset in seconds in force at an instant.
    pub fn offset_at(&self, instant: DateTime<Utc>) -> i32 {
        match self {
            Zone::Fixed(seconds) => *seconds,
            Zone::Named(Tz::UTC) => 0,
            Zone::Named(zone) => {
                zone.offset_from_utc_datetime(&within_tables(*zone, instant.naive_utc())).fix().local_minus_utc()
            }
        }
    }

    /// The wall-clock time at an instant, and its `fold`.
    pub fn local(&self, instant: DateTime<Utc>) -> (NaiveDateTime, bool) {
        let offset = self.offset_at(instant);
        let wall = instant.naive_utc() + Duration::seconds(offset.into());
        let fold = matches!(self, Zone::Named(_)) && self.utcoffset(wall, false) != offset;
        (wall, fold)
    }

    /// `tzinfo.utcoffset(wall)` in seconds: of two readings `fold` picks the second; in a gap, `fold` false gives the
    /// offset before it and true the one after.
    pub fn utcoffset(&self, wall: NaiveDateTime, fold: bool) -> i32 {
        let zone = match self {
            Zone::Fixed(seconds) => return *seconds,
            Zone::Named(Tz::UTC) => return 0,
            Zone::Named(zone) => *zone,
        };
        let wall = within_tables(zone, wall);
        match zone.offset_from_local_datetime(&wall) {
            chrono::LocalResult::Single(offset) => offset.fix().local_minus_utc(),
            chrono::LocalResult::Ambiguous(first, second) => {
                (if fold { second } else { first }).fix().local_minus_utc()
            }
            chrono::LocalResult::None => {
                gap_offsets(zone, wall).map_or(0, |(before, after)| if fold { after } else { before })
            }
        }
    }

    /// Offset and summer time in seconds, and the abbreviation, of a wall-clock time plus its fold: what CPython's `zoneinfo`
    /// finds for it, in gaps too.
    pub(crate) fn details(&self, wall: NaiveDateTime, fold: bool) -> (i32, i32, String) {
        let Zone::Named(zone) = self else { return (self.utcoffset(wall, fold), 0, self.name()) };
        let offset = self.utcoffset(wall, fold);
        let other = self.utcoffset(wall, !fold);
        // in a gap the instant that has this offset is the one the other reading gives
        let found = [offset, other].into_iter().find_map(|candidate| {
            let instant = wall.checked_sub_signed(Duration::seconds(candidate.into()))?;
            let local = zone.offset_from_utc_datetime(&within_tables(*zone, instant));
            (local.fix().local_minus_utc() == offset).then_some(local)
        });
        found.map_or((offset, 0, String::new()), |local| {
            let name = local.to_string();
            // zoneinfo measures summer time against the neighbouring standard time, which for these was another zone's
            let dst = match (zone.name(), name.as_str()) {
                ("America/Bahia_Banderas", "CDT")
                | ("America/Inuvik", "MDT")
                | ("America/Indiana/Tell_City", "EDT") => 7200,
                ("Pacific/Rarotonga", "-0930") => 3600,
                _ => local.dst_offset().num_seconds() as i32,
            };
            (offset, dst, name)
        })
    }

    /// Reads a naive wall-clock time in this zone, as Airflow's `make_aware` does: the second of two readings; a time in
    /// a gap moves forward by the length of the gap. Returns the wall-clock time that results and its offset in seconds.
    pub fn make_aware(&self, wall: NaiveDateTime) -> (NaiveDateTime, i32) {
        let before = self.utcoffset(wall, false);
        let after = self.utcoffset(wall, true);
        let wall = if after > before { wall + Duration::seconds((after - before).into()) } else { wall };
        (wall, if after > before { self.utcoffset(wall, false) } else { after })
    }

    /// The instant of [`make_aware`](Self::make_aware).
    pub fn to_utc(&self, wall: NaiveDateTime) -> DateTime<Utc> {
        let (wall, offset) = self.make_aware(wall);
        (wall - Duration::seconds(offset.into())).and_utc()
    }

    /// Whether `tzinfo.dst()` is anything but zero at an instant, which is what `tm_isdst` says.
    pub fn is_dst(&self, instant: DateTime<Utc>) -> bool {
        match self {
            Zone::Fixed(_) => false,
            Zone::Named(zone) => {
                let offset = zone.offset_from_utc_datetime(&within_tables(*zone, instant.naive_utc()));
                !offset.dst_offset().is_zero()
            }
        }
    }

    /// The abbreviation in force at an instant, as `%Z` prints it.
    pub fn abbreviation(&self, instant: DateTime<Utc>) -> String {
        match self {
            Zone::Fixed(_) => self.name(),
            Zone::Named(zone) => zone.offset_from_utc_datetime(&within_tables(*zone, instant.naive_utc())).to_string(),
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Offsets before and after the gap a wall-clock time falls into.
fn gap_offsets(zone: Tz, wall: NaiveDateTime) -> Option<(i32, i32)> {
    let gap = GapInfo::new(&wall, &zone)?;
    let before = gap.begin.map(|(_, offset)| offset.fix().local_minus_utc())?;
    let after = gap.end.map(|end| end.offset().fix().local_minus_utc())?;
    Some((before, after))
}

/// Moves a time past the end of the compiled tables into a year of them with the same calendar: from there on every
/// zone follows a yearly rule for ever, as the footer of its zone file says.
fn within_tables(zone: Tz, time: NaiveDateTime) -> NaiveDateTime {
    let year = time.year();
    if year <= LAST_TABLE_YEAR {
        return time;
    }
    let settled = NaiveDate::from_ymd_opt(LAST_TABLE_YEAR, 12, 31).unwrap_or_default();
    if constant_at_the_end(zone, settled) {
        return settled.and_time(time.time());
    }
    // Twelve years hold every weekday for a month's first day; before them, some zones' tables list exceptions. January and
    // February hang on the year's first day, the rest on the first of March: so leap years need no twin of their own.
    let anchor = if time.month() > 2 { 3 } else { 1 };
    let first = |year: i32| NaiveDate::from_ymd_opt(year, anchor, 1).unwrap_or_default();
    let wanted = first(year);
    let days = u64::try_from((time.date() - wanted).num_days()).unwrap_or_default();
    (LAST_TABLE_YEAR - 11..=LAST_TABLE_YEAR)
        .map(first)
        .find(|candidate| candidate.weekday() == wanted.weekday())
        .and_then(|candidate| candidate.checked_add_days(Days::new(days)))
        .map_or(time, |date| date.and_time(time.time()))
}

fn constant_at_the_end(zone: Tz, settled: NaiveDate) -> bool {
    let noon = |days: u64| settled.checked_sub_days(Days::new(days)).unwrap_or_default().and_hms_opt(12, 0, 0);
    let offset = |days: u64| noon(days).map(|time| zone.offset_from_utc_datetime(&time).fix().local_minus_utc());
    let last = offset(0);
    (1..12 * 4).all(|step| offset(step * 30) == last)
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test that fails may say so")]
mod tests {
    use super::*;

    fn at(text: &str) -> NaiveDateTime {
        text.parse().expect("a naive time")
    }

    #[test]
    fn gaps_move_forward_and_folds_take_the_second() {
        let york = Zone::parse("America/New_York").expect("a zone");
        assert_eq!(york.to_utc(at("2026-03-08T02:30:00")).naive_utc(), at("2026-03-08T07:30:00"));
        assert_eq!(york.to_utc(at("2026-11-01T01:30:00")).naive_utc(), at("2026-11-01T06:30:00"));
        let apia = Zone::parse("Pacific/Apia").expect("a zone");
        assert_eq!(apia.make_aware(at("2011-12-30T12:00:00")).0, at("2011-12-31T12:00:00"));
    }

    #[test]
    fn rules_hold_after_the_tables_end() {
        let berlin = Zone::parse("Europe/Berlin").expect("a zone");
        assert_eq!(berlin.offset_at(at("2205-07-01T00:00:00").and_utc()), 7200);
        assert_eq!(berlin.offset_at(at("2205-01-01T00:00:00").and_utc()), 3600);
        assert_eq!(berlin.offset_at(at("2104-03-30T00:59:59").and_utc()), 3600);
        assert_eq!(berlin.offset_at(at("2104-03-30T01:00:00").and_utc()), 7200);
    }

    #[test]
    fn names_are_checked_as_pendulum_does() {
        assert_eq!(Zone::parse("uTc"), Ok(Zone::UTC));
        assert_eq!(Zone::parse("europe/berlin"), Err(PyErr::new("InvalidTimezone", "europe/berlin")));
        assert_eq!(Zone::parse("").expect_err("an error").class, "ValueError");
        assert_eq!(Zone::fixed(19_800).map(|zone| zone.name()), Ok("+05:30".to_owned()));
    }
}
