//! What is verified: the head, the patch on it, and the tree that the tests run on.

use std::path::{Path, PathBuf};

use super::super::{Exit, patch_file};
use super::VerifyArguments;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::git::{self, Conflict, LocalRepository, Merge};

/// What the arguments name in the repository.
pub(super) struct Named {
    head: String,
    merged_with: Option<String>,
    patch: Option<PathBuf>,
    tree: Option<String>,
}

/// What was read from the repository.
pub(super) struct Trees {
    pub(super) head: CommitSha,
    /// The commit that the head is merged with before the tests run. `None` if they run on the head.
    pub(super) merged_with: Option<CommitSha>,
    /// The patch on the head.
    pub(super) patch: Patch,
    /// The same patch on the tree that was written.
    pub(super) on_tree: Patch,
    /// What that tree leaves out.
    pub(super) left_out: Vec<String>,
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

/// Reads head and patch, and writes the tree of the head, or of its merge.
///
/// # Errors
/// When something that is named does not exist, does not apply or does not merge.
pub(super) fn read(root: &Path, named: &Named, into: &Path) -> Result<Trees, Exit> {
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
    let Some(tip) = &named.merged_with else {
        let exported = repository.export(&head, into).map_err(not_there)?;
        return Ok(Trees {
            head,
            merged_with: None,
            on_tree: patch.clone(),
            patch,
            left_out: exported.skipped,
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
    })
}

fn not_there(error: git::Error) -> Exit {
    Exit::Usage(error.to_string())
}
