//! Serialized Dags (`airflow.serialization`): the `data` of Airflow's table `serialized_dag`, in the forms people have it in.

use serde_json::{Map, Value as Json};

use super::ImportError;

mod compressed;
mod input;
mod value;
mod version;

pub use input::{MAX_BYTES, from_bytes, from_file, from_folder};
pub(super) use value::{Undecodable, decode};

/// The release whose serialization a Dag is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// `__version` 1: Airflow 2
    V1,
    /// `__version` 2: Airflow 3.0 and 3.1
    V2,
    /// `__version` 3: Airflow 3.2 and 3.3
    V3,
}

/// A Dag as Airflow stored it, names of its parts as in version 3.
#[derive(Debug, Clone)]
pub struct SerializedDag {
    /// Where it comes from, as people know it: a file, a row.
    pub origin: String,
    /// The version it was stored in.
    pub version: Version,
    /// `dag`
    pub dag: Map<String, Json>,
    /// `client_defaults.tasks`: what tasks leave out.
    pub task_defaults: Map<String, Json>,
    /// `is_paused` of the table `dag`, where it is known.
    pub is_paused: Option<bool>,
    /// What only the Dag's own Python knows: `folder`, `template_searchpath`, `template_undefined`, and by name, with `plain`
    /// and `value`, `user_defined_macros`, `user_defined_filters` and `jinja_environment_kwargs`. Empty when nobody asked it.
    pub extra: Map<String, Json>,
}

impl SerializedDag {
    /// Reads the `data` of a row, or a whole row (`data` or `data_compressed` inside it), or what `dag` holds.
    ///
    /// # Errors
    /// What is no serialized Dag, and a `__version` that is not known.
    pub fn from_json(value: Json, origin: &str) -> Result<Self, ImportError> {
        version::read(value, origin)
    }

    /// The Dag's id.
    ///
    /// # Errors
    /// When it has none.
    pub fn dag_id(&self) -> Result<&str, ImportError> {
        self.dag
            .get("dag_id")
            .and_then(Json::as_str)
            .ok_or_else(|| ImportError::new(format!("{}: the Dag has no `dag_id`", self.origin)))
    }
}
