//! Builds, scripts and task runners that any project may have, and what frameworks of one language share.
//!
//! A framework takes precedence over a task in the same directory: it can report results and run single tests.

mod builds;
pub(in crate::suite) mod php;
pub(in crate::suite) mod ruby;
mod scripts;
mod tasks;

pub(in crate::suite) use self::builds::PROJECT;
use super::Directory;
use crate::suite::TestCommand;

/// Maximum number of files of one kind that are read to find out what they contain.
pub(in crate::suite) const MAX_READ: usize = 100;

pub(in crate::suite) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    builds::find(place)
        .or_else(|| scripts::find(place))
        .or_else(|| tasks::find(place))
}

pub(in crate::suite) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
