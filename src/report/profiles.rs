//! A pipeline under two profiles: as text for people, as Markdown for reviews, as JSON.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value as Json, json};

use super::snapshot::{hunks_text, visible};
use crate::diff::{CONTEXT, FieldOutcome, FieldPair, FieldSubject, Gone, Group, ProfileDiff, hunks};
use crate::render::FieldError;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// A kind of outcome: its heading, and which outcomes are of it.
type Section = (&'static str, Style, fn(&FieldOutcome) -> bool);

const SECTIONS: [Section; 4] = [
    ("fails", RED, FieldOutcome::fails),
    ("changes", YELLOW, FieldOutcome::changes),
    ("fails in both", RED, FieldOutcome::fails_in_both),
    ("not known: partita refuses it", YELLOW, FieldOutcome::is_unknown),
];

/// Draws what fails, what changes and what stays.
pub fn profiles_text(diff: &ProfileDiff) -> String {
    let mut out =
        format!("{BOLD}{}: {} -> {}{BOLD:#}   {}\n", diff.pipeline, diff.from.name(), diff.to.name(), counts(diff));
    for (heading, style, kind) in SECTIONS {
        let groups = diff.by_field(kind);
        if groups.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{style}{heading}{style:#}  {}", fields(groups.len()));
        for group in &groups {
            let _ = writeln!(out, "\n  {BOLD}{}{BOLD:#}{}", place(&group.key), of_runs(group));
            group_text(&mut out, group);
        }
    }
    let stays = diff.by_field(FieldOutcome::stays);
    let stays: Vec<String> =
        stays.iter().filter(|group| !differs(diff, &group.key)).map(|group| place(&group.key)).collect();
    if !stays.is_empty() {
        let _ = writeln!(out, "\n{GREEN}stays{GREEN:#}  {}", fields(stays.len()));
        for place in stays {
            let _ = writeln!(out, "  {place}");
        }
    }
    if !diff.lone.is_empty() {
        let _ = writeln!(out, "\n{YELLOW}runs that only one has{YELLOW:#}");
        for run in &diff.lone {
            let _ = writeln!(out, "  {}  {} of {} in {}", run.profile.name(), run.run, run.dag_id, run.scenario);
        }
    }
    if !diff.dags.is_empty() {
        let _ = writeln!(out, "\n{YELLOW}Dags that mean something else{YELLOW:#}");
        for note in &diff.dags {
            let _ =
                writeln!(out, "  {BOLD}{}{BOLD:#}  {}\n    {DIM}help:{DIM:#} {}", note.dag_id, note.what, note.help);
        }
    }
    let renamed = renamed(diff);
    if !renamed.is_empty() {
        let _ = writeln!(out, "\n{YELLOW}names of Airflow 2 in the pipeline file{YELLOW:#}");
        for (place, old, new) in renamed {
            let _ = writeln!(out, "  {place}  `{old}` is `{new}` in Airflow 3");
        }
    }
    out
}

fn group_text(out: &mut String, group: &Group<FieldSubject, &FieldPair>) {
    let mut shown: Vec<String> = Vec::new();
    for pair in &group.members {
        let mut text = String::new();
        match &pair.outcome {
            FieldOutcome::Fails { error, .. } => error_text(&mut text, error, &pair.gone),
            FieldOutcome::Changed { from, to } => {
                text.push_str(&indented(&hunks_text(&hunks(from, to, CONTEXT), to)));
                gone_text(&mut text, &pair.gone);
            }
            FieldOutcome::Works { error, to } => {
                let _ = writeln!(text, "    {DIM}before:{DIM:#} {}", message(error));
                for line in to.lines() {
                    let _ = writeln!(text, "    {GREEN}+{}{GREEN:#}", visible(line));
                }
            }
            FieldOutcome::FailsInBoth { from, to } => {
                let _ = writeln!(text, "    {DIM}before:{DIM:#} {}", message(from));
                error_text(&mut text, to, &pair.gone);
            }
            FieldOutcome::Same => {}
        }
        if shown.contains(&text) {
            continue;
        }
        if !shown.is_empty() {
            let _ = writeln!(out, "    {DIM}{} / {}{DIM:#}", pair.scenario, visible(&pair.run_from));
        }
        out.push_str(&text);
        shown.push(text);
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn message(error: &FieldError) -> String {
    visible(&format!("{}: {}", error.error.class, error.error.message))
}

fn error_text(out: &mut String, error: &FieldError, gone: &[Gone]) {
    let at = error.error.line.map(|line| format!("{DIM}, line {line}{DIM:#}")).unwrap_or_default();
    let _ = writeln!(out, "    {RED}{}{RED:#}{at}", message(error));
    gone_text(out, gone);
    if let Some(hint) = error.error.hint.as_ref().filter(|hint| !gone.iter().any(|gone| gone.instead == **hint)) {
        let _ = writeln!(out, "    {DIM}help:{DIM:#} {hint}");
    }
}

fn gone_text(out: &mut String, gone: &[Gone]) {
    let width = gone.iter().map(|gone| gone.name.len()).max().unwrap_or(0);
    for Gone { name, instead } in gone {
        let _ = writeln!(out, "    {name:width$}  {}", advice(name, instead));
    }
}

/// Advice beside the name it is about, without the name said again.
fn advice<'a>(name: &str, instead: &'a str) -> &'a str {
    instead.strip_prefix(&format!("Airflow 3 has no `{name}`: ")).unwrap_or(instead)
}

fn fields(count: usize) -> String {
    format!("{count} field{}", if count == 1 { "" } else { "s" })
}

fn counts(diff: &ProfileDiff) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}, {}, {}",
        plural(diff.scenarios, "scenario"),
        plural(diff.runs, "run"),
        plural(diff.fields.len(), "text")
    )
}

fn place(subject: &FieldSubject) -> String {
    let file = subject.file.as_ref().map(|file| format!("   {file}")).unwrap_or_default();
    format!("{}.{}.{}{file}", subject.dag_id, subject.task, subject.field)
}

fn of_runs(group: &Group<FieldSubject, &FieldPair>) -> String {
    match group.members.as_slice() {
        [] => String::new(),
        [one] => format!("   {DIM}{} / {}{DIM:#}", one.scenario, visible(&one.run_from)),
        many => format!("   {DIM}{} runs{DIM:#}", many.len()),
    }
}

/// Whether a field differs in some run.
fn differs(diff: &ProfileDiff, subject: &FieldSubject) -> bool {
    diff.fields.iter().any(|pair| pair.subject == *subject && !pair.outcome.stays())
}

/// Where a name of Airflow 2 is written, once for each place.
fn renamed(diff: &ProfileDiff) -> Vec<(String, &'static str, &'static str)> {
    let mut found = Vec::new();
    for item in &diff.renamed {
        let (line, _) = item.place.line_column();
        let entry = (format!("{}:{line}", item.place.source.path), item.old, item.new);
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// The same as Markdown, for a comment in a review.
pub fn profiles_markdown(diff: &ProfileDiff) -> String {
    let mut out = format!("## {}: {} → {}\n\n{}\n", diff.pipeline, diff.from.name(), diff.to.name(), counts(diff));
    for (heading, _, kind) in SECTIONS {
        let groups = diff.by_field(kind);
        if groups.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n### {} ({})", capital(heading), groups.len());
        for group in &groups {
            let Some(first) = group.members.first() else { continue };
            let _ = writeln!(out, "\n**{}**{}\n", code(&place(&group.key)), plain(&of_runs(group)));
            match &first.outcome {
                FieldOutcome::Fails { error, .. } | FieldOutcome::FailsInBoth { to: error, .. } => {
                    let _ = writeln!(out, "{}", code(&message(error)));
                    if let Some(hint) =
                        error.error.hint.as_ref().filter(|hint| !first.gone.iter().any(|gone| gone.instead == **hint))
                    {
                        let _ = writeln!(out, "\n{hint}");
                    }
                }
                FieldOutcome::Changed { from, to } => {
                    fenced(&mut out, &plain(&hunks_text(&hunks(from, to, CONTEXT), to)))
                }
                FieldOutcome::Works { to, .. } => fenced(&mut out, to),
                FieldOutcome::Same => {}
            }
            if !first.gone.is_empty() {
                out.push_str("\n| name that is gone | in its place |\n| --- | --- |\n");
                for gone in &first.gone {
                    let text = advice(&gone.name, &gone.instead).replace('|', "\\|");
                    let _ = writeln!(out, "| `{}` | {text} |", gone.name);
                }
            }
        }
    }
    let stays = diff.by_field(FieldOutcome::stays);
    let stays: Vec<String> =
        stays.iter().filter(|group| !differs(diff, &group.key)).map(|group| code(&place(&group.key))).collect();
    if !stays.is_empty() {
        let _ = writeln!(out, "\n### Stays ({})\n\n{}", stays.len(), stays.join(", "));
    }
    if !diff.lone.is_empty() {
        out.push_str("\n### Runs that only one has\n\n");
        for run in &diff.lone {
            let _ = writeln!(out, "* {}: {} of {} in {}", run.profile.name(), code(&run.run), run.dag_id, run.scenario);
        }
    }
    if !diff.dags.is_empty() {
        out.push_str("\n### Dags that mean something else\n\n");
        for note in &diff.dags {
            let _ = writeln!(out, "* **{}**: {}. To keep it: {}", note.dag_id, note.what, note.help);
        }
    }
    let renamed = renamed(diff);
    if !renamed.is_empty() {
        out.push_str("\n### Names of Airflow 2 in the pipeline file\n\n");
        for (place, old, new) in renamed {
            let _ = writeln!(out, "* {}: `{old}` is `{new}` in Airflow 3", code(&place));
        }
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A text as code, fenced by more backticks than it holds.
fn code(text: &str) -> String {
    let mut fence = "`".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", text.replace('\n', " "))
}

fn fenced(out: &mut String, text: &str) {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let body: String = text.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect();
    let _ = write!(out, "{fence}diff\n{body}{fence}\n");
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// The same as JSON.
pub fn profiles_json(diff: &ProfileDiff) -> Json {
    let pairs: Vec<Json> = diff.fields.iter().map(pair_json).collect();
    let lone = diff.lone.iter().map(
        |run| json!({"profile": run.profile.name(), "scenario": run.scenario, "dag_id": run.dag_id, "run": run.run}),
    );
    let dags = diff.dags.iter().map(|note| json!({"dag_id": note.dag_id, "what": note.what, "help": note.help}));
    let renamed: Vec<Json> = diff
        .renamed
        .iter()
        .map(|item| {
            let (line, column) = item.place.line_column();
            json!({"path": item.place.source.path, "line": line, "column": column, "old": item.old, "new": item.new})
        })
        .collect();
    json!({
        "pipeline": diff.pipeline,
        "profiles": [diff.from.name(), diff.to.name()],
        "fields": pairs,
        "runs_of_one": lone.collect::<Vec<Json>>(),
        "dags": dags.collect::<Vec<Json>>(),
        "renamed": renamed,
    })
}

fn pair_json(pair: &FieldPair) -> Json {
    let error = |error: &FieldError| {
        json!({
            "kind": error.error.class,
            "message": error.error.message,
            "line": error.error.line,
            "template": error.shown.clone().or_else(|| error.file.clone()),
            "hint": error.error.hint,
        })
    };
    let (outcome, from, to) = match &pair.outcome {
        FieldOutcome::Same => ("stays", None, None),
        FieldOutcome::Changed { from, to } => ("changes", Some(json!(from)), Some(json!(to))),
        FieldOutcome::Fails { from, error: why } => ("fails", Some(json!(from)), Some(error(why))),
        FieldOutcome::Works { error: why, to } => ("works", Some(error(why)), Some(json!(to))),
        FieldOutcome::FailsInBoth { from, to } => ("fails_in_both", Some(error(from)), Some(error(to))),
    };
    let outcome = if pair.outcome.is_unknown() { "unknown" } else { outcome };
    let gone: Vec<Json> = pair.gone.iter().map(|gone| json!({"name": gone.name, "instead": gone.instead})).collect();
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
    put("scenario", pair.scenario.clone().into());
    put("dag_id", pair.subject.dag_id.clone().into());
    put("runs", json!([pair.run_from, pair.run_to]));
    put("task", pair.subject.task.clone().into());
    put("field", pair.subject.field.clone().into());
    put("file", pair.subject.file.clone().into());
    put("outcome", outcome.into());
    put("from", from.unwrap_or_default());
    put("to", to.unwrap_or_default());
    put("gone", gone.into());
    Json::Object(object)
}
