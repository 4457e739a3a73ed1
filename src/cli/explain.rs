//! `partita explain`: why a run is what it is, or why there is none.

use camino::Utf8PathBuf;
use serde_json::Value as Json;

use super::import::ImportedArgs;
use super::play_args::{self, PlayArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::pipeline::{DatasetPlay, RunOutcome};
use crate::report::{self, Wanted};
use crate::schedule::Scheduler;

/// Arguments of `partita explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A run id, the partition key of a run, or the key of an event; without it, everything
    #[arg(value_name = "RUN|KEY")]
    what: Option<String>,

    /// Pipelines: folders or files; without one, every pipeline below templates/
    #[arg(long, value_name = "PIPELINE", conflicts_with_all = ["serialized", "python"])]
    pipeline: Vec<Utf8PathBuf>,

    #[command(flatten)]
    imported: ImportedArgs,

    #[command(flatten)]
    play: PlayArgs,

    /// Print the trace as JSON
    #[arg(long)]
    json: bool,
}

/// Explains runs and keys.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let pipelines = select::pipelines_or(&args.imported, &args.pipeline, &args.play, io)?;
    args.play.check(&pipelines)?;
    let mut told = false;
    let mut known = Vec::new();
    for pipeline in &pipelines {
        for play in play_args::plays(&args.play, pipeline, io)? {
            let played = play.play(pipeline)?;
            let heading = format!("{} / {}", pipeline.name, play.scenario.name);
            // A run that is only asked for or given has no trace.
            let explanation = if let Some(datasets) = &played.datasets {
                known.extend(report::explainable_datasets(datasets));
                of_datasets(args, datasets)
            } else if play.runs.is_empty() || !played.scheduler.trace().is_empty() {
                of_scheduler(args, &played.scheduler)?
            } else {
                None
            };
            match explanation {
                Some(Explanation::Text(text)) => {
                    if std::mem::replace(&mut told, true) {
                        writeln!(io.out)?;
                    }
                    writeln!(io.out, "{heading}\n\n{}", text.trim_end())?;
                }
                Some(Explanation::Json(mut document)) => {
                    told = true;
                    document["pipeline"] = pipeline.name.as_str().into();
                    document["scenario"] = play.scenario.name.as_str().into();
                    writeln!(io.out, "{document}")?;
                }
                None => {}
            }
            for run in play.runs.iter().map(RunOutcome::bare).filter(|run| wanted(args, run)) {
                if told && !args.json {
                    writeln!(io.out)?;
                }
                told = true;
                let mut text = String::new();
                report::run_heading(&mut text, &run);
                match args.json {
                    true => writeln!(io.out, "{}", Json::Object(report::run_json(&run)))?,
                    false => writeln!(io.out, "{heading}\n\n{}", text.trim_end())?,
                }
            }
            known.extend(report::explainable(&played.scheduler).map_err(fatal)?);
        }
    }
    if told {
        return Ok(Exit::Success);
    }
    match &args.what {
        Some(what) => {
            known.sort();
            known.dedup();
            Err(select::unknown("run or key", what, &known.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        None => {
            writeln!(io.out, "no event, no run")?;
            Ok(Exit::Success)
        }
    }
}

/// A run that nothing made: asked for by its key or given as data.
fn wanted(args: &Args, run: &RunOutcome) -> bool {
    let dag = args.play.dag.is_empty() || args.play.dag.contains(&run.run.dag_id);
    dag && args.what.as_deref().is_none_or(|what| what == run.run.run_id || what == run.label())
}

/// Why runs are what they are, in the form that is asked for.
enum Explanation {
    Text(String),
    Json(Json),
}

/// `None` when nothing is what is asked for.
fn of_scheduler(args: &Args, scheduler: &Scheduler) -> Result<Option<Explanation>, Failure> {
    let wanted = Wanted { what: args.what.as_deref(), dags: &args.play.dag };
    if args.json && wanted.what.is_none() {
        return report::explain_json(scheduler, &wanted).map(|json| Some(Explanation::Json(json))).map_err(fatal);
    }
    match report::explain_text(scheduler, &wanted).map_err(fatal)? {
        Some(_) if args.json => {
            report::explain_json(scheduler, &wanted).map(|json| Some(Explanation::Json(json))).map_err(fatal)
        }
        text => Ok(text.map(Explanation::Text)),
    }
}

/// The same for a pipeline of Airflow 2.10.
fn of_datasets(args: &Args, play: &DatasetPlay) -> Option<Explanation> {
    let wanted = Wanted { what: args.what.as_deref(), dags: &args.play.dag };
    match args.json {
        true => report::explain_datasets_json(play, &wanted).map(Explanation::Json),
        false => report::explain_datasets_text(play, &wanted).map(Explanation::Text),
    }
}

fn fatal(error: crate::schedule::ScheduleError) -> Failure {
    Failure::Fatal(error.to_string())
}
