//! Builds, scripts and task runners that any project may have, and what frameworks of one language share.
//!
//! A framework takes precedence over a task in the same directory: it can report results and run single tests.

mod builds;
pub(crate) mod php;
pub(crate) mod ruby;
mod scripts;
mod tasks;

pub(crate) use self::builds::PROJECT;
pub(crate) use self::tasks::{MAKEFILES, TASKFILES};
use crate::discover::directory::Directory;
use crate::test_command::{Source, TestCommand};

/// Maximum number of files of one kind that are read to find out what they contain.
pub(crate) const MAX_READ: usize = 100;

pub(crate) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    builds::find(place)
        .or_else(|| scripts::find(place))
        .or_else(|| tasks::find(place))
}

/// Whether a command is a target or a task that the project's files suggest.
pub(crate) fn is_task(command: &TestCommand) -> bool {
    matches!(command.source, Source::File(_))
        && tasks::RUNNERS.contains(&command.argv.first().map_or("", String::as_str))
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
