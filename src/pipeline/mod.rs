//! Pipeline and scenario files.

mod assumed;
mod assumed_datasets;
mod backfill;
mod dag;
mod datasets;
mod document;
mod emit;
mod expression;
mod folder;
mod instance;
mod load;
mod memo;
mod model;
mod names;
mod outcome;
mod play;
mod play_datasets;
mod queue;
pub mod reader;
pub mod request;
mod scenario;
mod schedule;
pub mod source;
mod sources;
mod task;
mod unknown;
mod world;
pub mod yaml;

pub use assumed::{Asked, GivenRun, assumed_run, given_run};
pub use backfill::{Window, backfill};
pub use dag::DAG_KEYS;
pub use document::{DOCUMENT_KEYS, Document};
pub use emit::emit_step;
pub use expression::Expressions;
pub use instance::{Renderer, outcome, render_scenario, resolve_scenario};
pub use load::{
    ASSET_KEYS, CONNECTION_KEYS, FILE_NAMES, PIPELINE_KEYS, from_memory, from_source, from_source_as, load, load_as,
    name_of,
};
pub use model::{AssetDef, Dag, Pipeline, Profile, Task, TaskField};
pub use names::file_name;
pub use outcome::{LogOutcome, Origin, Outcome, PendingAsset, PendingOutcome, RunOutcome, TaskResult, run_folders};
pub use play::{PlayError, Played, PlayedRun, play, stored};
pub use play_datasets::DatasetPlay;
pub use queue::declare;
pub use scenario::{
    Action, AliasAdd, Emit, ProducerRun, SCENARIO_KEYS, STEPS, Scenario, SourceRun, Step, TaskOutcome, load_scenario,
    scenario_files, scenario_from_source,
};
pub use source::{Place, Problem, Severity, Source};
pub use task::TASK_KEYS;

/// JSON Schema of pipeline files.
pub const PIPELINE_SCHEMA: &str = include_str!("schema/pipeline.json");

/// JSON Schema of scenario files.
pub const SCENARIO_SCHEMA: &str = include_str!("schema/scenario.json");
