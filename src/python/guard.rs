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
