//! Commits through the git data API. This is the only place that moves a branch: only from the head that was tested,
//! and never by force.
//!
//! GitHub signs commits that an App makes this way without an explicit author ("Verified").
//! <https://docs.github.com/en/authentication/managing-commit-signature-verification/about-commit-signature-verification#signature-verification-for-bots>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt as _, TryStreamExt as _};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::Error;
use super::escaped;
use super::graphql::Swap;
use crate::domain::id::{CommitSha, RepoPath, RepositoryName, RunId};
use crate::domain::landing::Landing;
use crate::domain::patch::FileChange;

/// How many blobs are sent side by side.
const MAX_BLOBS: usize = 4;

/// The branch that something lands on.
#[derive(Debug, Clone, Copy)]
pub struct Branch<'a> {
    /// The repository of the branch: the fork, for a pull request from a fork.
    pub repository: &'a RepositoryName,
    pub name: &'a str,
}

/// Why a patch did not land.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    #[error("the branch moved to {actual}")]
    HeadMoved { actual: CommitSha },
    #[error("the tree GitHub made ({made}) is not the tree that was tested ({tested})")]
    OtherTree { made: String, tested: String },
    /// The branch did not move, because GitHub lets nobody, or not greenlight, move it there. The text is GitHub's.
    #[error("GitHub rejected the commit: {why}")]
    NotTaken { why: String },
    #[error(transparent)]
    GitHub(#[from] Error),
}

#[derive(Deserialize)]
pub(super) struct Object {
    pub(super) sha: String,
}

#[derive(Deserialize)]
pub(super) struct Reference {
    pub(super) object: Object,
}

#[derive(Deserialize)]
struct Commit {
    sha: CommitSha,
    message: String,
    tree: Object,
    parents: Vec<Object>,
}

impl Client {
    /// The merge base of two commits. `None` if they have nothing in common, or one of them is gone.
    /// <https://docs.github.com/en/rest/commits/commits#compare-two-commits>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn merge_base(
        &self,
        repository: &RepositoryName,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Option<CommitSha>, Error> {
        #[derive(Deserialize)]
        struct Comparison {
            merge_base_commit: MergeBase,
        }
        #[derive(Deserialize)]
        struct MergeBase {
            sha: CommitSha,
        }
        // Only the first page lists the files, which are not needed.
        let route = format!("/repos/{repository}/compare/{base}...{head}?per_page=1&page=2");
        let compared: Option<Comparison> = self.get_optional(&route).await?;
        Ok(compared.map(|compared| compared.merge_base_commit.sha))
    }

    /// Commits the patch on top of the head it was tested on and moves the branch there, but only if the branch is
    /// exactly at that head. A repeated call finds the commit of the first.
    ///
    /// The commit names no author, so that GitHub signs the commits of Apps.
    ///
    /// # Errors
    /// When the branch moved, its rules reject the commit, GitHub's tree is not the tested one, or GitHub cannot be
    /// reached or refuses.
    pub async fn land(&self, branch: Branch<'_>, landing: &Landing<'_>) -> Result<CommitSha, LandError> {
        let (repository, head) = (branch.repository, landing.head());
        let base = format!("/repos/{repository}/git/commits/{head}");
        // Blobs that nothing refers to cost nothing.
        let (landed, base, entries, node) = tokio::join!(
            self.landed_before(branch, landing),
            self.get::<Commit>(&base),
            self.entries(repository, landing),
            self.node(repository)
        );
        if let Some(landed) = landed? {
            return Ok(landed);
        }
        let tree = self.tree(repository, (landing, entries?), &base?.tree.sha).await?;
        let message = commit_message(landing.message(), landing.run());
        let body = json!({ "message": message, "tree": tree, "parents": [head] });
        // An unreferenced object costs nothing, so this may be repeated.
        let commit: Commit = self
            .post_again(&format!("/repos/{repository}/git/commits"), &body)
            .await?;
        let mut swapped = self.swap((branch, node?), (head, &commit.sha)).await;
        if let Ok(Swap::Unknown) = swapped {
            // An old server can only check for a fast-forward, so the branch is read once more.
            if let Some(landed) = self.landed_before(branch, landing).await? {
                return Ok(landed);
            }
            let reference = format!("/repos/{repository}/git/refs/heads/{}", escaped(branch.name));
            let body = json!({ "sha": commit.sha, "force": false });
            let moved = self.set::<Reference>(Method::PATCH, &reference, &body).await;
            swapped = moved.map(|_| Swap::Done);
        }
        let Err(error) = swapped else {
            return Ok(commit.sha);
        };
        // Regardless of the response, the branch itself shows whether it was moved.
        match (self.landed_before(branch, landing).await?, error) {
            (Some(landed), _) => Ok(landed),
            (None, Error::Refused { message, lacks, .. }) => Err(LandError::NotTaken {
                why: match lacks {
                    Some(lacks) => format!("{message}; {lacks}"),
                    None => message,
                },
            }),
            (None, error) => Err(error.into()),
        }
    }

    /// The id of a repository in GraphQL. `None` if the server does not name it.
    async fn node(&self, repository: &RepositoryName) -> Result<Option<String>, Error> {
        #[derive(Deserialize)]
        struct RepositoryNode {
            node_id: Option<String>,
        }
        let named: RepositoryNode = self.get(&format!("/repos/{repository}")).await?;
        Ok(named.node_id)
    }

    /// Moves the branch to a commit on top of the tested head, if it is at that head.
    async fn swap(
        &self,
        (branch, repository): (Branch<'_>, Option<String>),
        (from, to): (&CommitSha, &CommitSha),
    ) -> Result<Swap, Error> {
        let Some(repository) = repository else {
            return Ok(Swap::Unknown);
        };
        let name = format!("refs/heads/{}", branch.name);
        self.update_ref(&repository, &name, (from, to)).await
    }

    /// The commit of an earlier attempt, if the branch is at it. `None` if the branch has not moved.
    ///
    /// # Errors
    /// When the branch moved, or GitHub cannot be reached.
    pub async fn landed_before(
        &self,
        branch: Branch<'_>,
        landing: &Landing<'_>,
    ) -> Result<Option<CommitSha>, LandError> {
        let (repository, head) = (branch.repository, landing.head());
        let reference: Reference = self
            .get(&format!("/repos/{repository}/git/ref/heads/{}", escaped(branch.name)))
            .await?;
        if reference.object.sha == head.as_str() {
            return Ok(None);
        }
        let now: Commit = self
            .get(&format!("/repos/{repository}/git/commits/{}", reference.object.sha))
            .await?;
        let is_ours = now.message.lines().any(|line| line == trailer(landing.run()));
        let is_child = now.parents.len() == 1 && now.parents.iter().all(|parent| parent.sha == head.as_str());
        // The run's id is not secret, and anybody may write it into a message, so the tree must be the same as well.
        if is_ours && is_child {
            let base: Commit = self.get(&format!("/repos/{repository}/git/commits/{head}")).await?;
            let entries = self.entries(repository, landing).await?;
            if self.tree(repository, (landing, entries), &base.tree.sha).await? == now.tree.sha {
                return Ok(Some(now.sha));
            }
        }
        Err(LandError::HeadMoved { actual: now.sha })
    }

    /// The changed entries of the tree, with their blobs created.
    async fn entries(&self, repository: &RepositoryName, landing: &Landing<'_>) -> Result<Vec<Value>, Error> {
        let files = landing.patch().files();
        let entries: Vec<_> = files
            .map(|(path, change)| self.entry(repository, path, change))
            .collect();
        futures::stream::iter(entries).buffered(MAX_BLOBS).try_collect().await
    }

    async fn entry(&self, repository: &RepositoryName, path: &RepoPath, change: &FileChange) -> Result<Value, Error> {
        let mode = change
            .after
            .as_ref()
            .or(change.before.as_ref())
            .map_or("100644", |blob| blob.mode.octal());
        let mut entry = json!({ "path": path.as_str(), "mode": mode, "type": "blob", "sha": null });
        if let Some(after) = &change.after {
            let body = json!({ "content": STANDARD.encode(&after.bytes), "encoding": "base64" });
            let blob: Object = self
                .post_again(&format!("/repos/{repository}/git/blobs"), &body)
                .await?;
            entry["sha"] = json!(blob.sha);
        }
        Ok(entry)
    }

    async fn tree(
        &self,
        repository: &RepositoryName,
        (landing, entries): (&Landing<'_>, Vec<Value>),
        base: &str,
    ) -> Result<String, LandError> {
        let body = json!({ "base_tree": base, "tree": entries });
        let tree: Object = self
            .post_again(&format!("/repos/{repository}/git/trees"), &body)
            .await?;
        if tree.sha == landing.tree() {
            Ok(tree.sha)
        } else {
            Err(LandError::OtherTree {
                made: tree.sha,
                tested: landing.tree().into(),
            })
        }
    }
}

/// The full message of a commit that a run lands.
pub fn commit_message(message: &str, run: &RunId) -> String {
    format!("{}\n\n{}", message.trim_end(), trailer(run))
}

fn trailer(run: &RunId) -> String {
    format!("Greenlight-Run: {run}")
}
