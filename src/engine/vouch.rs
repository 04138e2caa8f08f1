//! What a run rests on, asked of GitHub again: who allowed it, in which words, and what they could read when they did.
//!
//! A journal in a git ref is written by whoever may write to the repository. So whatever allows something is fetched
//! again where it was said: the comment of a consent or an approval has to be there, its author's own, never edited, and
//! from the time when greenlight's own comment showed exactly this request. How many approvals are needed, and for how
//! long a request stands, is the configuration's to say. What is said to be tested is tested again.
//!
//! Not here: whether somebody may give a command that has just arrived, which is `comment`'s.

mod announced;
mod consent;
mod word;

use announced::Announced;

use super::{Broken, Context, desk};
use crate::domain::execution::Resolution;
use crate::domain::gate::{Gate, GateKind, Terms};
use crate::domain::id::Account;
use crate::domain::run::{Asked, End, Next, Rules, Run, Step, Unvouched};

/// Whether this executes or lands something, or hands the model what was allowed.
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

/// Holds a run to what the configuration says, where its journal may say anything.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn hold(context: &Context<'_>, runs: &mut [Run]) -> Result<(), Broken> {
    if context.app.journal.is_own() || runs.iter().all(|run| run.end.is_some()) {
        return Ok(());
    }
    // With a configuration that cannot be read, nothing is executed and nothing lands.
    if let Ok(config) = desk::config(&context.client, &context.pull_request).await? {
        let rules = Rules {
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

/// The step to be written down where something that the run rests on is not vouched for; none if all of it is.
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

/// What comes next, if what would land has to be proved again: whoever says that it was tested was not this process.
pub(super) fn or_proved_again(context: &Context<'_>, run: &Run, next: Next) -> Next {
    // On another head it landed before, or the branch moved: nothing lands there, and landing tells which.
    let is_here = context.pull_request.head == run.started.head;
    match next {
        Next::Land if is_here && !is_proved(context, run) => Next::Verify,
        next => next,
    }
}

/// Whether this process, or a journal that nobody else writes to, saw that the proposal holds.
pub(super) fn is_proved(context: &Context<'_>, run: &Run) -> bool {
    let at = run.places.evidence;
    at.is_some_and(|at| context.app.journal.vouches_for(run.id(), at))
}

/// Everybody who approved that the proposal lands, by what they are called now, or why it must not.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn for_landing(context: &Context<'_>, run: &Run) -> Result<Result<Vec<Account>, String>, Broken> {
    let landing = run.gates.iter().rfind(|asked| asked.gate.kind.lands());
    let Some(asked) = landing.filter(|asked| asked.is_approved()) else {
        return Ok(Err("Nobody approved that this lands.".into()));
    };
    for by in asked.approved_by() {
        let permission = context.client.permission(&context.id().repository, by).await?;
        if !permission.may_approve() {
            return Ok(Err(format!("{by} approved, but has no write access any more.")));
        }
    }
    if !context.app.journal.is_own() {
        let announced = Announced::load(context).await?;
        let (vouched, unvouched) = Box::pin(vouched(context, run, asked, &announced)).await?;
        if let Some(Unvouched { by, why }) = unvouched.first() {
            return Ok(Err(format!("The approval of {by} does not count: {why}.")));
        }
        let Ok(config) = desk::config(&context.client, &context.pull_request).await? else {
            return Ok(Err("greenlight.toml on the base branch cannot be used.".into()));
        };
        let approved = asked.approvals.len();
        if approved < config.gate.approvers as usize {
            return Ok(Err(format!(
                "{} people have to approve, and {approved} did.",
                config.gate.approvers
            )));
        }
        // The journal may call them anything.
        return Ok(Ok(vouched));
    }
    Ok(Ok(asked.approved_by().cloned().collect()))
}

/// Who approved a gate, and the approvals of it that nothing vouches for.
async fn vouched(
    context: &Context<'_>,
    run: &Run,
    asked: &Asked,
    announced: &Announced,
) -> Result<(Vec<Account>, Vec<Unvouched>), Broken> {
    let (mut vouched, mut unvouched) = (Vec::new(), Vec::new());
    let expected = expected(run, &asked.gate);
    for approval in &asked.approvals {
        let doubt = if expected.as_ref() == Some(&asked.gate.digest) {
            word::approves(context, (run, &asked.gate), approval, announced).await?
        } else {
            Err("what was approved is not what is there now".into())
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

/// The digest of what a gate lets happen now; none if its kind is not the one for that.
fn expected(run: &Run, gate: &Gate) -> Option<String> {
    let proposed = || {
        let patch = &run.proposal.as_ref()?.patch;
        Some((patch.digest(), patch.paths().count()))
    };
    let weakenings = run.proposal.as_ref().map_or(0, |proposal| proposal.weakens.len());
    let content = match &gate.kind {
        GateKind::Search { command, .. } => command.clone(),
        GateKind::VerifyAndLand { command, files, .. } => {
            let (patch, count) = proposed()?;
            (count == *files && weakenings == 0).then(|| format!("{patch}\n{command}"))?
        }
        GateKind::Land { files } => {
            let (patch, count) = proposed()?;
            (count == *files && weakenings == 0).then_some(patch)?
        }
        GateKind::ChangeTests {
            files,
            weakenings: said,
        } => {
            let (patch, count) = proposed()?;
            (count == *files && weakenings == *said && weakenings > 0).then_some(patch)?
        }
        GateKind::Tests { files, tests } => {
            let first = run.tests_first.as_ref()?;
            let is_it = first.patch.paths().count() == *files && first.names.len() == *tests;
            is_it.then(|| first.patch.digest())?
        }
        GateKind::Execute(execution) => {
            let wanted = &run.deferred.as_ref()?.execution;
            (**execution == *wanted).then(|| serde_json::json!(gate.circumstances).to_string())?
        }
    };
    let terms = Terms {
        head: run.started.head.clone(),
        approvers: gate.approvers,
        opened: gate.opened,
        expires: gate.expires,
    };
    Some(Gate::open(run.id(), 0, gate.kind.clone(), &content, terms).digest)
}

/// Whether the head moved after a comment was written: what its author allowed is the code they could see.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn was_pushed_since(context: &Context<'_>, written: Option<jiff::Timestamp>) -> Result<bool, Broken> {
    let head = &context.pull_request.head;
    Ok(consent::is_of_head(context, written, head).await?.is_err())
}
