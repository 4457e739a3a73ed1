//! An Airflow metadata database, read and never written: SQLite files (feature `sqlite`) and PostgreSQL servers (feature
//! `postgres`).
//!
//! The tables are no public interface of Airflow: a database is read when its Alembic revision is one that is known, and
//! refused otherwise.

mod pending;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
mod runs;
mod secrets;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "postgres")]
mod tls;
mod url;

use serde_json::Value as Json;

pub use secrets::FernetKeys;
pub use url::{Address, Server, Tls};

use self::row::{Connection, Row};
use crate::airflow::{SerializedRow, SourceError};

/// Revisions of the schema that are read, and the Airflow they belong to.
const KNOWN: [(&str, &str); 1] = [("d2f4e1b3c5a7", "3.3")];

/// Revisions of other Airflows (`airflow.utils.db._REVISION_HEADS_MAP`), to say which one it is.
const OTHERS: [(&str, &str); 13] = [
    ("4bc4d934e2bc", "2.6"),
    ("405de8318b3a", "2.7"),
    ("10b52ebd31f7", "2.8.0"),
    ("88344c1d9134", "2.8"),
    ("1949afb29106", "2.9.0"),
    ("686269002441", "2.9"),
    ("22ed7efa9da2", "2.10.0"),
    ("5f2621c13b39", "2.10"),
    ("29ce7909c52b", "3.0.0"),
    ("fe199e1abd77", "3.0"),
    ("cc92b33c6709", "3.1.0"),
    ("509b94a1042d", "3.1"),
    ("1d6611b6ab7c", "3.2"),
];

/// An open metadata database.
pub struct Database {
    address: Address,
    connection: Box<dyn Connection>,
    keys: FernetKeys,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("address", &self.address.to_string()).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens a database.
    ///
    /// # Errors
    /// A server that cannot be reached, a database that is not Airflow's or of a revision that is not known.
    pub fn open(address: &Address) -> Result<Self, SourceError> {
        let mut connection = connect(address)?;
        check_revision(address, connection.as_mut())?;
        Ok(Database { address: address.clone(), connection, keys: FernetKeys::default() })
    }

    /// The same with the keys that variables and connections are encrypted with.
    #[must_use]
    pub fn with_keys(self, keys: FernetKeys) -> Self {
        Database { keys, ..self }
    }

    /// Serialized Dags, such as the condition says.
    fn dag_rows(&mut self, such: &str) -> Result<Vec<SerializedRow>, SourceError> {
        let rows = self.connection.rows(&format!(
            "SELECT s.dag_id, v.version_number, s.data, s.data_compressed, d.is_paused \
             FROM serialized_dag s JOIN dag_version v ON v.id = s.dag_version_id LEFT JOIN dag d ON d.dag_id = s.dag_id \
             WHERE {such}"
        ))?;
        rows.iter().map(dag_row).collect()
    }

    fn stale_dags(&mut self) -> Result<Vec<String>, SourceError> {
        let rows = self.connection.rows("SELECT dag_id, is_stale FROM dag")?;
        Ok(rows.iter().filter(|row| row.boolean(1)).map(|row| row.string(0)).collect())
    }
}

fn dag_row(row: &Row) -> Result<SerializedRow, SourceError> {
    let dag_id = row.string(0);
    let what = format!("the serialized Dag {dag_id}");
    let data = match row.json(2, &what)? {
        Json::Null => match row.bytes(3) {
            Some(bytes) => inflated(&bytes, &what)?,
            None => return Err(SourceError::new(format!("{what} has no data"))),
        },
        data => data,
    };
    Ok(SerializedRow { dag_id, number: row.int(1).unwrap_or(0), data, is_paused: row.boolean(4) })
}

/// Most bytes of a serialized Dag.
const DAG_LIMIT: u64 = 1 << 30;

/// `serialized_dag.data_compressed`: zlib.
fn inflated(bytes: &[u8], what: &str) -> Result<Json, SourceError> {
    use std::io::Read;

    let mut text = Vec::new();
    flate2::read::ZlibDecoder::new(bytes)
        .take(DAG_LIMIT)
        .read_to_end(&mut text)
        .map_err(|error| SourceError::new(format!("{what} cannot be decompressed: {error}")))?;
    serde_json::from_slice(&text).map_err(|error| SourceError::new(format!("{what} is not JSON: {error}")))
}

fn connect(address: &Address) -> Result<Box<dyn Connection>, SourceError> {
    match address {
        #[cfg(feature = "sqlite")]
        Address::Sqlite(path) => Ok(Box::new(sqlite::SqliteFile::open(path)?)),
        #[cfg(not(feature = "sqlite"))]
        Address::Sqlite(path) => {
            Err(SourceError::new(format!("{path}: this partita was built without SQLite (feature `sqlite`)")))
        }
        #[cfg(feature = "postgres")]
        Address::Postgres(server) => Ok(Box::new(postgres::PostgresServer::connect(server)?)),
        #[cfg(not(feature = "postgres"))]
        Address::Postgres(_) => {
            Err(SourceError::new(format!("{address}: this partita was built without PostgreSQL (feature `postgres`)")))
        }
    }
}

/// That the revision is one that is known.
fn check_revision(address: &Address, connection: &mut dyn Connection) -> Result<(), SourceError> {
    let tables = connection.tables()?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    if !["alembic_version", "dag_run", "serialized_dag"].into_iter().all(has) {
        let found = match tables.len() {
            0 => "it has no tables".to_owned(),
            count => format!(
                "none of its {count} tables is `{}`",
                if has("alembic_version") { "dag_run" } else { "alembic_version" }
            ),
        };
        let error = SourceError::new(format!("{address} is not a metadata database of Airflow: {found}"));
        return Err(match address {
            Address::Sqlite(_) => error,
            Address::Postgres(_) => error.help("another schema? add ?options=-csearch_path%3DSCHEMA to the URL"),
        });
    }
    let rows = connection.rows("SELECT version_num FROM alembic_version")?;
    let revision = rows.first().map(|row| row.string(0)).unwrap_or_default();
    if KNOWN.iter().any(|(known, _)| *known == revision) {
        return Ok(());
    }
    let read = KNOWN.iter().map(|(id, version)| format!("{id} (Airflow {version})")).collect::<Vec<_>>().join(", ");
    let of = OTHERS.iter().find(|(known, _)| *known == revision);
    let of = of.map(|(_, version)| format!(" of Airflow {version}")).unwrap_or_default();
    Err(SourceError::new(format!("{address} has the schema revision {revision:?}{of}, which is not read")).help(
        format!("revisions that are read: {read}; serialized Dags of other versions: `partita import serialized`"),
    ))
}
