//! Pull requests and their files, always fetched and never stored.

use serde::Deserialize;

use super::client::Client;
use super::error::Error;
use super::repositories::Wire as WireRepository;
use super::{GitHub, escaped};
use crate::domain::id::{Account, AccountId, CommitSha, Login, PullRequestId, RepoPath, Repository, RepositoryName};

/// A pull request in its current state.
#[derive(Debug, Clone)]
pub struct PullRequest {
    /// With the current name of its repository.
    pub id: PullRequestId,
    pub head: CommitSha,
    /// The branch of the head, in [`PullRequest::head_repository`].
    pub head_branch: String,
    /// `None` if the fork was deleted.
    pub head_repository: Option<Repository>,
    pub base: CommitSha,
    pub base_branch: String,
    /// The default branch of the repository, if GitHub names it.
    pub default_branch: Option<String>,
    pub author: Account,
    pub is_open: bool,
    pub title: String,
    /// Whether maintainers may push to a fork's branch.
    pub maintainer_can_modify: bool,
    /// GitHub's latest own merge of the head with its base branch. `None` while there is a conflict.
    pub merge_commit: Option<CommitSha>,
    /// The number of files in its diff. GitHub omits it when it lists several pull requests.
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
    /// GitHub's own hunks. `None` for a binary or too large file.
    pub patch: Option<String>,
    /// The name before a rename.
    #[serde(default)]
    pub previous_filename: Option<String>,
}

impl ChangedFile {
    pub fn path(&self) -> Option<RepoPath> {
        self.filename.parse().ok()
    }
}

#[derive(Deserialize)]
struct PullRequestWire {
    number: u64,
    state: String,
    title: String,
    user: Option<WireUser>,
    head: WireEnd,
    base: WireEnd,
    #[serde(default)]
    maintainer_can_modify: bool,
    changed_files: Option<u64>,
    merge_commit_sha: Option<CommitSha>,
}

#[derive(Deserialize)]
struct WireUser {
    login: Login,
    id: Option<AccountId>,
}

#[derive(Deserialize)]
struct WireEnd {
    sha: CommitSha,
    r#ref: String,
    repo: Option<WireRepository>,
}

impl GitHub {
    /// The URL of a pull request's page.
    pub fn page_of(&self, pull_request: &PullRequestId) -> url::Url {
        let PullRequestId { repository, number } = pull_request;
        self.web_url(&format!("{}/pull/{number}", repository.name))
    }
}

impl Client {
    /// Fetches a pull request, even if its repository was renamed. If the name now belongs to another repository, the
    /// right one is found by its id, because pull request numbers mean nothing elsewhere.
    ///
    /// # Errors
    /// When it does not exist or GitHub cannot be reached.
    pub async fn pull_request(&self, id: &PullRequestId) -> Result<PullRequest, Error> {
        let read = async |repository: &Repository| -> Result<Option<PullRequest>, Error> {
            let wire: Option<PullRequestWire> = self
                .get_optional(&format!("/repos/{repository}/pulls/{}", id.number))
                .await?;
            Ok(wire.and_then(|wire| pull_request(&id.repository, wire)))
        };
        if let Some(found) = read(&id.repository).await? {
            return Ok(found);
        }
        let found = match self.renamed(&id.repository).await? {
            Some(now) => read(&now).await?,
            None => None,
        };
        found.ok_or_else(|| Error::Refused {
            status: 404,
            route: format!("/repos/{}/pulls/{}", id.repository, id.number),
            message: "Not Found".into(),
            lacks: None,
        })
    }

    /// The open pull requests whose head is this branch of this owner. Events of forks name no pull request.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn pull_requests_of(
        &self,
        repository: &Repository,
        owner: &str,
        branch: &str,
    ) -> Result<Vec<PullRequest>, Error> {
        let head = escaped(&format!("{owner}:{branch}"));
        let wire: Vec<PullRequestWire> = self
            .get(&format!("/repos/{repository}/pulls?state=open&head={head}&per_page=10"))
            .await?;
        Ok(wire
            .into_iter()
            .filter_map(|wire| pull_request(repository, wire))
            .collect())
    }

    /// The open pull requests with this head, among the 300 updated last. `GET commits/{sha}/pulls` does not know the
    /// heads of forks, and events of checks and statuses name no pull request for them.
    /// <https://docs.github.com/en/rest/commits/commits#list-pull-requests-associated-with-a-commit>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn pull_requests_at(&self, repository: &Repository, head: &CommitSha) -> Result<Vec<PullRequest>, Error> {
        let mut found = Vec::new();
        for page in 1..=3 {
            let order = "state=open&sort=updated&direction=desc&per_page=100";
            let wire: Vec<PullRequestWire> = self
                .get(&format!("/repos/{repository}/pulls?{order}&page={page}"))
                .await?;
            let is_last = wire.len() < 100;
            let here = wire.into_iter().filter(|wire| wire.head.sha == *head);
            found.extend(here.filter_map(|wire| pull_request(repository, wire)));
            if is_last || !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// GitHub's own diff of a pull request (merge base to head), at most 3,000 files.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn changed_files(&self, id: &PullRequestId) -> Result<Vec<ChangedFile>, Error> {
        self.get_all(&format!("/repos/{}/pulls/{}/files", id.repository, id.number))
            .await
    }

    /// One file of a commit or branch. `None` if it does not exist.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn file(&self, repository: &RepositoryName, path: &str, at: &str) -> Result<Option<Vec<u8>>, Error> {
        let route = format!("/repos/{repository}/contents/{}?ref={}", escaped(path), escaped(at));
        self.contents(&route).await
    }

    /// One file of the default branch. `None` if it does not exist.
    /// <https://docs.github.com/en/rest/repos/contents#get-repository-content>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn default_file(&self, repository: &RepositoryName, path: &str) -> Result<Option<Vec<u8>>, Error> {
        self.contents(&format!("/repos/{repository}/contents/{}", escaped(path)))
            .await
    }

    async fn contents(&self, route: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.get_raw(route, "application/vnd.github.raw+json").await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// `None` if the answer is about another repository, which has taken the name.
fn pull_request(wanted: &Repository, wire: PullRequestWire) -> Option<PullRequest> {
    let default_branch = wire.base.repo.as_ref().and_then(|base| base.default_branch.clone());
    Some(PullRequest {
        id: PullRequestId {
            repository: match wire.base.repo {
                Some(base) => base.is(wanted)?,
                None => wanted.clone(),
            },
            number: wire.number,
        },
        head: wire.head.sha,
        head_branch: wire.head.r#ref,
        head_repository: wire.head.repo.map(Repository::from),
        base: wire.base.sha,
        base_branch: wire.base.r#ref,
        default_branch,
        // GitHub shows deleted accounts as `ghost`, which has no write access anywhere.
        author: wire
            .user
            .map_or_else(|| Account::new("ghost"), |WireUser { login, id }| Account { id, login }),
        is_open: wire.state == "open",
        title: wire.title,
        maintainer_can_modify: wire.maintainer_can_modify,
        changed_files: wire.changed_files,
        merge_commit: wire.merge_commit_sha,
    })
}
