//! Which words of a line are keywords, strings, comments: the highlighter, which remembers the lines it has seen.
//!
//! Parsing a line takes a fraction of a millisecond, and after an edit nearly every line of a text is one that was parsed
//! before, from the same state. What a line was taken for depends on nothing else, so it is looked up.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Bytes of lines that are remembered; then it begins anew.
const REMEMBERED_BYTES: usize = 8 << 20;

/// States that are remembered, and compared with a new one: usual texts have a few dozen.
const STATES: usize = 256;

/// Scopes of a state that is remembered: a text that nests on and on would fill the memory with its states.
const SCOPES: usize = 128;

/// The grammars that syntect brings.
pub static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Scopes and the class their text gets; the most specific scope that is here decides.
static CLASSES: LazyLock<Vec<(Scope, &'static str)>> = LazyLock::new(|| {
    [
        ("comment", "hl-comment"),
        ("string", "hl-string"),
        ("constant.character.escape", "hl-escape"),
        ("constant.numeric", "hl-number"),
        ("constant", "hl-constant"),
        ("keyword.operator", "hl-operator"),
        ("keyword", "hl-keyword"),
        ("storage", "hl-keyword"),
        ("support.function", "hl-function"),
        ("entity.name.function", "hl-function"),
        ("variable.function", "hl-function"),
        ("variable", "hl-variable"),
        ("support.type", "hl-type"),
        ("entity.name.tag", "hl-key"),
        ("entity.name", "hl-name"),
        ("meta.mapping.key", "hl-key"),
    ]
    .into_iter()
    .filter_map(|(scope, class)| Some((Scope::new(scope).ok()?, class)))
    .collect()
});

/// Where each class begins in a line: byte offsets, ascending.
pub type Parts = Arc<[(usize, &'static str)]>;

/// Where a parser stands between two lines.
#[derive(Debug, Clone, PartialEq)]
struct State {
    parser: ParseState,
    stack: ScopeStack,
}

/// What a line was taken for. It holds the state it was parsed from, so that no other state can have that address.
struct Known {
    _from: Arc<State>,
    parts: Parts,
    next: Arc<State>,
}

#[derive(Default)]
struct Memory {
    states: Vec<Arc<State>>,
    lines: HashMap<usize, HashMap<String, Known>>,
    bytes: usize,
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

impl Memory {
    /// The one remembered state of its kind; none when there are too many, or it is too large.
    fn shared(&mut self, state: &Arc<State>) -> Option<Arc<State>> {
        if let Some(known) = self.states.iter().find(|known| *known == state) {
            return Some(known.clone());
        }
        if self.states.len() >= STATES || state.stack.len() > SCOPES {
            return None;
        }
        self.states.push(state.clone());
        Some(state.clone())
    }

    fn keep(&mut self, from: &Arc<State>, code: &str, parts: &Parts, next: &Arc<State>) {
        let bytes = code.len() + size_of::<Known>() + parts.len() * size_of::<(usize, &str)>() + 64;
        if self.bytes + bytes > REMEMBERED_BYTES {
            *self = Memory::default();
        }
        self.bytes += bytes;
        let known = Known { _from: from.clone(), parts: parts.clone(), next: next.clone() };
        self.lines.entry(Arc::as_ptr(from).addr()).or_default().insert(code.to_owned(), known);
    }
}

/// Parses a text line by line.
pub struct Lines {
    state: Arc<State>,
    /// The state is one that the memory shares: lines after it are looked up and kept. Another one is nobody else's.
    shared: bool,
}

impl Lines {
    /// Begins at the first line.
    pub fn new(syntax: &SyntaxReference) -> Self {
        let begin = Arc::new(State { parser: ParseState::new(syntax), stack: ScopeStack::new() });
        let mut lines = Lines { state: begin, shared: false };
        lines.share(&mut memory());
        lines
    }

    /// The classes of the next line, which has no line break. What cannot be parsed has none.
    pub fn parse(&mut self, code: &str) -> Parts {
        let from = self.shared.then(|| self.state.clone());
        if let Some(from) = &from {
            let memory = memory();
            let known = memory.lines.get(&Arc::as_ptr(from).addr()).and_then(|lines| lines.get(code));
            if let Some(known) = known {
                self.state = known.next.clone();
                return known.parts.clone();
            }
        }
        // Copied where it is shared, changed in its place where it is not.
        let state = Arc::make_mut(&mut self.state);
        let parts: Parts = parts(&mut state.parser, &mut state.stack, code).into();
        let mut memory = memory();
        self.share(&mut memory);
        if let (Some(from), true) = (&from, self.shared) {
            memory.keep(from, code, &parts, &self.state);
        }
        parts
    }

    fn share(&mut self, memory: &mut Memory) {
        let shared = memory.shared(&self.state);
        self.shared = shared.is_some();
        if let Some(state) = shared {
            self.state = state;
        }
    }
}

fn memory() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parts(parser: &mut ParseState, stack: &mut ScopeStack, code: &str) -> Vec<(usize, &'static str)> {
    let Ok(changes) = parser.parse_line(&format!("{code}\n"), &SYNTAXES) else { return Vec::new() };
    let mut parts = vec![(0, class(stack))];
    for (at, change) in changes {
        if stack.apply(&change).is_err() {
            break;
        }
        parts.push((at, class(stack)));
    }
    parts
}

fn class(stack: &ScopeStack) -> &'static str {
    let known = |scope: &Scope| CLASSES.iter().find(|(known, _)| known.is_prefix_of(*scope)).map(|(_, class)| *class);
    stack.as_slice().iter().rev().find_map(known).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Parts> {
        let syntax = SYNTAXES.find_syntax_by_extension("sql").unwrap_or_else(|| SYNTAXES.find_syntax_plain_text());
        let mut lines = Lines::new(syntax);
        text.lines().map(|line| lines.parse(line)).collect()
    }

    #[test]
    fn a_line_that_was_seen_depends_on_what_is_before_it() {
        let plain = all("SELECT 1\nFROM t");
        let comment = all("SELECT 1 /*\nFROM t");
        assert_eq!(plain.get(1).and_then(|parts| parts.first()).map(|part| part.1), Some(""));
        assert_eq!(plain.get(1).and_then(|parts| parts.get(1)).map(|part| part.1), Some("hl-keyword"));
        assert_eq!(comment.get(1).and_then(|parts| parts.last()).map(|part| part.1), Some("hl-comment"));
        // The same again, from memory.
        assert_eq!(plain, all("SELECT 1\nFROM t"));
        assert_eq!(comment, all("SELECT 1 /*\nFROM t"));
    }
}
