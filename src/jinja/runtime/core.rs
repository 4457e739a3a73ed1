//! The state of one rendering that does not belong to minijinja.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::cache::Generation;
use super::super::code::Site;
use super::super::env::{Cx, Env};
use super::super::trace::Trace;
use super::super::{Environment, Names, TemplateError};
use super::context::Context;
use crate::python::{PyErr, PyResult, Value};

/// Locks, whatever happened to the last holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where minijinja says an error was raised.
#[derive(Debug, Clone)]
pub(crate) struct Raised {
    /// Unit.
    pub unit: String,
    /// Byte range in the unit's source.
    pub range: std::ops::Range<usize>,
    /// The operation, if a code raised it.
    pub site: Option<Site>,
    /// The error that was raised there.
    pub error: PyErr,
    /// The same with a place of its own, when another template does not compile.
    pub template_error: Option<TemplateError>,
}

/// What one function of the code that Jinja2 generates has written so far; only counted where somebody asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// Items: each printed value, each text between two of them.
    pub items: usize,
    /// The error that joining them will give.
    pub error: Option<PyErr>,
}

impl Written {
    /// Joins the items.
    pub fn check(&self) -> PyResult<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

/// What changes while a template runs.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// Contexts of the units and functions being run, innermost last.
    pub contexts: Vec<Arc<Context>>,
    /// Units being run, innermost last.
    pub units: Vec<Arc<str>>,
    /// Middle operands of comparison chains.
    pub operands: Vec<Value>,
    /// Native mode: pieces of the captures being written, innermost last.
    pub pieces: Vec<Vec<Value>>,
    /// What leaves captures: pieces for the function around them.
    pub leaks: Vec<Vec<(Vec<Value>, Written)>>,
    /// What the functions being run have written, innermost last.
    pub frames: Vec<Written>,
    /// A second, exact rendering would find the error that Airflow reports.
    pub again: bool,
    /// The unit that the next inclusion runs.
    pub next_unit: Option<Arc<str>>,
    /// What a loop's filter gave.
    pub given: Option<Value>,
    /// Nested calls.
    pub depth: usize,
    /// Where the last error came from that passed through Python values.
    pub raised: Option<Raised>,
}

impl Machine {
    /// Enters a function; the result is for [`end`](Self::end).
    pub fn begin(&mut self) -> usize {
        self.frames.push(Written::default());
        self.frames.len() - 1
    }

    /// Leaves a function, and those inside it that were left by a jump.
    pub fn end(&mut self, depth: usize) -> Written {
        let mut left = self.frames.split_off(depth.min(self.frames.len())).into_iter();
        let mut written = left.next().unwrap_or_default();
        for inner in left {
            written.error = written.error.or(inner.error);
        }
        written
    }

    /// Items of another function that are written here.
    pub fn add(&mut self, other: Written) {
        if let Some(frame) = self.frames.last_mut() {
            if frame.error.is_none() {
                frame.error = other.error.map(|error| super::pieces::moved(error, frame.items));
            }
            frame.items += other.items;
        }
    }
}

/// One rendering.
pub(crate) struct Core {
    pub env: Arc<Environment>,
    pub run: Arc<Env>,
    pub generation: Arc<Generation>,
    pub names: Arc<dyn Names>,
    /// Everything written is counted; see [`Written`].
    pub exact: bool,
    /// What is marked with where it comes from.
    pub trace: Trace,
    fuel: AtomicU64,
    machine: Mutex<Machine>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("env", &self.env).field("fuel", &self.fuel).finish_non_exhaustive()
    }
}

impl Core {
    pub fn new(env: Arc<Environment>, run: Arc<Env>, generation: Arc<Generation>, names: Arc<dyn Names>) -> Self {
        let fuel = AtomicU64::new(env.limits.fuel);
        let mut machine = Machine::default();
        machine.begin();
        machine.pieces.push(Vec::new());
        Core { env, run, generation, names, exact: false, trace: Trace::Off, fuel, machine: Mutex::new(machine) }
    }

    /// The changing part, for a moment.
    pub fn machine(&self) -> MutexGuard<'_, Machine> {
        lock(&self.machine)
    }

    /// Takes fuel.
    pub fn charge(&self, steps: u64) -> PyResult<()> {
        let left = self.fuel.load(Ordering::Relaxed);
        match left.checked_sub(steps) {
            Some(left) => {
                self.fuel.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => {
                self.fuel.store(0, Ordering::Relaxed);
                Err(PyErr::limit(format!("the template ran too long: its limit is {} steps", self.env.limits.fuel)))
            }
        }
    }

    /// The context of what is running.
    pub fn context(&self) -> PyResult<Arc<Context>> {
        self.machine().contexts.last().cloned().ok_or_else(|| PyErr::unsupported("a template without a context"))
    }

    /// What filters and tests need, inside or outside of `autoescape`.
    pub fn cx(&self, autoescape: bool) -> Cx {
        Cx { env: self.run.clone(), autoescape }
    }
}
