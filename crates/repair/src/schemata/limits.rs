//! Time limits of a candidate: a multiple of the time that the tests take without one, or, if one of them never ends,
//! of the time that the others take.

use std::time::Duration;

use greenlight_readers::test_run::Outcome as TestOutcome;
use greenlight_sandbox as sandbox;
use greenlight_sandbox::Outcome;
use greenlight_suite::Suite;
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use super::program::{Limit, SLACK, Target, shell};

/// How much longer than twice the time of the tests a candidate may take.
const LONG: Duration = Duration::from_secs(10);
/// Time limits for tests of which one never ends, and for all the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
pub(super) const OTHERS: Duration = Duration::from_secs(10);
/// Time limit of one candidate if a test never ends without it: its normal duration is unknown.
const UNMEASURED: Duration = Duration::from_secs(5);

/// Returns the arguments that select tests of a target.
type Choice = fn(&Target) -> Vec<String>;

/// Measures how long the failing tests take without any candidate, if they fail; and how long all tests take, or the
/// others if one of the failing ones ends the program or never ends.
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
        // The program ended as early as before, so nothing was measured.
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

/// Ten times the time, but at most `LONG` more than twice the time: slow tests are slow because they fail, or are as
/// slow for every candidate.
fn longer(took: Duration) -> Duration {
    (took * 10).min(took * 2 + LONG)
}

/// Whether an exit code is that of failing tests, or, if they never end, that of a timeout.
fn fails(code: &str, is_endless: bool) -> bool {
    !matches!(code, "0" | "125" | "126" | "127") && (is_endless || !matches!(code, "124" | "137"))
}

/// Runs all targets one after the other and returns their exit codes, and how long it took. `None` if one did not
/// finish.
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
