//! Questions about the history of a checkout.

use std::sync::Arc;

use crate::domain::id::RepoPath;

/// Answers a question about the history, or says in a sentence why it cannot. It may block.
pub type History = Arc<dyn Fn(&Question) -> String + Send + Sync>;

/// A question about the history of the commit that is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Log {
        path: Option<RepoPath>,
        limit: usize,
    },
    /// Lines are counted from 1.
    Blame {
        path: RepoPath,
        from: usize,
        to: usize,
    },
    Show {
        commit: String,
        path: Option<RepoPath>,
    },
}
