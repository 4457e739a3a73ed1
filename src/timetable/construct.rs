//! Timetables from constructor arguments, as a Dag file or a pipeline file writes them.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::partition::{DEFAULT_KEY_FORMAT, RunOffset};
use super::serialized::{cron_partition, decode_zone, event_date};
use super::{
    AssetOrTimeSchedule, AssetTriggeredTimetable, ContinuousTimetable, CronDataIntervalTimetable, CronSchedule,
    CronTriggerTimetable, Delta, DeltaDataIntervalTimetable, DeltaTriggerTimetable, EventsTimetable,
    MultipleCronTriggerTimetable, NullTimetable, OnceTimetable, PartitionedAtRuntime, RunImmediately, Timetable,
    decode_timetable,
};
use crate::asset::pytext::{self, repr};
use crate::asset::{AssetCondition, decode_asset_like};
use crate::python::{PyErr, PyResult, Zone};

/// The classes that [`construct`] builds.
pub const TIMETABLE_CLASSES: &[&str] = &[
    "AssetOrTimeSchedule",
    "AssetTriggeredTimetable",
    "ContinuousTimetable",
    "CronDataIntervalTimetable",
    "CronPartitionTimetable",
    "CronTriggerTimetable",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "EventsTimetable",
    "MultipleCronTriggerTimetable",
    "NullTimetable",
    "OnceTimetable",
    "PartitionedAssetTimetable",
    "PartitionedAtRuntime",
];

/// Parameters of a constructor: those taken by position, then those by keyword only, each with whether it is required.
struct Signature {
    class: &'static str,
    positional: &'static [(&'static str, bool)],
    keyword: &'static [(&'static str, bool)],
    /// `*crons`: takes every positional argument.
    variadic: bool,
}

const fn signature(
    class: &'static str,
    positional: &'static [(&'static str, bool)],
    keyword: &'static [(&'static str, bool)],
) -> Signature {
    Signature { class, positional, keyword, variadic: false }
}

const TRIGGER: &[(&str, bool)] = &[("interval", false), ("run_immediately", false), ("partitioned_at_runtime", false)];

/// The signatures of the classes in Airflow's SDK. `CronTriggerTimetable` also takes `partitioned_at_runtime`, which in
/// Airflow is an attribute of a subclass.
const SIGNATURES: &[Signature] = &[
    signature("AssetOrTimeSchedule", &[], &[("timetable", true), ("assets", true)]),
    signature("AssetTriggeredTimetable", &[("assets", true)], &[]),
    signature("ContinuousTimetable", &[], &[]),
    signature("CronDataIntervalTimetable", &[("cron", true), ("timezone", true)], &[]),
    signature(
        "CronPartitionTimetable",
        &[("cron", true)],
        &[("timezone", true), ("run_offset", false), ("run_immediately", false), ("key_format", false)],
    ),
    signature("CronTriggerTimetable", &[("cron", true), ("timezone", true)], TRIGGER),
    signature("DeltaDataIntervalTimetable", &[("delta", true)], &[]),
    signature("DeltaTriggerTimetable", &[("delta", true)], &[("interval", false)]),
    signature(
        "EventsTimetable",
        &[("event_dates", true)],
        &[("restrict_to_events", false), ("presorted", false), ("description", false)],
    ),
    Signature {
        class: "MultipleCronTriggerTimetable",
        positional: &[],
        keyword: &[("timezone", true), ("interval", false), ("run_immediately", false)],
        variadic: true,
    },
    signature("NullTimetable", &[], &[]),
    signature("OnceTimetable", &[], &[]),
    signature("PartitionedAtRuntime", &[], &[]),
];

/// The arguments of a call, bound to parameters.
struct Bound<'a> {
    class: &'static str,
    values: Vec<(&'static str, &'a Json)>,
    rest: Vec<&'a Json>,
}

impl Signature {
    /// Binds arguments with Python's errors. `expression` is what the SDK's dataclasses call `cron`.
    fn bind<'a>(&self, positional: &'a [Json], keyword: &'a Map<String, Json>) -> PyResult<Bound<'a>> {
        let class = self.class;
        let mut bound = Bound { class, values: Vec::new(), rest: Vec::new() };
        if self.variadic {
            bound.rest.extend(positional);
        } else if positional.len() > self.positional.len() {
            let takes = self.positional.len() + 1;
            let plural = if takes == 1 { "" } else { "s" };
            let given = positional.len() + 1;
            return Err(PyErr::type_error(format!(
                "{class}.__init__() takes {takes} positional argument{plural} but {given} were given"
            )));
        } else {
            bound.values.extend(self.positional.iter().zip(positional).map(|((name, _), value)| (*name, value)));
        }
        for (given, value) in keyword {
            let wanted = if given == "expression" { "cron" } else { given };
            let known = self.positional.iter().chain(self.keyword).find(|(name, _)| *name == wanted);
            let Some((name, _)) = known else {
                return Err(PyErr::type_error(format!(
                    "{class}.__init__() got an unexpected keyword argument '{given}'"
                )));
            };
            if bound.get(name).is_some() {
                return Err(PyErr::type_error(format!(
                    "{class}.__init__() got multiple values for argument '{given}'"
                )));
            }
            bound.values.push((name, value));
        }
        let missing = |parameters: &[(&'static str, bool)]| -> Vec<&'static str> {
            let absent = parameters.iter().filter(|(name, required)| *required && bound.get(name).is_none());
            absent.map(|(name, _)| *name).collect()
        };
        for (names, kind) in [(missing(self.positional), "positional"), (missing(self.keyword), "keyword-only")] {
            if !names.is_empty() {
                return Err(PyErr::type_error(format!(
                    "{class}.__init__() missing {} required {kind} argument{}: {}",
                    names.len(),
                    if names.len() == 1 { "" } else { "s" },
                    listed(&names)
                )));
            }
        }
        Ok(bound)
    }
}

/// `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

impl<'a> Bound<'a> {
    fn get(&self, name: &str) -> Option<&'a Json> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn refuse(&self, name: &str, value: &Json, wanted: &str) -> PyErr {
        PyErr::type_error(format!("{}({name}={}): {wanted} is wanted", self.class, repr(value)))
    }

    fn text(&self, name: &str) -> PyResult<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.refuse(name, other, "a string")),
        }
    }

    fn cron(&self) -> PyResult<&'a str> {
        Ok(self.text("cron")?.unwrap_or_default())
    }

    fn zone(&self) -> PyResult<Zone> {
        self.get("timezone").map_or(Ok(Zone::UTC), decode_zone)
    }

    fn delta(&self, name: &str) -> PyResult<Delta> {
        self.get(name).map_or(Ok(Delta::ZERO), step)
    }

    fn run_immediately(&self) -> PyResult<RunImmediately> {
        match self.get("run_immediately") {
            None => Ok(RunImmediately::Rule(false.into())),
            Some(flag @ (Json::Bool(_) | Json::Null)) => RunImmediately::decode(flag),
            Some(value) => match step(value)? {
                Delta::Time(micros) => Ok(RunImmediately::Within(micros)),
                Delta::Relative(_) => Err(self.refuse("run_immediately", value, "a bool or a timedelta")),
            },
        }
    }

    fn condition(&self, name: &str) -> PyResult<AssetCondition> {
        match self.get(name) {
            Some(Json::Array(items)) => {
                items.iter().map(decode_asset_like).collect::<PyResult<_>>().map(AssetCondition::All)
            }
            Some(value) => decode_asset_like(value),
            None => Ok(AssetCondition::All(Vec::new())),
        }
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(pytext::truth)
    }
}

/// A step of time as an argument: seconds, or a mapping. A mapping of the parameters of `timedelta` (`days`, `seconds`,
/// `microseconds`, `milliseconds`, `minutes`, `hours`, `weeks`) is a timedelta; with any other it is a relativedelta.
fn step(value: &Json) -> PyResult<Delta> {
    const UNITS: [(&str, f64); 7] = [
        ("days", 86_400.0),
        ("seconds", 1.0),
        ("microseconds", 1e-6),
        ("milliseconds", 1e-3),
        ("minutes", 60.0),
        ("hours", 3600.0),
        ("weeks", 604_800.0),
    ];
    let Json::Object(fields) = value else { return Delta::decode(value) };
    let unit = |name: &str| UNITS.iter().find(|(known, _)| *known == name).map(|(_, seconds)| *seconds);
    if !fields.keys().all(|name| unit(name).is_some()) {
        return Delta::decode(value);
    }
    let mut micros = 0.0;
    for (name, amount) in fields {
        let Some(number) = amount.as_f64() else {
            return Err(PyErr::type_error(format!(
                "unsupported type for timedelta {name} component: {}",
                pytext::type_name(amount)
            )));
        };
        micros += number * unit(name).unwrap_or(0.0) * 1e6;
    }
    if micros.abs() > 8e18 {
        return Err(PyErr::overflow("date value out of range"));
    }
    Ok(Delta::Time(micros.round_ties_even() as i64))
}

/// Builds a timetable from a class name and the arguments of its constructor. Assets and mappers are given in serialized
/// form, a timetable inside of a timetable too; steps of time as seconds or as a mapping.
///
/// # Errors
/// The constructor's: `TypeError` for arguments that do not fit, `InvalidTimezone`, `ValueError`; and
/// `AirflowTimetableInvalid`, because the result is validated as the Dag processor validates it.
pub fn construct(class: &str, positional: &[Json], keyword: &Map<String, Json>) -> PyResult<Arc<dyn Timetable>> {
    let Some(signature) = SIGNATURES.iter().find(|signature| signature.class == class) else {
        return Err(PyErr::unsupported(format!("the timetable {class}")));
    };
    let bound = signature.bind(positional, keyword)?;
    let timetable = build(&bound)?;
    timetable.validate()?;
    Ok(timetable)
}

fn build(bound: &Bound<'_>) -> PyResult<Arc<dyn Timetable>> {
    Ok(match bound.class {
        "CronPartitionTimetable" => {
            let run_offset = RunOffset::read(bound.get("run_offset"))?
                .ok_or_else(|| PyErr::value_error("Run offset other than integer not supported yet."))?;
            let key_format = bound.text("key_format")?.unwrap_or(DEFAULT_KEY_FORMAT);
            let run_immediately = bound.run_immediately()?;
            Arc::new(cron_partition(bound.cron()?, bound.zone()?, run_immediately, run_offset, key_format))
        }
        "CronTriggerTimetable" => Arc::new(CronTriggerTimetable {
            interval: bound.delta("interval")?,
            run_immediately: bound.run_immediately()?,
            partitioned_at_runtime: bound.flag("partitioned_at_runtime"),
            ..CronTriggerTimetable::new(bound.cron()?, bound.zone()?)
        }),
        "MultipleCronTriggerTimetable" => {
            let crons = bound
                .rest
                .iter()
                .map(|value| match value {
                    Json::String(text) => Ok(text.clone()),
                    other => Err(bound.refuse("*crons", other, "a string")),
                })
                .collect::<PyResult<Vec<_>>>()?;
            let (interval, run_immediately) = (bound.delta("interval")?, bound.run_immediately()?);
            Arc::new(MultipleCronTriggerTimetable::new(&crons, bound.zone()?, &interval, &run_immediately)?)
        }
        "CronDataIntervalTimetable" => {
            Arc::new(CronDataIntervalTimetable { schedule: CronSchedule::new(bound.cron()?, bound.zone()?) })
        }
        "DeltaTriggerTimetable" => {
            Arc::new(DeltaTriggerTimetable { delta: bound.delta("delta")?, interval: bound.delta("interval")? })
        }
        "DeltaDataIntervalTimetable" => Arc::new(DeltaDataIntervalTimetable { delta: bound.delta("delta")? }),
        "EventsTimetable" => {
            let dates = match bound.get("event_dates") {
                Some(Json::Array(dates)) => dates
                    .iter()
                    .map(|date| match date {
                        Json::String(text) => event_date(text),
                        other => Err(bound.refuse("event_dates", other, "a date")),
                    })
                    .collect::<PyResult<Vec<_>>>()?,
                other => return Err(bound.refuse("event_dates", other.unwrap_or(&Json::Null), "a list of dates")),
            };
            let description = bound.get("description").and_then(Json::as_str);
            let (restrict, presorted) = (bound.flag("restrict_to_events"), bound.flag("presorted"));
            Arc::new(EventsTimetable::new(dates, restrict, presorted, description))
        }
        "OnceTimetable" => Arc::new(OnceTimetable),
        "ContinuousTimetable" => Arc::new(ContinuousTimetable),
        "PartitionedAtRuntime" => Arc::new(PartitionedAtRuntime),
        "NullTimetable" => Arc::new(NullTimetable),
        "AssetTriggeredTimetable" => Arc::new(AssetTriggeredTimetable::new(bound.condition("assets")?)),
        "AssetOrTimeSchedule" => {
            let inner = decode_timetable(bound.get("timetable").unwrap_or(&Json::Null))?;
            Arc::new(AssetOrTimeSchedule::new(bound.condition("assets")?, inner))
        }
        other => return Err(PyErr::unsupported(format!("the timetable {other}"))),
    })
}

/// The timetable of `schedule=` when it is `None` or a string: `@once`, `@continuous`, or a cron expression in the Dag's
/// zone. Cron expressions make a `CronTriggerTimetable`, or with `data_intervals` a `CronDataIntervalTimetable`: Airflow's
/// setting `[scheduler] create_cron_data_intervals`, false by default since Airflow 3 and true before.
///
/// # Errors
/// `AirflowTimetableInvalid` for an expression croniter refuses.
pub fn from_schedule(schedule: Option<&str>, zone: Zone, data_intervals: bool) -> PyResult<Arc<dyn Timetable>> {
    let timetable: Arc<dyn Timetable> = match schedule {
        None => Arc::new(NullTimetable),
        Some("@once") => Arc::new(OnceTimetable),
        Some("@continuous") => Arc::new(ContinuousTimetable),
        Some(cron) if data_intervals => Arc::new(CronDataIntervalTimetable { schedule: CronSchedule::new(cron, zone) }),
        Some(cron) => Arc::new(CronTriggerTimetable::new(cron, zone)),
    };
    timetable.validate()?;
    Ok(timetable)
}
