//! What a pull request is tested with: the tip of its base branch, and GitHub's own merge with it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::commits::{Object, Reference};
use super::error::Error;
use super::escaped;
use super::pulls::{ChangedFile, PullRequest};
use crate::domain::id::{CommitSha, RepositoryName};

/// A comparison lists at most this many files.
const MAX_COMPARED: usize = 300;

/// How many commits of a comparison are requested.
const MAX_COMMITS: usize = 100;

#[derive(Deserialize)]
struct Merge {
    parents: Vec<Object>,
}

impl Client {
    /// The commit of the base branch that CI merges a pull request with: that of GitHub's own test merge if it is for
    /// this head, otherwise the tip of the branch. `None` if the branch is gone.
    ///
    /// GitHub makes the merge `refs/pull/N/merge` with the base branch first and the head second.
    /// <https://docs.github.com/en/rest/pulls/pulls#get-a-pull-request>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn merged_with(&self, pull_request: &PullRequest) -> Result<Option<CommitSha>, Error> {
        let repository = &pull_request.id.repository;
        if let Some(merge) = &pull_request.merge_commit {
            let route = format!("/repos/{repository}/git/commits/{merge}");
            let merge: Option<Merge> = self.get_optional(&route).await?;
            let parents = merge.map(|merge| merge.parents).unwrap_or_default();
            if let [tip, head] = parents.as_slice()
                && head.sha == pull_request.head.as_str()
                && let Ok(tip) = tip.sha.parse()
            {
                return Ok(Some(tip));
            }
        }
        self.tip(repository, &pull_request.base_branch).await
    }

    /// The tip of a branch. `None` if the branch is gone.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn tip(&self, repository: &RepositoryName, branch: &str) -> Result<Option<CommitSha>, Error> {
        let route = format!("/repos/{repository}/git/ref/heads/{}", escaped(branch));
        let reference: Option<Reference> = self.get_optional(&route).await?;
        Ok(reference.and_then(|reference| reference.object.sha.parse().ok()))
    }

    /// Whether a check run of another App, or a commit status, is red on a commit. Returns false if the token may not
    /// see them.
    /// <https://docs.github.com/en/rest/checks/runs#list-check-runs-for-a-git-reference>
    /// <https://docs.github.com/en/rest/commits/statuses#get-the-combined-status-for-a-specific-reference>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn has_red_checks(&self, repository: &RepositoryName, head: &CommitSha) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct CheckList {
            check_runs: Vec<Check>,
        }
        #[derive(Deserialize)]
        struct Check {
            name: String,
            conclusion: Option<String>,
        }
        #[derive(Deserialize)]
        struct Combined {
            statuses: Vec<CommitStatus>,
        }
        #[derive(Deserialize)]
        struct CommitStatus {
            context: String,
            state: String,
        }
        let checks = format!("/repos/{repository}/commits/{head}/check-runs?filter=latest&per_page=100");
        let statuses = format!("/repos/{repository}/commits/{head}/status?per_page=100");
        let (list, combined) = tokio::try_join!(self.get_allowed(&checks), self.get_allowed(&statuses))?;
        let list: Option<CheckList> = list;
        let is_red = |check: &Check| {
            check.name != super::checks::NAME && matches!(check.conclusion.as_deref(), Some("failure" | "timed_out"))
        };
        if list.is_some_and(|list| list.check_runs.iter().any(is_red)) {
            return Ok(true);
        }
        let combined: Option<Combined> = combined;
        let is_red = |status: &CommitStatus| {
            status.context != super::checks::NAME && matches!(status.state.as_str(), "failure" | "error")
        };
        Ok(combined.is_some_and(|combined| combined.statuses.iter().any(is_red)))
    }

    /// Fetches JSON that may not exist, or that the token may not see.
    async fn get_allowed<T: DeserializeOwned>(&self, route: &str) -> Result<Option<T>, Error> {
        match self.get_optional(route).await {
            Err(Error::Refused { status: 403, .. }) => Ok(None),
            answer => answer,
        }
    }

    /// The files that a branch changed since the merge base with a commit. `None` if GitHub does not list them all.
    /// <https://docs.github.com/en/rest/commits/commits#compare-two-commits>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn changed_since(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        branch: &str,
    ) -> Result<Option<BTreeSet<String>>, Error> {
        #[derive(Deserialize)]
        struct Comparison {
            #[serde(default)]
            files: Vec<ChangedFile>,
        }
        let route = format!("/repos/{repository}/compare/{commit}...{}?per_page=1", escaped(branch));
        let compared: Option<Comparison> = self.get_optional(&route).await?;
        let files = compared.map(|compared| compared.files);
        let all = files.filter(|files| files.len() < MAX_COMPARED);
        Ok(all.map(|files| files.into_iter().map(|file| file.filename).collect()))
    }

    /// The commits after `base` up to `tip`, oldest first, each the first parent of the next. `None` if GitHub does
    /// not list them all, or they do not lead back to `base`.
    /// <https://docs.github.com/en/rest/commits/commits#compare-two-commits>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn first_parents(
        &self,
        repository: &RepositoryName,
        base: &CommitSha,
        tip: &CommitSha,
    ) -> Result<Option<Vec<CommitSha>>, Error> {
        #[derive(Deserialize)]
        struct Comparison {
            commits: Vec<Listed>,
        }
        #[derive(Deserialize)]
        struct Listed {
            sha: CommitSha,
            parents: Vec<Object>,
        }
        let route = format!("/repos/{repository}/compare/{base}...{tip}?per_page={MAX_COMMITS}");
        let compared: Option<Comparison> = self.get_optional(&route).await?;
        let listed = compared.map(|compared| compared.commits).unwrap_or_default();
        let parents: BTreeMap<&str, &Listed> = listed.iter().map(|one| (one.sha.as_str(), one)).collect();
        let (mut line, mut at) = (Vec::new(), tip.as_str());
        while at != base.as_str() {
            let Some(commit) = parents.get(at).filter(|_| line.len() < listed.len()) else {
                return Ok(None);
            };
            line.push(commit.sha.clone());
            match commit.parents.first() {
                Some(parent) => at = &parent.sha,
                None => return Ok(None),
            }
        }
        line.reverse();
        Ok(Some(line))
    }
}
