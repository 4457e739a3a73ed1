//! The tokens of dateutil's date parser.

use std::collections::VecDeque;

use crate::python::{is_alpha, is_digit, is_space};

#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Word,
    Number,
    WordDot,
    NumberDot,
}

/// Splits a text into words, numbers and single characters.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut chars: VecDeque<char> = text.chars().filter(|c| *c != '\0').collect();
    let mut out = Vec::new();
    while !chars.is_empty() {
        token(&mut chars, &mut out);
    }
    out
}

fn token(chars: &mut VecDeque<char>, out: &mut Vec<String>) {
    let word = |c: char| is_alpha(c);
    let number = |c: char| is_digit(c);
    let mut token = String::new();
    let mut state = State::Start;
    let mut letters = false;
    while let Some(c) = chars.pop_front() {
        let (next, taken) = match state {
            State::Start => {
                if word(c) {
                    (State::Word, true)
                } else if number(c) {
                    (State::Number, true)
                } else {
                    out.push(if is_space(c) { " ".into() } else { c.to_string() });
                    return;
                }
            }
            State::Word => {
                letters = true;
                if word(c) { (State::Word, true) } else { (State::WordDot, c == '.') }
            }
            State::Number => {
                if number(c) {
                    (State::Number, true)
                } else {
                    (State::NumberDot, c == '.' || c == ',' && token.chars().count() >= 2)
                }
            }
            State::WordDot => {
                letters = true;
                if c == '.' || word(c) {
                    (State::WordDot, true)
                } else {
                    (State::NumberDot, number(c) && token.ends_with('.'))
                }
            }
            State::NumberDot => {
                if c == '.' || number(c) {
                    (State::NumberDot, true)
                } else {
                    (State::WordDot, word(c) && token.ends_with('.'))
                }
            }
        };
        if !taken {
            chars.push_front(c);
            break;
        }
        token.push(c);
        state = next;
    }
    let dots = token.matches('.').count();
    let dotted = matches!(state, State::WordDot | State::NumberDot);
    if dotted && (letters || dots > 1 || token.ends_with(['.', ','])) {
        let mut part = String::new();
        let mut parts = Vec::new();
        for c in token.chars() {
            if c == '.' || c == ',' {
                parts.push(std::mem::take(&mut part));
                parts.push(c.to_string());
            } else {
                part.push(c);
            }
        }
        parts.push(part);
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_default();
        // what was a number with a comma stays one only without further points
        out.push(if state == State::NumberDot && !first.contains('.') { first.replace(',', ".") } else { first });
        out.extend(parts.filter(|part| !part.is_empty()));
        return;
    }
    if state == State::NumberDot && dots == 0 {
        token = token.replace(',', ".");
    }
    out.push(token);
}
