//! How long a candidate may take: this many times as long as the tests take without one, or, where one of them never
//! ends, as the others do.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::program::{Limit, SLACK, Target, shell};
use crate::checkout::Workspace;
use crate::domain::test_run::Outcome as TestOutcome;
use crate::sandbox::{self, Outcome};
use crate::suite::Suite;

/// What a candidate may take beyond twice the time that the tests take without it.
const LONG: Duration = Duration::from_secs(10);
/// How long tests may take of which one never ends, and all the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
pub(super) const OTHERS: Duration = Duration::from_secs(10);
/// What one candidate may take where a test without it never ends: nobody knows how long it takes when it does.
const UNMEASURED: Duration = Duration::from_secs(5);

/// What chooses tests of a target.
type Choice = fn(&Target) -> Vec<String>;

/// How long the failing tests take without any candidate, if they fail; and all of them, or the others where one of the
/// failing ones ends the program or never ends.
pub(super) async fn baseline(
    place: (&Suite, &Workspace),
    targets: &[Target],
    before: TestOutcome,
    stop: &CancellationToken,
) -> Result<Option<Limit>, sandbox::Error> {
    let most = place.0.command.timeout;
    let is_endless = before == TestOutcome::TimedOut;
    let patience = if is_endless { PATIENCE.min(most) } else { most };
    let failing: Choice = |target| target.failing.clone();
    let Some((ended, failing)) = codes(place, (targets, failing), patience, stop).await? else {
        return Ok(None);
    };
    if !ended.iter().all(|code| fails(code, is_endless)) {
        return Ok(None);
    }
    let choice: Choice = match before.was_ended() {
        true => |target| target.without(&target.tests()),
        false => |target| target.whole.clone(),
    };
    let others = if is_endless { OTHERS.min(most) } else { most };
    let Some((ended, mut usual)) = codes(place, (targets, choice), others, stop).await? else {
        return Ok(None);
    };
    if !before.was_ended() && !ended.iter().all(|code| fails(code, false)) {
        return Ok(None);
    }
    if before.was_ended() && !targets.iter().all(|target| target.can_skip) {
        // It ended as early as before.
        usual = OTHERS.min(most);
    }
    let (least, least_whole) = (Duration::from_secs(1), Duration::from_secs(2));
    Ok(Some(Limit {
        failing: match is_endless {
            true => (usual * 10).max(least).min(UNMEASURED).min(most),
            false => longer(failing).max(least).min(most),
        },
        whole: longer(usual).max(least_whole).min(most),
    }))
}

/// At most this many times as long; but what takes long takes long because it fails, or would take as long for every
/// candidate.
fn longer(took: Duration) -> Duration {
    (took * 10).min(took * 2 + LONG)
}

/// Whether an exit code is that of failing tests, or of those that never end where that is what they do.
fn fails(code: &str, is_endless: bool) -> bool {
    !matches!(code, "0" | "125" | "126" | "127") && (is_endless || !matches!(code, "124" | "137"))
}

/// The exit codes of all targets, one after the other, so that each is known to run to its end; and how long it took.
async fn codes(
    (suite, workspace): (&Suite, &Workspace),
    (targets, choice): (&[Target], Choice),
    limit: Duration,
    stop: &CancellationToken,
) -> Result<Option<(Vec<String>, Duration)>, sandbox::Error> {
    let steps = targets.iter().map(|target| target.start(&choice(target), limit));
    let Some(steps) = steps.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let count = u32::try_from(targets.len()).unwrap_or(u32::MAX);
    let script = steps
        .iter()
        .map(|step| format!("{step} >/dev/null 2>&1 </dev/null; echo code $?"))
        .collect::<Vec<_>>()
        .join("\n");
    let wall = limit.saturating_mul(count).min(suite.command.timeout) + SLACK;
    let ran = shell(suite, workspace, &script, wall, stop).await?;
    let lines = ran.printed.lines().filter_map(|line| line.strip_prefix("code "));
    let codes: Vec<String> = lines.map(String::from).collect();
    let is_whole = ran.outcome == Outcome::Exited(0) && codes.len() == targets.len();
    Ok(is_whole.then_some((codes, ran.wall)))
}
