//! Why tests fail, with the lines that it rests on. Which lines there are is checked where an explanation is made.

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// An answer to "why": a claim of a model, and lines of the head that anyone can read for themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Untrusted, bounded.
    pub root_cause: String,
    pub because: Vec<Because>,
}

/// One place that an explanation rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    pub path: RepoPath,
    /// First and last line, from 1; both are there at the head.
    pub from: u32,
    pub to: u32,
    /// What they show; untrusted, bounded.
    pub says: String,
    /// The lines as they stand in the file, never as a model quotes them.
    pub lines: String,
}
