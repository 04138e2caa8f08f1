//! The merge of a head with the tip of its base branch. A `pull_request` workflow tests that merge instead of the
//! head.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>

use serde::{Deserialize, Serialize};

use super::super::id::CommitSha;

/// How many conflicting files are named at most.
const MAX_NAMED: usize = 5;

/// The result of testing a head, which is green alone, merged with its base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// Name of the base branch.
    pub branch: String,
    /// The commit of the base branch that the head was merged with.
    pub tip: CommitSha,
    /// The merge base of the two.
    pub base: CommitSha,
    pub state: MergeState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// The verdicts and the red run are those of the merge, compared with the base branch alone.
    Red {
        /// The first commit of the base branch whose merge is red. `None` if nobody searched for it.
        #[serde(default)]
        since: Option<CommitSha>,
        /// Files with failures whose contents differ between merge and head, so that line numbers are not the head's.
        #[serde(default)]
        differ: Vec<String>,
    },
    /// Green like the head, with the summary of the run.
    Green { summary: String },
    /// The head contains the whole base branch, so the merge equals the head.
    UpToDate,
    /// Both sides changed these files in conflicting ways, so there is no merge.
    Conflict { paths: Vec<String> },
    /// It could not be run, for this reason.
    NotRun { why: String },
}

/// What proves a proposal besides the head alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvedWith {
    /// Name of the base branch.
    pub branch: String,
    /// The base branch's commit that the head was merged with, both with and without the patch.
    pub tip: CommitSha,
    /// The test result of the head with the patch, without a merge.
    pub alone: String,
}

impl Merged {
    pub fn is_red(&self) -> bool {
        matches!(self.state, MergeState::Red { .. })
    }

    /// `since 1234567`: the base branch's commit that introduced the failure. `at 1234567` if only the tip was
    /// tested.
    pub fn when(&self) -> String {
        match &self.state {
            MergeState::Red { since: Some(since), .. } => format!("since {}", since.short()),
            _ => format!("at {}", self.tip.short()),
        }
    }

    /// Whether line numbers in a file are valid for the head as well.
    pub fn has_lines_of_head(&self, path: &str) -> bool {
        match &self.state {
            MergeState::Red { differ, .. } => !differ.iter().any(|other| other == path),
            _ => true,
        }
    }

    /// `main at 1234567`, with the branch in backticks.
    pub fn tip_said(&self) -> String {
        format!("`{}` at {}", self.branch, self.tip.short())
    }

    /// What was found out about the merge, as sentences that follow those about the head.
    pub fn description(&self) -> String {
        let (tip, branch) = (self.tip_said(), &self.branch);
        match &self.state {
            MergeState::Red { .. } => format!("The head alone is green, but its merge with {tip} is red."),
            MergeState::Green { summary } => {
                format!("Its merge with {tip}, which CI tests, is also green here: {summary}.")
            }
            MergeState::UpToDate => format!("It already contains {tip}, so the merge that CI tests is the same."),
            MergeState::Conflict { paths } => {
                let shown: Vec<String> = paths.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
                let more = match paths.len().saturating_sub(MAX_NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "It conflicts with {tip} in {}{more}. GitHub cannot merge it, and runs no `pull_request` \
                     workflows until you resolve the conflict: merge `{branch}` into this branch, or rebase.",
                    shown.join(", ")
                )
            }
            MergeState::NotRun { why } => {
                format!("Its merge with {tip}, which CI tests, could not be run here: {why}.")
            }
        }
    }
}
