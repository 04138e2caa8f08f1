//! The merge base of a pull request, to tell its own failures from those that were there before.

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::domain::run::Run;
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::suite::Suite;

use super::desk::{self, Desk};
use super::work::{self, Base, Wants};
use super::{Broken, Context};

/// Reproduces the failure, and holds it against the merge base: under the same consent, with the same command, in the
/// same sandbox.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn reproduce(
    context: &Context<'_>,
    run: &Run,
    (desk, suite): (&Desk, &Suite),
    cancel: &CancellationToken,
) -> Result<(TestRun, Triage), Broken> {
    let mut base = || {
        async move {
            match laid_out(context, run, (desk, suite), cancel).await {
                Ok(base) => Ok(base),
                // Then the head is judged by itself.
                Err(error) => {
                    tracing::warn!(%error, "there is no merge base to compare with");
                    Ok(None)
                }
            }
        }
        .boxed()
    };
    work::reproduce(desk, suite, (&mut base, Wants::ItsOwn), cancel).await
}

async fn laid_out(
    context: &Context<'_>,
    run: &Run,
    (desk, suite): (&Desk, &Suite),
    cancel: &CancellationToken,
) -> Result<Option<Base>, Broken> {
    let (repository, started) = (&context.id().repository, &run.started);
    let found = context
        .client
        .merge_base(repository, &started.base, &started.head)
        .await?;
    let Some(commit) = found.filter(|commit| *commit != started.head) else {
        return Ok(None);
    };
    let desk = desk::lay_out(context, &commit, desk.config.clone()).await?;
    let mut suite = suite.clone();
    let settings = desk.install_settings(context.app.github.hosts());
    if let Err(reason) = desk.install(&mut suite, &settings, cancel).await? {
        tracing::info!(reason, "the merge base has no dependencies to run with");
        return Ok(None);
    }
    Ok(Some(Base { commit, desk, suite }))
}
