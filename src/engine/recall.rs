//! What greenlight learned in a repository, from the newest of its runs.

use super::{Broken, Context};
use crate::domain::memory::{self, Memory};
use crate::domain::run::Run;

/// How many runs of a repository its memory is read from, newest first.
const MAX_RECALLED: usize = 500;

/// The memory of the repository's runs, except for `but`.
pub(super) async fn recalled(context: &Context<'_>, but: Option<&Run>) -> Result<Memory, Broken> {
    let runs = context
        .app
        .journal
        .runs_in(&context.id().repository, MAX_RECALLED)
        .await?;
    let forgotten = context.app.journal.forgotten(&context.id().repository).await?;
    let mut others = runs;
    // An unreadable run has nothing to contribute.
    others.retain(|other| other.unreadable.is_none() && but.is_none_or(|run| other.id() != run.id()));
    Ok(memory::recall(&others, &forgotten))
}
