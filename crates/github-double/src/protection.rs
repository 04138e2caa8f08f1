//! Demands on the commits of a branch; [`super::branch_rules`] enforces them.

/// One demand.
#[derive(Debug, Clone)]
pub enum Demand {
    /// Nobody may move the branch.
    Update,
    /// Changes must come through a pull request.
    PullRequest,
    /// Changes must come through a merge queue.
    MergeQueue,
    /// A check run with this name must have succeeded on the commit.
    StatusCheck(&'static str),
    /// Commits must have verified signatures.
    Signatures,
    /// The message must begin with this text.
    MessageStart(&'static str),
    /// The message must match this regular expression.
    Message(&'static str),
    /// The commit must not change this path.
    Path(&'static str),
    /// Only selected people and Apps may push. This exists only in classic branch protection.
    NotAuthorized,
    /// The pull request of the branch is in a merge queue. GitHub does not change such branches, with or without
    /// rules.
    Queued,
}

/// The demands on one branch.
#[derive(Debug, Clone)]
pub struct Protection {
    pub(super) branch: &'static str,
    pub(super) demands: Vec<Demand>,
    pub(super) is_ruleset: bool,
    pub(super) is_bypassed_by_the_app: bool,
}

impl Protection {
    /// An active ruleset of the repository.
    pub fn ruleset(branch: &'static str, demands: impl Into<Vec<Demand>>) -> Self {
        Self {
            branch,
            demands: demands.into(),
            is_ruleset: true,
            is_bypassed_by_the_app: false,
        }
    }

    /// Classic branch protection, which only administrators can read.
    pub fn classic(branch: &'static str, demands: impl Into<Vec<Demand>>) -> Self {
        Self {
            is_ruleset: false,
            ..Self::ruleset(branch, demands)
        }
    }

    /// The same, with greenlight's App on the bypass list.
    #[must_use]
    pub fn bypassed_by_the_app(self) -> Self {
        Self {
            is_bypassed_by_the_app: true,
            ..self
        }
    }
}
