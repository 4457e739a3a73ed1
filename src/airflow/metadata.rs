//! What a running Airflow knows of its Dag runs, whichever way it is asked: metadata database or REST API.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use crate::context::StoredEvent;
use crate::context::masker::Secrets;

/// A Dag run with its task instances.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// The Dag.
    pub dag_id: String,
    /// The run's id.
    pub run_id: String,
    /// The run as a worker gets it: running, without an end (`DagRun` of a `TIRunContext`).
    pub dag_run: Json,
    /// The state it has now.
    pub state: String,
    /// The Dag version it was made with.
    pub version: Option<String>,
    /// Its task instances, by task and map index.
    pub instances: Vec<StoredInstance>,
    /// XComs by task and key; those of a mapped task as `{"__mapped__": [...]}`.
    pub xcom: Map<String, Json>,
    /// Earlier successful runs, latest first: `prev_*_success` reads them.
    pub previous: Vec<PreviousRun>,
}

/// An earlier successful run.
#[derive(Debug, Clone, Default)]
pub struct PreviousRun {
    /// Its dates as `prev_success` has them.
    pub dates: Map<String, Json>,
    /// When it ended.
    pub ended: Option<DateTime<Utc>>,
}

/// A task instance as its last try left it.
#[derive(Debug, Clone, Default)]
pub struct StoredInstance {
    /// The task.
    pub task_id: String,
    /// The map index; -1 for a task that is not mapped.
    pub map_index: i64,
    /// The last try's number.
    pub try_number: i64,
    /// The highest number of tries.
    pub max_tries: i64,
    /// When the last try started.
    pub start_date: Option<DateTime<Utc>>,
    /// Its state.
    pub state: Option<String>,
    /// The Dag version it ran.
    pub version: Option<String>,
    /// `rendered_task_instance_fields`, if Airflow stored them.
    pub rendered: Option<Map<String, Json>>,
}

impl StoredInstance {
    /// The task with its map index: `unload[1]`.
    pub fn label(&self) -> String {
        if self.map_index < 0 { self.task_id.clone() } else { format!("{}[{}]", self.task_id, self.map_index) }
    }
}

/// Variables and connections, and those whose values nobody can read.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Variables; one that cannot be read is [`crate::run::unreadable`].
    pub variables: Map<String, Json>,
    /// Connections; likewise.
    pub connections: Map<String, Json>,
    /// What cannot be read and why, in words.
    pub unreadable: Vec<String>,
}

impl Values {
    /// What is secret in them.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.connections.values().for_each(|connection| secrets.add_connection(connection));
        secrets.add_named(&self.variables);
        secrets
    }
}

/// Which runs of a Dag.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// The run of this id.
    pub run_id: Option<String>,
    /// Runs of this partition.
    pub partition_key: Option<String>,
    /// Only runs that have rendered fields, as far as the source knows before it is asked for each.
    pub rendered: bool,
}

/// Rows that only some templates read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// XComs of the run.
    pub xcom: bool,
    /// Earlier successful runs.
    pub previous: bool,
}

impl Needs {
    /// Everything there is.
    pub const ALL: Needs = Needs { xcom: true, previous: true };

    /// What templates of this text, a serialized Dag, may read.
    pub fn of(text: &str) -> Self {
        Needs { xcom: text.contains("xcom") || text.contains("XCom"), previous: text.contains("prev_") }
    }

    /// What either reads.
    #[must_use]
    pub fn or(self, other: Needs) -> Self {
        Needs { xcom: self.xcom || other.xcom, previous: self.previous || other.previous }
    }
}

/// The event table and the runs behind events, where templates read them.
#[derive(Debug, Clone, Default)]
pub struct Surrounding {
    /// Events of assets; `None` when they are not known.
    pub events: Option<Arc<Vec<StoredEvent>>>,
    /// Runs that emitted events.
    pub dag_runs: Arc<Vec<Json>>,
}

impl StoredRun {
    /// Adds an XCom to those of a run; `index` is -1 for a task that is not mapped. Those of a mapped task come by index.
    pub fn add_xcom(run: &mut Map<String, Json>, task_id: &str, key: &str, index: i64, value: Json) {
        let keys = run.entry(task_id).or_insert_with(|| Json::Object(Map::new()));
        let Some(keys) = keys.as_object_mut() else { return };
        let Ok(index) = usize::try_from(index) else {
            keys.insert(key.to_owned(), value);
            return;
        };
        let mapped = keys.entry(key).or_insert_with(|| json!({"__mapped__": []}));
        if let Some(items) = mapped.get_mut("__mapped__").and_then(Json::as_array_mut) {
            // An index without a row is an XCom that is not there; a list cannot say so.
            if index == items.len() {
                items.push(value);
            } else {
                *mapped = crate::run::unreadable(
                    &format!("the XComs `{key}` of the mapped task `{task_id}` have gaps"),
                    "not every map index returned a value",
                );
            }
        }
    }

    /// The run document of one of its task instances, in the form that `--run` takes.
    pub fn document(&self, instance: Option<&StoredInstance>, values: &Values) -> Json {
        let mut document = json!({
            "dag_run": self.dag_run,
            "variables": values.variables,
            "connections": values.connections,
            "xcom": self.xcom,
        });
        let Some(map) = document.as_object_mut() else { return document };
        let start = instance.and_then(|instance| instance.start_date);
        let previous = self
            .previous
            .iter()
            .find(|run| match (run.ended, start) {
                (Some(ended), Some(start)) => ended <= start,
                _ => true,
            })
            .map(|run| run.dates.clone());
        map.insert("prev_success".to_owned(), Json::Object(previous.unwrap_or_default()));
        if let Some(instance) = instance {
            let mut ti = json!({
                "task_id": instance.task_id,
                "map_index": instance.map_index,
                "try_number": instance.try_number.max(1),
                "max_tries": instance.max_tries,
            });
            if let (Some(ti), Some(start)) = (ti.as_object_mut(), start) {
                ti.insert("start_date".to_owned(), Json::from(crate::timetable::isoformat(start)));
            }
            map.insert("ti".to_owned(), ti);
        }
        document
    }

    /// The partition key.
    pub fn partition_key(&self) -> Option<&str> {
        self.dag_run.get("partition_key").and_then(Json::as_str)
    }
}
