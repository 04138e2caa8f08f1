//! The workspace in which programs are built.

use std::collections::BTreeSet;
use std::io;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Blob;
use greenlight_sandbox as sandbox;
use greenlight_suite as suite;
use greenlight_tree::checkout::Workspace;

use crate::task::Task;

/// A copy of the tree, and the files in it that differ from the original.
pub(super) struct Tree {
    pub(super) workspace: Workspace,
    edited: BTreeSet<RepoPath>,
}

impl Tree {
    pub(super) async fn new(task: &Task<'_>) -> Result<Self, suite::Error> {
        Ok(Self {
            workspace: task.checkout.fresh_copy(&task.suite.workspaces).await?,
            edited: BTreeSet::new(),
        })
    }

    /// Restores the original tree, except for these files.
    pub(super) async fn put(&mut self, task: &Task<'_>, files: Vec<(RepoPath, Blob)>) -> Result<(), suite::Error> {
        if self.write(task, &files).is_err() {
            // The code under test has changed the copy so much that it is unusable.
            *self = Self::new(task).await?;
            self.write(task, &files).map_err(sandbox::Error::Broken)?;
        }
        Ok(())
    }

    /// Every write gives a file a new modification time, even if it restores the original: builds compare times.
    fn write(&mut self, task: &Task<'_>, files: &[(RepoPath, Blob)]) -> io::Result<()> {
        let edited = std::mem::take(&mut self.edited);
        for path in edited
            .iter()
            .filter(|path| files.iter().all(|(other, _)| other != *path))
        {
            // A file that is not in the original only defines a switch, which does no harm.
            if let Some(original) = task.checkout.read(path) {
                self.workspace.put(path, &original)?;
            }
        }
        for (path, blob) in files {
            self.edited.insert(path.clone());
            self.workspace.put(path, blob)?;
        }
        Ok(())
    }
}
