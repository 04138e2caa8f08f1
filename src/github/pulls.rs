//! Pull requests, their files, and who may do what: read live, never remembered.

use serde::Deserialize;

use super::client::{Client, Error};
use super::escaped;
use crate::domain::id::{CommitSha, Login, PullRequestId, RepoPath, RepositoryName};
use crate::domain::permission::Permission;

/// A pull request as it is now.
#[derive(Debug, Clone)]
pub struct PullRequest {
    pub id: PullRequestId,
    pub head: CommitSha,
    /// Branch of the head, in [`PullRequest::head_repository`].
    pub head_branch: String,
    /// None when the fork was deleted.
    pub head_repository: Option<RepositoryName>,
    pub base: CommitSha,
    pub base_branch: String,
    pub author: Login,
    pub is_open: bool,
    pub title: String,
    /// Whether maintainers may push to a fork's branch.
    pub maintainer_can_modify: bool,
    /// How many files its diff has; GitHub does not say where it lists several pull requests.
    pub changed_files: Option<u64>,
}

impl PullRequest {
    pub fn is_from_fork(&self) -> bool {
        self.head_repository.as_ref() != Some(&self.id.repository)
    }
}

/// One file of a pull request's diff.
#[derive(Debug, Clone, Deserialize)]
pub struct ChangedFile {
    pub filename: String,
    pub status: String,
    /// GitHub's own hunks; none for a binary or too large file.
    pub patch: Option<String>,
}

impl ChangedFile {
    pub fn path(&self) -> Option<RepoPath> {
        self.filename.parse().ok()
    }
}

#[derive(Deserialize)]
struct Wire {
    number: u64,
    state: String,
    title: String,
    user: Option<WireUser>,
    head: WireEnd,
    base: WireEnd,
    #[serde(default)]
    maintainer_can_modify: bool,
    changed_files: Option<u64>,
}

#[derive(Deserialize)]
struct WireUser {
    login: Login,
}

#[derive(Deserialize)]
struct WireEnd {
    sha: CommitSha,
    r#ref: String,
    repo: Option<WireRepository>,
}

#[derive(Deserialize)]
struct WireRepository {
    full_name: RepositoryName,
}

impl Client {
    /// Reads a pull request.
    ///
    /// # Errors
    /// When it does not exist or GitHub cannot be reached.
    pub async fn pull_request(&self, id: &PullRequestId) -> Result<PullRequest, Error> {
        let wire: Wire = self
            .get(&format!("/repos/{}/pulls/{}", id.repository, id.number))
            .await?;
        Ok(pull_request(&id.repository, wire))
    }

    /// The open pull requests whose head is this branch of this owner: for forks, where events name none.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn pull_requests_of(
        &self,
        repository: &RepositoryName,
        owner: &str,
        branch: &str,
    ) -> Result<Vec<PullRequest>, Error> {
        let head = escaped(&format!("{owner}:{branch}"));
        let wire: Vec<Wire> = self
            .get(&format!("/repos/{repository}/pulls?state=open&head={head}&per_page=10"))
            .await?;
        Ok(wire.into_iter().map(|wire| pull_request(repository, wire)).collect())
    }

    /// GitHub's own view of what a pull request changes (merge base to head), at most 3,000 files.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn changed_files(&self, id: &PullRequestId) -> Result<Vec<ChangedFile>, Error> {
        self.get_all(&format!("/repos/{}/pulls/{}/files", id.repository, id.number))
            .await
    }

    /// What a person may do now. `author_association` in payloads says less and may be stale.
    /// <https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn permission(&self, repository: &RepositoryName, login: &Login) -> Result<Permission, Error> {
        #[derive(Deserialize)]
        struct Granted {
            permission: String,
        }
        let route = format!(
            "/repos/{repository}/collaborators/{}/permission",
            escaped(login.as_str()).replace('/', "%2F")
        );
        let granted: Option<Granted> = self.get_optional(&route).await?;
        Ok(match granted.as_ref().map(|granted| granted.permission.as_str()) {
            Some("admin") => Permission::Admin,
            Some("write" | "maintain") => Permission::Write,
            Some("read" | "triage") => Permission::Read,
            _ => Permission::None,
        })
    }

    /// One file of a commit or branch; none if it is not there.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn file(&self, repository: &RepositoryName, path: &str, at: &str) -> Result<Option<Vec<u8>>, Error> {
        let route = format!("/repos/{repository}/contents/{}?ref={}", escaped(path), escaped(at));
        match self.get_raw(&route, "application/vnd.github.raw+json").await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn pull_request(repository: &RepositoryName, wire: Wire) -> PullRequest {
    PullRequest {
        id: PullRequestId {
            repository: repository.clone(),
            number: wire.number,
        },
        head: wire.head.sha,
        head_branch: wire.head.r#ref,
        head_repository: wire.head.repo.map(|repo| repo.full_name),
        base: wire.base.sha,
        base_branch: wire.base.r#ref,
        // GitHub shows deleted accounts as `ghost`; nobody by that name has write access.
        author: wire.user.map_or_else(|| Login::new("ghost"), |user| user.login),
        is_open: wire.state == "open",
        title: wire.title,
        maintainer_can_modify: wire.maintainer_can_modify,
        changed_files: wire.changed_files,
    }
}
