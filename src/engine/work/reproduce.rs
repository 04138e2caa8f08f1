//! Reproduces the failing tests, at the head and at the merge base, until the verdict on each is clear.
//!
//! `domain::triage` decides what to run next and what it means; this file runs it. The whole suite runs once; after
//! that only the failing tests run, by their ids. If one of them passes alone, it may depend on tests before it, so
//! it is judged by runs of the whole suite on fresh copies.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::lacking;
use super::timeout_estimator::TimeoutEstimator;
use crate::checkout::{Checkout, Workspace};
use crate::domain::id::CommitSha;
use crate::domain::test_run::{Failure, Outcome, TestRun};
use crate::domain::triage::sequential::Tree;
use crate::domain::triage::{Asked, Triage, Trial, not_red, unseen};
use crate::suite::Suite;

/// The divisor of a run's time limit after which no more runs begin, even if a verdict is unclear.
const PART_OF_WALL: u32 = 3;
/// Runs after the first one that always happen, no matter how long they take: one at the head and one at the base.
const RUNS_AT_LEAST: u32 = 2;

/// The tree to compare with.
pub struct Base {
    pub commit: CommitSha,
    /// Keeps the tree on disk for as long as it is needed.
    pub worktree: Worktree,
    /// The same command as at the head, with the dependencies of this tree.
    pub suite: Suite,
}

/// Lays out the tree to compare with when it is first needed. `None` if there is none.
pub type LayOut<'a> = dyn FnMut() -> BoxFuture<'a, Result<Option<Base>, Broken>> + Send + 'a;

/// Which failures are worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that the pull request caused.
    ItsOwn,
    /// All, including those that existed before.
    AllThatIsBroken,
}

/// Runs the whole suite on a fresh copy, and repeats the failing tests until their verdicts are clear.
///
/// If only some of them are worked on, the others are excused in the returned run ([`TestRun::excusing`]).
///
/// # Errors
/// When the sandbox cannot be used, or the base cannot be laid out.
pub async fn reproduce(
    worktree: &Worktree,
    suite: &Suite,
    (base, wants): (&mut LayOut<'_>, Scope),
    cancel: &CancellationToken,
) -> Result<(TestRun, Triage), Broken> {
    let mut head = TestedTree::new(&worktree.checkout, suite).await?;
    let first = head.pace.run(suite, &head.workspace, &[], cancel).await?;
    let first = Box::pin(head.with_unstable(first, cancel)).await?;
    let mut trial = Trial::new(&repeatable(&first), worktree.config.triage.stopping_rules());
    let is_lacking = Box::pin(lacking::note(&mut trial, (worktree, suite), &first)).await;
    let mut bench = TriageTrees {
        outcome: first.outcome,
        head,
        base: None,
        in_company: HashSet::new(),
    };
    let (began, wall) = (Instant::now(), worktree.config.limits.wall / PART_OF_WALL);
    let has_room = has_room_for_two(suite);
    let mut runs = 0;
    while let Some(asked) = trial.next() {
        let is_late = runs >= RUNS_AT_LEAST && began.elapsed() > wall;
        if is_late || cancel.is_cancelled() {
            break;
        }
        let meanwhile = if has_room { trial.meanwhile(&asked) } else { None };
        runs += if meanwhile.is_some() { 2 } else { 1 };
        let asked = AskedOfBoth::of([Some(asked), meanwhile]);
        if asked.of_base.is_some() && bench.base.is_none() {
            bench.base = Some(laid_out(base, first.duration_ms).await?);
            let base = bench.base.iter().flatten().map(|(base, _)| &base.worktree).next();
            if let Some(base) = base.filter(|_| is_lacking) {
                Box::pin(lacking::compare(&mut trial, worktree, base)).await;
            }
        }
        Box::pin(bench.run(&asked, &mut trial, cancel)).await?;
    }
    let commit = bench.base.iter().flatten().map(|(base, _)| &base.commit).next();
    let mut triage = trial.verdict(commit);
    triage.setup = Some(lacking::setup(suite));
    if wants == Scope::AllThatIsBroken {
        triage = triage.with_broken_on_base();
    }
    // Deleting large trees takes a while.
    tokio::task::spawn_blocking(move || drop(bench));
    let excused: Vec<String> = triage.excused().map(|test| test.name.clone()).collect();
    let before = if triage.has_regression() {
        first.excusing(&excused)
    } else {
        first
    };
    Ok((before, triage))
}

/// A tree with its tests, and a copy that keeps the build after the first run.
pub(super) struct TestedTree {
    checkout: Checkout,
    suite: Suite,
    workspace: Workspace,
    pace: TimeoutEstimator,
}

async fn laid_out(base: &mut LayOut<'_>, took_ms: u64) -> Result<Option<(Base, TestedTree)>, Broken> {
    let Some(base) = base().await? else { return Ok(None) };
    let mut place = TestedTree::new(&base.worktree.checkout, &base.suite).await?;
    place.pace.saw(Duration::from_millis(took_ms));
    Ok(Some((base, place)))
}

impl TestedTree {
    pub(super) async fn new(checkout: &Checkout, suite: &Suite) -> Result<Self, Broken> {
        Ok(Self {
            checkout: checkout.clone(),
            suite: suite.clone(),
            workspace: checkout.fresh_copy(&suite.workspaces).await?,
            pace: TimeoutEstimator::new(suite.command.timeout),
        })
    }

    /// Runs some tests in the cheapest way: a compiled project keeps its build, and nothing else is shared between
    /// runs.
    pub(super) async fn run(&mut self, tests: &[String], cancel: &CancellationToken) -> Result<TestRun, Broken> {
        if !self.suite.command.framework.is_compiled() {
            self.workspace = self.checkout.fresh_copy(&self.suite.workspaces).await?;
        }
        self.pace.run(&self.suite, &self.workspace, tests, cancel).await
    }

    /// Repeats a run of all tests if the names of some look as if they differ from run to run, and notes those that do.
    async fn with_unstable(&mut self, first: TestRun, cancel: &CancellationToken) -> Result<TestRun, Broken> {
        if first.outcome != Outcome::Failed || !first.may_have_unstable_names() {
            return Ok(first);
        }
        let again = self.run_all_afresh(cancel).await?;
        Ok(first.noting_unstable(&again))
    }

    pub(super) async fn run_all_afresh(&mut self, cancel: &CancellationToken) -> Result<TestRun, Broken> {
        self.workspace = self.checkout.fresh_copy(&self.suite.workspaces).await?;
        self.pace.run(&self.suite, &self.workspace, &[], cancel).await
    }
}

/// The run without failing tests that cannot be asked for again by name. If there are no others, the names are left
/// out instead, so that all tests are run.
fn repeatable(first: &TestRun) -> TestRun {
    let mut run = first.clone();
    let is_stable = |failure: &Failure| !first.is_unstable(&failure.name);
    if run.failures.iter().any(is_stable) {
        run.failures.retain(is_stable);
    } else {
        run.failures.truncate(1);
        run.failures.iter_mut().for_each(|failure| failure.name.clear());
    }
    run
}

/// The trees that are run.
struct TriageTrees {
    /// The outcome of the first run.
    outcome: Outcome,
    head: TestedTree,
    /// `None` means it was not laid out yet, and `Some(None)` that there is no base.
    base: Option<Option<(Base, TestedTree)>>,
    /// Tests that passed when run alone.
    in_company: HashSet<String>,
}

/// What to run on each of the trees, at the same time.
#[derive(Default)]
struct AskedOfBoth {
    of_head: Option<Asked>,
    of_base: Option<Asked>,
}

/// What a run on the base found out.
struct AtBase {
    run: TestRun,
    /// The tests that did not run there, and whether that means that the base does not have them.
    missing: Vec<String>,
    is_telling: bool,
}

impl AskedOfBoth {
    fn of(all: [Option<Asked>; 2]) -> Self {
        let mut both = Self::default();
        for asked in all.into_iter().flatten() {
            match asked.tree {
                Tree::Head => both.of_head = Some(asked),
                Tree::Base => both.of_base = Some(asked),
            }
        }
        both
    }
}

impl TriageTrees {
    /// Runs on each tree what is asked for, and takes the results in, those of the head first.
    async fn run(&mut self, asked: &AskedOfBoth, trial: &mut Trial, cancel: &CancellationToken) -> Result<(), Broken> {
        let (outcome, in_company) = (self.outcome, &self.in_company);
        let needs_company = |asked: &Asked| asked.tests.iter().any(|test| in_company.contains(test));
        let (head, base) = (&mut self.head, self.base.as_mut());
        let at_head = async {
            Ok::<_, Broken>(match &asked.of_head {
                Some(asked) => Some(at_head(head, asked, (outcome, needs_company(asked)), cancel).await?),
                None => None,
            })
        };
        let at_base = async {
            Ok::<_, Broken>(match (&asked.of_base, base) {
                (Some(asked), Some(Some((_, base)))) => Some(at_base(base, asked, needs_company(asked), cancel).await?),
                _ => None,
            })
        };
        let (at_head, at_base) = futures::try_join!(at_head, at_base)?;
        let mut passed_alone = Vec::new();
        if let Some((run, alone)) = at_head {
            trial.learn(Tree::Head, &run);
            passed_alone = alone;
        }
        let Some(asked) = &asked.of_base else {
            self.in_company.extend(passed_alone);
            return Ok(());
        };
        // A run without the tests before them says nothing about tests that depend on those.
        let is_void = asked.tests.iter().any(|test| passed_alone.contains(test));
        self.in_company.extend(passed_alone);
        match at_base {
            None => trial.has_no_base(),
            Some(_) if is_void || cancel.is_cancelled() => {}
            Some(base) => {
                trial.did_not_run_on_base(&base.missing, base.is_telling);
                trial.learn(Tree::Base, &base.run);
            }
        }
        Ok(())
    }
}

/// Runs tests at the head: first alone, then among all others if some of them pass alone. Returns the names of those,
/// too.
async fn at_head(
    head: &mut TestedTree,
    asked: &Asked,
    (outcome, needs_company): (Outcome, bool),
    cancel: &CancellationToken,
) -> Result<(TestRun, Vec<String>), Broken> {
    let mut passed_alone = Vec::new();
    if !needs_company {
        let run = head.run(&asked.tests, cancel).await?;
        passed_alone = not_red(&run, &asked.tests);
        let is_the_same = !asked.tests.is_empty() || run.outcome == outcome;
        if passed_alone.is_empty() && is_the_same {
            return Ok((run, passed_alone));
        }
    }
    Ok((head.run_all_afresh(cancel).await?, passed_alone))
}

async fn at_base(
    base: &mut TestedTree,
    asked: &Asked,
    needs_company: bool,
    cancel: &CancellationToken,
) -> Result<AtBase, Broken> {
    let mut run = if needs_company {
        base.run_all_afresh(cancel).await?
    } else {
        base.run(&asked.tests, cancel).await?
    };
    let mut missing = unseen(&run, &asked.tests);
    // Some frameworks run nothing if one of several names is unknown.
    if !needs_company && missing.len() > 1 && missing.len() == asked.tests.len() && !cancel.is_cancelled() {
        run = base.run_all_afresh(cancel).await?;
        missing = unseen(&run, &asked.tests);
    }
    let is_telling = matches!(
        run.outcome,
        Outcome::Passed | Outcome::Failed | Outcome::NothingRan | Outcome::DidNotCollect
    );
    Ok(AtBase {
        run,
        missing,
        is_telling,
    })
}

/// Whether two runs at the same time do not slow each other down. Compilers use all processors.
pub(super) fn has_room_for_two(suite: &Suite) -> bool {
    !suite.command.framework.is_compiled() && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}
