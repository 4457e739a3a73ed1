//! Resolved runs as text: what events made, what still waits and for what, and the audit log.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::render::{Shown, instant, run_heading};
use crate::pipeline::{Outcome, PendingAsset, PendingOutcome};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Keys named one by one; more are summed up.
const KEYS_SHOWN: usize = 6;

/// Draws what a played scenario resolved to.
pub fn resolve_text(outcome: &Outcome, shown: &Shown<'_>, mask: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{} / {}{BOLD:#}\n", outcome.pipeline, outcome.scenario);
    let runs: Vec<_> = outcome.runs.iter().filter(|run| shown.dag(&run.run.dag_id)).collect();
    if runs.is_empty() {
        out.push_str("no run\n\n");
    }
    for run in runs {
        run_heading(&mut out, run);
    }
    let pending: Vec<_> = outcome.pending.iter().filter(|pending| shown.dag(&pending.dag_id)).collect();
    if !pending.is_empty() {
        let _ = writeln!(out, "{BOLD}pending{BOLD:#}");
        for pending in pending {
            write_pending(&mut out, pending);
        }
        out.push('\n');
    }
    if !outcome.log.is_empty() {
        let _ = writeln!(out, "{BOLD}log{BOLD:#}");
        for log in &outcome.log {
            let source = log.source.as_ref().map(|source| format!("  {DIM}{source}{DIM:#}")).unwrap_or_default();
            let _ = writeln!(out, "  {YELLOW}{}{YELLOW:#}: {}{source}", log.event, indented(&mask(&log.extra)));
        }
        out.push('\n');
    }
    for warning in &outcome.warnings {
        let _ = writeln!(out, "{YELLOW}warning:{YELLOW:#} {}", mask(warning));
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
    out
}

/// Draws what waits for more events, and nothing else.
pub fn waiting_text(outcome: &Outcome, shown: &Shown<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{} / {}{BOLD:#}\n", outcome.pipeline, outcome.scenario);
    let mut count = 0;
    for pending in outcome.pending.iter().filter(|pending| shown.dag(&pending.dag_id)) {
        write_pending(&mut out, pending);
        count += 1;
    }
    if count == 0 {
        out.push_str("nothing waits for more events\n");
    }
    for warning in &outcome.warnings {
        let _ = writeln!(out, "{YELLOW}warning:{YELLOW:#} {warning}");
    }
    out
}

/// Lines after the first, indented.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn write_pending(out: &mut String, pending: &PendingOutcome) {
    let key = pending.partition_key.as_deref().unwrap_or("not partitioned");
    let date = pending.partition_date.map(|date| format!("   carried {}", instant(date))).unwrap_or_default();
    let _ = writeln!(out, "  {BOLD}{}{BOLD:#}  {key}{date}", pending.dag_id);
    for asset in &pending.assets {
        let _ = writeln!(out, "    {} {}: {}", if asset.satisfied { "+" } else { "-" }, asset.asset.name, asset.reason);
        if !asset.received.is_empty() {
            let _ = writeln!(out, "      {DIM}received{DIM:#} {}", keys(&asset.received));
        }
        missing(out, asset);
    }
}

fn missing(out: &mut String, asset: &PendingAsset) {
    if let Some(missing) = asset.missing.as_ref().filter(|missing| !missing.is_empty()) {
        let _ = writeln!(out, "      {DIM}missing{DIM:#}  {}", keys(missing));
    }
}

/// Keys in a line: all of a few, the ends of many.
fn keys(keys: &[String]) -> String {
    let quoted = |keys: &[String]| keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ");
    match keys {
        [first, .., last] if keys.len() > KEYS_SHOWN => format!("{} keys, {first:?} to {last:?}", keys.len()),
        keys => quoted(keys),
    }
}
