//! What greenlight learned in a repository, from the newest of its runs.

use super::{Broken, Context};
use crate::domain::memory::{Memory, Recall};
use crate::domain::run::Run;

/// How many runs of a repository its memory is read from, newest first.
const MAX_RECALLED: usize = 500;

/// The memory of the repository's runs, except for `but`.
pub(super) async fn recalled(context: &Context<'_>, but: Option<&Run>) -> Result<Memory, Broken> {
    let journal = &context.app.journal;
    let forgotten = journal.forgotten(&context.id().repository).await?;
    let mut recall = Recall::new(&forgotten);
    let mut take = |other: Run| {
        // An unreadable run has nothing to contribute.
        if other.unreadable.is_none() && but.is_none_or(|run| other.id() != run.id()) {
            recall.take(&other);
        }
    };
    journal
        .each_run_in(&context.id().repository, MAX_RECALLED, &mut take)
        .await?;
    Ok(recall.end())
}
