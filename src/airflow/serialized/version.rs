//! Versions of the serialization (`DagSerialization.from_dict` and its conversions).

use serde_json::{Map, Value as Json, json};

use super::{SerializedDag, Version, compressed};
use crate::airflow::ImportError;

/// Attributes of tasks that Airflow 2 stored and Airflow 3 has no more.
const REMOVED: [&str; 4] = ["_log_config_logger_name", "deps", "sla", "_operator_extra_links"];

/// Rows inside of rows that are followed.
const DEPTH: usize = 4;

/// Reads a Dag out of any of its wrappings.
pub(super) fn read(value: Json, origin: &str) -> Result<SerializedDag, ImportError> {
    let mut value = value;
    for _ in 0..DEPTH {
        let Json::Object(mut map) = value else {
            return Err(ImportError::new(format!("{origin}: a serialized Dag is a JSON object"))
                .help("the `data` of a row of Airflow's table serialized_dag"));
        };
        if map.contains_key("dag") {
            return of_data(map, origin);
        }
        // A row as a query or an export gives it. A column that is null is not the one that was used.
        let data = ["data", "_data"].into_iter().find_map(|name| map.remove(name).filter(|data| !data.is_null()));
        let packed = ["_data_compressed", "data_compressed"]
            .into_iter()
            .find_map(|name| map.remove(name).filter(|data| !data.is_null()));
        value = match (data, packed) {
            (Some(Json::String(text)), _) => compressed::json_of_text(&text, origin)?,
            (Some(data), _) => data,
            (None, Some(Json::String(text))) => compressed::json_of_packed(&text, origin)?,
            (None, Some(_)) => {
                return Err(ImportError::new(format!("{origin}: `_data_compressed` is no text"))
                    .help("export the column as base64 or as hexadecimal digits"));
            }
            (None, None) if map.contains_key("dag_id") && map.contains_key("tasks") => {
                json!({"dag": map, "__version": Json::Null})
            }
            (None, None) => {
                return Err(ImportError::new(format!("{origin}: this is no serialized Dag: it has no `dag`"))
                    .help("the `data` of a row of Airflow's table serialized_dag has `__version` and `dag`"));
            }
        };
    }
    Err(ImportError::new(format!("{origin}: rows inside of rows")))
}

fn of_data(mut map: Map<String, Json>, origin: &str) -> Result<SerializedDag, ImportError> {
    let Some(Json::Object(dag)) = map.remove("dag") else {
        return Err(ImportError::new(format!("{origin}: `dag` of a serialized Dag is a JSON object")));
    };
    let version = match map.get("__version") {
        None | Some(Json::Null) => guess(&dag).ok_or_else(|| {
            ImportError::new(format!("{origin}: the serialized Dag has no `__version`"))
                .help("give the whole `data` of the row")
        })?,
        Some(number) => match number.as_i64() {
            Some(1) => Version::V1,
            Some(2) => Version::V2,
            Some(3) => Version::V3,
            _ => {
                return Err(ImportError::new(format!(
                    "{origin}: `__version` {number} of a serialized Dag is not known: known are 1 (Airflow 2), 2 (3.0, 3.1) \
                     and 3 (3.2, 3.3)"
                ))
                .help("a newer Airflow wrote it: update partita"));
            }
        },
    };
    let task_defaults = match map.remove("client_defaults") {
        Some(Json::Object(mut defaults)) => match defaults.remove("tasks") {
            Some(Json::Object(tasks)) => tasks,
            None | Some(Json::Null) => Map::new(),
            Some(_) => return Err(ImportError::new(format!("{origin}: `client_defaults.tasks` is no JSON object"))),
        },
        None | Some(Json::Null) => Map::new(),
        Some(_) => return Err(ImportError::new(format!("{origin}: `client_defaults` is no JSON object"))),
    };
    let is_paused = map.get("is_paused").and_then(Json::as_bool);
    let mut read =
        SerializedDag { origin: origin.to_owned(), version, dag, task_defaults, is_paused, extra: Map::new() };
    if version == Version::V1 {
        rename(&mut read.dag);
    }
    read.dag_id()?;
    Ok(read)
}

/// Without `__version` the names of parts tell Airflow 2 from Airflow 3.
fn guess(dag: &Map<String, Json>) -> Option<Version> {
    if dag.contains_key("_dag_id") || dag.contains_key("schedule_interval") || dag.contains_key("dataset_triggers") {
        return Some(Version::V1);
    }
    (dag.contains_key("dag_id") && dag.contains_key("timetable")).then_some(Version::V3)
}

/// What `conversion_v1_to_v2` renames; timetables and datasets are converted where they are read.
fn rename(dag: &mut Map<String, Json>) {
    for (old, new) in [("_dag_id", "dag_id"), ("_task_group", "task_group"), ("_access_control", "access_control")] {
        if let Some(value) = dag.remove(old) {
            dag.insert(new.to_owned(), value);
        }
    }
    let tasks = dag.get_mut("tasks").and_then(Json::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default();
    for task in tasks {
        let Some(task) = task.get_mut("__var").and_then(Json::as_object_mut) else { continue };
        for name in REMOVED {
            task.remove(name);
        }
        for (old, new) in [("_task_type", "task_type"), ("task_display_name", "_task_display_name")] {
            if let Some(value) = task.remove(old) {
                task.insert(new.to_owned(), value);
            }
        }
    }
}
