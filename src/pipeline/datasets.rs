//! What pipeline files of Airflow 2.10 say otherwise: datasets, their schedules, and what that version does not have.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::load::ASSET_KEYS;
use super::model::{AssetDef, Dag, Pipeline};
use super::reader::Reader;
use super::source::Problem;
use super::yaml::{Kind, Node};
use crate::asset::{Asset, AssetCondition, dataset_uri};
use crate::python::{PyErr, PyResult};
use crate::schedule::datasets::{self, DatasetDag, DatasetTask, Outlet};
use crate::timetable::{
    AssetOrTimeSchedule, CronTriggerTimetable, DeltaDataIntervalTimetable, NullTimetable, TimeRestriction, Timetable,
    construct,
};

/// Timetables that have another name in Airflow 3.
pub(super) const TIMETABLES_RENAMED: [(&str, &str); 2] =
    [("DatasetOrTimeSchedule", "AssetOrTimeSchedule"), ("DatasetTriggeredTimetable", "AssetTriggeredTimetable")];

/// Timetables that Airflow 2.10 does not have, and what to do about it.
pub(super) const TIMETABLES_OF_3: [(&str, &str); 5] = [
    ("CronPartitionTimetable", "partitions come with Airflow 3: write `profile: airflow-3.3`, or a cron string"),
    (
        "PartitionedAssetTimetable",
        "partitions come with Airflow 3: write `profile: airflow-3.3`, or a dataset expression",
    ),
    ("PartitionedAtRuntime", "partitions come with Airflow 3: write `profile: airflow-3.3`"),
    ("DeltaTriggerTimetable", "it comes with Airflow 3: DeltaDataIntervalTimetable is what a timedelta means in 2.10"),
    ("MultipleCronTriggerTimetable", "it comes with Airflow 3: CronTriggerTimetable takes one cron expression"),
];

/// What a Dag without a word about its schedule has in 2.10: a day.
pub(super) fn implicit_schedule() -> Arc<dyn Timetable> {
    let day = construct("DeltaDataIntervalTimetable", &[86_400.into()], &Map::new());
    day.unwrap_or_else(|_| Arc::new(NullTimetable))
}

/// Whether a timetable is the one that a Dag without a word about its schedule has.
fn is_implicit(dag: &Dag) -> bool {
    let found = dag.timetable.as_any().downcast_ref::<DeltaDataIntervalTimetable>();
    dag.schedule_place.range == dag.place.range && found.is_some()
}

/// The 2.10 form of a timetable by its arguments.
///
/// # Errors
/// `TypeError` for arguments that 2.10 does not take.
pub(super) fn timetable(made: &Arc<dyn Timetable>, keyword: &Map<String, Json>) -> PyResult<Arc<dyn Timetable>> {
    let Some(trigger) = made.as_any().downcast_ref::<CronTriggerTimetable>() else { return Ok(made.clone()) };
    if let Some(name) = ["run_immediately", "partitioned_at_runtime"].iter().find(|name| keyword.contains_key(**name)) {
        let message = format!("CronTriggerTimetable.__init__() got an unexpected keyword argument '{name}'");
        return Err(PyErr::type_error(message).with_hint("it comes with Airflow 3"));
    }
    Ok(Arc::new(datasets::CronTriggerTimetable::new(trigger.clone())))
}

/// Reads `datasets`: a URI each, or `{uri, extra}`.
pub(super) fn read_datasets(reader: &mut Reader, node: &Node, pipeline: &mut Pipeline, own: bool) {
    for (key, key_node, value) in reader.entries(node, "`datasets`").unwrap_or_default() {
        let what = format!("dataset `{key}`");
        let mut name = key.to_owned();
        let mut uri = key.to_owned();
        let mut extra = Json::Null;
        match &value.kind {
            Kind::Str { text, .. } => uri.clone_from(text),
            Kind::Null => {}
            Kind::Map(_) => {
                let Some(fields) = reader.fields(value, &what, &ASSET_KEYS) else { continue };
                if let (true, Some(place)) = (own, fields.key_place("group").or_else(|| fields.key_place("name"))) {
                    let word = place.text().trim_matches(['"', '\'']).to_owned();
                    let problem = Problem::error(format!("a dataset of Airflow 2.10 has no `{word}`"), place.clone());
                    reader.problem(problem.help("it is known by its `uri`, and has an `extra`"));
                }
                if let Some(text) = fields.get("name").and_then(|node| reader.string(node, "`name`")) {
                    uri.clone_from(&text);
                    name = text;
                }
                if let Some(text) = fields.get("uri").and_then(|node| reader.string(node, &format!("`uri` of {what}")))
                {
                    uri = text;
                }
                if let Some(node) = fields.get("extra") {
                    extra = reader.object(node, &format!("`extra` of {what}")).map_or(Json::Null, Json::Object);
                }
            }
            _ => {
                reader.expected(value, &what, "a URI, or {uri, extra}");
                continue;
            }
        }
        match dataset_uri(&uri) {
            Ok(sanitized) => {
                for warning in sanitized.warnings {
                    reader.problem(Problem::warning(warning, value.place.clone()));
                }
                // Airflow makes one row of them, with an extra that depends on which it sees last.
                if let Some(other) =
                    pipeline.assets.iter().find(|def| def.asset.uri == sanitized.uri && def.asset.extra != extra)
                {
                    let message = format!("two datasets have the URI `{}` and not the same `extra`", sanitized.uri);
                    reader.problem(
                        Problem::error(message, key_node.place.clone()).related(other.place.clone(), "the first"),
                    );
                }
                let asset = Asset {
                    name,
                    uri: sanitized.uri,
                    group: "asset".to_owned(),
                    extra,
                    watchers: Vec::new(),
                    access_control: Map::new(),
                };
                pipeline.assets.push(AssetDef { key: key.to_owned(), asset, place: key_node.place.clone() });
            }
            Err(error) => reader.problem(
                Problem::error(format!("{what}: {}", error.message), value.place.clone())
                    .label(format!("Airflow raises {}", error.class)),
            ),
        }
    }
}

/// A condition that 2.10 can have: no references.
pub(super) fn checked(reader: &mut Reader, node: &Node, condition: AssetCondition) -> Option<AssetCondition> {
    if condition.leaves().iter().any(|leaf| matches!(leaf, AssetCondition::Ref(_))) {
        let problem = Problem::error("Airflow 2.10 has no `Asset.ref`", node.place.clone());
        reader.problem(problem.help("write the dataset's name"));
        return None;
    }
    Some(condition)
}

fn max_active_runs(dag: &Dag) -> usize {
    usize::try_from(dag.max_active_runs).unwrap_or(usize::MAX)
}

/// What the constructor of a Dag checks in 2.10.
pub(super) fn check_dag(reader: &mut Reader, dag: &Dag, schedule: Option<&Node>) {
    let dated = dag.start_date.is_some() || dag.default_args.iter().any(|(name, _)| name == "start_date");
    if let Some(node) = schedule.filter(|node| !node.is_null() && !dated) {
        let problem = Problem::error("DAG is missing the start_date parameter", node.place.clone());
        let problem = problem.label("Airflow 2.10 raises ValueError");
        reader.problem(problem.help(format!("add `start_date` to the Dag `{}`", dag.dag_id)));
    }
    if let Err(error) = datasets::check_max_active_runs(dag.timetable.as_ref(), max_active_runs(dag)) {
        let problem = Problem::error(error.message, dag.schedule_place.clone());
        let problem = problem.label(format!("Airflow 2.10 raises {}", error.class));
        let limit = dag.timetable.active_runs_limit();
        reader.problem(problem.maybe_help(limit.map(|limit| format!("add `max_active_runs: {limit}`"))));
    }
}

/// `dag.schedule_interval` and the part of a schedule that runs by time.
pub(super) fn schedule_of(dag: &Dag) -> crate::context::airflow2::Schedule {
    use crate::context::airflow2::{Schedule, ScheduleInterval};
    let either = dag.timetable.as_any().downcast_ref::<AssetOrTimeSchedule>();
    if let Some(both) = either {
        let by_time = both.timetable().clone();
        let interval = match by_time.class_name() {
            "CronDataIntervalTimetable" | "CronTriggerTimetable" => {
                ScheduleInterval::Text(format!("Dataset or {}", by_time.summary()))
            }
            _ => ScheduleInterval::Unknown,
        };
        return Schedule { timetable: Some(by_time), either: true, interval };
    }
    if let Some(condition) = dag.timetable.asset_condition() {
        // Without a dataset its summary tells of aliases that are not resolved yet.
        let interval = match condition.assets().is_empty() {
            true => ScheduleInterval::Unknown,
            false => ScheduleInterval::Text("Dataset".to_owned()),
        };
        return Schedule { timetable: None, either: false, interval };
    }
    let interval = match (&dag.schedule_text, dag.timetable.class_name()) {
        (_, "NullTimetable") => ScheduleInterval::None,
        (Some(text), _) => ScheduleInterval::Text(text.clone()),
        (None, "CronDataIntervalTimetable" | "CronTriggerTimetable") => ScheduleInterval::Text(dag.timetable.summary()),
        _ if is_implicit(dag) => ScheduleInterval::Seconds(86_400),
        _ => ScheduleInterval::Unknown,
    };
    Schedule { timetable: Some(dag.timetable.clone()), either: false, interval }
}

/// A Dag as the dataset scheduler knows it. Its part by time is left out: what comes by time are `run` steps of a scenario.
pub(super) fn scheduler_dag(dag: &Dag) -> DatasetDag {
    let outlets = |task: &super::model::Task| DatasetTask {
        task_id: task.task_id.clone(),
        outlets: task.outlets.iter().filter_map(outlet).collect(),
    };
    DatasetDag {
        dag_id: dag.dag_id.clone(),
        timetable: Arc::new(NullTimetable),
        condition: dag.timetable.asset_condition().map(datasets::by_uri),
        restriction: TimeRestriction { earliest: dag.start_date, latest: dag.end_date, catchup: dag.catchup },
        max_active_runs: max_active_runs(dag),
        is_paused: dag.is_paused,
        tasks: dag.tasks.iter().map(outlets).collect(),
    }
}

fn outlet(condition: &AssetCondition) -> Option<Outlet> {
    match condition {
        AssetCondition::Asset(asset) => Some(Outlet::Dataset(asset.uri.clone())),
        AssetCondition::Alias(alias) => Some(Outlet::Alias(alias.name.clone())),
        _ => None,
    }
}
