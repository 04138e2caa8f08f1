//! The rule of debug: the failing tests pass, nothing new fails, and no test is weakened.

use super::judge::{Judge, Judged, Submission};
use super::minimize::prove_smallest;
use super::{Broken, Red, WorkOutcome, prove};
use crate::domain::proposal::Claim;
use crate::domain::reply;
use crate::domain::test_run::TestRun;
use crate::guard;
use crate::suite::Suite;

/// Judges a patch; without permission to execute, by reading it.
pub(super) async fn judge(bench: &Judge<'_>, submission: Submission) -> Result<Judged, Broken> {
    match (bench.suite, bench.brief.before) {
        (Some(suite), Some(before)) => executed(bench, (suite, before), submission).await,
        _ => Ok(match bench.fits(&submission.patch) {
            Ok(()) => Ok(WorkOutcome::Proposed(Box::new(bench.proposal(submission, None)))),
            Err(unfit) => Err(unfit.into()),
        }),
    }
}

async fn executed(
    bench: &Judge<'_>,
    (suite, before): (&Suite, &TestRun),
    submission: Submission,
) -> Result<Judged, Broken> {
    let Judge {
        worktree,
        brief,
        cancel,
        ..
    } = bench;
    let (head, triage) = (brief.head, brief.triage);
    let red = Red {
        head,
        before,
        triage,
        on_head: None,
    };
    let Submission { patch, summary, claim } = submission;
    if claim == Claim::TestMayBeWrong {
        let evidence = match Box::pin(prove(worktree, suite, (&patch, claim), &red, cancel)).await? {
            Ok(evidence) => evidence,
            Err(unfit) => return Ok(Err(unfit.into())),
        };
        let weakens = guard::weakenings(&patch, &worktree.inputs(Some(before)));
        let submission = Submission { patch, summary, claim };
        let mut proposal = bench.proposal(submission, Some(evidence));
        proposal.weakens = weakens;
        return Ok(Ok(WorkOutcome::Proposed(Box::new(proposal))));
    }
    if let Err(unfit) = bench.fits(&patch) {
        return Ok(Err(unfit.into()));
    }
    let proved = Box::pin(prove_smallest(worktree, suite, patch, &red, cancel)).await?;
    if cancel.is_cancelled() {
        return Ok(Ok(WorkOutcome::Interrupted));
    }
    let (patch, evidence) = match proved {
        Ok(proved) => proved,
        Err(unfit) => return Ok(Err(unfit.into())),
    };
    let left_out = evidence.left_out.and_then(reply::left_out);
    let overruled = reply::overruled(&worktree.overruled(&patch, &worktree.inputs(Some(before))));
    let summary = [summary]
        .into_iter()
        .chain(left_out)
        .chain(overruled)
        .collect::<Vec<_>>()
        .join("\n\n");
    let submission = Submission { patch, summary, claim };
    Ok(Ok(WorkOutcome::Proposed(Box::new(
        bench.proposal(submission, Some(evidence)),
    ))))
}
