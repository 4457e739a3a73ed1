//! Options that name a running Airflow: its metadata database or its REST API.

use std::time::Duration;

use camino::Utf8PathBuf;

use super::Failure;
use crate::airflow::{SourceError, Values};

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

/// Connects to the metadata database at a URL. A password that the URL does not hold is that of `PGPASSWORD`.
///
/// # Errors
/// Why it cannot be read.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub fn database(url: &str) -> Result<crate::airflow::db::Database, Failure> {
    use crate::airflow::db::{Address, Database};

    let mut address = Address::parse(url)?;
    if let Address::Postgres(server) = &mut address
        && server.password.is_none()
    {
        server.password = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty());
    }
    Ok(Database::open(&address)?)
}

/// Variables and connections of a database, decrypted with the keys of `AIRFLOW__CORE__FERNET_KEY`.
///
/// # Errors
/// A key that is none, a database that cannot be read.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub fn values(database: &mut crate::airflow::db::Database) -> Result<Values, Failure> {
    use crate::airflow::db::FernetKeys;

    let setting = std::env::var("AIRFLOW__CORE__FERNET_KEY").unwrap_or_default();
    let keys = FernetKeys::parse(&setting)?;
    Ok(database.values(&keys)?)
}

impl SourceArgs {
    /// True when one is named.
    pub fn any(&self) -> bool {
        self.db.is_some() || self.api.is_some()
    }

    /// Connects to the API server, with `AIRFLOW_API_TOKEN`, or `AIRFLOW_API_USERNAME` and `AIRFLOW_API_PASSWORD`.
    ///
    /// # Errors
    /// Why it cannot be asked, or that nothing says what the templates are.
    #[cfg(feature = "api")]
    ///
    /// The API does not tell templates: without `templates` of elsewhere, those of a metadata database (--db) are taken.
    pub fn connect(&self, url: &str, templates: bool) -> Result<crate::airflow::api::RestApi, Failure> {
        use crate::airflow::api::{Client, Credentials, Options, RestApi};

        if !templates && self.db.is_none() {
            return Err(Failure::Usage(
                "the REST API does not tell templates\nhelp: name them by --serialized, --pipeline, --db, or --dags-folder \
                 with --python"
                    .into(),
            ));
        }
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let credentials =
            match (given("AIRFLOW_API_TOKEN"), given("AIRFLOW_API_USERNAME"), given("AIRFLOW_API_PASSWORD")) {
                (Some(token), _, _) => Credentials::Token(token),
                (None, Some(username), Some(password)) => Credentials::Login(username, password),
                (None, Some(_), None) => {
                    return Err(Failure::Usage("AIRFLOW_API_USERNAME without AIRFLOW_API_PASSWORD".into()));
                }
                (None, None, _) => Credentials::None,
            };
        let mut options = Options { credentials, ca_file: self.ca_file.clone(), ..Options::default() };
        if let Some(seconds) = self.timeout {
            options.timeout = Duration::from_secs(seconds);
        }
        let api = RestApi::new(Client::connect(url, &options)?)?;
        match &self.db {
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Some(database_url) if !templates => Ok(api.with_templates(Box::new(database(database_url)?))),
            _ => Ok(api),
        }
    }
}

/// The failure of an option whose feature was left out of this build.
#[allow(dead_code, reason = "which of them are used depends on the features")]
pub fn without_feature(option: &str, feature: &str) -> Failure {
    Failure::Fatal(format!("this partita was built without {option} (feature `{feature}`)"))
}
