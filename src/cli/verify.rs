//! `partita verify`

use camino::Utf8PathBuf;

use super::definitions::Definitions;
use super::import::ImportedArgs;
use super::source_args::{self, SourceArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::airflow::Source;
use crate::airflow::sweep::sweep;
use crate::context::Masker;
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
    let mut source = args.source.open(templates.given().is_some())?;
    let values = source.values()?;
    let known = match templates.given() {
        // Each Dag takes requests.
        Some(given) if args.source.api.is_some() => given.pipeline.dags.iter().map(|dag| dag.dag_id.clone()).collect(),
        _ => source.rendered_dags()?,
    };
    let dags = chosen(args, known)?;
    let mut define =
        |source: &mut dyn Source, dag_id: &str, version: Option<&str>| templates.define(source, dag_id, version);
    let summary = sweep(&mut *source, &dags, &values, &mut define)?;
    let masker = if args.show_secrets { Masker::default() } else { Masker::new(values.secrets()) };
    let mask = |text: &str| masker.mask(text).into_owned();
    if let [first, rest @ ..] = values.unreadable.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more like it", rest.len()) };
        writeln!(io.err, "note: {first}{more}\n  help: {}", source_args::UNREADABLE)?;
    }
    match args.format {
        Format::Text => io.out.write_all(report::verify_text(&summary, &mask).as_bytes())?,
        Format::Json => writeln!(io.out, "{:#}", report::verify_json(&summary, &source.name(), &mask))?,
    }
    if summary.total == 0 {
        return Err(Failure::Fatal("no task instance has stored rendered fields: there is nothing to compare".into()));
    }
    Ok(Exit::findings_if(!summary.is_clean()))
}

/// The Dags that are asked for.
fn chosen(args: &Args, known: Vec<String>) -> Result<Vec<String>, Failure> {
    if let Some(unknown) = args.dag.iter().find(|dag_id| !known.contains(dag_id)) {
        return Err(select::unknown("Dag with rendered fields", unknown, &known));
    }
    Ok(if args.dag.is_empty() { known } else { args.dag.clone() })
}
