//! `partita snapshot`

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::play_args::{self, Play, PlayArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::diff::Change;
use crate::jinja::Engine;
use crate::pipeline::{self, Pipeline, Profile, Renderer};
use crate::report;
use crate::snapshot::{self, Comparison, Filter, Scope, Snapshot, State, Tree};

/// Arguments of `partita snapshot`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    pipelines: Vec<Utf8PathBuf>,

    /// The Airflow whose behaviour is shown, in place of the one each pipeline names
    #[arg(long, value_name = "PROFILE", value_parser = play_args::profile)]
    profile: Option<Profile>,

    /// Write nothing; exit with 1 when a snapshot differs, is missing or orphaned. The default where the variable CI is set
    #[arg(long, conflicts_with_all = ["accept", "prune"])]
    check: bool,

    /// Write the snapshots themselves in place of pending ones, even where CI is set
    #[arg(long)]
    accept: bool,

    /// Only snapshots that match: a pipeline, scenario, Dag, run, task or field, or several of them joined by `/`
    #[arg(long, value_name = "GLOB")]
    filter: Vec<String>,

    /// Remove snapshots of what is not rendered any more
    #[arg(long)]
    prune: bool,

    /// The folder of the snapshots
    #[arg(long, value_name = "DIR", default_value = "snapshots")]
    dir: Utf8PathBuf,
}

/// Renders everything and compares it with the snapshots.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let filter = Filter::new(args.filter.iter().map(String::as_str))
        .map_err(|error| Failure::Usage(format!("--filter: {error}")))?;
    let pipelines = select::pipelines_as(&args.pipelines, args.profile, io)?;
    let rendered = render(&pipelines, io)?;
    let snapshots: Vec<Snapshot> = rendered.into_iter().flatten().collect();
    if let Some((one, two)) = snapshot::collisions(&snapshots).first() {
        return Err(Failure::Fatal(format!(
            "two snapshots would share the file {}.snap: {} of {} and {} of {}\nhelp: give pipelines and scenarios names of their own",
            one.path,
            one.subject.name(),
            one.source,
            two.subject.name(),
            two.source
        )));
    }
    let scope = Scope {
        pipelines: pipelines.iter().map(|pipeline| pipeline.name.clone()).collect(),
        everything: args.pipelines.is_empty(),
        filter,
    };
    let comparison = snapshot::compare(&args.dir, &snapshots, &scope).map_err(fatal)?;
    check_filter(&scope.filter, &snapshots, &comparison)?;
    let changes: Vec<Change> = comparison.entries.iter().filter_map(Change::of_entry).collect();
    let done = write(args, &comparison, io)?;
    io.out.write_all(report::snapshot_text(&comparison, &changes, &done).as_bytes())?;
    io.out.flush()?;
    let chosen: Vec<&Snapshot> = comparison.entries.iter().map(|entry| entry.snapshot).collect();
    let unsteady = clock(&pipelines, &chosen, io)?;
    notes(args, &comparison, io)?;
    let orphaned = !comparison.orphaned.is_empty() && !args.prune;
    let differs = match args.accept {
        true => orphaned || changes.iter().any(|change| change.failed),
        false => orphaned || !changes.is_empty(),
    };
    Ok(Exit::findings_if(differs || unsteady))
}

fn fatal(error: snapshot::TreeError) -> Failure {
    Failure::Fatal(error.to_string())
}

/// True when the environment says that nobody is there to look at pending files.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no"))
}

/// The snapshots of all scenarios, in order.
fn render(pipelines: &[Pipeline], io: &mut Io<'_>) -> Result<Vec<Vec<Snapshot>>, Failure> {
    let mut plays: Vec<(&Pipeline, Play)> = Vec::new();
    for pipeline in pipelines {
        plays.extend(play_args::plays(&PlayArgs::default(), pipeline, io)?.into_iter().map(|play| (pipeline, play)));
    }
    let engine = Engine::new();
    let one = |(pipeline, play): &(&Pipeline, Play)| {
        let played = play.play(pipeline)?;
        let renderer = Renderer::new(&engine, pipeline, &play.scenario, played.clock).with_played(&played);
        let outcome = pipeline::outcome(pipeline, &play.scenario, &played, |run| renderer.run(run));
        let outcome = outcome.map_err(play_args::failure)?;
        let masker = renderer.masker();
        Ok(snapshot::of_outcome(outcome, &|text| masker.mask(text).into_owned()))
    };
    // The first failure in order is the one that is told, however the work was shared out.
    plays.par_iter().map(one).collect::<Vec<Result<_, Failure>>>().into_iter().collect()
}

/// A pattern that chooses nothing is a mistake.
fn check_filter(filter: &Filter, snapshots: &[Snapshot], comparison: &Comparison<'_>) -> Result<(), Failure> {
    let orphaned: Vec<_> = comparison.orphaned.iter().filter_map(|path| snapshot::Subject::of_path(path)).collect();
    let subjects = snapshots.iter().map(|snapshot| &snapshot.subject).chain(&orphaned);
    match filter.unused(subjects).first() {
        None => Ok(()),
        Some(pattern) => Err(Failure::Usage(format!(
            "--filter {pattern} chooses no snapshot\nhelp: a pattern matches a whole pipeline, scenario, Dag, run, task, field or task.field, or neighbours in a snapshot's path joined by `/`; `*` stands for any text"
        ))),
    }
}

/// Writes what is to be written, and says so.
fn write(args: &Args, comparison: &Comparison<'_>, io: &mut Io<'_>) -> Result<String, Failure> {
    if args.check || is_ci() && !args.accept {
        if args.prune && !comparison.orphaned.is_empty() {
            writeln!(io.err, "note: CI is set, so nothing is removed; --accept --prune writes and removes here too")?;
        }
        return Ok(String::new());
    }
    let settled = comparison.stale.is_empty() && !comparison.entries.iter().any(|entry| entry.pending);
    let refresh = args.accept && comparison.entries.iter().any(|entry| entry.state != State::Same);
    let prune = args.prune && !comparison.orphaned.is_empty();
    let idle = settled && comparison.temporary.is_empty() && comparison.agrees();
    if idle && !refresh && !prune {
        return Ok(String::new());
    }
    let tree = Tree::open(&args.dir).map_err(fatal)?;
    let updated = tree.update(comparison, args.accept).map_err(fatal)?;
    let mut done = String::new();
    if updated.accepted > 0 {
        done.push_str(&format!("; {} accepted", updated.accepted));
    }
    if updated.pending > 0 {
        done.push_str(&format!("; {} pending", updated.pending));
    }
    if prune {
        tree.prune(comparison).map_err(fatal)?;
        done.push_str(&format!("; {} removed", comparison.orphaned.len()));
    }
    Ok(done)
}

/// Names fields whose text depends on the clock. True when one of them has no clock that anybody set.
fn clock(pipelines: &[Pipeline], snapshots: &[&Snapshot], io: &mut Io<'_>) -> Result<bool, Failure> {
    let mut fields: BTreeMap<(&str, &str, &str, &str, &str), usize> = BTreeMap::new();
    for snapshot in snapshots.iter().filter(|snapshot| snapshot.fact("reads_clock").is_some()) {
        let subject = &snapshot.subject;
        let key = (&*subject.pipeline, &*subject.scenario, &*subject.dag_id, subject.task_id(), subject.field.as_str());
        *fields.entry(key).or_default() += 1;
    }
    let mut unset = false;
    for ((pipeline, scenario, dag_id, task_id, field), runs) in fields {
        let set = scenario_sets_clock(pipelines, pipeline, scenario);
        unset |= !set;
        let (word, clock) = match set {
            true => ("warning", "the snapshot shows it at the scenario's `now`"),
            false => ("error", "and the scenario sets no `now`"),
        };
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        writeln!(
            io.err,
            "{word}: {dag_id}.{task_id}.{field} reads the clock in {runs} of {pipeline} / {scenario}: what is executed depends on when; {clock}"
        )?;
    }
    Ok(unset)
}

fn scenario_sets_clock(pipelines: &[Pipeline], pipeline: &str, scenario: &str) -> bool {
    let of_pipeline = pipelines.iter().filter(|known| known.name == pipeline);
    of_pipeline
        .flat_map(|pipeline| select::scenarios(pipeline, &[]).unwrap_or_default())
        .any(|known| known.name == scenario && known.now.is_some())
}

/// Says what else was seen, and what to do next.
fn notes(args: &Args, comparison: &Comparison<'_>, io: &mut Io<'_>) -> Result<(), Failure> {
    let count = |state: fn(&State) -> bool| comparison.entries.iter().filter(|entry| state(&entry.state)).count();
    let facts = count(|state| matches!(state, State::OtherFacts(_)));
    if facts > 0 && !args.accept {
        writeln!(
            io.err,
            "note: {facts} with the same text tell other facts of their run (date, events) in the header; --accept writes them anew"
        )?;
    }
    let failing = comparison.entries.iter().filter(|entry| !entry.state.differs() && entry.snapshot.failed()).count();
    if failing > 0 {
        writeln!(io.err, "note: {failing} fail to render, with the error that was accepted")?;
    }
    for link in &comparison.links {
        writeln!(io.err, "note: {}/{link} is a symbolic link: what lies behind it is not looked at", args.dir)?;
    }
    if comparison.entries.is_empty() && comparison.orphaned.is_empty() {
        writeln!(io.err, "note: nothing was rendered: no scenario makes a run with template fields")?;
    }
    let waiting = comparison.entries.iter().any(|entry| entry.state.differs());
    if waiting && !args.accept {
        let dir = if args.dir == "snapshots" { String::new() } else { format!(" --dir {}", args.dir) };
        if args.check || is_ci() {
            writeln!(
                io.err,
                "help: run `partita snapshot{dir}` and `partita review{dir}` where the files can be changed"
            )?;
        } else {
            writeln!(
                io.err,
                "help: `partita review{dir}` asks about each; `partita snapshot{dir} --accept` accepts all"
            )?;
        }
    }
    if !comparison.orphaned.is_empty() && !args.prune {
        writeln!(io.err, "help: --prune removes what is orphaned")?;
    }
    Ok(())
}
