//! A patch that somebody gave, as a review: no run, no evidence, and nothing is executed.

use crate::domain::anchor::Cut;
use crate::domain::patch::Patch;
use crate::domain::reply;
use crate::github::ReviewComment;

pub const BATCH: usize = 30;

/// What would be posted.
pub struct Review {
    pub body: String,
    pub comments: Vec<ReviewComment>,
}

/// The review of a patch.
pub fn review(patch: &Patch, cut: &Cut) -> Review {
    let of = cut.suggestions.len() + usize::from(!cut.remainder.is_empty());
    let comments = cut
        .suggestions
        .iter()
        .map(|suggestion| ReviewComment {
            path: suggestion.path.to_string(),
            start_line: suggestion.start_line,
            line: suggestion.line,
            body: reply::suggestion(&suggestion.block(), of),
        })
        .collect();
    Review {
        body: patch.digest(),
        comments,
    }
}
