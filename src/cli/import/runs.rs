//! `partita import db` and `partita import api`: Dags with the runs that an Airflow made.

use camino::Utf8PathBuf;

use super::ImportedArgs;
use super::output::{self, OutputArgs, failure};
use crate::airflow::export;
use crate::airflow::{Imported, StoredRun, Values};
use crate::cli::source_args::SourceArgs;
use crate::cli::{Failure, Io, Outcome};

/// What is taken besides Dags.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// Only these Dags
    #[arg(long, value_name = "DAG_ID")]
    pub dag: Vec<String>,

    /// How many of each Dag's newest runs become scenarios
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub runs: usize,

    /// Write passwords and other secrets as they are, in place of ***
    #[arg(long)]
    pub with_secrets: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `partita import db`.
#[derive(Debug, clap::Args)]
pub struct DbArgs {
    /// The URL of `sql_alchemy_conn`, or the path of a SQLite file; only read
    #[arg(value_name = "URL")]
    url: String,

    /// The Dag folder: where templates look for files beside their Dag's file
    #[arg(long, value_name = "DIR")]
    dags_folder: Option<Utf8PathBuf>,

    /// More folders for templates, in order
    #[arg(long, value_name = "DIR")]
    template_searchpath: Vec<Utf8PathBuf>,

    #[command(flatten)]
    what: RunArgs,
}

/// Arguments of `partita import api`.
#[derive(Debug, clap::Args)]
pub struct ApiArgs {
    /// The API server's URL
    #[arg(value_name = "URL")]
    url: String,

    #[command(flatten)]
    imported: ImportedArgs,

    /// Take the Dags from a metadata database
    #[arg(long, value_name = "URL", conflicts_with = "serialized")]
    db: Option<String>,

    /// Certificates to trust in place of the system's, in PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<Utf8PathBuf>,

    /// How long one request may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,

    #[command(flatten)]
    what: RunArgs,
}

/// Imports a metadata database.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub fn db(args: &DbArgs, io: &mut Io<'_>) -> Outcome {
    use crate::airflow::db::RunFilter;
    use crate::airflow::{Folders, Needs};
    use crate::cli::{definitions, select, source_args};

    let mut database = source_args::database(&args.url)?;
    let rows = database.latest_dags(&args.what.dag)?;
    if let Some(missing) = args.what.dag.iter().find(|dag_id| !rows.iter().any(|row| row.dag_id == **dag_id)) {
        let known = database.dag_ids()?;
        return Err(select::unknown("Dag", missing, &known.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    if rows.is_empty() {
        return Err(Failure::Fatal(format!("{} holds no serialized Dag", database.address())));
    }
    let needs: Vec<(String, Needs)> =
        rows.iter().map(|row| (row.dag_id.clone(), Needs::of(&row.data.to_string()))).collect();
    let folders = Folders { dags: args.dags_folder.clone(), template_searchpath: args.template_searchpath.clone() };
    let imported = definitions::imported(rows, &folders)?;
    let values = source_args::values(&mut database)?;
    let mut runs = Vec::new();
    for (dag_id, needs) in needs.iter().filter(|_| args.what.runs > 0) {
        let newest: Vec<String> = database.run_ids(dag_id)?.into_iter().take(args.what.runs).collect();
        for run_id in newest.iter().rev() {
            let filter = RunFilter { run_id: Some(run_id.clone()), ..RunFilter::default() };
            runs.extend(database.runs(dag_id, &filter, *needs, 0)?.0);
        }
    }
    finish(imported, &values, &runs, &args.what, io)
}

/// Imports a metadata database.
#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
pub fn db(_: &DbArgs, _: &mut Io<'_>) -> Outcome {
    Err(crate::cli::source_args::without_feature("`import db`", "sqlite` or `postgres"))
}

/// Imports through the REST API.
#[cfg(feature = "api")]
pub fn api(args: &ApiArgs, io: &mut Io<'_>) -> Outcome {
    use crate::airflow::Needs;

    let source = SourceArgs {
        db: args.db.clone(),
        api: Some(args.url.clone()),
        ca_file: args.ca_file.clone(),
        timeout: args.timeout,
    };
    let mut api = source.connect(&args.url, args.imported.names_dags())?;
    let named = if args.imported.names_dags() { args.imported.imported(io)? } else { None };
    let imported = match named {
        Some(imported) => imported,
        None => of_database(args)?,
    };
    let needs = Needs::of(&imported.document);
    let values = api.values()?;
    let known = api.dag_ids()?;
    let mut runs = Vec::new();
    for dag in &imported.pipeline.dags {
        let wanted = args.what.dag.is_empty() || args.what.dag.contains(&dag.dag_id);
        if !wanted || !known.contains(&dag.dag_id) || args.what.runs == 0 {
            continue;
        }
        let newest: Vec<String> = api.run_ids(&dag.dag_id)?.into_iter().take(args.what.runs).collect();
        for run_id in newest.iter().rev() {
            runs.extend(api.run(&dag.dag_id, run_id, needs)?);
        }
    }
    finish(imported, &values, &runs, &args.what, io)
}

#[cfg(all(feature = "api", any(feature = "sqlite", feature = "postgres")))]
fn of_database(args: &ApiArgs) -> Result<Imported, Failure> {
    use crate::airflow::Folders;
    use crate::cli::{definitions, source_args};

    let mut database = source_args::database(args.db.as_deref().unwrap_or_default())?;
    let folders = Folders {
        dags: args.imported.dags_folder.clone(),
        template_searchpath: args.imported.template_searchpath.clone(),
    };
    Ok(definitions::imported(database.latest_dags(&args.what.dag)?, &folders)?)
}

#[cfg(all(feature = "api", not(any(feature = "sqlite", feature = "postgres"))))]
fn of_database(_: &ApiArgs) -> Result<Imported, Failure> {
    Err(crate::cli::source_args::without_feature("--db", "sqlite` or `postgres"))
}

/// Imports through the REST API.
#[cfg(not(feature = "api"))]
pub fn api(_: &ApiArgs, _: &mut Io<'_>) -> Outcome {
    Err(crate::cli::source_args::without_feature("`import api`", "api"))
}

fn finish(imported: Imported, values: &Values, runs: &[StoredRun], args: &RunArgs, io: &mut Io<'_>) -> Outcome {
    let mut imported = export::with_values(imported, values, args.with_secrets).map_err(|error| failure(&error))?;
    imported.files.extend(export::scenarios(runs));
    output::finish(&imported, &args.output, io)
}
