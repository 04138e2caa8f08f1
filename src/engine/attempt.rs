//! One attempt at a patch: who works on it, and what is written down while it lasts.

use futures::FutureExt as _;
use tokio::sync::Mutex;

use super::Broken;
use super::desk::Desk;
use super::door::Door;
use super::work::{self, Brief, Outcome};
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
    (desk, suite): (&Desk, Option<&Suite>),
) -> Result<Step, Broken> {
    let engine = match door.engine(run, desk, suite.is_some()) {
        Ok(engine) => engine,
        Err(end) => return Ok(Step::Ended(end)),
    };
    let before = run.clone();
    let brief = Brief::of(&before, desk);
    // The loop keeps items one at a time; the lock only satisfies the borrow checker.
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
        .watched(work::work(desk, suite, engine, &brief, watch).boxed())
        .await?;
    if let Outcome::Proposed(proposal) = &mut outcome {
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

impl From<Outcome> for Step {
    /// An outcome as the journal has it.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Proposed(proposal) => Self::Proposed(proposal),
            Outcome::TestsWritten(tests) => Self::TestsWritten(tests),
            Outcome::Explained(explanation) => Self::Ended(End::Explained(explanation)),
            Outcome::Deferred(deferred) => Self::Deferred(deferred),
            Outcome::ActsByCode => Self::NeedsExecution,
            Outcome::Refused { reason } => Self::Ended(End::Refused { reason }),
            Outcome::NothingToDo { reason } => Self::Ended(End::NothingToFix { reason }),
            Outcome::NotFound { reason, search } => Self::Ended(End::NotFound {
                reason,
                search: Box::new(search.told()),
            }),
            Outcome::LimitReached { reason, found } => Self::Ended(End::LimitReached { reason, found }),
            Outcome::GaveUp { reason } => Self::Ended(End::GaveUp { reason }),
            Outcome::Interrupted => Self::Ended(End::Cancelled { by: None }),
        }
    }
}
