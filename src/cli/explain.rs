//! `partita explain`: why a run is what it is, or why there is none.

use camino::Utf8PathBuf;

use super::play_args::{self, PlayArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::pipeline::Pipeline;
use crate::report::{self, Wanted};
use crate::schedule::Scheduler;

/// Arguments of `partita explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A run id, the partition key of a run, or the key of an event; without it, everything
    #[arg(value_name = "RUN|KEY")]
    what: Option<String>,

    /// Pipelines: folders or files; without one, every pipeline below templates/
    #[arg(long, value_name = "PIPELINE")]
    pipeline: Vec<Utf8PathBuf>,

    #[command(flatten)]
    play: PlayArgs,

    /// Print the trace as JSON
    #[arg(long)]
    json: bool,
}

/// Explains runs and keys.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let pipelines = select::pipelines(&args.pipeline, io)?;
    args.play.check(&pipelines)?;
    let mut told = false;
    let mut known = Vec::new();
    for pipeline in &pipelines {
        for play in play_args::plays(&args.play, pipeline, io)? {
            let played = play.play(pipeline)?;
            let heading = format!("{} / {}", pipeline.name, play.scenario.name);
            told |= explain(args, pipeline, &played.scheduler, &heading, told, io)?;
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
        let document = serde_json::json!({
            "pipeline": pipeline.name,
            "scenario": heading.rsplit(" / ").next(),
            "trace": scheduler.trace(),
            "pending": scheduler.pending_status().map_err(fatal)?,
        });
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

fn fatal(error: crate::schedule::ScheduleError) -> Failure {
    Failure::Fatal(error.to_string())
}
