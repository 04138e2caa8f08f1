//! The merge of a head with the tip of its base branch. A `pull_request` workflow tests that, and not the head.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>

use serde::{Deserialize, Serialize};

use super::super::id::CommitSha;

/// At most this many conflicting files are named.
const MAX_NAMED: usize = 5;

/// What came of testing a head, which is green alone, merged with its base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// Name of the base branch.
    pub branch: String,
    /// The commit of the base branch that the head was merged with.
    pub tip: CommitSha,
    /// Where the histories of the two part.
    pub base: CommitSha,
    pub state: MergeState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// The verdicts and the red run are those of the merge, compared with the base branch alone.
    Red {
        /// The first commit of the base branch with which the merge is red. `None` if that was not looked for.
        #[serde(default)]
        since: Option<CommitSha>,
        /// Files of failures that the merge has in another form than the head, so that line numbers are not the head's.
        #[serde(default)]
        differ: Vec<String>,
    },
    /// Green like the head; with the summary of the run.
    Green { summary: String },
    /// The base branch has nothing that the head lacks, so the merge is the head.
    UpToDate,
    /// Both changed these files in ways that do not go together, so there is no merge.
    Conflict { paths: Vec<String> },
    /// It could not be run; why.
    NotRun { why: String },
}

/// What a proposal was proved with, besides the head alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvedWith {
    /// Name of the base branch.
    pub branch: String,
    /// The commit of the base branch that the head, with and without the patch, was merged with.
    pub tip: CommitSha,
    /// What the tests said of the head with the patch, not merged with anything.
    pub alone: String,
}

impl Merged {
    pub fn is_red(&self) -> bool {
        matches!(self.state, MergeState::Red { .. })
    }

    /// `since 1234567`: the commit of the base branch with which it began; or `at 1234567`, if only the tip was tried.
    pub fn when(&self) -> String {
        match &self.state {
            MergeState::Red { since: Some(since), .. } => format!("since {}", since.short()),
            _ => format!("at {}", self.tip.short()),
        }
    }

    /// Whether a line number in a file is one of the head as well.
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

    /// What was found out about the merge, as sentences to follow what was found out about the head.
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
