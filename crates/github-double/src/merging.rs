//! The test merge of a pull request with its base branch, `refs/pull/N/merge`, which workflows check out that run on
//! `pull_request`.
//! <https://docs.github.com/en/rest/guides/using-the-rest-api-to-interact-with-your-git-database#checking-mergeability-of-pull-requests>

use git2::{Oid, Signature, Time};

use super::state::{PullRequest, Repository};
use super::store;

/// The date of the merge, which is fixed so that the same merge always gives the same commit.
const WHEN: i64 = 1_767_600_000;

/// Creates the merge if there is no conflict and the pull request is open; the base branch is its first parent.
/// Otherwise there is no reference, and no workflow runs on `pull_request`.
pub(super) fn test_merge(repository: &Repository, pull: &PullRequest) -> Option<Oid> {
    let name = format!("refs/pull/{}/merge", pull.number);
    let merge = if pull.open {
        merged(repository, pull).ok().flatten()
    } else {
        None
    };
    match merge {
        Some(merge) => {
            let kept = repository.git.reference(&name, merge, true, "merge");
            kept.is_ok().then_some(merge)
        }
        None => {
            if let Ok(mut old) = repository.git.find_reference(&name) {
                old.delete().ok()?;
            }
            None
        }
    }
}

fn merged(repository: &Repository, pull: &PullRequest) -> Result<Option<Oid>, git2::Error> {
    let git = &repository.git;
    let Some(tip) = store::tip(git, &pull.base_branch) else {
        return Ok(None);
    };
    let (base, head) = (git.find_commit(tip)?, git.find_commit(pull.head)?);
    let ancestor = git.find_commit(git.merge_base(tip, pull.head)?)?;
    let mut index = git.merge_trees(&ancestor.tree()?, &base.tree()?, &head.tree()?, None)?;
    if index.has_conflicts() {
        return Ok(None);
    }
    let tree = git.find_tree(index.write_tree_to(git)?)?;
    let by = Signature::new("GitHub", "noreply@github.com", &Time::new(WHEN, 0))?;
    let message = format!("Merge {} into {tip}", pull.head);
    git.commit(None, &by, &by, &message, &tree, &[&base, &head]).map(Some)
}
