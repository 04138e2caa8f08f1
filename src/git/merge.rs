//! The merge of a head with the tip of its base branch, as GitHub makes it for `refs/pull/N/merge`, and patches that
//! are carried between the head and that merge.
//!
//! Everything happens in memory, on fetched commits: nothing is written to the mirror, and configuration and
//! attributes are ignored. Renames are followed, as GitHub does.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>

use std::path::Path;

use git2::{MergeOptions, ObjectType, Oid, Repository};

use super::entries::{self, Budget, Entry, checked};
use super::tree::{self, Exported};
use super::{Error, LocalRepository, Mirror, local, name, pull_request_diff, store};
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;

/// How many conflicting files are named.
const MAX_NAMED: usize = 20;
/// How many files of either side are compared to detect renames. Beyond that, a rename counts as a removal and an
/// addition.
const MAX_RENAMES: u32 = 200;
/// The bound on the files that are merged line by line because both sides changed them, in bytes.
const MAX_MERGED: u64 = 32 << 20;

/// Both sides changed the same files incompatibly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Some of the files, with git's names.
    pub paths: Vec<String>,
}

/// The three commits of a merge. All methods block.
#[derive(Debug, Clone)]
pub struct Merge {
    source: BlobSource,
    /// The merge base.
    base: CommitSha,
    head: CommitSha,
    /// The commit that the head is merged with.
    tip: CommitSha,
}

#[derive(Debug, Clone)]
enum BlobSource {
    Mirror(Mirror),
    Local(LocalRepository),
}

/// The objects of a merge in progress. New ones are kept in memory.
struct Open {
    repository: Repository,
    base: Oid,
    head: Oid,
    tip: Oid,
}

type Merged<T> = Result<Result<T, Conflict>, Error>;

/// Unwraps a merge, or returns its conflict.
macro_rules! merged {
    ($merged:expr) => {
        match $merged? {
            Ok(merged) => merged,
            Err(conflict) => return Ok(Err(conflict)),
        }
    };
}

impl Merge {
    /// A merge of fetched commits.
    pub fn new(mirror: Mirror, (base, head, tip): (CommitSha, CommitSha, CommitSha)) -> Self {
        let source = BlobSource::Mirror(mirror);
        Self {
            source,
            base,
            head,
            tip,
        }
    }

    /// A merge of commits of a local repository.
    ///
    /// # Errors
    /// When their histories have nothing in common, or are incomplete here.
    pub fn local(repository: LocalRepository, head: CommitSha, tip: CommitSha) -> Result<Self, Error> {
        let base = repository.merge_base(&head, &tip)?;
        let source = BlobSource::Local(repository);
        Ok(Self {
            source,
            base,
            head,
            tip,
        })
    }

    /// The commit that the head is merged with.
    pub fn tip(&self) -> &CommitSha {
        &self.tip
    }

    /// Writes the merged tree into a new or empty directory.
    ///
    /// # Errors
    /// As for [`Mirror::export`].
    pub fn export(&self, into: &Path) -> Merged<Exported> {
        self.make(|open| {
            let merged = merged!(open.with_tip(open.head));
            Ok(Ok(tree::write(&open.repository, merged, into)?))
        })
    }

    /// The changes of the merge relative to the tip of the base branch, in the form of
    /// [`LocalRepository::diff_files`]: what the pull request changes there.
    ///
    /// # Errors
    /// When the difference is too large, or the mirror fails.
    pub fn changes(&self) -> Merged<Vec<(String, Option<String>)>> {
        self.make(|open| {
            let merged = merged!(open.with_tip(open.head));
            Ok(Ok(pull_request_diff::files(
                &open.repository,
                (open.tip, merged),
                &|_| true,
            )?))
        })
    }

    /// Carries a patch on the head over to the merge.
    ///
    /// # Errors
    /// When the patch does not match the head, or the mirror fails.
    pub fn from_head(&self, patch: &Patch) -> Merged<Patch> {
        self.make(|open| {
            let merged = merged!(open.with_tip(open.head));
            let patched = name::with(&open.repository, open.head, patch)?;
            let after = merged!(open.with_tip(patched));
            Ok(Ok(tree::between(&open.repository, merged, after)?.0))
        })
    }

    /// Carries a patch on the merge back to the head, so that the patched head merges to exactly the patched merge. A
    /// conflict means that no such patch exists, because it changes something that only the base branch has.
    ///
    /// # Errors
    /// When the patch does not match the merge, or the mirror fails.
    pub fn to_head(&self, patch: &Patch) -> Merged<Patch> {
        self.make(|open| {
            let merged = merged!(open.with_tip(open.head));
            let wanted = name::with(&open.repository, merged, patch)?;
            let on_head = merged!(three_way(&open.repository, merged, open.head, wanted));
            let comes_to = merged!(open.with_tip(on_head));
            if comes_to != wanted {
                let paths = patch.paths().take(MAX_NAMED).map(ToString::to_string).collect();
                return Ok(Err(Conflict { paths }));
            }
            Ok(Ok(tree::between(&open.repository, open.head, on_head)?.0))
        })
    }

    fn make<T>(&self, work: impl FnOnce(&Open) -> Merged<T>) -> Merged<T> {
        let made = self.open().and_then(|open| work(&open));
        match &self.source {
            BlobSource::Mirror(mirror) => mirror.watch(made),
            BlobSource::Local(_) => made,
        }
    }

    fn open(&self) -> Result<Open, Error> {
        let repository = match &self.source {
            BlobSource::Mirror(mirror) => tree::open(&mirror.directory)?,
            BlobSource::Local(local) => local.objects()?,
        };
        name::in_memory(&repository)?;
        let root = |sha| match &self.source {
            BlobSource::Mirror(mirror) => tree::root(&mirror.directory, &repository, sha),
            BlobSource::Local(_) => local::root(&repository, sha),
        };
        let (base, head, tip) = (root(&self.base)?, root(&self.head)?, root(&self.tip)?);
        Ok(Open {
            repository,
            base,
            head,
            tip,
        })
    }
}

impl Open {
    /// Merges a later tree of the head with the tip.
    fn with_tip(&self, head: Oid) -> Merged<Oid> {
        three_way(&self.repository, self.base, head, self.tip)
    }
}

/// Merges two trees with a common ancestor.
fn three_way(repository: &Repository, ancestor: Oid, ours: Oid, theirs: Oid) -> Merged<Oid> {
    if ours == theirs || ancestor == theirs {
        return Ok(Ok(ours));
    }
    if ancestor == ours {
        return Ok(Ok(theirs));
    }
    is_bounded(repository, (ancestor, ours, theirs))?;
    let broken = |error: git2::Error| store::broken(&error);
    let find = |id| repository.find_tree(id).map_err(broken);
    let mut options = MergeOptions::new();
    options.find_renames(true).target_limit(MAX_RENAMES).no_recursive(true);
    let merged = repository.merge_trees(&find(ancestor)?, &find(ours)?, &find(theirs)?, Some(&options));
    let mut index = merged.map_err(broken)?;
    if index.has_conflicts() {
        let mut paths = Vec::new();
        for conflict in index.conflicts().map_err(broken)?.take(MAX_NAMED) {
            let conflict = conflict.map_err(broken)?;
            let sides = [conflict.our, conflict.their, conflict.ancestor];
            paths.extend(
                sides
                    .into_iter()
                    .flatten()
                    .next()
                    .map(|side| super::printable(&side.path)),
            );
        }
        paths.sort_unstable();
        paths.dedup();
        return Ok(Err(Conflict { paths }));
    }
    Ok(Ok(index.write_tree_to(repository).map_err(broken)?))
}

/// Refuses merges that would take long, because strangers choose how much both sides change.
fn is_bounded(repository: &Repository, (ancestor, ours, theirs): (Oid, Oid, Oid)) -> Result<(), Error> {
    let mut budget = Budget::new("what is merged", MAX_MERGED);
    let mut entries = Budget::new("the tree", entries::MAX_ENTRIES);
    let mut stack = vec![(ancestor, ours, theirs)];
    let odb = repository.odb().map_err(|error| store::broken(&error))?;
    while let Some((ancestor, ours, theirs)) = stack.pop() {
        let [old, one, other] = [ancestor, ours, theirs].map(|tree| entries::entries(repository, tree));
        let (old, one, other) = (old?, one?, other?);
        for (name, entry) in &one {
            entries.spend(1)?;
            checked("", name)?;
            let (Some(before), Some(there)) = (old.get(name), other.get(name)) else {
                continue;
            };
            if entry == before || there == before || entry == there {
                continue;
            }
            match (before, entry, there) {
                (Entry::Tree(before), Entry::Tree(entry), Entry::Tree(there)) => stack.push((*before, *entry, *there)),
                (Entry::Leaf(before), Entry::Leaf(entry), Entry::Leaf(there)) => {
                    for leaf in [before, entry, there] {
                        let header = odb.read_header(leaf.id);
                        let (size, kind) = header.map_err(|error| store::broken(&error))?;
                        budget.spend(if kind == ObjectType::Blob { size as u64 } else { 0 })?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
