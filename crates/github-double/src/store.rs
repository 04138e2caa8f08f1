//! The double's git operations: writing trees and commits, comparing them, and reading files.
//!
//! It works only on bare repositories; nothing is ever checked out.

use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{Commit, Diff, DiffOptions, FileMode, Oid, Repository, Signature, Time, Tree};

use super::state::State;

/// Higher than the priorities of on-disk backends, so that new objects are stored in memory.
const FIRST: i32 = 1000;

/// A file's new content, or `None` to delete it.
pub(super) type Change = (String, Option<Vec<u8>>);

/// A name and an e-mail address.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) email: String,
}

impl State {
    /// The identity that GitHub writes into commits that this account makes on its pages.
    pub(super) fn identity(&self, login: &str) -> Identity {
        let id = self.account(login).map_or(0, |account| account.id);
        Identity {
            name: login.into(),
            email: format!("{id}+{login}@users.noreply.github.com"),
        }
    }
}

/// A commit to be written.
pub(super) struct NewCommit {
    pub(super) author: Identity,
    pub(super) author_seconds: i64,
    pub(super) committer: Identity,
    pub(super) committer_seconds: i64,
    pub(super) message: String,
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
}

impl NewCommit {
    /// A commit whose author is its committer.
    pub(super) fn by(author: &Identity, seconds: i64, message: &str, tree: Oid, parents: Vec<Oid>) -> Self {
        Self {
            author: author.clone(),
            author_seconds: seconds,
            committer: author.clone(),
            committer_seconds: seconds,
            message: message.into(),
            tree,
            parents,
        }
    }
}

/// Creates a bare repository that keeps its objects in memory. A fork shares those of its origin, as on GitHub. Only
/// references are files. The machine's git configuration is not read.
pub(super) fn init(path: &Path, origin: Option<&Repository>) -> Result<Repository, super::DoubleError> {
    std::fs::create_dir_all(path.join("refs/heads"))?;
    std::fs::create_dir(path.join("objects"))?;
    std::fs::write(
        path.join("HEAD"),
        format!("ref: refs/heads/{}\n", super::names::DEFAULT_BRANCH),
    )?;
    let repository = Repository::open_bare(path)?;
    repository.set_config(&git2::Config::new()?)?;
    if let Some(origin) = origin {
        repository.set_odb(&origin.odb()?)?;
    } else {
        repository.odb()?.add_new_mempack_backend(FIRST)?;
    }
    Ok(repository)
}

/// Writes the tree that results from applying these changes to `base`; files keep their modes.
pub(super) fn write_changes(git: &Repository, base: Option<&Tree<'_>>, changes: &[Change]) -> Result<Oid, git2::Error> {
    let empty = git.find_tree(git.treebuilder(None)?.write()?)?;
    let base = base.unwrap_or(&empty);
    let mut update = TreeUpdateBuilder::new();
    for (path, content) in changes {
        let known = base.get_path(Path::new(path)).ok();
        match content {
            Some(bytes) => {
                let executable = known.is_some_and(|entry| entry.filemode() == i32::from(FileMode::BlobExecutable));
                let mode = if executable {
                    FileMode::BlobExecutable
                } else {
                    FileMode::Blob
                };
                update.upsert(path.as_str(), git.blob(bytes)?, mode);
            }
            None => {
                update.remove(path.as_str());
            }
        }
    }
    update.create_updated(git, base)
}

/// Writes a commit without moving any reference.
pub(super) fn commit(git: &Repository, new: &NewCommit) -> Result<Oid, git2::Error> {
    let author = Signature::new(&new.author.name, &new.author.email, &Time::new(new.author_seconds, 0))?;
    let committer = Signature::new(
        &new.committer.name,
        &new.committer.email,
        &Time::new(new.committer_seconds, 0),
    )?;
    let tree = git.find_tree(new.tree)?;
    let parents = new
        .parents
        .iter()
        .map(|id| git.find_commit(*id))
        .collect::<Result<Vec<Commit<'_>>, _>>()?;
    let parents: Vec<&Commit<'_>> = parents.iter().collect();
    git.commit(None, &author, &committer, &new.message, &tree, &parents)
}

/// The commit at the tip of a branch.
pub(super) fn tip(git: &Repository, branch: &str) -> Option<Oid> {
    git.find_reference(&format!("refs/heads/{branch}")).ok()?.target()
}

/// The object that a reference, branch, tag or SHA names.
pub(super) fn resolve(git: &Repository, name: &str) -> Option<Oid> {
    let full = (name.len() == 40).then(|| Oid::from_str(name).ok()).flatten();
    if let Some(id) = full.filter(|id| git.find_commit(*id).is_ok()) {
        return Some(id);
    }
    ["", "refs/", "refs/heads/", "refs/tags/"].iter().find_map(|prefix| {
        let found = git.find_reference(&format!("{prefix}{name}")).ok()?;
        found.peel_to_commit().ok().map(|commit| commit.id())
    })
}

/// The diff of a pull request: from the merge base to the head, with three lines of context and rename detection.
pub(super) fn three_dot<'git>(git: &'git Repository, base: Oid, head: Oid) -> Result<Diff<'git>, git2::Error> {
    let from = git.find_commit(git.merge_base(base, head)?)?.tree()?;
    let to = git.find_commit(head)?.tree()?;
    tree_diff(git, &from, &to)
}

/// The diff from one tree to another, with three lines of context and rename detection.
pub(super) fn tree_diff<'git>(
    git: &'git Repository,
    from: &Tree<'_>,
    to: &Tree<'_>,
) -> Result<Diff<'git>, git2::Error> {
    let mut options = DiffOptions::new();
    options.context_lines(3).interhunk_lines(0);
    let mut diff = git.diff_tree_to_tree(Some(from), Some(to), Some(&mut options))?;
    diff.find_similar(None)?;
    Ok(diff)
}

/// The commits of a pull request, oldest first.
pub(super) fn commits_between(git: &Repository, base: Oid, head: Oid) -> Result<Vec<Oid>, git2::Error> {
    let mut walk = git.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(head)?;
    walk.hide(base)?;
    walk.collect()
}

/// The bytes of a file in a commit.
pub(super) fn file_at(git: &Repository, commit: Oid, path: &str) -> Option<Vec<u8>> {
    let tree = git.find_commit(commit).ok()?.tree().ok()?;
    let entry = tree.get_path(Path::new(path)).ok()?;
    git.find_blob(entry.id()).ok().map(|blob| blob.content().to_vec())
}

/// The time of a commit in GitHub's format.
pub(super) fn moment(time: Time) -> String {
    jiff::Timestamp::from_second(time.seconds())
        .map(|moment| moment.to_string())
        .unwrap_or_default()
}
