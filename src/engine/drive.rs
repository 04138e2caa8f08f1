//! Drives a run: asks it what comes next, does that, writes it down, until a person has to answer or it is over.
//!
//! A step is written down before anything relies on it. What a step does on GitHub carries a marker, so that doing it
//! again after a crash finds what is there.

use std::time::Instant;

use super::base::Reproduced;
use super::desk::Desk;
use super::interrupt::Working;
use super::land::land;
use super::set_up::set_up;
use super::stop::stop;
use super::{
    App, Broken, Context, again, announce, attempt, base, budget, propose, reading, record, resolve, retry, vouch,
};
use crate::agent::{Model as _, Speech};
use crate::domain::clock::millis;
use crate::domain::execution::Resolution;
use crate::domain::gate::Answer;
use crate::domain::id::PullRequestId;
use crate::domain::memory::{self, Memory};
use crate::domain::run::{End, GateNeeded, Next, Run, Step};
use crate::domain::spend::Spend;
use crate::journal;
use crate::sandbox::Code;

/// A run of more steps than this is stuck.
const MAX_STEPS: usize = 2_000;

/// Runs of a repository that are recalled, newest first.
const MAX_RECALLED: usize = 500;

/// Drives a run on the pull request as it is now.
///
/// # Errors
/// When GitHub or the journal cannot be reached; everything else ends the run.
pub(super) async fn drive(app: &App, run: Run) -> Result<(), Broken> {
    let id: PullRequestId = run.started.pull_request.clone();
    match Context::of(app, run.started.installation, &id).await {
        Ok(context) => drive_in(&context, run).await,
        Err(broken) => {
            if broken.is_not_installed() {
                let mut run = run;
                end_unsaid(app, &mut run).await?;
            }
            Err(broken)
        }
    }
}

/// Ends a run where greenlight may not speak any more: nothing is posted, and nothing tries again.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn end_unsaid(app: &App, run: &mut Run) -> Result<(), Broken> {
    if run.end.is_none() {
        app.journal
            .append(run, Step::Ended(End::Cancelled { by: None }))
            .await?;
    }
    Ok(app.journal.append(run, Step::Announced).await?)
}

/// Appends the end of a run.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn end(context: &Context<'_>, run: &mut Run, end: End) -> Result<(), Broken> {
    Ok(context.app.journal.append(run, Step::Ended(end)).await?)
}

/// Drives a run; what breaks on the way ends it, and is said.
///
/// # Errors
/// When its end cannot be written down or said.
pub(super) async fn drive_in(context: &Context<'_>, mut run: Run) -> Result<(), Broken> {
    let mut working = context.app.interrupts.enter(context.id(), &run.started.head);
    // From here on a push interrupts; what was pushed before is seen by looking again.
    let context = &context.looked_at_again().await;
    Box::pin(vouch::hold(context, std::slice::from_mut(&mut run))).await?;
    if context.pull_request.is_from_fork() {
        run.forget_consent_by_config();
    }
    // On the heap: what a run does is many futures deep.
    match Box::pin(steps(context, &mut run, &mut working)).await {
        Ok(()) => Ok(()),
        // Another worker has it.
        Err(Broken::Journal(journal::Error::Taken)) => Ok(()),
        Err(broken) if run.end.is_some() => Err(broken),
        // The next process goes on where this one was.
        Err(_) if is_ending().await => std::future::pending().await,
        Err(broken) if broken.is_not_installed() => {
            end_unsaid(context.app, &mut run).await?;
            Err(broken)
        }
        // Nothing can be said now; the run stays open, and resumes when the limit is reset.
        Err(broken) if broken.not_before().is_some() => Err(broken),
        Err(broken) => {
            tracing::error!(run.id = %run.id(), error = %broken, "a run broke");
            end(context, &mut run, End::GaveUp { reason: said(&broken) }).await?;
            Box::pin(steps(context, &mut run, &mut working)).await
        }
    }
}

/// Whether this process is on its way out: steps that wait for the disk then fail because the runtime has no threads for
/// them any more, which says nothing of the run.
async fn is_ending() -> bool {
    tokio::task::spawn_blocking(|| ()).await.is_err()
}

/// What a breakage is called in public: the model's and GitHub's own words help the maintainer, the rest does not.
fn said(broken: &Broken) -> String {
    match broken {
        Broken::Agent(error) => format!("The model could not be used: {error}"),
        Broken::GitHub(error) => format!("GitHub could not be used: {error}"),
        Broken::Land(error) => format!("The commit could not be made: {error}"),
        Broken::Git(error) => format!("The code could not be fetched: {error}"),
        _ => "Something broke on greenlight's side; its log has the details. `/greenlight fix` tries again.".into(),
    }
}

async fn steps(context: &Context<'_>, run: &mut Run, working: &mut Working) -> Result<(), Broken> {
    let journal = &context.app.journal;
    expire(context, run).await?;
    let (mut desk, mut is_vouched): (Option<Desk>, bool) = (None, journal.is_own());
    for _ in 0..MAX_STEPS {
        let next = vouch::or_proved_again(context, run, run.next(a_model_reads(context, run)));
        if let Some(end) = stop(context, run, &next, working).await? {
            match end {
                Some(end) => self::end(context, run, end).await?,
                None => return Ok(()),
            }
            continue;
        }
        if !is_vouched && vouch::rests_on_a_word(&next) {
            is_vouched = Box::pin(again::is_vouched(context, run)).await?;
            continue;
        }
        // Once it is known that only the merge is red, the work goes on there.
        desk = desk.filter(|desk| desk.merge.is_some() == run.red_merge().is_some());
        if !context.may_work && takes_a_worker(&next) {
            match working.leave() {
                Ok(()) => return Ok(()),
                Err(_) => continue,
            }
        }
        if needs_a_desk(&next) {
            announce::announce(context, run).await?;
            if desk.is_none() {
                match set_up(context, run).await? {
                    Ok(ready) => desk = Some(ready),
                    Err(reason) => {
                        self::end(context, run, reason).await?;
                        continue;
                    }
                }
            }
        }
        let step = match next {
            Next::Done => return Ok(()),
            Next::Wait => {
                announce::announce(context, run).await?;
                // A cancel that came while that was said found the run at work, and is for this loop to obey.
                match working.leave() {
                    Ok(()) => return Ok(()),
                    Err(_) => continue,
                }
            }
            Next::Announce => {
                announce::announce(context, run).await?;
                Step::Announced
            }
            Next::End(end) => Step::Ended(retry::or_passed_meanwhile(context, run, end).await?),
            Next::ReadLog => Step::Read(reading::read_log(context, run).await?),
            Next::PostReview => propose::post_review(context, run).await?,
            Next::Land => Box::pin(land(context, run)).await?,
            Next::OpenGate(needed) => {
                let step = propose::open_gate(context, run, needed, desk.as_ref()).await?;
                budget::estimated(context, run, step, desk.as_ref()).await?
            }
            Next::Reproduce | Next::Verify | Next::Work { .. } | Next::Resolve(_) => {
                let Some(desk) = &mut desk else {
                    return Err(Broken::Bug("no desk".into()));
                };
                execute_and_journal(context, run, (desk, &next), working).await?;
                continue;
            }
        };
        journal.append(run, step).await?;
    }
    Err(Broken::Bug(format!("more than {MAX_STEPS} steps in one go")))
}

/// Does what is next on the tree, and writes down what came of it and how long it took.
async fn execute_and_journal(
    context: &Context<'_>,
    run: &mut Run,
    (desk, next): (&mut Desk, &Next),
    working: &mut Working,
) -> Result<(), Broken> {
    desk.left = budget::left(context, run, &desk.config.limits).await?;
    let begun = Instant::now();
    // None if interrupted: the caller's loop says by what.
    let step = Box::pin(execute(context, run, (desk, next), working)).await?;
    let wall_ms = millis(begun.elapsed());
    let spent = Step::Spent(Spend {
        wall_ms,
        ..Spend::default()
    });
    for step in step.into_iter().chain([spent]) {
        context.app.journal.append(run, step).await?;
    }
    record::record(context, run, desk).await;
    Ok(())
}

/// Whether this works on code, reads whole logs or moves a branch, as opposed to saying something.
fn takes_a_worker(next: &Next) -> bool {
    !matches!(next, Next::Done | Next::Wait | Next::Announce | Next::End(_))
}

/// Whether the next thing is done on the tree.
fn needs_a_desk(next: &Next) -> bool {
    matches!(
        next,
        Next::Reproduce
            | Next::Work { .. }
            | Next::Verify
            | Next::Resolve(_)
            | Next::OpenGate(GateNeeded::Search | GateNeeded::Execute)
    )
}

/// Whether a model can work from reading alone. One that acts by code needs an interpreter, and so a word that code may
/// run; and no model works for strangers unless a person asked it to.
fn a_model_reads(context: &Context<'_>, run: &Run) -> bool {
    let model = context.app.model.as_ref().filter(|_| !run.needs_execution);
    model.is_some_and(|(model, _)| run.may_execute() || (!run.started.asks_first && model.speech() == Speech::Tools))
}

/// Closes the gates whose time is up.
async fn expire(context: &Context<'_>, run: &mut Run) -> Result<(), Broken> {
    let now = jiff::Timestamp::now();
    for gate in run.open_gates().into_iter().filter(|gate| now >= gate.expires) {
        let step = Step::Answered {
            gate: gate.id,
            answer: Answer::Expired,
            comment: None,
        };
        context.app.journal.append(run, step).await?;
    }
    Ok(())
}

/// The steps that may run code; none when interrupted.
async fn execute(
    context: &Context<'_>,
    run: &mut Run,
    (desk, next): (&Desk, &Next),
    working: &Working,
) -> Result<Option<Step>, Broken> {
    let cancel = working.token();
    let may_execute = match next {
        Next::Reproduce | Next::Verify | Next::Work { may_execute: true } => true,
        Next::Resolve(Resolution::Approved) => run.deferred.as_ref().is_some_and(|call| call.execution.runs_code()),
        _ => false,
    };
    let code = if context.pull_request.is_from_fork() {
        Code::OfFork
    } else {
        Code::Trusted
    };
    let sandbox = context.app.sandbox.as_ref().map_err(Clone::clone).and_then(|sandbox| {
        let required = &desk.config.sandbox.require;
        sandbox.suffices(code, required).map(|()| sandbox)
    });
    let mut suite = match (sandbox, desk.test_command()) {
        (Ok(sandbox), Ok(command)) if may_execute => Some(desk.suite(sandbox, command)),
        (Err(unusable), _) if may_execute => {
            return Ok(Some(Step::Ended(End::Refused {
                reason: format!("{unusable}. Nothing was executed."),
            })));
        }
        _ => None,
    };
    if let Some(suite) = &mut suite {
        let settings = desk.install_settings(context.app.github.hosts());
        if let Err(reason) = desk.install(suite, &settings, cancel).await? {
            // The environment's matter: it says nothing about the tests.
            let reason = format!("The tests were not run: {reason}");
            return Ok(Some(Step::Ended(End::Refused { reason })));
        }
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    let step = match (next, &suite) {
        (Next::Reproduce, Some(suite)) => {
            let Reproduced { before, triage, .. } =
                Box::pin(base::reproduce(context, run, (desk, suite), cancel)).await?;
            Step::Reproduced { before, triage }
        }
        (Next::Resolve(resolution), suite) => {
            resolve::resolve(context, run, (desk, suite.as_ref()), resolution, cancel).await?
        }
        (Next::Verify, Some(suite)) => Box::pin(again::verify(context, run, (desk, suite), cancel)).await?,
        _ => Box::pin(attempt::attempt(context, run, (desk, suite.as_ref()), cancel)).await?,
    };
    Ok((!cancel.is_cancelled()).then_some(step))
}

/// What the runs of the repository taught, but for one that is under way.
pub(super) async fn recalled(context: &Context<'_>, but: Option<&Run>) -> Result<Memory, Broken> {
    let runs = context
        .app
        .journal
        .runs_in(&context.id().repository, MAX_RECALLED)
        .await?;
    let mut others = runs;
    // What cannot be read has taught nothing.
    others.retain(|other| other.unreadable.is_none() && but.is_none_or(|run| other.id() != run.id()));
    Ok(memory::recall(&others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_because_the_process_ends_is_told_apart() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        let asked = || {
            let _entered = handle.enter();
            futures::executor::block_on(is_ending())
        };
        assert!(!asked());
        runtime.shutdown_background();
        assert!(asked());
    }
}
