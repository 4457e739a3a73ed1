//! Options that name Dags of Airflow in place of a pipeline.

use camino::Utf8PathBuf;

use super::output::{failure, findings};
use super::serialized;
use crate::airflow::{Folders, Imported, import};
use crate::cli::{Failure, Io};
use crate::pipeline::Pipeline;

/// Dags of Airflow in place of a pipeline.
#[derive(Debug, Clone, clap::Args)]
pub struct ImportedArgs {
    /// Serialized Dags in place of a pipeline: a file, a folder of .json files, or -
    #[arg(long, value_name = "FILE|DIR|-")]
    pub serialized: Option<Utf8PathBuf>,

    /// The Dag folder: where templates of serialized Dags look for files beside their Dag's file
    #[arg(long, value_name = "DIR")]
    pub dags_folder: Option<Utf8PathBuf>,

    /// More folders for their templates, in order
    #[arg(long, value_name = "DIR")]
    pub template_searchpath: Vec<Utf8PathBuf>,
}

impl ImportedArgs {
    /// The pipeline made of the Dags that are named, if any are. What is to be said about `dags` (all, if empty) goes to
    /// standard error.
    ///
    /// # Errors
    /// What cannot be imported.
    pub fn pipeline(&self, dags: &[String], io: &mut Io<'_>) -> Result<Option<Pipeline>, Failure> {
        let Some(imported) = self.imported()? else { return Ok(None) };
        let shown = |dag_id: &Option<String>| dags.is_empty() || dag_id.as_ref().is_none_or(|id| dags.contains(id));
        findings(imported.findings.iter().filter(|finding| shown(&finding.dag_id)), io)?;
        Ok(Some(imported.pipeline))
    }

    /// The Dags that are named, imported.
    ///
    /// # Errors
    /// What cannot be imported.
    pub fn imported(&self) -> Result<Option<Imported>, Failure> {
        let Some(source) = &self.serialized else {
            if self.dags_folder.is_some() || !self.template_searchpath.is_empty() {
                let message =
                    "--dags-folder and --template-searchpath are for Dags of Airflow: name them by --serialized";
                return Err(Failure::Usage(message.to_owned()));
            }
            return Ok(None);
        };
        let read = serialized::read(source)?;
        let folders = Folders { dags: self.dags_folder.clone(), template_searchpath: self.template_searchpath.clone() };
        import(&read, &folders).map(Some).map_err(|error| failure(&error))
    }

    /// True when they name Dags, and not only folders for templates.
    pub fn names_dags(&self) -> bool {
        self.serialized.is_some()
    }

    /// True when any of these options is given.
    pub fn any(&self) -> bool {
        self.serialized.is_some() || self.dags_folder.is_some() || !self.template_searchpath.is_empty()
    }
}
