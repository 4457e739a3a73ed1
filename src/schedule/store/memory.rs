//! Rows in memory.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};

use super::{Store, Stored};
use crate::asset::{AssetEvent, AssetKey, AssetRef};
use crate::schedule::ScheduleError;
use crate::schedule::rows::{
    AssetRow, DagRow, DagRun, KeyLogRow, LogRow, NewEvent, NewPending, NewRun, PendingRow, QueueRow, RunState,
    ScheduleRef,
};

/// A store that lives as long as the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    assets: Vec<AssetRow>,
    asset_ids: HashMap<AssetKey, i64>,
    aliases: BTreeMap<String, Vec<i64>>,
    dags: BTreeMap<String, DagRow>,
    refs: Vec<ScheduleRef>,
    events: Vec<AssetEvent>,
    events_of_asset: HashMap<i64, Vec<i64>>,
    events_of_alias: HashMap<String, Vec<i64>>,
    logs: Vec<LogRow>,
    /// Rows without a run, by id.
    pending: BTreeMap<i64, PendingRow>,
    open: HashMap<(String, String), i64>,
    last_pending: i64,
    key_logs: HashMap<i64, Vec<KeyLogRow>>,
    queue: Vec<QueueRow>,
    runs: Vec<DagRun>,
    runs_of_dag: HashMap<String, Vec<usize>>,
    active: HashMap<String, usize>,
}

/// Ids are positions plus one.
fn at<T>(rows: &[T], id: i64) -> Option<&T> {
    usize::try_from(id - 1).ok().and_then(|index| rows.get(index))
}

fn next_id<T>(rows: &[T]) -> i64 {
    i64::try_from(rows.len()).unwrap_or(i64::MAX - 1) + 1
}

impl MemoryStore {
    fn missing(what: &str, id: i64) -> ScheduleError {
        ScheduleError::Store(format!("there is no {what} {id}"))
    }

    fn rows_of(&self, ids: &[i64]) -> Vec<AssetRow> {
        ids.iter().filter_map(|id| at(&self.assets, *id)).cloned().collect()
    }
}

impl Store for MemoryStore {
    fn begin(&mut self) -> Stored {
        Ok(())
    }

    fn commit(&mut self) -> Stored {
        Ok(())
    }

    fn rollback(&mut self) {}

    fn newest(&self) -> Stored<Option<DateTime<Utc>>> {
        let event = self.events.last().map(|event| event.timestamp);
        Ok(event.max(self.runs.last().map(|run| run.run.run_after)))
    }

    fn add_asset(&mut self, key: &AssetKey) -> Stored<i64> {
        if let Some(id) = self.asset_ids.get(key) {
            return Ok(*id);
        }
        let id = next_id(&self.assets);
        self.assets.push(AssetRow { id, key: key.clone(), active: true });
        self.asset_ids.insert(key.clone(), id);
        Ok(id)
    }

    fn asset(&self, key: &AssetKey) -> Stored<Option<AssetRow>> {
        Ok(self.asset_ids.get(key).and_then(|id| at(&self.assets, *id)).cloned())
    }

    fn assets(&self) -> Stored<Vec<AssetRow>> {
        Ok(self.assets.clone())
    }

    fn resolve_ref(&self, reference: &AssetRef) -> Stored<Option<AssetRow>> {
        let matches = |row: &&AssetRow| {
            row.active
                && match reference {
                    AssetRef::Name(name) => row.key.name == *name,
                    AssetRef::Uri(uri) => row.key.uri == *uri,
                }
        };
        Ok(self.assets.iter().find(matches).cloned())
    }

    fn set_active(&mut self, asset_id: i64, active: bool) -> Stored {
        let row = self.assets.iter_mut().find(|row| row.id == asset_id);
        row.ok_or_else(|| Self::missing("asset", asset_id))?.active = active;
        Ok(())
    }

    fn associate(&mut self, alias: &str, asset_id: i64) -> Stored {
        let assets = self.aliases.entry(alias.to_owned()).or_default();
        if !assets.contains(&asset_id) {
            assets.push(asset_id);
        }
        Ok(())
    }

    fn assets_of_alias(&self, alias: &str) -> Stored<Vec<AssetRow>> {
        Ok(self.aliases.get(alias).map(|ids| self.rows_of(ids)).unwrap_or_default())
    }

    fn add_dag(&mut self, dag_id: &str) -> Stored<DagRow> {
        let new = || DagRow { dag_id: dag_id.to_owned(), paused: false, stale: false };
        Ok(self.dags.entry(dag_id.to_owned()).or_insert_with(new).clone())
    }

    fn dag(&self, dag_id: &str) -> Stored<Option<DagRow>> {
        Ok(self.dags.get(dag_id).cloned())
    }

    fn set_dag(&mut self, row: &DagRow) -> Stored {
        self.dags.insert(row.dag_id.clone(), row.clone());
        Ok(())
    }

    fn schedule_refs(&self, dag_id: &str) -> Stored<Vec<ScheduleRef>> {
        Ok(self.refs.iter().filter(|row| row.dag_id == dag_id).cloned().collect())
    }

    fn set_schedule_refs(&mut self, dag_id: &str, asset_ids: &[i64], at: DateTime<Utc>) -> Stored {
        self.refs.retain(|row| row.dag_id != dag_id || asset_ids.contains(&row.asset_id));
        for asset_id in asset_ids {
            if !self.refs.iter().any(|row| row.dag_id == dag_id && row.asset_id == *asset_id) {
                self.refs.push(ScheduleRef { dag_id: dag_id.to_owned(), asset_id: *asset_id, created_at: at });
            }
        }
        Ok(())
    }

    fn add_event(&mut self, event: &NewEvent) -> Stored<i64> {
        let asset = self.assets.iter().find(|row| row.id == event.asset_id);
        let asset = asset.ok_or_else(|| Self::missing("asset", event.asset_id))?;
        let id = next_id(&self.events);
        self.events_of_asset.entry(event.asset_id).or_default().push(id);
        for alias in &event.aliases {
            self.events_of_alias.entry(alias.clone()).or_default().push(id);
        }
        self.events.push(AssetEvent {
            id,
            asset: asset.key.clone(),
            timestamp: event.timestamp,
            extra: event.extra.clone(),
            source: event.source.clone(),
            aliases: event.aliases.clone(),
            partition_key: event.partition_key.clone(),
            partition_date: event.partition_date,
        });
        Ok(id)
    }

    fn event(&self, event_id: i64) -> Stored<Option<AssetEvent>> {
        Ok(at(&self.events, event_id).cloned())
    }

    fn events_between(
        &self,
        asset_ids: &[i64],
        aliases: &[String],
        after: Option<DateTime<Utc>>,
        until: DateTime<Utc>,
    ) -> Stored<Vec<i64>> {
        let of_assets = asset_ids.iter().filter_map(|id| self.events_of_asset.get(id));
        let of_aliases = aliases.iter().filter_map(|alias| self.events_of_alias.get(alias));
        let mut found: Vec<i64> = Vec::new();
        for events in of_assets.chain(of_aliases) {
            let time = |id: &i64| at(&self.events, *id).map(|event| event.timestamp);
            // Ids rise with time, so the window is a run at the end of the list.
            let first = events.partition_point(|id| time(id).zip(after).is_some_and(|(time, after)| time <= after));
            found.extend(events.iter().skip(first).filter(|id| time(id).is_some_and(|time| time <= until)));
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn add_log(&mut self, row: &LogRow) -> Stored {
        self.logs.push(row.clone());
        Ok(())
    }

    fn logs(&self) -> Stored<Vec<LogRow>> {
        Ok(self.logs.clone())
    }

    fn open_pending(&self, dag_id: &str, partition_key: &str) -> Stored<Option<PendingRow>> {
        let id = self.open.get(&(dag_id.to_owned(), partition_key.to_owned()));
        Ok(id.and_then(|id| self.pending.get(id)).cloned())
    }

    fn add_pending(&mut self, row: &NewPending) -> Stored<i64> {
        self.last_pending += 1;
        let id = self.last_pending;
        self.open.insert((row.dag_id.clone(), row.partition_key.clone()), id);
        self.pending.insert(
            id,
            PendingRow {
                id,
                dag_id: row.dag_id.clone(),
                partition_key: row.partition_key.clone(),
                partition_date: row.partition_date,
                fingerprint: row.fingerprint.clone(),
                created_at: row.created_at,
                run_id: None,
            },
        );
        Ok(id)
    }

    fn set_pending_date(&mut self, pending_id: i64, date: Option<DateTime<Utc>>) -> Stored {
        let row = self.pending.get_mut(&pending_id).ok_or_else(|| Self::missing("pending row", pending_id))?;
        row.partition_date = date;
        Ok(())
    }

    fn pending(&self, include_stale: bool, limit: Option<usize>) -> Stored<Vec<PendingRow>> {
        let stale = |row: &&PendingRow| self.dags.get(&row.dag_id).is_some_and(|dag| dag.stale);
        let rows = self.pending.values().filter(|row| include_stale || !stale(row));
        Ok(rows.take(limit.unwrap_or(usize::MAX)).cloned().collect())
    }

    fn delete_pending(&mut self, pending_ids: &[i64]) -> Stored {
        for id in pending_ids {
            self.key_logs.remove(id);
            if let Some(row) = self.pending.remove(id) {
                self.open.remove(&(row.dag_id, row.partition_key));
            }
        }
        Ok(())
    }

    fn add_key_log(&mut self, row: &KeyLogRow) -> Stored {
        self.key_logs.entry(row.pending_id).or_default().push(row.clone());
        Ok(())
    }

    fn key_logs(&self, pending_id: i64) -> Stored<Vec<KeyLogRow>> {
        Ok(self.key_logs.get(&pending_id).cloned().unwrap_or_default())
    }

    fn enqueue(&mut self, row: &QueueRow) -> Stored<bool> {
        let known = self.queue.iter().any(|known| known.dag_id == row.dag_id && known.asset_id == row.asset_id);
        if !known {
            self.queue.push(row.clone());
        }
        Ok(!known)
    }

    fn queue(&self) -> Stored<Vec<QueueRow>> {
        Ok(self.queue.clone())
    }

    fn dequeue(&mut self, dag_id: &str, asset_ids: &[i64]) -> Stored<usize> {
        let before = self.queue.len();
        self.queue.retain(|row| row.dag_id != dag_id || !asset_ids.contains(&row.asset_id));
        Ok(before - self.queue.len())
    }

    fn add_run(&mut self, run: &NewRun) -> Stored<i64> {
        let id = next_id(&self.runs);
        if let Some(row) = run.pending_id.and_then(|pending_id| self.pending.remove(&pending_id)) {
            self.open.remove(&(row.dag_id, row.partition_key));
        }
        self.runs_of_dag.entry(run.dag_id.clone()).or_default().push(self.runs.len());
        *self.active.entry(run.dag_id.clone()).or_default() += 1;
        self.runs.push(DagRun { id, run: run.clone(), state: RunState::Queued });
        Ok(id)
    }

    fn runs(&self) -> Stored<Vec<DagRun>> {
        Ok(self.runs.clone())
    }

    fn runs_after(&self, run_id: i64) -> Stored<Vec<DagRun>> {
        let first = self.runs.partition_point(|run| run.id <= run_id);
        Ok(self.runs.get(first..).unwrap_or_default().to_vec())
    }

    fn active_runs(&self, dag_id: &str) -> Stored<usize> {
        Ok(self.active.get(dag_id).copied().unwrap_or(0))
    }

    fn run_count(&self, dag_id: &str) -> Stored<usize> {
        Ok(self.runs_of_dag.get(dag_id).map_or(0, Vec::len))
    }

    fn last_run_after(&self, dag_id: &str, before: DateTime<Utc>) -> Stored<Option<DateTime<Utc>>> {
        let runs = self.runs_of_dag.get(dag_id).into_iter().flatten().filter_map(|index| self.runs.get(*index));
        Ok(runs.map(|run| run.run.run_after).filter(|run_after| *run_after < before).max())
    }

    fn finish_runs(&mut self, dag_id: &str, run: Option<i64>, state: RunState) -> Stored {
        let Some(indexes) = self.runs_of_dag.get(dag_id) else { return Ok(()) };
        for index in indexes {
            let Some(row) = self.runs.get_mut(*index) else { continue };
            if run.is_none_or(|run| run == row.id) && row.state == RunState::Queued {
                row.state = state;
                if let Some(active) = self.active.get_mut(dag_id) {
                    *active = active.saturating_sub(1);
                }
            }
        }
        Ok(())
    }
}
