//! What a snapshot is of, and patterns that choose among snapshots.

use globset::{GlobBuilder, GlobMatcher};

/// What a snapshot is of, by names as people write them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The pipeline.
    pub pipeline: String,
    /// The scenario.
    pub scenario: String,
    /// The Dag.
    pub dag_id: String,
    /// The partition key, or the run id of a run without one.
    pub run: String,
    /// The task, with its map index: `unload[1]`.
    pub task: String,
    /// The template field.
    pub field: String,
}

impl Subject {
    /// Reads the subject of a file's path (relative, without `.snap`). `None` when the path is none of a snapshot: five
    /// parts, the last one with a field. A part that was too long for a file name stays as it is.
    pub fn of_path(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        let [pipeline, scenario, dag_id, run, name] = parts.as_slice() else { return None };
        let (task, field) = name.rsplit_once('.')?;
        let run = match run.rsplit_once('~') {
            Some((run, count))
                if !count.is_empty() && count.len() < 16 && count.bytes().all(|b| b.is_ascii_digit()) =>
            {
                run
            }
            _ => run,
        };
        let all = [*pipeline, *scenario, *dag_id, run, task, field];
        all.iter().all(|part| !part.is_empty()).then(|| Subject {
            pipeline: decoded(pipeline),
            scenario: decoded(scenario),
            dag_id: decoded(dag_id),
            run: decoded(run),
            task: decoded(task),
            field: decoded(field),
        })
    }

    /// Task and field: `combine_stats.sql`.
    pub fn expression(&self) -> String {
        format!("{}.{}", self.task, self.field)
    }

    /// The task without its map index.
    pub fn task_id(&self) -> &str {
        self.task.strip_suffix(']').and_then(|task| task.rsplit_once('[')).map_or(&self.task, |(task_id, _)| task_id)
    }

    /// The whole name: `player_stats/one_hour/combine/2026-03-10T09/combine_stats.sql`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}/{}/{}", self.pipeline, self.scenario, self.dag_id, self.run, self.expression())
    }
}

/// The text of a file name: the inverse of [`crate::pipeline::file_name`] for names that were not cut.
fn decoded(name: &str) -> String {
    if name == "%" {
        return String::new();
    }
    percent_encoding::percent_decode_str(name).decode_utf8().map_or_else(|_| name.to_owned(), Into::into)
}

/// Chooses snapshots by patterns; without one it chooses all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    globs: Vec<(String, GlobMatcher)>,
}

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern: {reason}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Filter {
    /// A filter of patterns, of which one must match.
    ///
    /// A pattern matches a part of a snapshot's name (pipeline, scenario, Dag, run, task, field, `task.field`), or several
    /// parts in a row joined by `/`: `combine/2026-03-10T*`. `*` and `?` stay within a part, `**` does not; `[abc]` and
    /// `{a,b}` are understood.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, BadPattern> {
        let mut globs = Vec::new();
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
            let glob =
                glob.map_err(|error| BadPattern { pattern: pattern.to_owned(), reason: error.kind().to_string() })?;
            globs.push((pattern.to_owned(), glob.compile_matcher()));
        }
        Ok(Filter { globs })
    }

    /// True when it chooses all.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether a snapshot is chosen.
    pub fn matches(&self, subject: &Subject) -> bool {
        self.globs.is_empty() || self.globs.iter().any(|(pattern, glob)| matches(pattern, glob, subject))
    }

    /// Patterns that choose none of these snapshots.
    pub fn unused<'a>(&self, subjects: impl Iterator<Item = &'a Subject> + Clone) -> Vec<&str> {
        let unused =
            |(pattern, glob): &&(String, GlobMatcher)| !subjects.clone().any(|subject| matches(pattern, glob, subject));
        self.globs.iter().filter(unused).map(|(pattern, _)| pattern.as_str()).collect()
    }
}

fn matches(pattern: &str, glob: &GlobMatcher, subject: &Subject) -> bool {
    // A name is taken as it is too: `unload[1]` and keys with brackets are no sets of letters.
    let hit = |text: &str| text == pattern || glob.is_match(text);
    let expression = subject.expression();
    let parts = [&subject.pipeline, &subject.scenario, &subject.dag_id, &subject.run, &expression].map(String::as_str);
    if hit(&subject.task) || hit(subject.task_id()) || hit(&subject.field) {
        return true;
    }
    if !pattern.contains('/') {
        // A key that has a slash is one part nevertheless.
        return parts.iter().any(|part| hit(part));
    }
    let last = [expression.as_str(), &subject.task, subject.task_id()];
    (0..parts.len()).any(|from| {
        (from + 1..=parts.len()).any(|to| {
            let ends: &[&str] = if to == parts.len() { &last } else { &parts[to - 1..to] };
            ends.iter().any(|end| {
                let mut row = parts[from..to - 1].to_vec();
                row.push(end);
                hit(&row.join("/"))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::file_name;

    fn subject() -> Subject {
        Subject {
            pipeline: "player_stats".into(),
            scenario: "one_hour".into(),
            dag_id: "combine".into(),
            run: "us|2026-03-10T09".into(),
            task: "unload[1]".into(),
            field: "sql".into(),
        }
    }

    #[test]
    fn a_path_tells_its_subject() {
        let subject = subject();
        let parts = [&subject.pipeline, &subject.scenario, &subject.dag_id, &subject.run].map(|part| file_name(part));
        let path = format!("{}/{}.{}", parts.join("/"), file_name(&subject.task), file_name(&subject.field));
        assert_eq!(Subject::of_path(&path), Some(subject.clone()), "{path}");
        assert_eq!(Subject::of_path(&path.replace("T09/", "T09~2/")), Some(subject), "{path}");
        for path in ["a.snap", "a/b/c/d.e", "a/b/c/d/e", "a/b/c/d/.e", "a/b/c/d/e.", "a/b/c/d/e/f.g"] {
            assert_eq!(Subject::of_path(path), None, "{path}");
        }
    }

    #[test]
    fn patterns() {
        let all = [
            "player_stats",
            "one_*",
            "combine",
            "unload",
            "unload[1]",
            "unload*",
            "sql",
            "unload[[]1].sql",
            "us|*",
            "player_stats/one_hour",
            "combine/us*",
            "combine/**",
            "**/unload*",
            "combine/*/unload",
            "{x,combine}",
            "*/*/*/*/*",
            "*09",
        ];
        for pattern in all {
            assert!(Filter::new([pattern]).unwrap().matches(&subject()), "{pattern}");
        }
        for pattern in ["player", "combine/unload", "*/*/*/*/*/*", "two", "SQL", "us", "player_stats/combine"] {
            assert!(!Filter::new([pattern]).unwrap().matches(&subject()), "{pattern}");
        }
        assert!(Filter::new(["[a"]).is_err());
        assert!(Filter::default().matches(&subject()));
    }
}
