//! Why scheduling stopped.

use std::fmt;

use crate::python::PyErr;

/// An error of the scheduler's own; what goes wrong with one key or one mapper is a decision and a log row instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleError {
    /// The exception that ends a pass in Airflow, or something partita refuses (`Unsupported`, `LimitExceeded`).
    Python(PyErr),
    /// The store failed: in our words.
    Store(String),
    /// A Dag that was never added.
    UnknownDag(String),
}

impl From<PyErr> for ScheduleError {
    fn from(error: PyErr) -> Self {
        ScheduleError::Python(error)
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Python(error) => write!(f, "{error}"),
            ScheduleError::Store(message) => write!(f, "the store failed: {message}"),
            ScheduleError::UnknownDag(dag_id) => write!(f, "there is no Dag {dag_id:?}"),
        }
    }
}

impl std::error::Error for ScheduleError {}
