//! Judges a proposal of a mode other than debug again, by the mode's own rule and from its patch alone.

use tokio_util::sync::CancellationToken;

use super::judge::{Judge, Judged, Submission, Unaccepted};
use super::{Brief, Broken, WorkOutcome, refactor, tdd};
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Claim, Evidence, Proposal};
use crate::domain::run::Run;
use crate::domain::test_run::TestRun;
use crate::engine::worktree::Worktree;
use crate::suite::Suite;

/// Produces new evidence for a proposal, or says why it no longer passes.
///
/// # Errors
/// When the sandbox cannot be used.
pub async fn judge_again(
    (worktree, suite): (&Worktree, &Suite),
    (run, proposal): (&Run, &Proposal),
    before: &TestRun,
    cancel: &CancellationToken,
) -> Result<Result<Evidence, String>, Broken> {
    let brief = Brief {
        tests_first: None,
        before: Some(before),
        triage: None,
        ..Brief::of(run, worktree)
    };
    let bench = Judge {
        worktree,
        suite: Some(suite),
        brief: &brief,
        name: "",
        cancel,
    };
    let submitted = |patch: &Patch| Submission {
        patch: patch.clone(),
        summary: proposal.summary.clone(),
        claim: Claim::Fix,
    };
    let judged = match (&run.started.mode, &proposal.tests_first) {
        (Mode::Tdd { specification }, Some(first)) => {
            match Box::pin(tdd::judge_tests(&bench, specification, submitted(&first.patch))).await? {
                Ok(WorkOutcome::TestsWritten(first)) => {
                    Box::pin(tdd::judge_code(&bench, &first, submitted(&proposal.patch))).await?
                }
                other => other,
            }
        }
        (Mode::Refactor { goal, path }, _) => {
            let what = (goal.as_str(), path.as_ref());
            Box::pin(refactor::judge(&bench, what, submitted(&proposal.patch))).await?
        }
        _ => return Err(Broken::Bug("no rule applies to this mode".into())),
    };
    Ok(evidence(judged))
}

fn evidence(judged: Judged) -> Result<Evidence, String> {
    match judged {
        Ok(WorkOutcome::Proposed(proposal)) => proposal.evidence.ok_or_else(|| "nothing was executed".into()),
        Ok(_) => Err("it is not the result that this run asked for".into()),
        Err(Unaccepted { why, .. }) => Err(why),
    }
}
