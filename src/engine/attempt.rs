//! One attempt at a patch: the engine that makes it, and the steps appended meanwhile.

use futures::FutureExt as _;
use tokio::sync::Mutex;

use super::Broken;
use super::door::Door;
use super::work::{self, Brief, WorkOutcome};
use super::worktree::Worktree;
use crate::domain::reply;
use crate::domain::run::{End, Run, Step};
use crate::domain::search::Search;
use crate::suite::Suite;

/// Makes one attempt.
///
/// # Errors
/// When the sandbox, the model or the journal cannot be used.
pub(super) async fn attempt<D: Door>(
    door: &D,
    run: &mut Run,
    (worktree, suite): (&Worktree, Option<&Suite>),
) -> Result<Step, Broken> {
    let engine = match door.engine(run, worktree, suite.is_some()) {
        Ok(engine) => engine,
        Err(end) => return Ok(Step::Ended(end)),
    };
    let before = run.clone();
    let brief = Brief::of(&before, worktree);
    // The loop appends one item at a time; the lock only satisfies the borrow checker.
    let shared = Mutex::new(run);
    let append = async |step: Step| {
        let mut run = shared.lock().await;
        Ok(door.append(&mut run, step).await?)
    };
    let mut keep = |item: serde_json::Value| append(Step::Said(item)).boxed();
    let mut searched = |part: Search| append(Step::Searched(Box::new(part))).boxed();
    let mut progress = |now: crate::repair::Progress| door.progress(&now);
    let live = door.live(&before);
    let cancel = door.cancel();
    let watch = work::Watch {
        keep: &mut keep,
        progress: &mut progress,
        searched: &mut searched,
        live: &*live,
        cancel: &cancel,
    };
    let mut outcome = door
        .watched(work::work(worktree, suite, engine, &brief, watch).boxed())
        .await?;
    if let WorkOutcome::Proposed(proposal) = &mut outcome {
        if let Some(found_by) = &proposal.found_by {
            tracing::info!(run.id = %before.id(), how = reply::found_by(found_by, "the pull request"), "found without a model");
        }
        let spent = shared.into_inner().spent;
        if let Some(evidence) = &mut proposal.evidence {
            evidence.spent = Some(spent).filter(|spent| spent.turns > 0);
        }
    }
    Ok(Step::from(outcome))
}

impl From<WorkOutcome> for Step {
    /// Turns an outcome into a step of the journal.
    fn from(outcome: WorkOutcome) -> Self {
        match outcome {
            WorkOutcome::Proposed(proposal) => Self::Proposed(proposal),
            WorkOutcome::TestsWritten(tests) => Self::TestsWritten(tests),
            WorkOutcome::Explained(explanation) => Self::Ended(End::Explained(explanation)),
            WorkOutcome::Deferred(deferred) => Self::Deferred(deferred),
            WorkOutcome::ActsByCode => Self::NeedsExecution,
            WorkOutcome::Refused { reason } => Self::Ended(End::Refused { reason }),
            WorkOutcome::NothingToDo { reason } => Self::Ended(End::NothingToFix { reason }),
            WorkOutcome::NotFound { reason, search } => Self::Ended(End::NotFound {
                reason,
                search: Box::new(search.told()),
            }),
            WorkOutcome::LimitReached { reason, found } => Self::Ended(End::LimitReached { reason, found }),
            WorkOutcome::GaveUp { reason } => Self::Ended(End::GaveUp { reason }),
            WorkOutcome::Interrupted => Self::Ended(End::Cancelled { by: None }),
        }
    }
}
