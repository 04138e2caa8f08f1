//! Fetches a repository at given commits over smart HTTP, reads the one of a local checkout, and gives out trees, files
//! and differences.
//!
//! Trees, files and differences come from objects alone: no configuration (of the system, the user, or the repository),
//! no attributes, no filters and no hooks take part, so nothing in a repository can change what its bytes are. Only a
//! local repository has references and a work tree, which is read as its bytes are, without following links. A mirror
//! has none: an export writes plain files into a fresh directory, and what happens there later never finds its way back.
//! Commits are made through GitHub's API, so nothing is pushed.

mod branches;
mod disk;
mod entries;
pub mod history;
mod limits;
mod local;
mod lookup;
mod merge;
mod mirrors;
mod name;
mod pull_request_diff;
mod store;
mod tracked;
mod transfer;
mod tree;
mod tree_name;
pub mod wire;
mod working;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use branches::Upstream;
use greenlight_anchor::ReadError;
pub use local::LocalRepository;
pub use merge::{Conflict, Merge};
pub use mirrors::bound_mirrors;
use secrecy::SecretString;
pub use store::local_head;
pub use tracked::tracked;
pub use tree::Exported;
pub use tree_name::tree_name;
use url::Url;

use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{Blob, Patch};

/// Why git could not do it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server does not let this token in; asking again will not help.
    #[error("{0}")]
    Refused(String),
    /// The commit is not there; it may have been replaced by a force-push.
    #[error("commit {0} is not there; it may have been replaced by a force-push")]
    Missing(String),
    /// More bytes or files than the limit allows.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge { what: String, limit: u64 },
    /// The wall-clock limit was reached.
    #[error("the fetch did not finish within {}", crate::domain::clock::in_words(*.0))]
    TimedOut(Duration),
    /// The connection failed or the server is in trouble; a later try may work.
    #[error("cannot fetch from {host}: {reason}; try again later")]
    Unreachable { host: String, reason: String },
    /// The server answered something that is not a fetch.
    #[error("the git server cannot be understood: {0}; check the repository's URL")]
    Server(String),
    /// The tree holds an entry that would be dangerous to write.
    #[error("the tree of this commit is refused: {path:?} {reason}")]
    UnsafeTree { path: String, reason: &'static str },
    /// Objects of the mirror are missing or broken. It is made anew the next time it is opened.
    #[error("the mirror is damaged and will be fetched again: {0}")]
    Damaged(String),
    /// A local repository cannot be read, or a name in it means nothing.
    #[error("{0}")]
    Local(String),
    /// A diff is not one, or does not fit the files it is for. The line is one of the diff.
    #[error("the diff does not apply: {path}, line {line} of the diff: {reason}")]
    DoesNotApply { path: String, line: usize, reason: String },
    #[error("cannot use {path}: {source}")]
    Io { path: String, source: io::Error },
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooLarge { what, limit } => Self::TooLarge { what, limit },
            ReadError::DoesNotApply { path, line, reason } => Self::DoesNotApply { path, line, reason },
        }
    }
}

/// Where to fetch from.
#[derive(Debug, Clone)]
pub struct Remote {
    /// As people clone it: `https://host/owner/name.git`.
    pub url: Url,
    /// Sent in a header of requests to exactly this host, and nowhere else.
    pub token: Option<SecretString>,
}

/// What one fetch may cost.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// How many bytes the server may send.
    pub bytes: u64,
    /// How long everything may take, with retries.
    pub wall: Duration,
}

/// The objects of one GitHub repository, as a bare repository in the data folder that only greenlight writes.
///
/// Kept between runs, so that the next fetch brings only what is new. Any number of workers and processes may hold
/// the same mirror at once; hold it for as long as its commits are needed, for a mirror that nobody holds may be
/// emptied when it has grown too large. Everything but [`Mirror::fetch`] blocks.
#[derive(Debug, Clone)]
pub struct Mirror {
    directory: PathBuf,
    /// A shared lock for as long as any clone of this mirror lives.
    _in_use: Arc<File>,
}

impl Mirror {
    /// Opens the mirror in this directory and makes it if there is none.
    ///
    /// # Errors
    /// When the directory cannot be written, or its file system has no locks.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let in_use = store::open(directory)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            _in_use: Arc::new(in_use),
        })
    }

    /// Whether this commit was fetched with its whole tree.
    pub fn has(&self, sha: &CommitSha) -> bool {
        store::is_recorded(&self.directory, sha)
    }

    /// Brings the commits that are not there yet, without their history, in one request.
    ///
    /// # Errors
    /// See [`Error`]; after an error, nothing of the fetch is visible.
    pub async fn fetch(&self, remote: &Remote, wants: &[CommitSha], limits: &FetchLimits) -> Result<(), Error> {
        let mut missing: Vec<_> = wants.iter().filter(|sha| !self.has(sha)).cloned().collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        transfer::fetch(self, remote, missing, limits).await
    }

    /// Writes the tree of a commit into a directory that does not exist yet or is empty: the bytes of the blobs as
    /// they are, symbolic links last, submodules left out.
    ///
    /// # Errors
    /// When the commit was not fetched, when its tree holds names that lead out of the directory or entries that hide
    /// each other, when it is too large, or when the disk fails. What was written so far stays behind.
    pub fn export(&self, sha: &CommitSha, into: &Path) -> Result<Exported, Error> {
        self.watch(tree::export(&self.directory, sha, into))
    }

    /// Where its objects are, for [`history`].
    pub fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// One file of a commit. `None` if there is no file of that name.
    ///
    /// # Errors
    /// When the commit was not fetched, or the file has more than `max` bytes.
    pub fn file(&self, sha: &CommitSha, path: &RepoPath, max: u64) -> Result<Option<Blob>, Error> {
        self.watch(tree::file(&self.directory, sha, path, max))
    }

    /// What `after` changes against `before`; submodules are left out.
    ///
    /// # Errors
    /// When either commit was not fetched, or the change is too large to hold in memory.
    pub fn diff(&self, before: &CommitSha, after: &CommitSha) -> Result<Patch, Error> {
        self.watch(tree::diff(&self.directory, before, after))
    }

    /// The name that git gives the tree of `sha` with `patch` applied; nothing is written.
    ///
    /// # Errors
    /// When the commit was not fetched, or the patch does not fit its tree.
    pub fn tree_with(&self, sha: &CommitSha, patch: &Patch) -> Result<String, Error> {
        self.watch(name::in_mirror(&self.directory, sha, patch))
    }

    /// Remembers that the mirror cannot be trusted, so that the next `open` makes it anew.
    fn watch<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Damaged(reason)) = &result {
            tracing::warn!(mirror = %self.directory.display(), reason, "a mirror is damaged");
            store::distrust(&self.directory);
        }
        result
    }
}

/// Turns a failed system call into an [`Error`] that names the path.
fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// The first line of what a server said, short and without control characters.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(1000)])
        .trim()
        .chars()
        .take_while(|c| *c != '\n')
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}
