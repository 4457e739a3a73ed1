//! Where the templates of an Airflow's runs come from: its own serialized Dags, or a pipeline that is named.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::import::{ImportedArgs, output};
use super::{Failure, Io, select};
use crate::airflow::sweep::Definition;
use crate::airflow::{Finding, Folders, Imported, SerializedDag, SerializedRow, Source, SourceError, import};
use crate::pipeline;
use crate::report;

/// What templates of a pipeline may read: their files are not looked into.
const EVERYTHING: &str = "xcom prev_ inlet_events";

/// Dags by version, made when they are first asked for.
#[derive(Debug, Default)]
pub struct Definitions {
    folders: Folders,
    given: Option<Definition>,
    made: BTreeMap<(String, Option<String>), Result<Definition, SourceError>>,
    /// What is to be said about the Dags that were made.
    pub findings: Vec<Finding>,
}

impl Definitions {
    /// Templates of a pipeline or of serialized Dags if one of them is named; else those of the source itself, with files
    /// from the folders.
    ///
    /// # Errors
    /// A pipeline or Dags that cannot be read.
    pub fn new(
        pipeline: Option<&Utf8PathBuf>,
        imported: &ImportedArgs,
        dags: &[String],
        io: &mut Io<'_>,
    ) -> Result<Self, Failure> {
        let mut definitions = Definitions { folders: imported.folders(), ..Definitions::default() };
        let given = match pipeline {
            Some(path) => {
                let loaded =
                    pipeline::load(path).map_err(|problems| Failure::Report(report::problems(&problems, true)))?;
                select::warn(&loaded.warnings, io)?;
                Some(Definition { pipeline: Arc::new(loaded), text: EVERYTHING.into() })
            }
            None if !imported.names_dags() => None,
            None => match imported.imported(io)? {
                Some(made) => {
                    let shown = |finding: &&Finding| {
                        dags.is_empty() || finding.dag_id.as_ref().is_none_or(|dag_id| dags.contains(dag_id))
                    };
                    output::findings(made.findings.iter().filter(shown), io)?;
                    Some(definition(made))
                }
                None => None,
            },
        };
        definitions.given = given;
        Ok(definitions)
    }

    /// The same for a command that takes several pipelines, and here one.
    ///
    /// # Errors
    /// As [`Definitions::new`], and more than one pipeline.
    pub fn of_one(
        pipelines: &[Utf8PathBuf],
        imported: &ImportedArgs,
        dags: &[String],
        io: &mut Io<'_>,
    ) -> Result<Self, Failure> {
        match pipelines {
            [] => Self::new(None, imported, dags, io),
            [one] => Self::new(Some(one), imported, dags, io),
            _ => Err(Failure::Usage("templates of one pipeline are taken with --db and --api".into())),
        }
    }

    /// The pipeline that was named.
    pub fn given(&self) -> Option<&Definition> {
        self.given.as_ref()
    }

    /// The Dag of a version, or the latest.
    ///
    /// # Errors
    /// A source that has it not, or a Dag that cannot be imported.
    pub fn define(
        &mut self,
        source: &mut dyn Source,
        dag_id: &str,
        version: Option<&str>,
    ) -> Result<Definition, SourceError> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let key = (dag_id.to_owned(), version.map(str::to_owned));
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let made = self.make(source, dag_id, version);
        self.made.insert(key, made.clone());
        made
    }

    fn make(
        &mut self,
        source: &mut dyn Source,
        dag_id: &str,
        version: Option<&str>,
    ) -> Result<Definition, SourceError> {
        let row = source.serialized(dag_id, version)?.ok_or_else(|| {
            SourceError::new(match version {
                Some(_) => format!("the version of the Dag {dag_id} that it ran is gone"),
                None => format!("there is no serialized Dag {dag_id}"),
            })
        })?;
        let imported = imported(vec![row], &self.folders)?;
        for finding in &imported.findings {
            if !self.findings.contains(finding) {
                self.findings.push(finding.clone());
            }
        }
        Ok(definition(imported))
    }
}

fn definition(imported: Imported) -> Definition {
    let mut text = imported.document;
    imported.files.iter().for_each(|(_, file)| text.push_str(file));
    Definition { pipeline: Arc::new(imported.pipeline), text: text.into() }
}

/// The latest version of each of these Dags, or of all, as a pipeline.
///
/// # Errors
/// A Dag that the source has not, a source without Dags, Dags that cannot be imported.
pub fn latest(source: &mut dyn Source, dags: &[String], folders: &Folders) -> Result<Imported, Failure> {
    let rows = source.latest_dags(dags)?;
    if let Some(missing) = dags.iter().find(|dag_id| !rows.iter().any(|row| row.dag_id == **dag_id)) {
        return Err(select::unknown("Dag", missing, &source.dag_ids()?));
    }
    if rows.is_empty() {
        return Err(Failure::Fatal(format!("{} holds no serialized Dag", source.name())));
    }
    Ok(imported(rows, folders)?)
}

/// Rows of serialized Dags as a pipeline.
fn imported(rows: Vec<SerializedRow>, folders: &Folders) -> Result<Imported, SourceError> {
    let explain =
        |error: crate::airflow::ImportError| SourceError { message: error.to_string(), help: error.help.clone() };
    let mut dags = Vec::with_capacity(rows.len());
    for row in rows {
        let origin = format!("{} (version {})", row.dag_id, row.number);
        let mut dag = SerializedDag::from_json(row.data, &origin).map_err(explain)?;
        dag.is_paused = Some(row.is_paused);
        dags.push(dag);
    }
    import(&dags, folders).map_err(explain)
}
