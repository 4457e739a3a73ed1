//! The backfill view: a producer's partitions over a window of dates, and everything that results.

use std::collections::HashSet;

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::Map;

use super::model::{Dag, Pipeline};
use super::scenario::{Action, ProducerRun, Scenario, Step};
use crate::python::{PyErr, PyResult};
use crate::timetable::DagRunInfo;

/// Partitions one view may have.
const LIMIT: usize = 100_000;

/// A window of partition dates. Both ends are included; their wall-clock reading counts, in each producer's zone.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// The first date.
    pub from: DateTime<FixedOffset>,
    /// The last date.
    pub to: DateTime<FixedOffset>,
}

/// Fills a scenario with one run for each partition of the producers in a window, as Airflow's backfill creates them, each
/// followed by a pass of the scheduler; consumer runs are followed hop by hop. Returns what a person should know: Airflow
/// makes one run of a key that comes twice, as in the hour that summer time repeats.
///
/// # Errors
/// What croniter raises; `LimitExceeded` for too many partitions; `Unsupported` when the pipeline has no producer with
/// partitions by time.
pub fn backfill(
    pipeline: &Pipeline,
    producers: &[String],
    window: Window,
    scenario: &mut Scenario,
) -> PyResult<Vec<String>> {
    let by_time = |dag: &&Dag| dag.timetable.partitioned() && dag.timetable.asset_condition().is_none();
    let chosen: Vec<&Dag> = pipeline
        .dags
        .iter()
        .filter(by_time)
        .filter(|dag| producers.is_empty() || producers.contains(&dag.dag_id))
        .collect();
    if chosen.is_empty() {
        return Err(PyErr::unsupported("a backfill of a pipeline without a CronPartitionTimetable")
            .with_hint("a window of dates needs a Dag whose partitions come by time"));
    }
    let mut runs: Vec<(DateTime<Utc>, &Dag, DagRunInfo)> = Vec::new();
    let mut notes = Vec::new();
    for dag in chosen {
        let mut keys = HashSet::new();
        let mut last = None;
        for info in dag.timetable.iter_partition_dagrun_infos(window.from, window.to)? {
            let info = info?;
            if last.is_some_and(|last| info.run_after <= last) {
                return Err(PyErr::limit(format!(
                    "the schedule of {} does not advance past {}",
                    dag.dag_id, info.run_after
                )));
            }
            last = Some(info.run_after);
            let key = info.partition_key.clone().unwrap_or_default();
            if !keys.insert(key.clone()) {
                notes.push(format!(
                    "{} has the partition {key:?} twice in this window: a backfill runs it once",
                    dag.dag_id
                ));
                continue;
            }
            runs.push((info.run_after, dag, info));
            if runs.len() > LIMIT {
                return Err(PyErr::limit(format!("more than {LIMIT} partitions in one window")));
            }
        }
    }
    runs.sort_by_key(|(date, _, _)| *date);
    scenario.steps = Vec::with_capacity(runs.len() * 2);
    for (_, dag, info) in runs {
        let run = ProducerRun {
            dag_id: dag.dag_id.clone(),
            partition_key: info.partition_key.clone(),
            logical_date: None,
            conf: Map::new(),
            tasks: Vec::new(),
            partition: Some(info),
        };
        let place = &dag.place;
        scenario.steps.push(Step { action: Action::Run(run), place: place.clone() });
        scenario.steps.push(Step { action: Action::Tick, place: place.clone() });
    }
    scenario.follow = true;
    Ok(notes)
}
