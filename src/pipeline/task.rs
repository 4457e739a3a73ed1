//! Reads one task of a Dag: operator, template fields, mapped arguments.

use super::load::asset_expression;
use super::model::{Dag, Pipeline, Task, TaskField};
use super::reader::{Fields, Reader};
use super::source::{Place, Problem, closest};
use super::yaml::{Kind, Node};
use crate::asset::AssetCondition;
use crate::render::{FieldValue, operators};

/// Keys of a task besides the operator's own arguments.
pub const TASK_KEYS: [&str; 13] = [
    "operator",
    "template_fields",
    "template_ext",
    "inlets",
    "outlets",
    "params",
    "retries",
    "owner",
    "expand",
    "expand_kwargs",
    "partial",
    "render_template_as_native_obj",
    "unsupported",
];

pub(super) fn read_task(
    reader: &mut Reader,
    pipeline: &Pipeline,
    dag: &Dag,
    task_id: &str,
    place: &Place,
    node: &Node,
) -> Option<Task> {
    let what = format!("task `{task_id}`");
    let mut task = Task {
        task_id: task_id.to_owned(),
        place: place.clone(),
        operator: None,
        fields: Vec::new(),
        template_ext: Vec::new(),
        inlets: Vec::new(),
        outlets: Vec::new(),
        params: serde_json::Map::new(),
        retries: 0,
        owner: "airflow".to_owned(),
        expand: Vec::new(),
        expand_kwargs: None,
        native: None,
        unsupported: Vec::new(),
        arguments: Vec::new(),
        mapped: false,
    };
    if node.is_null() {
        return Some(task);
    }
    let fields = reader.open_fields(node, &what)?;
    task.operator = fields.get("operator").and_then(|node| reader.string(node, "`operator`"));
    task.inlets = assets(reader, pipeline, fields.get("inlets"), "inlets");
    task.outlets = assets(reader, pipeline, fields.get("outlets"), "outlets");
    let default = |name: &str| dag.default_args.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    if let Some(FieldValue::Dict(entries)) = default("params") {
        task.params.extend(entries.iter().map(|(key, value)| (key.key_text(), value.to_json())));
    }
    task.params.extend(fields.get("params").and_then(|node| reader.object(node, "`params`")).unwrap_or_default());
    task.retries = match fields.get("retries") {
        Some(node) => reader.integer(node, "`retries`", 0..=i64::from(i32::MAX))?,
        None => match default("retries") {
            Some(FieldValue::Number(number)) => number.as_i64().unwrap_or(0),
            _ => 0,
        },
    };
    task.owner = match (fields.get("owner"), default("owner")) {
        (Some(node), _) => reader.string(node, "`owner`")?,
        (None, Some(FieldValue::Str(owner))) => owner.clone(),
        _ => task.owner,
    };
    task.native = fields
        .get("render_template_as_native_obj")
        .and_then(|node| reader.boolean(node, "`render_template_as_native_obj`"));
    task.unsupported = fields.get("unsupported").map(|node| unsupported(reader, node)).unwrap_or_default();
    let places = arguments(reader, &fields, &mut task)?;
    resolve_fields(reader, &fields, dag, &mut task, &places)?;
    Some(task)
}

/// `unsupported`: names, each with the reason.
pub(super) fn unsupported(reader: &mut Reader, node: &Node) -> Vec<(String, String)> {
    let entries = reader.entries(node, "`unsupported`").unwrap_or_default();
    let mut read = |(name, _, reason): (&str, _, &Node)| {
        Some((name.to_owned(), reader.string(reason, &format!("`{name}` under `unsupported`"))?))
    };
    entries.into_iter().filter_map(&mut read).collect()
}

fn assets(reader: &mut Reader, pipeline: &Pipeline, node: Option<&Node>, what: &str) -> Vec<AssetCondition> {
    let Some(node) = node else { return Vec::new() };
    let items = match &node.kind {
        Kind::Seq(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut found = Vec::new();
    for item in items {
        match asset_expression(reader, item, pipeline, &format!("an item of `{what}`")) {
            Some(AssetCondition::All(_) | AssetCondition::Any(_)) => {
                reader.problem(Problem::error(
                    format!("an item of `{what}` is one asset, not an expression"),
                    item.place.clone(),
                ));
            }
            Some(asset) => found.push(asset),
            None => {}
        }
    }
    found
}

/// Collects the operator's own arguments: beside the known keys, under `partial`, and under `expand`.
fn arguments(reader: &mut Reader, fields: &Fields<'_>, task: &mut Task) -> Option<Vec<(String, Place)>> {
    let mut places = Vec::new();
    let mut add = |reader: &mut Reader, task: &mut Task, name: &str, key: &Node, value: &Node| {
        if task.arguments.iter().any(|(known, _)| known == name) || task.expand.iter().any(|(known, _)| known == name) {
            reader.problem(Problem::error(format!("argument `{name}` is given twice"), key.place.clone()));
        } else if let Some(value_read) = field_value(reader, value, 0) {
            task.arguments.push((name.to_owned(), value_read));
            places.push((name.to_owned(), value.place.clone()));
        }
    };
    for (name, key, value) in fields.iter().filter(|(name, _, _)| !TASK_KEYS.contains(name)) {
        add(reader, task, name, key, value);
    }
    if let Some(node) = fields.get("partial") {
        task.mapped = true;
        for (name, key, value) in reader.entries(node, "`partial`")? {
            add(reader, task, name, key, value);
        }
    }
    if let Some(node) = fields.get("expand") {
        task.mapped = true;
        for (name, key, value) in reader.entries(node, "`expand`")? {
            if task.arguments.iter().any(|(known, _)| known == name) {
                reader.problem(Problem::error(format!("argument `{name}` is given twice"), key.place.clone()));
                continue;
            }
            let items = match field_value(reader, value, 0)? {
                FieldValue::List(items) => items,
                FieldValue::Dict(entries) => {
                    entries.into_iter().map(|(key, value)| FieldValue::Tuple(vec![key, value])).collect()
                }
                _ => {
                    reader.expected(value, &format!("`{name}` under `expand`"), "a list or a mapping");
                    continue;
                }
            };
            task.expand.push((name.to_owned(), items));
            places.push((name.to_owned(), value.place.clone()));
        }
    }
    if let Some(node) = fields.get("expand_kwargs") {
        task.mapped = true;
        if !task.expand.is_empty() {
            let problem =
                Problem::error("a task has either `expand` or `expand_kwargs`, as in Airflow", node.place.clone());
            reader.problem(problem);
        }
        task.expand_kwargs = Some(expand_kwargs(reader, node)?);
    }
    Some(places)
}

/// `expand_kwargs`: a list of mappings, one for each map index.
fn expand_kwargs(reader: &mut Reader, node: &Node) -> Option<Vec<Vec<(String, FieldValue)>>> {
    let mut indexes = Vec::new();
    for item in reader.list(node, "`expand_kwargs`")? {
        let mut arguments = Vec::new();
        for (name, _, value) in reader.entries(item, "an item of `expand_kwargs`")? {
            arguments.push((name.to_owned(), field_value(reader, value, 0)?));
        }
        indexes.push(arguments);
    }
    Some(indexes)
}

fn resolve_fields(
    reader: &mut Reader,
    fields: &Fields<'_>,
    dag: &Dag,
    task: &mut Task,
    places: &[(String, Place)],
) -> Option<()> {
    let operator = task.operator.as_deref().and_then(operators::find);
    let given_fields = match fields.get("template_fields") {
        Some(node) => Some(reader.strings(node, "`template_fields`")?),
        None => None,
    };
    task.template_ext = match (fields.get("template_ext"), operator) {
        (Some(node), _) => reader.strings(node, "`template_ext`")?,
        (None, Some(operator)) => operator.template_ext.iter().map(|ending| (*ending).to_owned()).collect(),
        (None, None) => Vec::new(),
    };
    // PythonOperator and its kin take their endings as an argument.
    if let Some((_, FieldValue::List(endings))) = task.arguments.iter().find(|(name, _)| name == "templates_exts") {
        task.template_ext = endings.iter().map(FieldValue::key_text).collect();
    }
    let unsupported = task.unsupported.clone();
    let value_of = |argument: &str| {
        if unsupported.iter().any(|(name, _)| name == argument) {
            return Some(FieldValue::Null);
        }
        let written = task.arguments.iter().find(|(name, _)| name == argument).map(|(_, value)| value);
        written.or_else(|| dag.default_args.iter().find(|(name, _)| name == argument).map(|(_, value)| value)).cloned()
    };
    let place_of = |argument: &str| places.iter().find(|(name, _)| name == argument).map(|(_, place)| place.clone());
    match (given_fields, operator, &task.operator) {
        (Some(names), _, _) => {
            for name in names {
                let argument = name.trim_start_matches('_');
                let given = value_of(&name).or_else(|| value_of(argument));
                let expanded = task.expands(&name);
                if given.is_none() && !expanded && operator.is_none() {
                    let what = task.operator.clone().unwrap_or_else(|| "this task".to_owned());
                    reader.problem(
                        Problem::error(
                            format!(
                                "'{name}' is configured as a template field but {what} does not have this attribute."
                            ),
                            fields.key_place("template_fields").unwrap_or(&task.place).clone(),
                        )
                        .help(format!("give the task an argument `{argument}`, or take it out of `template_fields`")),
                    );
                    continue;
                }
                let place = place_of(&name).or_else(|| place_of(argument));
                task.fields.push(TaskField { value: given, place, name });
            }
        }
        (None, Some(operator), _) => {
            for field in &operator.fields {
                let argument = field.argument();
                let expanded = task.expands(argument);
                if let (operators::Default::Computed, Some(place)) = (&field.default, place_of(argument)) {
                    let message = format!("{} works `{argument}` out of its arguments", operator.class);
                    reader.problem(Problem::warning(message, place).label("shown as it is written here"));
                }
                let value = match (value_of(argument), &field.default) {
                    (Some(value), operators::Default::Value(default)) if !value.truth() => Some(falsy(value, default)),
                    (Some(value), _) => Some(value),
                    (None, operators::Default::Value(default)) => Some(default.clone()),
                    (None, operators::Default::Required) if !expanded => {
                        let place = fields.key_place("operator").unwrap_or(&task.place).clone();
                        reader.problem(Problem::error(format!("{} needs `{argument}`", operator.class), place));
                        None
                    }
                    (None, _) => None,
                };
                task.fields.push(TaskField { name: field.name.to_owned(), value, place: place_of(argument) });
            }
            for (name, place) in places {
                misspelt(reader, operator, name, place);
            }
        }
        (None, None, Some(name)) => {
            let place = fields.get("operator").map_or(&task.place, |node| &node.place).clone();
            // Every name ends in "Operator": the letters that differ must be few for what stands before it.
            let alike = |close: &&str| {
                let distance = strsim::damerau_levenshtein(&name.to_lowercase(), &close.to_lowercase());
                distance * 2 < close.trim_end_matches("Operator").len()
            };
            let close = closest(name, operators::names()).filter(alike).map(|close| format!("did you mean `{close}`?"));
            reader.problem(
                Problem::error(format!("unknown operator `{name}`: its template fields must be given"), place)
                    .maybe_help(close.or_else(|| {
                        Some("add `template_fields: [...]` (and `template_ext` if it reads files)".to_owned())
                    })),
            );
        }
        (None, None, None) if !task.arguments.is_empty() || task.mapped => {
            let (name, place) = places.first().cloned().unwrap_or_else(|| (String::new(), task.place.clone()));
            let close = closest(&name, TASK_KEYS).map(|close| format!("did you mean `{close}`?"));
            reader.problem(
                Problem::error(
                    format!(
                        "task `{}` has an argument `{name}` but neither `operator` nor `template_fields`",
                        task.task_id
                    ),
                    place,
                )
                .maybe_help(
                    close.or_else(|| Some("name the operator, or list the fields that are templates".to_owned())),
                ),
            );
        }
        (None, None, None) => {}
    }
    Some(())
}

/// `self.env = env or {}`: a false value becomes the operator's own false value where that is a container.
fn falsy(given: FieldValue, default: &FieldValue) -> FieldValue {
    match (&given, default) {
        (FieldValue::Null, FieldValue::Dict(_) | FieldValue::List(_) | FieldValue::Tuple(_)) => default.clone(),
        _ => given,
    }
}

/// An argument that is almost a template field is a slip; others are the operator's business.
fn misspelt(reader: &mut Reader, operator: &operators::Operator, name: &str, place: &Place) {
    let known: Vec<&str> = operator.fields.iter().map(operators::Field::argument).collect();
    if known.contains(&name) {
        return;
    }
    if let Some(close) = closest(name, known.iter().copied().chain(TASK_KEYS)).filter(|close| close.len() > 2) {
        reader.problem(
            Problem::warning(format!("{} has no template field `{name}`", operator.class), place.clone())
                .help(format!("did you mean `{close}`?")),
        );
    }
}

/// Reads an argument: plain data, to any depth.
pub(super) fn field_value(reader: &mut Reader, node: &Node, depth: usize) -> Option<FieldValue> {
    if depth > 64 {
        reader.problem(Problem::error("nested deeper than 64 levels", node.place.clone()));
        return None;
    }
    Some(match &node.kind {
        Kind::Null => FieldValue::Null,
        Kind::Bool(value) => FieldValue::Bool(*value),
        Kind::Number(number) => FieldValue::Number(number.clone()),
        Kind::Str { text, .. } => FieldValue::Str(text.clone()),
        Kind::Seq(items) => {
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(field_value(reader, item, depth + 1)?);
            }
            FieldValue::List(list)
        }
        Kind::Map(entries) => {
            let mut dict = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let key = match &key.kind {
                    Kind::Seq(_) | Kind::Map(_) => {
                        reader.expected(key, "a key", "a string, a number, a boolean or null");
                        return None;
                    }
                    _ => field_value(reader, key, depth + 1)?,
                };
                dict.push((key, field_value(reader, value, depth + 1)?));
            }
            FieldValue::Dict(dict)
        }
    })
}
