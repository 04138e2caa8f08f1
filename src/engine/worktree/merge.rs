//! The worktree over the merge of a head with the tip of its base branch. It is used if the head alone is green.
//! Patches are made on the merge, and carried over to the head, where they land.

use std::sync::Arc;

use super::super::{Broken, Context};
use super::Worktree;
use super::fetched::{changed_lines, mirror, over};
use super::originals::originals;
use crate::checkout::Checkout;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::git::{self, Conflict};
use crate::github::ChangedFile;

/// What a worktree over a merge knows about the head.
#[derive(Clone)]
pub struct OnMerge {
    /// Name of the base branch.
    pub branch: String,
    /// The commit that the head is merged with.
    pub tip: CommitSha,
    /// The head alone.
    pub head: Checkout,
    merge: git::Merge,
    /// Holds the tree of the head.
    _folder: Option<Arc<tempfile::TempDir>>,
}

/// The other side of a head's merge.
#[derive(Debug, Clone)]
pub struct With {
    /// Name of the base branch.
    pub branch: String,
    pub tip: CommitSha,
    /// The merge base.
    pub base: CommitSha,
}

impl Worktree {
    /// The worktree over the merge of this one's head, or the conflict.
    ///
    /// # Errors
    /// When GitHub or git cannot provide the commits.
    pub(in crate::engine) async fn merged(
        &self,
        context: &Context<'_>,
        head: &CommitSha,
        with: With,
    ) -> Result<Result<Self, Conflict>, Broken> {
        let With { branch, tip, base } = with;
        let mirror = mirror(context, &[head.clone(), base.clone(), tip.clone()]).await?;
        let objects = mirror.objects();
        let merge = git::Merge::new(mirror, (base, head.clone(), tip.clone()));
        let exporting = merge.clone();
        let export = move |root: &std::path::Path| exporting.export(root);
        let worktree = match over(context, (objects, head.clone()), self.config.clone(), export).await? {
            Ok(worktree) => worktree,
            Err(conflict) => return Ok(Err(conflict)),
        };
        let files = match blocking(&merge, git::Merge::changes).await? {
            Ok(files) => files,
            Err(conflict) => return Ok(Err(conflict)),
        };
        let files: Vec<ChangedFile> = files.into_iter().map(changed_file).collect();
        Ok(Ok(Self {
            changed: changed_lines(&files),
            touched: self.touched.clone(),
            originals: originals(&files, &worktree.checkout),
            memory: self.memory.clone(),
            hints: self.hints.clone(),
            left: self.left,
            // The command that was approved for the head is used here, too.
            command: self.test_command().ok(),
            merge: Some(OnMerge {
                branch,
                tip,
                head: self.checkout.clone(),
                merge,
                _folder: self.folder.clone(),
            }),
            ..worktree
        }))
    }
}

impl OnMerge {
    /// Carries a patch on the merge over to the head, where it lands. A conflict if it does not apply there.
    ///
    /// # Errors
    /// When the mirror fails.
    pub async fn to_head(&self, patch: &Patch) -> Result<Result<Patch, Conflict>, Broken> {
        let patch = patch.clone();
        blocking(&self.merge, move |merge| merge.to_head(&patch)).await
    }

    /// Carries a patch on the head over to the merge.
    ///
    /// # Errors
    /// When the mirror fails, or the patch does not fit the head.
    pub async fn from_head(&self, patch: &Patch) -> Result<Result<Patch, Conflict>, Broken> {
        let patch = patch.clone();
        blocking(&self.merge, move |merge| merge.from_head(&patch)).await
    }
}

async fn blocking<T: Send + 'static>(
    merge: &git::Merge,
    work: impl FnOnce(&git::Merge) -> Result<Result<T, Conflict>, git::Error> + Send + 'static,
) -> Result<Result<T, Conflict>, Broken> {
    let merge = merge.clone();
    let done = tokio::task::spawn_blocking(move || work(&merge)).await;
    Ok(done.map_err(|error| Broken::Bug(error.to_string()))??)
}

/// A file as GitHub would list it if the pull request had this base.
fn changed_file((filename, patch): (String, Option<String>)) -> ChangedFile {
    let is_added = patch.as_deref().is_some_and(|patch| patch.starts_with("@@ -0,0 "));
    let status = if is_added { "added" } else { "modified" };
    ChangedFile {
        filename,
        status: status.into(),
        patch,
        previous_filename: None,
    }
}
