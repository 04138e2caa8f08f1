//! Everything that is neither Rust, Python, JavaScript, Go nor Java, and the task runners that any project may have.
//!
//! What a language says of itself goes before a task of the same directory: it can be asked for results, and for
//! single tests.

mod cmake;
mod dotnet;
mod php;
mod ruby;
mod scripts;
mod tasks;

use super::Place;
use crate::suite::TestCommand;

/// How many files of a kind are read to see what is in them.
const MAX_READ: usize = 100;

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    ruby::find(place)
        .or_else(|| php::find(place))
        .or_else(|| dotnet::find(place))
        .or_else(|| cmake::find(place))
        .or_else(|| scripts::find(place))
        .or_else(|| tasks::find(place))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
