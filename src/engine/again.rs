//! Checks recorded results again: the failing tests, the CI log, and whether a proposal still passes.

use super::base::Reproduced;
use super::work::{self, Red};
use super::worktree::Worktree;
use super::{Broken, Context, reading, reproduced, vouch};
use crate::domain::proposal::Evidence;
use crate::domain::run::{End, Run, Step};
use crate::suite;

/// Whether everything that a run relies on is vouched for and was seen by this process. If it is not, the step that
/// says so has been appended.
///
/// # Errors
/// When GitHub or the journal cannot be used.
pub(super) async fn is_vouched(context: &Context<'_>, run: &mut Run) -> Result<bool, Broken> {
    match vouch::doubts(context, run).await? {
        Some(step) => context.app.append(run, step).await?,
        None => {
            reread_log(context, run).await?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Forgets the results in a journal that others may have written, and reads the CI log again, because it says how the
/// tests are run.
async fn reread_log(context: &Context<'_>, run: &mut Run) -> Result<(), Broken> {
    let (journal, id, was_read) = (&context.app.journal, run.id().clone(), run.reading.is_some());
    run.forget_sightings(|place| journal.vouches_for(&id, place));
    if was_read && run.reading.is_none() {
        let reading = reading::read_log(context, run).await?;
        context.app.append(run, Step::Read(reading)).await?;
    }
    Ok(())
}

/// Runs the approved suggestion: the head must have a regression, and the proposed tree must pass.
pub(super) async fn verify(
    context: &Context<'_>,
    run: &mut Run,
    (worktree, suite): (&Worktree, &suite::Suite),
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Step, Broken> {
    let Some(proposal) = run.proposal.clone() else {
        return Err(Broken::Bug("nothing to verify".into()));
    };
    let Reproduced { before, triage, ground } =
        Box::pin(reproduced::reproduce(context, run, (worktree, suite), cancel)).await?;
    if run.places.reproduced.is_some() {
        let (before, triage) = (before.clone(), triage.clone());
        let seen = Step::Reproduced { before, triage };
        context.app.append(run, seen).await?;
    }
    if !run.started.mode.is_debug() {
        let judged = Box::pin(work::judge_again((worktree, suite), (run, &proposal), &before, cancel)).await?;
        return Ok(verification_step(run, judged));
    }
    if !triage.has_regression() && (before.outcome.is_red() || triage.merged.is_some()) {
        let reason = triage.why_not(&before);
        return Ok(Step::Ended(End::GaveUp {
            reason: format!("The suggestion was executed as approved, but there is nothing for it to fix: {reason}"),
        }));
    }
    let (worktree, suite) = ground
        .as_ref()
        .map_or((worktree, suite), |(worktree, suite)| (worktree, suite));
    let patch = match &worktree.merge {
        None => proposal.patch.clone(),
        Some(merge) => match merge.from_head(&proposal.patch).await? {
            Ok(patch) => patch,
            Err(conflict) => {
                return Ok(Step::Ended(End::GaveUp {
                    reason: format!(
                        "With the suggestion, the branch conflicts with `{}` in {}",
                        merge.branch,
                        conflict.paths.join(", ")
                    ),
                }));
            }
        },
    };
    let red = Red {
        head: &run.started.head,
        before: &before,
        triage: Some(&triage),
        on_head: Some(&proposal.patch),
    };
    let proved = Box::pin(work::prove(worktree, suite, (&patch, proposal.claim()), &red, cancel)).await?;
    Ok(verification_step(run, proved))
}

/// The step that records the result of an approved suggestion.
fn verification_step(run: &Run, proved: Result<Evidence, impl std::fmt::Display>) -> Step {
    match proved {
        Ok(evidence) => Step::Verified(Box::new(Evidence {
            spent: Some(run.spent).filter(|spent| spent.turns > 0),
            ..evidence
        })),
        Err(unfit) => Step::Ended(End::GaveUp {
            reason: format!("The suggestion was executed as approved, but does not work: {unfit}"),
        }),
    }
}
