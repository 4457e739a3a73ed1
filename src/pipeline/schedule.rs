//! Reads the `schedule` of a Dag into a timetable.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::dag::zone_help;
use super::datasets;
use super::load::{asset_expression, synonym};
use super::model::{Pipeline, Profile};
use super::reader::{Reader, Renamed};
use super::source::{Place, Problem, closest, suggestion};
use super::yaml::{Kind, Node};
use crate::asset::{AssetCondition, parse_expression};
use crate::partition::{Evaluate, IdentityMapper, Mapper, read_mapper};
use crate::python::{PyErr, Zone};
use crate::timetable::{
    AssetOrTimeSchedule, AssetTriggeredTimetable, NullTimetable, PartitionedAssetTimetable, TIMETABLE_CLASSES,
    Timetable, construct, decode_timetable, from_schedule,
};

/// What a schedule is read against.
pub(super) struct Surroundings<'a> {
    /// Assets and expression mappers.
    pub pipeline: &'a Pipeline,
    /// The Dag's zone: cron strings are read in it.
    pub zone: Zone,
}

impl Surroundings<'_> {
    fn is_2_10(&self) -> bool {
        self.pipeline.profile == Profile::Airflow210
    }
}

/// Reads a schedule; `None` is Airflow's default, no schedule.
pub(super) fn read_schedule(
    reader: &mut Reader,
    around: &Surroundings<'_>,
    node: Option<&Node>,
) -> Option<Arc<dyn Timetable>> {
    let Some(node) = node else { return Some(Arc::new(NullTimetable)) };
    let timetable = schedule(reader, around, node)?;
    // Two assets in one place of a condition are fine; a timetable that cannot be one is not.
    match timetable.validate() {
        Ok(()) => Some(timetable),
        Err(error) if around.is_2_10() && error.message == "cannot nest asset timetables" => {
            refuse(reader, &PyErr::new(error.class, "cannot nest dataset timetables"), node.place.clone())
        }
        Err(error) => refuse(reader, &error, node.place.clone()),
    }
}

fn schedule(reader: &mut Reader, around: &Surroundings<'_>, node: &Node) -> Option<Arc<dyn Timetable>> {
    match &node.kind {
        Kind::Null => Some(Arc::new(NullTimetable)),
        Kind::Str { text, .. } => text_schedule(reader, around, node, text),
        Kind::Seq(items) => Some(Arc::new(AssetTriggeredTimetable::new(all_of(reader, around, items, true)?))),
        Kind::Map(_) if around.is_2_10() && node.get("__type").is_some() => {
            let problem = Problem::error("`schedule`: this is a serialized form of Airflow 3", node.place.clone());
            reader.problem(problem.help("write {ClassName: arguments}, a dataset expression, a cron string or null"));
            None
        }
        Kind::Map(_) if node.get("__type").is_some() => match node.get("__type").and_then(Node::as_str) {
            Some(kind) if kind.starts_with("asset") => {
                let condition = asset_expression(reader, node, around.pipeline, "`schedule`")?;
                Some(Arc::new(AssetTriggeredTimetable::new(condition)))
            }
            _ => match decode_timetable(&node.to_json()) {
                Ok(timetable) => Some(timetable),
                Err(error) => refuse(reader, &error, node.place.clone()),
            },
        },
        Kind::Map(entries) => match entries.as_slice() {
            [(name, arguments)] => class_schedule(reader, around, name, arguments),
            _ => {
                let problem = Problem::error("`schedule` is one class name with its arguments", node.place.clone());
                reader
                    .problem(problem.help("write {ClassName: arguments}, an asset expression, a cron string or null"));
                None
            }
        },
        _ => {
            reader.expected(node, "`schedule`", "a timetable, an asset expression, a cron string or null");
            None
        }
    }
}

/// `AssetAll(*items)`: what a list of assets means.
fn all_of(reader: &mut Reader, around: &Surroundings<'_>, items: &[Node], plain: bool) -> Option<AssetCondition> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        let part = asset_expression(reader, item, around.pipeline, "an asset of the list")?;
        if plain && around.is_2_10() && matches!(part, AssetCondition::All(_) | AssetCondition::Any(_)) {
            let message = "All elements in 'schedule' should be datasets or dataset aliases";
            let problem = Problem::error(message, item.place.clone()).label("Airflow raises ValueError");
            reader.problem(problem.help("join everything by `&` in one expression, in place of a list"));
            return None;
        }
        parts.push(part);
    }
    Some(AssetCondition::All(parts))
}

/// An error of Airflow's at a place.
fn refuse<T>(reader: &mut Reader, error: &PyErr, place: Place) -> Option<T> {
    let problem = Problem::error(error.message.clone(), place);
    let problem = match &*error.class {
        "Unsupported" | "NameError" => problem,
        class => problem.label(format!("Airflow raises {class}")),
    };
    reader.problem(problem.maybe_help(error.hint.clone()));
    None
}

/// The class that a schedule's name means in the profile: names of Airflow 2.10 are those of Airflow 3 by another word.
fn class_of(reader: &mut Reader, around: &Surroundings<'_>, node: &Node, name: &str) -> Option<String> {
    for (old, new) in datasets::TIMETABLES_RENAMED {
        if name == old {
            reader.renamed.push(Renamed { place: node.place.clone(), old, new });
            return Some(new.to_owned());
        }
    }
    if around.is_2_10()
        && let Some((class, instead)) = datasets::TIMETABLES_OF_3.iter().find(|(class, _)| *class == name)
    {
        let problem = Problem::error(format!("Airflow 2.10 has no `{class}`"), node.place.clone());
        reader.problem(problem.help(*instead));
        return None;
    }
    Some(name.to_owned())
}

/// Presets that Airflow documents.
const PRESETS: [&str; 9] =
    ["@once", "@continuous", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@quarterly", "@yearly"];

/// A plain string: a timetable without arguments, an asset expression, or a cron string.
fn text_schedule(
    reader: &mut Reader,
    around: &Surroundings<'_>,
    node: &Node,
    text: &str,
) -> Option<Arc<dyn Timetable>> {
    let pipeline = around.pipeline;
    let text = &*class_of(reader, around, node, text)?;
    if TIMETABLE_CLASSES.contains(&text) {
        return match construct(text, &[], &Map::new()) {
            Ok(timetable) => Some(timetable),
            Err(error) => refuse(reader, &error, node.place.clone()),
        };
    }
    let lookup = |name: &str| pipeline.named(name);
    if parse_expression(text, false, &lookup).is_err() && looks_like_cron(text) {
        return match from_schedule(Some(text), around.zone, around.is_2_10()) {
            Ok(timetable) => Some(timetable),
            Err(error) if text.starts_with('@') => {
                refuse(reader, &error.with_hint(format!("presets are {}", PRESETS.join(", "))), node.place.clone())
            }
            Err(error) => refuse(reader, &error, node.place.clone()),
        };
    }
    if let Some(close) = closest(text, TIMETABLE_CLASSES.iter().copied()).filter(|_| pipeline.asset(text).is_none()) {
        let problem = Problem::error(format!("unknown timetable `{text}`"), node.place.clone());
        reader.problem(problem.help(format!("did you mean `{close}`?")));
        return None;
    }
    let condition = asset_expression(reader, node, pipeline, "`schedule`")?;
    Some(Arc::new(AssetTriggeredTimetable::new(condition)))
}

fn looks_like_cron(text: &str) -> bool {
    // No name of an asset begins like this.
    let starts = text.starts_with(|first: char| matches!(first, '@' | '*') || first.is_ascii_digit());
    starts && !text.contains("://") || (text.split_whitespace().count() >= 5 && !text.contains(['(', ')', '"', '&']))
}

fn class_schedule(
    reader: &mut Reader,
    around: &Surroundings<'_>,
    name: &Node,
    arguments: &Node,
) -> Option<Arc<dyn Timetable>> {
    let class = reader.string(name, "the class name of a timetable")?;
    let written = class.clone();
    let class = class_of(reader, around, name, &class)?;
    match class.as_str() {
        "PartitionedAssetTimetable" => partitioned(reader, around, name, arguments),
        "AssetTriggeredTimetable" => {
            let assets = match &arguments.kind {
                Kind::Map(_) if arguments.get("__type").is_none() => {
                    let fields = reader.fields(arguments, &class, &["assets", "datasets"])?;
                    match synonym(reader, &fields, "assets", "datasets") {
                        Some(assets) => assets,
                        None => return missing(reader, &class, "assets", &name.place),
                    }
                }
                _ => arguments,
            };
            let condition = match &assets.kind {
                Kind::Seq(items) => all_of(reader, around, items, false)?,
                _ => asset_expression(reader, assets, around.pipeline, "`assets`")?,
            };
            Some(Arc::new(AssetTriggeredTimetable::new(condition)))
        }
        "AssetOrTimeSchedule" => {
            let fields = reader.fields(arguments, &class, &["timetable", "assets", "datasets"])?;
            let Some(inner) = fields.get("timetable") else {
                return missing(reader, &written, "timetable", &name.place);
            };
            let Some(assets) = synonym(reader, &fields, "assets", "datasets") else {
                let wanted = if around.is_2_10() { "datasets" } else { "assets" };
                return missing(reader, &written, wanted, &name.place);
            };
            let inner = schedule(reader, around, inner)?;
            let condition = match &assets.kind {
                Kind::Seq(items) => all_of(reader, around, items, false)?,
                _ => asset_expression(reader, assets, around.pipeline, "`assets`")?,
            };
            if around.is_2_10() && matches!(condition, AssetCondition::Alias(_)) {
                let problem = Problem::error("DatasetOrTimeSchedule on an alias alone", assets.place.clone());
                reader
                    .problem(problem.help(
                        "Airflow 2.10 raises NotImplementedError: join it with a dataset, or put it into a list",
                    ));
                return None;
            }
            Some(Arc::new(AssetOrTimeSchedule::new(condition, inner)))
        }
        known if TIMETABLE_CLASSES.contains(&known) => {
            let (positional, keyword) = match arguments.to_json() {
                Json::Null => (Vec::new(), Map::new()),
                Json::Array(items) => (items, Map::new()),
                Json::Object(map) => (Vec::new(), map),
                other => (vec![other], Map::new()),
            };
            let made = construct(known, &positional, &keyword);
            let made = if around.is_2_10() { made.and_then(|made| datasets::timetable(&made, &keyword)) } else { made };
            match made {
                Ok(timetable) => Some(timetable),
                Err(error) if error.class == "InvalidTimezone" => {
                    let node = arguments.get("timezone").unwrap_or(name);
                    let help = node.as_str().and_then(zone_help);
                    let message = format!("there is no time zone `{}`", node.as_str().unwrap_or_default());
                    let problem = Problem::error(message, node.place.clone());
                    reader.problem(problem.label(format!("Airflow raises {}", error.class)).maybe_help(help));
                    None
                }
                Err(error) => refuse(reader, &error, name.place.clone()),
            }
        }
        other => {
            let problem = Problem::error(format!("unknown timetable `{other}`"), name.place.clone());
            reader.problem(problem.maybe_help(suggestion(other, TIMETABLE_CLASSES.iter().copied())));
            None
        }
    }
}

fn missing<T>(reader: &mut Reader, class: &str, argument: &str, place: &Place) -> Option<T> {
    reader.problem(Problem::error(format!("{class} needs `{argument}`"), place.clone()));
    None
}

fn partitioned(
    reader: &mut Reader,
    around: &Surroundings<'_>,
    name: &Node,
    arguments: &Node,
) -> Option<Arc<dyn Timetable>> {
    const CLASS: &str = "PartitionedAssetTimetable";
    let pipeline = around.pipeline;
    let known = ["assets", "default_partition_mapper", "partition_mapper_config"];
    let (assets, fields) = match &arguments.kind {
        Kind::Map(_) if arguments.get("__type").is_none() => {
            let fields = reader.fields(arguments, CLASS, &known)?;
            (fields.get("assets"), Some(fields))
        }
        _ => (Some(arguments), None),
    };
    let Some(assets) = assets.filter(|node| !node.is_null()) else {
        return missing(reader, CLASS, "assets", &name.place);
    };
    if let Kind::Seq(_) = assets.kind {
        let problem =
            Problem::error(format!("`assets` of {CLASS} is one expression, not a list"), assets.place.clone());
        reader.problem(problem.help("join the assets by `&` (all of them) or `|` (any of them)"));
        return None;
    }
    let condition = asset_expression(reader, assets, pipeline, "`assets`")?;
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let default: Mapper = match get("default_partition_mapper") {
        Some(node) => mapper(reader, node, pipeline.evaluate.as_ref())?,
        None => Arc::new(IdentityMapper::new(None)),
    };
    let mut config = Vec::new();
    if let Some(node) = get("partition_mapper_config") {
        let Kind::Map(entries) = &node.kind else {
            reader.expected(node, "`partition_mapper_config`", "a mapping from assets to mappers");
            return None;
        };
        for (key, value) in entries {
            let asset = asset_expression(reader, key, pipeline, "a key of `partition_mapper_config`")?;
            let listens = condition.leaves().contains(&&asset);
            if !listens && matches!(asset, AssetCondition::Asset(_)) {
                let problem =
                    Problem::warning("this asset is not among `assets`: its mapper is never used", key.place.clone());
                reader.problem(problem);
            }
            config.push((asset, mapper(reader, value, pipeline.evaluate.as_ref())?));
        }
    }
    match PartitionedAssetTimetable::new(condition, config, default) {
        Ok(timetable) => Some(Arc::new(timetable)),
        Err(error) => refuse(reader, &error, name.place.clone()),
    }
}

/// Reads a mapper; errors are put where the part that is wrong is written.
pub(super) fn mapper(reader: &mut Reader, node: &Node, evaluate: Option<&Arc<dyn Evaluate>>) -> Option<Mapper> {
    let error = match read_mapper(&node.to_json(), evaluate) {
        Ok(mapper) => return Some(mapper),
        Err(error) => error,
    };
    let (target, place) = node.at_pointer(&error.pointer);
    if error.error.class == "InvalidTimezone" {
        let zone = target.get("timezone").unwrap_or(target);
        let help = zone.as_str().and_then(zone_help);
        let message = format!("there is no time zone `{}`", zone.as_str().unwrap_or_default());
        let problem =
            Problem::error(message, zone.place.clone()).label(format!("Airflow raises {}", error.error.class));
        reader.problem(problem.maybe_help(help));
        return None;
    }
    let mut problem = Problem::error(error.error.message.clone(), place);
    if error.candidates.is_empty() {
        problem = match &*error.error.class {
            "Unsupported" => problem,
            class => problem.label(format!("Airflow raises {class}")),
        };
    } else {
        let name = target.as_str().or_else(|| target.single_key()).unwrap_or_default();
        let help = closest(name, error.candidates.iter().copied()).map(|close| format!("did you mean `{close}`?"));
        problem = problem.maybe_help(help.or_else(|| Some(format!("known: {}", error.candidates.join(", ")))));
    }
    reader.problem(problem.maybe_help(error.error.hint));
    None
}
