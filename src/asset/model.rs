//! Asset, AssetAlias and references, with the checks of their constructors (`airflow.sdk.definitions.asset`).

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::pytext;
use super::uri::{normalized_uri, sanitize_uri};
use crate::python::{PyErr, PyResult};

/// Longest name, URI or group, in characters.
const IDENTIFIER_LIMIT: usize = 1500;

/// What identifies an asset: name and URI together (Airflow's `AssetUniqueKey`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct AssetKey {
    /// The name; equal to the URI as written where only a URI was given.
    pub name: String,
    /// The normalised URI.
    pub uri: String,
}

/// The subclasses of Airflow's `Asset`; they differ in their default group and in error texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AssetClass {
    /// `Asset`
    #[default]
    Asset,
    /// `Dataset`
    Dataset,
    /// `Model`
    Model,
}

impl AssetClass {
    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "Asset" => Some(AssetClass::Asset),
            "Dataset" => Some(AssetClass::Dataset),
            "Model" => Some(AssetClass::Model),
            _ => None,
        }
    }

    /// `type(x).__name__`
    pub fn name(self) -> &'static str {
        match self {
            AssetClass::Asset => "Asset",
            AssetClass::Dataset => "Dataset",
            AssetClass::Model => "Model",
        }
    }

    /// `asset_type`, the default group.
    pub fn group(self) -> &'static str {
        match self {
            AssetClass::Asset => "asset",
            AssetClass::Dataset => "dataset",
            AssetClass::Model => "model",
        }
    }
}

/// A data asset (Airflow's `Asset`).
#[derive(Debug, Clone, PartialEq)]
pub struct Asset {
    /// The name.
    pub name: String,
    /// The normalised URI.
    pub uri: String,
    /// The group, `asset` by default.
    pub group: String,
    /// Anything the author attached; an object unless somebody passed something else.
    pub extra: Json,
    /// Watchers in their serialized form; kept, never run.
    pub watchers: Vec<Json>,
    /// Access control in its serialized form; empty when it is the default.
    pub access_control: Map<String, Json>,
}

/// Keyword arguments of Airflow's `Asset(...)`, each as JSON as far as given.
#[derive(Debug, Clone, Default)]
pub struct AssetArgs<'a> {
    /// `name`
    pub name: Option<&'a Json>,
    /// `uri`
    pub uri: Option<&'a Json>,
    /// `group`
    pub group: Option<&'a Json>,
    /// `extra`
    pub extra: Option<&'a Json>,
    /// `access_control`, as keyword arguments of `AssetAccessControl`
    pub access_control: Option<&'a Json>,
}

impl Asset {
    /// `Asset(name, uri)` or `Asset(uri)` with every check and normalisation of Airflow 3.3; the second value holds warnings
    /// Airflow would show.
    pub fn new(name: Option<&str>, uri: Option<&str>) -> PyResult<(Self, Vec<String>)> {
        let name = name.map(Json::from);
        let uri = uri.map(Json::from);
        let args = AssetArgs { name: name.as_ref(), uri: uri.as_ref(), ..AssetArgs::default() };
        Self::construct(AssetClass::Asset, &args)
    }

    /// The constructor of `Asset` and its subclasses on arguments of any type, with Airflow's errors.
    pub fn construct(class: AssetClass, args: &AssetArgs<'_>) -> PyResult<(Self, Vec<String>)> {
        let name = args.name.filter(|name| !name.is_null());
        let uri = args.uri.filter(|uri| !uri.is_null());
        let (name, uri) = match (name, uri) {
            (None, None) => return Err(PyErr::type_error("Asset() requires either 'name' or 'uri'")),
            (Some(name), Some(uri)) => (name.clone(), pytext::str(uri)),
            (Some(name), None) => (name.clone(), pytext::str(name)),
            (None, Some(uri)) => (Json::from(pytext::str(uri)), pytext::str(uri)),
        };
        let access_control = match args.access_control {
            Some(Json::Object(given)) => access_control(given)?,
            _ => Map::new(),
        };
        // attrs runs every converter before the first validator.
        let sanitized = sanitize_uri(&uri)?;
        let group = args.group.filter(|group| !group.is_null()).cloned().unwrap_or_else(|| class.group().into());
        let name = not_empty(class.name(), "name", &name)?;
        if name == "self" || name == "context" {
            return Err(PyErr::value_error(format!("prohibited name for asset: {name}")));
        }
        let uri = not_empty(class.name(), "uri", &Json::from(sanitized.uri))?;
        let group = identifier(class.name(), "group", &group)?;
        let extra = args.extra.filter(|extra| !extra.is_null()).cloned().unwrap_or_else(|| Json::Object(Map::new()));
        Ok((Asset { name, uri, group, extra, watchers: Vec::new(), access_control }, sanitized.warnings))
    }

    /// Name and URI.
    pub fn key(&self) -> AssetKey {
        AssetKey { name: self.name.clone(), uri: self.uri.clone() }
    }

    /// `normalized_uri`: the URI after its provider's normaliser, `None` where no provider has one.
    pub fn normalized_uri(&self) -> PyResult<Option<String>> {
        normalized_uri(&self.uri)
    }
}

/// A name that tasks resolve to assets while they run (Airflow's `AssetAlias`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AssetAlias {
    /// The alias's name.
    pub name: String,
    /// The group, `asset` by default.
    pub group: String,
}

impl AssetAlias {
    /// The constructor on arguments of any type, with Airflow's errors.
    pub fn construct(name: &Json, group: Option<&Json>) -> PyResult<Self> {
        let name = not_empty("AssetAlias", "name", name)?;
        let group = identifier("AssetAlias", "group", group.unwrap_or(&Json::from("asset")))?;
        Ok(AssetAlias { name, group })
    }

    /// An alias of that name.
    pub fn new(name: &str) -> PyResult<Self> {
        Self::construct(&Json::from(name), None)
    }
}

/// A reference to an asset declared elsewhere (Airflow's `Asset.ref`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AssetRef {
    /// By name
    Name(String),
    /// By URI, taken as written: references are not normalised
    Uri(String),
}

impl AssetRef {
    /// `Asset.ref(name=..., uri=...)`; exactly one must be given and true.
    pub fn construct(name: Option<&Json>, uri: Option<&Json>) -> PyResult<Self> {
        let name = name.filter(|name| pytext::truth(name));
        let uri = uri.filter(|uri| pytext::truth(uri));
        match (name, uri) {
            (Some(_), Some(_)) => {
                Err(PyErr::type_error("Asset reference must be made to either name or URI, not both"))
            }
            (Some(name), None) => Ok(AssetRef::Name(reference_text(name)?)),
            (None, Some(uri)) => Ok(AssetRef::Uri(reference_text(uri)?)),
            (None, None) => Err(PyErr::type_error("Asset reference expects keyword argument 'name' or 'uri'")),
        }
    }

    /// The name or the URI.
    pub fn text(&self) -> &str {
        match self {
            AssetRef::Name(text) | AssetRef::Uri(text) => text,
        }
    }
}

fn reference_text(value: &Json) -> PyResult<String> {
    match value {
        Json::String(text) => Ok(text.clone()),
        other => Err(PyErr::unsupported(format!("an asset reference to {}", pytext::repr(other)))),
    }
}

fn identifier(class: &str, attribute: &str, value: &Json) -> PyResult<String> {
    let Json::String(text) = value else {
        return Err(PyErr::value_error(format!("{class} {attribute} must be a string")));
    };
    if text.chars().count() > IDENTIFIER_LIMIT {
        return Err(PyErr::value_error(format!("{class} {attribute} cannot exceed {IDENTIFIER_LIMIT} characters")));
    }
    if is_space(text) {
        return Err(PyErr::value_error(format!("{class} {attribute} cannot be just whitespace")));
    }
    Ok(text.clone())
}

fn not_empty(class: &str, attribute: &str, value: &Json) -> PyResult<String> {
    let text = identifier(class, attribute, value)?;
    if text.is_empty() {
        return Err(PyErr::value_error(format!("{class} {attribute} cannot be empty")));
    }
    Ok(text)
}

/// `str.isspace()`
fn is_space(text: &str) -> bool {
    !text.is_empty() && text.chars().all(crate::python::is_space)
}

/// `AssetAccessControl(...)`, in the form it has inside a serialized Dag.
fn access_control(given: &Map<String, Json>) -> PyResult<Map<String, Json>> {
    let mut producers = Json::Array(Vec::new());
    let mut consumers = Json::Null;
    let mut allow_global = true;
    for (key, value) in given {
        match key.as_str() {
            "producer_teams" => producers = value.clone(),
            "consumer_teams" => consumers = value.clone(),
            "allow_global" => match value {
                Json::Bool(allow) => allow_global = *allow,
                other => return Err(not_bool(other)),
            },
            other => {
                return Err(PyErr::type_error(format!(
                    "AssetAccessControl.__init__() got an unexpected keyword argument '{other}'"
                )));
            }
        }
    }
    for (attribute, teams) in [("producer_teams", &producers), ("consumer_teams", &consumers)] {
        let Json::Array(teams) = teams else { continue };
        for team in teams {
            if !matches!(team, Json::String(text) if !text.is_empty() && !is_space(text)) {
                return Err(PyErr::value_error(format!("Each entry in {attribute} must be a non-empty string")));
            }
        }
    }
    let mut map = Map::new();
    if pytext::truth(&producers) || !consumers.is_null() || !allow_global {
        map.insert("producer_teams".to_owned(), producers);
        map.insert("allow_global".to_owned(), allow_global.into());
        if !consumers.is_null() {
            map.insert("consumer_teams".to_owned(), consumers);
        }
    }
    Ok(map)
}

/// The error of attrs' `instance_of` validator: `str()` of a tuple of message, attribute, type and value.
fn not_bool(value: &Json) -> PyErr {
    let repr = pytext::repr(value);
    let message =
        format!("'allow_global' must be <class 'bool'> (got {repr} that is a <class '{}'>).", pytext::type_name(value));
    let attribute = "Attribute(name='allow_global', default=True, validator=_AndValidator(_validators=(<instance_of validator \
                     for type <class 'bool'>>,)), repr=True, eq=True, eq_key=None, order=True, order_key=None, hash=None, \
                     init=True, metadata=mappingproxy({}), type='bool', converter=None, kw_only=False, inherited=False, \
                     on_setattr=None, alias='allow_global')";
    PyErr::type_error(format!("({}, {attribute}, <class 'bool'>, {repr})", crate::python::repr_str(&message)))
}
