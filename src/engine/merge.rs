//! Tests the merge of a head with its base branch, if CI tested the merge and the head alone is green.

mod since;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use self::since::MergeBisection;
use super::base::{self, Reproduced};
use super::work::{self, Scope};
use super::worktree::{With, Worktree};
use super::{Broken, Context};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::run::Run;
use crate::domain::test_run::TestRun;
use crate::domain::triage::{MergeState, Merged, Triage, Verdict};
use crate::suite::Suite;

/// Whether the merge has to be tested: CI is red and may have tested the merge, and the head alone is green.
pub(super) fn is_wanted(run: &Run, triage: &Triage) -> bool {
    run.started.mode.is_debug() && triage.verdict == Verdict::Green && run.may_be_of_merge()
}

/// Runs the merge of a green head with the tip of its base branch, and compares it with that tip alone.
///
/// # Errors
/// When the sandbox cannot be used, or GitHub cannot be reached.
pub(super) async fn reproduce(
    context: &Context<'_>,
    run: &Run,
    (worktree, suite): (&Worktree, &Suite),
    (before, triage): (TestRun, Triage),
    cancel: &CancellationToken,
) -> Result<Reproduced, Broken> {
    let (pull_request, head) = (&context.pull_request, &run.started.head);
    let branch = pull_request.base_branch.clone();
    let alone = |merged: Option<Merged>| Reproduced {
        before: before.clone(),
        triage: Triage {
            merged: merged.map(Box::new),
            ..triage.clone()
        },
        ground: None,
    };
    // GitHub merges the current head, which may no longer be this one.
    let Some(tip) = context.client.merged_with(pull_request).await? else {
        return Ok(alone(None));
    };
    let found = context.client.merge_base(&context.id().repository, &tip, head).await?;
    let Some(base) = found else { return Ok(alone(None)) };
    let merged = |state| Merged {
        branch: branch.clone(),
        tip: tip.clone(),
        base: base.clone(),
        state,
    };
    if base == tip {
        return Ok(alone(Some(merged(MergeState::UpToDate))));
    }
    let with = With {
        branch: branch.clone(),
        tip: tip.clone(),
        base: base.clone(),
    };
    let ground = match worktree.merged(context, head, with.clone()).await? {
        Ok(ground) => ground,
        Err(conflict) => return Ok(alone(Some(merged(MergeState::Conflict { paths: conflict.paths })))),
    };
    let mut its_suite = suite.clone();
    if let Err(why) = install(context, (&ground, &mut its_suite), cancel).await? {
        return Ok(alone(Some(merged(MergeState::NotRun { why }))));
    }
    let (its_run, mut its_triage) = against_tip(context, &tip, (&ground, &its_suite), cancel).await?;
    tracing::info!(run.id = %run.id(), tip = %tip, result = its_run.summary(), "the merge with the base branch was run");
    match its_triage.verdict {
        Verdict::Green => {
            let summary = its_run.summary();
            Ok(alone(Some(merged(MergeState::Green { summary }))))
        }
        Verdict::Environment if !its_run.outcome.is_red() => {
            let why = its_run.summary();
            Ok(alone(Some(merged(MergeState::NotRun { why }))))
        }
        _ => {
            let search = MergeBisection {
                context,
                worktree,
                suite,
                head,
                with: &with,
                red: &its_run,
            };
            let since = match its_triage.has_regression() {
                true => since::since(&search, cancel).await?,
                false => None,
            };
            let differ = differ(&its_run, (&ground, worktree));
            its_triage.merged = Some(Box::new(merged(MergeState::Red { since, differ })));
            Ok(Reproduced {
                before: its_run,
                triage: its_triage,
                ground: Some((ground, its_suite)),
            })
        }
    }
}

/// Runs a merge, and the tip of the base branch alone for comparison.
async fn against_tip(
    context: &Context<'_>,
    tip: &CommitSha,
    (ground, suite): (&Worktree, &Suite),
    cancel: &CancellationToken,
) -> Result<(TestRun, Triage), Broken> {
    let mut tip_alone = || {
        async move {
            match base::at(context, tip, (ground, suite), cancel).await {
                // Without the tip, the merge is judged alone.
                Err(error) => {
                    tracing::warn!(%error, "the tip of the base branch could not be tested");
                    Ok(None)
                }
                found => found,
            }
        }
        .boxed()
    };
    work::reproduce(ground, suite, (&mut tip_alone, Scope::ItsOwn), cancel).await
}

/// The worktree that a run works on: the merge, if only the merge is red.
///
/// # Errors
/// When GitHub or git cannot provide the commits.
pub(super) async fn again(context: &Context<'_>, run: &Run, worktree: Worktree) -> Result<Worktree, Broken> {
    let Some(merged) = run.red_merge() else {
        return Ok(worktree);
    };
    let with = With {
        branch: merged.branch.clone(),
        tip: merged.tip.clone(),
        base: merged.base.clone(),
    };
    match worktree.merged(context, &run.started.head, with).await? {
        Ok(ground) => Ok(ground),
        Err(_) => Err(Broken::Bug("an earlier merge now conflicts".into())),
    }
}

/// The tip of the base branch, if it moved since the merge with it was tested.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn moved(context: &Context<'_>, run: &Run) -> Result<Option<CommitSha>, Broken> {
    let Some(with) = run.evidence.as_ref().and_then(|evidence| evidence.merged.as_ref()) else {
        return Ok(None);
    };
    let now = context.client.tip(&context.id().repository, &with.branch).await?;
    Ok(now.filter(|now| *now != with.tip && run.base_moved.as_ref() != Some(now)))
}

/// The files of failures that differ between the merge and the head.
fn differ(run: &TestRun, (merge, head): (&Worktree, &Worktree)) -> Vec<String> {
    let places = run.failures.iter().filter_map(|failure| failure.location.as_ref());
    let mut paths: Vec<&str> = places.map(|place| place.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let differs = |path: &&str| {
        let path: Result<RepoPath, _> = path.parse();
        path.is_ok_and(|path| merge.checkout.read_original(&path) != head.checkout.read_original(&path))
    };
    paths.into_iter().filter(differs).map(ToString::to_string).collect()
}

async fn install(
    context: &Context<'_>,
    (worktree, suite): (&Worktree, &mut Suite),
    cancel: &CancellationToken,
) -> Result<Result<(), String>, Broken> {
    let settings = worktree.install_settings(context.app.github.hosts());
    worktree.install(suite, &settings, cancel).await
}
