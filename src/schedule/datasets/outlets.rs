//! What a task does with `outlet_events` and metadata, and what its success then registers
//! (`OutletEventAccessors`, `TaskInstance._register_dataset_changes`).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::model::{DatasetScheduler, Outlet, RegisterChange};
use crate::asset::pytext::{self, type_name};
use crate::asset::{EventSource, dataset_uri, sanitize_dataset_uri};
use crate::python::json::from_json;
use crate::python::{HashKey, PyErr, PyResult, hash_key};

/// A key of `outlet_events`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKey {
    /// `Dataset(text)`
    Dataset(String),
    /// `DatasetAlias(text)`
    Alias(String),
    /// A plain text: sanitised as a URI.
    Text(String),
}

impl EventKey {
    /// `extract_event_key`
    fn text(&self) -> PyResult<String> {
        match self {
            EventKey::Dataset(uri) => dataset_uri(uri).map(|sanitized| sanitized.uri),
            EventKey::Alias(name) => Ok(name.clone()),
            EventKey::Text(text) => sanitize_dataset_uri(text).map(|sanitized| sanitized.uri),
        }
    }
}

/// Something a task's callable does.
#[derive(Debug, Clone, PartialEq)]
pub enum Emit {
    /// `outlet_events[key].extra = extra`
    Extra {
        /// The key.
        key: EventKey,
        /// The extra.
        extra: Json,
    },
    /// `outlet_events[key].extra.update(extra)`
    ExtraUpdate {
        /// The key.
        key: EventKey,
        /// What is merged in.
        extra: Json,
    },
    /// `outlet_events[key].add(dataset, extra=extra)`
    AliasAdd {
        /// The key.
        key: EventKey,
        /// The dataset: a `Dataset`, or a text taken as it is.
        dataset: EventKey,
        /// The extra.
        extra: Json,
    },
    /// `yield Metadata(dataset, extra, alias=alias)`
    Metadata {
        /// The dataset.
        dataset: EventKey,
        /// The extra.
        extra: Json,
        /// The alias's name.
        alias: Option<String>,
    },
}

/// `OutletEventAccessor`
#[derive(Debug, Clone)]
struct Accessor {
    key: String,
    /// The name that `add` emits through; none when the key is a dataset, for which `add` does nothing.
    alias: Option<String>,
    extra: Json,
    added: Vec<Added>,
}

#[derive(Debug, Clone)]
struct Added {
    alias: String,
    uri: String,
    extra: Json,
}

#[derive(Debug, Default)]
struct Accessors(Vec<Accessor>);

impl Accessors {
    fn at(&mut self, key: &EventKey) -> PyResult<&mut Accessor> {
        let text = key.text()?;
        let index = self.0.iter().position(|accessor| accessor.key == text).unwrap_or(self.0.len());
        if index == self.0.len() {
            let alias = match key {
                EventKey::Dataset(_) => None,
                EventKey::Alias(name) | EventKey::Text(name) => Some(name.clone()),
            };
            self.0.push(Accessor { key: text, alias, extra: Json::Object(Map::new()), added: Vec::new() });
        }
        self.0.get_mut(index).ok_or_else(|| PyErr::new("KeyError", "outlet_events"))
    }

    fn perform(&mut self, emit: &Emit) -> PyResult<()> {
        match emit {
            Emit::Extra { key, extra } => self.at(key)?.extra = extra.clone(),
            Emit::ExtraUpdate { key, extra } => self.at(key)?.update(extra)?,
            Emit::AliasAdd { key, dataset, extra } => {
                let uri = match dataset {
                    EventKey::Text(text) => text.clone(),
                    dataset => dataset.text()?,
                };
                self.at(key)?.add(uri, extra);
            }
            Emit::Metadata { dataset, extra, alias } => {
                let uri = dataset.text()?;
                self.at(&EventKey::Text(uri.clone()))?.update(extra)?;
                if let Some(alias) = alias.as_ref().filter(|alias| !alias.is_empty()) {
                    self.at(&EventKey::Text(alias.clone()))?.add(uri, extra);
                }
            }
        }
        Ok(())
    }
}

impl Accessor {
    fn update(&mut self, with: &Json) -> PyResult<()> {
        match (&mut self.extra, with) {
            (Json::Object(extra), Json::Object(with)) => {
                extra.extend(with.iter().map(|(key, value)| (key.clone(), value.clone())));
                Ok(())
            }
            (Json::Object(_), with) => {
                Err(PyErr::unsupported(format!("updating an extra with {}", pytext::repr(with))))
            }
            (extra, _) => {
                Err(PyErr::new("AttributeError", format!("'{}' object has no attribute 'update'", type_name(extra))))
            }
        }
    }

    fn add(&mut self, uri: String, extra: &Json) {
        if let Some(alias) = self.alias.clone() {
            let extra = if pytext::truth(extra) { extra.clone() } else { Json::Object(Map::new()) };
            self.added.push(Added { alias, uri, extra });
        }
    }
}

/// One event through aliases: a dataset, an extra and its identity, the aliases.
struct Group {
    uri: String,
    extra: Map<String, Json>,
    identity: Vec<(String, HashKey)>,
    aliases: Vec<String>,
}

impl DatasetScheduler {
    /// A task runs and succeeds: its callable does `emits` in order, then one event is registered for each of its dataset
    /// outlets, and one for each distinct pair of dataset and extra given to its alias outlets. Nothing is kept when it fails.
    ///
    /// # Errors
    /// What the callable or the registration raises: `ValueError` of a URI, `TypeError` of an extra that is not hashable;
    /// `Unsupported` for an unknown task.
    pub fn run_task(&mut self, source: &EventSource, emits: &[Emit], at: DateTime<Utc>) -> PyResult<()> {
        let task = self
            .dags
            .iter()
            .find(|state| state.dag.dag_id == source.dag_id)
            .and_then(|state| state.dag.tasks.iter().find(|task| task.task_id == source.task_id));
        let Some(task) = task else {
            return Err(PyErr::unsupported(format!(
                "the task {}.{}, which is not known",
                source.dag_id, source.task_id
            )));
        };
        let outlets = task.outlets.clone();
        let mut accessors = Accessors::default();
        for emit in emits {
            accessors.perform(emit)?;
        }
        self.register_outlets(&outlets, &mut accessors, source, at)
    }

    fn register_outlets(
        &mut self,
        outlets: &[Outlet],
        accessors: &mut Accessors,
        source: &EventSource,
        at: DateTime<Utc>,
    ) -> PyResult<()> {
        // Airflow rolls back what it registered before an error; here errors come before the first change.
        let mut changes: Vec<RegisterChange> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for outlet in outlets {
            match outlet {
                Outlet::Dataset(uri) => changes.push(RegisterChange {
                    uri: uri.clone(),
                    extra: accessors.at(&EventKey::Dataset(uri.clone()))?.extra.clone(),
                    source: Some(source.clone()),
                    aliases: Vec::new(),
                }),
                Outlet::Alias(name) => {
                    for added in accessors.at(&EventKey::Alias(name.clone()))?.added.clone() {
                        collect(&mut groups, added)?;
                    }
                }
                Outlet::Other => {}
            }
        }
        for group in &groups {
            if self.dataset(&group.uri).is_none() {
                check_new_dataset(&group.uri)?;
            }
            if let Some(alias) = group.aliases.iter().find(|alias| !self.aliases.iter().any(|row| row.name == **alias))
            {
                return Err(PyErr::unsupported(format!("an event through the alias {alias:?}, which no Dag names")));
            }
        }
        for change in &changes {
            self.register_dataset_change(change, at);
        }
        for group in groups {
            let id = self.add_dataset(&group.uri);
            for alias in &group.aliases {
                self.associate(alias, id);
            }
            let change = RegisterChange {
                uri: group.uri,
                extra: Json::Object(group.extra),
                source: Some(source.clone()),
                aliases: group.aliases,
            };
            self.register_dataset_change(&change, at);
        }
        Ok(())
    }
}

/// Equal pairs of dataset and extra are one event through several aliases. Equal is what Python calls so: `1`, `True` and
/// `1.0` are one, and the first stays.
fn collect(groups: &mut Vec<Group>, added: Added) -> PyResult<()> {
    let Json::Object(extra) = added.extra else {
        let kind = type_name(&added.extra);
        return Err(PyErr::new("AttributeError", format!("'{kind}' object has no attribute 'items'")));
    };
    let mut identity = Vec::new();
    for (key, value) in &extra {
        identity.push((key.clone(), hash_key(&from_json(value)?)?));
    }
    identity.sort();
    let same = |group: &&mut Group| group.uri == added.uri && group.identity == identity;
    match groups.iter_mut().find(same) {
        Some(group) if group.aliases.contains(&added.alias) => {}
        Some(group) => group.aliases.push(added.alias),
        None => groups.push(Group { uri: added.uri, extra, identity, aliases: vec![added.alias] }),
    }
    Ok(())
}

/// What creating the row of a dataset checks: the model's own rules, then those of `Dataset`, whose URI is not what is stored.
fn check_new_dataset(uri: &str) -> PyResult<()> {
    if !uri.is_ascii() {
        return Err(PyErr::value_error("URI must be ascii"));
    }
    if crate::asset::dataset::has_reserved_scheme(uri)? {
        return Err(PyErr::value_error("Scheme `airflow` is reserved."));
    }
    dataset_uri(uri).map(drop)
}
