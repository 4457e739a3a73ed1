//! The same pipeline rendered under two profiles: what fails, what changes, what stays.

use std::collections::BTreeMap;

use super::{Group, group};
use crate::jinja::{Engine, Names};
use crate::pipeline::{
    Dag, Pipeline, Played, PlayedRun, Profile, Renderer, Scenario, Task, TaskField, TaskResult, reader::Renamed,
};
use crate::python::PyErr;
use crate::render::{FieldError, RenderedField, display};

/// A pipeline under both profiles.
#[derive(Debug)]
pub struct ProfileDiff {
    /// The pipeline's name.
    pub pipeline: String,
    /// The profile it comes from.
    pub from: Profile,
    /// The profile it goes to.
    pub to: Profile,
    /// How many scenarios were played.
    pub scenarios: usize,
    /// Runs of which something was compared.
    pub runs: usize,
    /// Fields, in the order of the runs.
    pub fields: Vec<FieldPair>,
    /// Runs that only one of the profiles has.
    pub lone: Vec<LoneRun>,
    /// What both profiles read differently in a Dag's own arguments.
    pub dags: Vec<DagNote>,
    /// Names of Airflow 2 in the pipeline file.
    pub renamed: Vec<Renamed>,
}

/// A field of a run under both profiles.
#[derive(Debug, Clone)]
pub struct FieldPair {
    /// Whose it is.
    pub subject: FieldSubject,
    /// The scenario.
    pub scenario: String,
    /// The run's label in the profile it comes from.
    pub run_from: String,
    /// The run's label in the profile it goes to.
    pub run_to: String,
    /// What became of it.
    pub outcome: FieldOutcome,
    /// Names that the template read and that the other profile's run does not have.
    pub gone: Vec<Gone>,
}

/// A field of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldSubject {
    /// The Dag.
    pub dag_id: String,
    /// The task, with its map index.
    pub task: String,
    /// The field.
    pub field: String,
    /// The template's file, if it is one.
    pub file: Option<String>,
}

/// What became of a field.
#[derive(Debug, Clone)]
pub enum FieldOutcome {
    /// The same text.
    Same,
    /// Another text.
    Changed {
        /// The text it had.
        from: String,
        /// The text it has.
        to: String,
    },
    /// It cannot be rendered any more.
    Fails {
        /// The text it had.
        from: String,
        /// Why.
        error: Box<FieldError>,
    },
    /// It could not be rendered before.
    Works {
        /// Why it could not.
        error: Box<FieldError>,
        /// The text it has.
        to: String,
    },
    /// It can be rendered in neither.
    FailsInBoth {
        /// Why it could not.
        from: Box<FieldError>,
        /// Why it cannot.
        to: Box<FieldError>,
    },
}

/// A name that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Gone {
    /// The name.
    pub name: String,
    /// What to write in its place.
    pub instead: String,
}

/// A run that has no counterpart.
#[derive(Debug, Clone)]
pub struct LoneRun {
    /// The profile that has it.
    pub profile: Profile,
    /// The scenario.
    pub scenario: String,
    /// The Dag.
    pub dag_id: String,
    /// The run's label.
    pub run: String,
}

/// Something that a Dag's arguments mean in one profile and not in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DagNote {
    /// The Dag.
    pub dag_id: String,
    /// What it is.
    pub what: String,
    /// What to write so that both mean the same.
    pub help: String,
}

impl ProfileDiff {
    /// True when every field has the same text in both profiles.
    pub fn is_same(&self) -> bool {
        self.lone.is_empty() && self.fields.iter().all(|pair| matches!(pair.outcome, FieldOutcome::Same))
    }

    /// The pairs of one kind, those of a field brought together.
    pub fn by_field(&self, kind: fn(&FieldOutcome) -> bool) -> Vec<Group<FieldSubject, &FieldPair>> {
        let chosen = self.fields.iter().filter(|pair| kind(&pair.outcome));
        group(chosen.map(|pair| (pair.subject.clone(), pair)))
    }
}

impl FieldOutcome {
    /// True for an error that Airflow would raise in the profile it goes to.
    pub fn fails(&self) -> bool {
        matches!(self, FieldOutcome::Fails { error, .. } if !refused(error))
    }

    /// True where partita itself could not tell: it refused the construct in one of the profiles.
    pub fn is_unknown(&self) -> bool {
        match self {
            FieldOutcome::Fails { error, .. } | FieldOutcome::Works { error, .. } => refused(error),
            FieldOutcome::FailsInBoth { from, to } => refused(from) || refused(to),
            FieldOutcome::Same | FieldOutcome::Changed { .. } => false,
        }
    }

    /// True for another text, and for one where there was an error.
    pub fn changes(&self) -> bool {
        match self {
            FieldOutcome::Changed { .. } => true,
            FieldOutcome::Works { error, .. } => !refused(error),
            _ => false,
        }
    }

    /// True for errors in both.
    pub fn fails_in_both(&self) -> bool {
        matches!(self, FieldOutcome::FailsInBoth { .. }) && !self.is_unknown()
    }

    /// True for the same text.
    pub fn stays(&self) -> bool {
        matches!(self, FieldOutcome::Same)
    }
}

fn refused(error: &FieldError) -> bool {
    matches!(&*error.error.class, "Unsupported" | "LimitExceeded")
}

/// A pipeline read under one profile, with its scenarios as played.
#[derive(Debug)]
pub struct ProfileSide {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// Its scenarios, by name.
    pub scenarios: Vec<(Scenario, Played)>,
}

/// Compares a pipeline under two profiles. Runs are paired by scenario and Dag, in the order they were made. `mask` hides
/// secrets in texts.
///
/// # Errors
/// `LimitExceeded` for what is too large.
pub fn profiles(
    engine: &Engine,
    from: &ProfileSide,
    to: &ProfileSide,
    mask: &dyn Fn(&str) -> String,
) -> Result<ProfileDiff, PyErr> {
    let mut diff = ProfileDiff {
        pipeline: from.pipeline.name.clone(),
        from: from.pipeline.profile,
        to: to.pipeline.profile,
        scenarios: from.scenarios.len(),
        runs: 0,
        fields: Vec::new(),
        lone: Vec::new(),
        dags: dag_notes(&from.pipeline, &to.pipeline),
        renamed: match to.pipeline.profile {
            Profile::Airflow33 => from.pipeline.renamed.clone(),
            Profile::Airflow210 => Vec::new(),
        },
    };
    for (scenario, played) in &from.scenarios {
        let Some((other, other_played)) = to.scenarios.iter().find(|(other, _)| other.name == scenario.name) else {
            continue;
        };
        let old = Renderer::new(engine, &from.pipeline, scenario, played.clock).with_played(played);
        let new = Renderer::new(engine, &to.pipeline, other, other_played.clock).with_played(other_played);
        for (one, two) in pairs(&played.runs, &other_played.runs) {
            let lone = |profile: Profile, run: &PlayedRun| LoneRun {
                profile,
                scenario: scenario.name.clone(),
                dag_id: run.run.dag_id.clone(),
                run: label(run).to_owned(),
            };
            match (one, two) {
                (Some(one), Some(two)) => {
                    diff.runs += 1;
                    compare(&mut diff, &scenario.name, (from, &old, one), (to, &new, two), mask);
                }
                (Some(one), None) => diff.lone.push(lone(diff.from, one)),
                (None, Some(two)) => diff.lone.push(lone(diff.to, two)),
                (None, None) => {}
            }
        }
    }
    Ok(diff)
}

fn label(run: &PlayedRun) -> &str {
    run.run.partition_key.as_deref().unwrap_or(&run.run.run_id)
}

/// Runs of each Dag side by side, in the order they were made.
fn pairs<'r>(from: &'r [PlayedRun], to: &'r [PlayedRun]) -> Vec<(Option<&'r PlayedRun>, Option<&'r PlayedRun>)> {
    let mut of_dag: BTreeMap<&str, Vec<&PlayedRun>> = BTreeMap::new();
    for run in to {
        of_dag.entry(&run.run.dag_id).or_default().push(run);
    }
    of_dag.values_mut().for_each(|runs| runs.reverse());
    let mut pairs: Vec<_> =
        from.iter().map(|run| (Some(run), of_dag.get_mut(run.run.dag_id.as_str()).and_then(Vec::pop))).collect();
    for run in of_dag.into_values().flat_map(|runs| runs.into_iter().rev()) {
        pairs.push((None, Some(run)));
    }
    pairs
}

type Rendering<'a> = (&'a ProfileSide, &'a Renderer<'a>, &'a PlayedRun);

fn compare(
    diff: &mut ProfileDiff,
    scenario: &str,
    (from, old, one): Rendering<'_>,
    (to, new, two): Rendering<'_>,
    mask: &dyn Fn(&str) -> String,
) {
    let (Some(dag), Some(other)) = (from.pipeline.dag(&one.run.dag_id), to.pipeline.dag(&two.run.dag_id)) else {
        return;
    };
    for task in &dag.tasks {
        let Some(counterpart) = other.tasks.iter().find(|other| other.task_id == task.task_id) else { continue };
        for field in &task.fields {
            let Some(new_field) = counterpart.fields.iter().find(|other| other.name == field.name) else { continue };
            // One field at a time, so that the names it reads are its own.
            let results = old.task(dag, &only(task, field), one);
            let others = new.task(other, &only(counterpart, new_field), two);
            for (result, other_result) in results.iter().zip(&others) {
                let (Some(rendered), Some(now)) = (field_of(result, field), field_of(other_result, field)) else {
                    continue;
                };
                if !(rendered.rendered && rendered.given) {
                    continue;
                }
                diff.fields.push(FieldPair {
                    subject: FieldSubject {
                        dag_id: dag.dag_id.clone(),
                        task: result.label(),
                        field: field.name.clone(),
                        file: rendered.file.clone(),
                    },
                    scenario: scenario.to_owned(),
                    run_from: label(one).to_owned(),
                    run_to: label(two).to_owned(),
                    gone: gone(result, (new, other, counterpart, two)),
                    outcome: outcome(rendered, now, mask),
                });
            }
        }
    }
}

fn only(task: &Task, field: &TaskField) -> Task {
    Task { fields: vec![field.clone()], ..task.clone() }
}

fn field_of<'r>(result: &'r TaskResult, field: &TaskField) -> Option<&'r RenderedField> {
    result.fields.iter().find(|rendered| rendered.name == field.name)
}

fn outcome(from: &RenderedField, to: &RenderedField, mask: &dyn Fn(&str) -> String) -> FieldOutcome {
    match (&from.value, &to.value) {
        (Ok(from), Ok(to)) => {
            let (from, to) = (display(from), display(to));
            if from == to { FieldOutcome::Same } else { FieldOutcome::Changed { from: mask(&from), to: mask(&to) } }
        }
        (Ok(from), Err(error)) => FieldOutcome::Fails { from: mask(&display(from)), error: masked(error, mask) },
        (Err(error), Ok(to)) => FieldOutcome::Works { error: masked(error, mask), to: mask(&display(to)) },
        (Err(from), Err(to)) => FieldOutcome::FailsInBoth { from: masked(from, mask), to: masked(to, mask) },
    }
}

fn masked(error: &FieldError, mask: &dyn Fn(&str) -> String) -> Box<FieldError> {
    let mut error = Box::new(error.clone());
    error.error.message = mask(&error.error.message);
    error
}

/// Names that a template read and that the other profile's context does not have.
fn gone(result: &TaskResult, (renderer, dag, task, run): (&Renderer<'_>, &Dag, &Task, &PlayedRun)) -> Vec<Gone> {
    if result.names_read.is_empty() {
        return Vec::new();
    }
    let Ok(context) = renderer.context(dag, task, run, result.map_index) else { return Vec::new() };
    let missing = result.names_read.iter().filter(|name| context.get(name).is_none());
    missing
        .map(|name| {
            let instead = context.hint(name).unwrap_or_default();
            Gone { name: (*name).to_owned(), instead }
        })
        .collect()
}

/// What the arguments of Dags mean in one profile and not in the other.
fn dag_notes(from: &Pipeline, to: &Pipeline) -> Vec<DagNote> {
    let mut notes = Vec::new();
    for dag in &from.dags {
        let Some(other) = to.dag(&dag.dag_id) else { continue };
        let mut note = |what: String, help: &str| {
            notes.push(DagNote { dag_id: dag.dag_id.clone(), what, help: help.to_owned() });
        };
        let (class, other_class) = (dag.timetable.class_name(), other.timetable.class_name());
        let written = dag.schedule_text.as_deref().unwrap_or_default();
        match (class, other_class) {
            _ if class == other_class => {}
            ("CronDataIntervalTimetable", "CronTriggerTimetable") => note(
                format!(
                    "schedule {written:?} is {class} in {}, {other_class} in {}: the logical date of a run is the time it \
                     starts, no longer one interval before it, and its data interval is empty",
                    from.profile.name(),
                    to.profile.name()
                ),
                "write CronDataIntervalTimetable, or set [scheduler] create_cron_data_intervals",
            ),
            ("CronTriggerTimetable", "CronDataIntervalTimetable") => note(
                format!(
                    "schedule {written:?} is {class} in {}, {other_class} in {}: the logical date of a run is one interval \
                     before it starts",
                    from.profile.name(),
                    to.profile.name()
                ),
                "write CronTriggerTimetable",
            ),
            _ => note(
                format!("no schedule is {class} in {}, {other_class} in {}", from.profile.name(), to.profile.name()),
                "write `schedule`",
            ),
        }
        if dag.catchup != other.catchup && (dag.timetable.can_be_scheduled() || other.timetable.can_be_scheduled()) {
            note(
                format!(
                    "catchup is {} by default in {}, {} in {}",
                    python_bool(dag.catchup),
                    from.profile.name(),
                    python_bool(other.catchup),
                    to.profile.name()
                ),
                "write `catchup`",
            );
        }
    }
    notes
}

fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
