//! Attributes of a Dag and its tasks that a pipeline does not tell: a template that reads one is refused, whichever way it
//! comes to the object.

use std::collections::BTreeMap;

use super::model::{Dag, Task};

/// Of the Dag: what `unsupported` names, and its owner where its tasks have several.
pub(super) fn of_dag(dag: &Dag) -> BTreeMap<String, String> {
    let mut unknown: BTreeMap<String, String> = dag.unsupported.iter().cloned().collect();
    let mut owners = dag.tasks.iter().map(|task| &task.owner);
    let first = owners.next();
    if owners.any(|owner| Some(owner) != first) {
        let reason = "`dag.owner` of tasks with several owners: Airflow joins a set, in no order";
        unknown.entry("owner".to_owned()).or_insert_with(|| reason.to_owned());
    }
    unknown
}

/// Of a task: what `unsupported` names, and its neighbours unless it is alone.
pub(super) fn of_task(dag: &Dag, task: &Task) -> BTreeMap<String, String> {
    let mut unknown: BTreeMap<String, String> = task.unsupported.iter().cloned().collect();
    if dag.tasks.len() > 1 {
        for name in ["upstream_task_ids", "downstream_task_ids"] {
            let reason = || format!("`task.{name}`: dependencies between tasks have no place in a pipeline file");
            unknown.entry(name.to_owned()).or_insert_with(reason);
        }
    }
    unknown
}
