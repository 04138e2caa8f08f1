//! A person approves or rejects. An approval is used at once, for the current head and with the permission fetched
//! now.

use jiff::{SignedDuration, Timestamp};

use super::begin::begin;
use super::verdict::VerbResult;
use super::{App, Broken, Context, cancel, pull_request, retry, vouch};
use crate::domain::command::Command;
use crate::domain::event::RERUN;
use crate::domain::gate::{self, Answer, Gate, GateId, Refusal};
use crate::domain::id::{Account, CommitSha, InstallationId, PullRequestId};
use crate::domain::permission::{Approve, Authorized, Reject, Request, authorize};
use crate::domain::reply;
use crate::domain::run::{End, Origin, Run, Step};

/// The comment that contained an answer. A button needs none, because it names its gate.
#[derive(Debug, Clone, Copy)]
pub(super) struct SaidIn {
    pub(super) comment: u64,
    pub(super) received: Timestamp,
    /// When GitHub says it was written. A redelivered comment or a re-run job keeps this time.
    pub(super) written: Option<Timestamp>,
}

/// How far GitHub's clock may differ from ours, including the fraction of a second that GitHub cuts off.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(10);

impl SaidIn {
    /// Whether it was written before this moment.
    fn is_before(&self, moment: Timestamp) -> bool {
        let long_before = |written: Timestamp| written.checked_add(CLOCK_TOLERANCE).is_ok_and(|latest| latest < moment);
        self.received < moment || self.written.is_some_and(long_before)
    }
}

/// Records an approval and continues the run.
///
/// # Errors
/// When something broke.
pub(super) async fn approve(
    context: &Context<'_>,
    request: &Authorized<Approve>,
    said_in: Option<SaidIn>,
) -> Result<VerbResult, Broken> {
    let by = request.by();
    let (run, gate) = match find(context, request.request().gate.as_ref(), said_in).await? {
        GateLookup::Open(run, gate) => (run, *gate),
        GateLookup::Answered(run) => return continue_run(context, *run).await,
        GateLookup::Refused(refusal) => return Ok(Err(refusal)),
    };
    let already = run
        .gates
        .iter()
        .any(|asked| asked.gate.id == gate.id && asked.has_approved(by));
    if already {
        return Ok(Err(Refusal::NeedsAnother {
            approvers: gate.approvers,
        }));
    }
    record(context, *run, &gate, Answer::Approved { by: by.clone() }, said_in).await
}

/// Records a rejection. With a reason, and within its limits, the run tries again.
///
/// # Errors
/// When something broke.
pub(super) async fn reject(
    context: &Context<'_>,
    request: &Authorized<Reject>,
    said_in: Option<SaidIn>,
) -> Result<VerbResult, Broken> {
    let Reject { gate: wanted, reason } = request.request();
    match find(context, wanted.as_ref(), said_in).await? {
        GateLookup::Open(run, gate) => {
            let answer = Answer::Rejected {
                by: request.by().clone(),
                reason: reason.clone(),
            };
            record(context, *run, &gate, answer, said_in).await
        }
        GateLookup::Answered(run) => continue_run(context, *run).await,
        GateLookup::Refused(refusal) => Ok(Err(refusal)),
    }
}

/// Handles a button of the check run, which does the same as the command of that name.
///
/// # Errors
/// When something broke.
pub(super) async fn button(
    app: &App,
    (installation, may_work): (Option<InstallationId>, bool),
    pull_requests: Vec<PullRequestId>,
    (head, (identifier, received), by): (&CommitSha, (&str, Timestamp), &Account),
) -> Result<(), Broken> {
    let Some(command) = pressed(identifier) else {
        return Ok(());
    };
    if !app.journal.is_own() {
        tracing::warn!(login = %by, identifier, "a button was pressed, but only comments are accepted here");
        return Ok(());
    }
    for id in pull_requests {
        let mut context = Context::of(app, installation, &id).await?;
        context.may_work = may_work;
        if context.pull_request.head != *head || !context.pull_request.is_open {
            continue;
        }
        let verdict = match authorized(&context, command.clone(), by).await? {
            Err(refusal) => Err(refusal),
            Ok(Request::Begin(request)) => {
                let origin = Origin::Rerun {
                    by: by.clone(),
                    pressed: received,
                };
                begin(&context, origin, &request).await?
            }
            Ok(request) => without_a_comment(&context, request).await?,
        };
        match verdict {
            Ok(None) => {}
            // There is no comment to answer.
            Ok(Some(text)) => tracing::warn!(login = %by, text, "a button did nothing"),
            Err(refusal) => tracing::info!(login = %by, refusal = reply::refusal(&refusal), "a button did nothing"),
        }
    }
    Ok(())
}

/// Handles a command from greenlight's own API like a comment: for the head that was looked at, and with the
/// permission fetched now. The API has already reported any error that could be known at once.
///
/// # Errors
/// When something broke.
pub(super) async fn given(
    app: &App,
    (installation, may_work): (Option<InstallationId>, bool),
    id: &PullRequestId,
    (head, by, command): (&CommitSha, &Account, Command),
) -> Result<(), Broken> {
    let mut context = Context::of(app, installation, id).await?;
    context.may_work = may_work;
    if context.pull_request.head != *head || !context.pull_request.is_open {
        return Ok(());
    }
    let verdict = match authorized(&context, command, by).await? {
        Err(refusal) => Err(refusal),
        Ok(request) => without_a_comment(&context, request).await?,
    };
    if let Err(refusal) = verdict {
        tracing::info!(login = %by, refusal = reply::refusal(&refusal), "a command of the API did nothing");
    }
    Ok(())
}

/// Authorizes a command if its author has write access now.
async fn authorized(context: &Context<'_>, command: Command, by: &Account) -> Result<Result<Request, Refusal>, Broken> {
    let permission = context.client.permission(&context.id().repository, by).await?;
    let is_bot = by.as_str().ends_with("[bot]");
    Ok(authorize(command, by, is_bot, permission).map(Request::from))
}

/// Carries out requests that need no comment: those of buttons and of the REST API.
async fn without_a_comment(context: &Context<'_>, request: Request) -> Result<VerbResult, Broken> {
    match request {
        Request::Approve(request) if request.request().gate.is_some() => approve(context, &request, None).await,
        Request::Reject(request) if request.request().gate.is_some() => reject(context, &request, None).await,
        Request::Cancel(request) => cancel::cancel(context, &request).await,
        Request::Retry(request) => retry::retry(context, &request).await,
        _ => Ok(Ok(None)),
    }
}

/// The command that a button of the check run triggers. GitHub's own "Re-run" button means `/greenlight fix`.
fn pressed(identifier: &str) -> Option<Command> {
    if identifier == retry::BUTTON {
        return Some(Command::Retry);
    }
    if identifier == RERUN {
        return Some(Command::Fix);
    }
    let (verb, gate) = identifier.split_once(':')?;
    let gate = Some(gate.parse().ok()?);
    match verb {
        "approve" => Some(Command::Approve { gate }),
        "reject" => Some(Command::Reject { gate, reason: None }),
        _ => None,
    }
}

enum GateLookup {
    Open(Box<Run>, Box<Gate>),
    /// This very comment was recorded before: it was redelivered, or greenlight restarted in between.
    Answered(Box<Run>),
    Refused(Refusal),
}

async fn find(context: &Context<'_>, wanted: Option<&GateId>, said_in: Option<SaidIn>) -> Result<GateLookup, Broken> {
    let mut runs = context.app.journal.runs_of(context.id()).await?;
    let is_broken = |run: &&Run| run.unreadable.is_some() && run.end.is_none();
    for broken in runs.iter().filter(is_broken) {
        // Where nothing else resumes runs, this ends the run and says why.
        pull_request::drive_in(context, broken.clone()).await?;
    }
    Box::pin(vouch::check_approvals(context, &mut runs)).await?;
    if let Some(run) = runs
        .iter()
        .find(|run| said_in.is_some_and(|said_in| run.answered_in.contains(&said_in.comment)))
    {
        return Ok(GateLookup::Answered(Box::new(run.clone())));
    }
    let open: Vec<Gate> = runs.iter().flat_map(Run::open_gates).collect();
    let gate = match gate::choose(&open, wanted) {
        Ok(gate) => gate.clone(),
        Err(refusal) => {
            return Ok(GateLookup::Refused(
                closed(&runs, wanted, &context.pull_request.head).unwrap_or(refusal),
            ));
        }
    };
    // An answer that names no gate refers to what its author could read when writing it.
    if wanted.is_none() && said_in.is_some_and(|said_in| said_in.is_before(gate.opened)) {
        return Ok(GateLookup::Refused(Refusal::WrittenBefore(gate.id)));
    }
    let run = runs.into_iter().find(|run| run.open_gates().contains(&gate));
    let run = run.ok_or_else(|| Broken::Bug("an open gate has no run".into()))?;
    match gate::still_valid(&gate, &context.pull_request.head, context.app.journal.now()) {
        Ok(()) => Ok(GateLookup::Open(Box::new(run), Box::new(gate))),
        Err(refusal) => {
            pull_request::drive_in(context, run).await?;
            let is_late = matches!(refusal, Refusal::Expired(_)) && gate.kind.is_for_the_model();
            Ok(GateLookup::Refused(if is_late {
                Refusal::WentOn(gate.id)
            } else {
                refusal
            }))
        }
    }
}

/// Why a gate that once existed is closed, if there is a better explanation than "nothing is open".
fn closed(runs: &[Run], wanted: Option<&GateId>, head: &CommitSha) -> Option<Refusal> {
    let meant = |run: &&Run| {
        let mut gates = run.gates.iter();
        gates.any(|asked| wanted.is_none_or(|id| asked.gate.id == *id))
    };
    let run = runs.iter().rev().find(meant)?;
    let asked = match wanted {
        Some(id) => run.gates.iter().find(|asked| asked.gate.id == *id)?,
        None => run.gates.last()?,
    };
    match &run.end {
        Some(End::Superseded { .. }) => Some(Refusal::HeadMoved {
            expected: run.started.head.clone(),
            actual: head.clone(),
        }),
        // Only this request ended, and the run continues.
        _ if asked.expired && asked.gate.kind.is_for_the_model() => Some(Refusal::WentOn(asked.gate.id.clone())),
        Some(End::Expired) => Some(Refusal::Expired(asked.gate.id.clone())),
        _ => None,
    }
}

async fn record(
    context: &Context<'_>,
    mut run: Run,
    gate: &Gate,
    answer: Answer,
    said_in: Option<SaidIn>,
) -> Result<VerbResult, Broken> {
    let step = Step::Answered {
        gate: gate.id.clone(),
        answer,
        comment: said_in.map(|said_in| said_in.comment),
        at: Some(context.app.journal.now()),
    };
    context.app.append(&mut run, step).await?;
    continue_run(context, run).await
}

async fn continue_run(context: &Context<'_>, run: Run) -> Result<VerbResult, Broken> {
    pull_request::drive_in(context, run).await?;
    Ok(Ok(None))
}
