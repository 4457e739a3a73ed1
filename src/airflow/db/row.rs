//! Rows of either database, read the same way.

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::Value as Json;

use crate::airflow::SourceError;
use crate::timetable::isoformat;

/// A connection that only reads.
pub(super) trait Connection: Send {
    /// The rows of a query.
    ///
    /// # Errors
    /// What the database says.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SourceError>;

    /// The column that stands for the order in which rows are stored.
    fn row_order(&self) -> &'static str;

    /// The tables there are.
    ///
    /// # Errors
    /// What the database says.
    fn tables(&mut self) -> Result<Vec<String>, SourceError>;
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "PostgreSQL gives every value as text"))]
pub(super) enum Cell {
    /// NULL
    Null,
    /// Text, or any other type as the server writes it.
    Text(String),
    /// An integer.
    Int(i64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A row, with the query's name for error texts.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its columns, in the order of the query.
    pub cells: Vec<Cell>,
}

impl Row {
    fn cell(&self, at: usize) -> &Cell {
        self.cells.get(at).unwrap_or(&Cell::Null)
    }

    /// Text; `None` for NULL.
    pub fn text(&self, at: usize) -> Option<String> {
        match self.cell(at) {
            Cell::Null => None,
            Cell::Text(text) => Some(text.clone()),
            Cell::Int(value) => Some(value.to_string()),
            Cell::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// Text that is never NULL.
    pub fn string(&self, at: usize) -> String {
        self.text(at).unwrap_or_default()
    }

    /// An integer; `None` for NULL and for what is none.
    pub fn int(&self, at: usize) -> Option<i64> {
        match self.cell(at) {
            Cell::Int(value) => Some(*value),
            Cell::Text(text) => text.parse().ok(),
            Cell::Null | Cell::Bytes(_) => None,
        }
    }

    /// A boolean: 0 and 1, or `t` and `f`.
    pub fn boolean(&self, at: usize) -> bool {
        match self.cell(at) {
            Cell::Int(value) => *value != 0,
            Cell::Text(text) => matches!(text.as_str(), "t" | "true" | "1"),
            Cell::Null | Cell::Bytes(_) => false,
        }
    }

    /// Bytes, also in the hexadecimal form of PostgreSQL.
    pub fn bytes(&self, at: usize) -> Option<Vec<u8>> {
        match self.cell(at) {
            Cell::Bytes(bytes) => Some(bytes.clone()),
            Cell::Text(text) => match text.strip_prefix("\\x") {
                Some(digits) => digits
                    .as_bytes()
                    .chunks(2)
                    .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                    .collect(),
                None => Some(text.clone().into_bytes()),
            },
            Cell::Null | Cell::Int(_) => None,
        }
    }

    /// JSON; null for NULL. `what` names the column.
    ///
    /// # Errors
    /// Text that is no JSON.
    pub fn json(&self, at: usize, what: &str) -> Result<Json, SourceError> {
        match self.cell(at) {
            Cell::Null => Ok(Json::Null),
            Cell::Int(value) => Ok(Json::from(*value)),
            Cell::Text(text) => {
                serde_json::from_str(text).map_err(|error| SourceError::new(format!("{what} is not JSON: {error}")))
            }
            Cell::Bytes(bytes) => {
                serde_json::from_slice(bytes).map_err(|error| SourceError::new(format!("{what} is not JSON: {error}")))
            }
        }
    }

    /// An instant; `None` for NULL. `what` names the column.
    ///
    /// # Errors
    /// Text that is no date.
    pub fn instant(&self, at: usize, what: &str) -> Result<Option<DateTime<Utc>>, SourceError> {
        let Some(text) = self.text(at) else { return Ok(None) };
        let zoned = DateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f%#z").map(|date| date.to_utc());
        let naive = || NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f").map(|date| date.and_utc());
        zoned.or_else(|_| naive()).map(Some).map_err(|_| SourceError::new(format!("{what} is no date: {text:?}")))
    }

    /// An instant in the form of Airflow's payloads, or null.
    ///
    /// # Errors
    /// As [`Row::instant`].
    pub fn date(&self, at: usize, what: &str) -> Result<Json, SourceError> {
        Ok(self.instant(at, what)?.map_or(Json::Null, |date| Json::from(isoformat(date))))
    }
}

/// A text as a literal of SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', "''"))
}

/// Texts as a list for `IN`.
pub(super) fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut out: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    if out.is_empty() {
        out.push("NULL".to_owned());
    }
    out.join(", ")
}
