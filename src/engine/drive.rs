//! Drives a run: computes the next step, does it, appends it, until a person has to answer or the run is over. This
//! is the only loop over [`Run::next`]; a [`Door`] is what differs between GitHub, a terminal and a recording.
//!
//! A step is appended before anything relies on it. Everything a step does on GitHub carries a marker, so that
//! repeating it after a crash finds the earlier result.

use std::time::Instant;

use super::activity::Activity;
use super::door::{Door, Turn, Waiting};
use super::worktree::Worktree;
use super::{Broken, attempt, suites, work};
use crate::domain::clock::millis;
use crate::domain::execution::Resolution;
use crate::domain::gate::Answer;
use crate::domain::run::{GateNeeded, Next, Run, Step};
use crate::domain::spend::Spend;
use crate::suite::Suite;

/// A run that takes more steps than this is stuck.
const MAX_STEPS: usize = 2_000;

/// Drives a run until a person has to answer, it is over, or somebody else continues it.
///
/// # Errors
/// When the network, the disk, the sandbox or a model fails. The steps until then are in the journal.
pub async fn drive<D: Door>(door: &mut D, run: &mut Run) -> Result<(), Broken> {
    expire(door, run).await?;
    let mut worktree: Option<Worktree> = None;
    let mut fetch_ms = 0;
    for _ in 0..MAX_STEPS {
        door.begins(Activity::Step);
        let next = run.next(door.has_reader(run));
        let next = match door.turn(run, next).await? {
            Turn::Take(next) => next,
            Turn::Again => continue,
            Turn::Leave => return Ok(()),
        };
        worktree = worktree.filter(|worktree| door.still_fits(worktree, run));
        if needs_a_worktree(&next) {
            let set_up = async {
                match worktree.take() {
                    Some(ready) => Ok(Ok(ready)),
                    None => {
                        let begun = Instant::now();
                        door.begins(Activity::Fetching);
                        let set_up = door.set_up(run).await;
                        fetch_ms += millis(begun.elapsed());
                        set_up
                    }
                }
            };
            let (announced, set_up) = tokio::join!(door.announce(run), set_up);
            announced?;
            match set_up? {
                Ok(ready) => worktree = Some(ready),
                Err(end) => {
                    door.append(run, Step::Ended(end)).await?;
                    continue;
                }
            }
        }
        let step = match next {
            Next::Done => return Ok(()),
            Next::Wait => {
                door.announce(run).await?;
                match door.wait(run).await? {
                    Waiting::Answered(step) => step,
                    Waiting::Leave => return Ok(()),
                    Waiting::Again => continue,
                }
            }
            Next::Announce => {
                door.announce(run).await?;
                Step::Announced
            }
            Next::End(end) => Step::Ended(door.end(run, end).await?),
            Next::ReadLog => Step::Read(door.read_log(run).await?),
            Next::PostReview => door.post_review(run).await?,
            Next::Land => Box::pin(door.land(run)).await?,
            Next::OpenGate(needed) => door.open_gate(run, needed, worktree.as_ref()).await?,
            Next::Reproduce | Next::Verify | Next::Work { .. } | Next::Resolve(_) => {
                let Some(worktree) = &mut worktree else {
                    return Err(Broken::Bug("no worktree".into()));
                };
                let fetched_ms = std::mem::take(&mut fetch_ms);
                Box::pin(execute_and_journal(door, run, (worktree, fetched_ms), &next)).await?;
                continue;
            }
        };
        door.append(run, step).await?;
    }
    Err(Broken::Bug(format!("more than {MAX_STEPS} steps without a pause")))
}

/// Executes the next step on the tree, and appends its result and how long it took. `fetch_ms` is how long it took to
/// set up the tree, if no earlier step says it.
async fn execute_and_journal<D: Door>(
    door: &D,
    run: &mut Run,
    (worktree, fetch_ms): (&mut Worktree, u64),
    next: &Next,
) -> Result<(), Broken> {
    worktree.left = door.left(run, worktree).await?;
    if *next == Next::Reproduce
        && let Some(selected) = suites::selected(run, worktree)
    {
        door.append(run, selected).await?;
    }
    worktree.turn_to(run);
    let begun = Instant::now();
    let mut spent = Spend {
        fetch_ms,
        ..Spend::default()
    };
    // `None` if interrupted; the door records the reason.
    let step = Box::pin(execute(door, (run, &mut spent), worktree, next)).await?;
    spent.wall_ms = millis(begun.elapsed());
    let spent = Step::Spent(spent);
    for step in step.into_iter().chain([spent]) {
        door.append(run, step).await?;
    }
    door.worked(run, worktree).await;
    Ok(())
}

/// Whether this step works on code, reads whole logs or moves a branch, as opposed to posting something.
pub(super) fn takes_a_worker(next: &Next) -> bool {
    !matches!(next, Next::Done | Next::Wait | Next::Announce | Next::End(_))
}

/// Whether this step needs the tree.
fn needs_a_worktree(next: &Next) -> bool {
    matches!(
        next,
        Next::Reproduce
            | Next::Work { .. }
            | Next::Verify
            | Next::Resolve(_)
            | Next::OpenGate(GateNeeded::Search | GateNeeded::Execute)
    )
}

/// Closes the gates that have expired.
async fn expire<D: Door>(door: &D, run: &mut Run) -> Result<(), Broken> {
    let now = door.now();
    for gate in run.open_gates().into_iter().filter(|gate| now >= gate.expires) {
        let step = Step::Answered {
            gate: gate.id,
            answer: Answer::Expired,
            comment: None,
            at: Some(now),
        };
        door.append(run, step).await?;
    }
    Ok(())
}

/// Executes the steps that may run code. `None` if interrupted.
async fn execute<D: Door>(
    door: &D,
    (run, spent): (&mut Run, &mut Spend),
    worktree: &Worktree,
    next: &Next,
) -> Result<Option<Step>, Broken> {
    let may_execute = match next {
        Next::Reproduce | Next::Verify | Next::Work { may_execute: true } => true,
        Next::Resolve(Resolution::Approved) => run.deferred.as_ref().is_some_and(|call| call.execution.runs_code()),
        _ => false,
    };
    let suite = match may_execute {
        false => None,
        true => {
            let begun = Instant::now();
            door.begins(Activity::Installing);
            let suite = match door.suite(worktree).await? {
                Ok(suite) => suite,
                Err(end) => return Ok(Some(Step::Ended(end))),
            };
            if suite.as_ref().is_some_and(work::is_installed) {
                spent.install_ms = millis(begun.elapsed());
            }
            suite
        }
    };
    door.begins(
        suite
            .as_ref()
            .map_or(Activity::Step, |suite| Activity::Testing(suite.clock.clone())),
    );
    let cancel = door.cancel();
    if cancel.is_cancelled() {
        return Ok(None);
    }
    let step = match (next, &suite) {
        (Next::Reproduce, Some(suite)) => {
            let seen = Box::pin(door.reproduce(run, worktree, suite)).await?;
            suites::or_next(run, suite, seen)
        }
        (Next::Verify, Some(suite)) => Box::pin(door.verify(run, worktree, suite)).await?,
        (Next::Resolve(resolution), suite) => resolve(run, (worktree, suite.as_ref()), resolution, &cancel).await?,
        _ => Box::pin(attempt::attempt(door, run, (worktree, suite.as_ref()))).await?,
    };
    Ok((!cancel.is_cancelled()).then_some(step))
}

/// Returns a person's answer to the model that waits for it: the result of the approved execution, or why it was not
/// done.
async fn resolve(
    run: &Run,
    suite: (&Worktree, Option<&Suite>),
    resolution: &Resolution,
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Step, Broken> {
    let Some(deferred) = &run.deferred else {
        return Err(Broken::Bug("there is no request".into()));
    };
    let so_far = (work::stage(run), run.said.as_slice(), deferred);
    Ok(Step::Resolved(work::resolve(suite, so_far, resolution, cancel).await?))
}
