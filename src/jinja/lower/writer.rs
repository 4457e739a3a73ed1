//! Emitting minijinja source and remembering where each part came from.

use super::super::ast::Span;
use super::super::code::Site;

/// From this byte of the lowered source on, code belongs to this span of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Offset in the lowered source.
    pub at: usize,
    /// Where that is.
    pub site: Site,
}

/// A growing unit.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    places: Vec<Place>,
    weight: usize,
}

impl Writer {
    /// The source, its places, and the weight of its codes.
    pub fn finish(self) -> (String, Vec<Place>, usize) {
        (self.out, self.places, self.weight)
    }

    /// How much was written so far: bytes, and what stands elsewhere as if it stood here.
    pub fn len(&self) -> usize {
        self.out.len() + self.weight
    }

    /// Counts what was written elsewhere.
    pub fn weigh(&mut self, weight: usize) {
        self.weight += weight;
    }

    /// Appends code.
    pub fn push(&mut self, code: &str) {
        self.out.push_str(code);
    }

    /// What follows belongs to this part of the original.
    pub fn mark(&mut self, span: Span, line: usize) {
        self.places.push(Place { at: self.out.len(), site: Site { span, line } });
    }

    /// A statement tag.
    pub fn tag(&mut self, inside: &str) {
        self.push("{% ");
        self.push(inside);
        self.push(" %}");
    }

    /// A print tag.
    pub fn print(&mut self, inside: &str) {
        self.push("{{ ");
        self.push(inside);
        self.push(" }}");
    }

    /// Code that is complete with its delimiters.
    pub fn raw_tag(&mut self, code: &str) {
        self.push(code);
    }

    /// Text that is written as it is. Whatever minijinja could take for a tag goes through a constant.
    pub fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let opens = matches!(rest.as_bytes().get(at + 1), None | Some(b'{' | b'%' | b'#'));
            if opens {
                self.push(&rest[..at]);
                self.push("{{ \"{\" }}");
            } else {
                self.push(&rest[..=at]);
            }
            rest = &rest[at + 1..];
        }
        self.push(rest);
    }

    /// A string constant.
    pub fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c < ' ' || c == '\x7f' => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Reserves the digits of a number that is known later; [`fill`](Self::fill) writes it.
    pub fn reserve(&mut self) -> usize {
        let at = self.out.len();
        self.out.push_str("1000000000");
        at
    }

    /// Fills in a reserved number (below 10^9; the run time subtracts 10^9).
    pub fn fill(&mut self, at: usize, number: usize) {
        let digits = format!("{}", 1_000_000_000 + number.min(999_999_999));
        self.out.replace_range(at..at + digits.len(), &digits);
    }
}
