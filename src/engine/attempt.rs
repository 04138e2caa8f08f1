//! One attempt at a patch: who works on it, and what is written down while it goes on.

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::work::{self, Brief, Engine, Outcome};
use super::{Broken, Context};
use crate::domain::budget::Kind;
use crate::domain::model::Who;
use crate::domain::reply;
use crate::domain::run::{End, Run, Step};
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::suite;

/// Makes one attempt.
///
/// # Errors
/// When the sandbox, the model or the journal cannot be used.
pub(super) async fn attempt(
    context: &Context<'_>,
    run: &mut Run,
    (desk, suite): (&Desk, Option<&suite::Suite>),
    cancel: &CancellationToken,
) -> Result<Step, Broken> {
    let is_new = run.said.is_empty();
    let engine = match (&context.app.model, desk.left.exhausted()) {
        // What costs nothing needs no more than that something may land.
        (Some(_), Some(kind))
            if is_new && (kind == Kind::PatchLines || suite.is_none() || !run.started.mode.is_debug()) =>
        {
            let reason = desk.left.reached(kind);
            return Ok(Step::Ended(End::GaveUp { reason }));
        }
        (Some((model, name)), _) if context.app.who == Who::Model => Engine::Model { model, name },
        (Some(_), Some(_)) if is_new => Engine::BuiltIn,
        (Some((model, name)), _) => Engine::Auto { model, name },
        (None, _) => Engine::BuiltIn,
    };
    let before = run.clone();
    let brief = Brief {
        head: &before.started.head,
        mode: &before.started.mode,
        tests_first: before.tests_first.as_ref(),
        turned_down_tests: &before.turned_down_tests,
        may_ask: before.may_ask(),
        memory: &desk.memory,
        before: before.reproduced.as_ref().map(|(before, _)| before),
        triage: before.reproduced.as_ref().map(|(_, triage)| triage),
        reading: before.reading.as_ref(),
        turned_down: &before.turned_down,
        uncounted: Spend::default(),
        search: &before.search,
        said: &before.said,
    };
    // The loop keeps items one at a time; the lock only satisfies the borrow checker.
    let shared = tokio::sync::Mutex::new(run);
    let mut keep = |item: serde_json::Value| {
        let shared = &shared;
        async move {
            let mut run = shared.lock().await;
            Ok(context.app.journal.append(&mut run, Step::Said(item)).await?)
        }
        .boxed()
    };
    let mut searched = |part: Search| {
        let shared = &shared;
        async move {
            let mut run = shared.lock().await;
            Ok(context
                .app
                .journal
                .append(&mut run, Step::Searched(Box::new(part)))
                .await?)
        }
        .boxed()
    };
    let mut progress = |_| {};
    let live = context.app.voices.of(before.id());
    let watch = work::Watch {
        keep: &mut keep,
        progress: &mut progress,
        searched: &mut searched,
        live: &live,
        cancel,
    };
    let mut outcome = Box::pin(work::work(desk, suite, engine, &brief, watch)).await?;
    if let Outcome::Proposed(proposal) = &mut outcome {
        if let Some(found_by) = &proposal.found_by {
            tracing::info!(run.id = %before.id(), how = reply::found_by(found_by, "the pull request"), "found without a model");
        }
        let spent = shared.into_inner().spent;
        if let Some(evidence) = &mut proposal.evidence {
            evidence.spent = Some(spent).filter(|spent| spent.turns > 0);
        }
    }
    Ok(step(outcome))
}

/// An outcome as the journal has it.
fn step(outcome: Outcome) -> Step {
    match outcome {
        Outcome::Proposed(proposal) => Step::Proposed(proposal),
        Outcome::TestsWritten(tests) => Step::TestsWritten(tests),
        Outcome::Explained(explanation) => Step::Ended(End::Explained(explanation)),
        Outcome::Deferred(deferred) => Step::Deferred(deferred),
        Outcome::ActsByCode => Step::NeedsExecution,
        Outcome::Refused { reason } => Step::Ended(End::Refused { reason }),
        Outcome::NothingToDo { reason } => Step::Ended(End::NothingToFix { reason }),
        Outcome::NotFound { reason, search, .. } => Step::Ended(End::NotFound {
            reason,
            search: Box::new(search.told()),
        }),
        Outcome::LimitReached {
            reason,
            found: Some(found),
        } => Step::Ended(End::LimitReached { reason, found }),
        Outcome::GaveUp { reason } | Outcome::LimitReached { reason, found: None } => {
            Step::Ended(End::GaveUp { reason })
        }
        Outcome::Interrupted => Step::Ended(End::Cancelled { by: None }),
    }
}
