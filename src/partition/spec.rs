//! Mappers as a pipeline file writes them.
//!
//! A text names a class; a mapping with one key is a class and its arguments: a list gives positional arguments, a mapping
//! keyword arguments, anything else the only argument. `AllowedKeyMapper` and `SegmentWindow` take a list as their one
//! argument. Airflow's serialized form stands in the same places.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Arg, Evaluate, ExpressionMapper, Mapper, Object, construct, decode_partition_mapper};
use crate::asset::pytext::repr;
use crate::python::PyErr;

/// Deepest nesting read.
const DEPTH_LIMIT: usize = 50;

/// Every mapper class a pipeline file can name.
pub const MAPPER_CLASSES: [&str; 14] = [
    "IdentityMapper",
    "StartOfHourMapper",
    "StartOfDayMapper",
    "StartOfWeekMapper",
    "StartOfMonthMapper",
    "StartOfQuarterMapper",
    "StartOfYearMapper",
    "ProductMapper",
    "ChainMapper",
    "AllowedKeyMapper",
    "FixedKeyMapper",
    "RollupMapper",
    "FanOutMapper",
    "ExpressionMapper",
];

/// Every window class.
pub const WINDOW_CLASSES: [&str; 7] =
    ["HourWindow", "DayWindow", "WeekWindow", "MonthWindow", "QuarterWindow", "YearWindow", "SegmentWindow"];

/// Every wait policy class.
pub const POLICY_CLASSES: [&str; 2] = ["WaitForAll", "MinimumCount"];

/// A specification that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    /// Where in the specification, as a JSON pointer (empty for the whole).
    pub pointer: String,
    /// What is wrong, with Python's class and text where a constructor refused.
    pub error: PyErr,
    /// For a name that is not known: the names that are.
    pub candidates: &'static [&'static str],
}

/// Builds the mapper a pipeline file describes. `evaluate` runs the expressions of an `ExpressionMapper`.
pub fn read_mapper(spec: &Json, evaluate: Option<&Arc<dyn Evaluate>>) -> Result<Mapper, SpecError> {
    let reader = Reader { evaluate };
    match reader.read(spec, Kind::Mapper, "", 0)? {
        Object::Mapper(mapper) => Ok(mapper),
        Object::Window(_) | Object::Policy(_) => Err(plain("", "a partition mapper is expected")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Mapper,
    Window,
    Policy,
}

impl Kind {
    fn classes(self) -> &'static [&'static str] {
        match self {
            Kind::Mapper => &MAPPER_CLASSES,
            Kind::Window => &WINDOW_CLASSES,
            Kind::Policy => &POLICY_CLASSES,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Kind::Mapper => "partition mapper",
            Kind::Window => "window",
            Kind::Policy => "wait policy",
        }
    }
}

/// What an argument of a constructor is, by its name.
fn argument_kind(name: &str) -> Option<Kind> {
    match name {
        "upstream_mapper" | "downstream_mapper" => Some(Kind::Mapper),
        "window" => Some(Kind::Window),
        "wait_policy" => Some(Kind::Policy),
        _ => None,
    }
}

fn plain(pointer: &str, message: impl Into<String>) -> SpecError {
    SpecError { pointer: pointer.to_owned(), error: PyErr::type_error(message), candidates: &[] }
}

fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

struct Reader<'a> {
    evaluate: Option<&'a Arc<dyn Evaluate>>,
}

impl Reader<'_> {
    fn read(&self, spec: &Json, kind: Kind, pointer: &str, depth: usize) -> Result<Object, SpecError> {
        if depth > DEPTH_LIMIT {
            return Err(plain(pointer, format!("nested deeper than {DEPTH_LIMIT}")));
        }
        match spec {
            Json::String(class) => self.build(class, &Json::Null, kind, pointer, pointer, depth),
            Json::Object(map) if map.contains_key("__type") => self.serialized(spec, kind, pointer),
            Json::Object(map) => {
                let mut entries = map.iter();
                match (entries.next(), entries.next()) {
                    (Some((class, arguments)), None) => {
                        self.build(class, arguments, kind, pointer, &join(pointer, class), depth)
                    }
                    _ => Err(plain(pointer, format!("a {} is one class name with its arguments", kind.noun()))),
                }
            }
            other => Err(plain(pointer, format!("a {} is expected, not {}", kind.noun(), repr(other)))),
        }
    }

    fn serialized(&self, spec: &Json, kind: Kind, pointer: &str) -> Result<Object, SpecError> {
        if kind != Kind::Mapper {
            return Err(plain(pointer, "the serialized form is read for whole mappers only"));
        }
        decode_partition_mapper(spec).map(Object::Mapper).map_err(|error| SpecError {
            pointer: pointer.to_owned(),
            error,
            candidates: &[],
        })
    }

    fn build(
        &self,
        class: &str,
        arguments: &Json,
        kind: Kind,
        class_pointer: &str,
        pointer: &str,
        depth: usize,
    ) -> Result<Object, SpecError> {
        if !kind.classes().contains(&class) {
            let error = PyErr::new("NameError", format!("{} {class:?} does not exist", kind.noun()));
            return Err(SpecError { pointer: class_pointer.to_owned(), error, candidates: kind.classes() });
        }
        if class == "ExpressionMapper" {
            return self.expressions(arguments, pointer);
        }
        let takes_list = matches!(class, "AllowedKeyMapper" | "SegmentWindow");
        let mut positional = Vec::new();
        let mut keyword = Vec::new();
        match arguments {
            Json::Null => {}
            Json::Array(items) if !takes_list => {
                positional = self.positional(class, items, pointer, depth)?;
            }
            Json::Object(map) if !is_mapper_call(class, map) => {
                for (name, value) in map {
                    let place = join(pointer, name);
                    match (name.as_str(), value) {
                        ("mappers", Json::Array(items)) if matches!(class, "ProductMapper" | "ChainMapper") => {
                            positional = self.positional(class, items, &place, depth)?;
                        }
                        _ => keyword.push((name.clone(), self.argument(name, value, &place, depth)?)),
                    }
                }
            }
            other => positional = self.positional(class, std::slice::from_ref(other), pointer, depth)?,
        }
        construct(class, &positional, &keyword).map_err(|error| SpecError {
            pointer: pointer.to_owned(),
            error,
            candidates: &[],
        })
    }

    fn positional(&self, class: &str, items: &[Json], pointer: &str, depth: usize) -> Result<Vec<Arg>, SpecError> {
        let mappers = matches!(class, "ProductMapper" | "ChainMapper");
        let each = |(index, item): (usize, &Json)| {
            if !mappers {
                return Ok(Arg::Json(item.clone()));
            }
            self.read(item, Kind::Mapper, &join(pointer, &index.to_string()), depth + 1).map(Arg::Object)
        };
        items.iter().enumerate().map(each).collect()
    }

    fn argument(&self, name: &str, value: &Json, pointer: &str, depth: usize) -> Result<Arg, SpecError> {
        match argument_kind(name) {
            Some(_) if value.is_null() => Ok(Arg::Json(Json::Null)),
            Some(kind) => self.read(value, kind, pointer, depth + 1).map(Arg::Object),
            None => Ok(Arg::Json(value.clone())),
        }
    }

    fn expressions(&self, arguments: &Json, pointer: &str) -> Result<Object, SpecError> {
        let Some(evaluate) = self.evaluate else {
            let error = PyErr::unsupported("ExpressionMapper here");
            return Err(SpecError { pointer: pointer.to_owned(), error, candidates: &[] });
        };
        let given: Vec<(String, &Json)> = match arguments {
            Json::Object(map) => map.iter().map(|(name, value)| (join(pointer, name), value)).collect(),
            one => vec![(pointer.to_owned(), one)],
        };
        for (place, text) in given.iter().filter_map(|(place, value)| Some((place, value.as_str()?))) {
            let wrong = |error| SpecError { pointer: place.clone(), error, candidates: &[] };
            evaluate.check(text).map_err(wrong)?;
        }
        ExpressionMapper::read(arguments, Arc::clone(evaluate))
            .map(|mapper| Object::Mapper(Arc::new(mapper)))
            .map_err(|error| SpecError { pointer: pointer.to_owned(), error, candidates: &[] })
    }
}

/// `{ProductMapper: {IdentityMapper: ...}}` would be one mapper as the only argument; its key is a class, not a parameter.
fn is_mapper_call(class: &str, map: &Map<String, Json>) -> bool {
    matches!(class, "ProductMapper" | "ChainMapper")
        && map.len() == 1
        && map.keys().all(|key| MAPPER_CLASSES.contains(&key.as_str()))
}
