//! A scenario played: the runs that a request can be about.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::answer::Failure;
use crate::context::Masker;
use crate::jinja::Engine;
use crate::pipeline::{
    self, Action, Asked, Origin, Outcome, Pipeline, Place, Played, PlayedRun, Renderer, RunOutcome, Scenario, Step,
    assumed_run, given_run,
};
use crate::report;

/// What a scene is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SceneKey {
    /// The pipeline's name.
    pub pipeline: String,
    /// The scenario that is played, or only gives the clock and values; none does without one.
    pub scenario: Option<String>,
    /// What happens.
    pub how: How,
}

/// What happens in a scene.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum How {
    /// The scenario's own steps.
    Steps,
    /// These events (`ASSET=KEY@DATE`), after the scenario's steps or in their place.
    Emit {
        /// The events.
        events: Vec<String>,
        /// After the scenario's own steps.
        after: bool,
    },
    /// Nothing: each Dag has the run that an event with this key would have made.
    Key(String),
    /// What the open queue holds.
    Stored,
}

/// A scenario after its last step.
#[derive(Debug)]
pub struct Scene {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// The scenario.
    pub scenario: Scenario,
    /// The runs, in the order they were made.
    pub runs: Vec<PlayedRun>,
    /// Why Dags have no run for a key that was asked for.
    pub notes: Vec<String>,
    /// The clock after the last step.
    pub clock: DateTime<Utc>,
    played: Mutex<Played>,
}

impl Scene {
    /// Plays a scenario with these steps, or asks for runs.
    pub fn play(pipeline: &Arc<Pipeline>, base: Option<&Scenario>, how: &How) -> Result<Arc<Self>, Failure> {
        let mut scenario = base.cloned().unwrap_or_else(|| Scenario::of_steps("no scenario", Vec::new()));
        let mut notes = Vec::new();
        let mut runs = Vec::new();
        match how {
            How::Steps | How::Stored => {
                for document in &scenario.runs {
                    runs.push(given_run(pipeline, document, None)?.run);
                }
            }
            How::Emit { events, after } => {
                if *after {
                    // The scenario's own closing pass comes first: its runs are the same as without the events.
                    if let Some(place) =
                        scenario.source.as_ref().map(|source| Place { source: source.clone(), range: 0..0 })
                    {
                        scenario.steps.push(Step { action: Action::Tick, place });
                    }
                } else {
                    scenario.steps = Vec::new();
                    scenario.name = "emit".to_owned();
                }
                for text in events {
                    let step = pipeline::emit_step(pipeline, "event", text)
                        .map_err(|(message, hint)| Failure::new(422, "event", message).hinted(hint))?;
                    scenario.steps.push(step);
                }
            }
            How::Key(key) => {
                scenario.steps = Vec::new();
                scenario.name = "no scenario".to_owned();
                let asked = Asked { partition_key: Some(key.clone()), ..Asked::default() };
                for dag in pipeline.dags.iter().filter(|dag| dag.timetable.partitioned()) {
                    match assumed_run(pipeline, &scenario, dag, &asked) {
                        Ok(run) => runs.push(run),
                        Err(error) => {
                            notes.push(format!("no run of {}: {}: {}", dag.dag_id, error.class, error.message))
                        }
                    }
                }
            }
        }
        let mut played = pipeline::play(pipeline, &scenario)?;
        played.runs.extend(runs);
        Ok(Self::of(pipeline, scenario, played, notes))
    }

    /// A scene of what was played elsewhere.
    pub fn of(pipeline: &Arc<Pipeline>, scenario: Scenario, played: Played, notes: Vec<String>) -> Arc<Self> {
        Arc::new(Scene {
            pipeline: pipeline.clone(),
            scenario,
            runs: played.runs.clone(),
            notes,
            clock: played.clock,
            played: Mutex::new(played),
        })
    }

    /// What was played: the queue and the trace of its decisions.
    pub fn with_played<T>(&self, ask: impl FnOnce(&Played) -> T) -> T {
        ask(&self.played.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A renderer of the runs.
    pub fn renderer<'a>(&'a self, engine: &'a Engine) -> Renderer<'a> {
        self.with_played(|played| Renderer::new(engine, &self.pipeline, &self.scenario, self.clock).with_played(played))
    }

    /// Runs, what is pending and the log, without any text.
    pub fn outcome(&self) -> Result<Outcome, Failure> {
        Ok(self.with_played(|played| pipeline::outcome(&self.pipeline, &self.scenario, played, RunOutcome::bare))?)
    }
}

/// A run as the API shows it: what a report says of it, masked.
pub fn run_json(run: &PlayedRun, masker: &Masker) -> Map<String, Json> {
    let mut object = report::run_json(&RunOutcome::bare(run));
    object.insert("assumed".to_owned(), (run.origin == Origin::Assumed).into());
    object.insert("run_after".to_owned(), run.run.run_after.to_rfc3339().into());
    object.into_iter().map(|(name, value)| (name, masked(value, masker))).collect()
}

/// Masks every string of a value.
pub fn masked(value: Json, masker: &Masker) -> Json {
    report::masked(value, &|text| masker.mask(text).into_owned())
}
