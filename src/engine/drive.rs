//! Drives a run: asks it what comes next, does that, writes it down, until a person has to answer or it is over.
//!
//! A step is written down before anything relies on it. What a step does on GitHub carries a marker, so that doing it
//! again after a crash finds what is there.

use futures::FutureExt as _;

use crate::domain::execution::Resolution;
use crate::domain::gate::Answer;
use crate::domain::id::PullRequestId;
use crate::domain::reply;
use crate::domain::run::{End, GateNeeded, Next, Run, Step};
use crate::github::LandError;
use crate::journal;
use crate::sandbox::Code;
use crate::suite;

use super::desk::{self, Desk};
use super::interrupt::Working;
use super::stop::stop;
use super::work::{self, Brief, Engine, Outcome, Red};
use super::{App, Broken, Context, announce, base, propose, reading, resolve, retry};

/// A run of more steps than this is stuck.
const MAX_STEPS: usize = 2_000;

/// Drives a run on the pull request as it is now.
///
/// # Errors
/// When GitHub or the journal cannot be reached; everything else ends the run.
pub(super) async fn drive(app: &App, run: Run) -> Result<(), Broken> {
    let id: PullRequestId = run.started.pull_request.clone();
    let context = Context::of(app, run.started.installation, &id).await?;
    drive_in(&context, run).await
}

/// Appends the end of a run.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn end(context: &Context<'_>, run: &mut Run, end: End) -> Result<(), Broken> {
    tracing::info!(run.id = %run.id(), ?end, "a run ends");
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
    match steps(context, &mut run, &mut working).await {
        Ok(()) => Ok(()),
        // Another worker has it.
        Err(Broken::Journal(journal::Error::Taken)) => Ok(()),
        Err(broken) if run.end.is_some() => Err(broken),
        Err(broken) => {
            tracing::error!(run.id = %run.id(), error = %broken, "a run broke");
            end(context, &mut run, End::GaveUp { reason: said(&broken) }).await?;
            steps(context, &mut run, &mut working).await
        }
    }
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
    let mut desk: Option<Desk> = None;
    for _ in 0..MAX_STEPS {
        let next = run.next(context.app.model.is_some());
        if let Some(end) = stop(context, run, &next, working).await? {
            match end {
                Some(end) => self::end(context, run, end).await?,
                None => return Ok(()),
            }
            continue;
        }
        if matches!(
            next,
            Next::Reproduce | Next::Work { .. } | Next::Verify | Next::Resolve(_)
        ) || matches!(next, Next::OpenGate(GateNeeded::Search))
        {
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
            Next::Land => land(context, run).await?,
            Next::OpenGate(needed) => propose::open_gate(context, run, needed, desk.as_ref()).await?,
            Next::Reproduce | Next::Verify | Next::Work { .. } | Next::Resolve(_) => {
                let Some(desk) = &desk else {
                    return Err(Broken::Bug("no desk".into()));
                };
                match execute(context, run, (desk, &next), working).await? {
                    Some(step) => step,
                    // Interrupted: the top of the loop says by what.
                    None => continue,
                }
            }
        };
        journal.append(run, step).await?;
    }
    Err(Broken::Bug(format!("more than {MAX_STEPS} steps in one go")))
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

/// Fetches the tree and the rules; an end when the run cannot work at all.
async fn set_up(context: &Context<'_>, run: &Run) -> Result<Result<Desk, End>, Broken> {
    let config = match desk::config(&context.client, &context.pull_request).await? {
        Ok(config) => config,
        Err(mistake) => {
            return Ok(Err(End::Refused {
                reason: format!("greenlight.toml on the base branch cannot be used: {mistake}"),
            }));
        }
    };
    for login in run.vouched_by() {
        let permission = context.client.permission(&context.id().repository, login).await?;
        if !permission.may_approve() {
            let reason = format!("{login} allowed this, but has no write access any more.");
            return Ok(Err(End::Refused { reason }));
        }
    }
    let desk = desk::fetch(context, run, config).await?;
    Ok(match (desk.test_command(), run.granted()) {
        (Ok(now), Some((command, minutes))) if desk.executes(&now) != command || minutes_of(&now) != minutes => {
            Err(End::Refused {
                reason: format!(
                    "Approved was to run {command:?} for at most {minutes} minutes, but by now the base branch says \
                     {:?} and {} minutes. Nothing was executed. `/greenlight fix` starts again.",
                    desk.executes(&now),
                    minutes_of(&now),
                ),
            })
        }
        (Ok(_), _) => Ok(desk),
        (Err(nothing), _) => Err(End::NothingToFix {
            reason: format!(
                "I found no tests. I looked for: {}. Set `[test]` `command` in `greenlight.toml` on the base branch.",
                nothing.looked_for.join(", ")
            ),
        }),
    })
}

/// How many minutes a test command may take, as gates say it.
pub(super) fn minutes_of(command: &suite::TestCommand) -> u64 {
    command.timeout.as_secs().div_ceil(60)
}

/// The steps that may run code; none when interrupted.
async fn execute(
    context: &Context<'_>,
    run: &mut Run,
    (desk, next): (&Desk, &Next),
    working: &Working,
) -> Result<Option<Step>, Broken> {
    let cancel = working.token();
    let may_execute = matches!(
        next,
        Next::Reproduce | Next::Verify | Next::Work { may_execute: true } | Next::Resolve(Resolution::Approved)
    );
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
            let (before, triage) = base::reproduce(context, run, (desk, suite), cancel).await?;
            Step::Reproduced { before, triage }
        }
        (Next::Resolve(resolution), suite) => {
            resolve::resolve(context, run, (desk, suite.as_ref()), resolution, cancel).await?
        }
        (Next::Verify, Some(suite)) => verify(context, run, (desk, suite), cancel).await?,
        _ => attempt(context, run, (desk, suite.as_ref()), cancel).await?,
    };
    Ok((!cancel.is_cancelled()).then_some(step))
}

/// Runs what was approved: the head must be red by its own doing, the proposed tree green.
async fn verify(
    context: &Context<'_>,
    run: &Run,
    (desk, suite): (&Desk, &suite::Suite),
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Step, Broken> {
    let Some(proposal) = &run.proposal else {
        return Err(Broken::Bug("nothing to verify".into()));
    };
    let (before, triage) = base::reproduce(context, run, (desk, suite), cancel).await?;
    if !triage.is_worked_on() && before.outcome.is_red() {
        let reason = triage.why_not(&before);
        return Ok(Step::Ended(End::GaveUp {
            reason: format!("The suggestion was executed as approved, and there is nothing for it to mend: {reason}"),
        }));
    }
    let red = Red {
        head: &run.started.head,
        before: &before,
        triage: Some(&triage),
    };
    let proved = work::prove(desk, suite, (&proposal.patch, proposal.claim()), &red, cancel).await?;
    Ok(match proved {
        Ok(evidence) => Step::Verified(Box::new(evidence)),
        Err(unfit) => Step::Ended(End::GaveUp {
            reason: format!("The suggestion was executed as approved and does not hold: {unfit}"),
        }),
    })
}

/// One attempt at a patch, its transcript written down as it grows.
async fn attempt(
    context: &Context<'_>,
    run: &mut Run,
    (desk, suite): (&Desk, Option<&suite::Suite>),
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Step, Broken> {
    let engine = match &context.app.model {
        Some((model, name)) => Engine::Model { model, name },
        None => Engine::BuiltIn,
    };
    let before = run.clone();
    let brief = Brief {
        head: &before.started.head,
        mode: &before.started.mode,
        tests_first: before.tests_first.as_ref(),
        turned_down_tests: &before.turned_down_tests,
        may_ask: before.may_ask(),
        before: before.reproduced.as_ref().map(|(before, _)| before),
        triage: before.reproduced.as_ref().map(|(_, triage)| triage),
        reading: before.reading.as_ref(),
        turned_down: &before.turned_down,
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
    let mut progress = |_| {};
    let watch = work::Watch {
        keep: &mut keep,
        progress: &mut progress,
        live: &|_| {},
        cancel,
    };
    Ok(match work::work(desk, suite, engine, &brief, watch).await? {
        Outcome::Proposed(proposal) => Step::Proposed(proposal),
        Outcome::TestsWritten(tests) => Step::TestsWritten(tests),
        Outcome::Explained(explanation) => Step::Ended(End::Explained(explanation)),
        Outcome::Deferred(deferred) => Step::Deferred(deferred),
        Outcome::Refused { reason } => Step::Ended(End::Refused { reason }),
        Outcome::NothingToDo { reason } => Step::Ended(End::NothingToFix { reason }),
        Outcome::LimitReached {
            reason,
            found: Some(found),
        } => Step::Ended(End::LimitReached { reason, found }),
        Outcome::GaveUp { reason } | Outcome::LimitReached { reason, found: None } => {
            Step::Ended(End::GaveUp { reason })
        }
        Outcome::Interrupted => Step::Ended(End::Cancelled { by: None }),
    })
}

/// Lands what was approved, if everybody who approved still may.
async fn land(context: &Context<'_>, run: &Run) -> Result<Step, Broken> {
    let Some(proposal) = &run.proposal else {
        return Err(Broken::Bug("nothing to land".into()));
    };
    let approved_by = run
        .gates
        .last()
        .map(|asked| asked.approved_by.clone())
        .unwrap_or_default();
    for login in &approved_by {
        let permission = context.client.permission(&context.id().repository, login).await?;
        if !permission.may_approve() {
            let reason = format!("{login} approved, but has no write access any more.");
            return Ok(Step::Ended(End::Refused { reason }));
        }
    }
    // What was read before the tests ran may be old by now.
    let pull_request = &context.client.pull_request(context.id()).await?;
    let Some(head_repository) = &pull_request.head_repository else {
        return Ok(Step::Ended(End::Refused {
            reason: "The repository of this branch is gone.".into(),
        }));
    };
    // With another head it landed before, or the branch moved: `Client::land` tells which.
    if !pull_request.is_open && pull_request.head == run.started.head {
        return Ok(Step::Ended(End::Cancelled { by: None }));
    }
    let tree = propose::tested_tree(context, run).await?;
    let landing = crate::github::Landing {
        repository: head_repository,
        branch: &pull_request.head_branch,
        head: &run.started.head,
        patch: &proposal.patch,
        tree: Some(&tree),
        message: &reply::commit_message(proposal, &approved_by),
        run: run.id(),
    };
    match context.client.land(&landing).await {
        Ok(commit) => Ok(Step::Ended(End::Landed { commit })),
        Err(LandError::HeadMoved { actual }) => Ok(Step::Ended(End::Superseded { head: actual })),
        // The branch of a fork, or a protected one: the suggestions are there for whoever may push.
        Err(LandError::GitHub(crate::github::Error::Refused { status: 403 | 404, .. })) => {
            Ok(Step::Ended(End::Suggested))
        }
        Err(error) => Err(error.into()),
    }
}
