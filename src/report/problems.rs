//! Problems with excerpts of the files they are in.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::pipeline::{Problem, Severity};

/// A message about a place in a text.
#[derive(Debug)]
pub struct Excerpt<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub message: &'a str,
    /// The file, as people know it.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Bytes of the text.
    pub range: Range<usize>,
    /// What stands there.
    pub label: &'a str,
    /// What to do.
    pub help: Option<&'a str>,
}

/// Draws one excerpt. With `colour` false there are no colour codes in it.
pub fn excerpt(excerpt: &Excerpt<'_>, colour: bool) -> String {
    let snippet = snippet(excerpt.path, excerpt.text, &excerpt.range, excerpt.label, AnnotationKind::Primary);
    let mut group = level(excerpt.severity).primary_title(excerpt.message).element(snippet);
    if let Some(help) = excerpt.help {
        group = group.element(Level::HELP.message(help));
    }
    finish(&[group], colour)
}

/// Draws problems, one after another, with a blank line between them.
pub fn problems(problems: &[Problem], colour: bool) -> String {
    let mut text = String::new();
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let mut group = match &problem.place {
            Some(place) => level(problem.severity).primary_title(problem.message.as_str()).element(snippet(
                place.source.path.as_str(),
                &place.source.text,
                &place.range,
                &problem.label,
                AnnotationKind::Primary,
            )),
            None => Group::with_title(level(problem.severity).primary_title(problem.message.as_str())),
        };
        for (place, label) in &problem.related {
            group = group.element(snippet(
                place.source.path.as_str(),
                &place.source.text,
                &place.range,
                label,
                AnnotationKind::Context,
            ));
        }
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        text.push_str(&finish(&[group], colour));
    }
    text
}

/// Problems without colour codes.
pub fn plain_problems(found: &[Problem]) -> String {
    problems(found, false)
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    }
}

fn snippet<'a>(
    path: &'a str,
    text: &'a str,
    range: &Range<usize>,
    label: &'a str,
    kind: AnnotationKind,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let mut annotation = kind.span(clamp(text, range));
    if !label.is_empty() {
        annotation = annotation.label(label);
    }
    Snippet::source(text).path(path).annotation(annotation)
}

/// A range that lies within the text, on character boundaries.
fn clamp(text: &str, range: &Range<usize>) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(range.start);
    start..floor(range.end).max(start)
}

fn finish(groups: &[Group<'_>], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(groups);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
