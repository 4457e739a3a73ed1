//! Findings, runs and traces as text for people and for machines.
//!
//! Text may hold colour codes; whoever prints it strips them where they do not belong.

mod context;
mod diff;
mod explain;
mod explain_datasets;
mod json;
mod problems;
mod profiles;
mod render;
mod resolve;
mod snapshot;
mod trace;
mod verify;

pub use context::{context_json, context_table};
pub use diff::{COMMENT_LIMIT, Detail, diff_github, diff_json, diff_markdown, diff_sarif, diff_text};
pub use explain::{Wanted, explain_json, explain_text, explainable};
pub use explain_datasets::{explain_datasets_json, explain_datasets_text, explainable_datasets};
pub use json::{masked, render_json, render_jsonl, resolve_json, run_json};
pub use problems::{Excerpt, excerpt, plain_problems, problems};
pub use profiles::{profiles_json, profiles_markdown, profiles_text};
pub use render::{Shown, field_error, instant, render_text, run_heading};
pub use resolve::{resolve_text, waiting_text};
pub use snapshot::{group_text, hunks_text, paths_text, snapshot_text, visible};
pub use trace::{decision_text, pending_text};
pub use verify::{verify_json, verify_text};
