//! Reproduces the failing tests, at the head and at the merge base, until the verdict on each is clear.
//!
//! `domain::triage` decides what to run next and what it means; this file runs it. The whole suite runs once; after
//! that only the failing tests run, by their ids. If one of them passes alone, it may depend on tests before it, so
//! it is judged by runs of the whole suite on fresh copies.

use std::collections::HashSet;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::first_run::{FirstRun, first_run};
use super::lacking;
use super::laid_out::{Base, LayOut, laid_out};
use super::tested_tree::{TestedTree, runs_at_once};
use crate::domain::test_run::{Failure, Outcome, TestRun};
use crate::domain::triage::sequential::Tree;
use crate::domain::triage::{Asked, Triage, Trial, not_red, unseen};
use crate::suite::{Purpose, Suite};

/// The divisor of a run's time limit after which no more runs begin, even if a verdict is unclear.
const PART_OF_WALL: u32 = 3;
/// Runs after the first one that always happen, no matter how long they take: one at the head and one at the base.
const RUNS_AT_LEAST: usize = 2;

/// Which failures are worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that the pull request caused.
    ItsOwn,
    /// The same, or those that existed before if the changes caused none.
    ItsOwnElseOld,
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
    let head = TestedTree::new(&worktree.checkout, suite);
    let FirstRun {
        run: first,
        base: known,
    } = Box::pin(first_run(&head, suite, base, cancel)).await?;
    let head = head.for_purpose(Purpose::Triage);
    let first = Box::pin(head.with_unstable(first, cancel)).await?;
    let mut trial = Trial::new(&repeatable(&first), worktree.config.triage.stopping_rules());
    let is_lacking = Box::pin(lacking::note(&mut trial, (worktree, suite), &first)).await;
    let mut bench = TriageTrees {
        outcome: first.outcome,
        head,
        base: None,
        in_company: HashSet::new(),
    };
    if let Some((base, run)) = known {
        if is_lacking {
            Box::pin(lacking::compare(&mut trial, worktree, &base.0.worktree)).await;
        }
        bench.base = Some(Some(base));
        trial.learn(Tree::Base, &run);
    }
    let (began, wall) = (Instant::now(), worktree.config.limits.wall / PART_OF_WALL);
    let mut runs = 0;
    loop {
        let asked = trial.next_at_once(runs_at_once(suite));
        let is_late = runs >= RUNS_AT_LEAST && began.elapsed() > wall;
        if asked.is_empty() || is_late || cancel.is_cancelled() {
            break;
        }
        runs += asked.len();
        if bench.base.is_none() && asked.iter().any(|asked| asked.tree == Tree::Base) {
            let took = Some(first.duration_from_scratch()).filter(|_| first.outcome != Outcome::TimedOut);
            bench.base = Some(laid_out(base, took).await?);
            let base = bench.base.iter().flatten().map(|(base, _)| &base.worktree).next();
            if let Some(base) = base.filter(|_| is_lacking) {
                Box::pin(lacking::compare(&mut trial, worktree, base)).await;
            }
        }
        Box::pin(bench.run(&asked, &mut trial, cancel)).await?;
    }
    let commit = bench.base.iter().flatten().map(|(base, _)| &base.commit).next();
    let mut triage = trial.verdict(commit);
    triage.setup = Some(lacking::setup(suite, is_lacking));
    if wants == Scope::ItsOwnElseOld && !triage.has_regression() {
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

/// What a request found out.
enum Found {
    AtHead {
        run: TestRun,
        /// Tests that passed when run alone. The run is then one of all tests.
        passed_alone: Vec<String>,
    },
    OnBase {
        run: TestRun,
        /// The tests that did not run there, and whether that means that the base does not have them.
        missing: Vec<String>,
        is_telling: bool,
        /// Whether it ran all tests, because some are known to depend on those before them.
        needed_company: bool,
    },
    NoBase,
}

impl TriageTrees {
    /// Runs what is asked for at the same time, and takes the results in, in their order.
    async fn run(&mut self, asked: &[Asked], trial: &mut Trial, cancel: &CancellationToken) -> Result<(), Broken> {
        let running = asked.iter().map(|asked| self.find_out(asked, cancel));
        let all = futures::future::try_join_all(running).await?;
        for (asked, found) in asked.iter().zip(all) {
            match found {
                Found::AtHead { run, passed_alone } => {
                    self.in_company.extend(passed_alone);
                    trial.learn(Tree::Head, &run);
                }
                Found::NoBase => trial.has_no_base(),
                // A run without the tests before them says nothing about tests that depend on those.
                Found::OnBase { needed_company, .. } if needed_company != self.needs_company(asked) => {}
                Found::OnBase { .. } if cancel.is_cancelled() => {}
                Found::OnBase {
                    run,
                    missing,
                    is_telling,
                    ..
                } => {
                    trial.did_not_run_on_base(&missing, is_telling);
                    trial.learn(Tree::Base, &run);
                }
            }
        }
        Ok(())
    }

    fn needs_company(&self, asked: &Asked) -> bool {
        asked.tests.iter().any(|test| self.in_company.contains(test))
    }

    async fn find_out(&self, asked: &Asked, cancel: &CancellationToken) -> Result<Found, Broken> {
        match (asked.tree, &self.base) {
            (Tree::Head, _) => self.at_head(asked, cancel).await,
            (Tree::Base, Some(Some((_, base)))) => self.on_base(base, asked, cancel).await,
            (Tree::Base, _) => Ok(Found::NoBase),
        }
    }

    /// Runs tests alone, and among all others if some of them pass alone.
    async fn at_head(&self, asked: &Asked, cancel: &CancellationToken) -> Result<Found, Broken> {
        let mut passed_alone = Vec::new();
        if !self.needs_company(asked) {
            let run = self.head.run(&asked.tests, cancel).await?;
            passed_alone = not_red(&run, &asked.tests);
            let is_the_same = !asked.tests.is_empty() || run.outcome == self.outcome;
            if passed_alone.is_empty() && is_the_same {
                return Ok(Found::AtHead { run, passed_alone });
            }
        }
        let run = self.head.run_all_afresh(cancel).await?;
        Ok(Found::AtHead { run, passed_alone })
    }

    async fn on_base(&self, base: &TestedTree, asked: &Asked, cancel: &CancellationToken) -> Result<Found, Broken> {
        let needed_company = self.needs_company(asked);
        let mut run = if needed_company {
            base.run_all_afresh(cancel).await?
        } else {
            base.run(&asked.tests, cancel).await?
        };
        let mut missing = unseen(&run, &asked.tests);
        // Some frameworks run nothing if one of several names is unknown.
        if !needed_company && missing.len() > 1 && missing.len() == asked.tests.len() && !cancel.is_cancelled() {
            run = base.run_all_afresh(cancel).await?;
            missing = unseen(&run, &asked.tests);
        }
        let is_telling = matches!(
            run.outcome,
            Outcome::Passed | Outcome::Failed | Outcome::NothingRan | Outcome::DidNotCollect
        );
        Ok(Found::OnBase {
            run,
            missing,
            is_telling,
            needed_company,
        })
    }
}
