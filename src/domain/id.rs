//! Names as small types, so that a login is never taken for a branch. `identity` has the ids that survive a rename.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

mod identity;

pub use greenlight_anchor::RepoPath;
pub use identity::{Account, AccountId, PullRequestId, Repository, RepositoryId, authored};

/// A name that GitHub or greenlight would not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct InvalidName {
    pub value: String,
    pub expected: &'static str,
}

/// `owner/name` of a repository.
///
/// Both halves contain only characters that GitHub allows, so they need no escaping in a URL path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryName {
    owner: String,
    name: String,
}

impl RepositoryName {
    /// Checks both halves.
    ///
    /// # Errors
    /// When either half is empty, too long, `.`/`..`, or has a character outside `[A-Za-z0-9._-]`.
    pub fn new(owner: &str, name: &str) -> Result<Self, InvalidName> {
        let fits = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && part != "."
                && part != ".."
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        };
        if fits(owner) && fits(name) {
            Ok(Self {
                owner: owner.into(),
                name: name.into(),
            })
        } else {
            Err(InvalidName {
                value: format!("{owner}/{name}"),
                expected: "a repository name `owner/name`",
            })
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for RepositoryName {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (owner, name) = text.split_once('/').ok_or_else(|| InvalidName {
            value: text.into(),
            expected: "a repository name `owner/name`",
        })?;
        Self::new(owner, name)
    }
}

impl TryFrom<String> for RepositoryName {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<RepositoryName> for String {
    fn from(name: RepositoryName) -> Self {
        name.to_string()
    }
}

/// The full 40- or 64-digit object name of a commit, lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitSha(String);

impl CommitSha {
    /// Forty zeros, which mean "no commit" in git.
    pub fn none() -> Self {
        Self("0".repeat(40))
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CommitSha {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName {
                value: text.chars().take(80).collect(),
                expected: "a full commit SHA",
            })
        }
    }
}

impl TryFrom<String> for CommitSha {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<CommitSha> for String {
    fn from(sha: CommitSha) -> Self {
        sha.0
    }
}

/// The login of a GitHub account. Comparison ignores case, as GitHub does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Login(String);

impl Login {
    pub fn new(login: impl Into<String>) -> Self {
        Self(login.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Login {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Login {}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// GitHub's id of an App installation; events do not have one if greenlight uses a plain token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstallationId(pub u64);

/// The value of `X-GitHub-Delivery`; a redelivery keeps it.
/// <https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries>
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(pub String);

/// The id of a run: sortable by time, unique, and short enough to type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_repository_are_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "./a",
            ".git/config",
            "a/.GIT/hooks",
            "a/.g\u{200c}it/x",
            "git~1/x",
            ".git./x",
            "a\\b",
            "a\0b",
            "a\nb",
        ] {
            assert!(bad.parse::<RepoPath>().is_err(), "{bad:?}");
        }
        for good in [
            "src/lib.rs",
            ".github/workflows/ci.yml",
            ".gitignore",
            "a b/ü.rs",
            "it's \"quoted\".txt",
        ] {
            assert!(good.parse::<RepoPath>().is_ok(), "{good:?}");
        }
    }

    #[test]
    fn names_that_would_change_a_url_are_refused() {
        for bad in ["", "a", "a/b/c", "../x/y", "a/..", "a/b?c", "a/b#c", "a b/c", "a/b%2f"] {
            assert!(bad.parse::<RepositoryName>().is_err(), "{bad:?}");
        }
        assert_eq!(
            "rust-lang/bors".parse::<RepositoryName>().map(|n| n.to_string()),
            Ok("rust-lang/bors".into())
        );
        assert!("abc".parse::<CommitSha>().is_err());
        assert!("A".repeat(40).parse::<CommitSha>().is_err());
        assert!("a".repeat(40).parse::<CommitSha>().is_ok());
    }
}
