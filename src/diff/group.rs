//! Equal things brought together, in the order in which the first of each came.

use std::collections::HashMap;
use std::hash::Hash;

use super::hunk::{Line, Tag};

/// Things that have the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<K, T> {
    /// What they have in common.
    pub key: K,
    /// They themselves, in the order they came; never empty.
    pub members: Vec<T>,
}

/// Groups things by their keys.
pub fn group<K: Hash + Eq + Clone, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<Group<K, T>> {
    let mut groups: Vec<Group<K, T>> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, item) in items {
        let place = places.get(&key).copied();
        match place.and_then(|place| groups.get_mut(place)) {
            Some(group) => group.members.push(item),
            None => {
                places.insert(key.clone(), groups.len());
                groups.push(Group { key, members: vec![item] });
            }
        }
    }
    groups
}

/// The changed lines of a hunk with every number written as `0`: what a change and its likes in other runs share. Two changes
/// with this in common need not be the same; whoever joins them says that numbers differ.
pub fn shape(lines: &[Line]) -> Vec<(Tag, String)> {
    lines.iter().map(|line| (line.tag, without_numbers(&line.text))).collect()
}

/// A text with every run of digits written as `0`.
pub fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            out.push(c);
        } else if !inside {
            out.push('0');
        }
        inside = digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order() {
        let groups = group([("b", 1), ("a", 2), ("b", 3)]);
        let found: Vec<_> = groups.iter().map(|group| (group.key, group.members.as_slice())).collect();
        assert_eq!(found, [("b", &[1, 3][..]), ("a", &[2][..])]);
    }
}
