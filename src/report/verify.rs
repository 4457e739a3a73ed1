//! What `verify` found, as text and JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};
use similar::{ChangeTag, TextDiff};

use crate::airflow::sweep::Summary;
use crate::airflow::verify::{Difference, Verdict, Verified};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default();

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// Runs named for one reason.
const RUNS: usize = 30;

/// Draws a summary: the differences first, then what could not be compared, the count last.
pub fn verify_text(summary: &Summary, mask: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    for verified in &summary.different {
        let _ = writeln!(out, "{BOLD}{}{BOLD:#}   {DIM}{}{DIM:#}", label(verified), place(verified));
        if let Verdict::Different(differences) = &verified.verdict {
            for difference in differences {
                let _ = writeln!(out, "  {}", difference.field);
                write_diff(&mut out, difference, mask);
            }
        }
        out.push('\n');
    }
    let groups = obstacles(&summary.not_compared);
    if !groups.is_empty() {
        let _ = writeln!(out, "{YELLOW}not compared{YELLOW:#}");
        for ((field, reason), runs) in groups {
            let _ = writeln!(out, "  {BOLD}{field}{BOLD:#}: {}", mask(&reason));
            for run in runs.iter().take(RUNS) {
                let _ = writeln!(out, "    {DIM}{run}{DIM:#}");
            }
            if runs.len() > RUNS {
                let _ = writeln!(out, "    {DIM}and {} more; --format json names them{DIM:#}", runs.len() - RUNS);
            }
        }
        out.push('\n');
    }
    let colour = if summary.is_clean() { GREEN } else { RED };
    let _ = writeln!(
        out,
        "{colour}{} of {}{colour:#} task instances render as Airflow stored them{}",
        summary.equal,
        summary.total,
        remarks(summary)
    );
    out
}

fn remarks(summary: &Summary) -> String {
    let mut remarks = Vec::new();
    if summary.cut > 0 {
        remarks.push(format!("{} as far as Airflow kept the text", summary.cut));
    }
    if summary.masked > 0 {
        remarks.push(format!("{} with secrets masked", summary.masked));
    }
    if !summary.different.is_empty() {
        remarks.push(format!("{} differ", summary.different.len()));
    }
    if !summary.not_compared.is_empty() {
        remarks.push(format!("{} could not be compared", summary.not_compared.len()));
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

/// What could not be compared, by field and reason: the runs of each.
fn obstacles(not_compared: &[Verified]) -> BTreeMap<(String, String), Vec<String>> {
    let mut groups: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for verified in not_compared {
        let Verdict::NotCompared(obstacles) = &verified.verdict else { continue };
        let index = if verified.map_index < 0 { String::new() } else { format!("   map index {}", verified.map_index) };
        let run = format!("{}{index}", place(verified));
        for obstacle in obstacles {
            let mut field = format!("{}.{}", verified.dag_id, verified.task_id);
            if !obstacle.field.is_empty() {
                field.push('.');
                field.push_str(&obstacle.field);
            }
            groups.entry((field, obstacle.reason.clone())).or_default().push(run.clone());
        }
    }
    groups
}

fn label(verified: &Verified) -> String {
    let index = if verified.map_index < 0 { String::new() } else { format!("[{}]", verified.map_index) };
    format!("{}.{}{index}", verified.dag_id, verified.task_id)
}

fn place(verified: &Verified) -> String {
    match &verified.partition_key {
        Some(key) => format!("{key}   {}", verified.run_id),
        None => verified.run_id.clone(),
    }
}

fn write_diff(out: &mut String, difference: &Difference, mask: &dyn Fn(&str) -> String) {
    let stored = mask(&difference.stored);
    let rendered = match &difference.rendered {
        Ok(text) => mask(text),
        Err(error) => {
            for line in stored.lines() {
                let _ = writeln!(out, "  {RED}- {line}{RED:#}");
            }
            let _ = writeln!(out, "  {RED}error:{RED:#} {}", mask(error).replace('\n', "\n  "));
            return;
        }
    };
    let diff = TextDiff::from_lines(&stored, &rendered);
    for (at, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if at > 0 {
            let _ = writeln!(out, "  {DIM}...{DIM:#}");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ("-", RED),
                ChangeTag::Insert => ("+", GREEN),
                ChangeTag::Equal => (" ", DIM),
            };
            let line = change.value();
            let _ = writeln!(out, "  {style}{sign} {}{style:#}", line.strip_suffix('\n').unwrap_or(line));
            if change.missing_newline()
                && change.tag() != ChangeTag::Equal
                && stored.ends_with('\n') != rendered.ends_with('\n')
            {
                let _ = writeln!(out, "  {DIM}  (no newline at the end){DIM:#}");
            }
        }
    }
}

/// A summary as one JSON document.
pub fn verify_json(summary: &Summary, source: &str, mask: &dyn Fn(&str) -> String) -> Json {
    let instance = |verified: &Verified| {
        let mut object = json!({
            "dag_id": verified.dag_id, "run_id": verified.run_id, "partition_key": verified.partition_key,
            "task_id": verified.task_id, "map_index": verified.map_index,
        });
        match &verified.verdict {
            Verdict::Different(differences) => {
                object["fields"] = differences
                    .iter()
                    .map(|difference| match &difference.rendered {
                        Ok(text) => json!({"field": difference.field, "stored": mask(&difference.stored), "rendered": mask(text)}),
                        Err(error) => json!({"field": difference.field, "stored": mask(&difference.stored), "error": mask(error)}),
                    })
                    .collect();
            }
            Verdict::NotCompared(obstacles) => {
                object["fields"] = obstacles
                    .iter()
                    .map(|obstacle| {
                        let field = Some(&obstacle.field).filter(|field| !field.is_empty());
                        json!({"field": field, "reason": mask(&obstacle.reason)})
                    })
                    .collect();
            }
            Verdict::Equal { .. } => {}
        }
        object
    };
    json!({
        "source": source,
        "total": summary.total,
        "equal": summary.equal,
        "cut": summary.cut,
        "masked": summary.masked,
        "different": summary.different.iter().map(instance).collect::<Vec<_>>(),
        "not_compared": summary.not_compared.iter().map(instance).collect::<Vec<_>>(),
    })
}
