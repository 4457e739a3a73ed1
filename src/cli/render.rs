//! `partita render`

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value as Json;

use super::definitions::Definitions;
use super::import::ImportedArgs;
use super::play_args::{self, PlayArgs};
use super::stored_runs::{self, StoredArgs, Wanted};
use super::{Exit, Failure, Io, Outcome, render_jsonl, select};
use crate::context::Masker;
use crate::jinja::Engine;
use crate::pipeline::{self, Pipeline, Renderer, RunOutcome, file_name};
use crate::render::display;
use crate::report::{self, Shown};

/// Arguments of `partita render`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    #[arg(conflicts_with_all = ["serialized", "python"])]
    pipelines: Vec<Utf8PathBuf>,

    /// Answer requests: one JSON object a line in, one answer a line out
    #[arg(long, conflicts_with_all = ["pipelines", "task", "field", "map_index", "format", "out", "scenario", "dag", "partition_key", "emit", "run"])]
    jsonl: bool,

    /// With --jsonl: requests name `dag_id` and `task_id` of this pipeline in place of `template`
    #[arg(long, value_name = "PIPELINE")]
    pipeline: Option<Utf8PathBuf>,

    #[command(flatten)]
    imported: ImportedArgs,

    #[command(flatten)]
    stored: StoredArgs,

    #[command(flatten)]
    play: PlayArgs,

    /// Only these tasks
    #[arg(long, value_name = "TASK_ID")]
    task: Vec<String>,

    /// Only these fields
    #[arg(long, value_name = "FIELD")]
    field: Vec<String>,

    /// Only this index of mapped tasks
    #[arg(long, value_name = "N", requires = "task")]
    map_index: Option<usize>,

    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Write each text to a file below this folder in place of printing it
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    out: Option<Utf8PathBuf>,

    /// Print secrets as they are
    #[arg(long)]
    show_secrets: bool,

    /// Stay, and draw the texts again whenever a file changes; Ctrl-C ends it
    #[cfg(feature = "preview")]
    #[arg(long, conflicts_with_all = ["jsonl", "format", "out", "run_id"])]
    watch: bool,
}

#[cfg(feature = "preview")]
impl Args {
    /// The pipelines that are named.
    pub fn named(&self) -> &[Utf8PathBuf] {
        &self.pipelines
    }

    /// Files that are read besides the pipelines' own.
    pub fn files(&self) -> Vec<Utf8PathBuf> {
        let scenarios = self.play.scenario.iter().map(Utf8PathBuf::from).filter(|path| path.is_file());
        #[cfg(feature = "sqlite")]
        let scenarios = scenarios.chain(self.play.store.clone());
        self.play.run.iter().chain(&self.play.events).cloned().chain(scenarios).collect()
    }
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON object a line
    Jsonl,
}

/// Renders template fields.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    #[cfg(feature = "preview")]
    if args.watch {
        if args.imported.any() || args.stored.source.any() {
            return Err(Failure::Usage(
                "--watch follows the files of pipelines; it goes with none of an Airflow".into(),
            ));
        }
        return super::watch::run(args, io);
    }
    once(args, io)
}

/// Renders and prints once.
pub fn once(args: &Args, io: &mut Io<'_>) -> Outcome {
    if args.jsonl {
        if args.play.any() || args.imported.any() || args.stored.source.any() || args.show_secrets {
            return Err(Failure::Usage(
                "with --jsonl the requests say which run it is: no other option but --pipeline".into(),
            ));
        }
        return render_jsonl::run(args.pipeline.as_deref(), io);
    }
    if let Some(pipeline) = &args.pipeline {
        return Err(Failure::Usage(format!("--pipeline goes with --jsonl; write `partita render {pipeline}`")));
    }
    if args.stored.any()? {
        return of_airflow(args, io);
    }
    let pipelines = select::pipelines_or(&args.imported, &args.pipelines, &args.play, io)?;
    args.play.check(&pipelines)?;
    check_tasks(args, &pipelines)?;
    let engine = Engine::new();
    let shown = Shown { dags: &args.play.dag, tasks: &args.task, fields: &args.field };
    let mut failed = false;
    let mut documents = Vec::new();
    let mut first = true;
    let (mut rendered, mut plays) = (0, 0);
    for pipeline in &pipelines {
        for play in play_args::plays(&args.play, pipeline, io)? {
            plays += 1;
            let played = play.play(pipeline)?;
            let mut renderer = Renderer::new(&engine, pipeline, &play.scenario, played.clock).with_played(&played);
            renderer.map_index = args.map_index;
            let render = |run: &pipeline::PlayedRun| {
                if shown.dag(&run.run.dag_id) { renderer.run(run) } else { RunOutcome::bare(run) }
            };
            let mut outcome =
                pipeline::outcome(pipeline, &play.scenario, &played, render).map_err(play_args::failure)?;
            if let Some(task_id) = &play.task_id {
                outcome.runs.iter_mut().for_each(|run| run.tasks.retain(|task| task.task_id == *task_id));
            }
            check_map_index(args, pipeline, &outcome)?;
            keep_shown(&mut outcome, &shown);
            failed |= outcome.failed();
            rendered += outcome.runs.iter().map(|run| run.tasks.len()).sum::<usize>();
            let masker = if args.show_secrets { Masker::default() } else { renderer.masker() };
            let mask = |text: &str| masker.mask(text).into_owned();
            if let Some(out) = &args.out {
                write_files(out, &outcome, &shown, io)?;
                continue;
            }
            match args.format {
                Format::Text => {
                    if !std::mem::take(&mut first) {
                        writeln!(io.out)?;
                    }
                    io.out.write_all(report::render_text(&outcome, &shown, &mask).as_bytes())?;
                }
                Format::Json => documents.push(report::render_json(&outcome, &shown, &mask)),
                Format::Jsonl => {
                    for line in report::render_jsonl(&outcome, &shown, &mask) {
                        writeln!(io.out, "{line}")?;
                    }
                }
            }
        }
    }
    if args.format == Format::Json && args.out.is_none() {
        writeln!(io.out, "{:#}", Json::from(documents))?;
    }
    if rendered == 0 {
        io.out.flush()?;
        let help =
            if plays == 0 { ": no scenario; name a run by --partition-key, --emit, --run or --from" } else { "" };
        writeln!(io.err, "note: nothing was rendered{help}")?;
    }
    Ok(Exit::findings_if(failed))
}

/// Renders a run that an Airflow really made.
fn of_airflow(args: &Args, io: &mut Io<'_>) -> Outcome {
    let wanted = Wanted { tasks: &args.task, map_index: args.map_index, ..args.stored.wanted(&args.play)? };
    let mut definitions = Definitions::of_one(&args.pipelines, &args.imported, &args.play.dag, io)?;
    let mut source = args.stored.source.open(definitions.given().is_some())?;
    let engine = Engine::new();
    let mut runs = Vec::new();
    let visited = stored_runs::visit(&mut *source, &wanted, &mut definitions, io, &mut |visit| {
        let mut tasks = Vec::new();
        for instance in &visit.instances {
            tasks.extend(
                instance.with_renderer(&engine, |renderer, run| Ok(renderer.task(instance.dag, instance.task, run)))?,
            );
        }
        runs.push(RunOutcome { tasks, ..RunOutcome::bare(visit.run) });
        Ok(())
    })?;
    let (pipeline, scenario) = (wanted.dag_id.to_owned(), source.name());
    let mut outcome = pipeline::Outcome { pipeline, scenario, runs, ..pipeline::Outcome::default() };
    let pipelines = std::slice::from_ref(&*visited.pipeline);
    check_tasks(args, pipelines)?;
    let shown = Shown { dags: &args.play.dag, tasks: &args.task, fields: &args.field };
    let outcome = &mut outcome;
    check_map_index(args, &visited.pipeline, outcome)?;
    keep_shown(outcome, &shown);
    let masker = if args.show_secrets { Masker::default() } else { visited.masker };
    let mask = |text: &str| masker.mask(text).into_owned();
    match (&args.out, args.format) {
        (Some(out), _) => write_files(out, outcome, &shown, io)?,
        (None, Format::Text) => io.out.write_all(report::render_text(outcome, &shown, &mask).as_bytes())?,
        (None, Format::Json) => {
            writeln!(io.out, "{:#}", Json::from(vec![report::render_json(outcome, &shown, &mask)]))?;
        }
        (None, Format::Jsonl) => {
            for line in report::render_jsonl(outcome, &shown, &mask) {
                writeln!(io.out, "{line}")?;
            }
        }
    }
    if outcome.runs.iter().all(|run| run.tasks.is_empty()) {
        io.out.flush()?;
        writeln!(io.err, "note: nothing was rendered")?;
    }
    Ok(Exit::findings_if(outcome.failed()))
}

fn check_tasks(args: &Args, pipelines: &[Pipeline]) -> Result<(), Failure> {
    let tasks = || {
        let dags = pipelines.iter().flat_map(|pipeline| &pipeline.dags);
        dags.filter(|dag| args.play.dag.is_empty() || args.play.dag.contains(&dag.dag_id)).flat_map(|dag| &dag.tasks)
    };
    for name in &args.task {
        if !tasks().any(|task| task.task_id == *name) {
            let known: Vec<&str> = tasks().map(|task| task.task_id.as_str()).collect();
            return Err(select::unknown("task", name, &known));
        }
    }
    for name in &args.field {
        let fields = || {
            let tasks = tasks().filter(|task| args.task.is_empty() || args.task.contains(&task.task_id));
            tasks.flat_map(|task| &task.fields)
        };
        if !fields().any(|field| field.name == *name) {
            let mut known: Vec<&str> = fields().map(|field| field.name.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            return Err(select::unknown("field", name, &known));
        }
    }
    Ok(())
}

/// Takes out what is not asked for: it is neither shown nor counted.
fn keep_shown(outcome: &mut pipeline::Outcome, shown: &Shown<'_>) {
    for run in &mut outcome.runs {
        run.tasks.retain(|task| shown.task(&task.task_id));
        for task in &mut run.tasks {
            task.fields.retain(|field| shown.field(&field.name));
        }
        run.tasks.retain(|task| !task.fields.is_empty());
    }
}

fn check_map_index(args: &Args, pipeline: &Pipeline, outcome: &pipeline::Outcome) -> Result<(), Failure> {
    let Some(index) = args.map_index else { return Ok(()) };
    let has_task = |dag_id: &str| {
        pipeline.dag(dag_id).is_some_and(|dag| dag.tasks.iter().any(|task| args.task.contains(&task.task_id)))
    };
    let runs = outcome.runs.iter().filter(|run| args.play.dag.is_empty() || args.play.dag.contains(&run.run.dag_id));
    for run in runs.filter(|run| has_task(&run.run.dag_id)) {
        if !run.tasks.iter().any(|task| args.task.contains(&task.task_id)) {
            return Err(Failure::Usage(format!(
                "map index {index} is out of range in {} of {}",
                args.task.join(", "),
                run.run.dag_id
            )));
        }
    }
    Ok(())
}

/// Writes each rendered text to a file, exactly: `DIR/pipeline/scenario/dag/key/task.field`.
fn write_files(out: &Utf8Path, outcome: &pipeline::Outcome, shown: &Shown<'_>, io: &mut Io<'_>) -> Result<(), Failure> {
    for (folder, run) in pipeline::run_folders(outcome).into_iter().zip(&outcome.runs) {
        if !shown.dag(&run.run.dag_id) {
            continue;
        }
        for task in run.tasks.iter().filter(|task| shown.task(&task.task_id)) {
            for field in task.fields.iter().filter(|field| field.rendered && field.given && shown.field(&field.name)) {
                let name = format!("{}.{}", file_name(&task.label()), file_name(&field.name));
                let path = out.join(&folder).join(name);
                match &field.value {
                    Ok(value) => {
                        let problem = |error: std::io::Error| Failure::Fatal(format!("cannot write {path}: {error}"));
                        if let Some(parent) = path.parent() {
                            fs::create_dir_all(parent).map_err(problem)?;
                        }
                        fs::write(&path, display(value)).map_err(problem)?;
                        writeln!(io.out, "{path}")?;
                    }
                    Err(error) => {
                        let text = report::field_error(&run.run.dag_id, task, error, &|text| text.to_owned());
                        io.err.write_all(text.as_bytes())?;
                    }
                }
            }
        }
    }
    Ok(())
}
