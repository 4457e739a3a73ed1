//! `partita context`

use std::sync::Arc;

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};

use super::{Exit, Failure, Io, Outcome};
use crate::context::{self, Masker, Surroundings};
use crate::python::Plain;
use crate::report;
use crate::run::{self, Json, Run, TaskInstance};

/// Arguments of `partita context`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: a run document, a `TIRunContext`, or a REST `dagRun` body
    #[arg(long, value_name = "FILE")]
    run: Utf8PathBuf,

    /// The `upstreamAssetEvents` body of a REST `dagRun`
    #[arg(long, value_name = "FILE")]
    events: Option<Utf8PathBuf>,

    /// The task, where the file does not name it
    #[arg(long, value_name = "TASK_ID", default_value = "task")]
    task: String,

    /// The frozen clock; without it, nothing reads a clock
    #[arg(long, value_name = "INSTANT")]
    now: Option<DateTime<Utc>>,

    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print secrets as they are
    #[arg(long)]
    show_secrets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// A table
    #[default]
    Text,
    /// A list of names
    Json,
}

/// Prints the whole template context of a run.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let run = Arc::new(load(args, io)?);
    let masker = if args.show_secrets { Masker::default() } else { Masker::of_run(&run) };
    let context = context::build(Arc::clone(&run), Arc::new(Surroundings::of_request()))
        .map_err(|e| Failure::Fatal(e.to_string()))?;
    let mut interp = Plain { now: args.now, ..Plain::default() };
    let entries = context::describe(&context, &mut interp);
    match args.format {
        Format::Text => io.out.write_all(report::context_table(&entries, &masker).as_bytes())?,
        Format::Json => writeln!(io.out, "{:#}", report::context_json(&entries, &masker))?,
    }
    Ok(Exit::Success)
}

/// Reads a run in any of the forms Airflow gives it.
fn load(args: &Args, io: &mut Io<'_>) -> Result<Run, Failure> {
    let read = |path: &Utf8PathBuf| -> Result<Json, Failure> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Fatal(format!("cannot read {path}: {error}")))?;
        serde_json::from_str(&text).map_err(|error| Failure::Fatal(format!("{path} is not JSON: {error}")))
    };
    let document = read(&args.run)?;
    let events = args.events.as_ref().map(read).transpose()?;
    let ti = || TaskInstance::new(args.task.as_str());
    let loaded = if document.get("dag_run_id").is_some() {
        run::rest::dag_run(&document, events.as_ref(), &|_, _| None)
            .map(|(dag_run, notes)| (Run::new(dag_run, ti()), notes))
    } else if document.get("ti").is_some() {
        Run::from_json(document).map(|run| (run, Vec::new()))
    } else {
        Run::from_ti_run_context(&document, ti()).map(|run| (run, Vec::new()))
    };
    let (run, notes) = loaded.map_err(|error| Failure::Fatal(format!("{}: {error}", args.run)))?;
    for note in notes {
        writeln!(io.err, "note: {note}")?;
    }
    Ok(run)
}
