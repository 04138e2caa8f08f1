//! Fetches the given commits of a repository over smart HTTP, reads local repositories, and provides trees, files and
//! differences.
//!
//! Trees, files and differences come from objects alone. Configuration (of the system, the user, or the repository),
//! attributes, filters and hooks are ignored, so nothing in a repository can change what its bytes are. Only a local
//! repository has references and a work tree, which is read byte for byte, without following links. A mirror has
//! neither: an export writes plain files into a fresh directory, and later changes there never affect the mirror.
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
mod remote;
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
pub use mirrors::{bound_mirrors, mirrors_beyond};
pub use remote::HostedRemote;
use secrecy::SecretString;
pub use store::local_head;
pub use tracked::tracked;
pub use tree::Exported;
pub use tree_name::tree_name;
use url::Url;

use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{Blob, Patch};

/// Why a git operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server rejects the credentials; a retry will not help.
    #[error("{0}")]
    Refused(String),
    /// The commit does not exist; it may have been replaced by a force-push.
    #[error("commit {0} is not there; it may have been replaced by a force-push")]
    Missing(String),
    /// There are more bytes or files than the limit allows.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge { what: String, limit: u64 },
    /// The wall-clock limit was reached.
    #[error("the fetch did not finish within {}", crate::domain::clock::in_words(*.0))]
    TimedOut(Duration),
    /// The connection failed or the server has problems; a later retry may work.
    #[error("cannot fetch from {host}: {reason}; try again later")]
    Unreachable { host: String, reason: String },
    /// The server's answer is not that of a fetch.
    #[error("the git server's answer cannot be understood: {0}; check the repository's URL")]
    Server(String),
    /// The tree contains an entry that would be dangerous to write.
    #[error("the tree of this commit is refused: {path:?} {reason}")]
    UnsafeTree { path: String, reason: &'static str },
    /// Objects of the mirror are missing or broken. It is recreated the next time it is opened.
    #[error("the mirror is damaged and will be fetched again: {0}")]
    Damaged(String),
    /// A local repository cannot be read, or a name in it is unknown.
    #[error("{0}")]
    Local(String),
    /// A local repository belongs to another user, and git reads it only if it is told to.
    /// <https://git-scm.com/docs/git-config#Documentation/git-config.txt-safedirectory>
    #[error(
        "{} belongs to another user, so git does not read it; if you trust it: git config --global --add safe.directory \
         {}",
        .0.display(),
        for_shell(.0)
    )]
    OfAnotherUser(PathBuf),
    /// The text is not a diff, or does not match its files. `line` is a line of the diff.
    #[error("the diff does not apply: {}line {line} of the diff: {reason}", in_file(path))]
    DoesNotApply { path: String, line: usize, reason: String },
    #[error("cannot use {path}: {source}")]
    Io { path: String, source: io::Error },
}

/// A path as people can copy it to a shell: its author chose the name.
fn for_shell(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| String::new(), Into::into)
}

/// The file that a line of a diff is about, if it is about one.
fn in_file(path: &str) -> String {
    match path {
        "the diff" => String::new(),
        path => format!("{path}, "),
    }
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
    /// The URL that people clone: `https://host/owner/name.git`.
    pub url: Url,
    /// Sent only in a header of requests to exactly this host.
    pub token: Option<SecretString>,
}

/// The limits of one fetch.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// The maximum number of bytes that the server may send.
    pub bytes: u64,
    /// The time limit, including retries.
    pub wall: Duration,
}

/// The objects of one GitHub repository: a bare repository in the data folder that only greenlight writes.
///
/// It is kept between runs, so that the next fetch transfers only new objects. Any number of workers and processes
/// may hold the same mirror at once. Hold it for as long as its commits are needed, because a mirror that nobody
/// holds may be emptied when it has grown too large. All methods except [`Mirror::fetch`] block.
#[derive(Debug, Clone)]
pub struct Mirror {
    directory: PathBuf,
    /// A shared lock that is held while any clone of this mirror exists.
    _in_use: Arc<File>,
}

impl Mirror {
    /// Opens the mirror in this directory, or creates it.
    ///
    /// # Errors
    /// When the directory cannot be written, or its file system does not support locks.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let in_use = store::open(directory)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            _in_use: Arc::new(in_use),
        })
    }

    /// Whether this commit was fetched with its complete tree.
    pub fn has(&self, sha: &CommitSha) -> bool {
        store::is_recorded(&self.directory, sha)
    }

    /// Fetches the missing commits in one request, without their history.
    ///
    /// # Errors
    /// See [`Error`]. After an error, no part of the fetch is visible.
    pub async fn fetch(&self, remote: &Remote, wants: &[CommitSha], limits: &FetchLimits) -> Result<(), Error> {
        let mut missing: Vec<_> = wants.iter().filter(|sha| !self.has(sha)).cloned().collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        transfer::fetch(self, remote, missing, limits).await
    }

    /// Writes the tree of a commit into a new or empty directory: the unmodified bytes of the blobs, symbolic links
    /// last, and no submodules.
    ///
    /// # Errors
    /// When the commit was not fetched, when its tree contains names that point outside of the directory or entries
    /// that hide each other, when it is too large, or when the disk fails. Files that were already written stay.
    pub fn export(&self, sha: &CommitSha, into: &Path) -> Result<Exported, Error> {
        self.watch(tree::export(&self.directory, sha, into))
    }

    /// The directory of its objects, for [`history`].
    pub fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// One file of a commit. `None` if there is no such file.
    ///
    /// # Errors
    /// When the commit was not fetched, or the file has more than `max` bytes.
    pub fn file(&self, sha: &CommitSha, path: &RepoPath, max: u64) -> Result<Option<Blob>, Error> {
        self.watch(tree::file(&self.directory, sha, path, max))
    }

    /// The patch from `before` to `after`, without submodules.
    ///
    /// # Errors
    /// When either commit was not fetched, or the change is too large to hold in memory.
    pub fn diff(&self, before: &CommitSha, after: &CommitSha) -> Result<Patch, Error> {
        self.watch(tree::diff(&self.directory, before, after))
    }

    /// The git hash of the tree of `sha` with `patch` applied. Nothing is written.
    ///
    /// # Errors
    /// When the commit was not fetched, or the patch does not match its tree.
    pub fn tree_with(&self, sha: &CommitSha, patch: &Patch) -> Result<String, Error> {
        self.watch(name::in_mirror(&self.directory, sha, patch))
    }

    /// Marks the mirror as damaged if an error says so, so that the next `open` recreates it.
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

/// The first line of a server's message, shortened and without control characters.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(1000)])
        .trim()
        .chars()
        .take_while(|c| *c != '\n')
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}
