//! Options that name a running Airflow: its metadata database or its REST API.

use camino::Utf8PathBuf;

use super::{Failure, connect};
use crate::airflow::{Source, SourceError};

/// A running Airflow.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SourceArgs {
    /// A metadata database: the URL of `sql_alchemy_conn`, or the path of a SQLite file; only read
    #[arg(long, value_name = "URL")]
    pub db: Option<String>,

    /// An API server: the URL of its REST API
    #[arg(long, value_name = "URL")]
    pub api: Option<String>,

    /// With --api: certificates to trust in place of the system's, in PEM
    #[arg(long, value_name = "FILE", requires = "api")]
    pub ca_file: Option<Utf8PathBuf>,

    /// With --api: how long one request may take
    #[arg(long, value_name = "SECONDS", requires = "api", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: Option<u64>,
}

/// What helps when values cannot be read.
pub const UNREADABLE: &str =
    "set AIRFLOW__CORE__FERNET_KEY as your Airflow has it; a value that the REST API masks is read by --db";

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Failure::Fatal(error.to_string())
    }
}

impl SourceArgs {
    /// True when one is named.
    pub fn any(&self) -> bool {
        self.db.is_some() || self.api.is_some()
    }

    /// Connects to the one that is named. The API does not tell templates: without `templates` of elsewhere, those of a
    /// metadata database (--db) are taken.
    ///
    /// # Errors
    /// Why it cannot be asked, or that nothing says what the templates are.
    pub fn open(&self, templates: bool) -> Result<Box<dyn Source>, Failure> {
        match (&self.api, &self.db) {
            (Some(_), None) if !templates => Err(Failure::Usage(
                "the REST API does not tell templates\nhelp: name them by --serialized, --pipeline, --db, or --dags-folder \
                 with --python"
                    .into(),
            )),
            (Some(url), db) => connect::rest_api(url, self, db.as_deref().filter(|_| !templates)),
            (None, Some(url)) => connect::database(url),
            (None, None) => {
                Err(Failure::Usage("which Airflow? --db URL names its metadata database, --api URL its API".into()))
            }
        }
    }
}
