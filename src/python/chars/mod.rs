//! Character classes and case mappings as CPython 3.11 has them (Unicode 14).

mod classes;
mod mappings;

/// Whether a class of characters, as the bounds of its ranges, has this one.
fn within(bounds: &[u32], c: char) -> bool {
    bounds.partition_point(|&bound| bound <= c as u32) % 2 == 1
}

/// `str.isprintable` of one character.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() { (' '..='~').contains(&c) } else { within(classes::PRINTABLE, c) }
}

/// `str.isalpha` of one character.
pub fn is_alpha(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { within(classes::ALPHA, c) }
}

/// `str.isnumeric` of one character.
pub fn is_numeric(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { within(classes::NUMERIC, c) }
}

/// `str.isdigit` of one character.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { within(classes::DIGIT, c) }
}

/// The value of a decimal digit of any script; `None` when `str.isdecimal` is false.
pub fn decimal_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let code = c as u32;
    let at = classes::DECIMAL_ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    let zero = *classes::DECIMAL_ZEROS.get(at)?;
    (code - zero < 10).then_some(code - zero)
}

/// `str.isalnum` of one character.
pub fn is_alnum(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_alpha(c) || is_numeric(c) }
}

/// `str.isspace` of one character; also what `split()` and `strip()` take for white space.
pub fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\x1c'..='\x1f' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// What `str.splitlines` takes for the end of a line.
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A letter that is its own kind of title case, such as the digraph in U+01C5.
pub fn is_title(c: char) -> bool {
    matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}' | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}'
        | '\u{1fa8}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}')
}

/// A character of Unicode 14 with the property Uppercase.
pub fn is_upper(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { c.is_uppercase() && is_printable(c) }
}

/// A character of Unicode 14 with the property Lowercase.
pub fn is_lower(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { c.is_lowercase() && is_printable(c) }
}

/// First character of an identifier (`_` is not among them).
pub fn is_identifier_start(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { within(classes::IDENTIFIER_START, c) }
}

/// A further character of an identifier.
pub fn is_identifier_continue(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { within(classes::IDENTIFIER_CONTINUE, c) }
}

/// A mapping of a newer Unicode than Python's: characters it did not know map to themselves.
fn known<I: Iterator<Item = char> + Clone>(c: char, mapped: I, out: &mut String) {
    if c.is_ascii() || (is_printable(c) && mapped.clone().all(is_printable)) { out.extend(mapped) } else { out.push(c) }
}

/// Appends the uppercase mapping.
pub fn push_upper(c: char, out: &mut String) {
    known(c, c.to_uppercase(), out);
}

/// Appends the lowercase mapping, without regard to the final sigma.
pub fn push_lower(c: char, out: &mut String) {
    known(c, c.to_lowercase(), out);
}

/// Appends the titlecase mapping.
pub fn push_title(c: char, out: &mut String) {
    match mappings::TITLECASE.binary_search_by_key(&c, |&(from, _)| from) {
        Ok(at) => out.push_str(mappings::TITLECASE.get(at).map_or("", |(_, to)| to)),
        Err(_) => push_upper(c, out),
    }
}

/// Appends the full case folding.
pub fn push_folded(c: char, out: &mut String) {
    match mappings::CASEFOLD.binary_search_by_key(&c, |&(from, _)| from) {
        Ok(at) => out.push_str(mappings::CASEFOLD.get(at).map_or("", |(_, to)| to)),
        Err(_) => push_lower(c, out),
    }
}

/// `str.lower`: the final sigma depends on what stands around it.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    if !text.contains('Σ') {
        let mut out = String::with_capacity(text.len());
        text.chars().for_each(|c| push_lower(c, &mut out));
        return out;
    }
    text.to_lowercase()
}

/// `str.upper`.
pub fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_upper(c, &mut out));
    out
}

/// `str.isidentifier`.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || is_identifier_start(c)) && chars.all(is_identifier_continue)
}
