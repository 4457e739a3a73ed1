//! One asset operation from a JSON request: what `inspect asset --jsonl` answers.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::pytext::repr;
use super::{
    Asset, AssetAlias, AssetArgs, AssetClass, AssetCondition, AssetKey, AssetRef, BoolOp, Registry, decode_asset_like,
    encode_asset, encode_asset_like, parse_expression,
};
use crate::python::{PyErr, PyResult};

/// Performs an operation of the corpus `assets.jsonl` on its input and returns the `ok` value.
pub fn operate(op: &str, input: &Json) -> PyResult<Json> {
    match op {
        "asset" => construct(input),
        "alias" => {
            let name = input.get("name").unwrap_or(&Json::Null);
            AssetAlias::construct(name, input.get("group"))
                .map(|alias| encode_asset_like(&AssetCondition::Alias(alias)))
        }
        "ref" => AssetRef::construct(input.get("name"), input.get("uri"))
            .map(|reference| encode_asset_like(&AssetCondition::Ref(reference))),
        "combine" => {
            let leaves = input.get("leaves").and_then(Json::as_object).ok_or_else(|| wants("leaves"))?;
            let tree = input.get("tree").ok_or_else(|| wants("tree"))?;
            combine(leaves, tree, 0).map(|condition| encode_asset_like(&condition))
        }
        "as_expression" => decode_asset_like(input).map(|condition| condition.as_expression()),
        "iter" => decode_asset_like(input).map(|condition| iterate(&condition)),
        "evaluate" | "evaluate_explicit" => evaluate(op, input),
        "invalid_expression" => {
            let text = input.as_str().ok_or_else(|| wants("text"))?;
            let lookup = |name: &str| {
                let asset = Asset::new(Some(name), None).ok()?.0;
                Some(AssetCondition::Asset(asset))
            };
            parse_expression(text, true, &lookup).map(|condition| encode_asset_like(&condition)).map_err(|e| e.error)
        }
        "decode" => decode_asset_like(input).map(|condition| encode_asset_like(&condition)),
        other => Err(PyErr::unsupported(format!("asset operation {}", repr(&Json::from(other))))),
    }
}

fn wants(what: &str) -> PyErr {
    PyErr::unsupported(format!("a request without `{what}`"))
}

fn construct(input: &Json) -> PyResult<Json> {
    let class = match input.get("class").and_then(Json::as_str) {
        None => AssetClass::Asset,
        Some(name) => AssetClass::named(name).ok_or_else(|| PyErr::unsupported(format!("asset class {name}")))?,
    };
    let args = AssetArgs {
        name: input.get("name"),
        uri: input.get("uri"),
        group: input.get("group"),
        extra: input.get("extra"),
        access_control: input.get("access_control"),
    };
    let (asset, warnings) = Asset::construct(class, &args)?;
    Ok(json!({
        "serialized": encode_asset(&asset),
        "warnings": warnings,
        "normalized_uri": asset.normalized_uri()?,
    }))
}

fn combine(leaves: &Map<String, Json>, tree: &Json, depth: usize) -> PyResult<AssetCondition> {
    if depth > 100 {
        return Err(PyErr::limit("asset tree nested deeper than 100"));
    }
    match tree {
        Json::String(name) => decode_asset_like(leaves.get(name).ok_or_else(|| wants(name))?),
        Json::Array(items) => {
            let Some((op, operands)) = items.split_first() else { return Err(wants("operator")) };
            let mut parts = Vec::new();
            for operand in operands {
                parts.push(combine(leaves, operand, depth + 1)?);
            }
            match op.as_str() {
                Some("all") => Ok(AssetCondition::All(parts)),
                Some("any") => Ok(AssetCondition::Any(parts)),
                Some(sign @ ("&" | "|")) => {
                    let op = if sign == "&" { BoolOp::All } else { BoolOp::Any };
                    parts.into_iter().reduce(|left, right| left.combine(op, right)).ok_or_else(|| wants("operands"))
                }
                _ => Err(wants("operator")),
            }
        }
        _ => Err(wants("tree")),
    }
}

fn iterate(condition: &AssetCondition) -> Json {
    let assets: Vec<Json> =
        condition.assets().iter().map(|asset| json!({"name": asset.name, "uri": asset.uri})).collect();
    let aliases: Vec<&str> = condition.aliases().iter().map(|alias| alias.name.as_str()).collect();
    let refs: Vec<Json> = condition
        .refs()
        .into_iter()
        .map(|reference| encode_asset_like(&AssetCondition::Ref(reference.clone())))
        .collect();
    json!({"assets": assets, "aliases": aliases, "refs": refs})
}

/// The assets of a request's `registry`.
struct Known {
    assets: Vec<(AssetKey, bool)>,
    aliases: HashMap<String, Vec<AssetKey>>,
}

impl Known {
    fn read(registry: &Json) -> Option<Self> {
        let mut assets = Vec::new();
        for asset in registry.get("assets")?.as_array()? {
            let key = AssetKey { name: asset.get("name")?.as_str()?.into(), uri: asset.get("uri")?.as_str()?.into() };
            assets.push((key, asset.get("active").and_then(Json::as_bool).unwrap_or(true)));
        }
        let mut aliases = HashMap::new();
        for (alias, names) in registry.get("aliases").and_then(Json::as_object).into_iter().flatten() {
            let named = |name: &Json| assets.iter().find(|(key, _)| Some(key.name.as_str()) == name.as_str());
            let keys = names.as_array()?.iter().filter_map(named).map(|(key, _)| key.clone()).collect();
            aliases.insert(alias.clone(), keys);
        }
        Some(Known { assets, aliases })
    }
}

impl Registry for Known {
    fn resolve_ref(&self, reference: &AssetRef) -> Option<AssetKey> {
        let matches = |key: &AssetKey| match reference {
            AssetRef::Name(name) => key.name == *name,
            AssetRef::Uri(uri) => key.uri == *uri,
        };
        self.assets.iter().find(|(key, active)| *active && matches(key)).map(|(key, _)| key.clone())
    }

    fn assets_of_alias(&self, alias: &str) -> Vec<AssetKey> {
        self.aliases.get(alias).cloned().unwrap_or_default()
    }
}

fn evaluate(op: &str, input: &Json) -> PyResult<Json> {
    let condition = decode_asset_like(input.get("condition").ok_or_else(|| wants("condition"))?)?;
    let known = input.get("registry").and_then(Known::read).ok_or_else(|| wants("registry"))?;
    let statuses = input.get("statuses").and_then(Json::as_array).ok_or_else(|| wants("statuses"))?;
    if op == "evaluate_explicit" {
        let mut states = HashMap::new();
        for status in statuses {
            let field = |name: &str| status.get(name).and_then(Json::as_str).unwrap_or("").to_owned();
            let key = AssetKey { name: field("name"), uri: field("uri") };
            states.insert(key, status.get("value").and_then(Json::as_bool).unwrap_or(false));
        }
        return Ok(condition.evaluate(&states, &known).into());
    }
    let mut answers = Vec::new();
    for names in statuses {
        let named = |key: &AssetKey| {
            names.as_array().is_some_and(|names| names.iter().any(|name| name.as_str() == Some(&key.name)))
        };
        let states = known.assets.iter().filter(|(key, _)| named(key)).map(|(key, _)| (key.clone(), true)).collect();
        answers.push(Json::from(condition.evaluate(&states, &known)));
    }
    Ok(answers.into())
}
