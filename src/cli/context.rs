//! `partita context`

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};
use serde_json::{Value as Json, json};

use super::definitions::Definitions;
use super::import::ImportedArgs;
use super::play_args::{self, PlayArgs};
use super::stored_runs::{self, StoredArgs, Wanted};
use super::{Exit, Failure, Io, Outcome, select};
use crate::context::{self, AnyContext, Entry, Masker, Surroundings};
use crate::jinja::{Engine, Names};
use crate::pipeline::{Pipeline, PlayedRun, Profile, Renderer, Task};
use crate::python::Plain;
use crate::report;
use crate::run::{self, DagRun, Run, TaskInstance};

/// Arguments of `partita context`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, the run of --run, or every pipeline below templates/
    #[arg(conflicts_with_all = ["serialized", "python"])]
    pipelines: Vec<Utf8PathBuf>,

    #[command(flatten)]
    imported: ImportedArgs,

    #[command(flatten)]
    stored: StoredArgs,

    #[command(flatten)]
    play: PlayArgs,

    /// Only this task
    #[arg(long, value_name = "TASK_ID")]
    task: Option<String>,

    /// Only these names of the context
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,

    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print secrets as they are
    #[arg(long)]
    show_secrets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// A table for each task
    #[default]
    Text,
    /// One JSON document
    Json,
}

/// Prints the whole template context of each run and task asked for.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let mut answer = Answer::default();
    let unnamed = args.pipelines.is_empty() && !args.imported.any();
    match &args.play.run {
        _ if args.stored.any()? => of_airflow(args, &mut answer, io)?,
        Some(_) if unnamed && args.play.profile == Some(Profile::Airflow210) => {
            return Err(Failure::Usage("a run of Airflow 2.10 needs its pipeline: name it before --run".to_owned()));
        }
        Some(file) if unnamed => alone(args, file, &mut answer, io)?,
        _ => played(args, &mut answer, io)?,
    }
    for (name, advice) in &answer.unknown {
        writeln!(io.err, "note: `{name}` is no name of the context: {advice}")?;
    }
    if answer.tasks == 0 {
        writeln!(io.err, "note: no run has such a task")?;
    }
    match args.format {
        Format::Text => io.out.write_all(answer.text.as_bytes())?,
        Format::Json => writeln!(io.out, "{:#}", Json::from(answer.documents))?,
    }
    Ok(Exit::Success)
}

#[derive(Default)]
struct Answer {
    text: String,
    documents: Vec<Json>,
    tasks: usize,
    unknown: BTreeMap<String, String>,
}

impl Answer {
    fn add(&mut self, args: &Args, context: &AnyContext, of: &Of<'_>, masker: &Masker, now: Option<DateTime<Utc>>) {
        let mut interp = Plain { now, ..Plain::default() };
        let mut entries: Vec<Entry> = context::describe(context, &mut interp);
        if !args.name.is_empty() {
            for name in args.name.iter().filter(|name| !entries.iter().any(|entry| entry.name == **name)) {
                self.unknown.insert(name.clone(), context.hint(name).unwrap_or_default());
            }
            entries.retain(|entry| args.name.iter().any(|name| name == entry.name));
        }
        let hidden = if args.show_secrets { &Masker::default() } else { masker };
        let Of { run: dag_run, task_id, map_index } = of;
        if self.tasks > 0 {
            self.text.push('\n');
        }
        self.tasks += 1;
        let key = dag_run.partition_key.as_deref().map(|key| format!("{key}  ")).unwrap_or_default();
        self.text.push_str(&format!("{}.{task_id}  {key}{}\n", dag_run.dag_id, dag_run.run_id));
        self.text.push_str(&report::context_table(&entries, hidden));
        self.documents.push(json!({
            "dag_id": dag_run.dag_id,
            "run_id": dag_run.run_id,
            "task_id": task_id,
            "map_index": map_index,
            "context": report::context_json(&entries, hidden),
        }));
    }
}

/// Which task instance a context is of.
struct Of<'a> {
    run: &'a DagRun,
    task_id: &'a str,
    map_index: Option<i64>,
}

/// The runs of pipelines and scenarios.
fn played(args: &Args, answer: &mut Answer, io: &mut Io<'_>) -> Result<(), Failure> {
    let pipelines = select::pipelines_or(&args.imported, &args.pipelines, &args.play, io)?;
    args.play.check(&pipelines)?;
    let engine = Engine::new();
    for pipeline in &pipelines {
        for play in play_args::plays(&args.play, pipeline, io)? {
            let played = play.play(pipeline)?;
            let renderer = Renderer::new(&engine, pipeline, &play.scenario, played.clock).with_played(&played);
            let masker = renderer.masker();
            let wanted = args.task.as_deref().or(play.task_id.as_deref());
            for run in &played.runs {
                if !args.play.dag.is_empty() && !args.play.dag.contains(&run.run.dag_id) {
                    continue;
                }
                for (task, context) in contexts(pipeline, run, wanted, &renderer)? {
                    let of = Of { run: &run.run, task_id: &task.task_id, map_index: map_index(&context) };
                    answer.add(args, &context, &of, &masker, Some(played.clock));
                }
            }
        }
    }
    Ok(())
}

/// A run that an Airflow really made.
fn of_airflow(args: &Args, answer: &mut Answer, io: &mut Io<'_>) -> Result<(), Failure> {
    let wanted = Wanted { tasks: args.task.as_slice(), ..args.stored.wanted(&args.play)? };
    let mut definitions = Definitions::of_one(&args.pipelines, &args.imported, &args.play.dag, io)?;
    let mut source = args.stored.source.open(definitions.given().is_some())?;
    let engine = Engine::new();
    let mut contexts: Vec<(Arc<DagRun>, String, AnyContext, DateTime<Utc>)> = Vec::new();
    let visited = stored_runs::visit(&mut *source, &wanted, &mut definitions, io, &mut |visit| {
        let mut last = None;
        for instance in visit.instances {
            // Of a mapped task, the first instance.
            if last.replace(&instance.task.task_id) == Some(&instance.task.task_id) {
                continue;
            }
            contexts.push(instance.with_renderer(&engine, |renderer, run| {
                let index = if instance.task.mapped { instance.map_index.max(0) } else { -1 };
                let context = renderer.context(instance.dag, instance.task, run, index)?;
                Ok((run.run.clone(), instance.task.task_id.clone(), context, renderer.now()))
            })?);
        }
        Ok(())
    })?;
    for (run, task_id, context, now) in contexts {
        let of = Of { run: &run, task_id: &task_id, map_index: map_index(&context) };
        answer.add(args, &context, &of, &visited.masker, Some(now));
    }
    Ok(())
}

/// The context of each task of a run; of a mapped task, that of its first instance.
fn contexts<'p>(
    pipeline: &'p Pipeline,
    run: &PlayedRun,
    wanted: Option<&str>,
    renderer: &Renderer<'_>,
) -> Result<Vec<(&'p Task, AnyContext)>, Failure> {
    let Some(dag) = pipeline.dags.iter().find(|dag| dag.dag_id == run.run.dag_id) else { return Ok(Vec::new()) };
    let tasks = dag.tasks.iter().filter(|task| wanted.is_none_or(|wanted| wanted == task.task_id));
    tasks
        .map(|task| {
            let index = if task.mapped { 0 } else { -1 };
            let context = renderer
                .context(dag, task, run, index)
                .map_err(|error| Failure::Fatal(format!("{}.{}: {error}", dag.dag_id, task.task_id)))?;
            Ok((task, context))
        })
        .collect()
}

fn map_index(context: &AnyContext) -> Option<i64> {
    match context {
        AnyContext::Airflow33(context) => context.run().ti.map_index.and_then(|index| i64::try_from(index).ok()),
        AnyContext::Airflow210(context) => Some(context.map_index()),
    }
}

/// A run given as Airflow gives it, without a pipeline.
fn alone(args: &Args, file: &Utf8PathBuf, answer: &mut Answer, io: &mut Io<'_>) -> Result<(), Failure> {
    let run = Arc::new(load(args, file, io)?);
    let masker = Masker::of_run(&run);
    let context = context::build(run.clone(), Arc::new(Surroundings::of_request()))
        .map_err(|error| Failure::Fatal(error.to_string()))?;
    let map_index = run.ti.map_index.and_then(|index| i64::try_from(index).ok());
    let of = Of { run: &run.dag_run, task_id: &run.ti.task_id, map_index };
    answer.add(args, &AnyContext::Airflow33(context), &of, &masker, None);
    Ok(())
}

/// Reads a run in any of the forms Airflow gives it.
fn load(args: &Args, file: &Utf8PathBuf, io: &mut Io<'_>) -> Result<Run, Failure> {
    let read = |path: &Utf8PathBuf| -> Result<Json, Failure> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Fatal(format!("cannot read {path}: {error}")))?;
        serde_json::from_str(&text).map_err(|error| Failure::Fatal(format!("{path} is not JSON: {error}")))
    };
    let document = read(file)?;
    let events = args.play.events.as_ref().map(read).transpose()?;
    let ti = || TaskInstance::new(args.task.as_deref().unwrap_or("task"));
    let loaded = if document.get("dag_run_id").is_some() {
        run::rest::dag_run(&document, events.as_ref(), &|_, _| None)
            .map(|(dag_run, notes)| (Run::new(dag_run, ti()), notes))
    } else if document.get("ti").is_some() {
        Run::from_json(document).map(|run| (run, Vec::new()))
    } else {
        Run::from_ti_run_context(&document, ti()).map(|run| (run, Vec::new()))
    };
    let (run, notes) = loaded.map_err(|error| Failure::Fatal(format!("{file}: {error}")))?;
    for note in notes {
        writeln!(io.err, "note: {note}")?;
    }
    Ok(run)
}
