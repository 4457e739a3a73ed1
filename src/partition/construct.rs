//! Constructors as a Dag file calls them, for the objects of a pipeline file.

use std::sync::Arc;

use serde_json::Value as Json;

use super::serialized::{at_least_two, read_zone};
use super::temporal::DEFAULT_INPUT_FORMAT;
use super::{
    AllowedKeyMapper, ChainMapper, Direction, FanOutMapper, FixedKeyMapper, IdentityMapper, KeyCap, Mapper, Period,
    ProductMapper, RollupMapper, Span, TemporalMapper, WaitPolicy, Window,
};
use crate::asset::pytext::{repr, type_name};
use crate::python::{PyErr, PyResult, Zone};

/// What a constructor makes.
#[derive(Debug, Clone)]
pub enum Object {
    /// A partition mapper
    Mapper(Mapper),
    /// A window
    Window(Window),
    /// A wait policy
    Policy(WaitPolicy),
}

/// An argument of a constructor.
#[derive(Debug, Clone)]
pub enum Arg {
    /// Plain data
    Json(Json),
    /// An object built before
    Object(Object),
}

impl From<Json> for Arg {
    fn from(value: Json) -> Self {
        Arg::Json(value)
    }
}

/// Parameters of a constructor, as Python binds them.
struct Signature {
    class: &'static str,
    positional: &'static [&'static str],
    /// True when more positional arguments may follow.
    variadic: bool,
    keyword_only: &'static [(&'static str, Need)],
}

#[derive(PartialEq, Clone, Copy)]
enum Need {
    Required,
    Optional,
}

use Need::{Optional, Required};

const CAP: (&str, Need) = ("max_downstream_keys", Optional);
const TEMPORAL: &[(&str, Need)] =
    &[("timezone", Optional), ("input_format", Optional), ("output_format", Optional), CAP];
const ROLLUP: &[(&str, Need)] = &[("upstream_mapper", Required), ("window", Required), ("wait_policy", Optional), CAP];
const FAN_OUT: &[(&str, Need)] =
    &[("upstream_mapper", Required), ("window", Required), ("downstream_mapper", Optional), CAP];

fn signature(class: &str) -> Option<Signature> {
    let plain = |class, positional, keyword_only| Signature { class, positional, variadic: false, keyword_only };
    Some(match class {
        "IdentityMapper" => plain("IdentityMapper", &[], &[CAP]),
        "AllowedKeyMapper" => plain("AllowedKeyMapper", &["allowed_keys"], &[CAP]),
        "FixedKeyMapper" => plain("FixedKeyMapper", &["downstream_key"], &[CAP]),
        "ProductMapper" => Signature {
            class: "ProductMapper",
            positional: &[],
            variadic: true,
            keyword_only: &[("delimiter", Optional), CAP],
        },
        "ChainMapper" => Signature { class: "ChainMapper", positional: &[], variadic: true, keyword_only: &[CAP] },
        "RollupMapper" => plain("RollupMapper", &[], ROLLUP),
        "FanOutMapper" => plain("FanOutMapper", &[], FAN_OUT),
        "SegmentWindow" => plain("SegmentWindow", &["segments"], &[]),
        "WaitForAll" => plain("WaitForAll", &[], &[]),
        "MinimumCount" => plain("MinimumCount", &["n"], &[]),
        other => match (Period::named(other), Span::named(other)) {
            (Some(period), _) => plain(period.class_name(), &[], TEMPORAL),
            (_, Some(span)) => plain(span.class_name(), &[], &[("direction", Optional)]),
            _ => return None,
        },
    })
}

/// Arguments bound to parameters.
struct Bound<'a> {
    named: Vec<(&'static str, &'a Arg)>,
    rest: &'a [Arg],
}

impl<'a> Bound<'a> {
    fn get(&self, name: &str) -> Option<&'a Arg> {
        self.named.iter().find(|(known, _)| *known == name).map(|(_, arg)| *arg)
    }

    fn json(&self, name: &str) -> PyResult<Option<&'a Json>> {
        match self.get(name) {
            None => Ok(None),
            Some(Arg::Json(value)) => Ok(Some(value)),
            Some(Arg::Object(_)) => {
                Err(PyErr::type_error(format!("{name} must not be a mapper, a window or a policy")))
            }
        }
    }

    fn text(&self, name: &str) -> PyResult<Option<String>> {
        match self.json(name)? {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(PyErr::type_error(format!("{name} must be str, not {}", type_name(other)))),
        }
    }

    fn mapper(&self, name: &str) -> PyResult<Option<Mapper>> {
        self.get(name).filter(|arg| !matches!(arg, Arg::Json(Json::Null))).map(mapper).transpose()
    }

    fn window(&self, name: &str) -> PyResult<Window> {
        match self.get(name) {
            Some(Arg::Object(Object::Window(window))) => Ok(window.clone()),
            _ => Err(PyErr::type_error(format!("{name} must be a window"))),
        }
    }
}

fn mapper(arg: &Arg) -> PyResult<Mapper> {
    match arg {
        Arg::Object(Object::Mapper(mapper)) => Ok(mapper.clone()),
        Arg::Object(_) => Err(PyErr::type_error("a partition mapper is expected, not a window or a policy")),
        Arg::Json(value) => Err(PyErr::type_error(format!("a partition mapper is expected, not {}", repr(value)))),
    }
}

/// Calls the constructor of a mapper, window or policy of Airflow's with positional and keyword arguments, as a Dag file
/// would.
///
/// # Errors
/// `NameError` for a class that does not exist; else Python's and Airflow's own errors.
pub fn construct(class: &str, positional: &[Arg], keyword: &[(String, Arg)]) -> PyResult<Object> {
    let signature =
        signature(class).ok_or_else(|| PyErr::new("NameError", format!("name '{class}' is not defined")))?;
    let bound = signature.bind(positional, keyword)?;
    let cap = bound.json("max_downstream_keys")?;
    Ok(match signature.class {
        "IdentityMapper" => Object::Mapper(Arc::new(IdentityMapper::new(KeyCap::check(cap)?))),
        "AllowedKeyMapper" => {
            let allowed = bound.json("allowed_keys")?.cloned().unwrap_or_default();
            Object::Mapper(Arc::new(AllowedKeyMapper::new(allowed, KeyCap::check(cap)?)))
        }
        "FixedKeyMapper" => {
            let key = bound.json("downstream_key")?.unwrap_or(&Json::Null);
            Object::Mapper(Arc::new(FixedKeyMapper::new(key, cap)?))
        }
        "ProductMapper" | "ChainMapper" => {
            at_least_two(signature.class, bound.rest.len())?;
            let mappers = bound.rest.iter().map(mapper).collect::<PyResult<Vec<Mapper>>>()?;
            let cap = KeyCap::check(cap)?;
            if signature.class == "ChainMapper" {
                return Ok(Object::Mapper(Arc::new(ChainMapper::new(mappers, cap))));
            }
            let delimiter = bound.text("delimiter")?.unwrap_or_else(|| "|".to_owned());
            Object::Mapper(Arc::new(ProductMapper::new(mappers, delimiter, cap)))
        }
        "RollupMapper" => {
            let policy = match bound.get("wait_policy") {
                None | Some(Arg::Json(Json::Null)) => WaitPolicy::WaitForAll,
                Some(Arg::Object(Object::Policy(policy))) => policy.clone(),
                Some(_) => return Err(PyErr::type_error("wait_policy must be a wait policy")),
            };
            let upstream = bound.mapper("upstream_mapper")?.ok_or_else(|| required("upstream_mapper"))?;
            Object::Mapper(Arc::new(RollupMapper::new(upstream, bound.window("window")?, policy, cap)?))
        }
        "FanOutMapper" => {
            let upstream = bound.mapper("upstream_mapper")?.ok_or_else(|| required("upstream_mapper"))?;
            let downstream = bound.mapper("downstream_mapper")?;
            Object::Mapper(Arc::new(FanOutMapper::new(upstream, bound.window("window")?, downstream, cap)?))
        }
        "SegmentWindow" => Object::Window(Window::segments(bound.json("segments")?.unwrap_or(&Json::Null))?),
        "WaitForAll" => Object::Policy(WaitPolicy::WaitForAll),
        "MinimumCount" => Object::Policy(WaitPolicy::minimum_count(bound.json("n")?.unwrap_or(&Json::Null))?),
        other => match (Period::named(other), Span::named(other)) {
            (Some(period), _) => {
                let zone = bound.json("timezone")?.map_or(Ok(Zone::UTC), read_zone)?;
                let input = bound.text("input_format")?.unwrap_or_else(|| DEFAULT_INPUT_FORMAT.to_owned());
                let output = bound.text("output_format")?;
                let mapper = TemporalMapper::new(period, zone, input, output, KeyCap::check(cap)?)?;
                Object::Mapper(Arc::new(mapper))
            }
            (_, Some(span)) => {
                let direction = bound.json("direction")?.map_or(Ok(Direction::Forward), Direction::read)?;
                Object::Window(Window::Span(span, direction))
            }
            _ => return Err(PyErr::new("NameError", format!("name '{class}' is not defined"))),
        },
    })
}

fn required(name: &str) -> PyErr {
    PyErr::type_error(format!("{name} must be a partition mapper"))
}

impl Signature {
    fn bind<'a>(&self, positional: &'a [Arg], keyword: &'a [(String, Arg)]) -> PyResult<Bound<'a>> {
        let class = self.class;
        let mut named: Vec<(&'static str, &'a Arg)> = Vec::new();
        if !self.variadic {
            named.extend(self.positional.iter().copied().zip(positional));
        }
        for (name, arg) in keyword {
            let only = self.keyword_only.iter().map(|(only, _)| *only);
            let Some(known) = self.positional.iter().copied().chain(only).find(|known| known == name) else {
                return Err(PyErr::type_error(format!(
                    "{class}.__init__() got an unexpected keyword argument '{name}'"
                )));
            };
            if named.iter().any(|(bound, _)| *bound == known) {
                return Err(PyErr::type_error(format!(
                    "{class}.__init__() got multiple values for argument '{known}'"
                )));
            }
            named.push((known, arg));
        }
        if !self.variadic && positional.len() > self.positional.len() {
            return Err(self.too_many(positional.len(), &named));
        }
        let absent = |name: &&'static str| !named.iter().any(|(bound, _)| bound == name);
        let missing: Vec<&str> = self.positional.iter().copied().filter(absent).collect();
        if !missing.is_empty() {
            return Err(missing_arguments(class, "positional", &missing));
        }
        let required = self.keyword_only.iter().filter(|(_, need)| *need == Required).map(|(name, _)| *name);
        let missing: Vec<&str> = required.filter(absent).collect();
        if !missing.is_empty() {
            return Err(missing_arguments(class, "keyword-only", &missing));
        }
        Ok(Bound { named, rest: if self.variadic { positional } else { &[] } })
    }

    fn too_many(&self, given: usize, named: &[(&'static str, &Arg)]) -> PyErr {
        let takes = self.positional.len() + 1;
        let plural = if takes == 1 { "" } else { "s" };
        let only = named.iter().filter(|(name, _)| self.keyword_only.iter().any(|(only, _)| only == name)).count();
        let given = given + 1;
        let given = match only {
            0 => format!("{given} were given"),
            1 => format!("{given} positional arguments (and 1 keyword-only argument) were given"),
            _ => format!("{given} positional arguments (and {only} keyword-only arguments) were given"),
        };
        PyErr::type_error(format!("{}.__init__() takes {takes} positional argument{plural} but {given}", self.class))
    }
}

fn missing_arguments(class: &str, kind: &str, names: &[&str]) -> PyErr {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let list = match quoted.as_slice() {
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [head @ .., last] => format!("{}, and {last}", head.join(", ")),
        [] => String::new(),
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    PyErr::type_error(format!("{class}.__init__() missing {} required {kind} argument{plural}: {list}", names.len()))
}
