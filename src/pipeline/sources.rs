//! The template texts behind a task's fields: what they name besides what the context itself can tell.

use std::sync::LazyLock;

use regex::Regex;

use crate::jinja::Environment;
use crate::render::FieldValue;

/// Files looked into for one task.
const FILE_LIMIT: usize = 200;

static OTHER_TEMPLATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\{%[-+]?\s*(?:include|import|from|extends)\s+["']([^"']+)["']"#).ok());

/// Which of some words stand as attributes (`.word`) in the templates of a task: in its strings, in the files they name, and
/// in the files those include by a fixed name.
pub(super) fn attributes_read<'w>(
    environment: &Environment,
    template_ext: &[String],
    fields: &[(String, FieldValue)],
    words: &[&'w str],
) -> Vec<&'w str> {
    let mut texts = Vec::new();
    for (_, value) in fields {
        collect(value, &mut texts);
    }
    let load = |name: &str| environment.loader.as_ref().and_then(|loader| loader.load(name).ok());
    let mut queue: Vec<String> = Vec::new();
    for text in texts {
        let is_file = template_ext.iter().any(|ending| text.ends_with(ending.as_str()));
        let file = if is_file { load(&text) } else { None };
        queue.push(file.map_or(text, |file| file.to_string()));
    }
    let mut seen: Vec<String> = Vec::new();
    let mut found: Vec<&str> = Vec::new();
    while let Some(text) = queue.pop() {
        for word in words {
            let stands = text
                .match_indices(&format!(".{word}"))
                .any(|(at, part)| !text[at + part.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'));
            if stands && !found.contains(word) {
                found.push(word);
            }
        }
        let Some(pattern) = OTHER_TEMPLATE.as_ref() else { break };
        for name in pattern.captures_iter(&text).filter_map(|captures| captures.get(1)) {
            let name = name.as_str().to_owned();
            if seen.len() < FILE_LIMIT && !seen.contains(&name) {
                queue.extend(load(&name).map(|file| file.to_string()));
                seen.push(name);
            }
        }
    }
    found
}

fn collect(value: &FieldValue, texts: &mut Vec<String>) {
    match value {
        FieldValue::Null | FieldValue::Bool(_) | FieldValue::Number(_) => {}
        FieldValue::Str(text) => texts.push(text.clone()),
        FieldValue::List(items) | FieldValue::Tuple(items) | FieldValue::Set(items) => {
            items.iter().for_each(|item| collect(item, texts));
        }
        FieldValue::Dict(entries) => entries.iter().for_each(|(_, item)| collect(item, texts)),
        FieldValue::Object(_, attributes) => attributes.iter().for_each(|(_, item)| collect(item, texts)),
    }
}
