//! Data types for callers: the command and its limits, guarantees, and results. They have no behaviour of the sandbox
//! itself.

pub(crate) mod backend;
pub(crate) mod choice;
pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod guarantees;
pub(crate) mod output;
pub(crate) mod trust;
pub(crate) mod watch;
