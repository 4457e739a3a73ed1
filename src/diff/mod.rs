//! Differences between rendered texts, and equal differences brought together.

mod change;
mod group;
mod hunk;
mod profiles;

pub use change::{CONTEXT, Change, Kind, Likeness, Same, same_changes};
pub use group::{Group, group, shape, without_numbers};
pub use hunk::{Hunk, HunkOptions, Line, Tag, changed_lines, hunks, hunks_with};
pub use profiles::{DagNote, FieldOutcome, FieldPair, FieldSubject, Gone, LoneRun, ProfileDiff, ProfileSide, profiles};
