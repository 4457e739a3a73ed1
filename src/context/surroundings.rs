//! What a template can learn of its Dag, its task and the metadata database, apart from the run itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;

use crate::asset::{Asset, AssetAlias, AssetRef};
use crate::python::Value;
use crate::run::{Instant, Json, JsonMap};

/// Whose template context is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Airflow 3.3.2.
    #[default]
    Airflow33,
    /// Airflow 2.10.5.
    Airflow210,
}

/// What pulling an XCom that the run does not hold means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingXCom {
    /// The run is complete: there is no such XCom, as in Airflow.
    #[default]
    None,
    /// The run is assumed: nobody said what the task returned, so asking for it is an error.
    Refuse,
}

/// An inlet or outlet of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum AssetItem {
    /// `Asset(...)`
    Asset(Asset),
    /// `AssetAlias(...)`
    Alias(AssetAlias),
    /// `Asset.ref(...)`
    Ref(AssetRef),
    /// Any other object; only JSON values are known here.
    Object(Json),
}

/// The Dag of the task (`airflow.sdk.DAG`), defaults as its constructor has them.
#[derive(Debug, Clone)]
pub struct DagInfo {
    /// `start_date`, an instant and the Dag's zone.
    pub start_date: Option<chrono::DateTime<Tz>>,
    /// `end_date`
    pub end_date: Option<chrono::DateTime<Tz>>,
    /// `timezone`
    pub timezone: Tz,
    /// `description`
    pub description: Option<String>,
    /// `tags`, sorted
    pub tags: Vec<String>,
    /// `catchup`
    pub catchup: bool,
    /// `max_active_runs`
    pub max_active_runs: i64,
    /// `owner`: the owners of its tasks
    pub owner: String,
    /// `doc_md`
    pub doc_md: Option<String>,
    /// `dag_display_name` where it is not the id
    pub display_name: Option<String>,
    /// `render_template_as_native_obj`
    pub native: bool,
    /// All task ids in order; empty means the task alone.
    pub task_ids: Vec<String>,
    /// `params` of the Dag alone; `None` when they are those of the run.
    pub params: Option<JsonMap>,
    /// Other attributes by name, as JSON: `default_args`, `template_searchpath` and the like.
    pub attributes: JsonMap,
    /// Attributes whose values are not known, and why: reading one is an error.
    pub unknown: BTreeMap<String, String>,
}

impl Default for DagInfo {
    fn default() -> Self {
        DagInfo {
            start_date: None,
            end_date: None,
            timezone: Tz::UTC,
            description: None,
            tags: Vec::new(),
            catchup: false,
            max_active_runs: 16,
            owner: "airflow".to_owned(),
            doc_md: None,
            display_name: None,
            native: false,
            task_ids: Vec::new(),
            params: None,
            attributes: JsonMap::new(),
            unknown: BTreeMap::new(),
        }
    }
}

/// The task (`airflow.sdk.BaseOperator` or a subclass), defaults as its constructor has them.
#[derive(Debug, Clone)]
pub struct TaskInfo {
    /// Class name of the operator.
    pub operator: String,
    /// Module of the class, where it is known: error texts name it.
    pub module: Option<String>,
    /// `owner`
    pub owner: String,
    /// `retries`
    pub retries: i64,
    /// `inlets`
    pub inlets: Vec<AssetItem>,
    /// `outlets`
    pub outlets: Vec<AssetItem>,
    /// `template_fields`
    pub template_fields: Vec<String>,
    /// `template_ext`
    pub template_ext: Vec<String>,
    /// `map_index_template`
    pub map_index_template: Option<String>,
    /// `upstream_task_ids`
    pub upstream_task_ids: Vec<String>,
    /// `downstream_task_ids`
    pub downstream_task_ids: Vec<String>,
    /// The operator's own arguments and any other attribute, as JSON.
    pub attributes: JsonMap,
    /// Attributes whose values are not known, and why: reading one is an error.
    pub unknown: BTreeMap<String, String>,
}

impl Default for TaskInfo {
    fn default() -> Self {
        TaskInfo {
            operator: "BaseOperator".to_owned(),
            module: Some("airflow.sdk.bases.operator".to_owned()),
            owner: "airflow".to_owned(),
            retries: 0,
            inlets: Vec::new(),
            outlets: Vec::new(),
            template_fields: Vec::new(),
            template_ext: Vec::new(),
            map_index_template: None,
            upstream_task_ids: Vec::new(),
            downstream_task_ids: Vec::new(),
            attributes: JsonMap::new(),
            unknown: BTreeMap::new(),
        }
    }
}

/// An asset event in the metadata database: what `inlet_events` reads.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// Row id.
    pub id: i64,
    /// The asset, with the extra its row has.
    pub asset: Asset,
    /// When it was recorded.
    pub timestamp: Instant,
    /// What the producer attached.
    pub extra: JsonMap,
    /// Dag that emitted it.
    pub source_dag_id: Option<String>,
    /// Task that emitted it.
    pub source_task_id: Option<String>,
    /// Run that emitted it.
    pub source_run_id: Option<String>,
    /// Map index of the task that emitted it.
    pub source_map_index: Option<i128>,
    /// Names of the aliases it came through.
    pub source_aliases: Vec<String>,
    /// Partition key of the event.
    pub partition_key: Option<String>,
}

/// Everything around a run.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Whose context.
    pub profile: Profile,
    /// The Dag.
    pub dag: DagInfo,
    /// The task.
    pub task: TaskInfo,
    /// What a pull of an XCom that is not there means.
    pub missing_xcom: MissingXCom,
    /// Assets that the metadata database knows, besides those of the consumed events.
    pub assets: Vec<Asset>,
    /// The event table; `None` when it is not known, so that reading `inlet_events` is an error.
    pub asset_events: Option<Arc<Vec<StoredEvent>>>,
    /// Other Dag runs, as `DagRun` JSON: what `source_dag_run` of an event finds.
    pub dag_runs: Arc<Vec<Json>>,
    /// Stubs of plugins' macros, by plugin: what `macros.<plugin>` is. Airflow finds them among its plugins when it renders.
    pub plugins: Arc<BTreeMap<String, Value>>,
}

impl Surroundings {
    /// The Dag and task of `render --jsonl` requests that carry their run: one `BaseOperator`, start date 2026-01-01 UTC.
    pub fn of_request() -> Self {
        use chrono::TimeZone;
        let mut surroundings = Surroundings::default();
        surroundings.dag.start_date = Tz::UTC.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).single();
        surroundings
    }
}
