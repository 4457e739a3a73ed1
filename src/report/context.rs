//! The template context of a run, as a table for people and as JSON.

use serde_json::{Value as Json, json};

use crate::context::{Entry, Masker};

/// Widest type column; longer types push their value to the right.
const TYPE_WIDTH: usize = 34;

/// What stands in the type column of a name that is not defined.
const UNDEFINED: &str = "undefined";

/// One name a line: name, Python type, what it prints; or "undefined" and what to use in its place.
///
/// Line breaks inside a value are shown as `\n`. Secrets are hidden by the masker.
pub fn context_table(entries: &[Entry], masker: &Masker) -> String {
    let name_width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let type_width = entries
        .iter()
        .map(|entry| entry.python_type.as_deref().map_or(UNDEFINED, short).len())
        .max()
        .unwrap_or(0)
        .min(TYPE_WIDTH);
    let mut out = String::new();
    for entry in entries {
        let (kind, text) = match (&entry.python_type, &entry.printed) {
            (Some(kind), Some(Ok(text))) => (short(kind), masker.mask(text).replace('\n', "\\n")),
            (Some(kind), Some(Err(error))) => (short(kind), format!("({})", masker.mask(&error.message))),
            _ => (UNDEFINED, entry.advice.clone().unwrap_or_default()),
        };
        let note = match (&entry.python_type, &entry.advice) {
            (Some(_), Some(advice)) => format!("  ({advice})"),
            _ => String::new(),
        };
        let line = format!("{:name_width$}  {kind:type_width$}  {text}{note}", entry.name);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The same as JSON: a list of objects with `name`, `defined`, and `type`, `printed` or `error`, or `advice`.
pub fn context_json(entries: &[Entry], masker: &Masker) -> Json {
    let items = entries.iter().map(|entry| {
        let mut item = json!({"name": entry.name, "defined": entry.is_defined()});
        if let Some(kind) = &entry.python_type {
            item["type"] = json!(kind);
        }
        match &entry.printed {
            Some(Ok(text)) => item["printed"] = json!(masker.mask(text)),
            Some(Err(error)) => {
                item["error"] = json!({"kind": error.class, "message": masker.mask(&error.message)});
                if let Some(hint) = &error.hint {
                    item["error"]["hint"] = json!(masker.mask(hint));
                }
            }
            None => {}
        }
        if let Some(advice) = &entry.advice {
            item["advice"] = json!(advice);
        }
        item
    });
    Json::Array(items.collect())
}

/// A type without its module.
fn short(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}
