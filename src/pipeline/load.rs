//! Reads `pipeline.yaml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value as Json};

use super::dag::read_dag;
use super::datasets::read_datasets;
use super::document::is_document;
use super::expression::Expressions;
use super::model::{AssetDef, Pipeline, Profile};
use super::reader::{Fields, Reader, Renamed};
use super::scenario::scenario_from_source;
use super::source::{Place, Problem, Severity, Source, suggestion};
use super::yaml::{self, Kind, Node};
use crate::asset::{Asset, AssetAlias, AssetArgs, AssetClass, AssetCondition, parse_expression};
use crate::partition::Evaluate as _;

/// File names a pipeline folder is searched for, in this order.
pub const FILE_NAMES: [&str; 3] = ["pipeline.yaml", "pipeline.yml", "pipeline.json"];

/// Keys of a pipeline file.
pub const PIPELINE_KEYS: [&str; 12] = [
    "profile",
    "template_searchpath",
    "assets",
    "datasets",
    "asset_aliases",
    "dataset_aliases",
    "dags",
    "user_defined_macros",
    "user_defined_filters",
    "variables",
    "connections",
    "secrets",
];

/// Keys of an asset.
pub const ASSET_KEYS: [&str; 4] = ["uri", "name", "group", "extra"];

/// Reads the pipeline of a folder, or a pipeline file.
///
/// # Errors
/// Everything that is wrong with the file, in the order of the file.
pub fn load(path: &Utf8Path) -> Result<Pipeline, Vec<Problem>> {
    load_as(path, None)
}

/// The same, read as a profile in place of the one the file names.
///
/// # Errors
/// Everything that is wrong with the file, and what the profile does not have.
pub fn load_as(path: &Utf8Path, profile: Option<Profile>) -> Result<Pipeline, Vec<Problem>> {
    let file = if path.is_dir() {
        FILE_NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file()).ok_or_else(|| {
            vec![
                Problem::nowhere(format!("{path} holds no pipeline: no {} in it", FILE_NAMES.join(", ")))
                    .help("a pipeline is a folder with a pipeline.yaml"),
            ]
        })?
    } else {
        path.to_owned()
    };
    let source = yaml::read(&file).map_err(|problem| vec![problem])?;
    let root = match file.parent() {
        Some(parent) if !parent.as_str().is_empty() => parent.to_owned(),
        _ => Utf8PathBuf::from("."),
    };
    from_source_as(&source, &root, profile)
}

/// The name of a pipeline in a folder: the folder's own.
pub fn name_of(root: &Utf8Path) -> String {
    let name = root.file_name().map(str::to_owned);
    let canonical = || root.canonicalize_utf8().ok().and_then(|path| path.file_name().map(str::to_owned));
    name.filter(|name| name != "." && name != "..").or_else(canonical).unwrap_or_else(|| "pipeline".to_owned())
}

/// Reads a pipeline from text that is already in memory; templates are looked for below `root`.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn from_source(source: &Arc<Source>, root: &Utf8Path) -> Result<Pipeline, Vec<Problem>> {
    from_source_as(source, root, None)
}

/// The same, read as a profile in place of the one the text names.
///
/// # Errors
/// Everything that is wrong with the text, and what the profile does not have.
pub fn from_source_as(
    source: &Arc<Source>,
    root: &Utf8Path,
    profile: Option<Profile>,
) -> Result<Pipeline, Vec<Problem>> {
    from_memory(source, root, profile, BTreeMap::new())
}

/// The same, with templates in memory: `files` by their paths below `root`. Others are looked for below `root`.
///
/// # Errors
/// Everything that is wrong with the text, and what the profile does not have.
pub fn from_memory(
    source: &Arc<Source>,
    root: &Utf8Path,
    profile: Option<Profile>,
    files: BTreeMap<Utf8PathBuf, Arc<str>>,
) -> Result<Pipeline, Vec<Problem>> {
    let tree = yaml::parse(source).map_err(|problem| vec![problem])?;
    if is_document(&tree) {
        if profile == Some(Profile::Airflow210) {
            let problem = Problem::error("a scenario document is of Airflow 3.3", tree.place.clone());
            return Err(vec![problem.help("`partita resolve --jsonl` answers documents of Airflow 2.10")]);
        }
        let name = source.path.file_stem().unwrap_or("document").to_owned();
        let base = Pipeline::empty(source, root, name);
        let scenario = scenario_from_source(source, &base)?;
        let pipeline = scenario.document.map_or(base, |document| (*document.pipeline).clone());
        return Ok(Pipeline { document: true, ..pipeline });
    }
    let mut reader = Reader::default();
    let pipeline = read_pipeline(&mut reader, &tree, source, root, profile, files);
    // A file that says it is of Airflow 3 should speak its language.
    if profile.is_none() && pipeline.as_ref().is_some_and(|pipeline| pipeline.profile == Profile::Airflow33) {
        let mut told: Vec<&Renamed> = Vec::new();
        for renamed in &reader.renamed {
            let same = |known: &&Renamed| known.place.range == renamed.place.range && known.old == renamed.old;
            if !told.iter().any(same) {
                told.push(renamed);
            }
        }
        let warn = |renamed: &Renamed| {
            let message = format!("`{}` is a name of Airflow 2: Airflow 3 has `{}`", renamed.old, renamed.new);
            Problem::warning(message, renamed.place.clone())
        };
        let warnings: Vec<Problem> = told.into_iter().map(warn).collect();
        reader.problems.extend(warnings);
    }
    let (errors, warnings): (Vec<_>, Vec<_>) =
        reader.problems.into_iter().partition(|problem| problem.severity == Severity::Error);
    match pipeline {
        Some(pipeline) if errors.is_empty() => Ok(Pipeline { warnings, renamed: reader.renamed, ..pipeline }),
        _ => Err(errors.into_iter().chain(warnings).collect()),
    }
}

fn read_pipeline(
    reader: &mut Reader,
    tree: &Node,
    source: &Arc<Source>,
    root: &Utf8Path,
    profile: Option<Profile>,
    files: BTreeMap<Utf8PathBuf, Arc<str>>,
) -> Option<Pipeline> {
    let fields = reader.fields(tree, "a pipeline", &PIPELINE_KEYS)?;
    let written = match fields.get("profile") {
        Some(node) => reader.word(
            node,
            "`profile`",
            &[("airflow-3.3", Profile::Airflow33), ("airflow-2.10", Profile::Airflow210)],
        )?,
        None => Profile::default(),
    };
    let mut pipeline = Pipeline::empty(source, root, name_of(root));
    pipeline.profile = profile.unwrap_or(written);
    pipeline.files = Arc::new(files);
    pipeline.template_searchpath = search_path(reader, fields.get("template_searchpath"), &pipeline);
    pipeline.user_defined_macros = user_defined(reader, fields.get("user_defined_macros"), "user_defined_macros");
    pipeline.user_defined_filters = user_defined(reader, fields.get("user_defined_filters"), "user_defined_filters");
    pipeline.variables = variables(reader, fields.get("variables"));
    pipeline.connections = connections(reader, fields.get("connections"));
    pipeline.secrets = fields.get("secrets").and_then(|node| reader.strings(node, "`secrets`")).unwrap_or_default();
    pipeline.evaluate = Some(Arc::new(Expressions::default()));
    if let Some(node) = synonym(reader, &fields, "assets", "datasets") {
        match pipeline.profile {
            Profile::Airflow33 => read_assets(reader, node, &mut pipeline),
            Profile::Airflow210 => read_datasets(reader, node, &mut pipeline, written == Profile::Airflow210),
        }
    }
    if let Some(node) = synonym(reader, &fields, "asset_aliases", "dataset_aliases") {
        for item in reader.list(node, "`asset_aliases`").unwrap_or_default() {
            if let Some(name) = reader.string(item, "an asset alias") {
                match AssetAlias::new(&name) {
                    Ok(alias) => pipeline.asset_aliases.push(alias),
                    Err(error) => reader.problem(Problem::error(error.message, item.place.clone())),
                }
            }
        }
    }
    let Some(dags) = fields.get("dags") else {
        let place = fields.key_place("dags").unwrap_or(&fields.place).clone();
        reader.problem(
            Problem::error("a pipeline needs `dags`", place).help("the smallest: dags: {my_dag: {tasks: {...}}}"),
        );
        return None;
    };
    for (dag_id, key, node) in reader.entries(dags, "`dags`")? {
        if let Some(dag) = read_dag(reader, &pipeline, dag_id, &key.place, node) {
            pipeline.dags.push(dag);
        }
    }
    Some(pipeline)
}

/// The value of a key under its name of Airflow 3 or of Airflow 2; both at once are one too many.
pub(super) fn synonym<'n>(
    reader: &mut Reader,
    fields: &Fields<'n>,
    new: &'static str,
    old: &'static str,
) -> Option<&'n Node> {
    let Some(place) = fields.key_place(old) else { return fields.get(new) };
    reader.renamed.push(Renamed { place: place.clone(), old, new });
    if let Some(other) = fields.key_place(new) {
        let problem =
            Problem::error(format!("`{old}` is `{new}` by its name of Airflow 2: write one of them"), place.clone());
        reader.problem(problem.related(other.clone(), "the other"));
    }
    fields.get(old)
}

fn read_assets(reader: &mut Reader, node: &Node, pipeline: &mut Pipeline) {
    for (key, key_node, value) in reader.entries(node, "`assets`").unwrap_or_default() {
        let what = format!("asset `{key}`");
        let default_name = Json::from(key);
        let made = match &value.kind {
            Kind::Str { text, .. } => {
                let uri = Json::from(text.as_str());
                Asset::construct(
                    AssetClass::Asset,
                    &AssetArgs { name: Some(&default_name), uri: Some(&uri), ..AssetArgs::default() },
                )
            }
            Kind::Null => {
                Asset::construct(AssetClass::Asset, &AssetArgs { name: Some(&default_name), ..AssetArgs::default() })
            }
            Kind::Map(_) => {
                let Some(fields) = reader.fields(value, &what, &ASSET_KEYS) else { continue };
                let given = |name: &str| fields.get(name).map(Node::to_json);
                let (name, uri, group, extra) = (given("name"), given("uri"), given("group"), given("extra"));
                if let Some(extra) = fields.get("extra") {
                    let _ = reader.entries(extra, &format!("`extra` of {what}"));
                }
                let args = AssetArgs {
                    name: Some(name.as_ref().unwrap_or(&default_name)),
                    uri: uri.as_ref(),
                    group: group.as_ref(),
                    extra: extra.as_ref(),
                    access_control: None,
                };
                Asset::construct(AssetClass::Asset, &args)
            }
            _ => {
                reader.expected(value, &what, "a URI, or {uri, name, group, extra}");
                continue;
            }
        };
        match made {
            Ok((asset, warnings)) => {
                for warning in warnings {
                    reader.problem(Problem::warning(warning, value.place.clone()));
                }
                if let Some(other) = pipeline.assets.iter().find(|def| def.asset.name == asset.name) {
                    reader.problem(
                        Problem::error(format!("two assets are named `{}`", asset.name), key_node.place.clone())
                            .related(other.place.clone(), "the first"),
                    );
                }
                pipeline.assets.push(AssetDef { key: key.to_owned(), asset, place: key_node.place.clone() });
            }
            Err(error) => reader.problem(
                Problem::error(format!("{what}: {}", error.message), value.place.clone())
                    .label(format!("{}, as Airflow raises it", error.class)),
            ),
        }
    }
}

/// Reads an asset expression; unknown names are problems at their place.
pub(super) fn asset_expression(
    reader: &mut Reader,
    node: &Node,
    pipeline: &Pipeline,
    what: &str,
) -> Option<AssetCondition> {
    if node.get("__type").is_some() {
        if pipeline.profile == Profile::Airflow210 {
            let problem = Problem::error(format!("{what}: this is a serialized form of Airflow 3"), node.place.clone());
            reader.problem(problem.help("write the dataset's name, or an expression of names"));
            return None;
        }
        return match crate::asset::decode_asset_like(&node.to_json()) {
            Ok(condition) => Some(condition),
            Err(error) => {
                reader
                    .problem(Problem::error(format!("{what}: {}: {}", error.class, error.message), node.place.clone()));
                None
            }
        };
    }
    let text = reader.string(node, what)?;
    for (old, new) in
        [("DatasetAlias", "AssetAlias"), ("Dataset", "Asset"), ("DatasetAll", "AssetAll"), ("DatasetAny", "AssetAny")]
    {
        if text.contains(&format!("{old}(")) {
            reader.renamed.push(Renamed { place: node.place.clone(), old, new });
        }
    }
    let lookup = |name: &str| pipeline.named(name);
    let error = match parse_expression(&text, false, &lookup) {
        Ok(condition) if pipeline.profile == Profile::Airflow210 => {
            return super::datasets::checked(reader, node, condition);
        }
        Ok(condition) => return Some(condition),
        Err(error) => error,
    };
    let name = text.get(error.range.clone()).unwrap_or_default().trim_matches(['"', '\'']).to_owned();
    let place = inside(&node.place, &text, error.range.clone());
    let word = match pipeline.profile {
        Profile::Airflow33 => "asset",
        Profile::Airflow210 => "dataset",
    };
    let name = name
        .strip_prefix("Dataset(")
        .map_or(name.as_str(), |rest| rest.trim_end_matches(')').trim_matches(['"', '\'']));
    let problem = if text.contains("://") && !text.contains(['"', '\'']) {
        let named = pipeline.assets.iter().find(|def| def.asset.uri == text.trim());
        let help = match named {
            Some(def) => format!("write its name: `{}`", def.key),
            None => format!("declare it under `{word}s` of the pipeline and write its name"),
        };
        Problem::error(format!("`{text}` is a URI, where {word}s are named"), node.place.clone()).help(help)
    } else if error.error.class == "NameError" {
        Problem::error(format!("unknown {word} `{name}`"), place)
            .maybe_help(suggestion(name, pipeline.assets.iter().map(|def| def.key.as_str())))
    } else {
        Problem::error(format!("{what}: {}", error.error.message), place)
    };
    reader.problem(problem);
    None
}

/// A part of a string's place, where the file has the string's text unchanged.
fn inside(place: &Place, text: &str, range: std::ops::Range<usize>) -> Place {
    let written = place.text();
    let lead = usize::from(written.starts_with(['"', '\'']));
    if written.get(lead..lead + text.len()) != Some(text) {
        return place.clone();
    }
    let start = place.range.start + lead;
    let end = (start + range.end).max(start + range.start + 1).min(place.range.end);
    Place { source: place.source.clone(), range: (start + range.start).min(end)..end }
}

pub(super) fn search_path(reader: &mut Reader, node: Option<&Node>, pipeline: &Pipeline) -> Vec<Utf8PathBuf> {
    let root = &pipeline.root;
    let Some(node) = node else { return Vec::new() };
    let folders = reader.strings(node, "`template_searchpath`").unwrap_or_default();
    for folder in &folders {
        let in_memory = pipeline.files.keys().any(|file| file.starts_with(folder));
        if !in_memory && !root.join(folder).is_dir() {
            reader.problem(Problem::warning(
                format!("`template_searchpath`: there is no folder {}", root.join(folder)),
                node.place.clone(),
            ));
        }
    }
    folders.into_iter().map(Utf8PathBuf::from).collect()
}

/// Macros or filters: values, or `{expression: "..."}`. A filter is always an expression.
pub(super) fn user_defined(reader: &mut Reader, node: Option<&Node>, what: &str) -> Map<String, Json> {
    let Some(node) = node else { return Map::new() };
    let mut found = Map::new();
    for (name, _, value) in reader.entries(node, &format!("`{what}`")).unwrap_or_default() {
        let expression = value.get("expression").filter(|_| value.single_key().is_some());
        if let Some(expression) = expression {
            let text = reader.string(expression, &format!("the expression of `{name}`"));
            if let Some(error) = text.and_then(|text| Expressions::default().check(&text).err()) {
                reader.problem(Problem::error(error.message, expression.place.clone()).maybe_help(error.hint));
            }
        } else if what == "user_defined_filters" {
            let problem = Problem::error(format!("filter `{name}` is not an expression"), value.place.clone());
            reader.problem(
                problem.help(format!("write {name}: {{expression: \"...\"}}, over `value`, `args` and `kwargs`")),
            );
        }
        found.insert(name.to_owned(), value.to_json());
    }
    found
}

/// Variables: Airflow stores strings, so anything else must be written as one.
pub(super) fn variables(reader: &mut Reader, node: Option<&Node>) -> Map<String, Json> {
    let Some(node) = node else { return Map::new() };
    let mut found = Map::new();
    for (name, _, value) in reader.entries(node, "`variables`").unwrap_or_default() {
        match &value.kind {
            Kind::Str { text, .. } => {
                found.insert(name.to_owned(), Json::from(text.as_str()));
            }
            Kind::Map(_) | Kind::Seq(_) => reader.problem(
                Problem::error(format!("variable `{name}` must be a string: Airflow stores text"), value.place.clone())
                    .help("write its JSON text in single quotes, as `airflow variables set` would get it"),
            ),
            _ => reader.expected(value, &format!("variable `{name}`"), "a string"),
        }
    }
    found
}

/// Keys of a connection.
pub const CONNECTION_KEYS: [&str; 8] =
    ["conn_type", "description", "host", "schema", "login", "password", "port", "extra"];

/// Connections: Airflow's columns; `extra` may be written as a mapping and is stored as its JSON text.
pub(super) fn connections(reader: &mut Reader, node: Option<&Node>) -> Map<String, Json> {
    let Some(node) = node else { return Map::new() };
    let mut found = Map::new();
    for (id, _, value) in reader.entries(node, "`connections`").unwrap_or_default() {
        let what = format!("connection `{id}`");
        let Some(fields) = reader.fields(value, &what, &CONNECTION_KEYS) else { continue };
        let mut connection = Map::new();
        for (name, _, value) in fields.iter() {
            let json = match (name, &value.kind) {
                ("extra", Kind::Map(_)) => Json::from(value.to_json().to_string()),
                ("port", Kind::Number(_)) | (_, Kind::Null) => value.to_json(),
                ("port", _) => {
                    reader.expected(value, &format!("`port` of {what}"), "a whole number");
                    continue;
                }
                (_, Kind::Str { text, .. }) => Json::from(text.as_str()),
                _ => {
                    reader.expected(value, &format!("`{name}` of {what}"), "a string");
                    continue;
                }
            };
            connection.insert(name.to_owned(), json);
        }
        found.insert(id.to_owned(), Json::Object(connection));
    }
    found
}
