//! `html.unescape`.

use super::entity_table::ENTITIES;

/// What the numbers 128 to 159 stand for: browsers read them as Windows-1252.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn named(name: &str) -> Option<&'static str> {
    let at = ENTITIES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    ENTITIES.get(at).map(|(_, text)| *text)
}

fn push_number(digits: &str, radix: u32, out: &mut String) {
    let trimmed = digits.trim_start_matches('0');
    // more digits than any code point has
    let code = if trimmed.is_empty() { 0 } else { u32::from_str_radix(trimmed, radix).unwrap_or(u32::MAX) };
    match code {
        0 => out.push('\u{fffd}'),
        13 => out.push('\r'),
        128..=159 => out.extend(WINDOWS_1252.get(code as usize - 128)),
        1..=8 | 11 | 14..=31 | 127 | 64976..=65007 => {}
        _ if code & 0xfffe == 0xfffe && code <= 0x10_ffff => {}
        _ => out.push(char::from_u32(code).unwrap_or('\u{fffd}')),
    }
}

/// Text with its entities resolved, as Python's `html.unescape` does it.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let body = after.get(1..).unwrap_or("");
        rest = body;
        if let Some(number) = body.strip_prefix('#') {
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(hex) => (hex, 16),
                None => (number, 10),
            };
            let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
            if len == 0 {
                out.push('&');
                continue;
            }
            let (digits, after) = digits.split_at(len);
            push_number(digits, radix, &mut out);
            rest = after.strip_prefix(';').unwrap_or(after);
            continue;
        }
        let name_len = body
            .char_indices()
            .take(32)
            .find(|(_, c)| matches!(c, '\t' | '\n' | '\u{c}' | ' ' | '<' | '&' | '#' | ';'))
            .map(|(at, _)| at)
            .unwrap_or_else(|| body.char_indices().nth(32).map_or(body.len(), |(at, _)| at));
        if name_len == 0 {
            out.push('&');
            continue;
        }
        let full = name_len + usize::from(body.get(name_len..).is_some_and(|rest| rest.starts_with(';')));
        let (name, after) = body.split_at(full);
        rest = after;
        if let Some(found) = named(name) {
            out.push_str(found);
            continue;
        }
        // the longest beginning that is a name of its own
        let shorter = name
            .char_indices()
            .skip(2)
            .map(|(at, _)| name.split_at(at))
            .filter_map(|(head, tail)| named(head).map(|found| (found, tail)))
            .last();
        match shorter {
            Some((found, tail)) => {
                out.push_str(found);
                out.push_str(tail);
            }
            None => {
                out.push('&');
                out.push_str(name);
            }
        }
    }
    out.push_str(rest);
    out
}
