//! Differences between rendered texts, and equal differences brought together.
//!
//! [`trees`] compares the pipelines of two folders or revisions ([`Tree`]): what changes in the runs that events make and in
//! the text they render, each distinct change once, with the changed source lines that made it.

mod alike;
mod cause;
mod change;
mod changes;
mod compare;
pub mod git;
mod group;
mod hunk;
mod model;
mod pairs;
mod profiles;
mod side;
pub mod snapshots;
mod source;
mod sql;
mod tree;

pub use change::{CONTEXT, Change, Kind, Likeness, Same, likenesses, same_changes};
pub use compare::{Options, sides, trees};
pub use group::{Group, group, shape, without_numbers};
pub use hunk::{Hunk, HunkOptions, Line, Tag, changed_lines, hunks, hunks_with};
pub use model::{
    Cause, CauseKind, ChangePlace, Counts, Diff, FileChange, FileKind, PipelineChange, Rename, RunChange, RunValue,
    SideFailure, Status, TextChange,
};
pub use profiles::{DagNote, FieldOutcome, FieldPair, FieldSubject, Gone, LoneRun, ProfileDiff, ProfileSide, profiles};
pub use side::{Masks, Operator, SideField, SidePipeline, SideRun, SideScenario};
pub use sql::normalised as normalised_sql;
pub use tree::{Tree, Wanted, normal};
