//! What the Dag processor writes when it has parsed Dags (`DAG.bulk_write_to_db` and the serialized Dag).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::model::{DagState, DatasetDag, DatasetScheduler, Outlet};
use super::timetable::next_dagrun_info;
use crate::asset::{Asset, AssetCondition};
use crate::python::PyResult;
use crate::timetable::DataInterval;

/// A dataset as a leaf of a condition.
pub(super) fn leaf(uri: &str) -> AssetCondition {
    AssetCondition::Asset(Asset {
        name: uri.to_owned(),
        uri: uri.to_owned(),
        group: String::new(),
        extra: Json::Object(Map::new()),
        watchers: Vec::new(),
        access_control: Map::new(),
    })
}

/// The condition over datasets that a condition over assets is: assets are known by their URI alone.
pub fn by_uri(condition: &AssetCondition) -> AssetCondition {
    let all = |parts: &[AssetCondition]| parts.iter().map(by_uri).collect();
    match condition {
        AssetCondition::Asset(asset) => leaf(&asset.uri),
        AssetCondition::All(parts) => AssetCondition::All(all(parts)),
        AssetCondition::Any(parts) => AssetCondition::Any(all(parts)),
        other => other.clone(),
    }
}

impl DatasetScheduler {
    /// Writes parsed Dags: their rows, datasets and aliases, schedule references and the date of the next run by time.
    /// A dataset that a Dag is no longer scheduled on takes its queue row along.
    ///
    /// # Errors
    /// `Unsupported` for what a timetable refuses; what Airflow's timetables raise leaves the Dag without a next run.
    pub fn parse(&mut self, dags: &[DatasetDag], at: DateTime<Utc>) -> PyResult<()> {
        let mut sorted: Vec<&DatasetDag> = dags.iter().collect();
        sorted.sort_by(|a, b| a.dag_id.cmp(&b.dag_id));
        let conditions: Vec<Option<AssetCondition>> =
            dags.iter().map(|dag| dag.condition.as_ref().map(|condition| self.expand(condition))).collect();
        for dag in sorted {
            let condition = dags
                .iter()
                .zip(&conditions)
                .find(|(other, _)| other.dag_id == dag.dag_id)
                .and_then(|(_, condition)| condition.clone());
            self.write_dag(dag, condition, at)?;
        }
        self.write_datasets(dags, &conditions);
        for (dag, condition) in dags.iter().zip(&conditions) {
            self.write_references(dag, condition.as_ref());
        }
        Ok(())
    }

    /// Aliases are replaced by the datasets associated with them so far.
    fn expand(&self, condition: &AssetCondition) -> AssetCondition {
        let all = |parts: &[AssetCondition]| parts.iter().map(|part| self.expand(part)).collect();
        match condition {
            AssetCondition::Alias(alias) => {
                let known = self.aliases.iter().find(|row| row.name == alias.name);
                let ids = known.map(|row| row.datasets.as_slice()).unwrap_or_default();
                AssetCondition::Any(ids.iter().filter_map(|id| self.uri(*id)).map(leaf).collect())
            }
            AssetCondition::All(parts) => AssetCondition::All(all(parts)),
            AssetCondition::Any(parts) => AssetCondition::Any(all(parts)),
            other => other.clone(),
        }
    }

    fn write_dag(&mut self, dag: &DatasetDag, condition: Option<AssetCondition>, at: DateTime<Utc>) -> PyResult<()> {
        let index = match self.dags.iter().position(|state| state.dag.dag_id == dag.dag_id) {
            Some(index) => index,
            None => {
                self.dags.push(DagState {
                    dag: dag.clone(),
                    condition: None,
                    is_paused: dag.is_paused,
                    is_active: true,
                    has_import_errors: false,
                    datasets: Vec::new(),
                    aliases: Vec::new(),
                    next_interval: None,
                    create_after: None,
                });
                self.dags.len() - 1
            }
        };
        let automated = |run_type: &str| run_type == "scheduled" || run_type == "backfill";
        let last = self
            .runs
            .iter()
            .filter(|run| run.dag_id == dag.dag_id && automated(&run.run_type))
            .max_by_key(|run| run.logical_date)
            .and_then(|run| run.data_interval);
        let full = self.active_runs(&dag.dag_id) >= dag.max_active_runs;
        self.reparse.remove(&dag.dag_id);
        let Some(state) = self.dags.get_mut(index) else { return Ok(()) };
        state.dag = dag.clone();
        state.condition = condition;
        state.is_active = true;
        state.has_import_errors = false;
        if full {
            state.create_after = None;
            return Ok(());
        }
        state.calculate_dates(last, at)
    }

    fn write_datasets(&mut self, dags: &[DatasetDag], conditions: &[Option<AssetCondition>]) {
        for outlet in dags.iter().flat_map(|dag| &dag.tasks).flat_map(|task| &task.outlets) {
            match outlet {
                Outlet::Dataset(uri) => {
                    self.add_dataset(uri);
                }
                Outlet::Alias(name) => self.add_alias(name),
                Outlet::Other => {}
            }
        }
        for asset in conditions.iter().flatten().flat_map(AssetCondition::assets) {
            self.add_dataset(&asset.uri);
        }
        for alias in dags.iter().filter_map(|dag| dag.condition.as_ref()).flat_map(AssetCondition::aliases) {
            self.add_alias(&alias.name);
        }
    }

    fn write_references(&mut self, dag: &DatasetDag, expanded: Option<&AssetCondition>) {
        let mut datasets: Vec<i64> = Vec::new();
        for asset in expanded.map(AssetCondition::assets).unwrap_or_default() {
            let id = self.add_dataset(&asset.uri);
            if !datasets.contains(&id) {
                datasets.push(id);
            }
        }
        let aliases: Vec<String> =
            dag.condition.iter().flat_map(AssetCondition::aliases).map(|alias| alias.name.clone()).collect();
        let Some(state) = self.dags.iter_mut().find(|state| state.dag.dag_id == dag.dag_id) else { return };
        // A schedule on datasets that names none leaves the references of the one before.
        if expanded.is_some() && datasets.is_empty() && aliases.is_empty() {
            return;
        }
        let gone: Vec<i64> = state.datasets.iter().filter(|id| !datasets.contains(id)).copied().collect();
        state.datasets = datasets;
        state.aliases = aliases;
        self.queue.retain(|row| row.dag_id != dag.dag_id || !gone.contains(&row.asset_id));
    }
}

impl DagState {
    /// `DagModel.calculate_dagrun_date_fields`: the next run by time after an automated one.
    ///
    /// # Errors
    /// `Unsupported` for what a timetable refuses.
    pub fn calculate_dates(&mut self, last: Option<DataInterval>, at: DateTime<Utc>) -> PyResult<()> {
        let info = match next_dagrun_info(self.dag.timetable.as_ref(), last, &self.dag.restriction, at) {
            Ok(info) => info,
            Err(error) if error.is_refusal() => return Err(error),
            // Airflow logs it and goes on without.
            Err(_) => None,
        };
        self.next_interval = info.as_ref().and_then(|info| Some((info.logical_date()?, info.data_interval?)));
        self.create_after = info.map(|info| info.run_after);
        Ok(())
    }
}
