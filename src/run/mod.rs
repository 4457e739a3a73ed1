//! A Dag run and its task instance as data.
//!
//! The wire format is the one a worker receives: Airflow's `TIRunContext`, read with the rules and error texts of the
//! pydantic models in `airflow.sdk.api.datamodels._generated`. Nothing here knows where runs come from or what a template
//! makes of them.

mod dag_run;
mod datetime;
mod document;
pub mod rest;
mod state;
mod task_instance;
mod unreadable;
mod validation;

pub use dag_run::{
    ASSET_EVENT_FIELDS, AssetEventReference, AssetReference, DAG_RUN_FIELDS, DAG_RUN_RESULT_FIELDS, DagRun,
};
pub use document::{Connections, Run, XCom};
pub use state::{DagRunState, DagRunType, TaskInstanceState};
pub use task_instance::TaskInstance;
pub use unreadable::{readable_json, unreadable, unreadable_error, unreadable_text};
pub use validation::Validator;
pub(crate) use validation::{int_overflow, passes_the_wire};

/// An instant in UTC: what every aware datetime of the payload has become when a task sees it.
pub type Instant = chrono::DateTime<chrono::Utc>;

/// JSON as written: key order, doubles and ints of any size are kept.
pub type Json = serde_json::Value;

/// A JSON object in its order.
pub type JsonMap = serde_json::Map<String, Json>;
