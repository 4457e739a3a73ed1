//! What sequences share: indices, slices, comparison, repetition.

use super::{
    CmpOp, Interp, PyErr, PyObject, PyResult, Value, View, cargs, identical_or_equal, number, type_name, view,
};

/// A sequence that `*` repeats.
pub(crate) trait Repeat {
    fn repeat(&self, times: i64, it: &mut dyn Interp) -> PyResult;
}

/// The index an `int` means in a sequence of a length, counted from the end when negative.
pub(crate) fn position(key: &Value, len: usize, out_of_range: &str, wrong_type: &str) -> PyResult<usize> {
    let at = match view(key) {
        View::Int(at) => at,
        View::Bool(at) => i64::from(at),
        _ if number::big(key).is_some() => {
            return Err(PyErr::new("IndexError", "cannot fit 'int' into an index-sized integer"));
        }
        _ => return Err(PyErr::type_error(format!("{wrong_type}, not {}", type_name(key)))),
    };
    let from_front = if at < 0 { at.saturating_add(len as i64) } else { at };
    if from_front < 0 || from_front as usize >= len {
        return Err(PyErr::new("IndexError", out_of_range));
    }
    Ok(from_front as usize)
}

/// A slice applied to a length: where it starts, how many items, how far apart.
#[derive(Debug, Clone, Copy)]
pub struct Indices {
    /// First index
    pub start: i64,
    /// One past the last index in the direction of the step
    pub stop: i64,
    /// Distance, never 0
    pub step: i64,
    /// Number of items
    pub count: usize,
}

impl Indices {
    /// `slice(start, stop, step).indices(len)`.
    pub fn new(start: &Value, stop: &Value, step: &Value, len: usize) -> PyResult<Indices> {
        let step = cargs::slice_index(step)?.unwrap_or(1);
        if step == 0 {
            return Err(PyErr::value_error("slice step cannot be zero"));
        }
        let step = step.max(-i64::MAX);
        let len = len as i64;
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let clamp = |at: i64| {
            let at = if at < 0 { at.saturating_add(len) } else { at };
            at.clamp(low, high.max(low))
        };
        let start = cargs::slice_index(start)?.map_or(if step > 0 { low } else { high }, clamp);
        let stop = cargs::slice_index(stop)?.map_or(if step > 0 { high } else { low }, clamp);
        let count = if step > 0 && start < stop {
            (stop - start - 1) / step + 1
        } else if step < 0 && stop < start {
            (start - stop - 1) / -step + 1
        } else {
            0
        };
        Ok(Indices { start, stop, step, count: count as usize })
    }

    /// The indices in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count as i64).map(move |n| (self.start + n * self.step) as usize)
    }
}

/// The items a slice selects.
pub(crate) fn pick<T: Clone>(items: &[T], indices: Indices) -> Vec<T> {
    if indices.step == 1 {
        let start = indices.start as usize;
        return items.get(start..start + indices.count).map(<[T]>::to_vec).unwrap_or_default();
    }
    indices.iter().filter_map(|at| items.get(at).cloned()).collect()
}

/// The `start` and `stop` arguments of `index`.
pub(crate) fn find_bounds(start: Option<&Value>, stop: Option<&Value>, len: usize) -> PyResult<(usize, usize)> {
    let bound = |value: Option<&Value>, default: i64| -> PyResult<usize> {
        let at = match value {
            Some(value) => cargs::slice_index(value)
                .ok()
                .flatten()
                .ok_or_else(|| PyErr::type_error("slice indices must be integers or have an __index__ method"))?,
            None => default,
        };
        let at = if at < 0 { at.saturating_add(len as i64).max(0) } else { at };
        Ok(at.min(len as i64) as usize)
    };
    Ok((bound(start, 0)?, bound(stop, i64::MAX)?))
}

/// Writes `repr` of each item with commas between.
pub(crate) fn repr_items(items: &[Value], out: &mut String, it: &mut dyn Interp) -> PyResult<()> {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        super::push_repr(item, out, it)?;
        // a list that holds one long list many times prints to much more than it takes in memory
        if out.len() > it.limits().allocation {
            it.allocate(out.len())?;
        }
    }
    Ok(())
}

/// `item in items`.
pub(crate) fn contains(items: &[Value], item: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    it.charge(items.len() as u64 / 16)?;
    for candidate in items {
        if identical_or_equal(candidate, item, it)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `items.count(item)`.
pub(crate) fn count(items: &[Value], item: &Value, it: &mut dyn Interp) -> PyResult {
    it.charge(items.len() as u64 / 16)?;
    let mut count = 0i64;
    for candidate in items {
        count += i64::from(identical_or_equal(candidate, item, it)?);
    }
    Ok(Value::from(count))
}

/// Lexicographic comparison.
pub(crate) fn compare(op: CmpOp, a: &[Value], b: &[Value], it: &mut dyn Interp) -> PyResult<bool> {
    let _depth = super::guard::Depth::enter()?;
    if a.len() != b.len() && matches!(op, CmpOp::Eq | CmpOp::Ne) {
        return Ok(op == CmpOp::Ne);
    }
    // a list that holds one list many times takes far more steps than memory
    it.charge(8 + a.len().min(b.len()) as u64 / 8)?;
    for (x, y) in a.iter().zip(b) {
        if !identical_or_equal(x, y, it)? {
            return match op {
                CmpOp::Eq => Ok(false),
                CmpOp::Ne => Ok(true),
                _ => super::compare(op, x, y, it),
            };
        }
    }
    Ok(number::holds(op, a.len().cmp(&b.len())))
}

/// `items * times`.
pub(crate) fn repeat_items(items: &[Value], times: i64, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    let times = usize::try_from(times).unwrap_or(0);
    it.allocate(items.len().saturating_mul(times).saturating_mul(16))?;
    let mut out = Vec::with_capacity(items.len() * times);
    for _ in 0..times {
        out.extend_from_slice(items);
    }
    Ok(out)
}

/// A `slice` object, as custom types get it in `x[a:b]`.
#[derive(Debug)]
pub struct Slice {
    /// `start`
    pub start: Value,
    /// `stop`
    pub stop: Value,
    /// `step`
    pub step: Value,
}

impl PyObject for Slice {
    fn type_name(&self) -> &str {
        "slice"
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let (start, stop, step) =
            (super::repr(&self.start, it)?, super::repr(&self.stop, it)?, super::repr(&self.step, it)?);
        Ok(format!("slice({start}, {stop}, {step})"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "start" => Some(Ok(self.start.clone())),
            "stop" => Some(Ok(self.stop.clone())),
            "step" => Some(Ok(self.step.clone())),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<super::HashKey> {
        Err(PyErr::type_error("unhashable type: 'slice'"))
    }
}
