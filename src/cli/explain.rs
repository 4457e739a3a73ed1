//! `partita explain`: why a run is what it is, or why there is none.

use camino::Utf8PathBuf;

use super::import::ImportedArgs;
use super::play_args::{self, PlayArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::pipeline::{DatasetPlay, Pipeline, PlayedRun, RunOutcome};
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
            if let Some(datasets) = &played.datasets {
                told |= explain_datasets(args, pipeline, datasets, &heading, told, io)?;
                known.extend(report::explainable_datasets(datasets));
            } else if play.runs.is_empty() || !played.scheduler.trace().is_empty() {
                told |= explain(args, pipeline, &played.scheduler, &heading, told, io)?;
            }
            let bare = |run: &PlayedRun| RunOutcome {
                run: run.run.clone(),
                origin: run.origin,
                date_reason: run.date_reason.clone(),
                tasks: Vec::new(),
            };
            for run in play.runs.iter().map(bare).filter(|run| wanted(args, run)) {
                if told && !args.json {
                    writeln!(io.out)?;
                }
                told = true;
                let mut text = String::new();
                report::run_heading(&mut text, &run);
                match args.json {
                    true => writeln!(io.out, "{}", serde_json::Value::Object(report::run_json(&run)))?,
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

fn explain(
    args: &Args,
    pipeline: &Pipeline,
    scheduler: &Scheduler,
    heading: &str,
    told: bool,
    io: &mut Io<'_>,
) -> Result<bool, Failure> {
    let wanted = Wanted { what: args.what.as_deref(), dags: &args.play.dag };
    if args.json {
        if args.what.is_some() && report::explain_text(scheduler, &wanted).map_err(fatal)?.is_none() {
            return Ok(false);
        }
        let mut document = report::explain_json(scheduler, &wanted).map_err(fatal)?;
        document["pipeline"] = pipeline.name.as_str().into();
        document["scenario"] = heading.rsplit(" / ").next().into();
        writeln!(io.out, "{document}")?;
        return Ok(true);
    }
    let Some(text) = report::explain_text(scheduler, &wanted).map_err(fatal)? else { return Ok(false) };
    if told {
        writeln!(io.out)?;
    }
    writeln!(io.out, "{heading}\n\n{}", text.trim_end())?;
    Ok(true)
}

/// The same for a pipeline of Airflow 2.10.
fn explain_datasets(
    args: &Args,
    pipeline: &Pipeline,
    play: &DatasetPlay,
    heading: &str,
    told: bool,
    io: &mut Io<'_>,
) -> Result<bool, Failure> {
    let wanted = Wanted { what: args.what.as_deref(), dags: &args.play.dag };
    if args.json {
        let Some(mut document) = report::explain_datasets_json(play, &wanted) else { return Ok(false) };
        document["pipeline"] = pipeline.name.as_str().into();
        document["scenario"] = heading.rsplit(" / ").next().into();
        writeln!(io.out, "{document}")?;
        return Ok(true);
    }
    let Some(text) = report::explain_datasets_text(play, &wanted) else { return Ok(false) };
    if told {
        writeln!(io.out)?;
    }
    writeln!(io.out, "{heading}\n\n{}", text.trim_end())?;
    Ok(true)
}

fn fatal(error: crate::schedule::ScheduleError) -> Failure {
    Failure::Fatal(error.to_string())
}
