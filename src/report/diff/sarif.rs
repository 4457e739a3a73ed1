//! A difference as SARIF 2.1.0.

use camino::Utf8Path;
use serde_json::{Value as Json, json};

use super::words;
use crate::diff::{Cause, Diff, Hunk, Status, TextChange};

/// Lines of a hunk in a message; more are summed up.
const LINES_SHOWN: usize = 40;

/// Rules: id and what it says.
const RULES: [(&str, &str); 5] = [
    ("text-changed", "A rendered text changes"),
    ("run-changed", "A run appears, disappears, or changes key, date or events"),
    ("renamed", "A pipeline, Dag or task is called otherwise, or is new or gone"),
    ("field-fails", "A field that rendered fails now"),
    ("side-fails", "A pipeline or scenario cannot be loaded or played"),
];

/// Something to show at a source line.
pub(super) struct Finding {
    pub rule: &'static str,
    pub level: &'static str,
    pub title: String,
    pub message: String,
    pub file: Option<String>,
    pub line: Option<usize>,
    pub related: Vec<(String, usize, String)>,
}

/// What a difference comes to, one finding a group.
pub(super) fn findings(diff: &Diff) -> Vec<Finding> {
    let mut found = Vec::new();
    for failure in &diff.failures {
        for problem in &failure.problems {
            let place = problem.place.as_ref().filter(|_| failure.head);
            let (file, line) = match place {
                Some(place) => (place.source.path.to_string(), Some(place.line_column().0)),
                None => (failure.pipeline.to_string(), None),
            };
            found.push(Finding {
                rule: "side-fails",
                level: if failure.head { "error" } else { "warning" },
                title: words::failure(failure),
                message: problem.message.clone(),
                file: Some(file),
                line,
                related: Vec::new(),
            });
        }
    }
    for pipeline in &diff.pipelines {
        found.push(plain("renamed", words::pipeline(pipeline), pipeline.path.to_string()));
    }
    for rename in &diff.renames {
        found.push(plain("renamed", format!("renamed: {}", words::rename(rename)), rename.pipeline.to_string()));
    }
    for group in words::run_groups(diff) {
        let lines: Vec<String> = group.runs.iter().take(words::PLACES_SHOWN).map(|run| words::run_line(run)).collect();
        let more = group.runs.len().saturating_sub(words::PLACES_SHOWN);
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        let Some(first) = group.runs.first() else { continue };
        let fallback = first.pipeline.to_string();
        let (file, line, related) = place(&first.causes, fallback);
        found.push(Finding {
            rule: "run-changed",
            level: "warning",
            title: words::one_line(&group.heading),
            message: format!("{}{more}{}", lines.join("\n"), cause_line(&first.causes)),
            file: Some(file),
            line,
            related,
        });
    }
    for change in &diff.changes {
        found.push(of_change(diff, change));
    }
    // What is said of a pipeline stands in its file: a folder has no lines.
    for file in found.iter_mut().filter_map(|finding| finding.file.as_mut()) {
        if let Some(definition) = diff.definitions.get(Utf8Path::new(file.as_str())) {
            *file = definition.to_string();
        }
    }
    found
}

fn plain(rule: &'static str, title: String, file: String) -> Finding {
    let message = title.clone();
    Finding { rule, level: "note", title, message, file: Some(file), line: None, related: Vec::new() }
}

fn cause_line(causes: &[Cause]) -> String {
    words::causes(causes).map(|causes| format!("\n{causes}")).unwrap_or_default()
}

/// Where to show something: the first cause on the new side, else the file given.
fn place(causes: &[Cause], fallback: String) -> (String, Option<usize>, Vec<(String, usize, String)>) {
    let main = causes.iter().position(|cause| !cause.old);
    let related = causes
        .iter()
        .enumerate()
        .filter(|(at, cause)| Some(*at) != main && !cause.old)
        .map(|(_, cause)| (cause.file.to_string(), cause.line, words::cause(cause)))
        .collect();
    match main.and_then(|at| causes.get(at)) {
        Some(cause) => (cause.file.to_string(), Some(cause.line), related),
        None => (fallback, None, related),
    }
}

fn of_change(diff: &Diff, change: &TextChange) -> Finding {
    let first = change.places.first();
    let broken = first.is_some_and(|place| place.broken);
    let own = first.and_then(|place| place.file.as_ref()).filter(|_| change.status != Status::Removed);
    let fallback = own.map(ToString::to_string).or_else(|| first.map(|place| place.pipeline.to_string()));
    let (file, line, related) = place(&change.causes, fallback.unwrap_or_default());
    Finding {
        rule: if broken { "field-fails" } else { "text-changed" },
        level: if broken { "error" } else { "warning" },
        title: words::one_line(&words::heading(diff, change)),
        message: format!("{}{}", hunk_text(change.status, &change.hunk), cause_line(&change.causes)),
        file: Some(file).filter(|file| !file.is_empty()),
        line,
        related,
    }
}

fn hunk_text(status: Status, hunk: &Hunk) -> String {
    if hunk.lines.is_empty() {
        return words::no_lines(status).to_owned();
    }
    let body = hunk.body();
    let lines: Vec<String> = body.lines().take(LINES_SHOWN).map(words::visible).collect();
    let more = body.lines().count().saturating_sub(LINES_SHOWN);
    let more = if more > 0 { format!("\n... {more} more lines") } else { String::new() };
    format!("{}\n{}{more}", hunk.heading(), lines.join("\n"))
}

/// A difference as a SARIF log with one run.
pub fn diff_sarif(diff: &Diff) -> Json {
    let rules: Vec<Json> =
        RULES.iter().map(|(id, text)| json!({"id": id, "shortDescription": {"text": text}})).collect();
    let results: Vec<Json> = findings(diff)
        .into_iter()
        .map(|finding| {
            let location = |file: &str, line: Option<usize>| {
                // A place without a region is not shown by code scanning: a file as a whole begins at its first line.
                let region = json!({"startLine": line.unwrap_or(1)});
                let artifact = json!({"uri": uri(file), "uriBaseId": "SRCROOT"});
                json!({"physicalLocation": {"artifactLocation": artifact, "region": region}})
            };
            let mut result = json!({
                "ruleId": finding.rule,
                "ruleIndex": RULES.iter().position(|(id, _)| *id == finding.rule),
                "level": finding.level,
                "message": {"text": format!("{}\n{}", finding.title, finding.message)},
                "locations": finding.file.iter().map(|file| location(file, finding.line)).collect::<Vec<_>>(),
            });
            if let (false, Json::Object(result)) = (finding.related.is_empty(), &mut result) {
                let related: Vec<Json> = finding
                    .related
                    .iter()
                    .map(|(file, line, text)| {
                        let mut place = location(file, Some(*line));
                        if let Json::Object(place) = &mut place {
                            place.insert("message".to_owned(), json!({"text": text}));
                        }
                        place
                    })
                    .collect();
                result.insert("relatedLocations".to_owned(), related.into());
            }
            result
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "partita", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
