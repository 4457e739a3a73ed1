//! `tzinfo` objects: `datetime.timezone`, pendulum's zones and dateutil's.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime as Instant, Datelike, Duration as Span, NaiveDateTime, Utc};
use chrono_tz::Tz;

use super::text::offset_text;
use super::timedelta::timedelta_repr;
use crate::python::zone::Zone;
use crate::python::{PyErr, PyResult, repr_str};

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// The zone of a date and time: two that are equal here are one object in Python.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TzInfo {
    /// `datetime.timezone(offset, name)`; without a name and offset it is `datetime.timezone.utc`
    Plain {
        /// East of UTC, in microseconds
        micros: i64,
        /// The name given to the constructor
        name: Option<Arc<str>>,
    },
    /// pendulum's `Timezone` and `FixedTimezone`
    Pendulum(Zone),
    /// `dateutil.tz.tzutc()`
    DateutilUtc,
    /// `dateutil.tz.tzlocal()`, on a host in UTC
    DateutilLocal,
    /// `dateutil.tz.tzoffset(name, seconds)`
    DateutilOffset {
        /// The name given to the constructor
        name: Option<Arc<str>>,
        /// East of UTC
        seconds: i32,
    },
    /// `dateutil.tz.gettz(name)`
    DateutilFile(Tz),
}

/// What a zone says about one local time.
pub(crate) struct Local {
    /// `utcoffset()` in microseconds
    pub offset: i64,
    /// `dst()` in microseconds; `None` where the zone does not say
    pub dst: Option<i64>,
    /// `tzname()`
    pub name: Option<String>,
}

impl TzInfo {
    /// `datetime.timezone.utc`
    pub const UTC: TzInfo = TzInfo::Plain { micros: 0, name: None };
    /// pendulum's `UTC`
    pub const PENDULUM_UTC: TzInfo = TzInfo::Pendulum(Zone::UTC);

    /// `datetime.timezone(offset, name)`; the offset in microseconds.
    ///
    /// # Errors
    /// `ValueError` for offsets of a day or more.
    pub fn plain(micros: i64, name: Option<&str>) -> PyResult<TzInfo> {
        if micros.abs() >= 86_400 * SECOND {
            return Err(PyErr::value_error(format!(
                "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24), not {}.",
                timedelta_repr(i128::from(micros))
            )));
        }
        Ok(TzInfo::Plain { micros, name: name.map(Arc::from) })
    }

    /// Everything the zone says about a local time.
    pub(crate) fn local(&self, wall: NaiveDateTime, fold: bool) -> Local {
        match self {
            TzInfo::Plain { micros, .. } => Local { offset: *micros, dst: None, name: Some(self.fixed_name()) },
            TzInfo::Pendulum(Zone::Fixed(seconds)) => {
                Local { offset: i64::from(*seconds) * SECOND, dst: Some(0), name: Some(self.fixed_name()) }
            }
            TzInfo::DateutilUtc | TzInfo::DateutilLocal => Local { offset: 0, dst: Some(0), name: Some("UTC".into()) },
            TzInfo::DateutilOffset { name, seconds } => {
                Local { offset: i64::from(*seconds) * SECOND, dst: Some(0), name: name.as_deref().map(str::to_owned) }
            }
            TzInfo::Pendulum(Zone::Named(tz)) | TzInfo::DateutilFile(tz) => {
                // dateutil reads a time in a gap as of before it, whatever its fold
                let zone = Zone::Named(*tz);
                let fold = fold && !(matches!(self, TzInfo::DateutilFile(_)) && in_gap(zone, wall));
                let (offset, dst, name) = zone.details(wall, fold);
                Local { offset: i64::from(offset) * SECOND, dst: Some(i64::from(dst) * SECOND), name: Some(name) }
            }
        }
    }

    /// `utcoffset(dt)` in microseconds.
    pub(crate) fn offset(&self, wall: NaiveDateTime, fold: bool) -> i64 {
        match self {
            TzInfo::Plain { micros, .. } => *micros,
            TzInfo::DateutilUtc | TzInfo::DateutilLocal => 0,
            TzInfo::DateutilOffset { seconds, .. } => i64::from(*seconds) * SECOND,
            TzInfo::Pendulum(zone) => i64::from(zone.utcoffset(wall, fold)) * SECOND,
            TzInfo::DateutilFile(_) => self.local(wall, fold).offset,
        }
    }

    fn fixed_name(&self) -> String {
        match self {
            TzInfo::Plain { name: Some(name), .. } => name.to_string(),
            TzInfo::Plain { micros: 0, .. } => "UTC".into(),
            TzInfo::Plain { micros, .. } => format!("UTC{}", offset_text(*micros, ":")),
            TzInfo::Pendulum(zone) => zone.name(),
            _ => "UTC".into(),
        }
    }

    /// `tzname(None)`, `utcoffset(None)` in microseconds: what the zone says without a date.
    pub(crate) fn dateless(&self) -> Local {
        match self {
            TzInfo::Pendulum(Zone::Named(tz)) | TzInfo::DateutilFile(tz) if *tz != Tz::UTC => {
                Local { offset: 0, dst: None, name: None }
            }
            _ => self.local(NaiveDateTime::default(), false),
        }
    }

    /// Whether the zone has one offset for all times, so that a bare time has it too.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            TzInfo::Pendulum(Zone::Named(tz)) => fixed_for_ever(*tz),
            TzInfo::DateutilFile(_) => false,
            _ => true,
        }
    }

    /// `fromutc`: the local time at a UTC time, and its fold.
    pub(crate) fn local_of_utc(&self, utc: NaiveDateTime) -> PyResult<(NaiveDateTime, bool)> {
        let local = match self {
            TzInfo::Pendulum(zone @ Zone::Named(_)) => {
                certain(*zone, utc.year())?;
                local_at(*zone, utc)
            }
            TzInfo::DateutilFile(tz) => {
                certain(Zone::Named(*tz), utc.year())?;
                local_at(Zone::Named(*tz), utc)
            }
            _ => {
                let offset = self.offset(utc, false);
                utc.checked_add_signed(Span::microseconds(offset)).map(|wall| (wall, false))
            }
        };
        local.ok_or_else(|| PyErr::overflow("date value out of range"))
    }

    /// pendulum's `_safe_timezone` of a zone: its own are kept, others become one of its own. `at` is the local time
    /// that the call passes along, if it does.
    pub(crate) fn to_pendulum(&self, at: Option<(NaiveDateTime, bool)>) -> PyResult<Zone> {
        match self {
            TzInfo::Pendulum(zone) => Ok(*zone),
            // known by its key
            TzInfo::DateutilFile(tz) => Ok(Zone::Named(*tz)),
            _ => {
                let dateless = self.dateless();
                if dateless.name.as_deref() == Some("UTC") {
                    return Ok(Zone::UTC);
                }
                let offset = match at {
                    Some((wall, fold)) => self.offset(wall, fold),
                    None => dateless.offset,
                };
                Zone::fixed(offset / SECOND)
            }
        }
    }

    /// `type(tz).__name__`, with the module where C code prints it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            TzInfo::Plain { .. } => "datetime.timezone",
            TzInfo::Pendulum(Zone::Named(_)) => "Timezone",
            TzInfo::Pendulum(Zone::Fixed(_)) => "FixedTimezone",
            TzInfo::DateutilUtc => "tzutc",
            TzInfo::DateutilLocal => "tzlocal",
            TzInfo::DateutilOffset { .. } => "tzoffset",
            TzInfo::DateutilFile(_) => "tzfile",
        }
    }

    /// `repr(tz)`
    pub(crate) fn repr(&self) -> String {
        match self {
            TzInfo::Plain { micros: 0, name: None } => "datetime.timezone.utc".into(),
            TzInfo::Plain { micros, name: None } => {
                format!("datetime.timezone({})", timedelta_repr(i128::from(*micros)))
            }
            TzInfo::Plain { micros, name: Some(name) } => {
                format!("datetime.timezone({}, {})", timedelta_repr(i128::from(*micros)), repr_str(name))
            }
            TzInfo::Pendulum(Zone::Named(tz)) => format!("Timezone('{}')", tz.name()),
            TzInfo::Pendulum(zone @ Zone::Fixed(seconds)) => {
                format!("FixedTimezone({seconds}, name=\"{}\")", zone.name())
            }
            TzInfo::DateutilUtc => "tzutc()".into(),
            TzInfo::DateutilLocal => "tzlocal()".into(),
            TzInfo::DateutilOffset { name, seconds } => {
                format!("tzoffset({}, {seconds})", name.as_deref().map_or_else(|| "None".into(), repr_str))
            }
            TzInfo::DateutilFile(tz) => format!("tzfile('/usr/share/zoneinfo/{}')", tz.name()),
        }
    }

    /// `str(tz)`
    pub(crate) fn str(&self) -> String {
        match self {
            TzInfo::Plain { .. } => self.fixed_name(),
            TzInfo::Pendulum(Zone::Named(tz)) => tz.name().to_owned(),
            _ => self.repr(),
        }
    }
}

fn in_gap(zone: Zone, wall: NaiveDateTime) -> bool {
    zone.utcoffset(wall, true) > zone.utcoffset(wall, false)
}

fn local_at(zone: Zone, utc: NaiveDateTime) -> Option<(NaiveDateTime, bool)> {
    let instant: Instant<Utc> = utc.and_utc();
    let offset = zone.offset_at(instant);
    let wall = utc.checked_add_signed(Span::seconds(i64::from(offset)))?;
    Some((wall, zone.utcoffset(wall, false) != offset))
}

fn fixed_for_ever(tz: Tz) -> bool {
    let name = tz.name();
    name.starts_with("Etc/")
        || matches!(name, "UTC" | "UCT" | "GMT" | "GMT0" | "GMT+0" | "GMT-0" | "Greenwich" | "Universal" | "Zulu")
}

/// Refuses a local time about which builds of the zone database disagree: some merge zones that differ only long ago.
pub(crate) fn certain(zone: Zone, year: i32) -> PyResult<()> {
    type Years = Vec<(i32, i32)>;
    static UNSURE: OnceLock<HashMap<&'static str, Years>> = OnceLock::new();
    let Zone::Named(tz) = zone else { return Ok(()) };
    if year >= 1997 && tz != Tz::MET {
        return Ok(());
    }
    let years = |text: &str| -> Years {
        let ranges = text.split(' ').filter_map(|range| range.split_once('-'));
        ranges.filter_map(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?))).collect()
    };
    let unsure = UNSURE.get_or_init(|| {
        let rows = include_str!("data/unsure_zones.tsv").lines().filter_map(|line| line.split_once('\t'));
        rows.map(|(name, ranges)| (name, years(ranges))).collect()
    });
    let found =
        unsure.get(tz.name()).and_then(|ranges| ranges.iter().find(|(first, last)| (*first..=*last).contains(&year)));
    match found {
        Some((first, last)) => Err(PyErr::unsupported(format!(
            "the time zone {} in {year}: zone databases disagree about the years {first} to {last}",
            tz.name()
        ))),
        None => Ok(()),
    }
}
