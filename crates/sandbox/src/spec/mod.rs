//! What a caller says and hears: the command and its bounds, what is held, what came of it. Only words; nothing is done
//! here.

pub(crate) mod backend;
pub(crate) mod choice;
pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod guarantees;
pub(crate) mod output;
pub(crate) mod trust;
