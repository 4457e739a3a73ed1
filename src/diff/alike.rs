//! What was renamed: by how much of its content it has in common with something new.

use std::collections::{BTreeSet, HashMap};

/// Most words of a text that are looked at.
const WORDS: usize = 20_000;

/// The words and signs of a text, each with how often it stands there.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    counts: HashMap<String, usize>,
    total: usize,
}

impl Tokens {
    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let mut tokens = Tokens::default();
        tokens.add(text);
        tokens
    }

    /// Adds those of another text.
    pub fn add(&mut self, text: &str) {
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            if self.total >= WORDS {
                return;
            }
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                self.count(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                self.count(c.to_string());
            }
        }
    }

    fn count(&mut self, token: String) {
        *self.counts.entry(token).or_default() += 1;
        self.total += 1;
    }
}

/// How much two texts have in common, from 0 to 1.
pub fn likeness(one: &Tokens, other: &Tokens) -> f64 {
    if one.total == 0 || other.total == 0 {
        return 0.0;
    }
    let common: usize =
        one.counts.iter().map(|(token, count)| (*count).min(other.counts.get(token).copied().unwrap_or(0))).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = 2.0 * common as f64 / (one.total + other.total) as f64;
    share
}

/// Pairs the most alike of two lists, best first, as long as they have at least `least` in common: indexes into both and
/// how alike they are.
pub fn pair(old: &[Tokens], new: &[Tokens], least: f64) -> Vec<(usize, usize, f64)> {
    let mut all: Vec<(usize, usize, f64)> = Vec::new();
    for (at, one) in old.iter().enumerate() {
        for (to, other) in new.iter().enumerate() {
            let share = likeness(one, other);
            if share >= least {
                all.push((at, to, share));
            }
        }
    }
    all.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)).then(one.1.cmp(&other.1)));
    let (mut from, mut to) = (BTreeSet::new(), BTreeSet::new());
    all.retain(|(one, other, _)| !from.contains(one) && !to.contains(other) && from.insert(*one) && to.insert(*other));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_are_paired() {
        let old = [Tokens::of("SELECT a, b FROM t WHERE x = 1"), Tokens::of("bin/export.sh 20260310")];
        let new = [Tokens::of("bin/export.sh 20260310"), Tokens::of("SELECT a, b, c FROM t WHERE x = 1")];
        let found: Vec<(usize, usize)> =
            pair(&old, &new, 0.6).into_iter().map(|(one, other, _)| (one, other)).collect();
        assert_eq!(found, [(1, 0), (0, 1)]);
        assert!(pair(&old[..1], &new[..1], 0.6).is_empty());
    }
}
