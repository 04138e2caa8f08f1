//! Reads a comment again that is said to allow something.

use jiff::{SignedDuration, Timestamp};

use super::super::{Broken, Context};
use super::announced::Announced;
use crate::domain::command::{self, Command, CommandError};
use crate::domain::event::CommentPlace;
use crate::domain::gate::Gate;
use crate::domain::id::Account;
use crate::domain::run::{Approval, Run};
use crate::github::CurrentComment;

/// Why a comment does not count, as the rest of a sentence.
pub(super) type Doubt = String;

/// The commands of a comment whose author was verified.
pub(super) struct VouchedComment {
    pub(super) author: Account,
    pub(super) commands: Vec<Result<Command, CommandError>>,
    pub(super) written: Timestamp,
}

/// Reads the comment that a person is said to have written. They must have write access now.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn read(
    context: &Context<'_>,
    by: &Account,
    comment: u64,
) -> Result<Result<VouchedComment, Doubt>, Broken> {
    let mut found = None;
    // The two kinds of comments are numbered separately, and which one was meant is only a claim, too.
    for place in [CommentPlace::Conversation, CommentPlace::Review] {
        let current = context
            .client
            .current_comment(&context.id().repository, (place, comment))
            .await?;
        let is_here = |current: &CurrentComment| current.number == Some(context.id().number);
        match current {
            Some(current) if is_here(&current) => {
                found = Some(current);
                break;
            }
            current => found = found.or(current),
        }
    }
    let Some(current) = found else {
        return Ok(Err("the comment that gave it is gone".into()));
    };
    if current.number != Some(context.id().number) {
        return Ok(Err(
            "the comment it refers to does not belong to this pull request".into()
        ));
    }
    if by.id.is_none() || current.author.id != by.id {
        return Ok(Err("the comment it refers to was written by somebody else".into()));
    }
    if current.is_bot {
        return Ok(Err("a bot wrote it, and only people's comments count".into()));
    }
    if current.is_edited {
        return Ok(Err("the comment was edited, and only unedited comments count".into()));
    }
    let permission = context.client.permission(&context.id().repository, by).await?;
    if !permission.may_approve() {
        return Ok(Err("they no longer have write access".into()));
    }
    let (body, written) = (current.body, current.written);
    let Ok(commands) = tokio::task::spawn_blocking(move || command::parse(&body)).await else {
        return Err(Broken::Bug("the commands of a comment could not be parsed".into()));
    };
    Ok(Ok(VouchedComment {
        author: current.author,
        commands,
        written,
    }))
}

/// The author of an approval, if it approves exactly this gate and was written while the gate was shown.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn approves(
    context: &Context<'_>,
    (run, gate): (&Run, &Gate),
    approval: &Approval,
    announced: &Announced,
) -> Result<Result<Account, Doubt>, Broken> {
    let Some(comment) = approval.comment else {
        return Ok(Err(
            "it was not given in a comment, and only comments are accepted here".into(),
        ));
    };
    let word = match read(context, &approval.by, comment).await? {
        Ok(word) => word,
        Err(doubt) => return Ok(Err(doubt)),
    };
    let means_it = |command: &Command| match command {
        Command::Approve { gate: Some(named) } => *named == gate.id,
        Command::Approve { gate: None } => !gate.kind.wants_its_name(),
        _ => false,
    };
    if !word.commands.iter().flatten().any(means_it) {
        return Ok(Err("the comment does not approve this request".into()));
    }
    let stands = i64::try_from(run.started.gate_seconds).map_or(SignedDuration::MAX, SignedDuration::from_secs);
    if !announced.showed(gate, word.written, stands) {
        let why = "the comment was not written while greenlight's comment showed this request";
        return Ok(Err(why.into()));
    }
    Ok(Ok(word.author))
}
