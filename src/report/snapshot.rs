//! Changed snapshots as text for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::diff::{Change, Group, Hunk, Kind, Same, Tag, group, likenesses, same_changes};
use crate::snapshot::{Comparison, State, Subject};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Runs named one by one; more are counted.
const RUNS_SHOWN: usize = 4;

/// Lines shown of a text that is new.
const LINES_SHOWN: usize = 40;

/// Draws a compared tree: every change once, with the runs that it is in; what is new, damaged and orphaned; the counts.
/// The last line is the summary.
pub fn snapshot_text(comparison: &Comparison<'_>, changes: &[Change], done: &str) -> String {
    let mut out = String::new();
    let changed: Vec<Change> = changes.iter().filter(|change| change.kind == Kind::Changed).cloned().collect();
    changed_text(&mut out, &same_changes(&changed));
    let failed = changes.iter().filter(|change| change.failed).map(|change| (change.new.trim_end(), &change.subject));
    for group in group(failed) {
        list(&mut out, &format!("{RED}failed{RED:#}"), &group.members);
        // The list ends with an empty line, before which the error belongs.
        out.pop();
        let _ = writeln!(out, "  {}\n", visible(group.key).replace('\n', "\n  "));
    }
    let of_kind = |kind: fn(Kind) -> bool| {
        changes.iter().filter(move |change| kind(change.kind)).map(|change| &change.subject).collect::<Vec<_>>()
    };
    list(&mut out, &format!("{GREEN}new{GREEN:#}"), &of_kind(|kind| kind == Kind::New));
    for change in changes {
        if let Kind::Damaged(damage) = change.kind {
            let _ = writeln!(out, "{RED}damaged{RED:#}  {}.snap: {damage}\n", change.path);
        }
    }
    let orphaned: Vec<Subject> = comparison.orphaned.iter().filter_map(|path| Subject::of_path(path)).collect();
    list(&mut out, &format!("{YELLOW}orphaned{YELLOW:#}"), &orphaned.iter().collect::<Vec<_>>());
    let _ = writeln!(out, "{}{done}", summary(comparison));
    out
}

/// Every change once; those that are like one that was shown are only named.
fn changed_text(out: &mut String, groups: &[Group<Same, &Change>]) {
    let likeness = likenesses(groups);
    let mut shown = vec![false; groups.len()];
    for (index, group) in groups.iter().enumerate() {
        if shown.get(index).copied().unwrap_or_default() {
            continue;
        }
        out.push_str(&group_text(group));
        let mut alike: Vec<&Subject> = Vec::new();
        for (other, group) in groups.iter().enumerate().skip(index + 1) {
            let Some(done) = shown.get_mut(other).filter(|done| !**done) else { continue };
            if let (Some(own), Some(others)) = (likeness.get(index), likeness.get(other))
                && others.is_subset(own)
            {
                *done = true;
                alike.extend(group.members.iter().map(|change| &change.subject));
            }
        }
        for field in by_field(&alike) {
            let _ = writeln!(out, "  {DIM}alike, but for the key and for numbers:{DIM:#} {field}");
        }
        out.push('\n');
    }
}

/// `720 snapshots: 696 unchanged, 24 changed; 2 orphaned`
fn summary(comparison: &Comparison<'_>) -> String {
    let total = comparison.entries.len();
    let count = |state: fn(&State) -> bool| comparison.entries.iter().filter(|entry| state(&entry.state)).count();
    let counts = [
        (count(|state| !state.differs()), "unchanged"),
        (count(|state| matches!(state, State::Changed(_))), "changed"),
        (count(|state| matches!(state, State::Missing)), "new"),
        (count(|state| matches!(state, State::Damaged(_))), "damaged"),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let mut text = format!("{BOLD}{total} snapshot{}{BOLD:#}", plural(total));
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join(", "));
    }
    if !comparison.orphaned.is_empty() {
        let _ = write!(text, "; {} orphaned", comparison.orphaned.len());
    }
    text
}

/// Names brought together by field: one line for many runs.
fn list(out: &mut String, word: &str, subjects: &[&Subject]) {
    if subjects.is_empty() {
        return;
    }
    for line in by_field(subjects) {
        let _ = writeln!(out, "{word}  {line}");
    }
    out.push('\n');
}

/// One line a field: what it is, and the runs.
fn by_field(subjects: &[&Subject]) -> Vec<String> {
    let key = |subject: &Subject| {
        (subject.pipeline.clone(), subject.dag_id.clone(), subject.task_id().to_owned(), subject.field.clone())
    };
    let groups = group(subjects.iter().map(|subject| (key(subject), *subject)));
    let one = |group: &Group<(String, String, String, String), &Subject>| match group.members.as_slice() {
        [one] => name(one),
        many => {
            let (pipeline, dag_id, task_id, field) = &group.key;
            let place = format!("{pipeline} / {dag_id}.{task_id}.{field}");
            format!("{BOLD}{}{BOLD:#}  {}: {}", visible(&place), runs_of(many), runs(many))
        }
    };
    groups.iter().map(one).collect()
}

/// `player_stats / one_hour / combine.combine_stats.sql  2026-03-10T09`
fn name(subject: &Subject) -> String {
    let what = format!("{} / {} / {}.{}", subject.pipeline, subject.scenario, subject.dag_id, subject.expression());
    format!("{BOLD}{}{BOLD:#}  {}", visible(&what), visible(&subject.run))
}

fn runs_of(subjects: &[&Subject]) -> String {
    let mut runs: Vec<_> = subjects.iter().map(|subject| (&subject.scenario, &subject.dag_id, &subject.run)).collect();
    runs.sort_unstable();
    runs.dedup();
    if runs.len() == subjects.len() {
        format!("{} run{}", runs.len(), plural(runs.len()))
    } else {
        format!("{} in {} run{}", subjects.len(), runs.len(), plural(runs.len()))
    }
}

/// Some of the runs by name.
fn runs(subjects: &[&Subject]) -> String {
    let mut names: Vec<String> = Vec::new();
    for subject in subjects {
        let name = visible(&subject.run);
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > RUNS_SHOWN + 1 {
            break;
        }
    }
    let mut all: Vec<&String> = subjects.iter().map(|subject| &subject.run).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() <= RUNS_SHOWN + 1 {
        return names.join(", ");
    }
    names.truncate(RUNS_SHOWN);
    format!("{} and {} more", names.join(", "), all.len() - RUNS_SHOWN)
}

/// Draws changes that are the same: which runs of which fields, what may be the cause, and the difference once.
pub fn group_text(group: &Group<Same, &Change>) -> String {
    let mut out = String::new();
    let Some(first) = group.members.first() else { return out };
    let subjects: Vec<&Subject> = group.members.iter().map(|change| &change.subject).collect();
    let word = match first.kind {
        Kind::Changed => "same change",
        Kind::New => "same new text",
        Kind::Damaged(_) => "same text for a damaged file",
    };
    match subjects.as_slice() {
        [one] => {
            let _ = writeln!(out, "{}", name(one));
        }
        many => {
            let fields = by_field(many);
            if let [one] = fields.as_slice() {
                let _ = writeln!(out, "{word} in {one}");
            } else {
                let _ = writeln!(out, "{word} in {} snapshots", many.len());
                for field in fields {
                    let _ = writeln!(out, "  {field}");
                }
            }
        }
    }
    causes(&mut out, &group.members);
    match first.kind {
        Kind::Changed if matches!(group.key, Same::Header(_)) => {
            let _ = writeln!(
                out,
                "  the lines are the same; the file's header does not vouch for them (white space at the end, or edited)"
            );
        }
        Kind::Changed => out.push_str(&hunks_text(&first.hunks(), &first.new)),
        Kind::New | Kind::Damaged(_) => {
            if let Kind::Damaged(damage) = first.kind {
                let _ = writeln!(out, "  {RED}the file there is no snapshot: {damage}{RED:#}");
            }
            let mut lines = first.new.lines();
            for line in lines.by_ref().take(LINES_SHOWN) {
                let _ = writeln!(out, "  {GREEN}+{}{GREEN:#}", visible(line));
            }
            let more = lines.count();
            if more > 0 {
                let _ = writeln!(out, "  {DIM}and {more} more lines{DIM:#}");
            }
        }
    }
    out
}

/// What is known of why a text changed: the template's file, and facts of the run that changed too.
fn causes(out: &mut String, members: &[&Change]) {
    let Some(first) = members.first() else { return };
    if let Some(file) = &first.file
        && members.iter().all(|change| change.file.as_ref() == Some(file))
    {
        let _ = writeln!(out, "  {DIM}template {}{DIM:#}", visible(file));
    }
    for (name, old, new) in &first.facts {
        let with = members.iter().filter(|change| change.facts.iter().any(|(known, _, _)| known == name)).count();
        let also = match (members.len(), with) {
            (1, _) => String::new(),
            (all, with) if with == all => " in the first of them, other values in the others".to_owned(),
            (_, with) => format!(" in the first of {with} of them"),
        };
        let equal = members
            .iter()
            .all(|change| change.facts.iter().any(|fact| *fact == (name.clone(), old.clone(), new.clone())));
        let also = if equal { "" } else { also.as_str() };
        let _ = writeln!(out, "  {YELLOW}{name}{YELLOW:#} was {}, is {}{also}", visible(old), visible(new));
    }
}

/// Draws hunks as a unified diff, indented.
pub fn hunks_text(hunks: &[Hunk], new: &str) -> String {
    let mut out = String::new();
    for hunk in hunks {
        let _ = writeln!(out, "  {CYAN}{}{CYAN:#}", hunk.heading());
        for line in &hunk.lines {
            let text = visible(&line.text);
            let sign = line.tag.sign();
            let _ = match line.tag {
                Tag::Equal => writeln!(out, "  {sign}{text}"),
                Tag::Delete => writeln!(out, "  {RED}{sign}{text}{RED:#}"),
                Tag::Insert => writeln!(out, "  {GREEN}{sign}{text}{GREEN:#}"),
            };
            // A text without a newline at its end is the usual case; it is said where that changed.
            let said = !line.newline
                && (line.tag == Tag::Delete && new.ends_with('\n')
                    || line.tag == Tag::Insert && hunk_had_newline(hunk));
            if said {
                let _ = writeln!(out, "  {DIM}\\ no newline at the end{DIM:#}");
            }
        }
    }
    out
}

fn hunk_had_newline(hunk: &Hunk) -> bool {
    hunk.lines.iter().rev().find(|line| line.tag == Tag::Delete).is_some_and(|line| line.newline)
}

/// Draws paths of one kind as a list, each with its names.
pub fn paths_text(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        let word = match change.kind {
            Kind::Changed => "changed",
            Kind::New => "new",
            Kind::Damaged(_) => "damaged",
        };
        let _ = writeln!(out, "{word:<8} {}", visible(&change.subject.name()));
    }
    out
}

/// A text in which nothing hides: control characters, marks of writing direction and the like are spelt out, so that a
/// terminal shows what will be executed.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control() && c != '\t' && c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\r' => out.push_str("\\r"),
            c if hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
