//! SQLite files, opened for reading alone.

use std::time::Duration;

use camino::Utf8Path;
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, OpenFlags};

use super::row::{Cell, Connection, Row};
use crate::airflow::SourceError;

/// How long a writer may hold the file.
const BUSY: Duration = Duration::from_secs(5);

/// What a path may not hold in a URI.
const PATH: percent_encoding::AsciiSet =
    percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// A SQLite file.
#[derive(Debug)]
pub(super) struct SqliteFile {
    path: String,
    connection: rusqlite::Connection,
}

impl SqliteFile {
    /// Opens a file; nothing is ever written to it.
    ///
    /// # Errors
    /// A file that is not there, is no SQLite database, is damaged, or is locked for longer than five seconds.
    pub fn open(path: &Utf8Path) -> Result<Self, SourceError> {
        if !path.is_file() {
            let what = if path.is_dir() { "is a folder, not a SQLite file" } else { "there is no such file" };
            return Err(SourceError::new(format!("{path}: {what}")));
        }
        let read = |path: &str, flags| -> rusqlite::Result<rusqlite::Connection> {
            let connection = rusqlite::Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY)?;
            // One transaction: every query sees the same state. Nothing is read before the first query.
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master")?;
            Ok(connection)
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match read(path.as_str(), flags) {
            // A write-ahead database in a folder that cannot be written needs files beside it. Without a log or journal
            // nobody is writing, and the file is complete as it is.
            Err(error)
                if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
                    && !left(path, "-wal")
                    && !left(path, "-journal") =>
            {
                let escaped = percent_encoding::utf8_percent_encode(path.as_str(), &PATH);
                read(&format!("file:{escaped}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
            }
            other => other,
        };
        match connection {
            Ok(connection) => Ok(SqliteFile { path: path.to_string(), connection }),
            Err(error) => Err(explained(path.as_str(), &error)),
        }
    }
}

/// Whether a writer has left a log or journal beside the file: without it the file is not complete.
fn left(path: &Utf8Path, suffix: &str) -> bool {
    std::fs::metadata(format!("{path}{suffix}")).is_ok_and(|file| file.len() > 0)
}

fn explained(path: &str, error: &rusqlite::Error) -> SourceError {
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => format!("{path} is not a SQLite database"),
        Some(ErrorCode::DatabaseCorrupt) => format!("{path} is damaged or cut: {error}"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return SourceError::new(format!("{path} is locked: a writer holds it for more than {} s", BUSY.as_secs()))
                .help("try again, or read a copy of the file");
        }
        Some(ErrorCode::ReadOnly) if left(Utf8Path::new(path), "-journal") => {
            return SourceError::new(format!(
                "{path}: a writer was interrupted, and what it did not commit is still in the file: {path}-journal undoes it"
            ))
            .help("open it once with `sqlite3`, or with your Airflow; or read copies of both files after that");
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => format!("{path} cannot be opened: {error}"),
        _ => format!("{path}: {error}"),
    };
    SourceError::new(message)
}

impl Connection for SqliteFile {
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SourceError> {
        let explain = |error: rusqlite::Error| explained(&self.path, &error);
        let mut statement = self.connection.prepare_cached(sql).map_err(explain)?;
        let columns = statement.column_count();
        let mut found = Vec::new();
        let mut rows = statement.query([]).map_err(explain)?;
        while let Some(row) = rows.next().map_err(explain)? {
            let mut cells = Vec::with_capacity(columns);
            for at in 0..columns {
                cells.push(match row.get_ref(at).map_err(explain)? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(value) => Cell::Int(value),
                    ValueRef::Real(value) => Cell::Text(value.to_string()),
                    ValueRef::Text(text) => match std::str::from_utf8(text) {
                        Ok(text) => Cell::Text(text.to_owned()),
                        Err(_) => Cell::Bytes(text.to_vec()),
                    },
                    ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
                });
            }
            found.push(Row { cells });
        }
        Ok(found)
    }

    fn row_order(&self) -> &'static str {
        "rowid"
    }

    fn tables(&mut self) -> Result<Vec<String>, SourceError> {
        let rows = self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")?;
        Ok(rows.iter().map(|row| row.string(0)).collect())
    }
}
