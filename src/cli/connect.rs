//! The sources that this build has. What a feature that was left out would connect to is refused here, and nowhere else.

use super::Failure;
use super::source_args::SourceArgs;
use crate::airflow::Source;

/// Connects to the metadata database at a URL. A password that the URL does not hold is that of `PGPASSWORD`; variables and
/// connections are decrypted with the keys of `AIRFLOW__CORE__FERNET_KEY`.
///
/// # Errors
/// Why it cannot be read; a key that is none.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub fn database(url: &str) -> Result<Box<dyn Source>, Failure> {
    use crate::airflow::db::{Address, Database, FernetKeys};

    let mut address = Address::parse(url)?;
    if let Address::Postgres(server) = &mut address
        && server.password.is_none()
    {
        server.password = given("PGPASSWORD");
    }
    let database = Database::open(&address)?;
    let keys = FernetKeys::parse(&given("AIRFLOW__CORE__FERNET_KEY").unwrap_or_default())?;
    Ok(Box::new(database.with_keys(keys)))
}

/// No database can be read.
///
/// # Errors
/// Always: which feature is missing.
#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
pub fn database(_: &str) -> Result<Box<dyn Source>, Failure> {
    Err(without("metadata databases", "sqlite` or `postgres"))
}

/// Connects to the API server at a URL, with `AIRFLOW_API_TOKEN`, or `AIRFLOW_API_USERNAME` and `AIRFLOW_API_PASSWORD`;
/// `templates` names a metadata database that tells serialized Dags.
///
/// # Errors
/// Why it cannot be asked.
#[cfg(feature = "api")]
pub fn rest_api(url: &str, args: &SourceArgs, templates: Option<&str>) -> Result<Box<dyn Source>, Failure> {
    use crate::airflow::api::{Client, Credentials, Options, RestApi};

    let credentials = match (given("AIRFLOW_API_TOKEN"), given("AIRFLOW_API_USERNAME"), given("AIRFLOW_API_PASSWORD")) {
        (Some(token), _, _) => Credentials::Token(token),
        (None, Some(username), Some(password)) => Credentials::Login(username, password),
        (None, Some(_), None) => {
            return Err(Failure::Usage("AIRFLOW_API_USERNAME without AIRFLOW_API_PASSWORD".into()));
        }
        (None, None, _) => Credentials::None,
    };
    let mut options = Options { credentials, ca_file: args.ca_file.clone(), ..Options::default() };
    if let Some(seconds) = args.timeout {
        options.timeout = std::time::Duration::from_secs(seconds);
    }
    let api = RestApi::new(Client::connect(url, &options)?)?;
    Ok(match templates {
        Some(url) => Box::new(api.with_templates(database(url)?)),
        None => Box::new(api),
    })
}

/// No API server can be asked.
///
/// # Errors
/// Always: which feature is missing.
#[cfg(not(feature = "api"))]
pub fn rest_api(_: &str, _: &SourceArgs, _: Option<&str>) -> Result<Box<dyn Source>, Failure> {
    Err(without("the REST API", "api"))
}

/// A variable of the environment; an empty one is none.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "api"))]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(not(all(feature = "api", any(feature = "sqlite", feature = "postgres"))))]
fn without(what: &str, feature: &str) -> Failure {
    Failure::Fatal(format!("this partita was built without {what} (feature `{feature}`)"))
}
