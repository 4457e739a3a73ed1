//! Sorting with Python's order of comparisons, so that the first pair that cannot be compared is the same one.

use crate::python::{self, CmpOp, Interp, PyErr, PyResult, Value, View, view};

/// Below this many items CPython sorts by binary insertion alone, which is copied exactly.
const SMALL: usize = 64;

/// The order in which `sorted(items, key=..., reverse=...)` puts the items whose keys are given: stable, by `<`.
pub(super) fn order(keys: &[Value], reverse: bool, it: &mut dyn Interp) -> PyResult<Vec<usize>> {
    order_by(keys.len(), reverse, it, &mut |a, b, it| python::compare(CmpOp::Lt, &keys[a], &keys[b], it), &|| {
        keys.iter().any(has_nan)
    })
}

/// The same with a comparison of one's own (`less(a, b)` of two indexes). `partial` says whether it may be no total
/// order; the result then depends on details of CPython's algorithm that are not copied for long lists.
pub(super) fn order_by(
    len: usize,
    reverse: bool,
    it: &mut dyn Interp,
    less: &mut dyn FnMut(usize, usize, &mut dyn Interp) -> PyResult<bool>,
    partial: &dyn Fn() -> bool,
) -> PyResult<Vec<usize>> {
    it.charge(len as u64)?;
    let mut items: Vec<usize> = (0..len).collect();
    // CPython reverses before and after, to stay stable
    if reverse {
        items.reverse();
    }
    if len < SMALL {
        binary_insertion(&mut items, it, less)?;
    } else {
        if partial() {
            return Err(PyErr::unsupported("sorting 64 or more items that have no total order (nan)"));
        }
        items = merge_sort(items, it, less)?;
    }
    if reverse {
        items.reverse();
    }
    Ok(items)
}

fn has_nan(value: &Value) -> bool {
    match view(value) {
        View::Float(value) => value.is_nan(),
        View::Object(_) => match python::downcast::<python::List>(value) {
            Some(list) => list.snapshot().iter().any(has_nan),
            None => python::downcast::<python::Tuple>(value).is_some_and(|tuple| tuple.snapshot().iter().any(has_nan)),
        },
        _ => false,
    }
}

fn binary_insertion(
    items: &mut [usize],
    it: &mut dyn Interp,
    less: &mut dyn FnMut(usize, usize, &mut dyn Interp) -> PyResult<bool>,
) -> PyResult<()> {
    if items.len() < 2 {
        return Ok(());
    }
    // the run at the start: not descending, or strictly descending and then reversed
    let mut run = 2;
    if less(items[1], items[0], it)? {
        while run < items.len() && less(items[run], items[run - 1], it)? {
            run += 1;
        }
        items[..run].reverse();
    } else {
        while run < items.len() && !less(items[run], items[run - 1], it)? {
            run += 1;
        }
    }
    for start in run..items.len() {
        let pivot = items[start];
        let (mut left, mut right) = (0, start);
        while left < right {
            let middle = left + (right - left) / 2;
            if less(pivot, items[middle], it)? {
                right = middle;
            } else {
                left = middle + 1;
            }
        }
        items[left..=start].rotate_right(1);
    }
    Ok(())
}

fn merge_sort(
    items: Vec<usize>,
    it: &mut dyn Interp,
    less: &mut dyn FnMut(usize, usize, &mut dyn Interp) -> PyResult<bool>,
) -> PyResult<Vec<usize>> {
    if items.len() < SMALL {
        let mut items = items;
        binary_insertion(&mut items, it, less)?;
        return Ok(items);
    }
    it.charge(items.len() as u64)?;
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let left = merge_sort(left, it, less)?;
    let right = merge_sort(right, it, less)?;
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(*b, *a, it)? { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}
