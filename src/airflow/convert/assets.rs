//! The assets of imported Dags, and how a pipeline file names them.

use serde_json::{Map, Value as Json, json};

use crate::asset::{
    Asset, AssetArgs, AssetClass, AssetCondition, AssetRef, dataset_uri, decode_asset_like, encode_asset_like,
    parse_expression,
};

/// Assets by the names a pipeline file gives them.
#[derive(Debug, Default)]
pub(super) struct Assets {
    entries: Vec<(String, Asset)>,
    /// Datasets of Airflow 2: known by their URI, named by their key.
    old: bool,
}

impl Assets {
    /// Assets of Dags that Airflow 2 stored, or that Airflow 3 did.
    pub fn new(old: bool) -> Self {
        Assets { entries: Vec::new(), old }
    }

    /// Takes up every asset of a condition.
    pub fn add(&mut self, condition: &AssetCondition) {
        match condition {
            AssetCondition::Asset(asset) => self.add_asset(asset),
            AssetCondition::All(parts) | AssetCondition::Any(parts) => parts.iter().for_each(|part| self.add(part)),
            AssetCondition::Alias(_) | AssetCondition::Ref(_) => {}
        }
    }

    fn add_asset(&mut self, asset: &Asset) {
        // Of one name there is one asset in a pipeline file; another is written in full where it is used.
        if self.entries.iter().any(|(_, known)| known.name == asset.name) || !self.rebuilds(asset) {
            return;
        }
        self.entries.push((String::new(), asset.clone()));
    }

    /// Gives each asset its key: its name, or what can be made of it. Call it once all are known.
    pub fn name(&mut self) {
        let names: Vec<String> = self.entries.iter().map(|(_, asset)| asset.name.clone()).collect();
        let mut taken: Vec<String> = names.iter().filter(|name| is_bare(name)).cloned().collect();
        for (key, asset) in &mut self.entries {
            if is_bare(&asset.name) {
                key.clone_from(&asset.name);
                continue;
            }
            let old = self.old;
            let base = slug(&asset.name);
            let mut candidate = base.clone();
            let mut ordinal = 1;
            while taken.contains(&candidate) {
                ordinal += 1;
                candidate = format!("{base}_{ordinal}");
            }
            taken.push(candidate.clone());
            if old {
                asset.name.clone_from(&candidate);
            }
            *key = candidate;
        }
    }

    /// `assets` of a pipeline file.
    pub fn document(&self) -> Map<String, Json> {
        if self.old {
            let entry = |(key, asset): &(String, Asset)| match &asset.extra {
                Json::Null => (key.clone(), Json::from(asset.uri.as_str())),
                extra => (key.clone(), json!({"uri": asset.uri, "extra": extra})),
            };
            return self.entries.iter().map(entry).collect();
        }
        let plain = |asset: &Asset| asset.group == AssetClass::Asset.group() && asset.extra == json!({});
        let entry = |(key, asset): &(String, Asset)| {
            if key == &asset.name && plain(asset) {
                return (key.clone(), Json::from(asset.uri.as_str()));
            }
            let mut map = Map::new();
            if key != &asset.name {
                map.insert("name".into(), asset.name.as_str().into());
            }
            if asset.uri != asset.name {
                map.insert("uri".into(), asset.uri.as_str().into());
            }
            if asset.group != AssetClass::Asset.group() {
                map.insert("group".into(), asset.group.as_str().into());
            }
            if asset.extra != json!({}) {
                map.insert("extra".into(), asset.extra.clone());
            }
            (key.clone(), Json::Object(map))
        };
        self.entries.iter().map(entry).collect()
    }

    /// A condition as a pipeline file writes it: an expression, or where none says the same, Airflow's serialized form.
    pub fn write(&self, condition: &AssetCondition) -> Json {
        self.expression(condition).map_or_else(|| encode_asset_like(condition), Json::from)
    }

    /// A condition as an expression, if one says the same.
    pub fn expression(&self, condition: &AssetCondition) -> Option<String> {
        let renamed = self.old.then(|| self.by_key(condition, 0));
        let condition = renamed.as_ref().unwrap_or(condition);
        let text = self.text(condition, 0)?;
        let lookup = |name: &str| {
            let by_key = self.entries.iter().find(|(key, _)| key == name);
            let found = by_key.or_else(|| self.entries.iter().find(|(_, asset)| asset.name == name));
            found.map(|(_, asset)| AssetCondition::Asset(asset.clone()))
        };
        (parse_expression(&text, false, &lookup).ok().as_ref() == Some(condition)).then_some(text)
    }

    /// Datasets by the names they have in a pipeline file.
    fn by_key(&self, condition: &AssetCondition, depth: usize) -> AssetCondition {
        let inner = |parts: &[AssetCondition]| parts.iter().map(|part| self.by_key(part, depth + 1)).collect();
        match condition {
            AssetCondition::Asset(asset) => {
                let known = self.entries.iter().find(|(_, known)| known.uri == asset.uri);
                AssetCondition::Asset(known.map_or_else(|| asset.clone(), |(_, known)| known.clone()))
            }
            AssetCondition::All(parts) if depth < 100 => AssetCondition::All(inner(parts)),
            AssetCondition::Any(parts) if depth < 100 => AssetCondition::Any(inner(parts)),
            other => other.clone(),
        }
    }

    /// Whether a pipeline file makes the same asset of its parts.
    fn rebuilds(&self, asset: &Asset) -> bool {
        if !self.old {
            return rebuilt(asset).as_ref() == Some(asset);
        }
        let same = |made: crate::asset::SanitizedUri| made.uri == asset.uri && made.warnings.is_empty();
        matches!(asset.extra, Json::Null | Json::Object(_)) && dataset_uri(&asset.uri).is_ok_and(same)
    }

    fn text(&self, condition: &AssetCondition, depth: usize) -> Option<String> {
        if depth > 40 {
            return None;
        }
        let parts = |parts: &[AssetCondition], sign: &str, class: &str| -> Option<String> {
            let texts: Vec<String> = parts.iter().map(|part| self.text(part, depth + 1)).collect::<Option<_>>()?;
            if parts.len() < 2 {
                return Some(format!("{class}({})", texts.join(", ")));
            }
            let wrap = |(text, part): (String, &AssetCondition)| match part {
                AssetCondition::All(inner) | AssetCondition::Any(inner) if inner.len() > 1 => format!("({text})"),
                _ => text,
            };
            Some(texts.into_iter().zip(parts).map(wrap).collect::<Vec<_>>().join(sign))
        };
        match condition {
            AssetCondition::Asset(asset) => {
                self.entries.iter().find(|(_, known)| known == asset).map(|(key, _)| key.clone())
            }
            AssetCondition::Alias(alias) => Some(format!("AssetAlias({})", Json::from(alias.name.as_str()))),
            AssetCondition::Ref(AssetRef::Name(name)) => Some(format!("Asset.ref(name={})", Json::from(name.as_str()))),
            AssetCondition::Ref(AssetRef::Uri(uri)) => Some(format!("Asset.ref(uri={})", Json::from(uri.as_str()))),
            AssetCondition::All(inner) => parts(inner, " & ", "AssetAll"),
            AssetCondition::Any(inner) => parts(inner, " | ", "AssetAny"),
        }
    }
}

/// The asset that a pipeline file makes of these parts.
fn rebuilt(asset: &Asset) -> Option<Asset> {
    let (name, uri) = (Json::from(asset.name.as_str()), Json::from(asset.uri.as_str()));
    let group = Json::from(asset.group.as_str());
    let args = AssetArgs {
        name: Some(&name),
        uri: Some(&uri),
        group: Some(&group),
        extra: Some(&asset.extra),
        access_control: None,
    };
    if !asset.extra.is_object() {
        return None;
    }
    let (made, warnings) = Asset::construct(AssetClass::Asset, &args).ok()?;
    warnings.is_empty().then_some(made)
}

fn is_bare(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first
        && name.len() <= 200
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && !crate::timetable::TIMETABLE_CLASSES.contains(&name)
}

/// A name for an asset whose own cannot stand bare: what follows the scheme of a URI, in letters, digits and underscores.
fn slug(name: &str) -> String {
    let rest = name.split_once("://").map_or(name, |(_, rest)| rest);
    let mut slug = String::new();
    for c in rest.chars().take(80) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('_') && !slug.is_empty() {
            slug.push('_');
        }
    }
    let slug = slug.trim_end_matches('_');
    match slug.chars().next() {
        None => "asset".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("asset_{slug}"),
        Some(_) => slug.to_owned(),
    }
}

/// Inlets or outlets of a serialized task; the error is what cannot be read.
pub(super) fn items(value: Option<&Json>) -> Result<Vec<AssetCondition>, String> {
    let items = match value {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(_) => return Err("no list".to_owned()),
    };
    items.iter().map(|item| decode_asset_like(&renamed(item)).map_err(|error| error.message)).collect()
}

/// Datasets of Airflow 2 in the form of Airflow 3.
pub(super) fn renamed(value: &Json) -> Json {
    let Json::Object(map) = value else { return value.clone() };
    let Some(kind) = map.get("__type").and_then(Json::as_str) else { return value.clone() };
    let fields = map.get("__var").and_then(Json::as_object).unwrap_or(map);
    let field = |name: &str| fields.get(name).cloned().unwrap_or(Json::Null);
    let objects = || match fields.get("objects") {
        Some(Json::Array(objects)) => Json::Array(objects.iter().map(renamed).collect()),
        other => other.cloned().unwrap_or(Json::Null),
    };
    match kind {
        "dataset" => {
            let extra = fields.get("extra").cloned().unwrap_or_default();
            json!({"__type": "asset", "name": field("uri"), "uri": field("uri"), "group": "asset", "extra": extra})
        }
        "dataset_alias" => json!({"__type": "asset_alias", "name": field("name"), "group": "asset"}),
        "dataset_all" => json!({"__type": "asset_all", "objects": objects()}),
        "dataset_any" => json!({"__type": "asset_any", "objects": objects()}),
        _ => value.clone(),
    }
}
