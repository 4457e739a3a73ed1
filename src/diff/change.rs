//! Changed snapshots, and those whose change is the same.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value as Json};

use super::{Group, Hunk, Line, changed_lines, group, hunks, without_numbers};
use crate::snapshot::{Damage, Entry, Info, Pending, State, Subject};

/// Unchanged lines that are shown around a change.
pub const CONTEXT: usize = 3;

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Another text.
    Changed,
    /// A text where there was none.
    New,
    /// A text where there was a file that is no snapshot.
    Damaged(Damage),
}

/// A snapshot that is not the accepted one.
#[derive(Debug, Clone)]
pub struct Change {
    /// Relative to the tree, without `.snap`.
    pub path: String,
    /// What it is of.
    pub subject: Subject,
    /// What kind of change it is.
    pub kind: Kind,
    /// The accepted text; empty when there is none.
    pub old: String,
    /// The text as it renders now.
    pub new: String,
    /// Facts of the run that are not what they were: name, before, now.
    pub facts: Vec<(String, String, String)>,
    /// The template's file, if it is one.
    pub file: Option<String>,
    /// True when the field could not be rendered and the text is the error.
    pub failed: bool,
}

/// Facts whose change explains that of a text.
const TELLING: [&str; 5] = ["partition_key", "partition_date", "triggering_events", "file", "error"];

impl Change {
    /// The change that a comparison found; `None` when the text is the accepted one.
    pub fn of_entry(entry: &Entry<'_>) -> Option<Self> {
        let snapshot = entry.snapshot;
        let none = Map::new();
        let (kind, old, old_info) = match &entry.state {
            State::Same | State::OtherFacts(_) => return None,
            State::Changed(stored) => (Kind::Changed, stored.text(), &stored.info),
            State::Damaged(damage) => (Kind::Damaged(*damage), String::new(), &none),
            State::Missing => (Kind::New, String::new(), &none),
        };
        Some(Change {
            path: snapshot.path.clone(),
            subject: snapshot.subject.clone(),
            kind,
            old,
            new: snapshot.text.clone(),
            facts: if kind == Kind::Changed { facts(old_info, &snapshot.facts()) } else { Vec::new() },
            file: match snapshot.fact("file") {
                Some(Info::Text(file)) => Some(file.clone()),
                _ => None,
            },
            failed: snapshot.failed(),
        })
    }

    /// The change that a pending snapshot proposes.
    pub fn of_pending(pending: &Pending) -> Self {
        let (kind, old_info) = match &pending.old {
            Some(Ok(stored)) => (Kind::Changed, stored.info.clone()),
            Some(Err(damage)) => (Kind::Damaged(*damage), Map::new()),
            None => (Kind::New, Map::new()),
        };
        let info = pending.new.as_ref().map(|stored| stored.info.clone()).unwrap_or_default();
        Change {
            path: pending.path.clone(),
            subject: pending.subject.clone(),
            kind,
            old: pending.old_text(),
            new: pending.new_text(),
            facts: if kind == Kind::Changed { facts(&old_info, &info) } else { Vec::new() },
            file: info.get("file").and_then(Json::as_str).map(str::to_owned),
            failed: info.contains_key("error"),
        }
    }

    /// The hunks between both texts.
    pub fn hunks(&self) -> Vec<Hunk> {
        hunks(&self.old, &self.new, CONTEXT)
    }

    /// Equal for changes that are alike: of the same field of the same task, and the same but for the run's key and for
    /// numbers.
    pub fn likeness(&self) -> Likeness {
        let plain = |text: &str| {
            let run = &self.subject.run;
            without_numbers(&if run.is_empty() { text.to_owned() } else { text.replace(run.as_str(), "\u{0}") })
        };
        let mut blocks = match self.kind {
            Kind::Changed => blocks(self),
            // There is nothing to compare: all new ones of a field are alike.
            Kind::New | Kind::Damaged(_) => Vec::new(),
        };
        for line in blocks.iter_mut().flatten() {
            line.text = plain(&line.text);
        }
        let subject = &self.subject;
        Likeness {
            pipeline: subject.pipeline.clone(),
            dag_id: subject.dag_id.clone(),
            task_id: subject.task_id().to_owned(),
            field: subject.field.clone(),
            kind: self.kind,
            blocks,
        }
    }
}

/// What changes have in common that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Likeness {
    pipeline: String,
    dag_id: String,
    task_id: String,
    field: String,
    kind: Kind,
    blocks: Vec<Vec<Line>>,
}

/// What changes have in common that are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Same {
    /// The same lines went and came.
    Lines(Vec<Vec<Line>>),
    /// The same text, of the same task and field, where there was none.
    Text(Kind, String, String),
    /// The lines are the same; what is not is something that lines do not show, such as a header that was edited.
    Header(String),
}

/// Changes that are the same, brought together in the order in which the first of each came.
pub fn same_changes(changes: &[Change]) -> Vec<Group<Same, &Change>> {
    group(changes.iter().map(|change| {
        let key = match change.kind {
            Kind::Changed => match blocks(change) {
                blocks if blocks.is_empty() => Same::Header(change.subject.expression()),
                blocks => Same::Lines(blocks),
            },
            kind => Same::Text(kind, change.subject.expression(), change.new.clone()),
        };
        (key, change)
    }))
}

/// The changed lines. A line that ends no text and one that ends it are the same, unless that is what changed.
fn blocks(change: &Change) -> Vec<Vec<Line>> {
    let mut blocks = changed_lines(&change.hunks());
    if change.old.ends_with('\n') == change.new.ends_with('\n') {
        blocks.iter_mut().flatten().for_each(|line| line.newline = true);
    }
    blocks
}

/// What the changes of each group are like, as numbers. A group is like another when its numbers are among the other's.
pub fn likenesses(groups: &[Group<Same, &Change>]) -> Vec<BTreeSet<usize>> {
    let mut numbers: HashMap<Likeness, usize> = HashMap::new();
    let mut number = |change: &&Change| {
        let next = numbers.len();
        *numbers.entry(change.likeness()).or_insert(next)
    };
    groups.iter().map(|group| group.members.iter().map(&mut number).collect()).collect()
}

fn facts(old: &Map<String, Json>, new: &Map<String, Json>) -> Vec<(String, String, String)> {
    let shown = |value: Option<&Json>| match value {
        None | Some(Json::Null) => "none".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(items)) => {
            let items: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
            if items.is_empty() { "none".to_owned() } else { items.join(", ") }
        }
        Some(value) => value.to_string(),
    };
    let changed = TELLING.iter().filter(|name| {
        // A fact that an older partita did not write down says nothing.
        **name == "error" || old.contains_key(**name)
    });
    changed
        .map(|name| ((*name).to_owned(), shown(old.get(*name)), shown(new.get(*name))))
        .filter(|(_, old, new)| old != new)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(run: &str, kind: Kind, old: &str, new: &str) -> Change {
        Change {
            path: String::new(),
            subject: Subject { run: run.into(), task: "t".into(), field: "sql".into(), ..Subject::default() },
            kind,
            old: old.into(),
            new: new.into(),
            facts: Vec::new(),
            file: None,
            failed: false,
        }
    }

    #[test]
    fn the_same_change_in_other_surroundings() {
        let one = change("2026-03-10", Kind::Changed, "-- 2026-03-10\nx\n", "-- 2026-03-10\ny\n");
        let two = change("2026-03-11", Kind::Changed, "-- 2026-03-11\nx\n", "-- 2026-03-11\ny\n");
        let other = change("2026-03-11", Kind::Changed, "x\n", "z\n");
        let changes = [one, other, two];
        let groups = same_changes(&changes);
        assert_eq!(groups.iter().map(|group| group.members.len()).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn changes_that_name_their_run_are_alike() {
        let one = change("us|2026-03-10", Kind::Changed, "a 'us|2026-03-10' 9\n", "b 'us|2026-03-10' 9\n");
        let two = change("eu|2026-03-11", Kind::Changed, "a 'eu|2026-03-11' 10\n", "b 'eu|2026-03-11' 10\n");
        let other = change("eu|2026-03-11", Kind::Changed, "a 'eu|2026-03-11' 10\n", "c 'eu|2026-03-11' 10\n");
        assert_eq!(one.likeness(), two.likeness());
        assert_ne!(one.likeness(), other.likeness());
    }

    #[test]
    fn new_texts_are_the_same_when_they_are() {
        let changes = ["x", "x", "y"].map(|text| change("k", Kind::New, "", text));
        assert_eq!(same_changes(&changes).len(), 2);
        assert_eq!(changes[0].likeness(), changes[2].likeness());
    }
}
