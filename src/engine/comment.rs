//! Handles a comment: reads its commands, checks its author's permission, carries them out and answers once.

use jiff::Timestamp;

use super::begin::{MAX_TAKING_OVER, begin};
use super::verdict::VerbResult;
use super::{App, Broken, Context, answer, cancel, pull_request, recall, retry, start, undo, vouch};
use crate::domain::command::{self, Command, CommandError};
use crate::domain::event::{Comment, CommentPlace};
use crate::domain::gate::Refusal;
use crate::domain::id::{Account, InstallationId};
use crate::domain::mode::Mode;
use crate::domain::permission::{Authorized, Request, authorize};
use crate::domain::reply;
use crate::domain::run::{Consent, Origin, Run};
use crate::github::PullRequest;
use crate::journal;

/// Processes one comment.
///
/// # Errors
/// When something broke. The author gets a sentence about it.
pub(super) async fn comment(
    app: &App,
    installation: Option<InstallationId>,
    (comment, received): (Comment, Timestamp),
    may_work: bool,
) -> Result<(), Broken> {
    let body = comment.body.clone();
    let Ok(commands) = tokio::task::spawn_blocking(move || command::parse(&body)).await else {
        return Err(Broken::Bug("the commands of a comment could not be parsed".into()));
    };
    if commands.is_empty() || comment.author_is_bot {
        return Ok(());
    }
    let needs_config = commands.iter().flatten().any(needs_config);
    let mut context = match needs_config {
        true => Context::with_config(app, installation, &comment.pull_request).await?,
        false => Context::of(app, installation, &comment.pull_request).await?,
    };
    context.may_work = may_work;
    if comment.author.is(&context.me) {
        return Ok(());
    }
    let is_approval = |command: &Command| matches!(command, Command::Approve { .. });
    let approves = commands.iter().flatten().any(is_approval);
    // What is approved is usually executed, which needs the configuration. Without an answer, it is asked again there.
    let ahead = async {
        match approves {
            true => context.config().await.map(|_| ()),
            false => Ok(()),
        }
    };
    let (_, answered, _) = tokio::join!(
        acknowledge(&context, &comment),
        answer_commands(&context, (&comment, received), commands),
        ahead
    );
    let (answers, failure) = answered?;
    if !answers.is_empty() {
        say(&context, &comment, &answers.join("\n\n")).await?;
    }
    failure.map_or(Ok(()), Err)
}

/// Confirms receipt with the eyes reaction. If it fails, the work is done anyway.
async fn acknowledge(context: &Context<'_>, comment: &Comment) {
    let repository = &context.id().repository;
    let reacted = context
        .client
        .react(repository, comment.place, comment.id, "eyes")
        .await;
    if let Err(error) = reacted {
        tracing::warn!(%error, "the comment could not be acknowledged");
    }
}

/// Carries out the commands of a comment. Returns the answers, and what broke.
async fn answer_commands(
    context: &Context<'_>,
    comment: (&Comment, Timestamp),
    commands: Vec<Result<Command, CommandError>>,
) -> Result<(Vec<String>, Option<Broken>), Broken> {
    let mut answers: Vec<String> = Vec::new();
    for command in commands {
        let mut result = Box::pin(handle_command(context, comment, command.clone())).await;
        // Another process appended first. After what it wrote, the command may mean something else.
        for _ in 0..MAX_TAKING_OVER {
            if !matches!(result, Err(Broken::Journal(journal::Error::Taken))) {
                break;
            }
            result = Box::pin(handle_command(context, comment, command.clone())).await;
        }
        match result {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(text))) => answers.push(text),
            Ok(Err(refusal)) => answers.push(reply::refusal(&refusal)),
            // It is retried later, so an error message would be premature.
            Err(broken) if broken.may_pass() || broken.must_wait() => return Err(broken),
            Err(broken) => {
                answers.push(error_answer(&broken));
                return Ok((answers, Some(broken)));
            }
        }
    }
    Ok((answers, None))
}

/// Whether a command cannot be answered without the configuration.
fn needs_config(command: &Command) -> bool {
    matches!(
        command,
        Command::Fix | Command::Tdd { .. } | Command::Refactor { .. } | Command::Explain | Command::Config
    )
}

/// What the author is told when something breaks.
fn error_answer(broken: &Broken) -> String {
    match (broken, broken.lacks()) {
        (_, Some(lacks)) => reply::not_permitted(&lacks.to_string()),
        (Broken::Journal(journal::Error::Newer(..)), None) => {
            "A newer version of greenlight is working on this pull request, so this one leaves it alone. Upgrade \
             greenlight and repeat the command."
                .into()
        }
        _ => reply::broken(None),
    }
}

/// Posts the one answer to a comment.
async fn say(context: &Context<'_>, comment: &Comment, text: &str) -> Result<(), Broken> {
    let place = match comment.place {
        CommentPlace::Conversation => "c",
        CommentPlace::Review => "r",
    };
    let marker = reply::answer_marker(context.id(), comment.id).replace(" to=", &format!(" {place} to="));
    let body = reply::marked(&marker, text);
    context
        .client
        .comment_once(context.id(), &context.me, &marker, &body)
        .await?;
    Ok(())
}

async fn handle_command(
    context: &Context<'_>,
    (comment, received): (&Comment, Timestamp),
    command: Result<Command, CommandError>,
) -> Result<VerbResult, Broken> {
    let command = match command {
        Ok(command) => command,
        Err(error) => return Ok(Ok(Some(reply::command_error(&error)))),
    };
    match command {
        Command::Help => return Ok(Ok(Some(reply::help()))),
        // With a journal in git refs, a status takes requests to GitHub, which are not made for strangers.
        Command::Status if context.app.journal.is_own() => return Box::pin(status(context)).await,
        Command::Config => return config(context).await,
        _ => {}
    }
    // The permission is fetched now, because the payload's claim about the author may be stale.
    let permission = context
        .client
        .permission(&context.id().repository, &comment.author)
        .await?;
    match authorize(command, &comment.author, comment.author_is_bot, permission).map(Request::from) {
        Ok(Request::Status(_)) => Box::pin(status(context)).await,
        Ok(request) => Box::pin(carry_out(context, (comment, received), request)).await,
        Err(refusal) => Ok(Err(refusal)),
    }
}

async fn carry_out(
    context: &Context<'_>,
    (comment, received): (&Comment, Timestamp),
    request: Request,
) -> Result<VerbResult, Broken> {
    if !context.pull_request.is_open {
        return Ok(Err(Refusal::PullRequestClosed));
    }
    context.app.journal.refuse_newer(context.id()).await?;
    let said_in = answer::SaidIn {
        comment: comment.id,
        received,
        written: comment.written,
    };
    match request {
        Request::Begin(request) => begin_on_comment(context, (comment, received), &request).await,
        Request::Approve(request) => answer::approve(context, &request, Some(said_in)).await,
        Request::Reject(request) => answer::reject(context, &request, Some(said_in)).await,
        Request::Cancel(request) => {
            context.app.interrupts.cancelled(context.id(), received);
            context.app.journal.note_cancel(context.id(), received).await?;
            cancel::cancel(context, &request).await
        }
        Request::Retry(request) => retry::retry(context, &request).await,
        Request::Undo(request) => undo::undo(context, &request).await,
        Request::Status(_) | Request::Help | Request::Config => Ok(Ok(None)),
    }
}

/// Begins a run, unless it was cancelled meanwhile or the head moved.
async fn begin_on_comment(
    context: &Context<'_>,
    (comment, received): (&Comment, Timestamp),
    request: &Authorized<Mode>,
) -> Result<VerbResult, Broken> {
    if context.app.interrupts.was_cancelled_after(context.id(), received)
        || context.app.journal.was_cancelled_after(context.id(), received).await?
    {
        return Ok(Ok(Some("This was cancelled before it started.".into())));
    }
    if was_pushed_since(context, comment, received).await? {
        return Ok(Ok(Some(reply::pushed_since(&context.pull_request.head))));
    }
    let origin = Origin::Comment {
        id: comment.id,
        by: request.by().clone(),
    };
    match request.request() {
        Mode::Explain => explain(context, origin, request.by()).await,
        _ => begin(context, origin, request).await,
    }
}

/// Whether the head of a fork moved after the comment was written: its author consented only to the code they could
/// see. On a branch of the repository itself, anyone who can push could also give the command. Events of review
/// comments name the head; for other comments, the journal knows the pushes from their deliveries. Where the journal
/// is not greenlight's own, GitHub is asked for every branch.
async fn was_pushed_since(context: &Context<'_>, comment: &Comment, received: Timestamp) -> Result<bool, Broken> {
    let is_own = context.app.journal.is_own();
    if is_own && !context.pull_request.is_from_fork() {
        return Ok(false);
    }
    let head = &context.pull_request.head;
    // A run resumed after a restart has the head that was checked when it began.
    let is_mine = |run: &Run| matches!(run.started.origin, Origin::Comment { id, .. } if id == comment.id);
    if context.app.journal.runs_of(context.id()).await?.iter().any(is_mine) {
        return Ok(false);
    }
    if !is_own {
        return Box::pin(vouch::was_pushed_since(context, comment.written)).await;
    }
    if let Some(seen) = &comment.head {
        return Ok(seen != head);
    }
    Ok(context.app.journal.was_pushed_since(context.id(), received).await?)
}

/// Has a model find out why the tests fail, independently of other runs. Without a model, reports what is known so
/// far.
async fn explain(context: &Context<'_>, origin: Origin, by: &Account) -> Result<VerbResult, Broken> {
    if context.app.model.is_none() {
        return Ok(Ok(Some(reply::explanation(newest(context).await?.as_ref()))));
    }
    let config = match context.config().await? {
        Ok(config) => config,
        Err(mistake) => return Ok(Ok(Some(reply::bad_config(&mistake)))),
    };
    let consent = Consent::Command { by: by.clone() };
    // The same comment begins the same run, no matter how often it is delivered.
    let begun = start::start(context, &config, (origin, Mode::Explain), consent).await?;
    pull_request::drive_in(context, begun.run).await?;
    Ok(Ok(None))
}

/// The newest run of this pull request that is not an explanation.
async fn newest(context: &Context<'_>) -> Result<Option<Run>, Broken> {
    let runs = context.app.journal.runs_of(context.id()).await?;
    Ok(runs.into_iter().rfind(|run| run.started.mode != Mode::Explain))
}

async fn status(context: &Context<'_>) -> Result<VerbResult, Broken> {
    let run = newest(context).await?;
    let status = reply::status(run.as_ref(), &context.pull_request.head_branch);
    let id = context.id();
    let unreadable = context.app.journal.unreadable(&id.repository, Some(id.number)).await?;
    let unreadable = unreadable.iter().map(|run| format!("Run `{}`: {}.", run.run, run.why));
    let memory = reply::memory(&recall::recalled(context, None).await?);
    Ok(Ok(Some(
        [status]
            .into_iter()
            .chain(unreadable)
            .chain(memory)
            .collect::<Vec<_>>()
            .join("\n\n"),
    )))
}

async fn config(context: &Context<'_>) -> Result<VerbResult, Broken> {
    Ok(Ok(Some(match context.config().await? {
        Ok(config) => {
            let PullRequest {
                base_branch,
                default_branch,
                ..
            } = &context.pull_request;
            reply::config(&config.to_string(), base_branch, default_branch.as_deref())
        }
        Err(mistake) => reply::bad_config(&mistake),
    })))
}
