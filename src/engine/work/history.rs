//! Answers a model's questions about the history of the head, from the repository's objects.

use std::sync::Arc;

use super::super::worktree::Worktree;
use crate::agent::{self, Question};
use crate::git;

/// `None` without a repository.
pub(super) fn history(worktree: &Worktree) -> Option<agent::History> {
    let (objects, head) = worktree.repository.clone()?;
    Some(Arc::new(move |question: &Question| {
        let answer = match question {
            Question::Log { path, limit } => git::history::log(&objects, &head, path.as_ref(), *limit),
            Question::Blame { path, from, to } => git::history::blame(&objects, &head, path, (*from, *to)),
            Question::Show { commit, path } => git::history::show(&objects, &head, commit, path.as_ref()),
        };
        answer.unwrap_or_else(|error| error.to_string())
    }))
}
