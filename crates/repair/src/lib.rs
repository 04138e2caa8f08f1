//! Fixes without a model: what the tools would do automatically, hunks of the pull request put back, and single small
//! edits, the most promising first, each judged by the tests.
//!
//! The order decides how long it takes. Code is ranked by what failing tests mention and execute, by what failures point
//! at and by what the pull request changed ([`localise`], [`suspect`]); edits by the idea behind them ([`templates`]); and a
//! candidate by both ([`candidates`]). They are tried in the fastest way there is ([`runner`]); a candidate counts only when
//! the whole suite is better with it in a fresh copy of the tree, and is proposed only when it is sure enough ([`gate`]).
//! Test code is never edited, nor is what the caller protects.
//!
//! Not in here: in which order all of that is done, and what becomes of it.

#![warn(missing_docs)]

mod candidates;
mod evidence;
mod expected;
mod explain;
mod found;
mod gate;
mod language;
mod localise;
mod outline;
mod process_runner;
mod reach;
mod revert;
mod rows;
mod runner;
mod schemata;
mod search_loop;
mod spectrum;
mod spelling;
mod suspect;
mod syntax;
mod task;
mod template;
mod templates;
mod tools;
mod turned_down;
mod verdict;
mod warm;

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_sandbox as sandbox;
use greenlight_suite as suite;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::candidates::Candidates;
use self::evidence::Evidence;
pub use self::found::{End, Finding, Origin, PassingPatch, Progress, Tried};
use self::gate::Gate;
use self::runner::{Runner, is_searched};
use self::search_loop::CandidateSource;
pub use self::spelling::is_spelled_like;
use self::suspect::{Ranking, Suspect};
pub use self::task::{Budget, Task};
pub use self::tools::{FixKind, ToolFix, tool_fixes};
use self::turned_down::TurnedDown;

/// What of the time goes into finding out what the tests execute, at most.
const SPECTRUM_SHARE: u32 = 6;

/// Searches for a single edit that makes the tests better, and reports after each candidate.
///
/// # Errors
/// When the tree cannot be copied, or the sandbox fails; nothing that the candidates do is an error.
pub async fn search(
    task: &Task<'_>,
    budget: &Budget,
    progress: &mut (dyn FnMut(Progress) + Send),
    cancel: &CancellationToken,
) -> Result<End, suite::Error> {
    let deadline = Instant::now() + budget.wall;
    let stop = cancel.child_token();
    let mut tried = Tried::default();
    let searching = async {
        let Some(mut suspects) = localised(task, &stop).await? else {
            return Ok(search_loop::End::Stopped);
        };
        tried.suspects = suspect::places(&suspects);
        let reverts = revert::candidates(task);
        let is_searched = is_searched(task.before.outcome);
        if reverts.is_empty() && !is_searched {
            return Ok(search_loop::End::NothingLeft);
        }
        let Some(runner) = Runner::set_up(task, &stop).await? else {
            return Ok(match stop.is_cancelled() {
                true => search_loop::End::Stopped,
                false => search_loop::End::NothingLeft,
            });
        };
        if let Some(spectrum) = runner.spectrum(budget.wall / SPECTRUM_SHARE, &stop).await? {
            suspect::weigh(&mut suspects, &spectrum);
            tried.suspects = suspect::places(&suspects);
        }
        let ranking = Ranking::of(&suspects);
        let printed = expected::texts(task.before);
        let mut candidates = Candidates::new((task.checkout, printed), suspects, (task.excluded, task.tried));
        let turned_down = TurnedDown::of(task);
        let gate = Gate {
            task,
            runner: &runner,
            ranking: &ranking,
            turned_down: &turned_down,
            cancel,
        };
        let mut quarry = CandidateSource {
            reverts: reverts.into_iter(),
            edits: is_searched.then_some(&mut candidates),
        };
        let found = &mut tried;
        search_loop::search_candidates(&gate, budget.candidates, &mut quarry, (found, progress), &stop).await
    };
    let end = tokio::select! {
        ended = searching => ended?,
        never = stop_at(deadline, &stop) => match never {},
    };
    Ok(match end {
        search_loop::End::Found(found) => End::Found(found),
        _ if cancel.is_cancelled() => End::Cancelled,
        search_loop::End::NothingLeft => End::NotFound(tried),
        search_loop::End::Stopped => End::BudgetSpent(tried),
    })
}

/// Cancels at the deadline and never returns, so that what is cancelled can come to its own end.
async fn stop_at(deadline: Instant, stop: &CancellationToken) -> std::convert::Infallible {
    sleep_until(deadline).await;
    stop.cancel();
    std::future::pending().await
}

/// The places that look most suspicious by what can be read, the worst first; nothing is executed.
///
/// # Errors
/// When the tree cannot be read.
pub async fn suspects(task: &Task<'_>, cancel: &CancellationToken) -> Result<Vec<(RepoPath, u32)>, suite::Error> {
    let found = localised(task, cancel).await?;
    Ok(found.map_or_else(Vec::new, |suspects| suspect::places(&suspects)))
}

/// Reads the tree and ranks its code. `None` when stopped.
async fn localised(task: &Task<'_>, stop: &CancellationToken) -> Result<Option<Vec<Suspect>>, suite::Error> {
    let checkout = task.checkout.clone();
    let paths: BTreeSet<RepoPath> = checkout.paths().into_iter().cloned().collect();
    let editable = paths.iter().filter(|path| !(task.protected)(path)).cloned().collect();
    let evidence = Evidence::new(task.before, task.changed, &paths);
    let stop = stop.clone();
    let reading = tokio::task::spawn_blocking(move || localise::suspects(&checkout, &editable, &evidence, &stop));
    Ok(reading
        .await
        .map_err(|error| sandbox::Error::Broken(std::io::Error::other(error)))?)
}
