//! Names that are the same in every world: people, their roles, the default branch.

/// The maintainer of the default world.
pub const MAINTAINER: &str = "mia";
/// An author with write access.
pub const AUTHOR: &str = "ada";
/// A collaborator who may only read.
pub const READER: &str = "rae";
/// Somebody with an account, but no role.
pub const STRANGER: &str = "sam";
/// The default branch of every repository.
pub const DEFAULT_BRANCH: &str = "main";

/// The id of every story's repository.
pub(super) const HOME: u64 = 1;
/// The App of a CI system other than GitHub Actions.
pub(super) const OTHER_CI: &str = "circleci-checks";

/// A collaborator's role, from least to most, in GitHub's words.
/// <https://docs.github.com/en/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles>
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Not a collaborator.
    None,
    /// May read and comment.
    Read,
    /// May also label and close.
    Triage,
    /// May also push.
    Write,
    /// May also change most settings.
    Maintain,
    /// May do everything.
    Admin,
}

impl Role {
    /// The `role_name` in GitHub's responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older `permission`, which has only four values.
    pub fn permission(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}
