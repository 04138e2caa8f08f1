//! What may be demanded of commits on a branch; [`super::branch_rules`] decides by it.

/// One thing that is demanded.
#[derive(Debug, Clone)]
pub enum Demand {
    /// Nobody moves the branch.
    Update,
    /// Changes come through a pull request only.
    PullRequest,
    /// Changes come through a merge queue only.
    MergeQueue,
    /// A check run of this name that succeeded on the commit.
    StatusCheck(&'static str),
    /// Commits have verified signatures.
    Signatures,
    /// The message begins with this.
    MessageStart(&'static str),
    /// The message fits this regular expression.
    Message(&'static str),
    /// A path that the commit may not touch.
    Path(&'static str),
    /// Only chosen people and Apps push. Protected branches of the older kind have this.
    NotAuthorized,
    /// The pull request of the branch waits in a merge queue. GitHub keeps such branches as they are, rules or not.
    Queued,
}

/// What is demanded of one branch.
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

    /// A protected branch of the older kind, which nobody can ask about without being an administrator.
    pub fn classic(branch: &'static str, demands: impl Into<Vec<Demand>>) -> Self {
        Self {
            is_ruleset: false,
            ..Self::ruleset(branch, demands)
        }
    }

    /// The same, with greenlight's App on the list of those who may pass it by.
    #[must_use]
    pub fn bypassed_by_the_app(self) -> Self {
        Self {
            is_bypassed_by_the_app: true,
            ..self
        }
    }
}
