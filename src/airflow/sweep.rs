//! Every run that has stored rendered fields, rendered again.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::verify::{Known, Verdict, Verified, verify};
use super::{Needs, RunFilter, Source, SourceError, StoredInstance, StoredRun, Surrounding, Values};
use crate::jinja::Engine;
use crate::pipeline::Pipeline;

/// Gives the Dag of a version: of the source itself or from elsewhere.
pub type Define<'a> = dyn FnMut(&mut dyn Source, &str, Option<&str>) -> Result<Definition, SourceError> + 'a;

/// A Dag ready for rendering.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The pipeline it is in.
    pub pipeline: Arc<Pipeline>,
    /// The text of its templates: what they may read is told from it.
    pub text: Arc<str>,
}

/// What a sweep came to.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Task instances with stored rendered fields.
    pub total: usize,
    /// Those that render as stored.
    pub equal: usize,
    /// Of these, how many have fields that Airflow cut.
    pub cut: usize,
    /// Of these, how many have fields that hold masked values.
    pub masked: usize,
    /// Those that do not.
    pub different: Vec<Verified>,
    /// Those that could not be compared.
    pub not_compared: Vec<Verified>,
}

impl Summary {
    /// True when every task instance renders as stored.
    pub fn is_clean(&self) -> bool {
        self.equal == self.total
    }

    fn add(&mut self, verified: Verified) {
        self.total += 1;
        match &verified.verdict {
            Verdict::Equal { cut, masked } => {
                self.equal += 1;
                self.cut += usize::from(!cut.is_empty());
                self.masked += usize::from(!masked.is_empty());
            }
            Verdict::Different(_) => self.different.push(verified),
            Verdict::NotCompared(_) => self.not_compared.push(verified),
        }
    }
}

/// Verifies every run of these Dags. `define` gives the Dag of a version; an error of it counts for every task instance of
/// that version.
///
/// # Errors
/// A source that cannot be read.
pub fn sweep(
    source: &mut dyn Source,
    dag_ids: &[String],
    values: &Values,
    define: &mut Define<'_>,
) -> Result<Summary, SourceError> {
    let engine = Engine::new();
    let mut summary = Summary::default();
    let rendered = RunFilter { rendered: true, ..RunFilter::default() };
    for dag_id in dag_ids {
        let mut definitions: BTreeMap<Option<String>, Result<Definition, SourceError>> = BTreeMap::new();
        // What the latest version reads is asked for; an older version that reads more asks for itself.
        let mut needs = Needs::ALL;
        if let Ok(latest) = define(source, dag_id, None) {
            needs = Needs::of(&latest.text);
            definitions.insert(None, Ok(latest));
        }
        let mut surrounding = Surrounding::default();
        let mut surrounding_of = String::new();
        let mut after = 0;
        loop {
            let (mut runs, mut next) = source.runs(dag_id, &rendered, needs, after)?;
            for version in runs.iter().flat_map(versions) {
                if !definitions.contains_key(&version) {
                    definitions.insert(version.clone(), define(source, dag_id, version.as_deref()));
                }
            }
            let read = definitions.values().flatten().map(|definition| Needs::of(&definition.text));
            let wanted = read.fold(needs, Needs::or);
            if wanted != needs {
                needs = wanted;
                (runs, next) = source.runs(dag_id, &rendered, needs, after)?;
            }
            let text: String = definitions.values().flatten().map(|definition| &*definition.text).collect();
            if text != surrounding_of {
                surrounding = source.surrounding(&text)?;
                surrounding_of = text;
            }
            let untold: BTreeMap<&str, String> = definitions
                .values()
                .flatten()
                .filter_map(|definition| Some((&*definition.text, source.untold(&definition.text)?)))
                .collect();
            let known = Known { values, surrounding: &surrounding, xcoms: needs.xcom };
            let rows: Vec<(&StoredRun, &StoredInstance)> =
                runs.iter().flat_map(|run| run.instances.iter().map(move |instance| (run, instance))).collect();
            let verified: Vec<Option<Verified>> = rows
                .par_iter()
                .map(|(run, instance)| {
                    match definitions.get(&version_of(run, instance)).or_else(|| definitions.get(&None)) {
                        Some(Ok(definition)) if untold.contains_key(&*definition.text) => {
                            not_defined(run, instance, untold.get(&*definition.text).map_or("", String::as_str))
                        }
                        Some(Ok(definition)) => verify(&engine, &definition.pipeline, run, instance, known),
                        Some(Err(error)) => not_defined(run, instance, &error.message),
                        None => not_defined(run, instance, "its Dag is not there"),
                    }
                })
                .collect();
            verified.into_iter().flatten().for_each(|verified| summary.add(verified));
            match next {
                Some(id) => after = id,
                None => break,
            }
        }
    }
    Ok(summary)
}

fn versions(run: &StoredRun) -> Vec<Option<String>> {
    run.instances
        .iter()
        .filter(|instance| instance.rendered.is_some())
        .map(|instance| version_of(run, instance))
        .collect()
}

/// The Dag version a task instance ran.
pub fn version_of(run: &StoredRun, instance: &StoredInstance) -> Option<String> {
    instance.version.clone().or_else(|| run.version.clone())
}

fn not_defined(run: &StoredRun, instance: &StoredInstance, why: &str) -> Option<Verified> {
    instance.rendered.as_ref()?;
    let obstacle = super::verify::Obstacle { field: String::new(), reason: why.to_owned() };
    Some(Verified::new(run, instance, Verdict::NotCompared(vec![obstacle])))
}
