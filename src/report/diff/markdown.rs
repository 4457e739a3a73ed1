//! A difference as Markdown that fits into a comment of a pull request.

use std::fmt::Write as _;

use super::Detail;
use super::words;
use crate::diff::{Diff, Hunk, Status, TextChange};
use crate::report::plain_problems;

/// Most characters of a comment on GitHub, less a line by which a workflow finds its comment again.
pub const COMMENT_LIMIT: usize = 65_536 - 64;

/// Kept free for what is said when something is left out.
const RESERVE: usize = 400;

/// A difference as Markdown of at most `limit` bytes, cut between groups.
pub fn diff_markdown(diff: &Diff, detail: Detail, limit: usize) -> String {
    let mut head = String::new();
    let _ = writeln!(head, "### What is executed: {} .. {}\n", code(&diff.base), code(&diff.head));
    if diff.is_empty() {
        let _ = writeln!(head, "**Nothing changed** in what is executed.\n");
    }
    let _ = writeln!(head, "{}.\n", words::summary(&diff.counts));
    let mut blocks: Vec<(String, &str, usize)> = Vec::new();
    for failure in &diff.failures {
        let mut block = format!("**{}**\n\n", escape(&words::failure(failure)));
        if failure.differs {
            block.push_str(&fenced("text", &plain_problems(&failure.problems)));
        }
        blocks.push((block, "failure", 0));
    }
    let mut list = String::new();
    diff.notes.iter().for_each(|note| {
        let _ = writeln!(list, "- note: {}", escape(note));
    });
    diff.pipelines.iter().for_each(|pipeline| {
        let _ = writeln!(list, "- {}", escape(&words::pipeline(pipeline)));
    });
    diff.renames.iter().for_each(|rename| {
        let _ = writeln!(list, "- renamed: {}", escape(&words::rename(rename)));
    });
    if !list.is_empty() {
        list.push('\n');
        blocks.push((list, "note", 0));
    }
    for group in words::run_groups(diff) {
        let mut block = format!("**{}**", escape(&group.heading));
        if let Some(causes) = group.runs.first().and_then(|run| words::causes(&run.causes)) {
            let _ = write!(block, "  \n{}", escape(&causes));
        }
        block.push_str("\n\n");
        if !detail.stat {
            let shown = if detail.all { group.runs.len() } else { words::PLACES_SHOWN };
            let mut lines: Vec<String> = group.runs.iter().take(shown).map(|run| words::run_line(run)).collect();
            if group.runs.len() > shown {
                lines.push(format!("and {} more", group.runs.len() - shown));
            }
            block.push_str(&fenced("text", &lines.join("\n")));
        }
        blocks.push((block, "group of runs", group.runs.len()));
    }
    for change in &diff.changes {
        blocks.push((change_block(diff, change, detail), "change", change.all_places().count()));
    }
    if !diff.files.is_empty() {
        let mut block = String::from("<details><summary>Files</summary>\n\n");
        for file in &diff.files {
            let _ = writeln!(
                block,
                "- {} {} +{} -{}, {}",
                file.status.word(),
                code(&words::file_name(file)),
                file.added,
                file.removed,
                escape(&words::file_use(file))
            );
        }
        block.push_str("\n</details>\n");
        blocks.push((block, "list of files", 0));
    }
    fit(head, blocks, limit)
}

/// As many blocks as fit; the rest is counted.
fn fit(mut out: String, blocks: Vec<(String, &str, usize)>, limit: usize) -> String {
    let room = limit.saturating_sub(RESERVE);
    let total: usize = out.len() + blocks.iter().map(|(block, ..)| block.len()).sum::<usize>();
    let room = if total <= limit { limit } else { room };
    let mut left: Vec<(&str, usize, usize)> = Vec::new();
    for (block, what, places) in blocks {
        // A block that alone is too large is left out; smaller ones after it are not.
        if out.len() + block.len() <= room {
            out.push_str(&block);
            continue;
        }
        match left.iter_mut().find(|(known, ..)| *known == what) {
            Some((_, blocks, sum)) => {
                *blocks += 1;
                *sum += places;
            }
            None => left.push((what, 1, places)),
        }
    }
    if !left.is_empty() {
        let parts: Vec<String> = left
            .into_iter()
            .map(|(what, blocks, places)| match (what, places) {
                ("change", places) => {
                    format!("{} in {}", words::count(blocks, "change"), words::count(places, "field"))
                }
                ("group of runs", places) => format!("{} that changed", words::count(places, "run")),
                (what, _) => words::count(blocks, what),
            })
            .collect();
        let _ = writeln!(out, "\n**Not shown, for want of room:** {}.", parts.join(", "));
    }
    out
}

fn change_block(diff: &Diff, change: &TextChange, detail: Detail) -> String {
    let mut block = format!("**{}**", escape(&words::heading(diff, change)));
    if let Some(causes) = words::causes(&change.causes) {
        let _ = write!(block, "  \n{}", escape(&causes));
    }
    block.push_str("\n\n");
    let places = words::places(diff, change);
    if places.len() > 1 || places.first().is_some_and(|place| place.runs.len() > 1) {
        let shown = if detail.all { places.len() } else { words::PLACES_SHOWN };
        let _ = writeln!(block, "<details><summary>where</summary>\n");
        for place in places.iter().take(shown) {
            let _ = writeln!(block, "- {}: {}", code(&place.field), escape(&words::runs(&place.runs, detail.all)));
        }
        if places.len() > shown {
            let _ = writeln!(block, "- and {} more fields", places.len() - shown);
        }
        let _ = writeln!(block, "\n</details>\n");
    }
    if detail.stat {
        return block;
    }
    let mut hunks = vec![&change.hunk];
    if detail.all {
        hunks.extend(change.alike.iter().map(|alike| &alike.hunk));
    }
    for hunk in hunks {
        block.push_str(&hunk_block(change.status, hunk));
    }
    if !detail.all && !change.alike.is_empty() {
        let _ = writeln!(block, "and {} with other numbers\n", words::count(change.alike.len(), "text"));
    }
    block
}

fn hunk_block(status: Status, hunk: &Hunk) -> String {
    if hunk.lines.is_empty() {
        return format!("({})\n\n", words::no_lines(status));
    }
    let body: Vec<String> = hunk.body().lines().map(words::visible).collect();
    fenced("diff", &format!("{}\n{}", hunk.heading(), body.join("\n")))
}

/// A fenced block whose fence the text does not hold.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{fence}{language}\n{text}\n{fence}\n\n")
}

/// Text as inline code.
fn code(text: &str) -> String {
    let text = words::one_line(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Text in which nothing is markup: no emphasis, no link, no HTML, no mention of anybody.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A mention would call people.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_in_texts_end_no_block() {
        assert_eq!(fenced("diff", "a ``` b\n"), "````diff\na ``` b\n````\n\n");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(escape("a_b <i> @me"), "a\\_b &lt;i&gt; &#64;me");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let blocks =
            vec![("a".repeat(300), "change", 24), ("b".repeat(900), "change", 7), ("c".repeat(100), "change", 1)];
        let text = fit("head\n".to_owned(), blocks, 1000);
        assert!(text.len() <= 1000, "{}", text.len());
        assert!(text.contains("ccc"), "{text}");
        assert!(text.contains("**Not shown, for want of room:** 1 change in 7 fields."), "{text}");
    }
}
