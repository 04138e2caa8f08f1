//! Prepares a run: the tree, the configuration, and the permissions of those who allowed it.

use super::worktree::{self, Worktree};
use super::{Broken, Context, merge};
use crate::domain::count::count;
use crate::domain::gate::GateKind;
use crate::domain::run::{End, Run};
use crate::suite;

/// Fetches the tree and the configuration. Returns an end if the run cannot work.
///
/// # Errors
/// When GitHub or git cannot be reached.
pub(super) async fn set_up(context: &Context<'_>, run: &Run) -> Result<Result<Worktree, End>, Broken> {
    let config = match worktree::config(&context.client, &context.pull_request).await? {
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
            let reason = format!("{login} allowed this, but no longer has write access.");
            return Ok(Err(End::Refused { reason }));
        }
    }
    let worktree = worktree::fetch(context, run, config).await?;
    if let Some(end) = differs(run, &worktree) {
        return Ok(Err(end));
    }
    Ok(match worktree.test_command() {
        Ok(_) => Ok(merge::again(context, run, worktree).await?),
        Err(nothing) => Err(End::NotJudged {
            reason: format!(
                "I found no tests. I looked for: {}. Set `[test]` `command` in `greenlight.toml` on the base branch.",
                nothing.looked_for.join(", ")
            ),
        }),
    })
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
