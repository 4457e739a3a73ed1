//! What a comparison comes to.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;

use super::hunk::{Hunk, Line};
use crate::pipeline::Problem;

/// Two sides compared.
#[derive(Debug, Default)]
pub struct Diff {
    /// How people call the old side.
    pub base: String,
    /// How people call the new side.
    pub head: String,
    /// Files of pipelines that changed.
    pub files: Vec<FileChange>,
    /// Pipelines that are on one side only, or elsewhere.
    pub pipelines: Vec<PipelineChange>,
    /// The files that define the pipelines of the new side, by the pipelines' paths.
    pub definitions: BTreeMap<Utf8PathBuf, Utf8PathBuf>,
    /// Dags and tasks with another name or in another place.
    pub renames: Vec<Rename>,
    /// Runs that appear, disappear or change.
    pub runs: Vec<RunChange>,
    /// What changed in rendered texts, each distinct change once.
    pub changes: Vec<TextChange>,
    /// Pipelines and scenarios that a side cannot load or play.
    pub failures: Vec<SideFailure>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// How much was compared.
    pub counts: Counts,
}

impl Diff {
    /// True when both sides execute the same.
    pub fn is_empty(&self) -> bool {
        self.pipelines.is_empty()
            && self.renames.is_empty()
            && self.runs.is_empty()
            && self.changes.is_empty()
            && !self.failures.iter().any(|failure| failure.differs)
    }
}

/// Counts of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Pipelines on either side.
    pub pipelines: usize,
    /// Pipelines none of whose files changed: they were not rendered.
    pub same_inputs: usize,
    /// Runs that were compared with their counterparts.
    pub runs: usize,
    /// Runs that appear.
    pub runs_added: usize,
    /// Runs that disappear.
    pub runs_removed: usize,
    /// Runs that change key, date, events or kind.
    pub runs_changed: usize,
    /// Fields that were compared with their counterparts.
    pub fields: usize,
    /// Fields whose text changes.
    pub fields_changed: usize,
    /// Fields that differ only in what was to be ignored.
    pub fields_ignored: usize,
    /// Fields of tasks that are new in a run that both sides have.
    pub fields_added: usize,
    /// Fields of tasks that are gone from a run that both sides have.
    pub fields_removed: usize,
    /// Fields that rendered and now fail.
    pub fields_broken: usize,
    /// Fields that failed and now render.
    pub fields_mended: usize,
    /// Fields that fail on both sides.
    pub fields_failing: usize,
}

/// What became of a file or a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Removed,
    /// On both sides.
    Modified,
    /// On both sides under other names.
    Renamed,
}

impl Status {
    /// The letter git has for it.
    pub fn letter(self) -> char {
        match self {
            Status::Added => 'A',
            Status::Removed => 'D',
            Status::Modified => 'M',
            Status::Renamed => 'R',
        }
    }

    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Added => "added",
            Status::Removed => "removed",
            Status::Modified => "changed",
            Status::Renamed => "renamed",
        }
    }
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A pipeline file.
    Pipeline,
    /// A scenario file.
    Scenario,
    /// A template, or a file that templates include.
    Template,
    /// A file that nothing read.
    Other,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, on the old side if it is gone.
    pub path: Utf8PathBuf,
    /// Its path on the old side, if that is another.
    pub old_path: Option<Utf8PathBuf>,
    /// What became of it.
    pub status: Status,
    /// What it is for.
    pub kind: FileKind,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// Tasks that read it on either side: `dag_id.task_id`.
    pub tasks: Vec<String>,
    /// Rendered fields that read it.
    pub fields: usize,
    /// How many of them changed.
    pub fields_changed: usize,
}

/// A pipeline on one side only, or under another path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineChange {
    /// Its path.
    pub path: Utf8PathBuf,
    /// Its old path, if it was elsewhere.
    pub old_path: Option<Utf8PathBuf>,
    /// What became of it.
    pub status: Status,
    /// Its runs, for one that is on one side only.
    pub runs: usize,
    /// Its rendered fields.
    pub fields: usize,
}

/// A Dag or task that is called otherwise or stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// `Dag` or `task`
    pub what: &'static str,
    /// The pipeline, as a path.
    pub pipeline: Utf8PathBuf,
    /// The old name: `dag_id` or `dag_id.task_id`.
    pub old: String,
    /// The new name.
    pub new: String,
    /// The old pipeline, if it was another.
    pub old_pipeline: Option<Utf8PathBuf>,
    /// How alike the two are, in percent.
    pub percent: u8,
}

/// A run that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChange {
    /// The pipeline, as a path.
    pub pipeline: Utf8PathBuf,
    /// The scenario.
    pub scenario: String,
    /// The Dag.
    pub dag_id: String,
    /// What became of the run.
    pub status: Status,
    /// Its key, or its run id; of a run whose key changed, the new one.
    pub label: String,
    /// What of it changed: name, old value, new value.
    pub values: Vec<RunValue>,
    /// Of a run that disappears and waits: for what.
    pub waits: Option<String>,
    /// Its rendered fields, when it appears or disappears.
    pub fields: usize,
    /// Why.
    pub causes: Vec<Cause>,
}

/// A property of a run on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunValue {
    /// Its name: `partition_key`, `partition_date`, `events`...
    pub name: &'static str,
    /// The old value; `None` when there was none.
    pub old: Option<String>,
    /// The new value.
    pub new: Option<String>,
}

/// A distinct change of rendered text and where it happens.
#[derive(Debug, Clone)]
pub struct TextChange {
    /// What became of the texts.
    pub status: Status,
    /// The first place's hunk; without lines when only values that are masked differ.
    pub hunk: Hunk,
    /// Where the very same lines change.
    pub places: Vec<ChangePlace>,
    /// Changes of the same fields, by the same causes, that differ from this one in numbers only.
    pub alike: Vec<TextChange>,
    /// Why.
    pub causes: Vec<Cause>,
}

impl TextChange {
    /// Places of this change and of those alike.
    pub fn all_places(&self) -> impl Iterator<Item = &ChangePlace> {
        self.places.iter().chain(self.alike.iter().flat_map(|alike| &alike.places))
    }

    /// The changed lines.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.hunk.changed()
    }
}

/// A field of a run that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePlace {
    /// The pipeline, as a path.
    pub pipeline: Utf8PathBuf,
    /// The scenario.
    pub scenario: String,
    /// The Dag.
    pub dag_id: String,
    /// The task, with its map index.
    pub task: String,
    /// The field.
    pub field: String,
    /// The run: its key, or its run id.
    pub run: String,
    /// The file the field was read from.
    pub file: Option<Utf8PathBuf>,
    /// The first line of the hunk in the old text.
    pub old_start: usize,
    /// The first line of the hunk in the new text.
    pub new_start: usize,
    /// True when the field rendered and now fails.
    pub broken: bool,
    /// True when the field failed and now renders.
    pub mended: bool,
}

impl ChangePlace {
    /// `dag_id.task_id.field`
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.dag_id, self.task, self.field)
    }
}

/// What kind of thing made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CauseKind {
    /// The field's own template.
    Template,
    /// A file that the template includes, imports or extends.
    Include,
    /// A macro in a template file.
    Macro,
    /// A partition mapper.
    Mapper,
    /// A schedule, but for its mappers.
    Schedule,
    /// A variable.
    Variable,
    /// A connection.
    Connection,
    /// A parameter.
    Params,
    /// Anything else of a pipeline file.
    Pipeline,
    /// A scenario file.
    Scenario,
}

impl CauseKind {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            CauseKind::Template => "template",
            CauseKind::Include => "included file",
            CauseKind::Macro => "macro",
            CauseKind::Mapper => "mapper",
            CauseKind::Schedule => "schedule",
            CauseKind::Variable => "variable",
            CauseKind::Connection => "connection",
            CauseKind::Params => "params",
            CauseKind::Pipeline => "pipeline file",
            CauseKind::Scenario => "scenario",
        }
    }
}

/// A change of a source file that made texts or runs change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause {
    /// What kind of thing.
    pub kind: CauseKind,
    /// The file; on the old side if it is gone.
    pub file: Utf8PathBuf,
    /// The first changed line, from 1: of the new file, or of the old one when lines were only taken away.
    pub line: usize,
    /// True when the line is one of the old file.
    pub old: bool,
    /// What it is: a macro's name, a key path with both values, `new file`.
    pub what: String,
    /// False when several changes may have made it and it is not known which.
    pub sure: bool,
}

/// A pipeline or scenario that a side cannot load or play.
#[derive(Debug, Clone)]
pub struct SideFailure {
    /// True for the new side.
    pub head: bool,
    /// The pipeline, as a path.
    pub pipeline: Utf8PathBuf,
    /// The scenario, if it is one.
    pub scenario: Option<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// True when the other side does not fail in the same way.
    pub differs: bool,
}
