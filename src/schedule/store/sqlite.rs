//! Rows in a SQLite file, shared by any number of processes.
//!
//! The journal is a write-ahead log that is synced at every commit: what was committed survives a crash of the process and
//! of the machine. A transaction takes the write lock at its start and waits for others to give it up. Times are stored as
//! microseconds since 1970 in UTC, JSON as text.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, ToSql, params, params_from_iter};
use serde_json::Value as Json;

use super::{Store, Stored};
use crate::asset::{AssetEvent, AssetKey, AssetRef, EventSource};
use crate::schedule::ScheduleError;
use crate::schedule::rows::{
    AssetRow, DagRow, DagRun, KeyLogRow, LogRow, NewEvent, NewPending, NewRun, PendingRow, QueueRow, RunState,
    ScheduleRef,
};

/// What `PRAGMA application_id` holds: the file is partita's.
const APPLICATION: i32 = 0x7061_7274;
/// What `PRAGMA user_version` holds: the version of the tables below.
const VERSION: i32 = 1;
/// How a SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How long a transaction waits for the lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tables, named after Airflow's.
const TABLES: &str = "
CREATE TABLE asset (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, uri TEXT NOT NULL, active INTEGER NOT NULL,
    UNIQUE (name, uri));
CREATE TABLE asset_alias (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, asset_id INTEGER NOT NULL REFERENCES asset, UNIQUE (name, asset_id));
CREATE TABLE dag (dag_id TEXT PRIMARY KEY, is_paused INTEGER NOT NULL, is_stale INTEGER NOT NULL);
CREATE TABLE dag_schedule_asset_reference (
    dag_id TEXT NOT NULL, asset_id INTEGER NOT NULL REFERENCES asset, created_at INTEGER NOT NULL,
    PRIMARY KEY (dag_id, asset_id));
CREATE TABLE asset_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT, asset_id INTEGER NOT NULL REFERENCES asset, timestamp INTEGER NOT NULL,
    extra TEXT NOT NULL, source_dag_id TEXT, source_task_id TEXT, source_run_id TEXT, source_map_index INTEGER,
    partition_key TEXT, partition_date INTEGER);
CREATE INDEX asset_event_time ON asset_event (asset_id, timestamp);
CREATE TABLE asset_alias_asset_event (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, event_id INTEGER NOT NULL REFERENCES asset_event);
CREATE INDEX asset_alias_asset_event_event ON asset_alias_asset_event (event_id);
CREATE INDEX asset_alias_asset_event_name ON asset_alias_asset_event (name, event_id);
CREATE TABLE asset_partition_dag_run (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target_dag_id TEXT NOT NULL, partition_key TEXT NOT NULL,
    partition_date INTEGER, rollup_fingerprint TEXT NOT NULL, created_at INTEGER NOT NULL, created_dag_run_id INTEGER);
CREATE INDEX asset_partition_dag_run_key ON asset_partition_dag_run (target_dag_id, partition_key, id);
CREATE INDEX asset_partition_dag_run_open ON asset_partition_dag_run (id) WHERE created_dag_run_id IS NULL;
CREATE TABLE partitioned_asset_key_log (
    id INTEGER PRIMARY KEY, asset_id INTEGER NOT NULL, asset_event_id INTEGER NOT NULL,
    asset_partition_dag_run_id INTEGER NOT NULL, source_partition_key TEXT NOT NULL);
CREATE INDEX partitioned_asset_key_log_run ON partitioned_asset_key_log (asset_partition_dag_run_id, id);
CREATE TABLE asset_dag_run_queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target_dag_id TEXT NOT NULL, asset_id INTEGER NOT NULL REFERENCES asset,
    created_at INTEGER NOT NULL, UNIQUE (target_dag_id, asset_id));
CREATE TABLE dag_run (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dag_id TEXT NOT NULL, run_id TEXT NOT NULL, partition_key TEXT,
    partition_date INTEGER, run_after INTEGER NOT NULL, state TEXT NOT NULL, pending_id INTEGER);
CREATE INDEX dag_run_dag ON dag_run (dag_id, run_after);
CREATE TABLE dagrun_asset_event (
    dag_run_id INTEGER NOT NULL REFERENCES dag_run, position INTEGER NOT NULL, event_id INTEGER NOT NULL,
    PRIMARY KEY (dag_run_id, position)) WITHOUT ROWID;
CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dttm INTEGER NOT NULL, event TEXT NOT NULL, extra TEXT NOT NULL,
    dag_id TEXT, task_id TEXT, run_id TEXT, map_index INTEGER);
";

/// A store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    /// Transactions open; all but the first are savepoints.
    depth: usize,
}

impl From<rusqlite::Error> for ScheduleError {
    fn from(error: rusqlite::Error) -> Self {
        ScheduleError::Store(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                format!(
                    "another process holds the file locked (waited {} seconds): try again when that is done",
                    PATIENCE.as_secs()
                )
            }
            Some(ErrorCode::ReadOnly) => {
                "the file is read-only, and the pipeline's Dags are written to it first: work on a copy".to_owned()
            }
            _ => error.to_string(),
        })
    }
}

impl SqliteStore {
    /// Opens the file, making it if it is not there.
    ///
    /// # Errors
    /// When it cannot be opened, is no store of partita's, or is one of a newer version.
    pub fn open(path: &Path) -> Stored<Self> {
        if !is_free(path) {
            return Err(ScheduleError::Store(format!(
                "{} is not a database, and no store of partita's",
                path.display()
            )));
        }
        let connection = Connection::open(path)
            .map_err(|error| ScheduleError::Store(format!("{} cannot be opened: {error}", path.display())))?;
        Self::prepare(connection)
            .map_err(|error| ScheduleError::Store(format!("{}: {}", path.display(), store_text(&error))))
    }

    fn prepare(connection: Connection) -> Stored<Self> {
        connection.busy_timeout(PATIENCE)?;
        let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i32>(0));
        let foreign = |application: i32, version: i32| match (application, version) {
            (APPLICATION, VERSION) => None,
            (APPLICATION, newer) => {
                Some(format!("the store has version {newer}, this partita knows version {VERSION}"))
            }
            _ => Some("the file is a SQLite database, but no store of partita's".to_owned()),
        };
        let marks = || -> Stored<(i32, i32)> { Ok((pragma("application_id")?, pragma("user_version")?)) };
        let tables = || connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        // Without tables and marks it is a new file, or one that another process is about to fill.
        if tables()? == 0 && marks()? == (0, 0) {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // Another process may be doing the same: whoever gets the lock first makes the tables.
            connection.execute_batch("BEGIN IMMEDIATE")?;
            if tables()? == 0 {
                connection.execute_batch(TABLES)?;
                connection.pragma_update(None, "application_id", APPLICATION)?;
                connection.pragma_update(None, "user_version", VERSION)?;
            }
            connection.execute_batch("COMMIT")?;
        }
        let (application, version) = marks()?;
        if let Some(problem) = foreign(application, version) {
            return Err(ScheduleError::Store(problem));
        }
        // FULL syncs the log at every commit; NORMAL would only do so at checkpoints.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(SqliteStore { connection, depth: 0 })
    }

    fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Stored<usize> {
        Ok(self.connection.prepare_cached(sql)?.execute(values)?)
    }

    fn insert(&self, sql: &str, values: &[&dyn ToSql]) -> Stored<i64> {
        Ok(self.connection.prepare_cached(sql)?.insert(values)?)
    }

    fn one<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Stored<Option<T>> {
        Ok(self.connection.prepare_cached(sql)?.query_row(values, read).optional()?)
    }

    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Stored<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, read)?;
        Ok(rows.collect::<rusqlite::Result<Vec<T>>>()?)
    }

    /// Runs a statement with a list of ids in the place of `{}`, in slices that SQLite takes.
    fn with_ids(&self, sql: &str, first: &[Value], ids: &[i64]) -> Stored<usize> {
        let mut changed = 0;
        for slice in ids.chunks(500) {
            let marks = vec!["?"; slice.len()].join(",");
            let values = first.iter().cloned().chain(slice.iter().map(|id| Value::Integer(*id)));
            changed += self.connection.prepare_cached(&sql.replace("{}", &marks))?.execute(params_from_iter(values))?;
        }
        Ok(changed)
    }

    fn count(&self, sql: &str, dag_id: &str) -> Stored<usize> {
        let count: Option<i64> = self.one(sql, params![dag_id], |row| row.get(0))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0))
    }

    fn run_rows(&self, filter: &str, values: &[&dyn ToSql]) -> Stored<Vec<DagRun>> {
        let sql = format!(
            "SELECT id, dag_id, run_id, partition_key, partition_date, run_after, state, pending_id FROM dag_run {filter}"
        );
        let mut runs = self.all(&sql, values, |row| {
            Ok((
                DagRun {
                    id: row.get(0)?,
                    run: NewRun {
                        dag_id: row.get(1)?,
                        run_id: row.get(2)?,
                        partition_key: row.get(3)?,
                        partition_date: optional_instant(row, 4)?,
                        run_after: instant_at(row, 5)?,
                        events: Vec::new(),
                        pending_id: row.get(7)?,
                    },
                    state: RunState::Queued,
                },
                row.get::<_, String>(6)?,
            ))
        })?;
        let mut found = Vec::with_capacity(runs.len());
        for (run, state) in &mut runs {
            run.state = match state.as_str() {
                "success" => RunState::Success,
                "failed" => RunState::Failed,
                _ => RunState::Queued,
            };
            run.run.events = self.all(
                "SELECT event_id FROM dagrun_asset_event WHERE dag_run_id = ? ORDER BY position",
                params![run.id],
                |row| row.get(0),
            )?;
            found.push(run.clone());
        }
        Ok(found)
    }
}

/// Whether a file may be opened as a store: it is not there, is empty, or begins as a SQLite database does. SQLite itself takes
/// shorter files for empty ones and writes over them.
fn is_free(path: &Path) -> bool {
    let mut start = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start)) {
        Ok(_) => start.is_empty() || start == MAGIC,
        // SQLite says why.
        Err(_) => true,
    }
}

fn store_text(error: &ScheduleError) -> String {
    match error {
        ScheduleError::Store(text) => text.clone(),
        other => other.to_string(),
    }
}

fn instant(micros: i64) -> Stored<DateTime<Utc>> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| ScheduleError::Store(format!("{micros} is no time")))
}

/// A column that holds a time; a value outside of the calendar is a damaged file.
fn instant_at(row: &Row<'_>, column: usize) -> rusqlite::Result<DateTime<Utc>> {
    let micros: i64 = row.get(column)?;
    DateTime::from_timestamp_micros(micros).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, micros))
}

fn optional_instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<DateTime<Utc>>> {
    match row.get::<_, Option<i64>>(column)? {
        Some(_) => instant_at(row, column).map(Some),
        None => Ok(None),
    }
}

fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

fn json_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Json> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn source_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<EventSource>> {
    let Some(dag_id) = row.get::<_, Option<String>>(column)? else { return Ok(None) };
    Ok(Some(EventSource {
        dag_id,
        task_id: row.get(column + 1)?,
        run_id: row.get(column + 2)?,
        map_index: row.get(column + 3)?,
    }))
}

fn asset_row(row: &Row<'_>) -> rusqlite::Result<AssetRow> {
    Ok(AssetRow { id: row.get(0)?, key: AssetKey { name: row.get(1)?, uri: row.get(2)? }, active: row.get(3)? })
}

fn pending_row(row: &Row<'_>) -> rusqlite::Result<PendingRow> {
    Ok(PendingRow {
        id: row.get(0)?,
        dag_id: row.get(1)?,
        partition_key: row.get(2)?,
        partition_date: optional_instant(row, 3)?,
        fingerprint: json_at(row, 4)?,
        created_at: instant_at(row, 5)?,
        run_id: row.get(6)?,
    })
}

const PENDING: &str = "SELECT p.id, p.target_dag_id, p.partition_key, p.partition_date, p.rollup_fingerprint, \
                       p.created_at, p.created_dag_run_id FROM asset_partition_dag_run p";

fn state_name(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "queued",
        RunState::Success => "success",
        RunState::Failed => "failed",
    }
}

impl Store for SqliteStore {
    fn begin(&mut self) -> Stored {
        if self.depth == 0 {
            self.run("BEGIN IMMEDIATE", &[])?;
        } else {
            self.connection.execute_batch(&format!("SAVEPOINT level{}", self.depth))?;
        }
        self.depth += 1;
        Ok(())
    }

    fn commit(&mut self) -> Stored {
        match self.depth {
            0 => Err(ScheduleError::Store("there is no transaction to commit".to_owned())),
            1 => {
                self.run("COMMIT", &[])?;
                self.depth = 0;
                Ok(())
            }
            depth => {
                self.connection.execute_batch(&format!("RELEASE level{}", depth - 1))?;
                self.depth -= 1;
                Ok(())
            }
        }
    }

    fn rollback(&mut self) {
        // When this fails there is no transaction any more: SQLite ended it.
        let _ = match self.depth {
            0 => Ok(()),
            1 => self.connection.execute_batch("ROLLBACK"),
            depth => {
                let level = depth - 1;
                self.connection.execute_batch(&format!("ROLLBACK TO level{level}; RELEASE level{level}"))
            }
        };
        self.depth = self.depth.saturating_sub(1);
    }

    fn newest(&self) -> Stored<Option<DateTime<Utc>>> {
        let newest: Option<i64> = self.connection.query_row(
            "SELECT max(t) FROM (SELECT max(timestamp) AS t FROM (SELECT timestamp FROM asset_event ORDER BY id DESC \
             LIMIT 1) UNION ALL SELECT max(run_after) FROM (SELECT run_after FROM dag_run ORDER BY id DESC LIMIT 1))",
            [],
            |row| row.get(0),
        )?;
        newest.map(instant).transpose()
    }

    fn add_asset(&mut self, key: &AssetKey) -> Stored<i64> {
        if let Some(row) = self.asset(key)? {
            return Ok(row.id);
        }
        self.insert("INSERT INTO asset (name, uri, active) VALUES (?, ?, 1)", params![key.name, key.uri])
    }

    fn asset(&self, key: &AssetKey) -> Stored<Option<AssetRow>> {
        self.one(
            "SELECT id, name, uri, active FROM asset WHERE name = ? AND uri = ?",
            params![key.name, key.uri],
            asset_row,
        )
    }

    fn assets(&self) -> Stored<Vec<AssetRow>> {
        self.all("SELECT id, name, uri, active FROM asset ORDER BY id", &[], asset_row)
    }

    fn resolve_ref(&self, reference: &AssetRef) -> Stored<Option<AssetRow>> {
        let (column, text) = match reference {
            AssetRef::Name(name) => ("name", name),
            AssetRef::Uri(uri) => ("uri", uri),
        };
        let sql = format!("SELECT id, name, uri, active FROM asset WHERE {column} = ? AND active ORDER BY id LIMIT 1");
        self.one(&sql, params![text], asset_row)
    }

    fn set_active(&mut self, asset_id: i64, active: bool) -> Stored {
        match self.run("UPDATE asset SET active = ? WHERE id = ?", params![active, asset_id])? {
            0 => Err(ScheduleError::Store(format!("there is no asset {asset_id}"))),
            _ => Ok(()),
        }
    }

    fn associate(&mut self, alias: &str, asset_id: i64) -> Stored {
        self.run("INSERT OR IGNORE INTO asset_alias (name, asset_id) VALUES (?, ?)", params![alias, asset_id])?;
        Ok(())
    }

    fn assets_of_alias(&self, alias: &str) -> Stored<Vec<AssetRow>> {
        self.all(
            "SELECT a.id, a.name, a.uri, a.active FROM asset_alias l JOIN asset a ON a.id = l.asset_id \
             WHERE l.name = ? ORDER BY l.id",
            params![alias],
            asset_row,
        )
    }

    fn add_dag(&mut self, dag_id: &str) -> Stored<DagRow> {
        self.run("INSERT OR IGNORE INTO dag (dag_id, is_paused, is_stale) VALUES (?, 0, 0)", params![dag_id])?;
        self.dag(dag_id)?.ok_or_else(|| ScheduleError::UnknownDag(dag_id.to_owned()))
    }

    fn dag(&self, dag_id: &str) -> Stored<Option<DagRow>> {
        self.one("SELECT is_paused, is_stale FROM dag WHERE dag_id = ?", params![dag_id], |row| {
            Ok(DagRow { dag_id: dag_id.to_owned(), paused: row.get(0)?, stale: row.get(1)? })
        })
    }

    fn set_dag(&mut self, row: &DagRow) -> Stored {
        self.run(
            "INSERT INTO dag (dag_id, is_paused, is_stale) VALUES (?, ?, ?) \
             ON CONFLICT (dag_id) DO UPDATE SET is_paused = excluded.is_paused, is_stale = excluded.is_stale",
            params![row.dag_id, row.paused, row.stale],
        )?;
        Ok(())
    }

    fn schedule_refs(&self, dag_id: &str) -> Stored<Vec<ScheduleRef>> {
        self.all(
            "SELECT asset_id, created_at FROM dag_schedule_asset_reference WHERE dag_id = ? ORDER BY rowid",
            params![dag_id],
            |row| {
                let created_at = instant_at(row, 1)?;
                Ok(ScheduleRef { dag_id: dag_id.to_owned(), asset_id: row.get(0)?, created_at })
            },
        )
    }

    fn set_schedule_refs(&mut self, dag_id: &str, asset_ids: &[i64], at: DateTime<Utc>) -> Stored {
        let known = self.schedule_refs(dag_id)?;
        for row in known.iter().filter(|row| !asset_ids.contains(&row.asset_id)) {
            self.run(
                "DELETE FROM dag_schedule_asset_reference WHERE dag_id = ? AND asset_id = ?",
                params![dag_id, row.asset_id],
            )?;
        }
        for asset_id in asset_ids.iter().filter(|id| !known.iter().any(|row| row.asset_id == **id)) {
            self.run(
                "INSERT OR IGNORE INTO dag_schedule_asset_reference (dag_id, asset_id, created_at) VALUES (?, ?, ?)",
                params![dag_id, asset_id, micros(at)],
            )?;
        }
        Ok(())
    }

    fn add_event(&mut self, event: &NewEvent) -> Stored<i64> {
        let source = event.source.as_ref();
        let id = self.insert(
            "INSERT INTO asset_event (asset_id, timestamp, extra, source_dag_id, source_task_id, source_run_id, \
             source_map_index, partition_key, partition_date) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                event.asset_id,
                micros(event.timestamp),
                event.extra.to_string(),
                source.map(|source| &source.dag_id),
                source.map(|source| &source.task_id),
                source.map(|source| &source.run_id),
                source.map(|source| source.map_index),
                event.partition_key,
                event.partition_date.map(micros),
            ],
        )?;
        for alias in &event.aliases {
            self.run("INSERT INTO asset_alias_asset_event (name, event_id) VALUES (?, ?)", params![alias, id])?;
        }
        Ok(id)
    }

    fn event(&self, event_id: i64) -> Stored<Option<AssetEvent>> {
        let found = self.one(
            "SELECT e.id, a.name, a.uri, e.timestamp, e.extra, e.source_dag_id, e.source_task_id, e.source_run_id, \
             e.source_map_index, e.partition_key, e.partition_date FROM asset_event e JOIN asset a ON a.id = e.asset_id \
             WHERE e.id = ?",
            params![event_id],
            |row| {
                Ok(AssetEvent {
                    id: row.get(0)?,
                    asset: AssetKey { name: row.get(1)?, uri: row.get(2)? },
                    timestamp: instant_at(row, 3)?,
                    extra: json_at(row, 4)?,
                    source: source_at(row, 5)?,
                    aliases: Vec::new(),
                    partition_key: row.get(9)?,
                    partition_date: optional_instant(row, 10)?,
                })
            },
        )?;
        let Some(mut event) = found else { return Ok(None) };
        event.aliases = self.all(
            "SELECT name FROM asset_alias_asset_event WHERE event_id = ? ORDER BY id",
            params![event_id],
            |row| row.get(0),
        )?;
        Ok(Some(event))
    }

    fn events_between(
        &self,
        asset_ids: &[i64],
        aliases: &[String],
        after: Option<DateTime<Utc>>,
        until: DateTime<Utc>,
    ) -> Stored<Vec<i64>> {
        let (after, until) = (after.map_or(i64::MIN, micros), micros(until));
        let mut found: Vec<i64> = Vec::new();
        for asset_id in asset_ids {
            found.extend(self.all(
                "SELECT id FROM asset_event WHERE asset_id = ? AND timestamp > ? AND timestamp <= ?",
                params![asset_id, after, until],
                |row| row.get::<_, i64>(0),
            )?);
        }
        for alias in aliases {
            found.extend(self.all(
                "SELECT e.id FROM asset_alias_asset_event l JOIN asset_event e ON e.id = l.event_id \
                 WHERE l.name = ? AND e.timestamp > ? AND e.timestamp <= ?",
                params![alias, after, until],
                |row| row.get::<_, i64>(0),
            )?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn add_log(&mut self, row: &LogRow) -> Stored {
        let source = row.source.as_ref();
        self.run(
            "INSERT INTO log (dttm, event, extra, dag_id, task_id, run_id, map_index) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                micros(row.at),
                row.event,
                row.extra,
                source.map(|source| &source.dag_id),
                source.map(|source| &source.task_id),
                source.map(|source| &source.run_id),
                source.map(|source| source.map_index),
            ],
        )?;
        Ok(())
    }

    fn logs(&self) -> Stored<Vec<LogRow>> {
        let sql = "SELECT dttm, event, extra, dag_id, task_id, run_id, map_index FROM log ORDER BY id";
        self.all(sql, &[], |row| {
            let (at, source) = (instant_at(row, 0)?, source_at(row, 3)?);
            Ok(LogRow { at, event: row.get(1)?, extra: row.get(2)?, source })
        })
    }

    fn open_pending(&self, dag_id: &str, partition_key: &str) -> Stored<Option<PendingRow>> {
        let sql = format!("{PENDING} WHERE p.target_dag_id = ? AND p.partition_key = ? ORDER BY p.id DESC LIMIT 1");
        let newest = self.one(&sql, params![dag_id, partition_key], pending_row)?;
        Ok(newest.filter(|row| row.run_id.is_none()))
    }

    fn add_pending(&mut self, row: &NewPending) -> Stored<i64> {
        self.insert(
            "INSERT INTO asset_partition_dag_run (target_dag_id, partition_key, partition_date, rollup_fingerprint, \
             created_at) VALUES (?, ?, ?, ?, ?)",
            params![
                row.dag_id,
                row.partition_key,
                row.partition_date.map(micros),
                row.fingerprint.to_string(),
                micros(row.created_at),
            ],
        )
    }

    fn set_pending_date(&mut self, pending_id: i64, date: Option<DateTime<Utc>>) -> Stored {
        let sql = "UPDATE asset_partition_dag_run SET partition_date = ? WHERE id = ?";
        match self.run(sql, params![date.map(micros), pending_id])? {
            0 => Err(ScheduleError::Store(format!("there is no pending row {pending_id}"))),
            _ => Ok(()),
        }
    }

    fn pending(&self, include_stale: bool, limit: Option<usize>) -> Stored<Vec<PendingRow>> {
        let stale = if include_stale {
            ""
        } else {
            "AND NOT EXISTS (SELECT 1 FROM dag d WHERE d.dag_id = p.target_dag_id AND d.is_stale)"
        };
        let sql = format!("{PENDING} WHERE p.created_dag_run_id IS NULL {stale} ORDER BY p.id LIMIT ?");
        let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
        self.all(&sql, params![limit], pending_row)
    }

    fn delete_pending(&mut self, pending_ids: &[i64]) -> Stored {
        self.with_ids(
            "DELETE FROM partitioned_asset_key_log WHERE asset_partition_dag_run_id IN ({})",
            &[],
            pending_ids,
        )?;
        self.with_ids(
            "DELETE FROM asset_partition_dag_run WHERE created_dag_run_id IS NULL AND id IN ({})",
            &[],
            pending_ids,
        )?;
        Ok(())
    }

    fn add_key_log(&mut self, row: &KeyLogRow) -> Stored {
        self.run(
            "INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, \
             source_partition_key) VALUES (?, ?, ?, ?)",
            params![row.asset_id, row.event_id, row.pending_id, row.source_partition_key],
        )?;
        Ok(())
    }

    fn key_logs(&self, pending_id: i64) -> Stored<Vec<KeyLogRow>> {
        self.all(
            "SELECT asset_id, asset_event_id, source_partition_key FROM partitioned_asset_key_log \
             WHERE asset_partition_dag_run_id = ? ORDER BY id",
            params![pending_id],
            |row| {
                Ok(KeyLogRow {
                    asset_id: row.get(0)?,
                    event_id: row.get(1)?,
                    pending_id,
                    source_partition_key: row.get(2)?,
                })
            },
        )
    }

    fn enqueue(&mut self, row: &QueueRow) -> Stored<bool> {
        let added = self.run(
            "INSERT OR IGNORE INTO asset_dag_run_queue (target_dag_id, asset_id, created_at) VALUES (?, ?, ?)",
            params![row.dag_id, row.asset_id, micros(row.created_at)],
        )?;
        Ok(added > 0)
    }

    fn queue(&self) -> Stored<Vec<QueueRow>> {
        self.all("SELECT target_dag_id, asset_id, created_at FROM asset_dag_run_queue ORDER BY id", &[], |row| {
            Ok(QueueRow { dag_id: row.get(0)?, asset_id: row.get(1)?, created_at: instant_at(row, 2)? })
        })
    }

    fn dequeue(&mut self, dag_id: &str, asset_ids: &[i64]) -> Stored<usize> {
        self.with_ids(
            "DELETE FROM asset_dag_run_queue WHERE target_dag_id = ? AND asset_id IN ({})",
            &[Value::Text(dag_id.to_owned())],
            asset_ids,
        )
    }

    fn add_run(&mut self, run: &NewRun) -> Stored<i64> {
        let id = self.insert(
            "INSERT INTO dag_run (dag_id, run_id, partition_key, partition_date, run_after, state, pending_id) \
             VALUES (?, ?, ?, ?, ?, 'queued', ?)",
            params![
                run.dag_id,
                run.run_id,
                run.partition_key,
                run.partition_date.map(micros),
                micros(run.run_after),
                run.pending_id,
            ],
        )?;
        for (position, event_id) in (0_i64..).zip(&run.events) {
            self.run(
                "INSERT INTO dagrun_asset_event (dag_run_id, position, event_id) VALUES (?, ?, ?)",
                params![id, position, event_id],
            )?;
        }
        if let Some(pending_id) = run.pending_id {
            self.run(
                "UPDATE asset_partition_dag_run SET created_dag_run_id = ? WHERE id = ?",
                params![id, pending_id],
            )?;
        }
        Ok(id)
    }

    fn runs(&self) -> Stored<Vec<DagRun>> {
        self.run_rows("ORDER BY id", &[])
    }

    fn runs_after(&self, run_id: i64) -> Stored<Vec<DagRun>> {
        self.run_rows("WHERE id > ? ORDER BY id", params![run_id])
    }

    fn active_runs(&self, dag_id: &str) -> Stored<usize> {
        let sql = "SELECT count(*) FROM dag_run WHERE dag_id = ? AND state = 'queued'";
        self.count(sql, dag_id)
    }

    fn run_count(&self, dag_id: &str) -> Stored<usize> {
        let sql = "SELECT count(*) FROM dag_run WHERE dag_id = ?";
        self.count(sql, dag_id)
    }

    fn last_run_after(&self, dag_id: &str, before: DateTime<Utc>) -> Stored<Option<DateTime<Utc>>> {
        let sql = "SELECT max(run_after) FROM dag_run WHERE dag_id = ? AND run_after < ?";
        Ok(self.one(sql, params![dag_id, micros(before)], |row| optional_instant(row, 0))?.flatten())
    }

    fn finish_runs(&mut self, dag_id: &str, run: Option<i64>, state: RunState) -> Stored {
        self.run(
            "UPDATE dag_run SET state = ?1 WHERE dag_id = ?2 AND state = 'queued' AND (?3 IS NULL OR id = ?3)",
            params![state_name(state), dag_id, run],
        )?;
        Ok(())
    }
}
