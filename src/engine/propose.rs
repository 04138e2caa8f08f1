//! Posts a proposal on the pull request: as suggestions where its diff allows, and the rest as a patch. Opens the
//! gates.

use std::collections::BTreeSet;

use super::suggest::{Target, can_be_pushed};
use super::worktree::{self, ListedFiles, Worktree};
use super::{Broken, Context, branch_rules, gate};
use crate::domain::anchor::Cut;
use crate::domain::proposal::Claim;
use crate::domain::reply::{self, Layout, Source};
use crate::domain::run::{End, GateNeeded, Run, Step, SuggestedLines};
use crate::github::BeforeReview;

/// Posts the review of the proposal, or updates the existing review of this head. `listed` are the files of the pull
/// request, if this step has listed them; `before` is the pull request right before this, if that was asked.
///
/// # Errors
/// When GitHub cannot be reached or refuses.
pub(super) async fn post_review(
    context: &Context<'_>,
    run: &Run,
    (listed, before): (Option<&ListedFiles>, Option<&BeforeReview>),
) -> Result<Step, Broken> {
    let Some(proposal) = &run.proposal else {
        return Err(Broken::Bug("nothing to review".into()));
    };
    let runs = context.app.journal.runs_of(context.id()).await?;
    let settled = runs.iter().flat_map(|run| &run.settled);
    let hidden: BTreeSet<u64> = settled
        .filter(|(_, fate)| fate.is_final())
        .map(|(comment, _)| *comment)
        .collect();
    // GitHub would show a review on an old head as outdated at once.
    if context.pull_request.head != run.started.head {
        let head = context.pull_request.head.clone();
        return Ok(Step::Ended(End::Superseded { head }));
    }
    let target = Target {
        client: &context.client,
        me: &context.me,
        pull_request: &context.pull_request,
        source: &Source::Run,
        // A suggestion is easily committed by accident, which must not happen to a change of tests.
        as_patch: proposal.claim() == Claim::TestMayBeWrong,
        listed,
        before,
    };
    let body = |layout: &Layout<'_>| reply::review_body(proposal, layout);
    match target.post(&proposal.patch, &hidden, &body).await {
        Ok(posted) => Ok(Step::ReviewPosted {
            review: posted.review,
            parts: posted.parts(),
            suggested: suggested(&posted.cut),
            carried: posted.carried,
        }),
        Err(Broken::HeadMoved { head }) => Ok(Step::Ended(End::Superseded { head })),
        Err(broken) => Err(broken),
    }
}

fn suggested(cut: &Cut) -> Vec<SuggestedLines> {
    let lines = cut.suggestions.iter().map(|suggestion| SuggestedLines {
        path: suggestion.path.clone(),
        first: suggestion.start_line,
        last: suggestion.line,
    });
    lines.collect()
}

/// Whether people can see the review of the proposal they are asked about. If others may have written that journal
/// entry, the review is posted again, which changes nothing if it is already there.
///
/// # Errors
/// When GitHub cannot be reached or refuses.
pub(super) async fn is_shown(context: &Context<'_>, run: &Run) -> Result<bool, Broken> {
    let journal = &context.app.journal;
    if run.places.review.is_some_and(|at| journal.vouches_for(run.id(), at)) {
        return Ok(true);
    }
    let posted = Box::pin(post_review(context, run, (None, None))).await?;
    Ok(matches!(posted, Step::ReviewPosted { .. }))
}

/// Opens the next gate. If the branch cannot be pushed to, or its rules reject the commit, the run ends with the
/// suggestions.
///
/// # Errors
/// When the test command cannot be found any more.
pub(super) async fn open_gate(
    context: &Context<'_>,
    run: &Run,
    needed: GateNeeded,
    worktree: Option<&Worktree>,
) -> Result<Step, Broken> {
    let lands = !matches!(needed, GateNeeded::Search | GateNeeded::Execute | GateNeeded::Tests);
    if lands && !can_be_pushed(&context.pull_request) {
        return Ok(Step::Ended(End::Suggested));
    }
    if lands && let Some(reason) = branch_rules::refusal(context, run).await? {
        return Ok(Step::Ended(End::NotTaken { reason }));
    }
    let command = match needed {
        GateNeeded::Search | GateNeeded::VerifyAndLand => match command(context, run, needed, worktree).await? {
            Some(command) => Some(command),
            None => {
                return Ok(Step::Ended(End::NotJudged {
                    reason: "I found no tests to run.".into(),
                }));
            }
        },
        GateNeeded::Land | GateNeeded::ChangeTests | GateNeeded::Execute | GateNeeded::Tests => None,
    };
    Ok(Step::GateOpened(gate::open(
        run,
        needed,
        command,
        worktree,
        context.app.journal.now(),
    )?))
}

/// The test command and its time limit in minutes, as the gate shows them.
async fn command(
    context: &Context<'_>,
    run: &Run,
    needed: GateNeeded,
    worktree: Option<&Worktree>,
) -> Result<Option<(String, u64)>, Broken> {
    let found = |worktree: &Worktree| {
        let minutes = super::set_up::minutes_of(&worktree.test_command().ok()?);
        Some((worktree.executes_for_gate(needed == GateNeeded::Search)?, minutes))
    };
    if let Some(worktree) = worktree {
        return Ok(found(worktree));
    }
    let config = context.config().await?.unwrap_or_default();
    let listed = worktree::list(context).await?;
    Ok(found(&worktree::fetch(context, run, config, &listed).await?))
}

/// The hash of the tested tree, computed from git's own objects. Nothing lands without it.
///
/// # Errors
/// When GitHub cannot be reached, or the head cannot be fetched any more.
pub(super) async fn tested_tree(context: &Context<'_>, run: &Run) -> Result<String, Broken> {
    let Some(proposal) = &run.proposal else {
        return Err(Broken::Bug("nothing was tested".into()));
    };
    let mirror = worktree::mirror(context, std::slice::from_ref(&run.started.head)).await?;
    let (head, patch) = (run.started.head.clone(), proposal.patch.clone());
    let computed = tokio::task::spawn_blocking(move || mirror.tree_with(&head, &patch)).await;
    Ok(computed.map_err(|error| Broken::Bug(error.to_string()))??)
}
