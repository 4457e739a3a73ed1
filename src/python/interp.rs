//! What a value needs from its surroundings.

use chrono::{DateTime, Utc};

use super::{Args, PyErr, PyResult, Value, View, view};

/// Bounds that keep one template from taking the machine with it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Steps of the engine for one rendering.
    pub fuel: u64,
    /// Nested calls (macros, includes, recursive loops).
    pub recursion: usize,
    /// Bytes of rendered output.
    pub output: usize,
    /// Bytes or elements one operation may allocate (`'x' * n`, `range(n) | list`, a format width).
    pub allocation: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { fuel: 50_000_000, recursion: 200, output: 64 << 20, allocation: 32 << 20 }
    }
}

/// The running template, as far as Python values need to know it.
pub trait Interp {
    /// The limits in force.
    fn limits(&self) -> &Limits;

    /// Charges work about to be done, in steps of the engine; `LimitExceeded` when there are none left.
    fn charge(&mut self, steps: u64) -> PyResult<()>;

    /// The frozen clock. Nothing reads the real one: without it, `Unsupported`.
    fn now(&self) -> PyResult<DateTime<Utc>>;

    /// Calls a value. The default handles Python objects; an engine adds its own callables (macros).
    fn call(&mut self, callee: &Value, args: &Args<'_>) -> PyResult;

    /// Refuses an allocation above the limit before it is made; `size` in bytes or elements.
    fn allocate(&mut self, size: usize) -> PyResult<()> {
        if size > self.limits().allocation {
            return Err(PyErr::limit(format!(
                "one operation would make {size} bytes or elements, the limit is {}",
                self.limits().allocation
            )));
        }
        // a few steps per word: what is allocated adds up
        self.charge(size as u64 / 8)
    }
}

/// An interpreter without an engine: for tests and for code outside of templates.
#[derive(Debug, Default)]
pub struct Plain {
    /// The limits in force.
    pub limits: Limits,
    /// The frozen clock, if any.
    pub now: Option<DateTime<Utc>>,
}

impl Interp for Plain {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn charge(&mut self, _steps: u64) -> PyResult<()> {
        Ok(())
    }

    fn now(&self) -> PyResult<DateTime<Utc>> {
        self.now.ok_or_else(|| {
            PyErr::unsupported("this reads the clock, and no clock was given")
                .with_hint("give `now`: partita never reads the machine's clock")
        })
    }

    fn call(&mut self, callee: &Value, args: &Args<'_>) -> PyResult {
        match view(callee) {
            View::Object(object) => object.call(args, self),
            _ => Err(PyErr::type_error("object is not callable")),
        }
    }
}
