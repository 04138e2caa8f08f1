//! The tree before a commit.

use serde::Deserialize;

use super::client::Client;
use super::commits::Object;
use super::error::Error;
use crate::domain::id::{CommitSha, RepositoryName};

impl Client {
    /// The tree of a commit's only parent. `None` if the commit is gone, or does not have exactly one parent.
    /// <https://docs.github.com/en/rest/git/commits#get-a-commit-object>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn tree_before(&self, repository: &RepositoryName, commit: &CommitSha) -> Result<Option<String>, Error> {
        #[derive(Deserialize)]
        struct Commit {
            tree: Object,
            parents: Vec<Object>,
        }
        let read = async |sha: &str| -> Result<Option<Commit>, Error> {
            self.get_optional(&format!("/repos/{repository}/git/commits/{sha}"))
                .await
        };
        let parents = read(commit.as_str())
            .await?
            .map(|commit| commit.parents)
            .unwrap_or_default();
        let [parent] = parents.as_slice() else {
            return Ok(None);
        };
        Ok(read(&parent.sha).await?.map(|parent| parent.tree.sha))
    }
}
