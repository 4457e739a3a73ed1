//! `partita resolve`

use std::io;

use camino::Utf8PathBuf;
use serde_json::{Map, Value as Json};

use super::import::ImportedArgs;
use super::play_args::{self, PlayArgs};
use super::render::Format;
use super::{Exit, Failure, Io, Outcome, connect, definitions, jsonl, select};
use crate::airflow;
use crate::context::Masker;
use crate::context::masker::is_sensitive;
use crate::jinja::Engine;
use crate::pipeline::{self, Renderer, RunOutcome};
use crate::python::{PyErr, PyResult};
use crate::report::{self, Shown};
use crate::schedule::{ScheduleError, api, datasets, document};

/// Arguments of `partita resolve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    #[arg(conflicts_with_all = ["serialized", "python"])]
    pipelines: Vec<Utf8PathBuf>,

    /// Answer scenario documents: one JSON object a line in, one answer a line out
    #[arg(long, exclusive = true)]
    jsonl: bool,

    /// What waits in a metadata database: the URL of `sql_alchemy_conn`, or the path of a SQLite file; only read
    #[arg(long, value_name = "URL")]
    db: Option<String>,

    #[command(flatten)]
    imported: ImportedArgs,

    #[command(flatten)]
    play: PlayArgs,

    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print secrets as they are
    #[arg(long)]
    show_secrets: bool,
}

/// The answer to a scenario document: of Airflow 2.10 or about the endpoints of 3.3 (one entry for each step), or any other.
/// Dags that cannot be defined are an error beside an empty list of steps.
fn answer(document: &Json) -> PyResult<Map<String, Json>> {
    let refused = |error| match error {
        ScheduleError::Python(error) => error,
        other => PyErr::unsupported(other.to_string()),
    };
    if document.get("profile").and_then(Json::as_str) == Some("airflow-2.10") {
        let answer = datasets::document::resolve(document)?;
        let mut fields = jsonl::ok(answer.steps.into());
        fields.extend(answer.setup_error.map(|error| ("error".to_owned(), jsonl::error_json(&error))));
        return Ok(fields);
    }
    if document.get("setup").is_some() {
        return api::document::resolve(document, &is_sensitive).map(|steps| jsonl::ok(steps.into())).map_err(refused);
    }
    document::resolve(document).map(jsonl::ok).map_err(refused)
}

/// Shows the runs that events make, what is still pending and why, and the audit log.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    if args.jsonl {
        return jsonl::serve(io::stdin().lock(), io.out, answer);
    }
    if let Some(url) = &args.db {
        return of_database(args, url, io);
    }
    let pipelines = select::pipelines_or(&args.imported, &args.pipelines, &args.play, io)?;
    args.play.check(&pipelines)?;
    let shown = Shown { dags: &args.play.dag, tasks: &[], fields: &[] };
    let engine = Engine::new();
    let mut documents = Vec::new();
    let mut first = true;
    for pipeline in &pipelines {
        for play in play_args::plays(&args.play, pipeline, io)? {
            let played = play.play(pipeline)?;
            let outcome =
                pipeline::outcome(pipeline, &play.scenario, &played, RunOutcome::bare).map_err(play_args::failure)?;
            let masker = if args.show_secrets {
                Masker::default()
            } else {
                Renderer::new(&engine, pipeline, &play.scenario, played.clock).with_played(&played).masker()
            };
            let mask = |text: &str| masker.mask(text).into_owned();
            match args.format {
                Format::Text => {
                    if !std::mem::take(&mut first) {
                        writeln!(io.out)?;
                    }
                    io.out.write_all(report::resolve_text(&outcome, &shown, &mask).as_bytes())?;
                }
                Format::Json => documents.push(report::resolve_json(&outcome, &shown, &mask)),
                Format::Jsonl => writeln!(io.out, "{}", report::resolve_json(&outcome, &shown, &mask))?,
            }
        }
    }
    if args.format == Format::Json {
        writeln!(io.out, "{:#}", Json::from(documents))?;
    }
    Ok(Exit::Success)
}

/// Shows what waits for more events in a metadata database.
fn of_database(args: &Args, url: &str, io: &mut Io<'_>) -> Outcome {
    if args.play.says_what_happens() || args.play.partition_key.is_some() {
        return Err(Failure::Usage("--db shows what waits in an Airflow: only --dag chooses among it".into()));
    }
    let mut database = connect::database(url)?;
    let imported = match args.imported.names_dags() {
        true => args.imported.pipeline(&args.play.dag, args.play.profile, io)?,
        false => None,
    };
    let pipeline = match (args.pipelines.as_slice(), imported) {
        (_, Some(pipeline)) => pipeline,
        ([], None) => definitions::latest(&mut *database, &args.play.dag, &args.imported.folders())?.pipeline,
        ([one], None) => pipeline::load(one).map_err(|problems| Failure::Report(report::problems(&problems, true)))?,
        _ => return Err(Failure::Usage("the Dags of one pipeline are taken with --db".into())),
    };
    args.play.check(std::slice::from_ref(&pipeline))?;
    let queue = database.queue()?.unwrap_or_default();
    let mut scenario = pipeline::Scenario::of_steps("pending", Vec::new());
    scenario.now = queue.newest();
    let scheduler =
        airflow::scheduler(&queue, &pipeline, scenario.clock()).map_err(|error| Failure::Fatal(error.to_string()))?;
    let played = pipeline::stored(&pipeline, &scenario, scheduler).map_err(play_args::failure)?;
    let mut outcome = pipeline::outcome(&pipeline, &scenario, &played, RunOutcome::bare).map_err(play_args::failure)?;
    outcome.pipeline = database.name();
    let strangers: Vec<String> = queue.dags().into_iter().filter(|dag_id| pipeline.dag(dag_id).is_none()).collect();
    if !strangers.is_empty() && args.play.dag.is_empty() {
        writeln!(io.err, "note: events wait for Dags that are stale or gone: {}", strangers.join(", "))?;
    }
    let shown = Shown { dags: &args.play.dag, tasks: &[], fields: &[] };
    let mask = |text: &str| text.to_owned();
    match args.format {
        Format::Text => io.out.write_all(report::waiting_text(&outcome, &shown).as_bytes())?,
        Format::Json => {
            writeln!(io.out, "{:#}", Json::from(vec![report::resolve_json(&outcome, &shown, &mask)]))?;
        }
        Format::Jsonl => writeln!(io.out, "{}", report::resolve_json(&outcome, &shown, &mask))?,
    }
    Ok(Exit::Success)
}
