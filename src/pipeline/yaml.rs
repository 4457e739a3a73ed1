//! YAML and JSON files as trees with places. All YAML of partita is read here.
//!
//! YAML 1.2 core schema with strict booleans: `yes`, `on`, dates and numbers with leading zeros or underscores are
//! strings. Duplicate keys are errors; anchors and merge keys work; the budget stops bombs.

use std::fmt;
use std::sync::Arc;

use camino::Utf8Path;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::Spanned;

use super::source::{Place, Problem, Source};

/// Largest file read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Stack for the deepest file, in bytes, debug builds included.
const STACK: usize = 16 << 20;

/// A value of a file and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub kind: Kind,
    /// Where it is written; for an alias, where the alias is.
    pub place: Place,
}

/// The kinds of values.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written in the file where JSON can write it so.
    Number(Number),
    /// A string; `plain` when it was written without quotes.
    Str {
        /// The text.
        text: String,
        /// Written without quotes and not as a block.
        plain: bool,
    },
    /// A sequence.
    Seq(Vec<Node>),
    /// A mapping in the order written.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// What it is, for messages: "a string", "a mapping", ...
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Str { .. } => "a string",
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Str { text, .. } => Some(text),
            _ => None,
        }
    }

    /// True for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value as JSON. Keys that are no strings become the text JSON writes for them.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Str { text, .. } => Value::String(text.clone()),
            Kind::Seq(items) => items.iter().map(Node::to_json).collect(),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.key_text(), value.to_json())).collect())
            }
        }
    }

    /// The only key of a mapping with one entry.
    pub fn single_key(&self) -> Option<&str> {
        match &self.kind {
            Kind::Map(entries) => match entries.as_slice() {
                [(key, _)] => key.as_str(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value a JSON pointer leads to (as far as it leads), and the place to show for it: a scalar itself, else its key.
    pub fn at_pointer(&self, pointer: &str) -> (&Node, Place) {
        let mut node = self;
        let mut key_place = None;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                Kind::Map(entries) => entries
                    .iter()
                    .find(|(key, _)| key.key_text() == part)
                    .map(|(key, value)| (Some(key.place.clone()), value)),
                Kind::Seq(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)).map(|item| (None, item)),
                _ => None,
            };
            let Some((place, value)) = next else { break };
            key_place = place;
            node = value;
        }
        let place = match &node.kind {
            Kind::Map(_) | Kind::Seq(_) | Kind::Null => key_place.unwrap_or_else(|| node.place.clone()),
            _ => node.place.clone(),
        };
        (node, place)
    }

    fn key_text(&self) -> String {
        match &self.kind {
            Kind::Str { text, .. } => text.clone(),
            _ => self.to_json().to_string(),
        }
    }
}

/// Reads a file. Text that is not UTF-8, too large or unreadable is a problem without a place.
pub fn read(path: &Utf8Path) -> Result<Arc<Source>, Problem> {
    let fail = |error: std::io::Error| Problem::nowhere(format!("cannot read {path}: {error}"));
    let size = std::fs::metadata(path).map_err(fail)?.len();
    if size > MAX_FILE {
        return Err(Problem::nowhere(format!("{path} has {size} bytes; files of more than {MAX_FILE} are not read")));
    }
    let text = std::fs::read_to_string(path).map_err(fail)?;
    Ok(source(path, text))
}

/// A source of text that is already in memory.
pub fn source(path: &Utf8Path, text: String) -> Arc<Source> {
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    Arc::new(Source { path: path.to_owned(), text })
}

/// Parses a source into one tree.
pub fn parse(source: &Arc<Source>) -> Result<Node, Problem> {
    // The nesting that is allowed needs more stack than a thread other than the first has.
    stacker::maybe_grow(STACK, STACK, || parse_here(source))
}

fn parse_here(source: &Arc<Source>) -> Result<Node, Problem> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = 500_000;
    budget.max_nodes = 500_000;
    budget.max_aliases = 2_000;
    budget.max_anchors = 2_000;
    budget.max_depth = 64;
    budget.max_documents = 1;
    budget.simple_key_max_lookahead = 1_024;
    let options = serde_saphyr::options! {
        budget: Some(budget),
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
    };
    if let Some(problem) = refused_tag(source) {
        return Err(problem);
    }
    let tree: Spanned<Raw> =
        serde_saphyr::from_str_with_options(&source.text, options).map_err(|error| syntax(source, &error))?;
    Ok(build(source, tree))
}

/// The first tag that gives a value another meaning than the plain one (`!!python/object`, `!secret`, `!!binary`): the tree has no
/// form for it, and dropping it would change what the author said.
fn refused_tag(source: &Arc<Source>) -> Option<Problem> {
    use granit_parser::{Event, Parser};
    const PLAIN: [&str; 6] = ["str", "int", "bool", "null", "seq", "map"];
    if !source.text.contains('!') {
        return None;
    }
    for event in Parser::new_from_str(&source.text) {
        let Ok((event, span)) = event else { return None };
        let (Event::Scalar(_, _, _, Some(tag))
        | Event::SequenceStart(_, _, Some(tag))
        | Event::MappingStart(_, _, Some(tag))) = event
        else {
            continue;
        };
        let plain = match tag.handle() {
            "tag:yaml.org,2002:" => PLAIN.contains(&tag.suffix()),
            handle => format!("{handle}{}", tag.suffix()) == "!",
        };
        if plain {
            continue;
        }
        let range = span.tag_span().and_then(|span| span.byte_range()).unwrap_or(0..0);
        let written = source.text.get(range.clone()).unwrap_or_default();
        return Some(
            Problem::error(format!("tag {written} is not supported"), Place { source: source.clone(), range })
                .help("write the value itself, without a tag"),
        );
    }
    None
}

fn syntax(source: &Arc<Source>, error: &serde_saphyr::Error) -> Problem {
    let mut cause = error;
    while let serde_saphyr::Error::AliasError { error, .. } | serde_saphyr::Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    if let serde_saphyr::Error::Budget { breach, location } = cause {
        let start = offset_of_line(source, *location);
        return Problem::error(
            exceeded(breach),
            Place { source: source.clone(), range: start..next_char(&source.text, start) },
        );
    }
    let message = error.without_snippet().render();
    // The first line carries the fact; the place is drawn by the report.
    let message = message.lines().next().unwrap_or("not readable as YAML");
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message =
        message.split_once(": ").filter(|(head, _)| head.starts_with("line ")).map_or(message, |(_, rest)| rest);
    let message = match message.find(" at line ") {
        Some(at) => &message[..at],
        None => message,
    };
    // What the reader could be told to do is no advice for whoever wrote the file.
    let message = message.split(", set ").next().unwrap_or(message);
    match error.location() {
        Some(location) => {
            let start = offset_of_line(source, location);
            Problem::error(message, Place { source: source.clone(), range: start..next_char(&source.text, start) })
        }
        None => Problem::nowhere(format!("{}: {message}", source.path)),
    }
}

/// A limit on files in words.
fn exceeded(breach: &serde_saphyr::budget::BudgetBreach) -> String {
    use serde_saphyr::budget::BudgetBreach as Breach;
    let what = match breach {
        Breach::Depth { .. } => "nested deeper than 64 levels",
        Breach::Documents { .. } => "more than one document in a file",
        Breach::Events { .. } | Breach::Nodes { .. } => {
            "more than half a million values, aliases counted as what they stand for"
        }
        Breach::Aliases { .. } | Breach::AliasAnchorRatio { .. } => "too many aliases",
        Breach::Anchors { .. } | Breach::RecordedAnchorEvents { .. } | Breach::RecordedAnchorBytes { .. } => {
            "too much under anchors"
        }
        Breach::ScalarBytes { .. } => "too much text in one file",
        Breach::MergeKeys { .. } => "too many merge keys",
        other => return format!("too much for one file: {other:?}"),
    };
    format!("too much for one file: {what}")
}

fn offset_of(source: &Source, location: serde_saphyr::Location) -> usize {
    if let Some(offset) = location.span().byte_offset() {
        return usize::try_from(offset).unwrap_or(usize::MAX).min(source.text.len());
    }
    let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
    let start: usize = source.text.split_inclusive('\n').take(line).map(str::len).sum();
    start.min(source.text.len())
}

/// The offset by line and column: scanner errors have no byte offset worth the name.
fn offset_of_line(source: &Source, location: serde_saphyr::Location) -> usize {
    let number = |value: u64| usize::try_from(value).unwrap_or(1).saturating_sub(1);
    let start: usize = source.text.split_inclusive('\n').take(number(location.line())).map(str::len).sum();
    let rest = source.text.get(start..).unwrap_or_default();
    let column = rest.char_indices().nth(number(location.column())).map_or(rest.len(), |(at, _)| at);
    start + column
}

fn next_char(text: &str, start: usize) -> usize {
    text.get(start..).and_then(|rest| rest.chars().next()).map_or(start, |first| start + first.len_utf8())
}

enum Raw {
    Null,
    Bool(bool),
    Number(Number),
    Str(String),
    Seq(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Raw, E> {
        Number::from_f64(value)
            .map(Raw::Number)
            .ok_or_else(|| E::custom("a number that is not finite cannot be used here"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Str(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::Seq(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

fn build(source: &Arc<Source>, raw: Spanned<Raw>) -> Node {
    let start = offset_of(source, raw.referenced);
    let aliased = raw.referenced != raw.defined;
    let range = start..end_of(source, raw.referenced, start);
    let written = source.text.get(range.clone()).unwrap_or_default();
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Bool(value) => Kind::Bool(value),
        // What the file says is kept: all digits of a large integer, `1.50` as it stands.
        Raw::Number(value) => Kind::Number(if aliased { value } else { written.trim().parse().unwrap_or(value) }),
        Raw::Str(text) => Kind::Str { plain: !aliased && is_plain(&source.text, start), text },
        Raw::Seq(items) => Kind::Seq(items.into_iter().map(|item| build(source, item)).collect()),
        Raw::Map(entries) => {
            Kind::Map(entries.into_iter().map(|(key, value)| (build(source, key), build(source, value))).collect())
        }
    };
    let range = match &kind {
        // A collection's own span is its first character: show its first entry.
        Kind::Map(entries) => {
            entries.first().map_or(range.clone(), |(key, _)| range.start..key.place.range.end.max(range.start))
        }
        Kind::Seq(items) => {
            items.first().map_or(range.clone(), |item| range.start..item.place.range.end.max(range.start))
        }
        _ => range,
    };
    Node { kind, place: Place { source: source.clone(), range } }
}

/// Whether the scalar that starts here is written without quotes. A block scalar's place is its text, so its header is looked
/// for on the line above.
fn is_plain(text: &str, start: usize) -> bool {
    let (before, written) = text.split_at_checked(start).unwrap_or((text, ""));
    if written.starts_with(['"', '\'', '|', '>']) {
        return false;
    }
    let Some((above, indent)) = before.rsplit_once('\n') else { return true };
    let header = above.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    !(indent.trim().is_empty() && header.ends_with(['|', '>']))
}

fn end_of(source: &Source, location: serde_saphyr::Location, start: usize) -> usize {
    let length = location.span().byte_len().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let end = start.saturating_add(length).min(source.text.len());
    if end > start && source.text.is_char_boundary(end) { end } else { next_char(&source.text, start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Node {
        parse(&source(Utf8Path::new("x.yaml"), text.to_owned())).unwrap()
    }

    #[test]
    fn places_and_quotes() {
        let node = tree(
            "é: [a, \"b\", 12345678901234567890123, 1.50]\nkey:\n  'q': null\n  p: 2026-03-10\n  block: |\n    text\n",
        );
        let Kind::Map(entries) = &node.kind else { panic!() };
        let Kind::Seq(items) = &entries[0].1.kind else { panic!() };
        assert_eq!(
            items.iter().map(|item| item.place.text()).collect::<Vec<_>>(),
            ["a", "\"b\"", "12345678901234567890123", "1.50"]
        );
        assert!(matches!(&items[1].kind, Kind::Str { plain: false, .. }));
        assert_eq!(items[2].to_json().to_string(), "12345678901234567890123");
        assert_eq!(items[3].to_json().to_string(), "1.50");
        let Kind::Map(inner) = &entries[1].1.kind else { panic!() };
        assert!(inner[0].1.is_null());
        assert!(matches!(&inner[1].1.kind, Kind::Str { plain: true, text } if text == "2026-03-10"));
        assert!(
            matches!(&inner[2].1.kind, Kind::Str { plain: false, .. }),
            "{:?} {:?}",
            inner[2].1.place.text(),
            inner[2].1.place
        );
        let node = tree("key: |-\n  2026\n");
        let Kind::Map(entries) = &node.kind else { panic!() };
        assert!(matches!(&entries[0].1.kind, Kind::Str { plain: false, .. }), "{:?}", entries[0].1.place.text());
        assert_eq!(inner[0].0.place.line_column(), (3, 3));
    }

    fn refusal(text: &str) -> (String, String) {
        let problem = parse(&source(Utf8Path::new("x.yaml"), text.to_owned())).unwrap_err();
        (problem.message.clone(), problem.place.unwrap().text().to_owned())
    }

    #[test]
    fn tags_that_change_the_meaning_are_refused() {
        for tag in [
            "!secret",
            "!!python/object:os.system",
            "!!binary",
            "!!set",
            "!!float",
            "!<tag:x.org,2026:y>",
            "!!timestamp",
        ] {
            for value in ["x", "[a]", "{a: b}"] {
                let (message, place) = refusal(&format!("a: 1\nb: {tag} {value}\n"));
                assert_eq!(message, format!("tag {tag} is not supported"));
                assert_eq!(place, tag);
            }
        }
        let node = tree("a: !!str 5\nb: !!int '5'\nc: ! 7\nd: !!seq [1]\ne: 'wow!'\nf: wow! # !x\n");
        assert_eq!(node.to_json().to_string(), r#"{"a":"5","b":5,"c":"7","d":[1],"e":"wow!","f":"wow!"}"#);
    }

    #[test]
    fn limits_are_named() {
        let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(refusal(&deep).0, "too much for one file: nested deeper than 64 levels");
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            bomb += &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}]\n");
        }
        assert!(refusal(&bomb).0.starts_with("too much for one file: "), "{}", refusal(&bomb).0);
        assert_eq!(refusal("a: 1\n---\nb: 2\n").0, "too much for one file: more than one document in a file");
    }

    #[test]
    fn duplicate_keys_are_errors_at_the_second() {
        let source = source(Utf8Path::new("x.yaml"), "a: 1\nb: 2\na: 3\n".to_owned());
        let problem = parse(&source).unwrap_err();
        assert_eq!(problem.place.unwrap().line_column(), (3, 1), "{}", problem.message);
    }
}
