//! Which things of two sides belong together: Dags, tasks and runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::alike::{Tokens, pair};
use super::side::{SideField, SidePipeline, SideRun};

/// Dags and tasks with at least this in common are one that was renamed.
const RENAMED: f64 = 0.6;

/// Fields of a task that are looked at to recognise it.
const FIELDS: usize = 6;

/// A field and where it stands: scenario, run, field.
pub type Placed<'a> = (&'a str, &'a SideRun, &'a SideField);

/// The rendered fields of a side by Dag and task.
pub type Tasks<'a> = BTreeMap<(&'a str, &'a str), Vec<Placed<'a>>>;

/// A task's id without the map index.
pub fn task_id(task: &str) -> &str {
    task.split_once('[').map_or(task, |(id, _)| id)
}

/// The rendered fields of a side by Dag and task.
pub fn tasks(side: &SidePipeline) -> Tasks<'_> {
    let mut tasks = Tasks::new();
    for scenario in side.scenarios.iter().flatten() {
        for run in scenario.runs.iter().flatten() {
            for field in &run.fields {
                let placed = (scenario.name.as_str(), run, field);
                tasks.entry((run.dag_id.as_str(), task_id(&field.task))).or_default().push(placed);
            }
        }
    }
    tasks
}

/// What a task is recognised by: its first rendered fields.
pub fn task_tokens(placed: &[Placed<'_>]) -> Tokens {
    let mut tokens = Tokens::default();
    for (_, _, field) in placed.iter().take(FIELDS) {
        tokens.add(&field.field);
        tokens.add(field.shown());
    }
    tokens
}

/// Something that has another name on the new side.
#[derive(Debug, Clone, PartialEq)]
pub struct Renamed<K> {
    /// The old name.
    pub old: K,
    /// The new name.
    pub new: K,
    /// How alike they are, from 0 to 1.
    pub likeness: f64,
}

/// Dags of two sides that have other names.
pub fn dags(base: &SidePipeline, head: &SidePipeline) -> Vec<Renamed<String>> {
    let ids = |side: &SidePipeline| -> BTreeSet<String> {
        let runs = side.scenarios.iter().flatten().flat_map(|scenario| scenario.runs.iter().flatten());
        side.definitions.keys().cloned().chain(runs.map(|run| run.dag_id.clone())).collect()
    };
    let (base_ids, head_ids) = (ids(base), ids(head));
    let gone: Vec<&String> = base_ids.difference(&head_ids).collect();
    let new: Vec<&String> = head_ids.difference(&base_ids).collect();
    let tokens = |side: &SidePipeline, tasks: &Tasks<'_>, dag_id: &str| {
        let mut tokens = Tokens::default();
        if let Some(definition) = side.definitions.get(dag_id) {
            tokens.add(definition);
        }
        for (_, placed) in tasks.iter().filter(|((dag, _), _)| *dag == dag_id) {
            placed.iter().take(FIELDS).for_each(|(_, _, field)| tokens.add(field.shown()));
        }
        tokens
    };
    let (base_tasks, head_tasks) = (tasks(base), tasks(head));
    let old_tokens: Vec<Tokens> = gone.iter().map(|dag_id| tokens(base, &base_tasks, dag_id)).collect();
    let new_tokens: Vec<Tokens> = new.iter().map(|dag_id| tokens(head, &head_tasks, dag_id)).collect();
    let named = |(old, to, likeness): (usize, usize, f64)| {
        Some(Renamed { old: (*gone.get(old)?).clone(), new: (*new.get(to)?).clone(), likeness })
    };
    pair(&old_tokens, &new_tokens, RENAMED).into_iter().filter_map(named).collect()
}

/// Pairs those of two lists of tasks that are the most alike.
pub fn renamed_tasks<K: Clone>(gone: &[(K, Tokens)], new: &[(K, Tokens)]) -> Vec<Renamed<K>> {
    let tokens = |list: &[(K, Tokens)]| list.iter().map(|(_, tokens)| tokens.clone()).collect::<Vec<_>>();
    let named = |(old, to, likeness): (usize, usize, f64)| {
        Some(Renamed { old: gone.get(old)?.0.clone(), new: new.get(to)?.0.clone(), likeness })
    };
    pair(&tokens(gone), &tokens(new), RENAMED).into_iter().filter_map(named).collect()
}

/// Runs of a scenario on both sides that belong together, in the order of the new side; runs of the old side that have no
/// counterpart come last.
pub fn runs<'a>(
    base: &'a [SideRun],
    head: &'a [SideRun],
    dags: &'a HashMap<String, String>,
) -> Vec<(Option<&'a SideRun>, Option<&'a SideRun>)> {
    let base_dag = |run: &'a SideRun| dags.get(&run.dag_id).map_or(run.dag_id.as_str(), String::as_str);
    let mut partner: Vec<Option<usize>> = vec![None; head.len()];
    let mut taken: Vec<bool> = vec![false; base.len()];
    // By name first; then by the events that made them; then, where runs have no keys, by their order.
    type Key<'k> = (&'k str, Vec<&'k str>);
    let by_label = |dag: &'a str, run: &'a SideRun| -> Option<Key<'a>> { Some((dag, vec![run.label.as_str()])) };
    let by_events = |dag: &'a str, run: &'a SideRun| -> Option<Key<'a>> {
        (!run.events.is_empty()).then(|| (dag, run.events.iter().map(String::as_str).collect()))
    };
    let by_order =
        |dag: &'a str, run: &'a SideRun| -> Option<Key<'a>> { run.partition_key.is_none().then(|| (dag, Vec::new())) };
    let rules: [&dyn Fn(&'a str, &'a SideRun) -> Option<Key<'a>>; 3] = [&by_label, &by_events, &by_order];
    for rule in rules {
        let mut free: HashMap<Key<'a>, std::collections::VecDeque<usize>> = HashMap::new();
        for (at, run) in base.iter().enumerate() {
            if !taken.get(at).copied().unwrap_or(true)
                && let Some(key) = rule(base_dag(run), run)
            {
                free.entry(key).or_default().push_back(at);
            }
        }
        for (run, partner) in head.iter().zip(&mut partner) {
            if partner.is_none()
                && let Some(at) = rule(&run.dag_id, run)
                    .and_then(|key| free.get_mut(&key))
                    .and_then(std::collections::VecDeque::pop_front)
            {
                *partner = Some(at);
                if let Some(taken) = taken.get_mut(at) {
                    *taken = true;
                }
            }
        }
    }
    let mut pairs: Vec<_> =
        head.iter().zip(&partner).map(|(run, partner)| (partner.and_then(|at| base.get(at)), Some(run))).collect();
    pairs.extend(base.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(run, _)| (Some(run), None)));
    pairs
}
