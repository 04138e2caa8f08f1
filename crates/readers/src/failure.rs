//! One failure, and its location.

use serde::{Deserialize, Serialize};

/// The name of the single test of a command whose output no parser recognises.
pub const WHOLE_COMMAND: &str = "the test command";

/// One failing test, or one compiler diagnostic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The test's name, as its framework accepts it on the command line.
    pub name: String,
    /// Where it failed: the path as printed, and the line from 1.
    pub location: Option<Location>,
    /// The text of the assertion or error, bounded.
    pub message: String,
    /// The expected value, if the framework reports it separately from the message; bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The actual value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// As printed.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// A location, from the two halves of `path:line`.
pub fn location(path: &str, line: &str) -> Option<Location> {
    Some(Location {
        path: path.to_string(),
        line: line.parse().ok()?,
    })
}
