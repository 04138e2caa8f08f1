//! A throw-away copy of a tree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::{Blob, FileMode};

use crate::files;

/// A copy of the tree that untrusted code may write to; deleted when dropped.
#[derive(Debug)]
pub struct Workspace {
    directory: PathBuf,
    /// Whether nothing was written or run in it since it was made.
    is_untouched: AtomicBool,
}

impl Workspace {
    /// A copy that was just made in this directory.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            is_untouched: AtomicBool::new(true),
        }
    }

    /// The directory of the copy.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Whether it still is exactly the tree that it was made from. Only the first call can say so, because its caller is
    /// about to use the copy.
    pub fn begins_untouched(&self) -> bool {
        self.is_untouched.swap(false, Ordering::Relaxed)
    }

    /// Writes one file into the workspace, no matter what links the code under test left there.
    ///
    /// # Errors
    /// When the path leads through a link, or cannot be written.
    pub fn put(&self, path: &RepoPath, blob: &Blob) -> io::Result<()> {
        self.is_untouched.store(false, Ordering::Relaxed);
        files::write_file(
            &self.directory,
            Path::new(path.as_str()),
            &blob.bytes,
            blob.mode == FileMode::Executable,
        )
        .map_err(io::Error::other)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // The folder around it may already be gone.
        if let Err(error) = files::remove_tree(&self.directory)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.directory.display(), %error, "a workspace could not be removed");
        }
    }
}
