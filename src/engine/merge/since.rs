//! Bisects the base branch for the first commit with which the merge is red, if that is quick.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::super::worktree::{With, Worktree};
use super::super::{Broken, Context};
use crate::domain::id::CommitSha;
use crate::domain::test_run::{Outcome, TestRun};
use crate::domain::triage::not_red;
use crate::suite::{self, Suite};

/// The maximum number of test runs in a bisection.
const MAX_RUNS: u32 = 7;
/// The divisor of a run's time limit that the bisection may take, and an absolute limit.
const PART_OF_WALL: u32 = 20;
const MAX_WALL: Duration = Duration::from_secs(120);

/// The inputs of the bisection.
pub(super) struct MergeBisection<'a> {
    pub(super) context: &'a Context<'a>,
    /// The head alone.
    pub(super) worktree: &'a Worktree,
    pub(super) suite: &'a Suite,
    pub(super) head: &'a CommitSha,
    pub(super) with: &'a With,
    /// The failing run of the merge with the tip.
    pub(super) red: &'a TestRun,
}

/// The first commit on the first-parent path from the merge base to the tip with which the merge is red. `None` if
/// the bisection would take too long, or finds nothing.
///
/// # Errors
/// When the sandbox cannot be used, or GitHub cannot be reached.
pub(super) async fn since(
    search: &MergeBisection<'_>,
    cancel: &CancellationToken,
) -> Result<Option<CommitSha>, Broken> {
    let MergeBisection { context, with, red, .. } = search;
    let client = &context.client;
    let commits = client
        .first_parents(&context.id().repository, &with.base, &with.tip)
        .await?;
    let Some(commits) = commits.filter(|commits| !commits.is_empty()) else {
        return Ok(None);
    };
    let wall = MAX_WALL.min(search.worktree.config.limits.wall / PART_OF_WALL);
    let runs = commits.len().next_power_of_two().ilog2();
    let takes = red.duration_from_scratch() * runs;
    if runs > MAX_RUNS || takes > wall {
        return Ok(None);
    }
    let began = Instant::now();
    // The merge with the base is the head, which is green. The merge with the last commit is red.
    let (mut green, mut is_red) = (0, commits.len());
    while is_red - green > 1 {
        let middle = usize::midpoint(green, is_red);
        let Some(found) = search.is_red_with(&commits[middle - 1], cancel).await? else {
            return Ok(None);
        };
        if cancel.is_cancelled() || began.elapsed() > wall {
            return Ok(None);
        }
        if found {
            is_red = middle;
        } else {
            green = middle;
        }
    }
    Ok(commits.get(is_red - 1).cloned())
}

impl MergeBisection<'_> {
    /// Whether the merge with a commit fails in the same tests. `None` if there is no merge, or its result is
    /// inconclusive.
    async fn is_red_with(&self, commit: &CommitSha, cancel: &CancellationToken) -> Result<Option<bool>, Broken> {
        let with = With {
            tip: commit.clone(),
            ..self.with.clone()
        };
        let Ok(ground) = self.worktree.merged(self.context, self.head, with).await? else {
            return Ok(None);
        };
        let mut suite = self.suite.clone();
        if super::install(self.context, (&ground, &mut suite), cancel)
            .await?
            .is_err()
        {
            return Ok(None);
        }
        let names: Vec<String> = match self.red.outcome {
            Outcome::Failed => self.red.failing_names().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let run = suite::run_fresh(&suite, &ground.checkout, &names, cancel).await?;
        Ok(match run.outcome {
            Outcome::NothingRan | Outcome::DidNotStart => None,
            _ if names.is_empty() => Some(run.outcome.is_red()),
            _ => Some(not_red(&run, &names).len() < names.len()),
        })
    }
}
