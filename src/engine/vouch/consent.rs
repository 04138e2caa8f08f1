//! Verifies the consent to run a pull request's code without an approval: somebody's comment about this very head, or
//! the current configuration.

use jiff::Timestamp;

use super::super::{Broken, Context, start, worktree};
use super::vouched_comment::{self, Doubt};
use crate::domain::command::Command;
use crate::domain::id::CommitSha;
use crate::domain::mode::Mode;
use crate::domain::run::{Consent, Origin, Run};

/// Whether the consent that a run began with is valid; otherwise a sentence that says why not.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn holds(context: &Context<'_>, run: &Run) -> Result<Result<(), String>, Broken> {
    let doubt = match (&run.started.consent, &run.started.origin) {
        (Consent::None, _) => return Ok(Ok(())),
        (Consent::Command { by }, Origin::Comment { id, .. }) => match vouched_comment::read(context, by, *id).await? {
            Ok(word) if !word.commands.iter().flatten().any(|command| begins(command, run)) => {
                Err("the comment does not request this".into())
            }
            Ok(word) => is_of_head(context, Some(word.written), &run.started.head).await?,
            Err(doubt) => Err(doubt),
        },
        // A journal that others can write to has no runs from this command line.
        (Consent::CommandLine, _) => Err("it was not given on GitHub, and only comments are accepted here".into()),
        (Consent::Command { .. }, _) => {
            Err("it was not given in a comment, and only comments are accepted here".into())
        }
        (Consent::Config { .. }, _) => match worktree::config(&context.client, &context.pull_request).await? {
            Ok(config) if start::consent_by_config(context, &config).await? != Consent::None => Ok(()),
            _ => Err("the configuration of the base branch does not allow it".into()),
        },
    };
    Ok(doubt.map_err(|doubt: Doubt| match &run.started.consent {
        Consent::Command { by } => format!(
            "{by} is recorded as having allowed this, but {doubt}. Nothing was executed. If it was meant, comment \
             `/greenlight fix` again."
        ),
        Consent::CommandLine => {
            format!("This run claims to have been started by a person, but {doubt}. Nothing was executed.")
        }
        Consent::None | Consent::Config { .. } => {
            format!("This run started without anybody's request, but {doubt}. Nothing was executed.")
        }
    }))
}

/// Whether this command begins such a run.
fn begins(command: &Command, run: &Run) -> bool {
    match (command, &run.started.mode) {
        (Command::Fix, Mode::Debug) | (Command::Explain, Mode::Explain) => true,
        (Command::Tdd { specification }, Mode::Tdd { specification: wanted }) => specification == wanted,
        (
            Command::Refactor { goal, path },
            Mode::Refactor {
                goal: wanted,
                path: within,
            },
        ) => goal == wanted && path.as_deref() == within.as_ref().map(crate::domain::id::RepoPath::as_str),
        _ => false,
    }
}

/// Whether something written at that time can refer to this head: the branch already pointed to it, and has not moved
/// since.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn is_of_head(
    context: &Context<'_>,
    written: Option<Timestamp>,
    head: &CommitSha,
) -> Result<Result<(), Doubt>, Broken> {
    let pull_request = &context.pull_request;
    let is_from_fork = pull_request.is_from_fork();
    let Some(repository) = &pull_request.head_repository else {
        return Ok(Err("the repository of this branch is gone".into()));
    };
    let pushed = context.client.last_push(repository, &pull_request.head_branch).await?;
    Ok(match (pushed, written) {
        // Anyone who can push to the repository itself could give the command themselves.
        (None, _) if !is_from_fork => Ok(()),
        (None, _) => Err("GitHub does not say when this fork was last pushed to".into()),
        (Some(_), None) => Err("it is not known when it was given".into()),
        (Some(push), Some(written)) => {
            // GitHub's times are whole seconds, and a stranger may have pushed later in the same second.
            let is_before = if is_from_fork {
                push.at < written
            } else {
                push.at <= written
            };
            if is_before && push.head == *head {
                Ok(())
            } else {
                Err("there was a push after it was given".into())
            }
        }
    })
}
