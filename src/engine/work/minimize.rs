//! Removes unnecessary parts of a patch, within a small budget, and proves the rest.
//!
//! Candidates are tried in one workspace with only the failing tests, which is quick but can be wrong. The result
//! counts only if the whole suite passes on a fresh copy, as for any other patch. That is the only run of the whole
//! suite, unless it shows that a part is needed after all. What does not parse is not tried.
//! Whole hunks are left out, and single lines only if nothing can need them: comments, and cases that no test covers,
//! may be right.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::super::worktree::Worktree;
use super::{Broken, Red, prove};
use crate::checkout::Workspace;
use crate::domain::id::RepoPath;
use crate::domain::minimize::{self, Functions, Minimization, PatchPiece};
use crate::domain::patch::{FileChange, Patch};
use crate::domain::proposal::{Claim, Evidence, LeftOut, Unfit};
use crate::domain::test_run::{Outcome, TestRun};
use crate::guard;
use crate::suite::{self, Purpose, Suite};

/// How many test runs the minimization may take, including the last ones on fresh copies.
const MAX_RUNS: u32 = 10;
/// The divisor of a run's time limit that it may take.
const PART_OF_WALL: u32 = 5;
/// Runs reserved for the final proofs, of at most three candidates.
const RESERVED: u32 = 3;

/// What is needed to try the candidates.
struct Trial<'a> {
    worktree: &'a Worktree,
    suite: Suite,
    patch: &'a Patch,
    /// The tests that failed before. Empty means all tests.
    only: Vec<String>,
    /// One workspace for all candidates. `None` if the patch adds or deletes files, which needs a copy for each
    /// candidate.
    workspace: Option<Workspace>,
    runs_left: u32,
    until: Instant,
    cancel: &'a CancellationToken,
}

/// Proves a fix without the parts that the tests do not need, or else the whole of it. If that passes, but not without
/// those parts, some of them may still be needless.
///
/// # Errors
/// When the sandbox cannot be used. A patch that cannot be proved is `Ok(Err(why))`.
pub(super) async fn prove_smallest(
    worktree: &Worktree,
    suite: &Suite,
    patch: Patch,
    red: &Red<'_>,
    cancel: &CancellationToken,
) -> Result<Result<(Patch, Evidence), Unfit>, Broken> {
    let mut candidates = Box::pin(smaller(worktree, suite, &patch, red, cancel))
        .await?
        .into_iter();
    let proved = async |(smaller, left_out): (Patch, LeftOut)| -> Result<Option<(Patch, Evidence)>, Broken> {
        let proved = Box::pin(prove(worktree, suite, (&smaller, Claim::Fix), red, cancel)).await?;
        tracing::info!(
            hunks = left_out.hunks,
            of = left_out.of,
            lines = left_out.lines,
            is_proved = proved.is_ok(),
            "a patch was minimized"
        );
        let evidence = proved.ok().map(|proof| Evidence {
            left_out: Some(left_out),
            ..proof
        });
        Ok(evidence.map(|evidence| (smaller, evidence)))
    };
    if let Some(smallest) = candidates.next()
        && let Some(proved) = proved(smallest).await?
    {
        return Ok(Ok(proved));
    }
    let whole = match Box::pin(prove(worktree, suite, (&patch, Claim::Fix), red, cancel)).await? {
        Ok(evidence) => (patch, evidence),
        Err(unfit) => return Ok(Err(unfit)),
    };
    for smaller in candidates.take_while(|_| !cancel.is_cancelled()) {
        if let Some(proved) = proved(smaller).await? {
            return Ok(Ok(proved));
        }
    }
    Ok(Ok(whole))
}

/// Smaller patches with which the failing tests pass, from the smallest to the most likely one: if one breaks a test that
/// was not tried, the next is to be proved. None if they fail with the whole patch, too.
async fn smaller(
    worktree: &Worktree,
    suite: &Suite,
    patch: &Patch,
    red: &Red<'_>,
    cancel: &CancellationToken,
) -> Result<Vec<(Patch, LeftOut)>, Broken> {
    let silent = guard::silent_lines(patch);
    let hunks = minimize::hunks(patch, &silent);
    let noise = minimize::noise(patch, &hunks);
    let (functions, leftovers) = (guard::functions(patch), guard::leftovers(patch));
    let has_nothing = minimize::units(&hunks, &functions).len() < 2
        && minimize::judged(&minimize::lines(&hunks, &leftovers)).is_empty();
    // No test depends on another, so new tests would be removed first.
    let has_tests = || patch.files().any(|(path, change)| guard::touches_tests(path, change));
    if has_nothing || has_tests() {
        return Ok(Vec::new());
    }
    let mut trial = Trial::new(worktree, suite, (patch, red.before), cancel).await?;
    if !trial.passes_with(&hunks).await? {
        return Ok(Vec::new());
    }
    // Changes of formatting alone are removed in one step.
    let without_noise = select(&hunks, |at| !noise[at]);
    let mut kept = hunks.clone();
    if !without_noise.is_empty() && without_noise.len() < hunks.len() && trial.passes_with(&without_noise).await? {
        kept = without_noise.clone();
    }
    kept = trial.search(kept, &functions).await?;
    let hunks_kept = kept.len();
    let all_lines = minimize::lines(&kept, &leftovers);
    let without = minimize::with_silent(&all_lines, &[]);
    let lines = if without.len() < all_lines.len() && trial.passes_with(&without).await? {
        without
    } else {
        trial.search(all_lines.clone(), &Functions::new()).await?
    };
    let gone = |pieces: usize, lines: usize| LeftOut {
        hunks: hunks.len() - pieces,
        of: hunks.len(),
        lines,
    };
    let fewer_lines =
        (lines.len() < all_lines.len()).then(|| (lines.clone(), gone(hunks_kept, all_lines.len() - lines.len())));
    let fewer_hunks = (hunks_kept < hunks.len()).then(|| (kept.clone(), gone(hunks_kept, 0)));
    let no_noise = (hunks_kept < without_noise.len() && without_noise.len() < hunks.len())
        .then(|| (without_noise.clone(), gone(without_noise.len(), 0)));
    let candidates = [fewer_lines, fewer_hunks, no_noise].into_iter().flatten();
    Ok(candidates
        .map(|(pieces, left_out)| (minimize::only(patch, &pieces), left_out))
        .collect())
}

impl<'a> Trial<'a> {
    async fn new(
        worktree: &'a Worktree,
        suite: &'a Suite,
        (patch, before): (&'a Patch, &TestRun),
        cancel: &'a CancellationToken,
    ) -> Result<Self, Broken> {
        let only = if before.outcome == Outcome::Failed {
            before.stable_failing_names().map(ToString::to_string).collect()
        } else {
            Vec::new()
        };
        let stays = |change: &FileChange| match (&change.before, &change.after) {
            (Some(before), Some(after)) => before.mode == after.mode,
            _ => false,
        };
        let workspace = if patch.files().all(|(_, change)| stays(change)) {
            let mut clean = worktree.checkout.clone();
            clean.reset();
            Some(clean.fresh_copy(&suite.workspaces).await?)
        } else {
            None
        };
        let wall: Duration = worktree.config.limits.wall / PART_OF_WALL;
        Ok(Self {
            worktree,
            suite: suite.for_purpose(Purpose::Minimization),
            patch,
            only,
            workspace,
            runs_left: MAX_RUNS - RESERVED,
            until: Instant::now() + wall,
            cancel,
        })
    }

    /// The pieces that are needed, as far as the budget allows finding out, with those that no test can judge.
    async fn search(&mut self, pieces: Vec<PatchPiece>, functions: &Functions) -> Result<Vec<PatchPiece>, Broken> {
        let units = minimize::units(&pieces, functions);
        let chosen = |kept: &[usize]| {
            let chosen: Vec<PatchPiece> = kept.iter().filter_map(|at| units.get(*at)).flatten().cloned().collect();
            minimize::with_silent(&pieces, &chosen)
        };
        let mut search = Minimization::new(units.len());
        while let Some(candidate) = search.ask() {
            if self.is_over() {
                break;
            }
            let does = self.passes_with(&chosen(&candidate)).await?;
            search.learn(candidate, does);
        }
        Ok(chosen(search.kept()))
    }

    fn is_over(&self) -> bool {
        self.runs_left == 0 || Instant::now() >= self.until || self.cancel.is_cancelled()
    }

    /// Whether the tests that failed pass with these pieces.
    async fn passes_with(&mut self, pieces: &[PatchPiece]) -> Result<bool, Broken> {
        let candidate = minimize::only(self.patch, pieces);
        if self.is_over() || candidate.is_empty() || !self.parses(&candidate) {
            return Ok(false);
        }
        self.runs_left -= 1;
        let run = match &self.workspace {
            Some(workspace) => {
                if !self.put(workspace, &candidate) {
                    return Ok(false);
                }
                suite::run(&self.suite, workspace, &self.only, self.cancel).await?
            }
            None => {
                let mut patched = self.worktree.checkout.clone();
                patched.reset();
                patched.apply(&candidate);
                suite::run_fresh(&self.suite, &patched, &self.only, self.cancel).await?
            }
        };
        Ok(run.is_green())
    }

    /// Whether every file has no more syntax errors than with the whole patch.
    fn parses(&self, candidate: &Patch) -> bool {
        let errors = |path: &RepoPath, change: &FileChange| {
            let text = change.after.as_ref().and_then(|blob| blob.text())?;
            Some(guard::syntax_errors(path.as_str(), text)?.len())
        };
        let whole: BTreeMap<&RepoPath, &FileChange> = self.patch.files().collect();
        candidate.files().all(|(path, change)| {
            let allowed = whole.get(path).and_then(|change| errors(path, change));
            errors(path, change) <= allowed
        })
    }

    /// Writes every file of the patch as the candidate changes it.
    fn put(&self, workspace: &Workspace, candidate: &Patch) -> bool {
        let chosen: BTreeMap<_, _> = candidate.files().collect();
        self.patch.files().all(|(path, change)| {
            let blob = match chosen.get(path) {
                Some(chosen) => chosen.after.as_ref(),
                None => change.before.as_ref(),
            };
            blob.is_some_and(|blob| workspace.put(path, blob).is_ok())
        })
    }
}

fn select(pieces: &[PatchPiece], is_chosen: impl Fn(usize) -> bool) -> Vec<PatchPiece> {
    let chosen = pieces.iter().enumerate().filter(|(at, _)| is_chosen(*at));
    chosen.map(|(_, piece)| piece.clone()).collect()
}
