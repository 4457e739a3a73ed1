//! `PartitionedAssetTimetable`: runs for partitions, when assets are updated.

use std::any::Any;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::simple::asset_run_id;
use super::{DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable};
use crate::asset::pytext::{item, type_name};
use crate::asset::{AssetCondition, AssetRef, decode_asset_like, encode_asset_like};
use crate::partition::{Mapper, Moment, decode_partition_mapper};
use crate::python::{PyErr, PyResult, repr_str};

/// Listens for partitioned assets; each asset's mapper says which runs an event is for.
#[derive(Debug, Clone)]
pub struct PartitionedAssetTimetable {
    condition: AssetCondition,
    config: Vec<(AssetCondition, Mapper)>,
    default: Mapper,
    by_name: BTreeMap<String, Mapper>,
    by_uri: BTreeMap<String, Mapper>,
}

impl PartitionedAssetTimetable {
    /// A timetable on a condition, with mappers of some assets and one for all others (`IdentityMapper` in Airflow). Where
    /// entries of the configuration mean one asset, the last wins.
    ///
    /// # Errors
    /// `TypeError` for a condition or an alias as a key of the configuration: Airflow cannot hash them.
    pub fn new(condition: AssetCondition, config: Vec<(AssetCondition, Mapper)>, default: Mapper) -> PyResult<Self> {
        let mut timetable = PartitionedAssetTimetable {
            condition,
            config: Vec::new(),
            default,
            by_name: BTreeMap::new(),
            by_uri: BTreeMap::new(),
        };
        for (asset, mapper) in config {
            timetable.configure(asset, mapper)?;
        }
        timetable.index();
        Ok(timetable)
    }

    fn configure(&mut self, asset: AssetCondition, mapper: Mapper) -> PyResult<()> {
        if !matches!(asset, AssetCondition::Asset(_) | AssetCondition::Ref(_)) {
            return Err(PyErr::type_error(format!("unhashable type: 'Serialized{}'", asset.class_name())));
        }
        match self.config.iter_mut().find(|(known, _)| *known == asset) {
            Some((_, known)) => *known = mapper,
            None => self.config.push((asset, mapper)),
        }
        Ok(())
    }

    fn index(&mut self) {
        for (asset, mapper) in &self.config {
            match asset {
                AssetCondition::Asset(asset) => {
                    self.by_name.insert(asset.name.clone(), mapper.clone());
                    self.by_uri.insert(asset.uri.clone(), mapper.clone());
                }
                AssetCondition::Ref(AssetRef::Name(name)) => {
                    self.by_name.insert(name.clone(), mapper.clone());
                }
                AssetCondition::Ref(AssetRef::Uri(uri)) => {
                    self.by_uri.insert(uri.clone(), mapper.clone());
                }
                AssetCondition::Alias(_) | AssetCondition::All(_) | AssetCondition::Any(_) => {}
            }
        }
    }

    /// Reads the `__var` of the serialized form.
    ///
    /// # Errors
    /// `KeyError` and kin for missing fields, and what assets and mappers raise.
    pub fn deserialize(data: &Json) -> PyResult<Self> {
        let default = item(data, "default_partition_mapper")?;
        let entries = item(data, "partition_mapper_config")?;
        let condition = decode_asset_like(item(data, "asset_condition")?)?;
        let default = decode_partition_mapper(default)?;
        let Json::Array(entries) = entries else {
            return Err(PyErr::type_error(format!("'{}' object is not iterable", type_name(entries))));
        };
        let mut timetable = Self::new(condition, Vec::new(), default)?;
        for entry in entries {
            let Some([asset, mapper]) = entry.as_array().map(Vec::as_slice) else {
                return Err(PyErr::unsupported("an entry of partition_mapper_config that is no pair"));
            };
            let asset = decode_asset_like(asset)?;
            timetable.configure(asset, decode_partition_mapper(mapper)?)?;
        }
        timetable.index();
        Ok(timetable)
    }

    /// `get_partition_mapper`: by name when there is one, else by URI; what is not configured has the default.
    pub fn mapper(&self, name: &str, uri: &str) -> &Mapper {
        let found = match (name, uri) {
            ("", "") => None,
            ("", uri) => self.by_uri.get(uri),
            (name, _) => self.by_name.get(name),
        };
        found.unwrap_or(&self.default)
    }

    /// The mapper for whatever is not configured.
    pub fn default_mapper(&self) -> &Mapper {
        &self.default
    }

    /// Each asset and reference of the condition (in Airflow's order: assets first) with the mapper that reads its keys.
    fn listened(&self) -> Vec<(Option<&str>, Option<&str>, &Mapper)> {
        let mut listened = Vec::new();
        for asset in self.condition.assets() {
            let mapper = self.mapper(&asset.name, &asset.uri);
            listened.push((Some(asset.name.as_str()), Some(asset.uri.as_str()), mapper));
        }
        for reference in self.condition.refs() {
            listened.push(match reference {
                AssetRef::Name(name) => (Some(name.as_str()), None, self.mapper(name, "")),
                AssetRef::Uri(uri) => (None, Some(uri.as_str()), self.mapper("", uri)),
            });
        }
        listened
    }
}

impl Timetable for PartitionedAssetTimetable {
    fn class_name(&self) -> &'static str {
        "PartitionedAssetTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.simple"
    }

    fn serialize(&self) -> Json {
        let config: Vec<Json> =
            self.config.iter().map(|(asset, mapper)| json!([encode_asset_like(asset), mapper.encode()])).collect();
        json!({
            "asset_condition": encode_asset_like(&self.condition),
            "partition_mapper_config": config,
            "default_partition_mapper": self.default.encode(),
        })
    }

    fn summary(&self) -> String {
        "Partitioned Asset".to_owned()
    }

    fn partitioned(&self) -> bool {
        true
    }

    fn periodic(&self) -> bool {
        false
    }

    fn asset_condition(&self) -> Option<&AssetCondition> {
        Some(&self.condition)
    }

    fn next_dagrun_info(
        &self,
        _last: Option<DataInterval>,
        _restriction: &TimeRestriction,
        _now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        Ok(None)
    }

    fn decode_partition_date(&self, partition_key: &str) -> PyResult<Option<Moment>> {
        let mut dates: Vec<Moment> = Vec::new();
        for (_, _, mapper) in self.listened() {
            match mapper.to_partition_date(partition_key) {
                Ok(Some(date)) if !dates.iter().any(|known| known.equals(&date)) => dates.push(date),
                Ok(_) => {}
                Err(error) if error.class == "ValueError" => {
                    return Err(PyErr::new(
                        "InvalidPartitionKeyError",
                        format!(
                            "Partition key {} is invalid for this timetable's mappers: {}",
                            repr_str(partition_key),
                            error.message
                        ),
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(if dates.len() == 1 { dates.pop() } else { None })
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        Ok(DataInterval::exact(run_after))
    }

    fn generate_run_id(&self, parts: &RunIdParts<'_>) -> String {
        asset_run_id(parts)
    }

    fn get_partition_mapper(&self, name: &str, uri: &str) -> PyResult<Mapper> {
        Ok(self.mapper(name, uri).clone())
    }

    fn partition_mapper_info(&self) -> Vec<Json> {
        let info = |(name, uri, mapper): (Option<&str>, Option<&str>, &Mapper)| {
            let mut entry = Map::new();
            entry.extend(name.map(|name| ("name".to_owned(), name.into())));
            entry.extend(uri.map(|uri| ("uri".to_owned(), uri.into())));
            entry.insert("is_rollup".to_owned(), mapper.as_rollup().is_some().into());
            Json::Object(entry)
        };
        self.listened().into_iter().map(info).collect()
    }

    fn rollup_fingerprint(&self) -> PyResult<Json> {
        let mut entries = BTreeMap::new();
        for (name, uri, mapper) in self.listened() {
            entries.insert(format!("{}|{}", name.unwrap_or_default(), uri.unwrap_or_default()), mapper.encode());
        }
        Ok(Json::Object(entries.into_iter().collect()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
