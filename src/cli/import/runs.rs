//! `partita import db` and `partita import api`: Dags with the runs that an Airflow made.

use camino::Utf8PathBuf;

use super::ImportedArgs;
use super::output::{self, OutputArgs, failure};
use crate::airflow::{Folders, Imported, RunFilter, Source, export, import};
use crate::cli::source_args::SourceArgs;
use crate::cli::{Io, Outcome, connect, definitions, select};

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
pub fn db(args: &DbArgs, io: &mut Io<'_>) -> Outcome {
    let mut database = connect::database(&args.url)?;
    let folders = Folders { dags: args.dags_folder.clone(), template_searchpath: args.template_searchpath.clone() };
    let imported = definitions::latest(&mut *database, &args.what.dag, &folders)?;
    finish(&mut *database, imported, &args.what, io)
}

/// Imports through the REST API.
pub fn api(args: &ApiArgs, io: &mut Io<'_>) -> Outcome {
    let source = SourceArgs {
        db: args.db.clone(),
        api: Some(args.url.clone()),
        ca_file: args.ca_file.clone(),
        timeout: args.timeout,
    };
    let wanted = &args.what.dag;
    let mut api = source.open(args.imported.names_dags())?;
    let named = if args.imported.names_dags() { args.imported.read(io)? } else { None };
    let imported = match named {
        Some((mut dags, folders)) => {
            let ids: Vec<&str> = dags.iter().filter_map(|dag| dag.dag_id().ok()).collect();
            if let Some(missing) = wanted.iter().find(|dag_id| !ids.contains(&dag_id.as_str())) {
                return Err(select::unknown("Dag", missing, &ids));
            }
            dags.retain(|dag| wanted.is_empty() || dag.dag_id().is_ok_and(|id| wanted.iter().any(|name| name == id)));
            import(&dags, &folders).map_err(|error| failure(&error))?
        }
        None => definitions::latest(&mut *api, wanted, &args.imported.folders())?,
    };
    finish(&mut *api, imported, &args.what, io)
}

/// Adds values and the newest runs, and prints or writes the pipeline.
fn finish(source: &mut dyn Source, imported: Imported, args: &RunArgs, io: &mut Io<'_>) -> Outcome {
    let values = source.values()?;
    let known = if args.runs > 0 { source.dag_ids()? } else { Vec::new() };
    let mut runs = Vec::new();
    for (dag_id, needs) in imported.needs.iter().filter(|(dag_id, _)| known.contains(dag_id)) {
        for run_id in source.run_ids(dag_id, args.runs)?.into_iter().rev() {
            let filter = RunFilter { run_id: Some(run_id), ..RunFilter::default() };
            runs.extend(source.runs(dag_id, &filter, *needs, 0)?.0);
        }
    }
    let mut imported = export::with_values(imported, &values, args.with_secrets).map_err(|error| failure(&error))?;
    export::with_runs(&mut imported, runs, args.with_secrets);
    output::finish(&imported, &args.output, io)
}
