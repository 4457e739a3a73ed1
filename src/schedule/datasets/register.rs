//! Registering a dataset change (`airflow.datasets.manager.DatasetManager`).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::model::{DagState, DatasetEvent, DatasetScheduler, RegisterChange};
use crate::schedule::QueueRow;

impl DatasetScheduler {
    /// Records an event and queues the Dags that are scheduled on the dataset, or on an alias it comes through; the latter are
    /// to be parsed again unless they know the dataset. The event's id; `None` when there is no such dataset.
    ///
    /// Paused and inactive Dags are not queued; those with import errors are.
    pub fn register_dataset_change(&mut self, change: &RegisterChange, at: DateTime<Utc>) -> Option<i64> {
        let dataset_id = self.dataset(&change.uri)?.id;
        let id = self.events.last().map_or(1, |event| event.id + 1);
        let mut aliases: Vec<String> =
            change.aliases.iter().filter(|alias| self.aliases.iter().any(|row| row.name == **alias)).cloned().collect();
        aliases.sort();
        aliases.dedup();
        let listens = |state: &&DagState| state.is_active && !state.is_paused;
        let by_dataset = |state: &DagState| state.datasets.contains(&dataset_id);
        let by_alias = |state: &DagState| state.aliases.iter().any(|alias| aliases.contains(alias));
        let mut queued = Vec::new();
        for state in self.dags.iter().filter(listens) {
            let known = by_dataset(state);
            if !known && !by_alias(state) {
                continue;
            }
            if !known {
                self.reparse.insert(state.dag.dag_id.clone());
            }
            queued.push(state.dag.dag_id.clone());
        }
        self.events.push(DatasetEvent {
            id,
            dataset_id,
            timestamp: at,
            // The column's default takes the place of `None`.
            extra: if change.extra.is_null() { Json::Object(Map::new()) } else { change.extra.clone() },
            source: change.source.clone(),
            aliases,
        });
        for dag_id in queued {
            // A row that is there keeps its time.
            if !self.queue.iter().any(|row| row.dag_id == dag_id && row.asset_id == dataset_id) {
                self.queue.push(QueueRow { dag_id, asset_id: dataset_id, created_at: at });
            }
        }
        Some(id)
    }
}
