//! The scheduler's pass over plain asset-triggered consumers.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::decision::{DateRule, Decision};
use super::rows::{NewRun, QueueRow};
use super::scheduler::{ConsumerDag, Scheduler, StoreRegistry, TickOutcome};
use super::store::Stored;
use crate::asset::{AssetCondition, AssetKey};

impl Scheduler {
    /// Runs of plain consumers whose condition holds over what is queued for them. A Dag that just got a partition run is
    /// left for the next pass. Airflow creates at most ten runs a pass, in no particular order; here every consumer that is
    /// ready gets its run.
    pub(super) fn plain_pass(
        &mut self,
        at: DateTime<Utc>,
        made: &HashSet<String>,
        outcome: &mut TickOutcome,
    ) -> Stored {
        let mut by_dag: HashMap<String, Vec<QueueRow>> = HashMap::new();
        for row in self.store.queue()? {
            by_dag.entry(row.dag_id.clone()).or_default().push(row);
        }
        if by_dag.is_empty() {
            return Ok(());
        }
        let assets: HashMap<i64, AssetKey> = self.store.assets()?.into_iter().map(|row| (row.id, row.key)).collect();
        let dags: Vec<ConsumerDag> = self.dags().cloned().collect();
        for dag in dags {
            let Some(rows) = by_dag.remove(&dag.dag_id) else { continue };
            let ids: Vec<i64> = rows.iter().map(|row| row.asset_id).collect();
            let Some(condition) = dag.timetable.asset_condition() else {
                // The Dag depends on no asset any more.
                self.store.dequeue(&dag.dag_id, &ids)?;
                continue;
            };
            let queued: Vec<AssetKey> = ids.iter().filter_map(|id| assets.get(id)).cloned().collect();
            if let Some(reason) = self.held_back(&dag, condition, &queued, made)? {
                let dag_id = dag.dag_id.clone();
                self.note(at, Decision::PlainWaiting { dag_id, queued, reason });
                continue;
            }
            self.plain_run(at, &dag, &rows, outcome)?;
        }
        Ok(())
    }

    fn held_back(
        &mut self,
        dag: &ConsumerDag,
        condition: &AssetCondition,
        queued: &[AssetKey],
        made: &HashSet<String>,
    ) -> Stored<Option<String>> {
        let states = queued.iter().map(|key| (key.clone(), true)).collect();
        if !condition.evaluate(&states, &StoreRegistry(self.store.as_ref())) {
            return Ok(Some("the asset condition is not met".to_owned()));
        }
        let active = self.store.active_runs(&dag.dag_id)?;
        if active >= dag.max_active_runs {
            return Ok(Some(format!("max_active_runs is {} and {active} runs are unfinished", dag.max_active_runs)));
        }
        if made.contains(&dag.dag_id) {
            return Ok(Some("the Dag got a partition run in this pass".to_owned()));
        }
        let row = self.store.add_dag(&dag.dag_id)?;
        Ok(match (row.paused, row.stale) {
            (true, _) => Some("the Dag is paused".to_owned()),
            (_, true) => Some("the Dag is stale".to_owned()),
            _ => None,
        })
    }

    /// The run takes every event of the Dag's assets, keyed or not, since its last run and up to the newest queue row.
    fn plain_run(
        &mut self,
        at: DateTime<Utc>,
        dag: &ConsumerDag,
        rows: &[QueueRow],
        outcome: &mut TickOutcome,
    ) -> Stored {
        let Some(triggered) = rows.iter().map(|row| row.created_at).max() else { return Ok(()) };
        let refs = self.store.schedule_refs(&dag.dag_id)?;
        let floor = match self.store.last_run_after(&dag.dag_id, triggered)? {
            Some(last) => Some(last),
            // Without catchup, events from before the Dag was scheduled on assets are no backlog.
            None if !dag.catchup => refs.iter().map(|row| row.created_at).min(),
            None => None,
        };
        let asset_ids: Vec<i64> = refs.iter().map(|row| row.asset_id).collect();
        let aliases = self.consumer(&dag.dag_id).map(|own| own.references.aliases.clone()).unwrap_or_default();
        let events = self.store.events_between(&asset_ids, &aliases, floor, triggered)?;
        let count = self.store.run_count(&dag.dag_id)?;
        let run = NewRun {
            dag_id: dag.dag_id.clone(),
            run_id: self.run_id(&dag.dag_id, None, count, triggered),
            partition_key: None,
            partition_date: None,
            run_after: triggered,
            events,
            pending_id: None,
        };
        let id = self.store.add_run(&run)?;
        let queued: Vec<i64> = rows.iter().map(|row| row.asset_id).collect();
        self.store.dequeue(&dag.dag_id, &queued)?;
        outcome.runs.push(id);
        self.note_run(at, id, run, DateRule::NotPartitioned);
        Ok(())
    }
}
