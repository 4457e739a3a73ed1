//! Sorting with a comparison that can fail.

use super::{CmpOp, Interp, PyResult, Value, compare};

/// Sorts stably by `<` on the keys, in as many comparisons as binary insertion and merging need.
pub(crate) fn merge_sort(keyed: &mut Vec<(Value, Value)>, it: &mut dyn Interp) -> PyResult<()> {
    // CPython's own first step: a run that is in order already is left alone. It also decides which pair of values a
    // TypeError names when the very first two do not compare.
    let mut runs: Vec<Vec<(Value, Value)>> = Vec::new();
    let shortest = shortest_run(keyed.len());
    let mut rest = std::mem::take(keyed).into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut run = vec![first];
        let mut descending = None;
        while let Some(next) = rest.peek() {
            let Some(last) = run.last() else { break };
            let less = compare(CmpOp::Lt, &next.0, &last.0, it)?;
            if *descending.get_or_insert(less) != less {
                break;
            }
            if let Some(next) = rest.next() {
                run.push(next);
            }
        }
        if descending == Some(true) {
            run.reverse();
        }
        // short runs grow by binary insertion
        while run.len() < shortest {
            let Some(next) = rest.next() else { break };
            let (mut low, mut high) = (0, run.len());
            while low < high {
                let middle = low + (high - low) / 2;
                let pivot = run.get(middle).map(|entry| &entry.0);
                let less = match pivot {
                    Some(pivot) => compare(CmpOp::Lt, &next.0, pivot, it)?,
                    None => false,
                };
                if less { high = middle } else { low = middle + 1 }
            }
            run.insert(low, next);
        }
        runs.push(run);
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right, it)?,
                None => left,
            });
        }
        runs = merged;
        it.charge(1)?;
    }
    *keyed = runs.pop().unwrap_or_default();
    Ok(())
}

/// CPython's `minrun`: everything below 64 items is one run, which decides what values without an order (nan) end up as.
fn shortest_run(mut len: usize) -> usize {
    let mut rest = 0;
    while len >= 64 {
        rest |= len & 1;
        len >>= 1;
    }
    len + rest
}

fn merge(left: Vec<(Value, Value)>, right: Vec<(Value, Value)>, it: &mut dyn Interp) -> PyResult<Vec<(Value, Value)>> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(CmpOp::Lt, &b.0, &a.0, it)? { right.next() } else { left.next() };
        out.extend(next);
    }
    out.extend(left);
    out.extend(right);
    Ok(out)
}
