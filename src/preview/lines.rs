//! Which line of a template each line of a rendered text comes from.

use crate::jinja::{Origin, unmarked};
use crate::python::{Value, text};
use crate::render::{display, leaves};

/// For each line of a text the places it comes from, the one of its first visible character first. A line nobody can be
/// asked about has none. `None` when the traced rendering did not give the same text.
pub fn origins(text: &str, traced: &str) -> Option<Vec<Vec<Origin>>> {
    let (plain, marks) = unmarked(traced)?;
    if plain != text {
        return None;
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        lines.push(of_line(&marks, line, start));
        start += line.len() + 1;
    }
    Some(lines)
}

/// The same for the display of any value, string by string. Lines that hold no string have no origin.
pub fn of_value(value: &Value, traced: &Value) -> Option<Vec<Vec<Origin>>> {
    if let (Some(text), Some(traced)) = (text(value), text(traced)) {
        return origins(text, traced);
    }
    let (plain, marked) = (leaves(value), leaves(traced));
    if plain.len() != marked.len() {
        return None;
    }
    let mut lines: Vec<Vec<Origin>> = vec![Vec::new(); display(value).split('\n').count()];
    for (leaf, marked) in plain.iter().zip(&marked) {
        let found = origins(&leaf.text, &marked.text)?;
        let written = leaf.text.strip_suffix('\n').unwrap_or(&leaf.text).split('\n').count();
        for (at, places) in found.into_iter().enumerate() {
            let line = if leaf.lines > 1 && leaf.lines == written { leaf.line + at } else { leaf.line };
            let Some(line) = lines.get_mut(line.min(leaf.line + leaf.lines - 1)) else { continue };
            line.extend(places.into_iter().filter(|place| !place.template.is_empty()));
        }
    }
    for line in &mut lines {
        let mut seen: Vec<Origin> = Vec::new();
        line.retain(|place| {
            !seen.contains(place) && {
                seen.push(place.clone());
                true
            }
        });
    }
    Some(lines)
}

fn of_line(marks: &[(usize, Origin)], line: &str, start: usize) -> Vec<Origin> {
    let end = start + line.len();
    // The last mark at or before the line's start is still in force there.
    let first = marks.partition_point(|(at, _)| *at <= start).saturating_sub(1);
    let mut visible: Vec<&Origin> = Vec::new();
    let mut blank: Vec<&Origin> = Vec::new();
    for (index, (at, origin)) in marks.iter().enumerate().skip(first) {
        // The break that ends the line belongs to it.
        if *at > end {
            break;
        }
        if origin.template.is_empty() {
            continue;
        }
        let until = marks.get(index + 1).map_or(end, |(next, _)| *next).min(end);
        let part = line.get(at.saturating_sub(start).min(line.len())..until.saturating_sub(start)).unwrap_or_default();
        let list = if part.trim().is_empty() { &mut blank } else { &mut visible };
        if !list.contains(&origin) {
            list.push(origin);
        }
    }
    let chosen = if visible.is_empty() { blank } else { visible };
    chosen.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::jinja::{Engine, Environment, MemoryLoader, Names, Rendered, Trace, named};

    /// The lines of the text, each with the first line of a template it comes from.
    fn shown(source: &str, files: &[(&str, &str)], trace: Trace) -> Option<Vec<String>> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let loader = MemoryLoader::new(files, "templates");
        let env = Arc::new(Environment { loader: Some(Arc::new(loader)), ..Environment::default() });
        let names: Arc<dyn Names> = Arc::new(());
        let engine = Engine::new();
        let text = match engine.render(&env, source, &names) {
            Ok(Rendered::Text(text)) => text,
            other => panic!("{other:?}"),
        };
        let traced = engine.render_traced(&env, source, None, &names, trace).unwrap_or_else(|error| panic!("{error}"));
        let lines = origins(&text, &named(&traced, "main"))?;
        let place = |origin: &Origin| format!("{}:{}", origin.template, origin.line);
        Some(
            text.split('\n')
                .zip(lines)
                .map(|(line, places)| format!("{line}|{}", places.iter().map(place).collect::<Vec<_>>().join(" ")))
                .collect(),
        )
    }

    #[test]
    fn loops_includes_and_expressions() {
        let source = "a\n{% for i in range(2) -%}\n  b {{ i }},\n{% endfor %}\n{%- include 'inc.sql' %}\nz {{ 1\n }}";
        let lines = shown(source, &[("inc.sql", "\nx\r\ny {{ 2 }}\n")], Trace::All).unwrap_or_default();
        assert_eq!(
            lines,
            ["a|main:1", "b 0,|main:3", "b 1,|main:3", "|inc.sql:1", "x|inc.sql:2", "y 2|inc.sql:3", "z 1|main:6"]
                .map(str::to_owned)
        );
    }

    #[test]
    fn a_template_that_looks_at_its_own_output_is_traced_outside_only() {
        let source = "{% set x %}\n abc {% endset %}{{ x|length }}\n{% macro m() %}one\ntwo{% endmacro %}{{ m() }}";
        assert_eq!(shown(source, &[], Trace::All), None);
        let lines = shown(source, &[], Trace::Outer).unwrap_or_default();
        assert_eq!(lines, ["6|main:2", "one|main:4", "two|main:4"].map(str::to_owned));
        let lines = shown("{% macro m() %}one\ntwo{% endmacro %}\n{{ m() }}", &[], Trace::All).unwrap_or_default();
        assert_eq!(lines, ["|main:2", "one|main:1", "two|main:2"].map(str::to_owned));
    }
}
