//! Arguments of a call.

use std::sync::Arc;

use super::Value;

/// One keyword argument.
pub type Kwarg = (Arc<str>, Value);

/// Positional and keyword arguments of a call, borrowed from the caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct Args<'a> {
    /// Positional arguments in order.
    pub pos: &'a [Value],
    /// Keyword arguments in the order written.
    pub kw: &'a [Kwarg],
}

impl<'a> Args<'a> {
    /// Positional arguments only.
    pub fn positional(pos: &'a [Value]) -> Self {
        Args { pos, kw: &[] }
    }

    /// The value of a keyword argument.
    pub fn keyword(&self, name: &str) -> Option<&'a Value> {
        self.kw.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    /// True when nothing was passed.
    pub fn is_empty(&self) -> bool {
        self.pos.is_empty() && self.kw.is_empty()
    }
}
