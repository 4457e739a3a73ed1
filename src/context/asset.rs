//! Assets, aliases, references and their keys as Python objects (`airflow.sdk.definitions.asset`).

use crate::asset::{Asset, AssetAlias, AssetRef};
use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, downcast, object, repr_str,
};

use super::convert;
use super::surroundings::AssetItem;

const MODULE: &str = "airflow.sdk.definitions.asset";

/// `Asset(...)`: holds its `extra` as one dict, so that a template that changes it sees the change.
#[derive(Debug)]
pub struct AssetObject {
    asset: Asset,
    extra: Value,
}

/// `AssetAlias(...)`
#[derive(Debug)]
pub struct AliasObject(AssetAlias);

/// `AssetNameRef(...)` or `AssetUriRef(...)`
#[derive(Debug)]
pub struct RefObject(AssetRef);

/// `AssetAccessControl(...)`
#[derive(Debug)]
struct AccessControl {
    producer_teams: Value,
    consumer_teams: Value,
    allow_global: Value,
}

/// What events are filed under: `AssetUniqueKey` or `AssetAliasUniqueKey`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EventKey {
    /// An asset: name and URI, as the event has them.
    Asset {
        /// Name
        name: String,
        /// URI, as stored
        uri: String,
    },
    /// An alias, by name.
    Alias(String),
}

impl EventKey {
    /// The key of an asset.
    pub fn of(asset: &Asset) -> Self {
        EventKey::Asset { name: asset.name.clone(), uri: asset.uri.clone() }
    }

    /// `repr(key)`
    pub fn repr(&self) -> String {
        match self {
            EventKey::Asset { name, uri } => {
                format!("AssetUniqueKey(name={}, uri={})", repr_str(name), repr_str(uri))
            }
            EventKey::Alias(name) => format!("AssetAliasUniqueKey(name={})", repr_str(name)),
        }
    }

    /// `to_asset()` or `to_asset_alias()`: constructing an asset normalises its URI, and may refuse it.
    pub fn to_value(&self) -> PyResult {
        match self {
            EventKey::Asset { name, uri } => asset_value(Asset::new(Some(name), Some(uri))?.0),
            EventKey::Alias(name) => Ok(alias_value(AssetAlias::new(name)?)),
        }
    }
}

/// The Python object of an asset.
pub fn asset_value(asset: Asset) -> PyResult {
    let extra = convert::json(&asset.extra)?;
    Ok(object(AssetObject { asset, extra }))
}

/// The Python object of an alias.
pub fn alias_value(alias: AssetAlias) -> Value {
    object(AliasObject(alias))
}

/// The Python object of a reference.
pub fn ref_value(reference: AssetRef) -> Value {
    object(RefObject(reference))
}

/// The Python object of an inlet or outlet.
pub fn item_value(item: &AssetItem) -> PyResult {
    match item {
        AssetItem::Asset(asset) => asset_value(asset.clone()),
        AssetItem::Alias(alias) => Ok(alias_value(alias.clone())),
        AssetItem::Ref(reference) => Ok(ref_value(reference.clone())),
        AssetItem::Object(value) => convert::json(value),
    }
}

/// A value that stands for an asset, an alias or a reference.
pub enum AssetLike<'a> {
    /// `Asset`
    Asset(&'a Asset),
    /// `AssetAlias`
    Alias(&'a AssetAlias),
    /// `AssetRef`
    Ref(&'a AssetRef),
}

/// Looks at a value as an asset, alias or reference.
pub fn asset_like(value: &Value) -> Option<AssetLike<'_>> {
    if let Some(asset) = downcast::<AssetObject>(value) {
        return Some(AssetLike::Asset(&asset.asset));
    }
    if let Some(alias) = downcast::<AliasObject>(value) {
        return Some(AssetLike::Alias(&alias.0));
    }
    downcast::<RefObject>(value).map(|reference| AssetLike::Ref(&reference.0))
}

/// Airflow's error for a key that is none of them; it names the class as `type(key)` prints.
pub fn not_asset_like(value: &Value) -> PyErr {
    PyErr::type_error(format!("Key should be either an asset or an asset alias, not {}", class_repr(value)))
}

/// `<class '...'>`, as `type(x)` prints
pub(super) fn class_repr(value: &Value) -> String {
    let name = match python::view(value) {
        python::View::Object(object) => object.qualified_name(),
        _ => python::type_name(value),
    };
    format!("<class '{name}'>")
}

impl AssetObject {
    fn access_control(&self) -> PyResult<AccessControl> {
        let given = &self.asset.access_control;
        let field = |key: &str| given.get(key).map(convert::json).transpose();
        Ok(AccessControl {
            producer_teams: field("producer_teams")?.unwrap_or_else(|| python::list(Vec::new())),
            consumer_teams: field("consumer_teams")?.unwrap_or_else(python::none),
            allow_global: field("allow_global")?.unwrap_or_else(|| Value::from(true)),
        })
    }
}

impl PyObject for AssetObject {
    fn type_name(&self) -> &str {
        "Asset"
    }

    fn qualified_name(&self) -> String {
        format!("{MODULE}.Asset")
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        if !self.asset.watchers.is_empty() {
            return Err(PyErr::unsupported("printing an asset that has watchers"));
        }
        Ok(format!(
            "Asset(name={}, uri={}, group={}, extra={}, watchers=[], access_control={})",
            repr_str(&self.asset.name),
            repr_str(&self.asset.uri),
            repr_str(&self.asset.group),
            python::repr(&self.extra, it)?,
            self.access_control()?.repr(it)?,
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(match name {
            "name" => Ok(Value::from(self.asset.name.as_str())),
            "uri" => Ok(Value::from(self.asset.uri.as_str())),
            "group" => Ok(Value::from(self.asset.group.as_str())),
            "extra" => Ok(self.extra.clone()),
            "asset_type" => Ok(Value::from("asset")),
            "watchers" if self.asset.watchers.is_empty() => Ok(python::list(Vec::new())),
            "watchers" | "_abc_impl" => Err(convert::not_built("Asset", name)),
            "access_control" => self.access_control().map(object),
            "normalized_uri" => self.asset.normalized_uri().map(|uri| convert::opt_str(uri.as_deref())),
            _ => return None,
        })
    }

    fn has_method(&self, name: &str) -> bool {
        name == "ref"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("Asset.ref", &[]).keyword_only(&["name", "uri"]).bind(args)?;
        let text = |at: usize| match bound.get(at).copied().flatten() {
            None => Ok(None),
            Some(value) => match python::text(value) {
                Some(text) => Ok(Some(serde_json::Value::from(text))),
                None => Err(PyErr::unsupported("an asset reference to something that is not text")),
            },
        };
        let (name, uri) = (text(0)?, text(1)?);
        AssetRef::construct(name.as_ref(), uri.as_ref()).map(ref_value)
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<AssetObject>(other)?;
        let mut equal = || -> PyResult<bool> {
            Ok(self.asset.name == other.asset.name
                && self.asset.uri == other.asset.uri
                && self.asset.group == other.asset.group
                && self.asset.watchers == other.asset.watchers
                && self.asset.access_control == other.asset.access_control
                && python::compare(CmpOp::Eq, &self.extra, &other.extra, it)?)
        };
        match op {
            CmpOp::Eq => Some(equal()),
            CmpOp::Ne => Some(equal().map(|equal| !equal)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        // equal assets have equal name, URI and group; extras that differ only meet in the dict's comparison of keys
        let extra = serde_json::to_string(&self.asset.extra).unwrap_or_default();
        let parts = [&self.asset.name, &self.asset.uri, &self.asset.group, &extra];
        Ok(HashKey::Parts("Asset", parts.iter().map(|part| HashKey::Str(part.as_str().into())).collect()))
    }
}

impl PyObject for AliasObject {
    fn type_name(&self) -> &str {
        "AssetAlias"
    }

    fn qualified_name(&self) -> String {
        format!("{MODULE}.AssetAlias")
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("AssetAlias(name={}, group={})", repr_str(&self.0.name), repr_str(&self.0.group)))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "name" => Some(Ok(Value::from(self.0.name.as_str()))),
            "group" => Some(Ok(Value::from(self.0.group.as_str()))),
            _ => None,
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<AliasObject>(other)?;
        // attrs also orders: a class made by `define` compares as the tuple of its fields only when asked, which it is not
        match op {
            CmpOp::Eq => Some(Ok(self.0 == other.0)),
            CmpOp::Ne => Some(Ok(self.0 != other.0)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let parts = [&self.0.name, &self.0.group];
        Ok(HashKey::Parts("AssetAlias", parts.iter().map(|part| HashKey::Str(part.as_str().into())).collect()))
    }
}

impl PyObject for RefObject {
    fn type_name(&self) -> &str {
        match self.0 {
            AssetRef::Name(_) => "AssetNameRef",
            AssetRef::Uri(_) => "AssetUriRef",
        }
    }

    fn qualified_name(&self) -> String {
        format!("{MODULE}.{}", self.type_name())
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(ref_repr(&self.0))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match (&self.0, name) {
            (AssetRef::Name(text), "name") | (AssetRef::Uri(text), "uri") => Some(Ok(Value::from(text.as_str()))),
            _ => None,
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<RefObject>(other)?;
        match op {
            CmpOp::Eq => Some(Ok(self.0 == other.0)),
            CmpOp::Ne => Some(Ok(self.0 != other.0)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let class = match self.0 {
            AssetRef::Name(_) => "AssetNameRef",
            AssetRef::Uri(_) => "AssetUriRef",
        };
        Ok(HashKey::Parts(class, vec![HashKey::Str(self.0.text().into())]))
    }
}

/// `repr` of a reference.
pub fn ref_repr(reference: &AssetRef) -> String {
    match reference {
        AssetRef::Name(name) => format!("AssetNameRef(name={})", repr_str(name)),
        AssetRef::Uri(uri) => format!("AssetUriRef(uri={})", repr_str(uri)),
    }
}

impl PyObject for AccessControl {
    fn type_name(&self) -> &str {
        "AssetAccessControl"
    }

    fn qualified_name(&self) -> String {
        format!("{MODULE}.access_control.AssetAccessControl")
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!(
            "AssetAccessControl(producer_teams={}, consumer_teams={}, allow_global={})",
            python::repr(&self.producer_teams, it)?,
            python::repr(&self.consumer_teams, it)?,
            python::repr(&self.allow_global, it)?
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "producer_teams" => Some(Ok(self.producer_teams.clone())),
            "consumer_teams" => Some(Ok(self.consumer_teams.clone())),
            "allow_global" => Some(Ok(self.allow_global.clone())),
            _ => None,
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<AccessControl>(other)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let mut equal = || -> PyResult<bool> {
            Ok(python::compare(CmpOp::Eq, &self.producer_teams, &other.producer_teams, it)?
                && python::compare(CmpOp::Eq, &self.consumer_teams, &other.consumer_teams, it)?
                && python::compare(CmpOp::Eq, &self.allow_global, &other.allow_global, it)?)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }
}
