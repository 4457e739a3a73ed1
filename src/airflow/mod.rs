//! What people have: Dags as Airflow stored them, turned into pipelines.
//!
//! A serialized Dag becomes the text of a pipeline file and the templates beside it ([`import()`]), and that text is read by
//! the reader of pipeline files. So what is used at once and what is written as a folder is the same.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::pipeline::{self, Pipeline, Problem, Profile, yaml};

#[cfg(feature = "api")]
pub mod api;
mod convert;
pub mod dags;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod db;
mod error;
pub mod export;
mod metadata;
mod queue;
pub mod serialized;
mod source;
pub mod sweep;
pub mod verify;

pub use error::SourceError;
pub use metadata::{Needs, PreviousRun, RunFilter, StoredInstance, StoredRun, Surrounding, Values};
pub use queue::{PendingPartition, Queue, scheduler};
pub use serialized::SerializedDag;
pub use source::{Page, SerializedRow, Source};

/// Where files of templates are looked for: what serialized Dags do not hold.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// The Dag folder; a Dag's own templates are looked for beside its file, as Airflow does.
    pub dags: Option<Utf8PathBuf>,
    /// `template_searchpath`, in order, after the folder of the Dag's file.
    pub template_searchpath: Vec<Utf8PathBuf>,
}

/// Dags as a pipeline.
#[derive(Debug)]
pub struct Imported {
    /// The pipeline, usable at once: its templates are in memory.
    pub pipeline: Pipeline,
    /// The text of its `pipeline.yaml`.
    pub document: String,
    /// Templates to write beside it: path below the folder, and text.
    pub files: Vec<(Utf8PathBuf, String)>,
    /// What could not be taken over, or needs the author's help.
    pub findings: Vec<Finding>,
    /// What each Dag's templates may read, files that they may include among them.
    pub needs: BTreeMap<String, Needs>,
}

impl Imported {
    /// The same Dags, read as a profile in place of their own.
    ///
    /// # Errors
    /// What the profile does not have.
    pub fn read_as(&self, profile: Profile) -> Result<Pipeline, ImportError> {
        read(&self.document, &self.pipeline.root, &self.files, Some(profile))
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Something is refused: rendering it is an error.
    Refused,
    /// Something exists only in Python and must be given before what uses it renders.
    Needed,
    /// Good to know.
    Note,
}

impl Gravity {
    /// The word for it in output.
    pub fn name(self) -> &'static str {
        match self {
            Gravity::Refused => "refused",
            Gravity::Needed => "needed",
            Gravity::Note => "note",
        }
    }
}

/// Something the reader of an import should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub gravity: Gravity,
    /// The Dag, if it is about one.
    pub dag_id: Option<String>,
    /// The task, if it is about one.
    pub task_id: Option<String>,
    /// The template field, if it is about one.
    pub field: Option<String>,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Finding {
    fn new(gravity: Gravity, message: impl Into<String>) -> Self {
        Finding { gravity, dag_id: None, task_id: None, field: None, message: message.into(), help: None }
    }

    fn of_dag(mut self, dag_id: &str) -> Self {
        self.dag_id = Some(dag_id.to_owned());
        self
    }

    fn of_task(mut self, task_id: &str) -> Self {
        self.task_id = Some(task_id.to_owned());
        self
    }

    fn of_field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What it is about: `dag`, `dag.task` or `dag.task.field`.
    pub fn subject(&self) -> String {
        let parts = [&self.dag_id, &self.task_id, &self.field];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.gravity.name())?;
        let subject = self.subject();
        if !subject.is_empty() {
            write!(f, "{subject}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// Why nothing could be imported.
#[derive(Debug, Clone)]
pub struct ImportError {
    /// One sentence, lower case, no full stop; it names the source.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Problems of the pipeline that came of it, with places in its text.
    pub problems: Vec<Problem>,
}

impl ImportError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ImportError { message: message.into(), help: None, problems: Vec::new() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ImportError {}

/// Makes a pipeline of serialized Dags. `folders` say where included and named files are found; nothing else is read.
///
/// # Errors
/// Dags that cannot be taken for Dags at all: no id, tasks that are no tasks, two Dags of one id. What only a part of a Dag
/// is refused for is a [`Finding`], and an error where that part is rendered.
pub fn import(dags: &[SerializedDag], folders: &Folders) -> Result<Imported, ImportError> {
    let converted = convert::convert(dags, folders)?;
    let name = match dags {
        [one] => one.dag_id()?.to_owned(),
        _ => "dags".to_owned(),
    };
    let root = Utf8PathBuf::from(name);
    let pipeline = read(&converted.document, &root, &converted.files, None)?;
    converted.verify(&pipeline)?;
    let of_files = converted.files.iter().fold(Needs::default(), |all, (_, text)| all.or(Needs::of(text)));
    let mut needs = BTreeMap::new();
    for dag in dags {
        let parts = [&dag.dag, &dag.extra].into_iter().filter_map(|part| serde_json::to_string(part).ok());
        needs.insert(dag.dag_id()?.to_owned(), parts.fold(of_files, |all, text| all.or(Needs::of(&text))));
    }
    Ok(Imported { pipeline, document: converted.document, files: converted.files, findings: converted.findings, needs })
}

/// Reads the pipeline of a text and templates in memory, as if they were a folder at `root`.
fn read(
    document: &str,
    root: &Utf8Path,
    files: &[(Utf8PathBuf, String)],
    profile: Option<Profile>,
) -> Result<Pipeline, ImportError> {
    let source = yaml::source(&root.join("pipeline.yaml"), document.to_owned());
    let files: BTreeMap<Utf8PathBuf, Arc<str>> =
        files.iter().map(|(path, text)| (path.clone(), Arc::from(text.as_str()))).collect();
    pipeline::from_memory(&source, root, profile, files).map_err(|problems| ImportError {
        message: "the pipeline made of these Dags cannot be read".to_owned(),
        help: None,
        problems,
    })
}
