//! An Airflow that can be asked, whichever way.

use serde_json::Value as Json;

use super::{Needs, Queue, RunFilter, SourceError, StoredRun, Surrounding, Values};

/// A page of runs, and where the next one begins.
pub type Page = (Vec<StoredRun>, Option<i64>);

/// What an Airflow tells of itself, by its metadata database or its REST API.
pub trait Source {
    /// Where it is, without a password.
    fn name(&self) -> String;

    /// The ids of the Dags it has, sorted.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn dag_ids(&mut self) -> Result<Vec<String>, SourceError>;

    /// The ids of the Dags that may have rendered fields, sorted.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn rendered_dags(&mut self) -> Result<Vec<String>, SourceError>;

    /// The ids of a Dag's runs, newest first, so many at most.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn run_ids(&mut self, dag_id: &str, most: usize) -> Result<Vec<String>, SourceError>;

    /// Runs of a Dag, oldest first, a page at a time: `after` is what the page before returned, 0 at first.
    ///
    /// # Errors
    /// A source that cannot be read, or that does not hold what Airflow writes there.
    fn runs(&mut self, dag_id: &str, filter: &RunFilter, needs: Needs, after: i64) -> Result<Page, SourceError>;

    /// Every variable and connection. What cannot be read is named, and refused when a template asks for it.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn values(&mut self) -> Result<Values, SourceError>;

    /// What waits for more events; `None` when the source does not tell.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn queue(&mut self) -> Result<Option<Queue>, SourceError>;

    /// Events and the runs behind them, as far as templates of this text read them.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn surrounding(&mut self, text: &str) -> Result<Surrounding, SourceError>;

    /// The serialized Dag of a version, or the latest one; `None` when the source has none.
    ///
    /// # Errors
    /// A source that cannot be read.
    fn serialized(&mut self, dag_id: &str, version: Option<&str>) -> Result<Option<SerializedRow>, SourceError>;

    /// The latest version of each of these Dags; of all Dags that are not stale without any.
    ///
    /// # Errors
    /// As [`Source::serialized`].
    fn latest_dags(&mut self, dag_ids: &[String]) -> Result<Vec<SerializedRow>, SourceError>;

    /// What templates of this text read and the source does not tell; `None` when it tells everything.
    fn untold(&self, text: &str) -> Option<String>;
}

/// A serialized Dag as a source has it.
#[derive(Debug, Clone)]
pub struct SerializedRow {
    /// The Dag.
    pub dag_id: String,
    /// The number of its version, from 1.
    pub number: i64,
    /// `serialized_dag.data`, decompressed.
    pub data: Json,
    /// `dag.is_paused`
    pub is_paused: bool,
}
