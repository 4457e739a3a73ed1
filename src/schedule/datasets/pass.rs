//! One pass of the scheduler's creation of Dag runs (`SchedulerJobRunner._create_dagruns_for_dags`).

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::model::{DatasetRun, DatasetScheduler};
use crate::asset::{AssetKey, AssetRef, Registry};
use crate::python::{PyErr, PyResult};
use crate::timetable::{DataInterval, isoformat, run_id};

/// `NUM_DAGS_PER_DAGRUN_QUERY`: `[scheduler] max_dagruns_to_create_per_loop`.
const DAGS_PER_PASS: usize = 10;

/// A condition whose aliases are gone asks for nothing.
struct NoRegistry;

impl Registry for NoRegistry {
    fn resolve_ref(&self, _: &AssetRef) -> Option<AssetKey> {
        None
    }

    fn assets_of_alias(&self, _: &str) -> Vec<AssetKey> {
        Vec::new()
    }
}

impl DatasetScheduler {
    /// One pass: runs of Dags whose queue satisfies their condition, and runs by time. A Dag that is ready by its datasets
    /// gets no run by time in the same pass. At most ten Dags are looked at, those without a next run by time first and then
    /// the most overdue; among equals Airflow leaves the order to the database, here the Dag known longest comes first.
    ///
    /// Returns the positions of the new runs in [`runs`](Self::runs).
    ///
    /// # Errors
    /// What ends a pass in Airflow (`TypeError` for a source run without a data interval among others that have one);
    /// `Unsupported` for what a timetable refuses.
    pub fn tick(&mut self, at: DateTime<Utc>) -> PyResult<std::ops::Range<usize>> {
        let before = self.runs.len();
        let ready = self.ready();
        let due = |index: &usize| {
            self.dags.get(*index).is_some_and(|state| {
                let by_time = state.create_after.is_some_and(|after| after <= at);
                let free = !state.is_paused && state.is_active && !state.has_import_errors;
                free && (by_time || ready.contains_key(index))
            })
        };
        let mut dags: Vec<usize> = (0..self.dags.len()).filter(due).collect();
        dags.sort_by_key(|index| self.dags.get(*index).and_then(|state| state.create_after));
        dags.truncate(DAGS_PER_PASS);
        for index in dags.iter().filter(|index| !ready.contains_key(index)) {
            self.run_by_time(*index, at)?;
        }
        for index in dags {
            if let Some(newest) = ready.get(&index) {
                self.run_by_datasets(index, *newest, at)?;
            }
        }
        Ok(before..self.runs.len())
    }

    /// The Dags whose condition holds over what is queued and that have room for a run, with the newest queue row's time.
    fn ready(&self) -> HashMap<usize, DateTime<Utc>> {
        let mut ready = HashMap::new();
        for (index, state) in self.dags.iter().enumerate() {
            let rows: Vec<_> = self.queue.iter().filter(|row| row.dag_id == state.dag.dag_id).collect();
            let Some(newest) = rows.iter().map(|row| row.created_at).max() else { continue };
            let key = |uri: &str| AssetKey { name: uri.to_owned(), uri: uri.to_owned() };
            let states = rows.iter().filter_map(|row| self.uri(row.asset_id)).map(|uri| (key(uri), true)).collect();
            let holds = state.condition.as_ref().is_some_and(|condition| condition.evaluate(&states, &NoRegistry));
            let active = self.active_runs(&state.dag.dag_id);
            if holds && (active == 0 || active < state.dag.max_active_runs) {
                ready.insert(index, newest);
            }
        }
        ready
    }

    fn run_by_time(&mut self, index: usize, at: DateTime<Utc>) -> PyResult<()> {
        let Some(state) = self.dags.get(index) else { return Ok(()) };
        let Some((logical_date, interval)) = state.next_interval else { return Ok(()) };
        let (dag_id, limit) = (state.dag.dag_id.clone(), state.dag.max_active_runs);
        if !self.has_run(&dag_id, logical_date) {
            self.create("scheduled", &dag_id, logical_date, interval, Vec::new(), at)?;
        }
        let active = self.active_runs(&dag_id);
        let Some(state) = self.dags.get_mut(index) else { return Ok(()) };
        if active > 0 && active >= limit {
            state.create_after = None;
            return Ok(());
        }
        state.calculate_dates(Some(interval), at)
    }

    fn run_by_datasets(&mut self, index: usize, logical_date: DateTime<Utc>, at: DateTime<Utc>) -> PyResult<()> {
        let Some(state) = self.dags.get(index) else { return Ok(()) };
        let dag_id = state.dag.dag_id.clone();
        // Airflow leaves the queue as it is when there is a run of that date already: the Dag stays stuck until something is
        // queued later or the queue is cleared.
        if self.has_run(&dag_id, logical_date) {
            return Ok(());
        }
        let previous = self
            .runs
            .iter()
            .filter(|run| run.dag_id == dag_id && run.run_type == "dataset_triggered")
            .map(|run| run.logical_date)
            .filter(|date| *date < logical_date)
            .max();
        let consumed: Vec<i64> = self
            .events
            .iter()
            .filter(|event| state.datasets.contains(&event.dataset_id))
            .filter(|event| event.timestamp <= logical_date && previous.is_none_or(|date| event.timestamp > date))
            .map(|event| event.id)
            .collect();
        let interval = self.data_interval_for_events(logical_date, &consumed)?;
        self.create("dataset_triggered", &dag_id, logical_date, interval, consumed, at)?;
        self.queue.retain(|row| row.dag_id != dag_id);
        Ok(())
    }

    /// From the earliest start to the latest end of the events' source runs; an event without one counts by its time.
    fn data_interval_for_events(&self, logical_date: DateTime<Utc>, events: &[i64]) -> PyResult<DataInterval> {
        let mut span: Option<DataInterval> = None;
        for event in self.events.iter().filter(|event| events.contains(&event.id)) {
            let run = event.source.as_ref().and_then(|source| {
                self.runs.iter().find(|run| run.dag_id == source.dag_id && run.run_id == source.run_id)
            });
            let interval = match run {
                None => DataInterval::exact(event.timestamp),
                Some(run) => run.data_interval.ok_or_else(|| {
                    PyErr::unsupported(format!("a source run without a data interval ({}, {})", run.dag_id, run.run_id))
                })?,
            };
            span = Some(match span {
                None => interval,
                Some(span) => DataInterval { start: span.start.min(interval.start), end: span.end.max(interval.end) },
            });
        }
        Ok(span.unwrap_or(DataInterval::exact(logical_date)))
    }

    fn has_run(&self, dag_id: &str, logical_date: DateTime<Utc>) -> bool {
        self.runs.iter().any(|run| run.dag_id == dag_id && run.logical_date == logical_date)
    }

    fn create(
        &mut self,
        run_type: &str,
        dag_id: &str,
        logical_date: DateTime<Utc>,
        interval: DataInterval,
        consumed: Vec<i64>,
        at: DateTime<Utc>,
    ) -> PyResult<()> {
        let run_id = run_id(run_type, &isoformat(logical_date));
        if self.runs.iter().any(|run| run.dag_id == dag_id && run.run_id == run_id) {
            return Err(PyErr::unsupported(format!("a second run {run_id:?} of {dag_id:?}")));
        }
        self.runs.push(DatasetRun {
            dag_id: dag_id.to_owned(),
            run_id,
            run_type: run_type.to_owned(),
            logical_date,
            data_interval: Some(interval),
            external_trigger: false,
            state: "queued".to_owned(),
            queued_at: Some(at),
            start_date: None,
            end_date: None,
            consumed,
        });
        Ok(())
    }
}
