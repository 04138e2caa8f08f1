//! Fixes without a model: what the tools would do automatically, hunks of the pull request put back, and single small
//! edits, the most promising first, each judged by the tests.
//!
//! The order decides how long it takes. Code is ranked by what failing tests mention and execute, by what failures point
//! at and by what the pull request changed ([`localise`], [`suspect`]); edits by the idea behind them ([`templates`]); and a
//! candidate by both ([`candidates`]). They are tried in the fastest way there is ([`runner`]); a candidate counts only when
//! the whole suite is better with it in a fresh copy of the tree, and is proposed only when it is sure enough ([`gate`]).
//! Test code is never edited, nor is what the caller protects.
//!
//! Not here: in which order all of that is done, and what becomes of it.

mod candidates;
mod evidence;
mod expected;
mod explain;
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
mod templates;
mod tools;
mod turned_down;
mod verdict;
mod warm;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::candidates::Candidates;
use self::evidence::Evidence;
use self::gate::Gate;
use self::runner::Runner;
use self::search_loop::CandidateSource;
pub use self::spelling::is_spelled_like;
use self::suspect::{Ranking, Suspect};
pub use self::tools::{ToolFix, tool_fixes};
use self::turned_down::TurnedDown;
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::search::{Rung, Unverified};
use crate::domain::test_run::{Outcome, TestRun};
use crate::sandbox;
use crate::suite::{self, Suite};

/// What of the time goes into finding out what the tests execute, at most.
const SPECTRUM_SHARE: u32 = 6;

/// When to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How many candidates may be tried.
    pub candidates: u32,
    /// How long it may take in all.
    pub wall: Duration,
}

/// What to repair.
pub struct Task<'a> {
    /// The tree with the fault; edits it already has become part of the patch.
    pub checkout: &'a Checkout,
    pub suite: &'a Suite,
    /// The run of the whole suite that was red.
    pub before: &'a TestRun,
    /// Lines that the pull request changed, from 1, in the tree as it is now; may be empty.
    pub changed: &'a BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// The files that the pull request changed, as they were before it, where they were there; may be empty.
    pub originals: &'a BTreeMap<RepoPath, String>,
    /// Says which files must not be edited, besides test code.
    pub protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// Digests of patches that were rejected before ([`Patch::digest`]).
    pub excluded: &'a [String],
    /// Patches of this tree that were rejected before: what says the same in other words, or does the same, is left out.
    pub turned_down: &'a [Patch],
    /// Digests of candidates that were tried before, as [`Progress`] told them, and are not tried again.
    pub tried: &'a [String],
    pub left_out: LeftOut,
}

/// What a search leaves out, because somebody said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each can be left out without the others")]
pub struct LeftOut {
    /// Hunks of the pull request are not put back.
    pub reverts: bool,
    /// No small edits are tried.
    pub edits: bool,
    /// Edits that pass the tests are not run side by side.
    pub comparison: bool,
}

/// How far the search is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub tried: u32,
    /// How many candidates there are at most, within the budget; an estimate that gets better.
    pub total_estimate: u32,
    /// The file that was edited last.
    pub current: RepoPath,
    /// The digest of the candidate that was judged last, if it did not hold.
    pub failed: Option<String>,
}

/// A patch after which all tests pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassingPatch {
    pub patch: Patch,
    /// One sentence without its full stop, in Markdown: what became what, and where.
    pub explanation: String,
    pub candidates_tried: u32,
    /// Where it comes from: a hunk that was put back, or a small edit.
    pub rung: Rung,
    /// The places that looked most suspicious, the worst first.
    pub suspects: Vec<(RepoPath, u32)>,
    /// The whole suite on a fresh copy with the patch, which shares nothing with the search.
    pub after: TestRun,
}

/// What was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    pub candidates: u32,
    /// The places that looked most suspicious, the worst first.
    pub suspects: Vec<(RepoPath, u32)>,
    /// Patches that pass the tests, the likeliest first.
    pub unverified: Vec<Unverified>,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Found(Box<PassingPatch>),
    /// Every candidate was tried, or what passes the tests is as likely as something else that does, too.
    NotFound(Tried),
    /// There are more candidates than the budget has room for.
    BudgetSpent(Tried),
    Cancelled,
}

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
        let reverts = match task.left_out.reverts {
            true => Vec::new(),
            false => revert::candidates(task),
        };
        let is_searched = !task.left_out.edits && is_searched(task.before.outcome);
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

/// Whether small edits are tried at all: code that does not build, or that a linter complains about, is seldom fixed by
/// one, but perhaps by putting back what the pull request changed. What fails while tests are loaded was executed, too.
fn is_searched(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Failed
            | Outcome::Panicked
            | Outcome::TimedOut
            | Outcome::Crashed
            | Outcome::OutOfMemory
            | Outcome::DidNotCollect
    )
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
