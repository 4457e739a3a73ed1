//! Reads the `schedule` of a Dag.

use super::call::{self, Arg, Call};
use super::load::asset_expression;
use super::model::{PartitionedSchedule, Pipeline, Schedule};
use super::reader::Reader;
use super::source::{Place, Problem, closest, suggestion};
use super::yaml::{Kind, Node};
use crate::asset::{AssetCondition, parse_expression};

/// Timetables that are built by a constructor call alone.
pub const TIMETABLES: [&str; 11] = [
    "PartitionedAtRuntime",
    "CronPartitionTimetable",
    "CronTriggerTimetable",
    "MultipleCronTriggerTimetable",
    "CronDataIntervalTimetable",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "EventsTimetable",
    "NullTimetable",
    "OnceTimetable",
    "ContinuousTimetable",
];

/// Timetables that take assets.
pub const ASSET_TIMETABLES: [&str; 3] = ["PartitionedAssetTimetable", "AssetTriggeredTimetable", "AssetOrTimeSchedule"];

/// Partition mappers, and partita's own `ExpressionMapper`.
pub const MAPPERS: [&str; 14] = [
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

pub(super) fn read_schedule(reader: &mut Reader, pipeline: &Pipeline, node: Option<&Node>) -> Option<Schedule> {
    let Some(node) = node else { return Some(Schedule::None) };
    match &node.kind {
        Kind::Null => Some(Schedule::None),
        Kind::Str { text, .. } => text_schedule(reader, pipeline, node, text),
        Kind::Seq(items) => {
            let mut parts = Vec::with_capacity(items.len());
            for item in items {
                parts.push(asset_expression(reader, item, pipeline, "an asset of `schedule`")?);
            }
            Some(Schedule::Assets(AssetCondition::All(parts), node.place.clone()))
        }
        Kind::Map(_) if node.get("__type").is_some() => {
            let json = node.to_json();
            match node.get("__type").and_then(Node::as_str) {
                Some(kind) if kind.starts_with("asset") => {
                    Some(Schedule::Assets(asset_expression(reader, node, pipeline, "`schedule`")?, node.place.clone()))
                }
                _ => Some(Schedule::Serialized(json, node.place.clone())),
            }
        }
        Kind::Map(entries) => match entries.as_slice() {
            [(name, arguments)] => class_schedule(reader, pipeline, name, arguments),
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

/// A plain string: a timetable without arguments, an asset expression, or a cron string.
fn text_schedule(reader: &mut Reader, pipeline: &Pipeline, node: &Node, text: &str) -> Option<Schedule> {
    if TIMETABLES.contains(&text) {
        return Some(Schedule::Timetable(Call {
            class: text.to_owned(),
            positional: Vec::new(),
            keyword: Vec::new(),
            place: node.place.clone(),
        }));
    }
    if ASSET_TIMETABLES.contains(&text) {
        let problem = Problem::error(format!("{text} needs `assets`"), node.place.clone());
        reader.problem(problem.help(format!("write {{{text}: {{assets: ...}}}}")));
        return None;
    }
    let lookup = |name: &str| pipeline.asset(name).map(|def| AssetCondition::Asset(def.asset.clone()));
    if parse_expression(text, false, &lookup).is_err() && looks_like_cron(text) {
        return Some(Schedule::Cron(text.to_owned(), node.place.clone()));
    }
    if let Some(close) = closest(text, TIMETABLES.into_iter().chain(ASSET_TIMETABLES)) {
        if pipeline.asset(text).is_none() {
            let problem = Problem::error(format!("unknown timetable `{text}`"), node.place.clone());
            reader.problem(problem.help(format!("did you mean `{close}`?")));
            return None;
        }
    }
    let condition = asset_expression(reader, node, pipeline, "`schedule`")?;
    Some(Schedule::Assets(condition, node.place.clone()))
}

fn looks_like_cron(text: &str) -> bool {
    text.starts_with('@')
        || (text.split_whitespace().count() >= 5 && !text.contains(['(', ')', '"']) && !text.contains(" & "))
}

fn class_schedule(reader: &mut Reader, pipeline: &Pipeline, name: &Node, arguments: &Node) -> Option<Schedule> {
    let class = reader.string(name, "the class name of a timetable")?;
    match class.as_str() {
        "PartitionedAssetTimetable" => partitioned(reader, pipeline, name, arguments).map(Schedule::Partitioned),
        "AssetTriggeredTimetable" => {
            let assets = match &arguments.kind {
                Kind::Map(_) if arguments.get("__type").is_none() => {
                    let fields = reader.fields(arguments, &class, &["assets"])?;
                    match fields.get("assets") {
                        Some(assets) => assets,
                        None => return missing(reader, &class, "assets", &name.place),
                    }
                }
                _ => arguments,
            };
            Some(Schedule::Assets(asset_expression(reader, assets, pipeline, "`assets`")?, name.place.clone()))
        }
        "AssetOrTimeSchedule" => {
            let fields = reader.fields(arguments, &class, &["timetable", "assets"])?;
            let Some(timetable) = fields.get("timetable") else {
                return missing(reader, &class, "timetable", &name.place);
            };
            let Some(assets) = fields.get("assets") else { return missing(reader, &class, "assets", &name.place) };
            let timetable = read_schedule(reader, pipeline, Some(timetable))?;
            let condition = match &assets.kind {
                // `_coerce_assets`: a list becomes AssetAll.
                Kind::Seq(items) => {
                    let mut parts = Vec::with_capacity(items.len());
                    for item in items {
                        parts.push(asset_expression(reader, item, pipeline, "an asset of `assets`")?);
                    }
                    AssetCondition::All(parts)
                }
                _ => asset_expression(reader, assets, pipeline, "`assets`")?,
            };
            Some(Schedule::AssetOrTime(Box::new(timetable), condition, name.place.clone()))
        }
        known if TIMETABLES.contains(&known) => call::call(reader, known, name, arguments, 0).map(Schedule::Timetable),
        other => {
            let problem = Problem::error(format!("unknown timetable `{other}`"), name.place.clone());
            reader.problem(problem.maybe_help(suggestion(other, TIMETABLES.into_iter().chain(ASSET_TIMETABLES))));
            None
        }
    }
}

fn missing<T>(reader: &mut Reader, class: &str, argument: &str, place: &Place) -> Option<T> {
    reader.problem(Problem::error(format!("{class} needs `{argument}`"), place.clone()));
    None
}

fn partitioned(reader: &mut Reader, pipeline: &Pipeline, name: &Node, arguments: &Node) -> Option<PartitionedSchedule> {
    const CLASS: &str = "PartitionedAssetTimetable";
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
            Problem::error("`assets` of PartitionedAssetTimetable is one expression, not a list", assets.place.clone());
        reader.problem(problem.help("join the assets by `&` (all of them) or `|` (any of them)"));
        return None;
    }
    let assets = asset_expression(reader, assets, pipeline, "`assets`")?;
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let default_partition_mapper = match get("default_partition_mapper") {
        Some(node) => Some(mapper(reader, node)?),
        None => None,
    };
    let mut partition_mapper_config = Vec::new();
    if let Some(node) = get("partition_mapper_config") {
        let Kind::Map(entries) = &node.kind else {
            reader.expected(node, "`partition_mapper_config`", "a mapping from assets to mappers");
            return None;
        };
        for (key, value) in entries {
            let asset = asset_expression(reader, key, pipeline, "a key of `partition_mapper_config`")?;
            if matches!(asset, AssetCondition::All(_) | AssetCondition::Any(_)) {
                let problem = Problem::error(
                    "a key of `partition_mapper_config` is one asset, not an expression",
                    key.place.clone(),
                );
                reader.problem(problem);
                return None;
            }
            partition_mapper_config.push((asset, mapper(reader, value)?));
        }
    }
    Some(PartitionedSchedule { assets, default_partition_mapper, partition_mapper_config, place: name.place.clone() })
}

/// Reads a mapper; class names are checked all the way down.
pub(super) fn mapper(reader: &mut Reader, node: &Node) -> Option<Arg> {
    let arg = call::read(reader, node, "a mapper")?;
    check_mapper(reader, &arg).then_some(arg)
}

fn check_mapper(reader: &mut Reader, arg: &Arg) -> bool {
    let Arg::Call(call) = arg else { return true };
    if !MAPPERS.contains(&call.class.as_str()) {
        let problem = Problem::error(format!("unknown mapper `{}`", call.class), call.place.clone());
        let help = closest(&call.class, MAPPERS).map(|close| format!("did you mean `{close}`?"));
        reader.problem(problem.maybe_help(
            help.or_else(|| Some("a mapper of your own is written as {ExpressionMapper: {...}}".to_owned())),
        ));
        return false;
    }
    let nested = call
        .positional
        .iter()
        .chain(call.keyword.iter().filter(|(name, _, _)| name.contains("mapper")).map(|(_, _, arg)| arg));
    let mut fine = true;
    for arg in nested {
        match arg {
            // By position, RollupMapper takes mapper, window, policy.
            Arg::Call(inner)
                if inner.class.ends_with("Window") || matches!(inner.class.as_str(), "WaitForAll" | "MinimumCount") => {
            }
            Arg::List(items, _) => fine &= items.iter().all(|item| check_mapper(reader, item)),
            other => fine &= check_mapper(reader, other),
        }
    }
    fine
}
