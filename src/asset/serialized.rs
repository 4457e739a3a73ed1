//! Asset-likes as they are inside a serialized Dag (`encode_asset_like`, `decode_asset_like`).

use serde_json::{Map, Value as Json, json};

use super::pytext::{item, key_error, repr, type_name};
use super::{Asset, AssetAlias, AssetCondition, AssetRef};
use crate::python::{PyErr, PyResult};

/// Deepest nesting of conditions read.
const DEPTH_LIMIT: usize = 100;

/// Reads a serialized asset, alias, reference or condition. Fields may stand beside `__type` or inside `__var`.
pub fn decode_asset_like(value: &Json) -> PyResult<AssetCondition> {
    decode(value, 0)
}

fn decode(value: &Json, depth: usize) -> PyResult<AssetCondition> {
    if depth > DEPTH_LIMIT {
        return Err(PyErr::limit(format!("asset condition nested deeper than {DEPTH_LIMIT}")));
    }
    let Json::Object(map) = value else {
        return Err(item(value, "__type").err().unwrap_or_else(|| key_error("__type")));
    };
    let kind = map.get("__type").ok_or_else(|| PyErr::new("KeyError", "<Encoding.TYPE: '__type'>"))?;
    let fields = map.get("__var").unwrap_or(value);
    let parts = || -> PyResult<Vec<AssetCondition>> {
        match item(fields, "objects")? {
            Json::Array(parts) => parts.iter().map(|part| decode(part, depth + 1)).collect(),
            other => Err(PyErr::type_error(format!("'{}' object is not iterable", type_name(other)))),
        }
    };
    match kind.as_str() {
        Some("asset") => decode_asset(fields).map(AssetCondition::Asset),
        Some("asset_all") => parts().map(AssetCondition::All),
        Some("asset_any") => parts().map(AssetCondition::Any),
        Some("asset_alias") => Ok(AssetCondition::Alias(AssetAlias {
            name: text(item(fields, "name")?, "asset alias name")?,
            group: text(item(fields, "group")?, "asset alias group")?,
        })),
        Some("asset_ref") => reference(fields).map(AssetCondition::Ref),
        _ => Err(PyErr::value_error(format!("deserialization not implemented for DAT {}", repr(kind)))),
    }
}

fn reference(fields: &Json) -> PyResult<AssetRef> {
    let Json::Object(map) = fields else {
        return Err(PyErr::unsupported(format!("an asset reference that is {}", repr(fields))));
    };
    let (class, field) = if map.contains_key("name") { ("Name", "name") } else { ("Uri", "uri") };
    if let Some(unknown) = map.keys().find(|key| *key != field && !key.starts_with("__")) {
        return Err(PyErr::type_error(format!(
            "SerializedAsset{class}Ref.__init__() got an unexpected keyword argument '{unknown}'"
        )));
    }
    match map.get(field) {
        Some(value) if field == "name" => text(value, "asset reference name").map(AssetRef::Name),
        Some(value) => text(value, "asset reference uri").map(AssetRef::Uri),
        None => Err(PyErr::type_error(format!(
            "SerializedAsset{class}Ref.__init__() missing 1 required positional argument: '{field}'"
        ))),
    }
}

/// Reads the fields of a serialized asset. Nothing is normalised again: what was stored counts.
pub fn decode_asset(fields: &Json) -> PyResult<Asset> {
    let optional = |name: &str| fields.as_object().and_then(|map| map.get(name));
    Ok(Asset {
        name: text(item(fields, "name")?, "asset name")?,
        uri: text(item(fields, "uri")?, "asset uri")?,
        group: text(item(fields, "group")?, "asset group")?,
        extra: item(fields, "extra")?.clone(),
        watchers: match optional("watchers") {
            Some(Json::Array(watchers)) => watchers.clone(),
            _ => Vec::new(),
        },
        access_control: match optional("access_control") {
            Some(Json::Object(access)) => access.clone(),
            _ => Map::new(),
        },
    })
}

fn text(value: &Json, what: &str) -> PyResult<String> {
    match value {
        Json::String(text) => Ok(text.clone()),
        other => Err(PyErr::unsupported(format!("{what} that is {}", repr(other)))),
    }
}

/// An asset in its serialized form.
pub fn encode_asset(asset: &Asset) -> Json {
    let mut map = Map::new();
    map.insert("__type".into(), "asset".into());
    map.insert("name".into(), asset.name.clone().into());
    map.insert("uri".into(), asset.uri.clone().into());
    map.insert("group".into(), asset.group.clone().into());
    map.insert("extra".into(), asset.extra.clone());
    if !asset.watchers.is_empty() {
        map.insert("watchers".into(), asset.watchers.clone().into());
    }
    if !asset.access_control.is_empty() {
        map.insert("access_control".into(), asset.access_control.clone().into());
    }
    Json::Object(map)
}

/// An asset, alias, reference or condition in its serialized form.
pub fn encode_asset_like(condition: &AssetCondition) -> Json {
    let parts = |parts: &[AssetCondition]| Json::from(parts.iter().map(encode_asset_like).collect::<Vec<_>>());
    match condition {
        AssetCondition::Asset(asset) => encode_asset(asset),
        AssetCondition::Alias(alias) => json!({"__type": "asset_alias", "name": alias.name, "group": alias.group}),
        AssetCondition::Ref(AssetRef::Name(name)) => json!({"__type": "asset_ref", "name": name}),
        AssetCondition::Ref(AssetRef::Uri(uri)) => json!({"__type": "asset_ref", "uri": uri}),
        AssetCondition::All(objects) => json!({"__type": "asset_all", "objects": parts(objects)}),
        AssetCondition::Any(objects) => json!({"__type": "asset_any", "objects": parts(objects)}),
    }
}
