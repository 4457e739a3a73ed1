//! Conditions over assets: what `schedule=(a & b) | c` means.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::{Asset, AssetAlias, AssetKey, AssetRef};

/// `&` or `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoolOp {
    /// `&`, `AssetAll`
    All,
    /// `|`, `AssetAny`
    Any,
}

/// Anything a Dag can be scheduled on: an asset, an alias, a reference, or a condition over them.
#[derive(Debug, Clone, PartialEq)]
pub enum AssetCondition {
    /// One asset
    Asset(Asset),
    /// One alias
    Alias(AssetAlias),
    /// A reference by name or URI
    Ref(AssetRef),
    /// `AssetAll`: every part; true when empty
    All(Vec<AssetCondition>),
    /// `AssetAny`: at least one part; false when empty
    Any(Vec<AssetCondition>),
}

/// What a condition needs to know of the assets that exist.
pub trait Registry {
    /// The active asset a reference means, the earliest registered if several match.
    fn resolve_ref(&self, reference: &AssetRef) -> Option<AssetKey>;

    /// The assets associated with an alias so far, active or not.
    fn assets_of_alias(&self, alias: &str) -> Vec<AssetKey>;
}

impl AssetCondition {
    /// `self & other` and `self | other`, flattening the left side as Airflow does (`a & b & c` is one condition of three).
    pub fn combine(self, op: BoolOp, other: AssetCondition) -> AssetCondition {
        match (op, self) {
            (BoolOp::All, AssetCondition::All(mut parts)) => {
                parts.push(other);
                AssetCondition::All(parts)
            }
            (BoolOp::Any, AssetCondition::Any(mut parts)) => {
                parts.push(other);
                AssetCondition::Any(parts)
            }
            (BoolOp::All, left) => AssetCondition::All(vec![left, other]),
            (BoolOp::Any, left) => AssetCondition::Any(vec![left, other]),
        }
    }

    /// The class name Airflow has for it.
    pub fn class_name(&self) -> &'static str {
        match self {
            AssetCondition::Asset(_) => "Asset",
            AssetCondition::Alias(_) => "AssetAlias",
            AssetCondition::Ref(AssetRef::Name(_)) => "AssetNameRef",
            AssetCondition::Ref(AssetRef::Uri(_)) => "AssetUriRef",
            AssetCondition::All(_) => "AssetAll",
            AssetCondition::Any(_) => "AssetAny",
        }
    }

    /// Every leaf, left to right.
    pub fn leaves(&self) -> Vec<&AssetCondition> {
        let mut found = Vec::new();
        let mut stack = vec![self];
        while let Some(part) = stack.pop() {
            match part {
                AssetCondition::All(parts) | AssetCondition::Any(parts) => stack.extend(parts.iter().rev()),
                leaf => found.push(leaf),
            }
        }
        found
    }

    /// The assets in it (`iter_assets`), left to right, repeats kept.
    pub fn assets(&self) -> Vec<&Asset> {
        fn pick(leaf: &AssetCondition) -> Option<&Asset> {
            if let AssetCondition::Asset(asset) = leaf { Some(asset) } else { None }
        }
        self.leaves().into_iter().filter_map(pick).collect()
    }

    /// The aliases in it (`iter_asset_aliases`).
    pub fn aliases(&self) -> Vec<&AssetAlias> {
        fn pick(leaf: &AssetCondition) -> Option<&AssetAlias> {
            if let AssetCondition::Alias(alias) = leaf { Some(alias) } else { None }
        }
        self.leaves().into_iter().filter_map(pick).collect()
    }

    /// The references in it (`iter_asset_refs`).
    pub fn refs(&self) -> Vec<&AssetRef> {
        fn pick(leaf: &AssetCondition) -> Option<&AssetRef> {
            if let AssetCondition::Ref(reference) = leaf { Some(reference) } else { None }
        }
        self.leaves().into_iter().filter_map(pick).collect()
    }

    /// Whether the condition holds, given the state of each asset; an absent asset counts as false.
    pub fn evaluate(&self, statuses: &HashMap<AssetKey, bool>, registry: &dyn Registry) -> bool {
        let state = |key: &AssetKey| statuses.get(key).copied().unwrap_or(false);
        match self {
            AssetCondition::Asset(asset) => state(&asset.key()),
            AssetCondition::Alias(alias) => registry.assets_of_alias(&alias.name).iter().any(state),
            AssetCondition::Ref(reference) => registry.resolve_ref(reference).is_some_and(|key| state(&key)),
            AssetCondition::All(parts) => parts.iter().all(|part| part.evaluate(statuses, registry)),
            AssetCondition::Any(parts) => parts.iter().any(|part| part.evaluate(statuses, registry)),
        }
    }

    /// The scheduling expression that Airflow stores for display (`as_expression`).
    pub fn as_expression(&self) -> Json {
        match self {
            AssetCondition::Asset(asset) => {
                json!({"asset": {"uri": asset.uri, "name": asset.name, "group": asset.group}})
            }
            AssetCondition::Alias(alias) => json!({"alias": {"name": alias.name, "group": alias.group}}),
            AssetCondition::Ref(AssetRef::Name(name)) => json!({"asset_ref": {"name": name}}),
            AssetCondition::Ref(AssetRef::Uri(uri)) => json!({"asset_ref": {"uri": uri}}),
            AssetCondition::All(parts) => {
                json!({"all": parts.iter().map(AssetCondition::as_expression).collect::<Vec<_>>()})
            }
            AssetCondition::Any(parts) => {
                json!({"any": parts.iter().map(AssetCondition::as_expression).collect::<Vec<_>>()})
            }
        }
    }
}
