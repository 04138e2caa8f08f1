//! Reads a repository on this machine: names of commits, trees, and what differs.
//!
//! Nothing is written, not even an object, and nothing that its configuration names is run: the library has no
//! hooks, aliases, pagers, diff programs or filters of the user's. Trees are read from the objects alone.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use git2::{DiffFindOptions, DiffOptions, ErrorCode, ObjectType, Oid, Repository};

use super::{Error, Exported, apply, at, name, store, tree, unified};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};

/// How large a diff may be, and all files that it changes together.
const MAX_BYTES: usize = 64 << 20;
/// How many files a diff between two commits or a working directory may have.
const MAX_FILES: usize = 20_000;
/// GitHub leaves out the patch of a file above this many lines.
/// <https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits#diff-limits>
const MAX_PATCH_LINES: usize = 20_000;

/// A repository on this machine, with or without a working directory. Everything blocks.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    git: PathBuf,
    objects: PathBuf,
    work_tree: Option<PathBuf>,
}

impl LocalRepository {
    /// Opens the repository that holds this path.
    ///
    /// # Errors
    /// When there is none, or it belongs to somebody else.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let repository = Repository::discover(path).map_err(|error| match error.code() {
            ErrorCode::NotFound => Error::Local(format!("{} is not inside a git repository", path.display())),
            _ => said(&error),
        })?;
        Ok(Self {
            git: repository.path().to_path_buf(),
            objects: repository.commondir().join("objects"),
            work_tree: repository.workdir().map(Path::to_path_buf),
        })
    }

    /// Where its files are; none in a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// `owner/name` of the remote `origin`, as far as its address ends in one.
    pub fn origin(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remote = repository.find_remote("origin").ok()?;
        let address = remote
            .url()
            .ok()?
            .trim_end_matches('/')
            .trim_end_matches(".git")
            .to_owned();
        let mut parts = address.rsplit(['/', ':']);
        let (name, owner) = (parts.next()?, parts.next()?);
        Some(format!("{owner}/{name}"))
    }

    /// The commit that a name means: `HEAD`, a branch, a tag, a SHA, `main~2`.
    ///
    /// # Errors
    /// When it means nothing, several things, or something that is no commit.
    pub fn resolve(&self, rev: &str) -> Result<CommitSha, Error> {
        let no_commit = |error: git2::Error| {
            let shown = super::printable(rev.as_bytes());
            match error.code() {
                ErrorCode::NotFound => Error::Local(format!(
                    "there is no commit {shown:?} here; fetch it, or check the name"
                )),
                ErrorCode::Ambiguous => Error::Local(format!("{shown:?} could be several commits; write more of it")),
                _ => Error::Local(format!("{shown:?} is not a commit: {}", error.message())),
            }
        };
        let repository = Repository::open(&self.git).map_err(|error| said(&error))?;
        let commit = repository
            .revparse_single(rev)
            .and_then(|object| object.peel_to_commit())
            .map_err(no_commit)?;
        named(commit.id())
    }

    /// Where the histories of two commits part.
    ///
    /// # Errors
    /// When they have nothing in common, or the history is not all here.
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

    /// The files that a pull request from `head` into `base` would show, each with its name in the head (a removed
    /// file with its old one) and its hunks as GitHub's `patch` field has them: from the merge base, three lines of
    /// context, renames found, no file headers. None where GitHub leaves the field out: binary files, very long
    /// patches, and files whose content stays.
    ///
    /// # Errors
    /// When a commit is not here, or the difference is too large.
    pub fn diff_files(&self, base: &CommitSha, head: &CommitSha) -> Result<Vec<(String, Option<String>)>, Error> {
        let base = self.merge_base(base, head)?;
        let repository = self.objects()?;
        let find = |sha| {
            repository
                .find_tree(root(&repository, sha)?)
                .map_err(|error| said(&error))
        };
        let (old, new) = (find(&base)?, find(head)?);
        let mut options = DiffOptions::new();
        options.context_lines(3).interhunk_lines(0).indent_heuristic(true);
        let mut diff = repository
            .diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))
            .map_err(|error| said(&error))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))
            .map_err(|error| said(&error))?;
        let count = diff.deltas().len();
        if count > MAX_FILES {
            return Err(too_large("the number of changed files", MAX_FILES));
        }
        let mut files = Vec::with_capacity(count);
        let mut total = 0;
        for index in 0..count {
            let Some(delta) = diff.get_delta(index) else { continue };
            let name = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
            // A name that is not UTF-8 cannot come through GitHub's API either.
            let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) else {
                continue;
            };
            let patch = git2::Patch::from_diff(&diff, index).map_err(|error| said(&error))?;
            let hunks = patch.as_ref().map(hunks).transpose()?.flatten();
            total += hunks.as_ref().map_or(0, String::len);
            if total > MAX_BYTES {
                return Err(too_large("the difference", MAX_BYTES));
            }
            files.push((name.to_string(), hunks));
        }
        Ok(files)
    }

    /// What `b` changes against `a`, as they are; submodules are left out.
    ///
    /// # Errors
    /// When a commit is not here, or the change is too large to hold in memory.
    pub fn patch_between(&self, a: &CommitSha, b: &CommitSha) -> Result<Patch, Error> {
        let repository = self.objects()?;
        tree::between(&repository, root(&repository, a)?, root(&repository, b)?)
    }

    /// What a unified diff changes in the tree of a commit. It may come from git (with or without prefixes, with
    /// binary content, as mails), from `diff -u`, or from a formatter.
    ///
    /// # Errors
    /// When any line does not apply exactly where the diff says, or a name leads out of the repository.
    pub fn apply(&self, head: &CommitSha, unified_diff: &[u8]) -> Result<Patch, Error> {
        if unified_diff.len() > MAX_BYTES {
            return Err(too_large("the diff", MAX_BYTES));
        }
        let sections = unified::parse(unified_diff)?;
        let repository = self.objects()?;
        let root = root(&repository, head)?;
        let lookup = |path: &RepoPath| tree::blob_at(&repository, root, path, MAX_BYTES as u64);
        let patch = apply::apply(&sections, self.work_tree(), lookup)?;
        let held: usize = patch.files().map(|(_, change)| size(change)).sum();
        if held > 2 * MAX_BYTES {
            return Err(too_large("the change", 2 * MAX_BYTES));
        }
        fits(&repository, root, &patch)?;
        Ok(patch)
    }

    /// The name that git gives the tree of `head` with `patch` applied.
    ///
    /// # Errors
    /// When the commit is not here, or the patch does not fit its tree.
    pub fn tree_with(&self, head: &CommitSha, patch: &Patch) -> Result<String, Error> {
        let repository = self.objects()?;
        name::with(&repository, root(&repository, head)?, patch)
    }

    /// What the files of the working directory change against a commit. Files that git does not know yet count as
    /// new unless they are ignored; submodules are left out. The bytes are those on disk.
    ///
    /// # Errors
    /// When there is no working directory, or the change is too large to hold in memory.
    pub fn working_patch(&self, head: &CommitSha) -> Result<Patch, Error> {
        let Some(work_tree) = self.work_tree() else {
            return Err(Error::Local(
                "a bare repository has no working directory; name a tree".into(),
            ));
        };
        let repository = Repository::open(&self.git).map_err(|error| said(&error))?;
        let objects = self.objects()?;
        let root = root(&objects, head)?;
        let tree = repository.find_tree(root).map_err(|error| said(&error))?;
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .ignore_submodules(true)
            .include_typechange(true);
        let diff = repository
            .diff_tree_to_workdir(Some(&tree), Some(&mut options))
            .map_err(|error| said(&error))?;
        if diff.deltas().len() > MAX_FILES {
            return Err(too_large("the number of changed files", MAX_FILES));
        }
        let mut changes = Vec::new();
        let mut total = 0;
        for name in diff
            .deltas()
            .filter_map(|delta| delta.new_file().path_bytes().map(<[u8]>::to_vec))
        {
            let shown = super::printable(&name);
            let path: RepoPath = std::str::from_utf8(&name)
                .ok()
                .and_then(|name| name.trim_end_matches('/').parse().ok())
                .ok_or_else(|| Error::Local(format!("{shown:?} is not a name that greenlight can work with")))?;
            let before = tree::blob_at(&objects, root, &path, MAX_BYTES as u64)?;
            let after = on_disk(&work_tree.join(path.as_str()))?;
            let change = FileChange { before, after };
            total += size(&change);
            if total > MAX_BYTES {
                return Err(too_large("the change in the working directory", MAX_BYTES));
            }
            changes.push((path, change));
        }
        Ok(Patch::new(changes))
    }

    /// Writes the tree of a commit into a directory that does not exist yet or is empty, as [`super::Mirror::export`]
    /// does.
    ///
    /// # Errors
    /// When the commit is not here, its tree is unsafe to write or too large, or the disk fails.
    pub fn export(&self, sha: &CommitSha, into: &Path) -> Result<Exported, Error> {
        let repository = self.objects()?;
        tree::write(&repository, root(&repository, sha)?, into)
    }

    /// The objects alone: no configuration, no attributes, no references.
    fn objects(&self) -> Result<Repository, Error> {
        store::objects(&[&self.objects])
    }
}

/// The tree of a commit.
fn root(repository: &Repository, sha: &CommitSha) -> Result<Oid, Error> {
    match repository.find_commit(oid(sha)?) {
        Ok(commit) => Ok(commit.tree_id()),
        Err(_) => Err(Error::Local(format!("commit {} is not here; fetch it", sha.short()))),
    }
}

fn oid(sha: &CommitSha) -> Result<Oid, Error> {
    Oid::from_str(sha.as_str()).map_err(|error| said(&error))
}

fn named(id: Oid) -> Result<CommitSha, Error> {
    id.to_string()
        .parse()
        .map_err(|_| Error::Local("the repository names its commits in a way that greenlight does not know".into()))
}

/// The hunks of one file as GitHub gives them.
fn hunks(patch: &git2::Patch<'_>) -> Result<Option<String>, Error> {
    let (_, added, removed) = patch.line_stats().map_err(|error| said(&error))?;
    if patch.num_hunks() == 0 || added + removed > MAX_PATCH_LINES {
        return Ok(None);
    }
    let mut text = Vec::new();
    for index in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(index).map_err(|error| said(&error))?;
        text.extend_from_slice(hunk.header());
        for line in 0..lines {
            let line = patch.line_in_hunk(index, line).map_err(|error| said(&error))?;
            // The remark about a missing line end brings its own.
            if let origin @ ('+' | '-' | ' ') = line.origin() {
                text.push(u8::try_from(origin).unwrap_or(b' '));
            }
            text.extend_from_slice(line.content());
        }
    }
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Refuses a new file where a directory is, or below a file.
fn fits(repository: &Repository, root: Oid, patch: &Patch) -> Result<(), Error> {
    let tree = repository.find_tree(root).map_err(|error| said(&error))?;
    let changes: std::collections::BTreeMap<_, _> =
        patch.files().map(|(path, change)| (path.as_str(), change)).collect();
    for (path, change) in patch.files() {
        if change.before.is_some() || change.after.is_none() {
            continue;
        }
        let in_the_way = Path::new(path.as_str())
            .ancestors()
            .skip(1)
            .filter_map(Path::to_str)
            .filter(|name| !name.is_empty())
            .any(|name| match changes.get(name) {
                Some(change) => change.after.is_some(),
                None => tree
                    .get_path(Path::new(name))
                    .is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree)),
            });
        if in_the_way || tree.get_path(Path::new(path.as_str())).is_ok() {
            return Err(unified::wrong(
                path.as_str(),
                1,
                "puts a file where a directory or a link is, or below a file",
            ));
        }
    }
    Ok(())
}

/// A file of the working directory; none for what git would not keep.
fn on_disk(path: &Path) -> Result<Option<Blob>, Error> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Ok(None);
    };
    if meta.is_symlink() {
        let target = fs::read_link(path).map_err(at(path))?;
        return Ok(Some(Blob {
            mode: FileMode::Symlink,
            bytes: target.as_os_str().as_bytes().to_vec(),
        }));
    }
    if !meta.is_file() {
        return Ok(None);
    }
    // Not blocking, in case it has become a pipe meanwhile.
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(at(path))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(at(path))?;
    let mode = if meta.permissions().mode() & 0o100 == 0 {
        FileMode::Regular
    } else {
        FileMode::Executable
    };
    Ok(Some(Blob { mode, bytes }))
}

fn size(change: &FileChange) -> usize {
    [&change.before, &change.after]
        .into_iter()
        .flatten()
        .map(|blob| blob.bytes.len())
        .sum()
}

fn too_large(what: &str, limit: usize) -> Error {
    Error::TooLarge {
        what: what.into(),
        limit: limit as u64,
    }
}

/// What libgit2 says about a repository of the user's.
fn said(error: &git2::Error) -> Error {
    let advice = if error.code() == ErrorCode::Owner {
        "; if you trust it: git config --global --add safe.directory <path>"
    } else {
        ""
    };
    Error::Local(format!(
        "git cannot read this: {}{advice}",
        super::printable(error.message().as_bytes())
    ))
}
