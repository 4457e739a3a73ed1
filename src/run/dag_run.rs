//! `DagRun` and the asset events it consumed.

use crate::python::{PyErr, PyResult};

use super::{DagRunState, DagRunType, Instant, Json, JsonMap, Validator};

/// The Dag run a task belongs to (`airflow.sdk.api.datamodels._generated.DagRun`).
#[derive(Debug, Clone)]
pub struct DagRun {
    /// Dag of the run.
    pub dag_id: String,
    /// Its id, unique in the Dag.
    pub run_id: String,
    /// None for runs made from asset events.
    pub logical_date: Option<Instant>,
    /// Start of the data interval.
    pub data_interval_start: Option<Instant>,
    /// End of the data interval.
    pub data_interval_end: Option<Instant>,
    /// Earliest time the run may start.
    pub run_after: Instant,
    /// When it started.
    pub start_date: Option<Instant>,
    /// When it ended.
    pub end_date: Option<Instant>,
    /// How often it was cleared.
    pub clear_number: Option<i128>,
    /// How it came to be.
    pub run_type: DagRunType,
    /// Its state.
    pub state: DagRunState,
    /// What the trigger passed.
    pub conf: Option<JsonMap>,
    /// Who triggered it.
    pub triggering_user_name: Option<String>,
    /// The events that made it run, in the payload's order.
    pub consumed_asset_events: Vec<AssetEventReference>,
    /// Key of the partition it works on.
    pub partition_key: Option<String>,
    /// Date of the partition it works on.
    pub partition_date: Option<Instant>,
    /// A remark of a person's.
    pub note: Option<String>,
    /// Team of the Dag.
    pub team_name: Option<String>,
}

/// An asset event that a run consumed (`AssetEventDagRunReference`).
#[derive(Debug, Clone)]
pub struct AssetEventReference {
    /// The asset as it stands in the metadata database.
    pub asset: AssetReference,
    /// What the producer attached.
    pub extra: JsonMap,
    /// Task that emitted it; None for the REST API.
    pub source_task_id: Option<String>,
    /// Dag that emitted it.
    pub source_dag_id: Option<String>,
    /// Run that emitted it.
    pub source_run_id: Option<String>,
    /// Map index of the task that emitted it.
    pub source_map_index: Option<i128>,
    /// Names of the aliases it came through.
    pub source_aliases: Vec<String>,
    /// When it was recorded.
    pub timestamp: Instant,
    /// Partition key of the event.
    pub partition_key: Option<String>,
}

/// The asset of an event (`AssetReferenceAssetEventDagRun`).
#[derive(Debug, Clone)]
pub struct AssetReference {
    /// Name.
    pub name: String,
    /// URI as stored, which need not be in normalised form.
    pub uri: String,
    /// Extra of the asset itself.
    pub extra: JsonMap,
}

/// The fields of `DagRun`, in order.
pub const DAG_RUN_FIELDS: &[&str] = match DAG_RUN_RESULT_FIELDS {
    [fields @ .., _type] => fields,
    [] => &[],
};

/// The fields of `DagRunResult`, in order: what another run's Dag run is read into.
pub const DAG_RUN_RESULT_FIELDS: &[&str] = &[
    "dag_id",
    "run_id",
    "logical_date",
    "data_interval_start",
    "data_interval_end",
    "run_after",
    "start_date",
    "end_date",
    "clear_number",
    "run_type",
    "state",
    "conf",
    "triggering_user_name",
    "consumed_asset_events",
    "partition_key",
    "partition_date",
    "note",
    "team_name",
    "type",
];

/// The fields of an asset event in a Dag run, in order.
pub const ASSET_EVENT_FIELDS: &[&str] = &[
    "asset",
    "extra",
    "source_task_id",
    "source_dag_id",
    "source_run_id",
    "source_map_index",
    "source_aliases",
    "timestamp",
    "partition_key",
];

impl DagRun {
    /// Reads a `DagRun` that is not inside a `TIRunContext`.
    pub fn from_json(value: &Json) -> PyResult<Self> {
        let mut validator = Validator::new("DagRun");
        let run = Self::read(&mut validator, value);
        match validator.finish()? {
            Some(error) => Err(error),
            None => run.ok_or_else(|| PyErr::unsupported("this Dag run cannot be read")),
        }
    }

    /// Reads it as a field of the model at hand. `None` only after an error was recorded.
    pub fn read(v: &mut Validator, value: &Json) -> Option<Self> {
        let map = v.model(value)?;
        let run = DagRun {
            dag_id: v.field(value, "dag_id", true, Validator::string),
            run_id: v.field(value, "run_id", true, Validator::string),
            logical_date: v.field(value, "logical_date", true, Validator::opt_instant),
            data_interval_start: v.field(value, "data_interval_start", true, Validator::opt_instant),
            data_interval_end: v.field(value, "data_interval_end", true, Validator::opt_instant),
            run_after: v.field(value, "run_after", true, Validator::instant),
            start_date: v.field(value, "start_date", true, Validator::opt_instant),
            end_date: v.field(value, "end_date", true, Validator::opt_instant),
            clear_number: if map.contains_key("clear_number") {
                v.field(value, "clear_number", false, Validator::opt_int)
            } else {
                Some(0)
            },
            run_type: v
                .field(value, "run_type", true, |v, value| {
                    member(v, value, DagRunType::parse, DagRunType::ALL.iter().map(|m| m.value()))
                })
                .unwrap_or(DagRunType::Manual),
            state: v
                .field(value, "state", true, |v, value| {
                    member(v, value, DagRunState::parse, DagRunState::ALL.iter().map(|m| m.value()))
                })
                .unwrap_or(DagRunState::Running),
            conf: v.field(value, "conf", false, |v, value| (!value.is_null()).then(|| v.dict(value))),
            triggering_user_name: v.field(value, "triggering_user_name", false, Validator::opt_string),
            consumed_asset_events: v.field(value, "consumed_asset_events", true, |v, value| {
                v.list(value, AssetEventReference::read).into_iter().flatten().collect()
            }),
            partition_key: v.field(value, "partition_key", true, Validator::opt_string),
            partition_date: v.field(value, "partition_date", false, Validator::opt_instant),
            note: v.field(value, "note", false, Validator::opt_string),
            team_name: v.field(value, "team_name", false, Validator::opt_string),
        };
        v.forbid_others(map, DAG_RUN_FIELDS);
        Some(run)
    }
}

impl AssetEventReference {
    fn read(v: &mut Validator, value: &Json) -> Option<Self> {
        let map = v.model(value)?;
        let asset = v.field(value, "asset", true, AssetReference::read);
        let event = AssetEventReference {
            asset: asset.unwrap_or_else(|| AssetReference {
                name: String::new(),
                uri: String::new(),
                extra: JsonMap::new(),
            }),
            extra: v.field(value, "extra", true, Validator::dict),
            source_task_id: v.field(value, "source_task_id", true, Validator::opt_string),
            source_dag_id: v.field(value, "source_dag_id", true, Validator::opt_string),
            source_run_id: v.field(value, "source_run_id", true, Validator::opt_string),
            source_map_index: v.field(value, "source_map_index", true, Validator::opt_int),
            source_aliases: v.field(value, "source_aliases", true, |v, value| v.list(value, alias)),
            timestamp: v.field(value, "timestamp", true, Validator::instant),
            partition_key: v.field(value, "partition_key", false, Validator::opt_string),
        };
        v.forbid_others(map, ASSET_EVENT_FIELDS);
        Some(event)
    }
}

impl AssetReference {
    fn read(v: &mut Validator, value: &Json) -> Option<Self> {
        let map = v.model(value)?;
        let asset = AssetReference {
            name: v.field(value, "name", true, Validator::string),
            uri: v.field(value, "uri", true, Validator::string),
            extra: v.field(value, "extra", true, Validator::dict),
        };
        v.forbid_others(map, &["name", "uri", "extra"]);
        Some(asset)
    }
}

fn alias(v: &mut Validator, value: &Json) -> String {
    let Some(map) = v.model(value) else { return String::new() };
    let name = v.field(value, "name", true, Validator::string);
    v.forbid_others(map, &["name"]);
    name
}

/// A member of a `str` enum.
fn member<T>(
    v: &mut Validator,
    value: &Json,
    parse: impl Fn(&str) -> Option<T>,
    values: impl Iterator<Item = &'static str>,
) -> Option<T> {
    if let Some(found) = value.as_str().and_then(parse) {
        return Some(found);
    }
    let quoted: Vec<String> = values.map(|value| format!("'{value}'")).collect();
    let expected = match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    };
    v.fail("enum", format!("Input should be {expected}"), value);
    None
}
