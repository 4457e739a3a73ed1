//! Dag runs with everything their templates read.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::Database;
use super::row::{Row, list, quoted};
use crate::airflow::{
    Needs, Page, PreviousRun, Queue, RunFilter, SerializedRow, Source, SourceError, StoredInstance, StoredRun,
    Surrounding, Values,
};
use crate::asset::Asset;
use crate::context::StoredEvent;

/// Columns of `dag_run` in the order that `head` reads them.
const RUN_COLUMNS: &str = "r.id, r.dag_id, r.run_id, r.run_type, r.state, r.logical_date, r.data_interval_start, \
     r.data_interval_end, r.run_after, r.start_date, r.end_date, r.clear_number, r.conf, r.triggering_user_name, \
     r.partition_key, r.partition_date, r.created_dag_version_id, n.content";

/// Runs read at a time.
const PAGE: usize = 200;

/// Earlier runs that are looked at for `prev_*_success`.
const PREVIOUS: usize = 20;

impl Database {
    /// The ids that a query gives, sorted here: databases sort text differently.
    fn sorted(&mut self, query: &str) -> Result<Vec<String>, SourceError> {
        let rows = self.connection.rows(query)?;
        let mut ids: Vec<String> = rows.iter().map(|row| row.string(0)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Events that runs consumed, in the order in which they are stored.
    fn consumed(&mut self, ids: &[i64]) -> Result<BTreeMap<i64, Vec<Json>>, SourceError> {
        let order = self.connection.row_order();
        let ids = list(ids.iter().map(ToString::to_string)).replace('\'', "");
        let rows = self.connection.rows(&format!(
            "SELECT l.dag_run_id, e.id, a.name, a.uri, a.extra, e.extra, e.source_task_id, e.source_dag_id, \
             e.source_run_id, e.source_map_index, e.timestamp, e.partition_key FROM dagrun_asset_event l \
             JOIN asset_event e ON e.id = l.event_id JOIN asset a ON a.id = e.asset_id \
             WHERE l.dag_run_id IN ({ids}) ORDER BY l.{order}"
        ))?;
        let mut aliases = self
            .aliases(&format!("x.event_id IN (SELECT event_id FROM dagrun_asset_event WHERE dag_run_id IN ({ids}))"))?;
        let mut found: BTreeMap<i64, Vec<Json>> = BTreeMap::new();
        for row in &rows {
            let names = aliases.entry(row.int(1).unwrap_or_default()).or_default().clone();
            let event = json!({
                "asset": {"name": row.text(2), "uri": row.text(3), "extra": object(row, 4, "asset.extra")?},
                "extra": object(row, 5, "asset_event.extra")?,
                "source_task_id": row.text(6), "source_dag_id": row.text(7), "source_run_id": row.text(8),
                "source_map_index": row.int(9),
                "source_aliases": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
                "timestamp": row.date(10, "asset_event.timestamp")?,
                "partition_key": row.text(11),
            });
            found.entry(row.int(0).unwrap_or_default()).or_default().push(event);
        }
        Ok(found)
    }

    /// Names of the aliases that events came through.
    fn aliases(&mut self, such: &str) -> Result<BTreeMap<i64, Vec<String>>, SourceError> {
        let order = self.connection.row_order();
        let rows = self.connection.rows(&format!(
            "SELECT x.event_id, s.name FROM asset_alias_asset_event x JOIN asset_alias s ON s.id = x.alias_id \
             WHERE {such} ORDER BY x.{order}"
        ))?;
        let mut found: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for row in &rows {
            found.entry(row.int(0).unwrap_or_default()).or_default().push(row.string(1));
        }
        Ok(found)
    }

    fn instances(
        &mut self,
        dag_id: &str,
        run_ids: &[String],
    ) -> Result<BTreeMap<String, Vec<StoredInstance>>, SourceError> {
        let rows = self.connection.rows(&format!(
            "SELECT t.run_id, t.task_id, t.map_index, t.try_number, t.max_tries, t.start_date, t.state, t.dag_version_id, \
             f.rendered_fields FROM task_instance t LEFT JOIN rendered_task_instance_fields f ON f.dag_id = t.dag_id \
             AND f.task_id = t.task_id AND f.run_id = t.run_id AND f.map_index = t.map_index \
             WHERE t.dag_id = {} AND t.run_id IN ({}) ORDER BY t.task_id, t.map_index",
            quoted(dag_id),
            list(run_ids)
        ))?;
        let mut found: BTreeMap<String, Vec<StoredInstance>> = BTreeMap::new();
        for row in &rows {
            let what = "rendered_task_instance_fields.rendered_fields";
            let rendered = match row.json(8, what)? {
                Json::Null => None,
                Json::Object(fields) => Some(fields),
                _ => return Err(SourceError::new(format!("{what} of {dag_id}.{} is no object", row.string(1)))),
            };
            found.entry(row.string(0)).or_default().push(StoredInstance {
                task_id: row.string(1),
                map_index: row.int(2).unwrap_or(-1),
                try_number: row.int(3).unwrap_or(1),
                max_tries: row.int(4).unwrap_or(0),
                start_date: row.instant(5, "task_instance.start_date")?,
                state: row.text(6),
                version: row.text(7),
                rendered,
            });
        }
        Ok(found)
    }

    fn xcoms(&mut self, dag_id: &str, run_ids: &[String]) -> Result<BTreeMap<String, Map<String, Json>>, SourceError> {
        let rows = self.connection.rows(&format!(
            "SELECT run_id, task_id, \"key\", map_index, value FROM xcom WHERE dag_id = {} AND run_id IN ({}) \
             ORDER BY run_id, task_id, \"key\", map_index",
            quoted(dag_id),
            list(run_ids)
        ))?;
        let mut found: BTreeMap<String, Map<String, Json>> = BTreeMap::new();
        for row in &rows {
            let (task_id, key) = (row.string(1), row.string(2));
            let value = row.json(4, &format!("the XCom {key} of {dag_id}.{task_id}"))?;
            let of_run = found.entry(row.string(0)).or_default();
            StoredRun::add_xcom(of_run, &task_id, &key, row.int(3).unwrap_or(-1), value);
        }
        Ok(found)
    }

    /// The successful runs before a logical date, latest first.
    fn previous(&mut self, dag_id: &str, logical_date: DateTime<Utc>) -> Result<Vec<PreviousRun>, SourceError> {
        let rows = self.connection.rows(&format!(
            "SELECT data_interval_start, data_interval_end, start_date, end_date FROM dag_run WHERE dag_id = {} \
             AND state = 'success' AND logical_date < {} ORDER BY logical_date DESC LIMIT {PREVIOUS}",
            quoted(dag_id),
            quoted(&logical_date.format("%Y-%m-%d %H:%M:%S%.6f").to_string())
        ))?;
        let mut runs = Vec::new();
        for row in &rows {
            let mut dates = Map::new();
            for (at, name) in
                ["data_interval_start", "data_interval_end", "start_date", "end_date"].into_iter().enumerate()
            {
                dates.insert(name.to_owned(), row.date(at, name)?);
            }
            runs.push(PreviousRun { dates, ended: row.instant(3, "dag_run.end_date")? });
        }
        Ok(runs)
    }

    fn events(&mut self) -> Result<Vec<StoredEvent>, SourceError> {
        let rows = self.connection.rows(
            "SELECT e.id, a.name, a.uri, a.extra, e.extra, e.source_task_id, e.source_dag_id, e.source_run_id, \
             e.source_map_index, e.timestamp, e.partition_key, a.\"group\" FROM asset_event e \
             JOIN asset a ON a.id = e.asset_id ORDER BY e.id",
        )?;
        let mut aliases = self.aliases("1 = 1")?;
        let mut events = Vec::with_capacity(rows.len());
        for row in &rows {
            let (name, uri) = (row.string(1), row.string(2));
            let (mut asset, _) = Asset::new(Some(&name), Some(&uri))
                .map_err(|error| SourceError::new(format!("the asset {name:?}: {}", error.message)))?;
            asset.extra = object(row, 3, "asset.extra")?;
            let Some(timestamp) = row.instant(9, "asset_event.timestamp")? else { continue };
            let id = row.int(0).unwrap_or_default();
            events.push(StoredEvent {
                id,
                asset,
                timestamp,
                extra: object(row, 4, "asset_event.extra")?.as_object().cloned().unwrap_or_default(),
                source_task_id: row.text(5),
                source_dag_id: row.text(6),
                source_run_id: row.text(7),
                source_map_index: row.int(8).map(i128::from),
                source_aliases: aliases.remove(&id).unwrap_or_default(),
                partition_key: row.text(10),
            });
        }
        Ok(events)
    }
}

/// A column of JSON that holds an object; null is an empty one.
fn object(row: &Row, at: usize, what: &str) -> Result<Json, SourceError> {
    Ok(match row.json(at, what)? {
        Json::Null => Json::Object(Map::new()),
        other => other,
    })
}

/// A run as its tasks get it (`TIRunContext.dag_run`): running, without an end.
fn dag_run(row: &Row, events: Vec<Json>) -> Result<Json, SourceError> {
    Ok(json!({
        "dag_id": row.text(1),
        "run_id": row.text(2),
        "run_type": row.text(3),
        "state": "running",
        "logical_date": row.date(5, "dag_run.logical_date")?,
        "data_interval_start": row.date(6, "dag_run.data_interval_start")?,
        "data_interval_end": row.date(7, "dag_run.data_interval_end")?,
        "run_after": row.date(8, "dag_run.run_after")?,
        "start_date": row.date(9, "dag_run.start_date")?,
        "end_date": null,
        "clear_number": row.int(11).unwrap_or(0),
        "conf": row.json(12, "dag_run.conf")?,
        "triggering_user_name": row.text(13),
        "consumed_asset_events": events,
        "partition_key": row.text(14),
        "partition_date": row.date(15, "dag_run.partition_date")?,
        "note": row.text(17),
    }))
}

impl Source for Database {
    fn name(&self) -> String {
        self.address.to_string()
    }

    fn dag_ids(&mut self) -> Result<Vec<String>, SourceError> {
        self.sorted("SELECT DISTINCT dag_id FROM serialized_dag")
    }

    fn rendered_dags(&mut self) -> Result<Vec<String>, SourceError> {
        self.sorted("SELECT DISTINCT dag_id FROM rendered_task_instance_fields")
    }

    fn run_ids(&mut self, dag_id: &str, most: usize) -> Result<Vec<String>, SourceError> {
        let rows = self.connection.rows(&format!(
            "SELECT run_id FROM dag_run WHERE dag_id = {} ORDER BY id DESC LIMIT {most}",
            quoted(dag_id)
        ))?;
        Ok(rows.iter().map(|row| row.string(0)).collect())
    }

    fn runs(&mut self, dag_id: &str, filter: &RunFilter, needs: Needs, after: i64) -> Result<Page, SourceError> {
        let mut such = format!("r.dag_id = {} AND r.id > {after}", quoted(dag_id));
        if let Some(run_id) = &filter.run_id {
            such.push_str(&format!(" AND r.run_id = {}", quoted(run_id)));
        }
        if let Some(key) = &filter.partition_key {
            such.push_str(&format!(" AND r.partition_key = {}", quoted(key)));
        }
        if filter.rendered {
            such.push_str(
                " AND EXISTS (SELECT 1 FROM rendered_task_instance_fields f WHERE f.dag_id = r.dag_id AND f.run_id = r.run_id)",
            );
        }
        let rows = self.connection.rows(&format!(
            "SELECT {RUN_COLUMNS} FROM dag_run r LEFT JOIN dag_run_note n ON n.dag_run_id = r.id \
             WHERE {such} ORDER BY r.id LIMIT {PAGE}"
        ))?;
        let next = (rows.len() == PAGE).then(|| rows.last().and_then(|row| row.int(0))).flatten();
        let ids: Vec<i64> = rows.iter().filter_map(|row| row.int(0)).collect();
        let run_ids: Vec<String> = rows.iter().map(|row| row.string(2)).collect();
        let mut events = self.consumed(&ids)?;
        let mut instances = self.instances(dag_id, &run_ids)?;
        let mut xcom = if needs.xcom { self.xcoms(dag_id, &run_ids)? } else { BTreeMap::new() };
        let mut runs = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = row.int(0).unwrap_or_default();
            let run_id = row.string(2);
            let logical_date = row.instant(5, "dag_run.logical_date")?;
            let previous = match logical_date {
                Some(date) if needs.previous => self.previous(dag_id, date)?,
                _ => Vec::new(),
            };
            runs.push(StoredRun {
                dag_id: row.string(1),
                dag_run: dag_run(row, events.remove(&id).unwrap_or_default())?,
                state: row.string(4),
                version: row.text(16),
                instances: instances.remove(&run_id).unwrap_or_default(),
                xcom: xcom.remove(&run_id).unwrap_or_default(),
                previous,
                run_id,
            });
        }
        Ok((runs, next))
    }

    fn values(&mut self) -> Result<Values, SourceError> {
        self.decrypted_values()
    }

    fn queue(&mut self) -> Result<Option<Queue>, SourceError> {
        self.waiting().map(Some)
    }

    fn surrounding(&mut self, text: &str) -> Result<Surrounding, SourceError> {
        let events = if text.contains("inlet_events") { Some(Arc::new(self.events()?)) } else { None };
        let mut dag_runs = Vec::new();
        if text.contains("source_dag_run") {
            let rows = self.connection.rows(&format!(
                "SELECT {RUN_COLUMNS} FROM dag_run r LEFT JOIN dag_run_note n ON n.dag_run_id = r.id WHERE EXISTS \
                 (SELECT 1 FROM asset_event e WHERE e.source_dag_id = r.dag_id AND e.source_run_id = r.run_id)"
            ))?;
            for row in &rows {
                let mut run = dag_run(row, Vec::new())?;
                // Another run is seen as it is now, not as its own tasks saw it.
                run["state"] = Json::from(row.string(4));
                run["end_date"] = row.date(10, "dag_run.end_date")?;
                dag_runs.push(run);
            }
        }
        Ok(Surrounding { events, dag_runs: Arc::new(dag_runs) })
    }

    fn serialized(&mut self, dag_id: &str, version: Option<&str>) -> Result<Option<SerializedRow>, SourceError> {
        match version {
            Some(version) => Ok(self.dag_rows(&format!("s.dag_version_id = {}", quoted(version)))?.into_iter().next()),
            None => Ok(self.latest_dags(&[dag_id.to_owned()])?.into_iter().next()),
        }
    }

    fn latest_dags(&mut self, dag_ids: &[String]) -> Result<Vec<SerializedRow>, SourceError> {
        let wanted = match dag_ids {
            [] => "1 = 1".to_owned(),
            ids => format!("s.dag_id IN ({})", list(ids)),
        };
        let stale = if dag_ids.is_empty() { self.stale_dags()? } else { Vec::new() };
        let mut dags = self.dag_rows(&format!(
            "{wanted} AND v.version_number = (SELECT max(o.version_number) FROM dag_version o \
             JOIN serialized_dag t ON t.dag_version_id = o.id WHERE o.dag_id = s.dag_id)"
        ))?;
        dags.retain(|dag| !stale.contains(&dag.dag_id));
        dags.sort_by(|one, other| one.dag_id.cmp(&other.dag_id));
        Ok(dags)
    }

    fn untold(&self, _text: &str) -> Option<String> {
        None
    }
}
