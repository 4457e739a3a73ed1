//! `partita verify`

use camino::Utf8PathBuf;

use super::definitions::Definitions;
use super::import::ImportedArgs;
use super::source_args::{self, SourceArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::airflow::Values;
use crate::airflow::sweep::{Summary, sweep};
use crate::context::Masker;
use crate::context::masker::Secrets;
use crate::report;

/// Arguments of `partita verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Render with the templates of this pipeline in place of the serialized Dags
    #[arg(value_name = "PIPELINE", conflicts_with = "serialized")]
    pipelines: Option<Utf8PathBuf>,

    #[command(flatten)]
    imported: ImportedArgs,

    /// Only these Dags
    #[arg(long, value_name = "DAG_ID")]
    dag: Vec<String>,

    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print secrets as they are
    #[arg(long)]
    show_secrets: bool,
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
}

/// Renders every run that has stored rendered fields, and compares.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    if !args.source.any() {
        return Err(Failure::Usage("which Airflow? --db URL names its metadata database, --api URL its API".into()));
    }
    let mut templates = Definitions::new(args.pipelines.as_ref(), &args.imported, &args.dag, io)?;
    let (source, values, summary) = match (&args.source.api, &args.source.db) {
        (Some(url), _) => of_api(args, url, &mut templates)?,
        (None, url) => of_database(args, url.as_deref().unwrap_or_default(), &mut templates)?,
    };
    let masker = if args.show_secrets { Masker::default() } else { masker(&values) };
    let mask = |text: &str| masker.mask(text).into_owned();
    if let [first, rest @ ..] = values.unreadable.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more like it", rest.len()) };
        writeln!(io.err, "note: {first}{more}\n  help: {}", source_args::UNREADABLE)?;
    }
    match args.format {
        Format::Text => io.out.write_all(report::verify_text(&summary, &mask).as_bytes())?,
        Format::Json => writeln!(io.out, "{:#}", report::verify_json(&summary, &source, &mask))?,
    }
    if summary.total == 0 {
        return Err(Failure::Fatal("no task instance has stored rendered fields: there is nothing to compare".into()));
    }
    Ok(Exit::findings_if(!summary.is_clean()))
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn of_database(args: &Args, url: &str, templates: &mut Definitions) -> Result<(String, Values, Summary), Failure> {
    let mut database = source_args::database(url)?;
    let values = source_args::values(&mut database)?;
    let known = database.rendered_dags()?;
    let dags = chosen(args, known)?;
    let summary =
        sweep(&mut database, &dags, &values, &mut |source, dag_id, version| templates.define(source, dag_id, version))?;
    Ok((database.address().to_string(), values, summary))
}

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
fn of_database(_: &Args, _: &str, _: &mut Definitions) -> Result<(String, Values, Summary), Failure> {
    Err(source_args::without_feature("--db", "sqlite` or `postgres"))
}

#[cfg(feature = "api")]
fn of_api(args: &Args, url: &str, templates: &mut Definitions) -> Result<(String, Values, Summary), Failure> {
    let mut api = args.source.connect(url, templates.given().is_some())?;
    let values = api.values()?;
    let known = match templates.given() {
        Some(given) => given.pipeline.dags.iter().map(|dag| dag.dag_id.clone()).collect(),
        None => api.dag_ids()?,
    };
    let dags = chosen(args, known)?;
    let summary =
        sweep(&mut api, &dags, &values, &mut |source, dag_id, version| templates.define(source, dag_id, version))?;
    Ok((api.base().to_owned(), values, summary))
}

#[cfg(not(feature = "api"))]
fn of_api(_: &Args, _: &str, _: &mut Definitions) -> Result<(String, Values, Summary), Failure> {
    Err(source_args::without_feature("--api", "api"))
}

/// The Dags that are asked for.
fn chosen(args: &Args, known: Vec<String>) -> Result<Vec<String>, Failure> {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    for dag_id in &args.dag {
        if !names.contains(&dag_id.as_str()) {
            return Err(select::unknown("Dag with rendered fields", dag_id, &names));
        }
    }
    Ok(if args.dag.is_empty() { known } else { args.dag.clone() })
}

fn masker(values: &Values) -> Masker {
    let mut secrets = Secrets::default();
    values.connections.values().for_each(|connection| secrets.add_connection(connection));
    secrets.add_named(&values.variables);
    Masker::new(secrets)
}
