//! `tzinfo` objects as values.

use super::date::optional as optional_value;
use super::datetime::DateTime;
use super::timedelta::delta;
use super::tzinfo::TzInfo;
use super::{cargs, pendulum};
use crate::python::zone::Zone;
use crate::python::{
    Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, View, downcast, none, object, type_name, view,
};

/// A `tzinfo` as a value.
#[derive(Debug, Clone)]
pub struct TzObject(pub TzInfo);

/// The zone behind a value.
pub(crate) fn of(value: &Value) -> Option<&TzInfo> {
    downcast::<TzObject>(value).map(|tz| &tz.0)
}

/// A zone as a value, `None` without one.
pub(crate) fn optional(tz: Option<&TzInfo>) -> Value {
    tz.map_or_else(none, |tz| object(TzObject(tz.clone())))
}

impl TzObject {
    fn bare(&self) -> &'static str {
        let name = self.0.type_name();
        name.rsplit('.').next().unwrap_or(name)
    }

    /// The argument of `utcoffset` and its kin: a datetime, or `None` as `Some(None)`.
    fn moment<'a>(&self, name: &str, args: &Args<'a>) -> PyResult<Option<&'a DateTime>> {
        let value = match &self.0 {
            TzInfo::Plain { .. } => cargs::one(&format!("timezone.{name}"), args)?,
            TzInfo::Pendulum(Zone::Named(_)) => cargs::one(&format!("Timezone.{name}"), args)?,
            _ => {
                let qualified = format!("{}.{name}", self.bare());
                let bound = Sig::new(&qualified, &["dt"]).method().bind(args)?;
                bound.first().copied().flatten().ok_or_else(|| PyErr::type_error("missing argument"))?
            }
        };
        if let View::None = view(value) {
            return Ok(None);
        }
        downcast::<DateTime>(value).map(Some).ok_or_else(|| {
            PyErr::type_error(match self.0 {
                TzInfo::Plain { .. } => {
                    format!("{name}(dt) argument must be a datetime instance or None, not {}", short(value))
                }
                _ => "fromutc: argument must be a datetime instance or None".to_owned(),
            })
        })
    }
}

fn short(value: &Value) -> String {
    let name = type_name(value);
    name.rsplit('.').next().unwrap_or(&name).to_owned()
}

impl PyObject for TzObject {
    fn type_name(&self) -> &str {
        self.0.type_name()
    }

    fn qualified_name(&self) -> String {
        match &self.0 {
            TzInfo::Plain { .. } => "datetime.timezone".into(),
            TzInfo::Pendulum(_) => format!("pendulum.tz.timezone.{}", self.bare()),
            TzInfo::DateutilFile(_) => "dateutil.tz._tzfile.tzfile".into(),
            _ => format!("dateutil.tz.tz.{}", self.bare()),
        }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.0.repr())
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.0.str())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match (&self.0, name) {
            (TzInfo::Pendulum(zone), "name" | "_name") => Some(Ok(Value::from(zone.name()))),
            (TzInfo::Pendulum(zone @ Zone::Named(_)), "key") => Some(Ok(Value::from(zone.name()))),
            (TzInfo::DateutilFile(tz), "key") => Some(Ok(Value::from(tz.name()))),
            (TzInfo::Pendulum(Zone::Fixed(seconds)), "offset" | "_offset") => Some(Ok(Value::from(*seconds))),
            (TzInfo::Pendulum(Zone::Fixed(seconds)), "_utcoffset") => Some(delta(i128::from(*seconds) * 1_000_000)),
            (TzInfo::Plain { .. }, "utc") => Some(Ok(object(TzObject(TzInfo::UTC)))),
            (TzInfo::Plain { .. }, "min") => Some(Ok(object(TzObject(fixed_hours(-1))))),
            (TzInfo::Plain { .. }, "max") => Some(Ok(object(TzObject(fixed_hours(1))))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "utcoffset" | "dst" | "tzname" | "fromutc")
            || matches!((&self.0, name), (TzInfo::Pendulum(_), "convert" | "datetime"))
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        match name {
            "utcoffset" | "dst" | "tzname" => {
                let Some(dt) = self.moment(name, args)? else {
                    let local = self.0.dateless();
                    let fixed = self.0.is_fixed();
                    return match name {
                        "tzname" => Ok(optional_value(local.name)),
                        "utcoffset" if fixed => delta(i128::from(local.offset)),
                        "dst" if fixed => local.dst.map_or_else(|| Ok(none()), |dst| delta(i128::from(dst))),
                        _ => Ok(none()),
                    };
                };
                let local = self.0.local(dt.naive, dt.fold);
                match name {
                    "tzname" => Ok(optional_value(local.name)),
                    "utcoffset" => delta(i128::from(local.offset)),
                    _ => local.dst.map_or_else(|| Ok(none()), |dst| delta(i128::from(dst))),
                }
            }
            "fromutc" => {
                let dt = self
                    .moment(name, args)?
                    .ok_or_else(|| PyErr::type_error("fromutc: argument must be a datetime instance"))?;
                if dt.tz.as_ref() != Some(&self.0) {
                    return Err(PyErr::value_error("fromutc: dt.tzinfo is not self"));
                }
                let (naive, fold) = self.0.local_of_utc(dt.naive)?;
                Ok(object(DateTime { naive, fold, ..dt.clone() }))
            }
            "convert" => {
                let TzInfo::Pendulum(zone) = &self.0 else {
                    return Err(PyErr::unsupported("convert of this time zone"));
                };
                let qualified = format!("{}.convert", self.bare());
                let bound = Sig::new(&qualified, &["dt", "raise_on_unknown_times"]).required(1).method().bind(args)?;
                match bound.first().copied().flatten().and_then(downcast::<DateTime>) {
                    Some(dt) if dt.pendulum && bound.get(1).copied().flatten().is_none() => {
                        dt.in_timezone(*zone).map(object)
                    }
                    Some(dt) if dt.tz.is_some() => dt.astimezone(Some(&self.0)).map(object),
                    Some(dt) if bound.get(1).copied().flatten().is_none() => {
                        let placed = pendulum::localise(dt.naive, *zone, dt.fold)?;
                        Ok(object(DateTime { pendulum: false, ..placed }))
                    }
                    _ => Err(PyErr::unsupported("convert of this value")),
                }
            }
            _ => {
                let TzInfo::Pendulum(zone) = &self.0 else {
                    return Err(PyErr::unsupported("a datetime of this time zone"));
                };
                let qualified = format!("{}.datetime", self.bare());
                let names = ["year", "month", "day", "hour", "minute", "second", "microsecond"];
                let bound = Sig::new(&qualified, &names).required(3).method().bind(args)?;
                let mut parts = [0; 7];
                for (slot, value) in parts.iter_mut().zip(bound) {
                    if let Some(value) = value {
                        *slot = cargs::int(value)?;
                    }
                }
                let placed = pendulum::localise(super::datetime::make_naive(parts)?, *zone, true)?;
                Ok(object(DateTime { pendulum: false, ..placed }))
            }
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = of(other)?;
        let same = match (&self.0, other) {
            (TzInfo::Plain { micros: a, .. }, TzInfo::Plain { micros: b, .. }) => a == b,
            (TzInfo::DateutilOffset { seconds: a, .. }, TzInfo::DateutilOffset { seconds: b, .. }) => a == b,
            (a, b) => {
                let utc = |tz: &TzInfo| {
                    matches!(
                        tz,
                        TzInfo::DateutilUtc | TzInfo::DateutilLocal | TzInfo::DateutilOffset { seconds: 0, .. }
                    )
                };
                a == b || utc(a) && utc(b)
            }
        };
        match op {
            CmpOp::Eq => Some(Ok(same)),
            CmpOp::Ne => Some(Ok(!same)),
            _ => None,
        }
    }

    fn interned(&self, other: &Value) -> bool {
        of(other) == Some(&self.0)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        if !matches!(self.0, TzInfo::Plain { .. } | TzInfo::Pendulum(_)) {
            return Err(PyErr::type_error(format!("unhashable type: '{}'", self.bare())));
        }
        Ok(HashKey::Parts("tzinfo", vec![HashKey::Str(self.0.repr().into())]))
    }
}

fn fixed_hours(sign: i64) -> TzInfo {
    TzInfo::Plain { micros: sign * (23 * 60 + 59) * 60_000_000, name: None }
}
