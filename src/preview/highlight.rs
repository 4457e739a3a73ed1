//! Colours of templates and texts: each line as HTML of its own, with a few classes the page gives colours to.

use std::sync::Arc;

use syntect::parsing::SyntaxReference;

use super::syntax::{Lines, SYNTAXES};

/// Texts longer than this are escaped and not coloured: nobody reads them, and colouring takes its time.
const LIMIT: usize = 128 << 10;

/// Lines longer than this are not coloured.
const LINE_LIMIT: usize = 4 << 10;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// SQL
    Sql,
    /// Shell
    Shell,
    /// YAML, and values shown in a form like it
    Yaml,
    /// JSON
    Json,
    /// Python
    Python,
    /// Anything else
    Plain,
}

impl Language {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Shell => "shell",
            Language::Yaml => "yaml",
            Language::Json => "json",
            Language::Python => "python",
            Language::Plain => "text",
        }
    }

    /// The language of a field: by the ending of its file, else by its own name, else by the first word of its text.
    pub fn of(file: Option<&str>, field: &str, text: &str) -> Self {
        let ending = file.and_then(|file| file.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("sql" | "hql" | "ddl" | "q") => return Language::Sql,
            Some("sh" | "bash") => return Language::Shell,
            Some("yaml" | "yml") => return Language::Yaml,
            Some("json") => return Language::Json,
            Some("py") => return Language::Python,
            _ => {}
        }
        let name = field.to_ascii_lowercase();
        let name = name.rsplit(['.', '[']).next().unwrap_or(&name);
        if matches!(name, "sql" | "hql" | "query" | "sql_query" | "statement") || name.ends_with("_sql") {
            return Language::Sql;
        }
        if matches!(name, "bash_command" | "command" | "cmd" | "script") || name.ends_with("_command") {
            return Language::Shell;
        }
        let word: String = text.trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        match word.to_ascii_uppercase().as_str() {
            "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "CREATE" | "DROP" | "MERGE" | "WITH" | "ALTER" | "TRUNCATE" => {
                Language::Sql
            }
            _ if text.trim_start().starts_with("#!") => Language::Shell,
            _ => Language::Plain,
        }
    }

    fn syntax(self) -> Option<&'static SyntaxReference> {
        let token = match self {
            Language::Sql => "sql",
            Language::Shell => "sh",
            Language::Yaml => "yaml",
            Language::Json => "json",
            Language::Python => "py",
            Language::Plain => return None,
        };
        SYNTAXES.find_syntax_by_extension(token)
    }
}

/// Delimiters of a template's tags: statements, expressions, comments.
#[derive(Debug, Clone)]
pub struct Delimiters([(String, String, &'static str); 3]);

impl Delimiters {
    /// Those of an environment.
    pub fn of(syntax: &crate::jinja::Syntax) -> Self {
        Delimiters([
            (syntax.block_start.clone(), syntax.block_end.clone(), "hl-tag"),
            (syntax.variable_start.clone(), syntax.variable_end.clone(), "hl-expression"),
            (syntax.comment_start.clone(), syntax.comment_end.clone(), "hl-comment"),
        ])
    }
}

/// The lines of a rendered text as HTML.
pub fn text(text: &str, language: Language) -> Vec<String> {
    coloured(text, language, &[])
}

/// The lines of a template as HTML: its tags have classes of their own, what lies between them is coloured as the text.
pub fn template(text: &str, language: Language, delimiters: &Delimiters) -> Vec<String> {
    let tags = tags(text, delimiters);
    coloured(text, language, &tags)
}

/// A part of a text with a class of its own.
type Tag = (std::ops::Range<usize>, &'static str);

/// The tags of a template, as far as its delimiters tell: a closing one inside a string literal does not count.
fn tags(text: &str, delimiters: &Delimiters) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let next = delimiters
            .0
            .iter()
            .filter(|(open, ..)| !open.is_empty())
            .filter_map(|delimiter| Some((rest.find(&delimiter.0)?, delimiter)));
        let Some((begin, (open, close, class))) = next.min_by_key(|(at, (open, ..))| (*at, usize::MAX - open.len()))
        else {
            return found;
        };
        let start = at + begin;
        let inside = start + open.len();
        let end = end_of_tag(text, inside, close, *class != "hl-comment");
        found.push((start..end, *class));
        at = end.max(inside);
    }
}

fn end_of_tag(text: &str, inside: usize, close: &str, strings: bool) -> usize {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.get(inside..).unwrap_or_default().char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if !close.is_empty() && text.get(inside + at..).is_some_and(|rest| rest.starts_with(close)) => {
                return inside + at + close.len();
            }
            None if strings && (c == '\'' || c == '"') => quote = Some(c),
            None => {}
        }
    }
    text.len()
}

fn coloured(text: &str, language: Language, tags: &[Tag]) -> Vec<String> {
    let syntax = language.syntax().filter(|_| text.len() <= LIMIT);
    // To the syntax of the text around it, a tag is a word.
    let mut around = text.to_owned();
    for (range, _) in tags {
        // It has as many bytes as what it stands for, and its line breaks where they are.
        let piece = text.get(range.clone()).unwrap_or_default();
        let word: String =
            piece.chars().map(|c| if c == '\n' { "\n".to_owned() } else { "x".repeat(c.len_utf8()) }).collect();
        if around.is_char_boundary(range.start) && around.is_char_boundary(range.end) {
            around.replace_range(range.clone(), &word);
        }
    }
    let mut parser = syntax.map(Lines::new);
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.len();
        let code = around.get(start..end).filter(|code| !code.contains('\n') && code.len() <= LINE_LIMIT);
        let parts = match (&mut parser, code) {
            (Some(parser), Some(code)) => parser.parse(code),
            _ => Arc::default(),
        };
        // Tags are in their order: those before the line are done with.
        let first = tags.partition_point(|(range, _)| range.end <= start);
        let count = tags.iter().skip(first).take_while(|(range, _)| range.start < end).count();
        lines.push(html(text, start..end, &parts, tags.get(first..first + count).unwrap_or_default()));
        start = end + 1;
    }
    lines
}

/// A line with a `<span>` around each part that has a class. Tags win over what is around them.
fn html(text: &str, line: std::ops::Range<usize>, parts: &[(usize, &'static str)], tags: &[Tag]) -> String {
    let mut cuts: Vec<usize> = vec![line.start, line.end];
    cuts.extend(parts.iter().map(|(at, _)| line.start + at).filter(|at| *at < line.end));
    for (range, _) in tags {
        cuts.extend([range.start, range.end].into_iter().filter(|at| line.contains(at)));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let class_at = |at: usize| {
        let tag = tags.iter().find(|(range, _)| range.contains(&at)).map(|(_, class)| *class);
        let part = || parts.iter().take_while(|(begin, _)| line.start + begin <= at).last().map(|(_, class)| *class);
        tag.or_else(part).unwrap_or_default()
    };
    let mut out = String::new();
    let mut open = "";
    for pair in cuts.windows(2) {
        let &[from, to] = pair else { continue };
        let Some(piece) = text.get(from..to) else { continue };
        let class = class_at(from);
        if class != open {
            if !open.is_empty() {
                out.push_str("</span>");
            }
            if !class.is_empty() {
                out.push_str(&format!("<span class=\"{class}\">"));
            }
            open = class;
        }
        escape(&mut out, piece);
    }
    if !open.is_empty() {
        out.push_str("</span>");
    }
    out
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_with_tags() {
        let lines = template(
            "SELECT 'a<b' -- no\nFROM {{ x['}}'] }}\n{# c\nd #} é",
            Language::Sql,
            &Delimiters::of(&crate::jinja::Syntax::default()),
        );
        assert_eq!(
            lines,
            [
                "<span class=\"hl-keyword\">SELECT</span> <span class=\"hl-string\">&#39;a&lt;b&#39;</span> \
                 <span class=\"hl-comment\">-- no</span>",
                "<span class=\"hl-keyword\">FROM</span> <span class=\"hl-expression\">{{ x[&#39;}}&#39;] }}</span>",
                "<span class=\"hl-comment\">{# c</span>",
                "<span class=\"hl-comment\">d #}</span> é",
            ]
        );
    }

    #[test]
    fn nothing_is_lost() {
        let text = "echo \"$HOME\" && x <y\n\n  # é\n";
        let joined = super::text(text, Language::Shell).join("\n");
        let mut plain = String::new();
        let mut inside = false;
        for c in joined.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => plain.push(c),
                _ => {}
            }
        }
        let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        assert_eq!(plain, text);
    }
}
