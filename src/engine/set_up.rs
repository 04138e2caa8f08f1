//! Prepares a run: the tree, the configuration, and the permissions of those who allowed it.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::worktree::{self, ListedFiles, Worktree};
use super::{Broken, Context, merge, stop, suitable};
use crate::domain::count::count;
use crate::domain::gate::GateKind;
use crate::domain::run::{End, Run};
use crate::suite;

/// Fetches the tree and the configuration. Returns an end if the run cannot work. `listed` are the files of the pull
/// request, if this step has listed them already.
///
/// # Errors
/// When GitHub or git cannot be reached.
pub(super) async fn set_up(
    context: &Context<'_>,
    run: &Run,
    listed: &OnceCell<Arc<ListedFiles>>,
) -> Result<Result<Worktree, End>, Broken> {
    let listed = listed.get_or_try_init(|| worktree::list(context));
    let commits = worktree::commits_of(context, run);
    // What fails is compared with the merge base. Without an answer, it is asked again there.
    let base = async {
        match run.vouched_by().is_empty() || run.reproduced.is_some() {
            true => Ok(None),
            false => context.merge_base(run).await,
        }
    };
    let (config, refused, listed, commits, _) =
        tokio::join!(context.config(), no_longer_allowed(context, run), listed, commits, base);
    let config = match config? {
        Ok(config) => config,
        Err(mistake) => {
            return Ok(Err(End::Refused {
                reason: format!("greenlight.toml on the base branch cannot be used: {mistake}"),
            }));
        }
    };
    if let Some(end) = refused? {
        return Ok(Err(end));
    }
    if let Some(end) = suitable::refused(context, &config)? {
        return Ok(Err(end));
    }
    commits?;
    let listed = Arc::clone(listed?);
    let worktree = worktree::fetch(context, run, config, &listed).await?;
    if let Some(end) = differs(run, &worktree) {
        return Ok(Err(end));
    }
    let command = worktree.test_command();
    if let Ok(command) = &command {
        suitable::look_for_tools(context, &worktree.config, command).await?;
    }
    Ok(match command {
        Ok(_) => Ok(merge::again(context, run, worktree).await?),
        Err(nothing) => Err(End::NotJudged {
            reason: format!(
                "I found no tests. I looked for: {}. Set `[test]` `command` in `greenlight.toml` on the base branch.",
                nothing.looked_for.join(", ")
            ),
        }),
    })
}

/// The end of a run that somebody allowed, if they no longer may, or the pull request is no longer what they allowed.
/// All of it is asked now, because the next step may execute code.
///
/// # Errors
/// When GitHub cannot be reached.
async fn no_longer_allowed(context: &Context<'_>, run: &Run) -> Result<Option<End>, Broken> {
    let people = run.vouched_by();
    if people.is_empty() {
        return Ok(None);
    }
    let (client, repository) = (&context.client, &context.id().repository);
    let permissions = people.iter().map(|person| client.permission(repository, person));
    let permissions = futures::future::try_join_all(permissions);
    let (now, permissions) = tokio::try_join!(client.pull_request(context.id()), permissions)?;
    if let Some(end) = stop::outdated(run, &now) {
        return Ok(Some(end));
    }
    let mut answers = people.iter().zip(permissions);
    Ok(answers
        .find(|(_, permission)| !permission.may_approve())
        .map(|(login, _)| {
            let reason = format!("{login} allowed this, but no longer has write access.");
            End::Refused { reason }
        }))
}

/// The end of a run that would now execute something other than what was approved.
fn differs(run: &Run, worktree: &Worktree) -> Option<End> {
    let refused = |approved: &str, now: &str| {
        Some(End::Refused {
            reason: format!(
                "The approval was for running {approved}, but the base branch now says {now}. Nothing was executed. \
                 `/greenlight fix` starts again."
            ),
        })
    };
    if let (Ok(now), Some((gate, command, minutes))) = (worktree.test_command(), run.granted()) {
        let is_search = matches!(gate, GateKind::Search { .. });
        let now_command = worktree.executes_for_gate(is_search).unwrap_or_default();
        let now_minutes = minutes_of(&now);
        if now_command != command || now_minutes != minutes {
            return refused(
                &format!("`{command}` for at most {}", count(minutes, "minute")),
                &format!("`{now_command}` and {}", count(now_minutes, "minute")),
            );
        }
    }
    let asked = run.request().filter(|asked| asked.is_approved())?;
    let now = worktree.executes_for(&run.deferred.as_ref()?.execution.what);
    let quoted = |command: &Option<String>| {
        command
            .as_ref()
            .map_or("nothing else".into(), |text| format!("`{text}`"))
    };
    if now != asked.gate.circumstances.command {
        return refused(&quoted(&asked.gate.circumstances.command), &quoted(&now));
    }
    None
}

/// The time limit of a test command in minutes, as gates show it.
pub(super) fn minutes_of(command: &suite::TestCommand) -> u64 {
    command.timeout.as_secs().div_ceil(60)
}
