//! Reads what waits for more events: `asset_partition_dag_run` and what was counted for it.

use std::collections::BTreeMap;

use super::Database;
use crate::airflow::{PendingPartition, Queue, SourceError};
use crate::asset::{AssetEvent, AssetKey, EventSource};

impl Database {
    /// Everything that waits for more events.
    pub(super) fn waiting(&mut self) -> Result<Queue, SourceError> {
        let mut queue = Queue::default();
        let rows = self.connection.rows(
            "SELECT p.id, p.target_dag_id, p.partition_key, p.partition_date, p.rollup_fingerprint, p.created_at \
             FROM asset_partition_dag_run p WHERE p.created_dag_run_id IS NULL ORDER BY p.created_at, p.id",
        )?;
        let order = self.connection.row_order();
        let logs = self.connection.rows(&format!(
            "SELECT k.asset_partition_dag_run_id, k.source_partition_key, e.id, a.name, a.uri, e.extra, e.source_dag_id, \
             e.source_task_id, e.source_run_id, e.source_map_index, e.timestamp, e.partition_key \
             FROM partitioned_asset_key_log k JOIN asset_partition_dag_run p ON p.id = k.asset_partition_dag_run_id \
             JOIN asset_event e ON e.id = k.asset_event_id JOIN asset a ON a.id = k.asset_id \
             WHERE p.created_dag_run_id IS NULL ORDER BY k.id, k.{order}"
        ))?;
        let mut counted: BTreeMap<Option<i64>, Vec<(String, AssetEvent)>> = BTreeMap::new();
        for log in &logs {
            let source = log.text(6).zip(log.text(7)).zip(log.text(8)).map(|((dag_id, task_id), run_id)| EventSource {
                dag_id,
                task_id,
                run_id,
                map_index: log.int(9).unwrap_or(-1),
            });
            let event = AssetEvent {
                id: log.int(2).unwrap_or_default(),
                asset: AssetKey { name: log.string(3), uri: log.string(4) },
                timestamp: log.instant(10, "asset_event.timestamp")?.unwrap_or_default(),
                extra: log.json(5, "asset_event.extra")?,
                source,
                aliases: Vec::new(),
                partition_key: log.text(11),
                partition_date: None,
            };
            counted.entry(log.int(0)).or_default().push((log.string(1), event));
        }
        for row in &rows {
            queue.partitions.push(PendingPartition {
                dag_id: row.string(1),
                partition_key: row.string(2),
                partition_date: row.instant(3, "asset_partition_dag_run.partition_date")?,
                fingerprint: row.json(4, "asset_partition_dag_run.rollup_fingerprint")?,
                created_at: row.instant(5, "asset_partition_dag_run.created_at")?.unwrap_or_default(),
                events: counted.remove(&row.int(0)).unwrap_or_default(),
            });
        }
        let rows = self.connection.rows(
            "SELECT q.target_dag_id, a.name, a.uri, q.created_at FROM asset_dag_run_queue q \
             JOIN asset a ON a.id = q.asset_id ORDER BY q.created_at",
        )?;
        for row in &rows {
            let asset = AssetKey { name: row.string(1), uri: row.string(2) };
            queue.plain.push((
                row.string(0),
                asset,
                row.instant(3, "asset_dag_run_queue.created_at")?.unwrap_or_default(),
            ));
        }
        let rows = self.connection.rows(
            "SELECT a.name, a.uri, x.name FROM asset a LEFT JOIN asset_active x ON x.name = a.name AND x.uri = a.uri ORDER BY a.id",
        )?;
        for row in &rows {
            let asset = AssetKey { name: row.string(0), uri: row.string(1) };
            if row.text(2).is_some() { queue.active.push(asset) } else { queue.inactive.push(asset) }
        }
        Ok(queue)
    }
}
