//! A difference for the terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::Detail;
use super::words;
use crate::diff::{Diff, Hunk, Status, Tag, TextChange};
use crate::report::problems;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Draws a difference.
pub fn diff_text(diff: &Diff, detail: Detail) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{} .. {}{BOLD:#}", diff.base, diff.head);
    for note in &diff.notes {
        let _ = writeln!(out, "{YELLOW}note:{YELLOW:#} {}", words::one_line(note));
    }
    if !diff.files.is_empty() {
        let _ = writeln!(out, "\n{BOLD}files{BOLD:#}");
        for file in &diff.files {
            let style = style(file.status);
            let _ = writeln!(
                out,
                "  {style}{}{style:#} {}  +{} -{}  {DIM}{}{DIM:#}",
                file.status.letter(),
                words::one_line(&words::file_name(file)),
                file.added,
                file.removed,
                words::file_use(file)
            );
        }
    }
    for failure in &diff.failures {
        let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", words::failure(failure));
        if failure.differs {
            out.push_str(&problems(&failure.problems, true));
        }
    }
    if !diff.pipelines.is_empty() || !diff.renames.is_empty() {
        out.push('\n');
    }
    for pipeline in &diff.pipelines {
        let _ = writeln!(out, "{BOLD}{}{BOLD:#}", words::pipeline(pipeline));
    }
    for rename in &diff.renames {
        let _ = writeln!(out, "{BOLD}renamed:{BOLD:#} {}", words::rename(rename));
    }
    for group in words::run_groups(diff) {
        let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", words::one_line(&group.heading));
        let shown = if detail.all { group.runs.len() } else { words::PLACES_SHOWN };
        if !detail.stat {
            for run in group.runs.iter().take(shown) {
                let _ = writeln!(out, "  {}", words::run_line(run));
            }
            if group.runs.len() > shown {
                let _ = writeln!(out, "  {DIM}and {} more; --all shows them{DIM:#}", group.runs.len() - shown);
            }
        }
        if let Some(causes) = group.runs.first().and_then(|run| words::causes(&run.causes)) {
            let _ = writeln!(out, "  {DIM}{causes}{DIM:#}");
        }
    }
    for change in &diff.changes {
        write_change(&mut out, diff, change, detail);
    }
    out.push('\n');
    if diff.is_empty() {
        let _ = writeln!(out, "nothing changed in what is executed");
    }
    let _ = writeln!(out, "{}", words::summary(&diff.counts));
    out
}

fn style(status: Status) -> Style {
    match status {
        Status::Added => GREEN,
        Status::Removed => RED,
        Status::Modified | Status::Renamed => CYAN,
    }
}

fn write_change(out: &mut String, diff: &Diff, change: &TextChange, detail: Detail) {
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", words::one_line(&words::heading(diff, change)));
    let places = words::places(diff, change);
    let shown = if detail.all { places.len() } else { words::PLACES_SHOWN };
    for place in places.iter().take(shown) {
        let runs = words::one_line(&words::runs(&place.runs, detail.all));
        let number = match place.runs.len() {
            1 => String::new(),
            number => format!(" ({number})"),
        };
        match (places.len(), place.runs.len()) {
            // The heading has said it all.
            (1, 1) => {}
            (1, _) => drop(writeln!(out, "  {DIM}{runs}{DIM:#}")),
            _ => drop(writeln!(out, "  {DIM}{}: {runs}{number}{DIM:#}", words::one_line(&place.field))),
        }
    }
    if places.len() > shown {
        let _ = writeln!(out, "  {DIM}and {} more fields; --all shows them{DIM:#}", places.len() - shown);
    }
    if let Some(causes) = words::causes(&change.causes) {
        let _ = writeln!(out, "  {DIM}{causes}{DIM:#}");
    }
    if detail.stat {
        return;
    }
    write_hunk(out, change.status, &change.hunk);
    match detail.all {
        true => change.alike.iter().for_each(|alike| {
            if let Some(place) = alike.places.first() {
                let _ = writeln!(out, "  {DIM}{}{DIM:#}", words::one_line(&place.run));
            }
            write_hunk(out, alike.status, &alike.hunk);
        }),
        false if !change.alike.is_empty() => {
            let _ = writeln!(
                out,
                "  {DIM}and {} with other numbers; --all shows them{DIM:#}",
                words::count(change.alike.len(), "text")
            );
        }
        false => {}
    }
}

fn write_hunk(out: &mut String, status: Status, hunk: &Hunk) {
    if hunk.lines.is_empty() {
        let _ = writeln!(out, "  {DIM}{}{DIM:#}", words::no_lines(status));
        return;
    }
    let _ = writeln!(out, "  {CYAN}{}{CYAN:#}", hunk.heading());
    for line in &hunk.lines {
        let text = words::visible(&line.text);
        let _ = match line.tag {
            Tag::Equal => writeln!(out, "   {text}"),
            Tag::Delete => writeln!(out, "  {RED}-{text}{RED:#}"),
            Tag::Insert => writeln!(out, "  {GREEN}+{text}{GREEN:#}"),
        };
        if !line.newline {
            let _ = writeln!(out, "  {DIM}\\ No newline at end of text{DIM:#}");
        }
    }
}
