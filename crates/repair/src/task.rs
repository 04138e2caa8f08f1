//! What to repair, and when to give up.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Patch;
use greenlight_readers::test_run::TestRun;
use greenlight_suite::Suite;
use greenlight_tree::checkout::Checkout;

/// Limits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of candidates that are tried.
    pub candidates: u32,
    /// Time limit of the whole search.
    pub wall: Duration,
}

/// What to repair.
pub struct Task<'a> {
    /// The tree with the fault. Its edits become part of the patch.
    pub checkout: &'a Checkout,
    /// Its tests, and how they are run.
    pub suite: &'a Suite,
    /// The failing run of the whole suite.
    pub before: &'a TestRun,
    /// Lines that the pull request changed, from 1, in the current tree; may be empty.
    pub changed: &'a BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// The previous content of files that the pull request changed, if they existed before; may be empty.
    pub originals: &'a BTreeMap<RepoPath, String>,
    /// Says which files must not be edited, besides test code.
    pub protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// Digests of patches that were rejected before ([`Patch::digest`]).
    pub excluded: &'a [String],
    /// Patches of this tree that were rejected before. Equivalent edits, and edits that behave the same, are left
    /// out.
    pub turned_down: &'a [Patch],
    /// Digests of candidates that were tried before, as [`Progress`](crate::Progress) told them, and are not tried again.
    pub tried: &'a [String],
    /// Parts of the search that are left out.
    pub left_out: LeftOut,
}

/// Parts of a search that a person can leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each can be left out without the others")]
pub struct LeftOut {
    /// What tools and messages suggest is not tried.
    pub suggestions: bool,
    /// Hunks of the pull request are not reverted.
    pub reverts: bool,
    /// Small edits are not tried.
    pub edits: bool,
    /// Edits that pass the tests are not compared.
    pub comparison: bool,
}
