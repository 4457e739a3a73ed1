//! Scenario documents that bring their own assets and consumers: the form that `resolve --jsonl` reads. They stand among a
//! pipeline's scenarios, or alone in place of a pipeline.

use std::sync::Arc;

use super::model::{AssetDef, Dag, Pipeline};
use super::reader::{Fields, Reader};
use super::scenario::asset_key;
use super::schedule::{Surroundings, read_schedule};
use super::source::Problem;
use super::yaml::Node;
use crate::asset::{AssetCondition, AssetKey, decode_asset_like};
use crate::python::Zone;

/// Keys of a scenario document besides those of a scenario.
pub const DOCUMENT_KEYS: [&str; 7] =
    ["id", "title", "assets", "consumers", "alias_assets", "max_partition_rows_per_tick", "expect"];

/// Keys of a consumer of a scenario document.
const CONSUMER_KEYS: [&str; 5] = ["dag_id", "timetable", "paused", "catchup", "max_active_runs"];

/// What a scenario document brings along.
#[derive(Debug, Clone)]
pub struct Document {
    /// The pipeline it stands in, with its own assets and consumers added.
    pub pipeline: Arc<Pipeline>,
    /// Assets associated with an alias before the first step.
    pub alias_assets: Vec<(String, AssetKey)>,
    /// How many pending rows one pass looks at.
    pub rows_per_tick: Option<usize>,
}

/// Whether a file's tree is a scenario document.
pub(super) fn is_document(tree: &Node) -> bool {
    tree.get("consumers").is_some() && tree.get("dags").is_none()
}

/// Reads assets, consumers and associations of a document.
pub(super) fn read_document(reader: &mut Reader, fields: &Fields<'_>, base: &Pipeline) -> Option<Document> {
    let mut pipeline = base.clone();
    if let Some(node) = fields.get("assets") {
        for item in reader.list(node, "`assets` of a scenario document")? {
            match decode_asset_like(&item.to_json()) {
                Ok(AssetCondition::Asset(asset)) => {
                    pipeline.assets.push(AssetDef { key: asset.name.clone(), asset, place: item.place.clone() });
                }
                Ok(_) => reader.expected(item, "an item of `assets`", "a serialized asset"),
                Err(error) => {
                    let problem = Problem::error(format!("{}: {}", error.class, error.message), item.place.clone());
                    reader.problem(problem.help("a scenario document holds assets in Airflow's serialized form"));
                }
            }
        }
    }
    for item in reader.list(fields.get("consumers")?, "`consumers`")? {
        let fields = reader.fields(item, "a consumer", &CONSUMER_KEYS)?;
        let Some(dag_id) = fields.get("dag_id") else {
            reader.problem(Problem::error("a consumer needs `dag_id`", item.place.clone()));
            continue;
        };
        let dag_id = reader.string(dag_id, "`dag_id`")?;
        let around = Surroundings { pipeline: &pipeline, zone: Zone::UTC };
        let timetable = read_schedule(reader, &around, fields.get("timetable"))?;
        let mut dag = Dag::plain(&dag_id, timetable, item.place.clone());
        dag.is_paused = fields.get("paused").and_then(|node| reader.boolean(node, "`paused`")).unwrap_or(false);
        dag.catchup = fields.get("catchup").and_then(|node| reader.boolean(node, "`catchup`")).unwrap_or(false);
        if let Some(node) = fields.get("max_active_runs") {
            dag.max_active_runs = reader.integer(node, "`max_active_runs`", 0..=i64::from(i32::MAX))?;
        }
        pipeline.dags.push(dag);
    }
    let mut alias_assets = Vec::new();
    if let Some(node) = fields.get("alias_assets") {
        for item in reader.list(node, "`alias_assets`")? {
            let fields = reader.fields(item, "an item of `alias_assets`", &["alias", "assets"])?;
            let alias = reader.string(fields.get("alias")?, "`alias`")?;
            for asset in reader.list(fields.get("assets")?, "`assets`")? {
                alias_assets.push((alias.clone(), asset_key(reader, asset, &pipeline)?));
            }
        }
    }
    let rows_per_tick = match fields.get("max_partition_rows_per_tick") {
        Some(node) => Some(reader.integer(node, "`max_partition_rows_per_tick`", 1..=i64::from(i32::MAX))?),
        None => None,
    };
    Some(Document {
        pipeline: Arc::new(pipeline),
        alias_assets,
        rows_per_tick: rows_per_tick.and_then(|rows| usize::try_from(rows).ok()),
    })
}
