//! Fixes without a model: the tools' own fixes, reverted hunks of the pull request, and single small edits, the most
//! promising first. The tests judge each of them.
//!
//! The order decides how long a search takes. Code is ranked by what failing tests mention and execute, by what
//! failures point at and by what the pull request changed ([`localise`], [`suspect`]). Edits are ranked by their
//! template ([`templates`]), and a candidate by both ([`candidates`]). Candidates are tried in the fastest available
//! way ([`runner`]). A candidate counts only if it improves the whole suite in a fresh copy of the tree, and is
//! proposed only if it is certain enough ([`gate`]). Test code is never edited, nor are files that the caller
//! protects.
//!
//! Not in here: in which order all of that is done, and what becomes of it.

#![warn(missing_docs)]

mod apart;
mod candidates;
mod dead_branch;
mod evidence;
mod exit_code;
mod expected;
mod explain;
mod found;
mod gate;
mod generated;
mod hints;
mod language;
mod localise;
mod nonsense;
mod outline;
mod pairs;
mod process_runner;
mod reach;
mod revert;
mod risks;
mod rows;
mod runner;
mod same_answer;
mod same_argument;
mod schemata;
mod search_loop;
mod source_map;
mod spectrum;
mod spelling;
mod suspect;
mod syntax;
mod task;
mod template;
mod templates;
mod tools;
mod turned_down;
mod unbound;
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
pub use self::task::{Budget, LeftOut, Task};
pub use self::tools::{FixKind, ToolFix, tool_fixes};
use self::turned_down::TurnedDown;

/// At most one part in this many of the time is spent on finding out what the tests execute.
const SPECTRUM_SHARE: u32 = 6;

/// Searches for a single edit that makes the tests better, and otherwise for one edit for each of several failing tests.
/// Reports after each candidate.
///
/// # Errors
/// When the tree cannot be copied, or the sandbox fails. A failing candidate is not an error.
pub async fn search(
    task: &Task<'_>,
    budget: &Budget,
    progress: &mut (dyn FnMut(Progress) + Send),
    cancel: &CancellationToken,
) -> Result<End, suite::Error> {
    let deadline = Instant::now() + budget.wall;
    let end = one_edit(task, &apart::together(task, budget), progress, cancel).await?;
    Box::pin(apart::search(task, (budget, deadline), end, progress, cancel)).await
}

/// Searches for a single edit that makes the tests better.
async fn one_edit(
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
        let mut reverts = match task.left_out.reverts {
            true => Vec::new(),
            false => revert::candidates(task),
        };
        let is_searched = !task.left_out.edits && is_searched(task.before.outcome);
        let mut first = match task.left_out.suggestions {
            true => Vec::new(),
            false => Box::pin(hints::candidates(task, &stop)).await?,
        };
        hints::give_way(&mut first, &mut reverts);
        first.extend(reverts);
        first.sort_by(|a, b| b.score.total_cmp(&a.score));
        if first.is_empty() && !is_searched {
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
            seen: std::sync::Mutex::default(),
            known: std::sync::Mutex::default(),
            cancel,
        };
        let mut quarry = CandidateSource {
            first: first.into_iter(),
            edits: is_searched.then_some(&mut candidates),
            closer: Some(search_loop::Closer::default()),
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

/// Cancels at the deadline and never returns, so that the cancelled work can finish.
async fn stop_at(deadline: Instant, stop: &CancellationToken) -> std::convert::Infallible {
    sleep_until(deadline).await;
    stop.cancel();
    std::future::pending().await
}

/// The most suspicious locations judged by reading alone, the worst first; nothing is executed.
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
    let mut evidence = Evidence::new(task.before, task.changed, &paths);
    evidence.generated = generated::DeclaredFiles::of(task);
    evidence.follow_source_maps(&paths, |path| checkout.read_text(path));
    let named = evidence.files();
    let is_editable =
        |path: &&RepoPath| !(task.protected)(path) && (task.suite.command.may_run(path) || named.contains(*path));
    let editable = paths.iter().filter(is_editable).cloned().collect();
    let stop = stop.clone();
    let reading = tokio::task::spawn_blocking(move || localise::suspects(&checkout, &editable, &evidence, &stop));
    Ok(reading
        .await
        .map_err(|error| sandbox::Error::Broken(std::io::Error::other(error)))?)
}
