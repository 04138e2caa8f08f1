//! Reads a repository on this machine: it resolves commits, and reads trees and differences.
//!
//! Nothing is written, not even an object, and nothing that the repository's configuration names is run: the library
//! ignores the user's hooks, aliases, pagers, diff programs and filters. Trees are read from the objects alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository};

use super::disk::Disk;
use super::entries::Entry;
use super::limits::{MAX_BYTES, limit_error, too_large};
use super::lookup::{Lookup, listing};
use super::{Error, Exported, name, pull_request_diff, store, tree, working};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{Blob, FileChange, Patch};

/// The maximum size of a `.git` file, which contains one path.
const MAX_POINTER: u64 = 8 << 10;

/// A repository on this machine, with or without a working directory. All methods block.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    pub(super) git: PathBuf,
    objects: PathBuf,
    work_tree: Option<PathBuf>,
}

impl LocalRepository {
    /// Opens the repository that contains this path.
    ///
    /// # Errors
    /// When there is none, or it belongs to another user.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let repository = Repository::discover(path).map_err(|error| match error.code() {
            ErrorCode::NotFound => Error::Local(format!("{} is not inside a git repository", path.display())),
            ErrorCode::Owner => Error::OfAnotherUser(top(path)),
            _ => limit_error(&error),
        })?;
        Ok(Self {
            git: repository.path().to_path_buf(),
            objects: repository.commondir().join("objects"),
            work_tree: work_tree(path, repository.path()),
        })
    }

    /// The directory of its objects, for [`super::history`].
    pub fn objects_directory(&self) -> &Path {
        &self.objects
    }

    /// Its working directory. `None` in a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// The commit that a name refers to: `HEAD`, a branch, a tag, a SHA, `main~2`.
    ///
    /// # Errors
    /// When the name is unknown or ambiguous, or does not refer to a commit.
    pub fn resolve(&self, rev: &str) -> Result<CommitSha, Error> {
        let no_commit = |error: git2::Error| {
            let shown = super::printable(rev.as_bytes());
            match error.code() {
                ErrorCode::NotFound => Error::Local(format!(
                    "there is no commit {shown:?} here; fetch it, or check the name"
                )),
                ErrorCode::Ambiguous => Error::Local(format!("{shown:?} is ambiguous; write more of it")),
                _ => Error::Local(format!("{shown:?} is not a commit: {}", error.message())),
            }
        };
        let repository = Repository::open(&self.git).map_err(|error| limit_error(&error))?;
        let commit = repository
            .revparse_single(rev)
            .and_then(|object| object.peel_to_commit())
            .map_err(no_commit)?;
        named(commit.id())
    }

    /// The merge base of two commits.
    ///
    /// # Errors
    /// When they have nothing in common, or the history is incomplete here.
    pub fn merge_base(&self, a: &CommitSha, b: &CommitSha) -> Result<CommitSha, Error> {
        let repository = self.objects()?;
        let base = repository.merge_base(oid(a)?, oid(b)?).map_err(|_| {
            let (a, b) = (a.short(), b.short());
            Error::Local(format!(
                "{a} and {b} have no common history here; in a shallow clone, fetch more of it"
            ))
        })?;
        named(base)
    }

    /// The files that a pull request from `head` into `base` would show and that are wanted, each with its name in
    /// the head (a removed file with its old one) and its hunks as in GitHub's `patch` field: from the merge base,
    /// with three lines of context, detected renames and no file headers. The hunks are `None` where GitHub omits the
    /// field: for binary and very large files, very long patches, and files whose content is unchanged.
    ///
    /// # Errors
    /// When a commit does not exist here, or the difference is too large.
    pub fn diff_files(
        &self,
        base: &CommitSha,
        head: &CommitSha,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, Option<String>)>, Error> {
        let base = self.merge_base(base, head)?;
        let repository = self.objects()?;
        let trees = (root(&repository, &base)?, root(&repository, head)?);
        pull_request_diff::files(&repository, trees, is_wanted)
    }

    /// The patch from `a` to `b`.
    ///
    /// # Errors
    /// When a commit does not exist here, when the change is too large to hold in memory, or when they differ in
    /// something that a patch cannot express: a submodule, or a file whose name greenlight cannot express.
    pub fn patch_between(&self, a: &CommitSha, b: &CommitSha) -> Result<Patch, Error> {
        let repository = self.objects()?;
        let (patch, unsaid) = tree::between(&repository, root(&repository, a)?, root(&repository, b)?)?;
        match unsaid.as_slice() {
            [] => Ok(patch),
            [path, ..] => Err(Error::Local(format!(
                "{} and {} differ in {path:?}, a submodule or a name that greenlight cannot handle",
                a.short(),
                b.short()
            ))),
        }
    }

    /// The patch that a unified diff makes to the tree of a commit. The diff may come from git (with or without
    /// prefixes, with binary content, as mails), from `diff -u`, or from a formatter.
    ///
    /// # Errors
    /// When any line does not apply exactly where the diff says, or a name points outside of the repository.
    pub fn apply(&self, head: &CommitSha, unified_diff: &[u8]) -> Result<Patch, Error> {
        if unified_diff.len() > MAX_BYTES {
            return Err(too_large("the diff", MAX_BYTES));
        }
        let repository = self.objects()?;
        let root = root(&repository, head)?;
        let mut lookup = Lookup::new(&repository, root);
        let file = |path: &RepoPath| lookup.blob(path, MAX_BYTES as u64);
        let patch = greenlight_anchor::read(unified_diff, self.work_tree(), file)?;
        let held: usize = patch.files().map(|(_, change)| size(change)).sum();
        if held > 2 * MAX_BYTES {
            return Err(too_large("the change", 2 * MAX_BYTES));
        }
        fits(&repository, &mut lookup, &patch)?;
        Ok(patch)
    }

    /// The git hash of the tree of `head` with `patch` applied.
    ///
    /// # Errors
    /// When the commit does not exist here, or the patch does not match its tree.
    pub fn tree_with(&self, head: &CommitSha, patch: &Patch) -> Result<String, Error> {
        let repository = self.objects()?;
        name::in_memory(&repository)?;
        Ok(name::with(&repository, root(&repository, head)?, patch)?.to_string())
    }

    /// The patch from a commit to the working directory: the bytes on disk, and whether files are executable. Files
    /// that the commit lacks count as new unless a `.gitignore` of the working directory excludes them. The
    /// configuration of the repository and of the user is ignored.
    ///
    /// # Errors
    /// When there is no working directory, when the change is too large to hold in memory, or when a patch cannot
    /// express it: another submodule, or a file whose name greenlight cannot express.
    pub fn working_patch(&self, head: &CommitSha) -> Result<Patch, Error> {
        let Some(work_tree) = self.work_tree() else {
            return Err(Error::Local(
                "a bare repository has no working directory; name a tree".into(),
            ));
        };
        let repository = self.objects()?;
        working::patch(&repository, root(&repository, head)?, work_tree)
    }

    /// Writes the tree of a commit into a new or empty directory, like [`super::Mirror::export`].
    ///
    /// # Errors
    /// When the commit does not exist here, its tree is unsafe to write or too large, or the disk fails.
    pub fn export(&self, sha: &CommitSha, into: &Path) -> Result<Exported, Error> {
        let repository = self.objects()?;
        tree::write(&repository, root(&repository, sha)?, into)
    }

    /// The paths of all files and links of a commit.
    ///
    /// # Errors
    /// When the commit does not exist here, or its tree is too large.
    pub(super) fn paths(&self, sha: &CommitSha) -> Result<Vec<String>, Error> {
        let repository = self.objects()?;
        let listing = listing(&repository, root(&repository, sha)?)?.into_iter();
        let files = listing.filter(|(_, entry)| matches!(entry, Entry::Leaf(_)));
        Ok(files.filter_map(|(path, _)| String::from_utf8(path).ok()).collect())
    }

    /// Only the objects: no configuration, no attributes, no references.
    pub(super) fn objects(&self) -> Result<Repository, Error> {
        store::objects(&[&self.objects])
    }
}

/// The tree of a commit.
pub(super) fn root(repository: &Repository, sha: &CommitSha) -> Result<Oid, Error> {
    match repository.find_commit(oid(sha)?) {
        Ok(commit) => Ok(commit.tree_id()),
        Err(_) => Err(Error::Local(format!("commit {} is not here; fetch it", sha.short()))),
    }
}

fn oid(sha: &CommitSha) -> Result<Oid, Error> {
    Oid::from_str(sha.as_str()).map_err(|error| limit_error(&error))
}

fn named(id: Oid) -> Result<CommitSha, Error> {
    id.to_string().parse().map_err(|_| {
        Error::Local("the repository's commit ids are in a format that greenlight does not support".into())
    })
}

/// Refuses a new file in the place of a remaining directory, or below a remaining file.
fn fits(repository: &Repository, lookup: &mut Lookup<'_>, patch: &Patch) -> Result<(), Error> {
    let changes: BTreeMap<_, _> = patch.files().map(|(path, change)| (path.as_str(), change)).collect();
    let is_removed = |path: &str| changes.get(path).is_some_and(|change| change.after.is_none());
    for (path, change) in patch.files() {
        if change.before.is_some() || change.after.is_none() {
            continue;
        }
        let path = path.as_str();
        let mut fits = match lookup.entry(path)? {
            None => true,
            Some(Entry::Tree(tree)) => listing(repository, tree)?.iter().all(|(name, entry)| {
                let name = std::str::from_utf8(name).ok();
                matches!(entry, Entry::Leaf(_)) && name.is_some_and(|name| is_removed(&format!("{path}/{name}")))
            }),
            Some(_) => false,
        };
        for (end, _) in path.match_indices('/') {
            let above = &path[..end];
            fits &= match changes.get(above) {
                Some(change) => change.after.is_none(),
                None => matches!(lookup.entry(above)?, None | Some(Entry::Tree(_))),
            };
        }
        if !fits {
            let reason = "puts a file where a directory or a link is, or below a file";
            return Err(Error::DoesNotApply {
                path: path.into(),
                line: 1,
                reason: reason.into(),
            });
        }
    }
    Ok(())
}

/// The nearest directory at or above a path that looks like a repository.
fn top(path: &Path) -> PathBuf {
    let mut above = path.ancestors();
    let found = above.find(|directory| directory.join(".git").symlink_metadata().is_ok());
    found.unwrap_or(path).to_path_buf()
}

/// The directory at or above a path whose `.git` is this one. The configuration is not consulted, because its author
/// could name another directory.
fn work_tree(path: &Path, git: &Path) -> Option<PathBuf> {
    let (path, git) = (path.canonicalize().ok()?, git.canonicalize().ok()?);
    let is_it = |found: &Path| found.canonicalize().is_ok_and(|found| found == git);
    let holds = |directory: &&Path| {
        let found = directory.join(".git");
        if found.is_dir() {
            return is_it(&found);
        }
        // It is a linked work tree or a submodule. https://git-scm.com/docs/gitrepository-layout
        let pointer = Disk::open(directory).and_then(|disk| disk.read(b".git", MAX_POINTER));
        let Ok(Some(Blob { bytes, .. })) = pointer else {
            return false;
        };
        let pointed = std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.strip_prefix("gitdir: "));
        pointed.is_some_and(|pointed| is_it(&directory.join(pointed.trim_end())))
    };
    path.ancestors().find(holds).map(Path::to_path_buf)
}

fn size(change: &FileChange) -> usize {
    [&change.before, &change.after]
        .into_iter()
        .flatten()
        .map(|blob| blob.bytes.len())
        .sum()
}
