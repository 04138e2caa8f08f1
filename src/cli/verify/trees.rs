//! What is verified: the head, the patch on it, and the tree that the tests run on.

use std::path::{Path, PathBuf};

use super::super::{Exit, app, patch_file};
use super::VerifyArguments;
use crate::checkout::Checkout;
use crate::domain::anchor;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::engine::worktree::Worktree;
use crate::git::{self, Conflict, LocalRepository, Merge};
use crate::suite::Stores;

/// What the arguments name in the repository.
pub(super) struct Named {
    head: String,
    merged_with: Option<String>,
    patch: Option<PathBuf>,
    tree: Option<String>,
}

/// What the tests run on.
pub(super) struct Start {
    /// The tree without the patch.
    pub(super) worktree: Worktree,
    /// What it is, in a few words.
    pub(super) place: String,
    pub(super) head: CommitSha,
    /// The commit that the head is merged with before the tests run. `None` if they run on the head.
    pub(super) merged_with: Option<CommitSha>,
    /// The patch on the head.
    pub(super) patch: Patch,
    /// The same patch on the tree.
    pub(super) on_tree: Patch,
}

/// What was read from the repository.
struct Trees {
    head: CommitSha,
    merged_with: Option<CommitSha>,
    patch: Patch,
    on_tree: Patch,
    /// What the tree that was written leaves out.
    left_out: Vec<String>,
    /// Where the project is hosted.
    origin: Option<String>,
}

impl Named {
    pub(super) fn of(arguments: &VerifyArguments) -> Self {
        Self {
            head: arguments.head.clone(),
            merged_with: arguments.merged_with.clone(),
            patch: arguments.patch.clone(),
            tree: arguments.tree.clone(),
        }
    }
}

/// Lays out a commit in greenlight's own folder, and reads the patch on it.
///
/// # Errors
/// When something that is named does not exist, does not apply or does not merge.
pub(super) async fn of_commit(root: &Path, named: Named, (own, stores): (PathBuf, Stores)) -> Result<Start, Exit> {
    let tree = own.join("tree");
    let (root, into) = (root.to_path_buf(), tree.clone());
    let read = tokio::task::spawn_blocking(move || read(&root, &named, &into));
    let Trees {
        head,
        merged_with,
        patch,
        on_tree,
        left_out,
        origin,
    } = read.await.map_err(|error| Exit::Fault(error.to_string()))??;
    let mut worktree = app::worktree(&tree, own, stores).await?;
    worktree.checkout = Checkout::exported(&tree, &left_out)
        .map_err(|error| Exit::Fault(error.to_string()))?
        .with_origin(&origin.unwrap_or_default());
    Ok(Start {
        worktree,
        place: head.short().to_string(),
        head,
        merged_with,
        patch,
        on_tree,
    })
}

/// Opens the files of a checkout as they are now, and applies a patch to them, in memory.
///
/// # Errors
/// When the patch is too long, is no unified diff, or does not apply to these files.
pub(super) async fn of_files(root: &Path, text: String, (own, stores): (PathBuf, Stores)) -> Result<Start, Exit> {
    patch_file::check("`patch`", text.as_bytes())?;
    let worktree = app::worktree(root, own, stores).await?;
    let (root, checkout) = (root.to_path_buf(), worktree.checkout.clone());
    let read = tokio::task::spawn_blocking(move || {
        anchor::read(text.as_bytes(), Some(&root), |path| {
            Ok::<_, git::Error>(checkout.read(path))
        })
    });
    let patch = read.await.map_err(|error| Exit::Fault(error.to_string()))?;
    let patch = patch.map_err(not_there)?;
    if let Some(taken) = patch.paths().find_map(|path| worktree.checkout.taken(path)) {
        return Err(Exit::Usage(format!(
            "the patch changes {taken}, which is not part of these files"
        )));
    }
    Ok(Start {
        head: git::local_head(worktree.checkout.root()).unwrap_or_else(CommitSha::none),
        worktree,
        place: "the files as they are now".into(),
        merged_with: None,
        on_tree: patch.clone(),
        patch,
    })
}

/// Reads head and patch, and writes the tree of the head, or of its merge.
///
/// # Errors
/// When something that is named does not exist, does not apply or does not merge.
fn read(root: &Path, named: &Named, into: &Path) -> Result<Trees, Exit> {
    let repository = LocalRepository::open(root).map_err(not_there)?;
    let head = repository.resolve(&named.head).map_err(not_there)?;
    let patch = match (&named.patch, &named.tree) {
        (Some(file), _) => repository.apply(&head, &patch_file::read(file)?),
        (None, Some(tree)) => repository
            .resolve(tree)
            .and_then(|tree| repository.patch_between(&head, &tree)),
        (None, None) => repository.working_patch(&head),
    };
    let patch = patch.map_err(not_there)?;
    let origin = repository.origin_address();
    let Some(tip) = &named.merged_with else {
        let exported = repository.export(&head, into).map_err(not_there)?;
        return Ok(Trees {
            head,
            merged_with: None,
            on_tree: patch.clone(),
            patch,
            left_out: exported.skipped,
            origin,
        });
    };
    let tip = repository.resolve(tip).map_err(not_there)?;
    let merge = Merge::local(repository, head.clone(), tip.clone()).map_err(not_there)?;
    let conflicts = |conflict: Conflict| {
        let (head, tip, paths) = (head.short(), tip.short(), conflict.paths.join(", "));
        Exit::Usage(format!("{head} conflicts with {tip} in {paths}"))
    };
    let exported = merge.export(into).map_err(not_there)?.map_err(conflicts)?;
    let on_tree = merge.from_head(&patch).map_err(not_there)?.map_err(conflicts)?;
    Ok(Trees {
        head,
        merged_with: Some(tip),
        patch,
        on_tree,
        left_out: exported.skipped,
        origin,
    })
}

fn not_there(error: git::Error) -> Exit {
    Exit::Usage(error.to_string())
}
