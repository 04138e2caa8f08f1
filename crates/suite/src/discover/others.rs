//! Builds, scripts and task runners that any project may have, and what frameworks of the same language share.
//!
//! A framework goes before a task of the same directory: it can be asked for results, and for single tests.

mod builds;
pub(crate) mod php;
pub(crate) mod ruby;
mod scripts;
mod tasks;

pub(crate) use self::builds::PROJECT;
use crate::discover::directory::Directory;
use crate::test_command::TestCommand;

/// How many files of a kind are read to see what is in them.
pub(crate) const MAX_READ: usize = 100;

pub(crate) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    builds::find(place)
        .or_else(|| scripts::find(place))
        .or_else(|| tasks::find(place))
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
