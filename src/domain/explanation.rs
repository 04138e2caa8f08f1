//! Why tests fail, and the lines of code that show it. The tool that makes an explanation checks that these lines
//! exist.

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// An answer to "why?": a model's claim, with lines of the head that anyone can check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Untrusted, bounded.
    pub root_cause: String,
    pub because: Vec<Because>,
}

/// One place that supports the explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    pub path: RepoPath,
    /// First and last line, from 1; both exist at the head.
    pub from: u32,
    pub to: u32,
    /// What they show; untrusted, bounded.
    pub says: String,
    /// The lines as they are in the file, never as a model quotes them.
    pub lines: String,
}
