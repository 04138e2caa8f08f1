//! How long a candidate may take: so many times as long as the tests take without one, or, where one of them never ends, as
//! the others do.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::program::{SLACK, Target, shell};
use crate::checkout::Workspace;
use crate::sandbox::{self, Outcome};
use crate::suite::Suite;

/// What a candidate may take beyond twice the time that the tests take without it.
const LONG: Duration = Duration::from_secs(10);
/// How long tests may take of which one never ends, and all the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
pub(super) const OTHERS: Duration = Duration::from_secs(10);
/// What one candidate may take where a test without it never ends: nobody knows how long it takes when it does.
const UNMEASURED: Duration = Duration::from_secs(5);

/// How long the tests take at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) failing: Duration,
    pub(super) whole: Duration,
}

/// What chooses tests of a target.
type Choice = fn(&Target) -> Vec<String>;

/// How long the failing tests take without any candidate, if they fail; and all of them.
pub(super) async fn baseline(
    (suite, workspace): (&Suite, &Workspace),
    targets: &[Target],
    stop: &CancellationToken,
) -> Result<Option<Limit>, sandbox::Error> {
    let most = suite.command.timeout;
    let mut took = Vec::new();
    for choice in [|target: &Target| target.failing.clone(), |target| target.whole.clone()] as [Choice; 2] {
        let Some((codes, wall)) = codes((suite, workspace), (targets, choice), most, stop).await? else {
            return Ok(None);
        };
        let fails = |code: &String| fails(code) && !matches!(code.as_str(), "124" | "137");
        if !codes.iter().all(fails) {
            return Ok(None);
        }
        took.push(wall);
    }
    let [failing, whole] = took.as_slice() else {
        return Ok(None);
    };
    // What takes long takes long because it fails, or would take as long for every candidate.
    let usual = |took: Duration| (took * 10).min(took * 2 + LONG);
    let limit = |took: Duration, least: u64| usual(took).max(Duration::from_secs(least)).min(most);
    Ok(Some(Limit {
        failing: limit(*failing, 1),
        whole: limit(*whole, 2),
    }))
}

/// The same where a test never ends: the others are what time is measured by.
pub(super) async fn patient_baseline(
    (suite, workspace): (&Suite, &Workspace),
    targets: &[Target],
    stop: &CancellationToken,
) -> Result<Option<Limit>, sandbox::Error> {
    let most = suite.command.timeout;
    let place = (suite, workspace);
    let failing: Choice = |target| target.failing.clone();
    let Some((ended, _)) = codes(place, (targets, failing), PATIENCE.min(most), stop).await? else {
        return Ok(None);
    };
    let others: Choice = |target| target.without(&target.tests());
    let Some((_, wall)) = codes(place, (targets, others), OTHERS.min(most), stop).await? else {
        return Ok(None);
    };
    let least = [1, 2].map(Duration::from_secs);
    Ok(ended.iter().all(|code| fails(code)).then(|| Limit {
        failing: (wall * 10).max(least[0]).min(UNMEASURED).min(most),
        whole: (wall * 10).max(least[1]).min(most),
    }))
}

fn fails(code: &str) -> bool {
    !matches!(code, "0" | "125" | "126" | "127")
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
