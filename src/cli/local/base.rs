//! The commit that a local checkout is compared with. It distinguishes new failures from old ones, and shows which
//! lines changed last.
//!
//! Uncommitted changes are the person's own, so a test that fails without them was broken before. The person at the
//! terminal wants that fixed as well, so it is reported and worked on. If only new files are uncommitted, what the
//! branch is ahead of its upstream counts instead. A checkout without either kind of changes, or outside of git, is
//! not compared, and that is reported, too.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::super::terminal;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::engine::Broken;
use crate::engine::work::Base;
use crate::engine::worktree::Worktree;
use crate::git::LocalRepository;
use crate::suite::Suite;

/// The commit that a checkout is compared with, and the changes since.
pub(super) struct Compared {
    commit: CommitSha,
    /// A readable name.
    name: String,
    pub(super) patch: Patch,
    /// The path of the checkout within the repository.
    pub(super) inside: PathBuf,
    /// Whether the files are those of the last commit.
    is_committed: bool,
}

/// Why an unchanged checkout is not compared.
const UNCHANGED: &str = "nothing changed since the last commit, and this branch is not ahead of another one";

impl Compared {
    /// The commit.
    pub(super) fn commit(&self) -> CommitSha {
        self.commit.clone()
    }

    /// `origin/main at abc1234`.
    fn name(&self) -> String {
        format!("{} at {}", self.name, self.commit.short())
    }
}

/// Says what the checkout is compared with, or why it is not.
pub(super) fn tell(found: &Result<Compared, &'static str>) {
    terminal::mention(&match found {
        Ok(compared) => format!("compared with {}", compared.name()),
        Err(why) => format!("no base to compare with: {why}"),
    });
}

/// Whether the checkout equals its last commit.
pub(super) fn is_committed(found: &Result<Compared, &'static str>) -> bool {
    found
        .as_ref()
        .map_or_else(|why| *why == UNCHANGED, |compared| compared.is_committed)
}

/// Finds the commit to compare with.
///
/// # Errors
/// Why there is none, in words.
pub(super) async fn find(root: &Path) -> Result<Compared, &'static str> {
    let root = root.to_owned();
    let found = tokio::task::spawn_blocking(move || compared(&root));
    found.await.unwrap_or(Err("the repository cannot be read"))
}

fn compared(root: &Path) -> Result<Compared, &'static str> {
    const UNREADABLE: &str = "the changes cannot be determined";
    const UNSUPPORTED: &str = "this git repository cannot be read: it belongs to somebody else, or its commits have \
                               SHA-256 names, which are not supported";
    let repository =
        LocalRepository::open(root).map_err(|_| match root.ancestors().any(|folder| folder.join(".git").exists()) {
            true => UNSUPPORTED,
            false => "this is not a git repository",
        })?;
    let work_tree = repository.work_tree().and_then(|path| path.canonicalize().ok());
    let root = root.canonicalize().map_err(|_| UNREADABLE)?;
    let inside = root
        .strip_prefix(work_tree.ok_or(UNREADABLE)?)
        .map_err(|_| UNREADABLE)?;
    let head = repository.resolve("HEAD").map_err(|_| "there is no commit yet")?;
    let uncommitted = repository.working_patch(&head).map_err(|_| UNREADABLE)?;
    let is_committed = uncommitted.is_empty();
    let with = |commit: CommitSha, name: String, patch: Patch| Compared {
        commit,
        name,
        patch,
        inside: inside.to_owned(),
        is_committed,
    };
    if !uncommitted.files().all(|(_, change)| change.before.is_none()) {
        return Ok(with(head, "the last commit".into(), uncommitted));
    }
    let ahead_of = repository.upstreams().into_iter().find_map(|upstream| {
        let tip = repository.resolve(&upstream.reference).ok()?;
        let base = repository.merge_base(&tip, &head).ok()?;
        (base != head).then_some((base, upstream.name))
    });
    if let Some((base, name)) = ahead_of
        && let Ok(patch) = repository.working_patch(&base)
        && !patch.is_empty()
    {
        return Ok(with(base, name, patch));
    }
    match is_committed {
        true => Err(UNCHANGED),
        false => Ok(with(head, "the last commit".into(), uncommitted)),
    }
}

/// Lays out the commit that the checkout is compared with, if there is one.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn lay_out(
    compared: Option<&Compared>,
    (worktree, suite): (&Worktree, &Suite),
    within: PathBuf,
    installs: bool,
    cancel: &CancellationToken,
) -> Result<Option<Base>, Broken> {
    let Some(compared) = compared else { return Ok(None) };
    let (root, into) = (worktree.checkout.root().to_owned(), within.join("base"));
    let (commit, tree) = (compared.commit.clone(), into.clone());
    let exported = tokio::task::spawn_blocking(move || {
        let repository = LocalRepository::open(&root).ok()?;
        // An earlier suite may have left one.
        if tree.exists() {
            std::fs::remove_dir_all(&tree).ok()?;
        }
        repository.export(&commit, &tree).ok()
    });
    let Ok(Some(_)) = exported.await else {
        return Ok(None);
    };
    let Ok(base) = Worktree::local(
        &into.join(&compared.inside),
        worktree.config.clone(),
        worktree.workspaces.clone(),
        worktree.stores.clone(),
    ) else {
        return Ok(None);
    };
    let mut suite = suite.clone();
    if installs {
        let mut granted = base.install_settings(Vec::new());
        granted.registries = true;
        if base.install(&mut suite, &granted, cancel).await?.is_err() {
            return Ok(None);
        }
    }
    Ok(Some(Base {
        commit: compared.commit.clone(),
        worktree: base,
        suite,
    }))
}
