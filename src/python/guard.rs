//! Guards against values nested too deeply or inside themselves.

use std::cell::{Cell, RefCell};

use super::{PyErr, PyResult, Value};

/// How deeply lists, dicts and other values may nest where an operation has to walk them.
const MAX_DEPTH: usize = 200;

/// Drops nest this far before they are put off.
const MAX_DROP_DEPTH: usize = 64;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static REPR: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static DROPPING: Cell<usize> = const { Cell::new(0) };
    static HASHING: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
    static DEBT: Cell<u64> = const { Cell::new(0) };
    static DROPS: RefCell<Vec<Vec<Value>>> = const { RefCell::new(Vec::new()) };
}

/// One level of a walk over nested values; leaving it is dropping it.
pub(crate) struct Depth;

impl Depth {
    /// Goes one level deeper; `LimitExceeded` when that is too deep.
    pub(crate) fn enter() -> PyResult<Depth> {
        DEPTH.with(|depth| {
            if depth.get() >= MAX_DEPTH {
                return Err(PyErr::limit(format!("values nest more than {MAX_DEPTH} levels deep")));
            }
            depth.set(depth.get() + 1);
            Ok(Depth)
        })
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Marks an object as being printed.
pub(crate) struct ReprGuard(Option<Depth>);

impl ReprGuard {
    /// Starts printing the object at this address; `None` when that is already going on, because the object contains
    /// itself.
    pub(crate) fn enter(address: usize) -> PyResult<Option<ReprGuard>> {
        let depth = Depth::enter()?;
        REPR.with(|active| {
            let mut active = active.borrow_mut();
            if active.contains(&address) {
                return Ok(None);
            }
            active.push(address);
            Ok(Some(ReprGuard(Some(depth))))
        })
    }
}

impl Drop for ReprGuard {
    fn drop(&mut self) {
        REPR.with(|active| active.borrow_mut().pop());
        self.0.take();
    }
}

/// Objects one hashed value may consist of, each counted as often as it occurs.
const MAX_HASHED: u64 = 1 << 20;

/// A step of hashing an object; leaving it is dropping it.
pub(crate) struct Hashing(Depth);

impl Hashing {
    /// Goes into an object that is hashed. `LimitExceeded` when it is nested too deeply, or consists of too many objects: a
    /// tuple that holds one tuple twice, which holds one tuple twice, and so on is small in memory and endless to hash.
    pub(crate) fn enter() -> PyResult<Hashing> {
        let depth = Depth::enter()?;
        HASHING.with(|hashing| {
            let (nested, count) = hashing.get();
            let count = if nested == 0 { 1 } else { count + 1 };
            if count > MAX_HASHED {
                return Err(PyErr::limit(format!("hashing a value that consists of more than {MAX_HASHED} objects")));
            }
            hashing.set((nested + 1, count));
            DEBT.with(|debt| debt.set(debt.get().saturating_add(8)));
            Ok(Hashing(depth))
        })
    }
}

impl Drop for Hashing {
    fn drop(&mut self) {
        HASHING.with(|hashing| {
            let (nested, count) = hashing.get();
            hashing.set((nested.saturating_sub(1), count));
        });
    }
}

/// Steps that were taken where nothing could be charged; whoever charges next adds them.
pub(crate) fn take_debt() -> u64 {
    DEBT.with(Cell::take)
}

/// The address of an object, as an identity.
pub(crate) fn address<T: ?Sized>(object: &T) -> usize {
    std::ptr::from_ref(object).cast::<()>() as usize
}

/// Drops the items of a container without nesting: a list of a list of a list... would otherwise exhaust the stack.
pub(crate) fn drop_items(items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    let depth = DROPPING.try_with(Cell::get).unwrap_or(0);
    if depth >= MAX_DROP_DEPTH {
        let mut items = Some(items);
        let _ = DROPS.try_with(|drops| {
            if let Some(items) = items.take() {
                drops.borrow_mut().push(items);
            }
        });
        return;
    }
    let _ = DROPPING.try_with(|cell| cell.set(depth + 1));
    drop(items);
    let _ = DROPPING.try_with(|cell| cell.set(depth));
    if depth == 0 {
        while let Some(items) = DROPS.try_with(|drops| drops.borrow_mut().pop()).ok().flatten() {
            let _ = DROPPING.try_with(|cell| cell.set(1));
            drop(items);
            let _ = DROPPING.try_with(|cell| cell.set(0));
        }
    }
}
