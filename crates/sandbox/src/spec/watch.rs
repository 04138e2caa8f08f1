//! Shows the uses of a sandbox to somebody who counts them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::spec::output::Output;

/// What a sandbox is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// One command.
    Command,
    /// An interpreter that keeps its state.
    Session,
}

/// How a use ended.
#[derive(Debug, Clone, Copy)]
pub enum EndOfUse<'a> {
    /// The command ended.
    Command(&'a Output),
    /// The session was ended, after it had used this much processor time.
    Session(Duration),
    /// greenlight's own processes failed, or the request was invalid.
    Failed,
}

/// Called with the end of a use. If it is dropped instead, the use was cancelled.
pub type Ended = Box<dyn FnOnce(EndOfUse<'_>) + Send + Sync>;

/// Called with the beginning of each use.
#[derive(Clone)]
pub struct UseWatch(Arc<dyn Fn(Use) -> Ended + Send + Sync>);

impl UseWatch {
    /// Wraps a function that is called with the beginning of each use, and returns what is called with its end.
    pub fn new(begin: impl Fn(Use) -> Ended + Send + Sync + 'static) -> Self {
        Self(Arc::new(begin))
    }

    /// Shows each use to both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |kind| {
            let (one, other) = (self.begin(kind), other.begin(kind));
            Box::new(move |end| {
                one(end);
                other(end);
            })
        })
    }

    pub(crate) fn begin(&self, kind: Use) -> Ended {
        self.0(kind)
    }
}

impl fmt::Debug for UseWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UseWatch")
    }
}
