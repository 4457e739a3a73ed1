//! `task_state_store` and `asset_state_store`.

use crate::asset::AssetRef;
use crate::python::{HashKey, Interp, PyErr, PyObject, PyResult, Value, object, repr_str};

use super::Shared;
use super::convert;
use super::surroundings::AssetItem;

/// `task_state_store` (`TaskStateStoreAccessor`): what earlier tries stored is not known.
#[derive(Debug)]
struct TaskStateStore;

/// `task_state_store`
pub(super) fn task_state_store() -> Value {
    object(TaskStateStore)
}

impl PyObject for TaskStateStore {
    fn type_name(&self) -> &str {
        "TaskStateStoreAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.TaskStateStoreAccessor".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported("printing `task_state_store`: it shows the id of the task instance"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" | "set" | "delete" | "clear" | "_clear_backend_only" | "_scope" | "_ti_id" => Some(Err(
                PyErr::unsupported(format!("`task_state_store.{name}`: what the task stored before is not known")),
            )),
            _ => None,
        }
    }
}

/// `asset_state_store` (`AssetStateStoreAccessors`); there only when the task has assets as inlets or outlets.
#[derive(Debug)]
struct AssetStateStore {
    printed: PyResult<String>,
}

/// `asset_state_store`, `None` when the task has no asset among its inlets and outlets.
pub(super) fn asset_state_store(shared: &Shared) -> Option<Value> {
    let task = &shared.around.task;
    let mut names: Vec<&str> = Vec::new();
    let mut uris: Vec<&str> = Vec::new();
    let mut aliases = false;
    let mut any = false;
    for (item, is_inlet) in
        task.inlets.iter().map(|item| (item, true)).chain(task.outlets.iter().map(|item| (item, false)))
    {
        any |= !matches!(item, AssetItem::Object(_));
        let (list, text) = match item {
            AssetItem::Asset(asset) => (&mut names, &asset.name),
            AssetItem::Ref(AssetRef::Name(name)) => (&mut names, name),
            AssetItem::Ref(AssetRef::Uri(uri)) => (&mut uris, uri),
            AssetItem::Alias(_) => {
                aliases |= is_inlet;
                continue;
            }
            AssetItem::Object(_) => continue,
        };
        if !list.contains(&text.as_str()) {
            list.push(text);
        }
    }
    let parts: Vec<String> = names
        .iter()
        .map(|name| format!("name={}", repr_str(name)))
        .chain(uris.iter().map(|uri| format!("uri={}", repr_str(uri))))
        .collect();
    let printed = if aliases {
        Err(PyErr::unsupported("printing `asset_state_store` of a task with an alias as inlet"))
    } else {
        Ok(format!("<AssetStateStoreAccessors [{}]>", parts.join(", ")))
    };
    any.then(|| object(AssetStateStore { printed }))
}

impl PyObject for AssetStateStore {
    fn type_name(&self) -> &str {
        "AssetStateStoreAccessors"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.AssetStateStoreAccessors".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        self.printed.clone()
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" | "set" | "delete" | "clear" | "aget" | "aset" | "adelete" | "aclear" | "_by_name" | "_by_uri"
            | "_total" | "_single_accessor" => Some(Err(convert::not_built(self.type_name(), name))),
            _ => None,
        }
    }

    fn getitem(&self, _key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(PyErr::unsupported("what is stored for an asset is not known")))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Identity(std::ptr::from_ref(self) as usize))
    }
}
