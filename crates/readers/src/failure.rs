//! One failure, and where it is.

use serde::{Deserialize, Serialize};

/// One failing test, or one compiler diagnostic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The test as its framework would accept it back on the command line.
    pub name: String,
    /// Where it failed: path as printed, and line from 1.
    pub location: Option<Location>,
    /// The assertion or error text, bounded.
    pub message: String,
    /// What the assertion wanted, where the framework says so apart from the message; bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What it got instead.
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

/// A location from the two halves of `path:line`.
pub fn location(path: &str, line: &str) -> Option<Location> {
    Some(Location {
        path: path.to_string(),
        line: line.parse().ok()?,
    })
}
