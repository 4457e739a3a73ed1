//! The one place of this folder that makes and recognises dates.

use chrono_tz::Tz;

use crate::python::{DateTime, TimeDelta, TzInfo, TzObject, Value, Zone, downcast, object};
use crate::run::Instant;

use super::broken;

/// A plain `datetime` in UTC.
pub(super) fn plain(instant: Instant) -> Value {
    object(DateTime::utc_plain(instant))
}

/// A pendulum `DateTime` in UTC.
pub(super) fn pendulum(instant: Instant) -> Value {
    object(DateTime::utc_pendulum(instant))
}

/// A pendulum `DateTime` in a zone.
pub(super) fn pendulum_in(date: chrono::DateTime<Tz>) -> Value {
    object(DateTime::pendulum_in(date.to_utc(), Zone::Named(date.timezone())))
}

/// A pendulum `Timezone`.
pub(super) fn timezone(zone: Tz) -> Value {
    object(TzObject(TzInfo::Pendulum(Zone::Named(zone))))
}

/// A `timedelta` of seconds.
pub(super) fn seconds(seconds: i64) -> Value {
    TimeDelta::new(i128::from(seconds) * 1_000_000).map_or_else(broken::value, object)
}

/// True for a `datetime`, plain or pendulum's.
pub(super) fn is_datetime(value: &Value) -> bool {
    downcast::<DateTime>(value).is_some()
}

/// The instant of an aware `datetime`; `Some(None)` for a naive one.
pub(super) fn instant_of(value: &Value) -> Option<Option<Instant>> {
    downcast::<DateTime>(value).map(|dt| dt.tz.as_ref().and_then(|_| dt.instant()))
}
