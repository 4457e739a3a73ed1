//! Runs, events and values of the REST API in the form of the metadata database.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::Client;
use crate::airflow::{
    Needs, Page, PreviousRun, Queue, RunFilter, SerializedRow, Source, SourceError, StoredInstance, StoredRun,
    Surrounding, Values,
};
use crate::asset::Asset;
use crate::context::StoredEvent;
use crate::context::masker::MASK;
use crate::run::{rest, unreadable, unreadable_text};
use crate::timetable::isoformat;

/// Earlier runs that are looked at for `prev_*_success`.
const PREVIOUS: &str = "20";

/// What helps against masked values.
const HELP: &str = "read it from the metadata database (--db), or write it into the pipeline";

/// What no answer of the API holds.
const UNTOLD: [&str; 3] = ["source_aliases", "source_dag_run", "clear_number"];

/// The REST API as a source of runs.
pub struct RestApi {
    client: Client,
    templates: Option<Box<dyn Source>>,
    assets: Option<Extras>,
}

/// Extras of assets by name and URI.
type Extras = BTreeMap<(String, String), Map<String, Json>>;

impl std::fmt::Debug for RestApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestApi").field("client", &self.client).finish_non_exhaustive()
    }
}

impl RestApi {
    /// Takes a client, and asks for the version of its Airflow.
    ///
    /// # Errors
    /// A server that is not reached, is not Airflow 3, or does not know the user.
    pub fn new(client: Client) -> Result<Self, SourceError> {
        let version = client.find(&["version"], &[])?;
        let version = version.as_ref().and_then(|body| body.get("version")).and_then(Json::as_str);
        match version {
            Some(version) if version.starts_with("3.") => Ok(RestApi { client, templates: None, assets: None }),
            Some(version) => {
                Err(SourceError::new(format!("{} is Airflow {version}; the API of 3.x is read", client.base())))
            }
            None => Err(SourceError::new(format!("{} is not an API server of Airflow 3", client.base()))
                .help("the address is that of `airflow api-server`, without /api/v2")),
        }
    }

    /// Takes serialized Dags from another source: the API does not tell them.
    #[must_use]
    pub fn with_templates(mut self, source: Box<dyn Source>) -> Self {
        self.templates = Some(source);
        self
    }

    /// A collection that the user may be forbidden to read.
    fn allowed(&self, values: &mut Values, what: &str) -> Result<Vec<Json>, SourceError> {
        match self.client.all(&[what], &[], what) {
            Err(error) if error.message.contains("HTTP 403") && !error.message.contains("oken") => {
                values.unreadable.push(format!("the {what}: the user may not read them"));
                Ok(Vec::new())
            }
            other => other,
        }
    }

    fn stored(&mut self, body: &Json, needs: Needs) -> Result<StoredRun, SourceError> {
        let (dag_id, run_id) = (text(body, "dag_id"), text(body, "dag_run_id"));
        if dag_id.is_empty() || run_id.is_empty() {
            return Err(SourceError::new(format!("{}: a dagRun without `dag_id` and `dag_run_id`", self.name())));
        }
        let events = match body.get("run_type").and_then(Json::as_str) {
            // Only asset events make such runs; manual and backfill runs may have been given some as well.
            Some("scheduled") => json!({"asset_events": []}),
            _ => self.client.get(&["dags", &dag_id, "dagRuns", &run_id, "upstreamAssetEvents"], &[])?,
        };
        let consumed = events.get("asset_events").and_then(Json::as_array).is_some_and(|events| !events.is_empty());
        let none = BTreeMap::new();
        let assets = if consumed { self.assets()? } else { &none };
        let (dag_run, _) = rest::wire(body, Some(&events), &|name, uri| Some(extra_of(assets, name, uri)))
            .map_err(|error| SourceError::new(format!("the run {run_id} of {dag_id}: {}", error.message)))?;
        let instances = self.instances(&dag_id, &run_id)?;
        let xcom = if needs.xcom { self.xcoms(&dag_id, &run_id)? } else { Map::new() };
        let previous = match instant(body, "logical_date") {
            Some(date) if needs.previous => self.previous(&dag_id, date)?,
            _ => Vec::new(),
        };
        let versions = body.get("dag_versions").and_then(Json::as_array);
        let version = versions.and_then(|versions| versions.last()).map(|version| hex(&text(version, "id")));
        Ok(StoredRun {
            state: text(body, "state"),
            dag_run: Json::Object(dag_run),
            version,
            instances,
            xcom,
            previous,
            dag_id,
            run_id,
        })
    }

    /// The extras of assets: `/assets` has them, events do not.
    fn assets(&mut self) -> Result<&Extras, SourceError> {
        let assets = match self.assets.take() {
            Some(assets) => assets,
            None => {
                let bodies = self.client.all(&["assets"], &[("only_active", "false")], "assets")?;
                let extra = |body: &Json| body.get("extra").and_then(Json::as_object).cloned().unwrap_or_default();
                bodies.iter().map(|body| ((text(body, "name"), text(body, "uri")), extra(body))).collect()
            }
        };
        Ok(self.assets.insert(assets))
    }

    fn instances(&self, dag_id: &str, run_id: &str) -> Result<Vec<StoredInstance>, SourceError> {
        let path = ["dags", dag_id, "dagRuns", run_id, "taskInstances"];
        let bodies = self.client.all(&path, &[], "task_instances")?;
        let mut instances: Vec<StoredInstance> = bodies
            .iter()
            .map(|body| StoredInstance {
                task_id: text(body, "task_id"),
                map_index: body.get("map_index").and_then(Json::as_i64).unwrap_or(-1),
                try_number: body.get("try_number").and_then(Json::as_i64).unwrap_or(1),
                max_tries: body.get("max_tries").and_then(Json::as_i64).unwrap_or(0),
                start_date: instant(body, "start_date"),
                state: body.get("state").and_then(Json::as_str).map(str::to_owned),
                version: body.get("dag_version").map(|version| hex(&text(version, "id"))).filter(|id| !id.is_empty()),
                // The API cannot tell a task without rendered fields from one that has none yet: both are `{}`.
                rendered: body.get("rendered_fields").and_then(Json::as_object).filter(|map| !map.is_empty()).cloned(),
            })
            .collect();
        instances.sort_by(|one, other| (&one.task_id, one.map_index).cmp(&(&other.task_id, other.map_index)));
        Ok(instances)
    }

    fn xcoms(&self, dag_id: &str, run_id: &str) -> Result<Map<String, Json>, SourceError> {
        let list = ["dags", dag_id, "dagRuns", run_id, "taskInstances", "~", "xcomEntries"];
        let mut entries = self.client.all(&list, &[], "xcom_entries")?;
        entries.sort_by_key(|entry| {
            (text(entry, "task_id"), text(entry, "key"), entry.get("map_index").and_then(Json::as_i64).unwrap_or(-1))
        });
        let mut found = Map::new();
        for entry in &entries {
            let (task_id, key) = (text(entry, "task_id"), text(entry, "key"));
            let index = entry.get("map_index").and_then(Json::as_i64).unwrap_or(-1);
            let index_text = index.to_string();
            let path = ["dags", dag_id, "dagRuns", run_id, "taskInstances", &task_id, "xcomEntries", &key];
            let query = [("map_index", index_text.as_str()), ("deserialize", "false"), ("stringify", "false")];
            let mut body = self.client.get(&path, &query)?;
            let value = body.get_mut("value").map(Json::take).unwrap_or_default();
            StoredRun::add_xcom(&mut found, &task_id, &key, index, value);
        }
        Ok(found)
    }

    fn previous(&self, dag_id: &str, logical_date: DateTime<Utc>) -> Result<Vec<PreviousRun>, SourceError> {
        let before = isoformat(logical_date);
        let query = [
            ("state", "success"),
            ("logical_date_lt", before.as_str()),
            ("order_by", "-logical_date"),
            ("limit", PREVIOUS),
        ];
        let (bodies, _) = self.client.page(&["dags", dag_id, "dagRuns"], &query, "dag_runs", 0)?;
        let run = |body: &Json| {
            let dates = ["data_interval_start", "data_interval_end", "start_date", "end_date"];
            PreviousRun {
                dates: dates
                    .iter()
                    .map(|name| ((*name).to_owned(), body.get(*name).cloned().unwrap_or_default()))
                    .collect(),
                ended: instant(body, "end_date"),
            }
        };
        Ok(bodies.iter().filter(|body| body.get("logical_date").is_some_and(Json::is_string)).map(run).collect())
    }

    fn events(&mut self) -> Result<Vec<StoredEvent>, SourceError> {
        let bodies = self.client.all(&["assets", "events"], &[("order_by", "timestamp")], "asset_events")?;
        let mut events = Vec::with_capacity(bodies.len());
        let assets = self.assets()?;
        for body in &bodies {
            let (name, uri) = (text(body, "name"), text(body, "uri"));
            let (mut asset, _) = Asset::new(Some(&name), Some(&uri))
                .map_err(|error| SourceError::new(format!("the asset {name:?}: {}", error.message)))?;
            asset.extra = Json::Object(extra_of(assets, &name, &uri));
            let Some(timestamp) = instant(body, "timestamp") else { continue };
            let source = |field: &str| body.get(field).and_then(Json::as_str).map(str::to_owned);
            events.push(StoredEvent {
                id: body.get("id").and_then(Json::as_i64).unwrap_or_default(),
                asset,
                timestamp,
                extra: body.get("extra").and_then(Json::as_object).cloned().unwrap_or_default(),
                source_dag_id: source("source_dag_id"),
                source_task_id: source("source_task_id"),
                source_run_id: source("source_run_id"),
                source_map_index: body.get("source_map_index").and_then(Json::as_i64).map(i128::from),
                source_aliases: Vec::new(),
                partition_key: source("partition_key"),
            });
        }
        events.sort_by_key(|event| event.id);
        Ok(events)
    }
}

impl Source for RestApi {
    fn name(&self) -> String {
        self.client.base().to_owned()
    }

    fn dag_ids(&mut self) -> Result<Vec<String>, SourceError> {
        let dags = self.client.all(&["dags"], &[("exclude_stale", "true")], "dags")?;
        let mut ids: Vec<String> = dags.iter().map(|dag| text(dag, "dag_id")).collect();
        ids.sort();
        Ok(ids)
    }

    /// All Dags: which of them have rendered fields is told run by run.
    fn rendered_dags(&mut self) -> Result<Vec<String>, SourceError> {
        self.dag_ids()
    }

    fn run_ids(&mut self, dag_id: &str, most: usize) -> Result<Vec<String>, SourceError> {
        let mut ids = Vec::new();
        while ids.len() < most {
            let query = [("order_by", "-id")];
            let (page, total) = self.client.page(&["dags", dag_id, "dagRuns"], &query, "dag_runs", ids.len())?;
            ids.extend(page.iter().map(|run| text(run, "dag_run_id")));
            if page.is_empty() || ids.len() >= total {
                break;
            }
        }
        ids.truncate(most);
        Ok(ids)
    }

    /// A page is told by how many runs come before it.
    fn runs(&mut self, dag_id: &str, filter: &RunFilter, needs: Needs, after: i64) -> Result<Page, SourceError> {
        let of_partition = |run: &Json| match &filter.partition_key {
            Some(key) => run.get("partition_key").and_then(Json::as_str) == Some(key),
            None => true,
        };
        let (bodies, next) = match &filter.run_id {
            Some(run_id) => {
                let found = self.client.find(&["dags", dag_id, "dagRuns", run_id], &[])?;
                (found.into_iter().collect(), None)
            }
            None => {
                let offset = usize::try_from(after).unwrap_or(0);
                let mut query = vec![("order_by", "id")];
                query.extend(filter.partition_key.as_deref().map(|key| ("partition_key_pattern", key)));
                let (bodies, total) = self.client.page(&["dags", dag_id, "dagRuns"], &query, "dag_runs", offset)?;
                let end = offset + bodies.len();
                let next = (end < total && !bodies.is_empty()).then(|| i64::try_from(end).ok()).flatten();
                (bodies, next)
            }
        };
        let wanted = bodies.iter().filter(|run| of_partition(run));
        let runs = wanted.map(|body| self.stored(body, needs)).collect::<Result<_, _>>()?;
        Ok((runs, next))
    }

    fn values(&mut self) -> Result<Values, SourceError> {
        let mut values = Values::default();
        for item in self.allowed(&mut values, "variables")? {
            let name = text(&item, "key");
            let Some(value) = item.get("value").and_then(Json::as_str) else { continue };
            let parsed = serde_json::from_str::<Json>(value).ok();
            let json = if value.contains(MASK) {
                let why = format!("variable `{name}` is masked by the API");
                values.unreadable.push(why.clone());
                unreadable(&why, HELP)
            } else if matches!(parsed, Some(Json::Object(_) | Json::Array(_) | Json::String(_))) {
                // The API parses and prints JSON anew: its layout is not what is stored.
                unreadable_text(
                    &format!("the API does not tell how the JSON of variable `{name}` is laid out"),
                    &format!("`var.json.{name}` reads its value; the metadata database (--db) has the text"),
                    value,
                )
            } else {
                Json::from(value)
            };
            values.variables.insert(name, json);
        }
        for item in self.allowed(&mut values, "connections")? {
            let conn_id = text(&item, "connection_id");
            let mut fields = Map::new();
            for name in ["conn_type", "description", "host", "schema", "login", "port", "password", "extra"] {
                let value = item.get(name).cloned().unwrap_or(Json::Null);
                let json = match value.as_str() {
                    Some(text) if text.contains(MASK) => {
                        let why = format!("`{name}` of connection `{conn_id}` is masked by the API");
                        values.unreadable.push(why.clone());
                        unreadable(&why, HELP)
                    }
                    Some(text) if name == "extra" && !text.is_empty() => unreadable_text(
                        &format!("the API does not tell how `extra` of connection `{conn_id}` is laid out"),
                        "`extra_dejson` reads its value; the metadata database (--db) has the text",
                        text,
                    ),
                    _ if value.is_null() => continue,
                    _ => value,
                };
                fields.insert(name.to_owned(), json);
            }
            values.connections.insert(conn_id, Json::Object(fields));
        }
        Ok(values)
    }

    /// The API does not tell it.
    fn queue(&mut self) -> Result<Option<Queue>, SourceError> {
        Ok(None)
    }

    fn surrounding(&mut self, source: &str) -> Result<Surrounding, SourceError> {
        let events = if source.contains("inlet_events") { Some(Arc::new(self.events()?)) } else { None };
        Ok(Surrounding { events, dag_runs: Arc::default() })
    }

    fn serialized(&mut self, dag_id: &str, version: Option<&str>) -> Result<Option<SerializedRow>, SourceError> {
        match &mut self.templates {
            Some(source) => source.serialized(dag_id, version),
            None => Ok(None),
        }
    }

    fn latest_dags(&mut self, dag_ids: &[String]) -> Result<Vec<SerializedRow>, SourceError> {
        match &mut self.templates {
            Some(source) => source.latest_dags(dag_ids),
            None => Ok(Vec::new()),
        }
    }

    fn untold(&self, text: &str) -> Option<String> {
        let word = UNTOLD.iter().find(|word| text.contains(**word))?;
        Some(format!("the REST API does not tell `{word}`, which its templates may read"))
    }
}

fn text(body: &Json, field: &str) -> String {
    body.get(field).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The extra of an asset, empty for one that is gone.
fn extra_of(assets: &Extras, name: &str, uri: &str) -> Map<String, Json> {
    assets.get(&(name.to_owned(), uri.to_owned())).cloned().unwrap_or_default()
}

/// A UUID as the metadata database has it, without hyphens.
fn hex(uuid: &str) -> String {
    uuid.replace('-', "")
}

fn instant(body: &Json, field: &str) -> Option<DateTime<Utc>> {
    let text = body.get(field)?.as_str()?;
    DateTime::parse_from_rfc3339(text).ok().map(|date| date.to_utc())
}
