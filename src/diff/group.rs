//! Equal things brought together, in the order in which the first of each came.

use std::collections::HashMap;
use std::hash::Hash;

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
