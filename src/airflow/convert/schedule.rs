//! Timetables in the short forms of a pipeline file.

use serde_json::{Map, Value as Json, json};

use super::assets::{Assets, renamed};
use super::mapper;
use crate::airflow::{Finding, Gravity};
use crate::asset::{AssetCondition, decode_asset_like};
use crate::python::Zone;
use crate::timetable::{Timetable, construct, decode_timetable, encode_timetable, from_schedule};

/// Timetables inside of timetables that are followed.
const DEPTH: usize = 20;

/// Every asset condition of a serialized timetable: what it waits for and what its mappers are configured for.
pub(super) fn conditions(timetable: &Json) -> Vec<AssetCondition> {
    let mut found = Vec::new();
    collect(timetable, 0, &mut found);
    found
}

fn collect(timetable: &Json, depth: usize, found: &mut Vec<AssetCondition>) {
    let Some(fields) = timetable.get("__var") else { return };
    found.extend(fields.get("asset_condition").and_then(|condition| decode_asset_like(condition).ok()));
    for pair in fields.get("partition_mapper_config").and_then(Json::as_array).into_iter().flatten() {
        found.extend(pair.get(0).and_then(|asset| decode_asset_like(asset).ok()));
    }
    if let Some(inner) = fields.get("timetable").filter(|_| depth < DEPTH) {
        collect(inner, depth + 1, found);
    }
}

/// The timetable of a Dag in the names of Airflow 3, also where Airflow 2 stored a `schedule_interval` or datasets.
pub(super) fn serialized(dag: &Map<String, Json>) -> Option<Json> {
    let timetable = dag.get("timetable")?;
    Some(modern(timetable, 0))
}

fn modern(timetable: &Json, depth: usize) -> Json {
    let Some(path) = timetable.get("__type").and_then(Json::as_str) else { return timetable.clone() };
    let fields = timetable.get("__var").and_then(Json::as_object);
    let condition = |name: &str| fields.and_then(|fields| fields.get(name)).map_or(Json::Null, renamed);
    match path {
        "airflow.timetables.simple.DatasetTriggeredTimetable" => json!({
            "__type": "airflow.timetables.simple.AssetTriggeredTimetable",
            "__var": {"asset_condition": condition("dataset_condition")},
        }),
        "airflow.timetables.datasets.DatasetOrTimeSchedule" if depth < DEPTH => json!({
            "__type": "airflow.timetables.assets.AssetOrTimeSchedule",
            "__var": {
                "asset_condition": condition("dataset_condition"),
                "timetable": fields.and_then(|fields| fields.get("timetable")).map_or(Json::Null, |inner| modern(inner, depth + 1)),
            },
        }),
        _ => timetable.clone(),
    }
}

/// `schedule` of a pipeline file, and what is to be said about it.
pub(super) struct Written {
    /// The value; null is none.
    pub schedule: Json,
    /// What exists only in Python.
    pub findings: Vec<Finding>,
    /// The timetable as Airflow encodes it, where it was taken over whole.
    pub exact: Option<Json>,
}

/// Writes a serialized timetable. `zone` is the Dag's: cron strings are read in it.
pub(super) fn write(timetable: &Json, zone: Zone, data_intervals: bool, assets: &Assets) -> Written {
    let path = timetable.get("__type").and_then(Json::as_str).unwrap_or("?");
    let whole = match decode_timetable(timetable) {
        Ok(decoded) => decoded,
        Err(error) => {
            if path == PARTITIONED
                && let Some(written) = partitioned(timetable, assets)
            {
                return written;
            }
            let custom = error.class == "TimetableNotRegistered";
            let message = match custom {
                true => format!("the timetable {path} exists only in Python: no run of this Dag can be worked out"),
                false => format!("the timetable cannot be read: {}: {}", error.class, error.message),
            };
            let finding = Finding::new(Gravity::Needed, message)
                .help("write another `schedule`, or name a run of it: --run FILE or --logical-date");
            return Written { schedule: Json::Null, findings: vec![finding], exact: None };
        }
    };
    let exact = encode_timetable(&*whole);
    if path == PARTITIONED
        && let Some(written) = partitioned(&exact, assets)
    {
        return Written { exact: Some(exact), ..written };
    }
    let schedule = short(&*whole, &exact, zone, data_intervals, assets, 0).unwrap_or_else(|| exact.clone());
    Written { schedule, findings: Vec::new(), exact: Some(exact) }
}

const PARTITIONED: &str = "airflow.timetables.simple.PartitionedAssetTimetable";

fn partitioned(timetable: &Json, assets: &Assets) -> Option<Written> {
    let fields = timetable.get("__var")?;
    let mut findings = Vec::new();
    let mut spec = |value: &Json| -> Option<Json> {
        match mapper::write(value).ok()? {
            mapper::Written::Spec(spec) => Some(spec),
            mapper::Written::Custom(spec, class) => {
                let message = format!("the partition mapper {class} exists only in Python: no key can be mapped by it");
                findings.push(
                    Finding::new(Gravity::Needed, message)
                        .help("write it as an ExpressionMapper in `schedule` of the pipeline file"),
                );
                Some(spec)
            }
        }
    };
    let condition = decode_asset_like(fields.get("asset_condition")?).ok()?;
    let mut arguments = Map::new();
    arguments.insert("assets".into(), assets.write(&condition));
    let default = spec(fields.get("default_partition_mapper")?)?;
    if default != "IdentityMapper" {
        arguments.insert("default_partition_mapper".into(), default);
    }
    let mut config = Map::new();
    for pair in fields.get("partition_mapper_config")?.as_array()? {
        let asset = decode_asset_like(pair.get(0)?).ok()?;
        let mapper = spec(pair.get(1)?)?;
        if config.insert(assets.expression(&asset)?, mapper).is_some() {
            return None;
        }
    }
    if !config.is_empty() {
        arguments.insert("partition_mapper_config".into(), Json::Object(config));
    }
    Some(Written { schedule: json!({"PartitionedAssetTimetable": arguments}), findings, exact: None })
}

fn short(
    timetable: &dyn Timetable,
    exact: &Json,
    zone: Zone,
    data_intervals: bool,
    assets: &Assets,
    depth: usize,
) -> Option<Json> {
    if depth > DEPTH {
        return None;
    }
    let class = timetable.class_name();
    let fields = exact.get("__var")?.as_object()?;
    let same = |made: &dyn Timetable| encode_timetable(made) == *exact;
    let listed = |condition: &AssetCondition| match condition {
        AssetCondition::All(parts) if !parts.is_empty() => parts
            .iter()
            .map(|part| assets.expression(part).map(Json::from))
            .collect::<Option<Vec<_>>>()
            .map_or_else(|| assets.write(condition), Json::Array),
        _ => assets.write(condition),
    };
    match class {
        "NullTimetable" => return Some(Json::Null),
        "OnceTimetable" => return Some("@once".into()),
        "ContinuousTimetable" => return Some("@continuous".into()),
        "PartitionedAtRuntime" => return Some(class.into()),
        "AssetTriggeredTimetable" => return Some(listed(timetable.asset_condition()?)),
        "AssetOrTimeSchedule" => {
            let inner = decode_timetable(fields.get("timetable")?).ok()?;
            let inner_exact = encode_timetable(&*inner);
            let inner = short(&*inner, &inner_exact, zone, data_intervals, assets, depth + 1)?;
            return Some(
                json!({"AssetOrTimeSchedule": {"timetable": inner, "assets": listed(timetable.asset_condition()?)}}),
            );
        }
        "CronTriggerTimetable" | "CronDataIntervalTimetable" => {
            let cron = fields.get("expression")?.as_str()?;
            // With five fields no reader takes it for assets.
            if cron.split_whitespace().count() >= 5
                && !cron.contains(['(', ')', '"', '&'])
                && from_schedule(Some(cron), zone, data_intervals).is_ok_and(|made| same(&*made))
            {
                return Some(cron.into());
            }
        }
        _ => {}
    }
    // The constructor's arguments, without those that are its own.
    let mut arguments = Map::new();
    for (name, value) in fields {
        let name = if name == "expression" { "cron" } else { name };
        arguments.insert(name.to_owned(), value.clone());
    }
    let made = |arguments: &Map<String, Json>| construct(class, &[], arguments).is_ok_and(|made| same(&*made));
    if !made(&arguments) {
        return None;
    }
    for name in arguments.keys().cloned().collect::<Vec<_>>() {
        let mut fewer = arguments.clone();
        fewer.shift_remove(&name);
        if made(&fewer) {
            arguments = fewer;
        }
    }
    Some(json!({(class.to_owned()): arguments}))
}
