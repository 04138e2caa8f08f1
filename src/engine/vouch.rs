//! Verifies on GitHub what a run relies on: who allowed it, in which words, and what they could read at that time.
//!
//! Anyone with write access to the repository can write a journal in a git ref. So every permission in it is fetched
//! again from its source: the comment of a consent or an approval must exist, be by its author, be unedited, and date
//! from when greenlight's own comment showed exactly this request. The configuration says how many approvals are
//! needed and for how long a request is valid. Recorded test results are tested again.
//!
//! Not here: whether somebody may give a command that has just arrived. That is checked in `comment`.

mod announced;
mod consent;
mod vouched_comment;

use announced::Announced;

use super::{Broken, Context, worktree};
use crate::domain::execution::Resolution;
use crate::domain::id::Account;
use crate::domain::run::{Approved, Asked, End, GateRules, Next, NotApproved, Run, Step, Unvouched};

/// Whether this step executes or lands something, or gives the model an approved result.
pub(super) fn rests_on_a_word(next: &Next) -> bool {
    matches!(
        next,
        Next::Reproduce
            | Next::Verify
            | Next::Land
            | Next::Work { may_execute: true }
            | Next::Resolve(Resolution::Approved)
    )
}

/// Applies the configuration's rules to runs whose journal others may have written.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn check_approvals(context: &Context<'_>, runs: &mut [Run]) -> Result<(), Broken> {
    if context.app.journal.is_own() || runs.iter().all(|run| run.end.is_some()) {
        return Ok(());
    }
    // Without a readable configuration, nothing is executed and nothing lands.
    if let Ok(config) = context.config().await? {
        let rules = GateRules {
            approvers: config.gate.approvers,
            gate_seconds: config.gate.expires.as_secs(),
            asks_about_tests: config.gate.tests,
        };
        for run in runs {
            run.hold_to(&rules);
        }
    }
    Ok(())
}

/// The step to append if something that the run relies on is not vouched for. `None` if everything is.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn doubts(context: &Context<'_>, run: &Run) -> Result<Option<Step>, Broken> {
    if context.app.journal.is_own() {
        return Ok(None);
    }
    if let Err(reason) = consent::holds(context, run).await? {
        return Ok(Some(Step::Ended(End::Refused { reason })));
    }
    let announced = Announced::load(context).await?;
    for asked in run.relied_on() {
        let (_, approvals) = vouched(context, run, asked, &announced).await?;
        if !approvals.is_empty() {
            let gate = asked.gate.id.clone();
            return Ok(Some(Step::Unvouched { gate, approvals }));
        }
    }
    Ok(None)
}

/// Replaces landing by verification if this process did not verify the proposal.
pub(super) fn or_proved_again(context: &Context<'_>, run: &Run, next: Next) -> Next {
    // On another head it landed before, or the branch moved. Nothing lands there, and `land` finds out which it was.
    let is_here = context.pull_request.head == run.started.head;
    match next {
        Next::Land if is_here && !is_proved(context, run) => Next::Verify,
        next => next,
    }
}

/// Whether this process tested the proposal, or a journal that nobody else can write to says so.
pub(super) fn is_proved(context: &Context<'_>, run: &Run) -> bool {
    let at = run.places.evidence;
    at.is_some_and(|at| context.app.journal.vouches_for(run.id(), at))
}

/// The approval to land a run's proposal, checked against permissions fetched just now and with the approvers'
/// current logins; or a sentence that says why it must not land.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn approved<'a>(context: &Context<'_>, run: &'a Run) -> Result<Result<Approved<'a>, String>, Broken> {
    let permissions = run.landing_approvers().into_iter().map(async |by| {
        let permission = context.client.permission(&context.id().repository, &by).await?;
        Ok::<_, Broken>((by, permission))
    });
    let permissions = futures::future::try_join_all(permissions).await?;
    let approved = match run.approved(&permissions) {
        Ok(approved) => approved,
        Err(reason) => return Ok(Err(reason.to_string())),
    };
    if let (false, Some(asked)) = (context.app.journal.is_own(), run.landing_gate()) {
        let announced = Announced::load(context).await?;
        let (vouched, unvouched) = Box::pin(vouched(context, run, asked, &announced)).await?;
        if let Some(Unvouched { by, why }) = unvouched.first() {
            return Ok(Err(format!("The approval of {by} does not count: {why}.")));
        }
        let Ok(config) = worktree::config(&context.client, &context.pull_request).await? else {
            return Ok(Err("greenlight.toml on the base branch cannot be used.".into()));
        };
        let (needed, count) = (config.gate.approvers, approved.by().len());
        if (count as u64) < u64::from(needed) {
            let approved = count;
            return Ok(Err(NotApproved::TooFew { needed, approved }.to_string()));
        }
        // The journal may contain any login.
        return Ok(Ok(approved.called(&vouched)));
    }
    Ok(Ok(approved))
}

/// The verified approvers of a gate, and the approvals that could not be verified.
async fn vouched(
    context: &Context<'_>,
    run: &Run,
    asked: &Asked,
    announced: &Announced,
) -> Result<(Vec<Account>, Vec<Unvouched>), Broken> {
    let (mut vouched, mut unvouched) = (Vec::new(), Vec::new());
    let expected = run.digest_now(&asked.gate);
    for approval in &asked.approvals {
        let doubt = if expected.as_ref() == Some(&asked.gate.digest) {
            vouched_comment::approves(context, (run, &asked.gate), approval, announced).await?
        } else {
            Err("the content has changed since the approval".into())
        };
        match doubt {
            Ok(author) => vouched.push(author),
            Err(why) => {
                tracing::warn!(run.id = %run.id(), gate = %asked.gate.id, by = %approval.by, why, "an approval does not count");
                let by = approval.by.clone();
                unvouched.push(Unvouched { by, why });
            }
        }
    }
    Ok((vouched, unvouched))
}

/// Whether the head moved after a comment was written: its author allowed only the code they could see.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn was_pushed_since(context: &Context<'_>, written: Option<jiff::Timestamp>) -> Result<bool, Broken> {
    let head = &context.pull_request.head;
    Ok(consent::is_of_head(context, written, head).await?.is_err())
}
