//! Options that name Dags of Airflow in place of a pipeline.

use camino::Utf8PathBuf;

use super::dags;
use super::output::{failure, findings};
use super::serialized;
use crate::airflow::{Folders, Imported, SerializedDag, import};
use crate::cli::{Failure, Io};
use crate::pipeline::{Pipeline, Profile};

/// Dags of Airflow in place of a pipeline.
#[derive(Debug, Clone, clap::Args)]
pub struct ImportedArgs {
    /// Serialized Dags in place of a pipeline: a file, a folder of .json files, or -
    #[arg(long, value_name = "FILE|DIR|-")]
    pub serialized: Option<Utf8PathBuf>,

    /// The Dag folder: with --python its Dags are taken, else templates of serialized Dags look for files in it
    #[arg(long, value_name = "DIR")]
    pub dags_folder: Option<Utf8PathBuf>,

    /// The interpreter of your Airflow environment: it reads --dags-folder
    #[arg(long, value_name = "PATH", requires = "dags_folder", conflicts_with_all = ["serialized"])]
    pub python: Option<Utf8PathBuf>,

    /// Most seconds that --python may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "python", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub python_timeout: u64,

    /// More folders for their templates, in order
    #[arg(long, value_name = "DIR")]
    pub template_searchpath: Vec<Utf8PathBuf>,
}

impl ImportedArgs {
    /// The pipeline made of the Dags that are named, if any are, read as a profile if one is given. What is to be said about
    /// `dags` (all, if empty) goes to standard error.
    ///
    /// # Errors
    /// What cannot be imported.
    pub fn pipeline(
        &self,
        dags: &[String],
        profile: Option<Profile>,
        io: &mut Io<'_>,
    ) -> Result<Option<Pipeline>, Failure> {
        let Some(imported) = self.imported(io)? else { return Ok(None) };
        let shown = |dag_id: &Option<String>| dags.is_empty() || dag_id.as_ref().is_none_or(|id| dags.contains(id));
        findings(imported.findings.iter().filter(|finding| shown(&finding.dag_id)), io)?;
        match profile.filter(|profile| *profile != imported.pipeline.profile) {
            Some(profile) => imported.read_as(profile).map(Some).map_err(|error| failure(&error)),
            None => Ok(Some(imported.pipeline)),
        }
    }

    /// The Dags that are named, imported. Dag files that an interpreter could not import are printed on standard error.
    ///
    /// # Errors
    /// What cannot be imported.
    pub fn imported(&self, io: &mut Io<'_>) -> Result<Option<Imported>, Failure> {
        let Some((dags, folders)) = self.read(io)? else { return Ok(None) };
        import(&dags, &folders).map(Some).map_err(|error| failure(&error))
    }

    /// The Dags that are named, as they are stored, and where their templates look for files.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read(&self, io: &mut Io<'_>) -> Result<Option<(Vec<SerializedDag>, Folders)>, Failure> {
        let mut folders = self.folders();
        let read = match (&self.serialized, &self.python, &self.dags_folder) {
            (Some(source), ..) => serialized::read(source)?,
            (None, Some(python), Some(dags)) => {
                folders.dags = dags::folder_of(dags);
                dags::ask(dags, python, self.python_timeout, io)?.dags
            }
            _ if !self.any() => return Ok(None),
            _ => {
                let message = "--dags-folder and --template-searchpath are for Dags of Airflow: name them by \
                               --serialized, or the interpreter that reads the folder by --python";
                return Err(Failure::Usage(message.to_owned()));
            }
        };
        Ok(Some((read, folders)))
    }

    /// Where templates look for files.
    pub fn folders(&self) -> Folders {
        Folders { dags: self.dags_folder.clone(), template_searchpath: self.template_searchpath.clone() }
    }

    /// True when they name Dags, and not only folders for templates.
    pub fn names_dags(&self) -> bool {
        self.serialized.is_some() || self.python.is_some()
    }

    /// True when any of these options is given.
    pub fn any(&self) -> bool {
        self.serialized.is_some() || self.dags_folder.is_some() || !self.template_searchpath.is_empty()
    }
}
