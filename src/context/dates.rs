//! The one place of this folder that makes and recognises dates.

use chrono_tz::Tz;

use crate::python::{PyErr, Value};
use crate::run::Instant;

use super::broken;

fn missing() -> Value {
    broken::value(PyErr::unsupported("dates"))
}

/// A plain `datetime` in UTC.
pub(super) fn plain(_instant: Instant) -> Value {
    missing()
}

/// A pendulum `DateTime` in UTC.
pub(super) fn pendulum(_instant: Instant) -> Value {
    missing()
}

/// A pendulum `DateTime` in a zone.
pub(super) fn pendulum_in(_date: chrono::DateTime<Tz>) -> Value {
    missing()
}

/// A pendulum `Timezone`.
pub(super) fn timezone(_zone: Tz) -> Value {
    missing()
}

/// A `timedelta` of seconds.
pub(super) fn seconds(_seconds: i64) -> Value {
    missing()
}

/// True for a `datetime`, plain or pendulum's.
pub(super) fn is_datetime(_value: &Value) -> bool {
    false
}

/// The instant of an aware `datetime`; `Some(None)` for a naive one.
pub(super) fn instant_of(_value: &Value) -> Option<Option<Instant>> {
    None
}
