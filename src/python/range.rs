//! `range`.

use num_bigint::BigInt;

use super::guard::address;
use super::{
    Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Value, View, cargs, downcast, iter,
    number, object, seq, view,
};

/// A `range` of ints that fit an `i64`.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    start: i64,
    stop: i64,
    step: i64,
}

impl Range {
    /// `range(*args)`; `TypeError` and `ValueError` as CPython's.
    pub fn new(args: &Args<'_>) -> PyResult<Range> {
        let pos = cargs::positional("range", args, 1, 3)?;
        let mut ints = [0i64, 0, 1];
        for (slot, value) in ints.iter_mut().zip(pos) {
            *slot = match cargs::index(value) {
                Err(error) if error.class == "OverflowError" => {
                    return Err(PyErr::unsupported("a range with bounds beyond 64 bits"));
                }
                other => other?,
            };
        }
        let [start, stop, step] = if pos.len() == 1 { [0, ints[0], 1] } else { ints };
        if step == 0 {
            return Err(PyErr::value_error("range() arg 3 must not be zero"));
        }
        Ok(Range { start, stop, step })
    }

    /// A range of steps of one.
    pub fn simple(start: i64, stop: i64) -> Range {
        Range { start, stop, step: 1 }
    }

    /// The number of ints in it.
    pub fn count(&self) -> u64 {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let count = if step > 0 {
            (stop - start + step - 1).div_euclid(step)
        } else {
            (start - stop - step - 1).div_euclid(-step)
        };
        u64::try_from(count.max(0)).unwrap_or(u64::MAX)
    }

    /// The int at an index, which must be within the range.
    fn at(&self, index: u64) -> i64 {
        self.start.wrapping_add((index as i64).wrapping_mul(self.step))
    }

    /// The index of a value; what is no number is compared with each int in turn, and may have its own idea of that.
    fn position_of(&self, value: &Value, it: &mut dyn Interp) -> PyResult<Option<u64>> {
        if let View::Object(_) = view(value)
            && number::big(value).is_none()
        {
            for index in 0..self.count() {
                it.charge(1)?;
                if super::compare(CmpOp::Eq, &Value::from(self.at(index)), value, it)? {
                    return Ok(Some(index));
                }
            }
            return Ok(None);
        }
        Ok(self.position_of_number(value))
    }

    fn position_of_number(&self, value: &Value) -> Option<u64> {
        let int = match view(value) {
            View::Int(int) => int,
            View::Bool(bool) => i64::from(bool),
            View::Float(float) if float.fract() == 0.0 && float.abs() < 9e18 => float as i64,
            _ => return None,
        };
        let distance = (i128::from(int) - i128::from(self.start)).checked_div(i128::from(self.step))?;
        let index = u64::try_from(distance).ok()?;
        (index < self.count() && self.at(index) == int).then_some(index)
    }

    pub(crate) fn slice(&self, start: &Value, stop: &Value, step: &Value) -> PyResult {
        if number::big(step).is_some() {
            return Err(PyErr::unsupported("a range with bounds beyond 64 bits"));
        }
        let len = usize::try_from(self.count()).unwrap_or(usize::MAX).min(i64::MAX as usize);
        let indices = seq::Indices::new(start, stop, step, len)?;
        let overflow = || PyErr::unsupported("a range with bounds beyond 64 bits");
        let at = |index: i64| {
            i64::try_from(i128::from(self.start) + i128::from(index) * i128::from(self.step)).map_err(|_| overflow())
        };
        let step = self.step.checked_mul(indices.step).ok_or_else(overflow)?;
        Ok(object(Range { start: at(indices.start)?, stop: at(indices.stop)?, step }))
    }

    /// Iterates from the last to the first.
    pub fn reversed(&self) -> PyIter {
        let count = self.count();
        let back = Range { start: self.at(count.wrapping_sub(1)), stop: 0, step: self.step.wrapping_neg() };
        Box::new(RangeIter { range: back, next: 0, count })
    }
}

struct RangeIter {
    range: Range,
    next: u64,
    count: u64,
}

impl PyIterator for RangeIter {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let value = self.range.at(self.next);
        self.next += 1;
        Ok(Some(Value::from(value)))
    }
}

impl PyObject for Range {
    fn type_name(&self) -> &str {
        "range"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        if self.step == 1 {
            return Ok(format!("range({}, {})", self.start, self.stop));
        }
        Ok(format!("range({}, {}, {})", self.start, self.stop, self.step))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.count() != 0)
    }

    fn len(&self, _it: &mut dyn Interp) -> Option<PyResult<usize>> {
        let count = self.count();
        Some(if count > i64::MAX as u64 {
            Err(PyErr::overflow("Python int too large to convert to C ssize_t"))
        } else {
            Ok(count as usize)
        })
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "start" => Some(Ok(Value::from(self.start))),
            "stop" => Some(Ok(Value::from(self.stop))),
            "step" => Some(Ok(Value::from(self.step))),
            _ => None,
        }
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        let len = usize::try_from(self.count()).unwrap_or(usize::MAX);
        let wrong = "range indices must be integers or slices";
        Some(
            seq::position(key, len, "range object index out of range", wrong)
                .map(|index| Value::from(self.at(index as u64))),
        )
    }

    fn iter(&self, _this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(Box::new(RangeIter { range: *self, next: 0, count: self.count() })))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(self.position_of(item, it).map(|found| found.is_some()))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Range>(other)?;
        let count = self.count();
        let equal = count == other.count()
            && (count == 0 || (self.start == other.start && (count == 1 || self.step == other.step)));
        match op {
            CmpOp::Eq => Some(Ok(equal)),
            CmpOp::Ne => Some(Ok(!equal)),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "count" | "index")
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match name {
            "count" => {
                let found = self.position_of(cargs::one("range.count", args)?, it)?;
                Ok(Value::from(i64::from(found.is_some())))
            }
            "index" => {
                let wanted = cargs::one("range.index", args)?;
                match self.position_of(wanted, it)? {
                    Some(index) => Ok(number::int(BigInt::from(index))),
                    None if number::as_bigint(wanted).is_some() => {
                        Err(PyErr::value_error(format!("{} is not in range", super::repr(wanted, it)?)))
                    }
                    None => Err(PyErr::value_error("sequence.index(x): x not in sequence")),
                }
            }
            _ => Err(super::no_attribute(this, name)),
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let count = self.count();
        let mut parts = vec![HashKey::BigInt(count.into())];
        if count > 0 {
            parts.push(HashKey::Int(self.start));
        }
        if count > 1 {
            parts.push(HashKey::Int(self.step));
        }
        Ok(HashKey::Parts("range", parts))
    }
}

/// An iterator object over a range, as `iter(range)` gives.
pub fn range_iterator(range: &Range) -> Value {
    let _ = address(range);
    iter::iterator("range_iterator", Box::new(RangeIter { range: *range, next: 0, count: range.count() }))
}
