//! Repositories, pull requests and accounts: identified by GitHub's ids, addressed by names that may change.
//!
//! Renaming or transferring a repository keeps its id, and somebody else may take the old name. The same holds for
//! accounts. <https://docs.github.com/en/repositories/creating-and-managing-repositories/renaming-a-repository>

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{InvalidName, Login, RepositoryName};

/// GitHub's id of a repository; a rename or a transfer keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepositoryId(pub u64);

/// A repository: its id, and its current name.
///
/// Two values are equal if they have the same id. Without ids, the names are compared. A repository with a known id
/// never equals one without.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Repository {
    /// `None` in data of versions that knew only names, and on a person's own machine.
    #[serde(rename = "repository_id", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RepositoryId>,
    #[serde(rename = "repository")]
    pub name: RepositoryName,
}

impl Repository {
    /// The key it is stored under: its id, or its name while the id is unknown. A name has no `@`.
    pub fn key(&self) -> String {
        match self.id {
            Some(RepositoryId(id)) => format!("@{id}"),
            None => self.name.to_string().to_ascii_lowercase(),
        }
    }

    /// Whether both may be the same repository: compares ids where both are known, otherwise names.
    pub fn may_be(&self, other: &Self) -> bool {
        match (self.id, other.id) {
            (Some(one), Some(other)) => one == other,
            _ => self.name.to_string().eq_ignore_ascii_case(&other.name.to_string()),
        }
    }
}

impl PartialEq for Repository {
    fn eq(&self, other: &Self) -> bool {
        self.id.is_some() == other.id.is_some() && self.may_be(other)
    }
}

impl Eq for Repository {}

impl Hash for Repository {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A repository can be used wherever its current name is expected.
impl Deref for Repository {
    type Target = RepositoryName;
    fn deref(&self) -> &RepositoryName {
        &self.name
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl From<RepositoryName> for Repository {
    fn from(name: RepositoryName) -> Self {
        Self { id: None, name }
    }
}

impl FromStr for Repository {
    type Err = InvalidName;
    fn from_str(name: &str) -> Result<Self, InvalidName> {
        Ok(Self::from(name.parse::<RepositoryName>()?))
    }
}

/// One pull request of one repository. A lane, a sticky comment and an approval each belong to one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PullRequestId {
    #[serde(flatten)]
    pub repository: Repository,
    /// Unique within the repository; a rename or a transfer keeps it.
    pub number: u64,
}

impl PullRequestId {
    /// The key it is stored under; see [`Repository::key`].
    pub fn key(&self) -> String {
        format!("{}#{}", self.repository.key(), self.number)
    }

    /// Whether both may be the same pull request; see [`Repository::may_be`].
    pub fn may_be(&self, other: &Self) -> bool {
        self.number == other.number && self.repository.may_be(&other.repository)
    }
}

impl fmt::Display for PullRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

/// GitHub's id of an account; changing the login keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub u64);

/// A GitHub account: its id, and its login when it acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// `None` in data of versions that knew only logins, and where GitHub gives no id.
    #[serde(rename = "by_id", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AccountId>,
    #[serde(rename = "by")]
    pub login: Login,
}

impl Account {
    /// An account whose id is unknown.
    pub fn new(login: impl Into<String>) -> Self {
        Self {
            id: None,
            login: Login::new(login),
        }
    }

    /// Whether both are the same account: compares ids where both are known, otherwise logins.
    pub fn is(&self, other: &Self) -> bool {
        match (self.id, other.id) {
            (Some(one), Some(other)) => one == other,
            _ => self.login == other.login,
        }
    }

    pub fn as_str(&self) -> &str {
        self.login.as_str()
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.login.fmt(f)
    }
}

/// Serialises an account as `author` and `author_id`, where `by` would be the wrong word; for `serde(with)`.
pub mod authored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Account, AccountId, Login};

    #[derive(Serialize, Deserialize)]
    struct IdentityWire {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author_id: Option<AccountId>,
        author: Login,
    }

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(account: &Account, serializer: S) -> Result<S::Ok, S::Error> {
        let Account { id, login } = account.clone();
        let wire = IdentityWire {
            author_id: id,
            author: login,
        };
        wire.serialize(serializer)
    }

    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Account, D::Error> {
        let IdentityWire { author_id, author } = IdentityWire::deserialize(deserializer)?;
        Ok(Account {
            id: author_id,
            login: author,
        })
    }
}

#[cfg(test)]
mod tests;
