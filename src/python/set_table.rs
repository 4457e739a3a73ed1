//! The order of CPython's sets: their hash table, slot for slot.

use super::hash::cpython_hash;
use super::{HashKey, Value};

const LINEAR_PROBES: usize = 9;
const PERTURB_SHIFT: u32 = 5;

#[derive(Debug, Clone)]
struct Entry {
    key: HashKey,
    hash: i64,
    value: Value,
}

#[derive(Debug, Clone, Default)]
enum Slot {
    #[default]
    Empty,
    Removed,
    Used(Entry),
}

/// The table behind a set. Its slots from first to last are the order of iteration.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    /// Used and removed slots
    fill: usize,
    used: usize,
    finger: usize,
    /// Elements whose hash differs from process to process
    unstable: usize,
}

impl Default for Table {
    fn default() -> Self {
        Table { slots: vec![Slot::Empty; 8], fill: 0, used: 0, finger: 0, unstable: 0 }
    }
}

/// The slots to try for a hash, in CPython's order: a run of neighbours, then a jump.
fn probes(hash: i64, mask: usize) -> impl Iterator<Item = usize> {
    let mut perturb = hash as usize;
    let mut at = perturb & mask;
    std::iter::repeat_with(move || {
        let run = if at + LINEAR_PROBES <= mask { LINEAR_PROBES } else { 0 };
        let first = at;
        perturb >>= PERTURB_SHIFT;
        at = at.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb) & mask;
        first..=first + run
    })
    .flatten()
}

impl Table {
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// True when no element's hash differs from process to process.
    pub(crate) fn is_stable(&self) -> bool {
        self.unstable == 0
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&HashKey, &Value)> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Used(entry) => Some((&entry.key, &entry.value)),
            _ => None,
        })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.entries().map(|(_, value)| value)
    }

    fn find(&self, key: &HashKey, hash: i64) -> Option<usize> {
        for at in probes(hash, self.mask()) {
            match self.slots.get(at) {
                Some(Slot::Used(entry)) if entry.hash == hash && entry.key == *key => return Some(at),
                Some(Slot::Empty) | None => return None,
                _ => {}
            }
        }
        None
    }

    pub(crate) fn contains(&self, key: &HashKey) -> bool {
        self.find(key, cpython_hash(key).0).is_some()
    }

    pub(crate) fn add(&mut self, key: HashKey, value: Value) {
        let (hash, stable) = cpython_hash(&key);
        if self.find(&key, hash).is_some() {
            return;
        }
        self.unstable += usize::from(!stable);
        if let Some(slot) = self.removed_slot(hash).and_then(|at| self.slots.get_mut(at)) {
            *slot = Slot::Used(Entry { key, hash, value });
            self.used += 1;
            return;
        }
        self.place(Entry { key, hash, value });
        if self.fill * 5 >= self.mask() * 3 {
            self.resize(if self.used > 50_000 { self.used * 2 } else { self.used * 4 });
        }
    }

    /// The last removed slot on the way of a hash, which CPython fills again.
    fn removed_slot(&self, hash: i64) -> Option<usize> {
        if self.fill == self.used {
            return None;
        }
        let mut found = None;
        for at in probes(hash, self.mask()) {
            match self.slots.get(at) {
                Some(Slot::Removed) => found = Some(at),
                Some(Slot::Used(_)) => {}
                Some(Slot::Empty) | None => break,
            }
        }
        found
    }

    /// Puts an entry that is not there yet into the first empty slot.
    fn place(&mut self, entry: Entry) {
        let mask = self.mask();
        for at in probes(entry.hash, mask) {
            if let Some(slot @ Slot::Empty) = self.slots.get_mut(at) {
                *slot = Slot::Used(entry);
                self.fill += 1;
                self.used += 1;
                return;
            }
        }
    }

    fn resize(&mut self, minimum: usize) {
        let mut size = 8;
        while size <= minimum {
            size <<= 1;
        }
        let old = std::mem::replace(&mut self.slots, vec![Slot::Empty; size]);
        self.fill = 0;
        self.used = 0;
        for slot in old {
            if let Slot::Used(entry) = slot {
                self.place(entry);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &HashKey) -> bool {
        let (hash, stable) = cpython_hash(key);
        let Some(at) = self.find(key, hash) else { return false };
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot::Removed;
        }
        self.used -= 1;
        self.unstable -= usize::from(!stable);
        true
    }

    /// Removes all of another table's keys, and then the traces of what was removed where there are many.
    pub(crate) fn subtract(&mut self, other: &Table) {
        for (key, _) in other.entries() {
            self.remove(key);
        }
        if self.fill - self.used > self.mask() / 5 {
            self.resize(if self.used > 50_000 { self.used * 2 } else { self.used * 4 });
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Value> {
        if self.used == 0 {
            return None;
        }
        let mask = self.mask();
        let mut at = self.finger & mask;
        loop {
            if let Some(Slot::Used(entry)) = self.slots.get(at) {
                let (key, value) = (entry.key.clone(), entry.value.clone());
                self.remove(&key);
                self.finger = at + 1;
                return Some(value);
            }
            at = if at >= mask { 0 } else { at + 1 };
        }
    }

    /// What CPython does before it adds the keys of a dict.
    pub(crate) fn reserve_for_dict(&mut self, size: usize) {
        if (self.fill + size) * 5 >= self.mask() * 3 {
            self.resize((self.used + size) * 2);
        }
    }

    /// `set.copy()`: a fresh table into which this one is merged.
    pub(crate) fn copy(&self) -> Table {
        let mut out = Table::default();
        out.merge(self);
        out
    }

    /// The same table, slot for slot.
    pub(crate) fn copy_exact(&self) -> Table {
        self.clone()
    }

    /// Adds all of another table.
    pub(crate) fn merge(&mut self, other: &Table) {
        if other.used == 0 {
            return;
        }
        if (self.fill + other.used) * 5 >= self.mask() * 3 {
            self.resize((self.used + other.used) * 2);
        }
        if self.fill == 0 {
            self.unstable = other.unstable;
            if self.mask() == other.mask() && other.fill == other.used {
                self.slots.clone_from(&other.slots);
                self.fill = other.fill;
                self.used = other.used;
                return;
            }
            for slot in &other.slots {
                if let Slot::Used(entry) = slot {
                    self.place(entry.clone());
                }
            }
            return;
        }
        for (key, value) in other.entries() {
            self.add(key.clone(), value.clone());
        }
    }
}
