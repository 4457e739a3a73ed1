//! Lazy values: `prev_start_date_success` and its kin (`lazy_object_proxy.Proxy` in Airflow).

use std::sync::OnceLock;

use crate::python::{
    self, Args, BinOp, CmpOp, HashKey, Interp, PyIter, PyObject, PyResult, UnaryOp, Value, downcast, object,
};

use super::convert;

/// What makes the value.
type Make = Box<dyn Fn() -> PyResult + Send + Sync>;

/// A proxy: nearly everything goes to the value behind it, which is made when first needed. It is never `None` itself, even
/// when it prints `None`.
pub(super) struct Proxy {
    value: OnceLock<PyResult>,
    make: Make,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("value", &self.value).finish_non_exhaustive()
    }
}

/// Makes a proxy.
pub(super) fn proxy(make: impl Fn() -> PyResult + Send + Sync + 'static) -> Value {
    object(Proxy { value: OnceLock::new(), make: Box::new(make) })
}

impl Proxy {
    fn get(&self) -> PyResult<&Value> {
        self.value.get_or_init(|| (self.make)()).as_ref().map_err(Clone::clone)
    }
}

/// The value behind a proxy, or the value itself.
fn unwrapped(value: &Value) -> PyResult {
    match downcast::<Proxy>(value) {
        Some(proxy) => proxy.get().cloned(),
        None => Ok(value.clone()),
    }
}

impl PyObject for Proxy {
    fn type_name(&self) -> &str {
        // Python's own errors name the type behind
        match self.get() {
            Ok(value) => match python::view(value) {
                python::View::Object(object) => object.type_name(),
                _ => "NoneType",
            },
            Err(_) => "Proxy",
        }
    }

    fn target(&self) -> Option<&Value> {
        self.get().ok()
    }

    fn qualified_name(&self) -> String {
        "Proxy".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(convert::address("Proxy")
            .with_hint("print the value itself instead of a list or native value that holds it"))
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        python::str(self.get()?, it)
    }

    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        python::format(self.get()?, spec, it)
    }

    fn truth(&self, it: &mut dyn Interp) -> PyResult<bool> {
        python::truth(self.get()?, it)
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(self.get().and_then(|value| python::len(value, it)))
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        match self.get() {
            Ok(value) => python::getattr(value, name, it).transpose(),
            Err(error) => Some(Err(error)),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        match self.get().map(python::view) {
            Ok(python::View::Object(object)) => object.has_method(name),
            _ => false,
        }
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        python::call_method(self.get()?, name, args, it)
    }

    fn is_callable(&self) -> bool {
        // the proxy's class has `__call__`, whatever it wraps
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let value = self.get()?.clone();
        it.call(&value, args)
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.get().and_then(|value| python::getitem(value, key, it)))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(self.get().and_then(|value| python::iter(value, it)))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(self.get().and_then(|value| python::contains(value, item, it)))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(self.get().and_then(|value| python::compare(op, value, &unwrapped(other)?, it)))
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.get().and_then(|value| {
            let other = unwrapped(other)?;
            if reflected { python::binary(op, &other, value, it) } else { python::binary(op, value, &other, it) }
        }))
    }

    fn unary(&self, op: UnaryOp, it: &mut dyn Interp) -> Option<PyResult> {
        Some(self.get().and_then(|value| python::unary(op, value, it)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        python::hash_key(self.get()?)
    }
}
