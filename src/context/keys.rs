//! The names of the template context, and advice about names that are not in it.

use crate::run::{DagRun, DagRunType};

use super::surroundings::Profile;

macro_rules! keys {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// A name of Airflow 3's template context.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names, reason = "the names are Airflow's")]
        pub(super) enum Key { $($variant),+ }

        impl Key {
            /// All names, in the order Airflow fills its context.
            pub(super) const ALL: &'static [Key] = &[$(Key::$variant),+];

            /// The key of a name.
            pub(super) fn parse(name: &str) -> Option<Key> {
                match name { $($name => Some(Key::$variant),)+ _ => None }
            }

            /// The name.
            pub(super) fn name(self) -> &'static str {
                match self { $(Key::$variant => $name),+ }
            }
        }
    };
}

keys! {
    Dag = "dag",
    Inlets = "inlets",
    MapIndexTemplate = "map_index_template",
    Outlets = "outlets",
    RunId = "run_id",
    Task = "task",
    TaskInstance = "task_instance",
    Ti = "ti",
    OutletEvents = "outlet_events",
    InletEvents = "inlet_events",
    Macros = "macros",
    Params = "params",
    Var = "var",
    Conn = "conn",
    TaskStateStore = "task_state_store",
    AssetStateStore = "asset_state_store",
    DagRun = "dag_run",
    PartitionKey = "partition_key",
    PartitionDate = "partition_date",
    TriggeringAssetEvents = "triggering_asset_events",
    TaskInstanceKeyStr = "task_instance_key_str",
    TaskRescheduleCount = "task_reschedule_count",
    PrevStartDateSuccess = "prev_start_date_success",
    PrevEndDateSuccess = "prev_end_date_success",
    LogicalDate = "logical_date",
    Ds = "ds",
    DsNodash = "ds_nodash",
    Ts = "ts",
    TsNodash = "ts_nodash",
    TsNodashWithTz = "ts_nodash_with_tz",
    DataIntervalEnd = "data_interval_end",
    DataIntervalStart = "data_interval_start",
    PrevDataIntervalStartSuccess = "prev_data_interval_start_success",
    PrevDataIntervalEndSuccess = "prev_data_interval_end_success",
}

impl Key {
    /// True for the names that exist only when the run has a logical date.
    pub(super) fn needs_logical_date(self) -> bool {
        matches!(
            self,
            Key::LogicalDate
                | Key::Ds
                | Key::DsNodash
                | Key::Ts
                | Key::TsNodash
                | Key::TsNodashWithTz
                | Key::DataIntervalEnd
                | Key::DataIntervalStart
                | Key::PrevDataIntervalStartSuccess
                | Key::PrevDataIntervalEndSuccess
        )
    }
}

/// What to write in place of a name that this run does not define.
pub(super) fn advice(name: &str, run: &DagRun, profile: Profile) -> Option<String> {
    if profile != Profile::Airflow33 {
        return None;
    }
    let key = Key::parse(name);
    if let Some(key) = key.filter(|key| key.needs_logical_date() && run.logical_date.is_none()) {
        return Some(format!("{}: {}", why_undated(run), instead(key, run)));
    }
    if let Some(text) = removed(name, run) {
        return Some(text);
    }
    if let Some(text) = other(name) {
        return Some(text.to_owned());
    }
    if key.is_some() {
        return Some(format!(
            "the run has `{name}`, but an import without `with context` and expressions of `user_defined_macros` do not \
             see it: give it as an argument"
        ));
    }
    if let Some(close) = closest(name, run) {
        return Some(format!("did you mean `{close}`?"));
    }
    Some(format!(
        "no name of Airflow's context; if the Dag defines it, add `{name}` to `user_defined_macros` of the pipeline: \
         a value, or {{expression: \"...\"}}"
    ))
}

/// The name of this run's context that is most like a misspelt one.
fn closest(name: &str, run: &DagRun) -> Option<&'static str> {
    let defined = |key: &&Key| run.logical_date.is_some() || !key.needs_logical_date();
    let near = |key: &Key| strsim::jaro_winkler(name, key.name());
    Key::ALL
        .iter()
        .filter(defined)
        .map(|key| (near(key), key.name()))
        .filter(|(score, _)| *score > 0.9)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

fn why_undated(run: &DagRun) -> &'static str {
    match run.run_type {
        DagRunType::AssetTriggered | DagRunType::DatasetTriggered => "a run made from asset events has no logical date",
        DagRunType::AssetMaterialization => "a run that materializes an asset has no logical date",
        DagRunType::Manual | DagRunType::OperatorTriggered => "this run was triggered without a logical date",
        DagRunType::Scheduled | DagRunType::Backfill => "this run has no logical date",
    }
}

fn instead(key: Key, run: &DagRun) -> String {
    let date = if run.partition_date.is_some() {
        "partition_date"
    } else if run.partition_key.is_some() {
        return match key {
            Key::Ds | Key::DsNodash => "this run has a partition key but no partition date; use `partition_key`, or \
                                        `dag_run.run_after | ds` for the day it may start"
                .to_owned(),
            _ => "this run has a partition key but no partition date; use `partition_key` or `dag_run.run_after`"
                .to_owned(),
        };
    } else {
        "dag_run.run_after"
    };
    match key {
        Key::Ds => format!("use `{date} | ds`"),
        Key::DsNodash => format!("use `{date} | ds_nodash`"),
        Key::Ts => format!("use `{date} | ts`"),
        Key::TsNodash => format!("use `{date} | ts_nodash`"),
        Key::TsNodashWithTz => format!("use `{date} | ts_nodash_with_tz`"),
        Key::PrevDataIntervalStartSuccess => "use `prev_start_date_success`".to_owned(),
        Key::PrevDataIntervalEndSuccess => "use `prev_end_date_success`".to_owned(),
        _ => format!("use `{date}`"),
    }
}

/// Names of Airflow 2 that are gone: what to write where the run has a logical date, and where it has none.
const REMOVED: &[(&str, &str, &str)] = &[
    ("execution_date", "use `logical_date`", "use `{date}`"),
    ("next_ds", "use `data_interval_end | ds`", "use `{date} | ds`: a run without a logical date has no next one"),
    (
        "next_ds_nodash",
        "use `data_interval_end | ds_nodash`",
        "use `{date} | ds_nodash`: a run without a logical date has no next one",
    ),
    ("next_execution_date", "use `data_interval_end`", "use `{date}`: a run without a logical date has no next one"),
    (
        "prev_ds",
        "use `macros.ds_add(ds, -1)` for the day before, or `prev_data_interval_start_success | ds`",
        "use `macros.ds_add({date} | ds, -1)` for the day before, or `prev_start_date_success | ds`",
    ),
    (
        "prev_ds_nodash",
        "use `macros.ds_add(ds, -1).replace('-', '')` for the day before, or `prev_data_interval_start_success | ds_nodash`",
        "use `macros.ds_add({date} | ds, -1).replace('-', '')` for the day before, or `prev_start_date_success | ds_nodash`",
    ),
    ("prev_execution_date", "use `prev_data_interval_start_success`", "use `prev_start_date_success`"),
    ("prev_execution_date_success", "use `prev_data_interval_start_success`", "use `prev_start_date_success`"),
    ("yesterday_ds", "use `macros.ds_add(ds, -1)`", "use `macros.ds_add({date} | ds, -1)`"),
    (
        "yesterday_ds_nodash",
        "use `macros.ds_add(ds, -1).replace('-', '')`",
        "use `macros.ds_add({date} | ds, -1).replace('-', '')`",
    ),
    ("tomorrow_ds", "use `macros.ds_add(ds, 1)`", "use `macros.ds_add({date} | ds, 1)`"),
    (
        "tomorrow_ds_nodash",
        "use `macros.ds_add(ds, 1).replace('-', '')`",
        "use `macros.ds_add({date} | ds, 1).replace('-', '')`",
    ),
    (
        "triggering_dataset_events",
        "write `triggering_asset_events`: its keys are assets, no URIs, and an event has `asset` in place of `dataset`",
        "write `triggering_asset_events`: its keys are assets, no URIs, and an event has `asset` in place of `dataset`",
    ),
    (
        "conf",
        "templates cannot read the configuration: use a variable (`var.value`); what a trigger passed is `dag_run.conf`",
        "templates cannot read the configuration: use a variable (`var.value`); what a trigger passed is `dag_run.conf`",
    ),
    ("test_mode", "leave it out: it was always False", "leave it out: it was always False"),
    (
        "expanded_ti_count",
        "hand the number of mapped instances over as a param or an XCom",
        "hand the number of mapped instances over as a param or an XCom",
    ),
];

/// What to write in place of a name of Airflow 2 that is gone.
fn removed(name: &str, run: &DagRun) -> Option<String> {
    let (_, dated, undated) = REMOVED.iter().find(|(known, _, _)| *known == name)?;
    if run.logical_date.is_some() {
        return Some(format!("Airflow 3 has no `{name}`: {dated}"));
    }
    let date = if run.partition_date.is_some() { "partition_date" } else { "dag_run.run_after" };
    Some(format!("Airflow 3 has no `{name}`: {}", undated.replace("{date}", date)))
}

/// What to write in place of an attribute that objects of Airflow 2 had, by the text of the error that reading it raises.
pub fn attribute_advice(message: &str) -> Option<&'static str> {
    let (class, name) = message.strip_prefix('\'')?.strip_suffix('\'')?.split_once(" object' has no attribute '")?;
    let class = class.rsplit('.').next().unwrap_or(class);
    let found = ATTRIBUTES_REMOVED.iter().find(|(classes, known, _)| *known == name && classes.contains(&class));
    let by_uri = || {
        let accessor =
            matches!(class, "InletEventsAccessors" | "OutletEventAccessors" | "TriggeringAssetEventsAccessor");
        (accessor && name.contains("://")).then_some("Airflow 3 takes no URI here: write `.for_asset(uri=\"...\")`")
    };
    found.map(|(_, _, advice)| *advice).or_else(by_uri)
}

const RUN: &[&str] = &["DagRun", "DagRunResult"];
const TI: &[&str] = &["RuntimeTaskInstance"];
const EVENT: &[&str] =
    &["AssetEventDagRunReferenceResult", "AssetEventDagRunReference", "AssetEventResult", "AssetEventResponse"];

/// Attributes of Airflow 2's objects that those of Airflow 3 do not have.
const ATTRIBUTES_REMOVED: &[(&[&str], &str, &str)] = &[
    (RUN, "execution_date", "Airflow 3 calls it `logical_date`; runs made from assets have none, but `run_after`"),
    (RUN, "external_trigger", "Airflow 3 has `run_type`: compare it with 'manual'"),
    (RUN, "is_backfill", "Airflow 3 has `run_type`: compare it with 'backfill'"),
    (RUN, "consumed_dataset_events", "Airflow 3 calls it `consumed_asset_events`"),
    (RUN, "queued_at", "a task of Airflow 3 does not know it: use `start_date` or `run_after`"),
    (RUN, "get_state", "Airflow 3 has `state`"),
    (TI, "execution_date", "Airflow 3 has `logical_date` in the context and on `dag_run`"),
    (TI, "previous_ti", "Airflow 3 has `prev_start_date_success` and its like in the context"),
    (TI, "previous_ti_success", "Airflow 3 has `prev_start_date_success` and its like in the context"),
    (TI, "prev_attempted_tries", "Airflow 3 has `try_number`"),
    (TI, "operator", "use `task.task_type`"),
    (&["DAG"], "schedule_interval", "Airflow 3 has `schedule`"),
    (&["DAG"], "concurrency", "Airflow 3 calls it `max_active_tasks`"),
    (&["DAG"], "full_filepath", "Airflow 3 has `fileloc`"),
    (EVENT, "dataset", "Airflow 3 calls it `asset`"),
    (EVENT, "uri", "Airflow 3 has `asset.uri`"),
    (EVENT, "dataset_id", "Airflow 3 has `asset.name` and `asset.uri`"),
];

/// Other names people expect.
fn other(name: &str) -> Option<&'static str> {
    Some(match name {
        "try_number" => "use `ti.try_number`",
        "run_after" => "use `dag_run.run_after`",
        "execution_date_str" | "latest_date" | "end_date" | "start_date" => "not in Airflow's context; see `dag_run`",
        "asset_state_store" => "`asset_state_store` exists only for tasks with assets as inlets or outlets",
        "templates_dict" | "exception" | "reason" => {
            "exists only while the task or its callback runs, not in templates"
        }
        "context" => "there is no name for the whole context; `partita context` lists it",
        _ => return None,
    })
}
