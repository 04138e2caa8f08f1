//! Commits through the git data API. This is the only place that moves a branch: only from the head that was tested,
//! and never by force.
//!
//! GitHub signs commits that an App makes this way without an explicit author ("Verified").
//! <https://docs.github.com/en/authentication/managing-commit-signature-verification/about-commit-signature-verification#signature-verification-for-bots>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::Error;
use super::escaped;
use super::graphql::Swap;
use crate::domain::id::{CommitSha, RepositoryName, RunId};
use crate::domain::landing::Landing;

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
        if let Some(landed) = self.landed_before(branch, landing).await? {
            return Ok(landed);
        }
        let base: Commit = self.get(&format!("/repos/{repository}/git/commits/{head}")).await?;
        let tree = self.tree(repository, landing, &base.tree.sha).await?;
        let message = commit_message(landing.message(), landing.run());
        let body = json!({ "message": message, "tree": tree, "parents": [head] });
        // An unreferenced object costs nothing, so this may be repeated.
        let commit: Commit = self
            .post_again(&format!("/repos/{repository}/git/commits"), &body)
            .await?;
        let mut swapped = self.swap(branch, (head, &commit.sha)).await;
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

    /// Moves the branch to a commit on top of the tested head, if it is at that head.
    async fn swap(&self, branch: Branch<'_>, (from, to): (&CommitSha, &CommitSha)) -> Result<Swap, Error> {
        #[derive(Deserialize)]
        struct RepositoryNode {
            node_id: Option<String>,
        }
        let named: RepositoryNode = self.get(&format!("/repos/{}", branch.repository)).await?;
        let Some(repository) = named.node_id else {
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
            if self.tree(repository, landing, &base.tree.sha).await? == now.tree.sha {
                return Ok(Some(now.sha));
            }
        }
        Err(LandError::HeadMoved { actual: now.sha })
    }

    async fn tree(&self, repository: &RepositoryName, landing: &Landing<'_>, base: &str) -> Result<String, LandError> {
        let mut entries: Vec<Value> = Vec::new();
        for (path, change) in landing.patch().files() {
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
            entries.push(entry);
        }
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
