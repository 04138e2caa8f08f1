//! What a search tells of itself, and how it ends.

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Patch;
use greenlight_readers::test_run::TestRun;

/// The progress of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many candidates were judged so far.
    pub tried: u32,
    /// Estimated upper bound of the number of candidates, within the budget; it gets better over time.
    pub total_estimate: u32,
    /// The file that was edited last.
    pub current: RepoPath,
    /// The digest of the candidate that was judged last, if it failed.
    pub failed: Option<String>,
}

/// Where a patch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A suggestion of a tool.
    Tool,
    /// A hunk of the pull request, reverted.
    Revert,
    /// A small edit.
    Edit,
}

/// A patch after which all tests pass, and which is sure enough to be proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassingPatch {
    /// The edit, on top of those that the tree had already.
    pub patch: Patch,
    /// One sentence without its full stop, in Markdown: what became what, and where.
    pub explanation: String,
    /// How many candidates were judged until then.
    pub candidates_tried: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// The most suspicious locations, the worst first.
    pub suspects: Vec<(RepoPath, u32)>,
    /// The run of the whole suite on a fresh copy with the patch, which shares nothing with the search.
    pub after: TestRun,
}

/// A patch that makes failing tests pass but is not sure enough to be proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The edit, on top of those that the tree had already.
    pub patch: Patch,
    /// One sentence without its full stop, in Markdown: what became what, and where.
    pub explanation: String,
    /// How many tests fail with it; 0 unless it is only a part of what is needed.
    pub still_failing: u32,
    /// Why it is not proposed: sentences without a full stop, in Markdown.
    pub risks: Vec<String>,
}

/// What a search examined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many candidates were judged.
    pub candidates: u32,
    /// The most suspicious locations, the worst first.
    pub suspects: Vec<(RepoPath, u32)>,
    /// Patches that make failing tests pass and are not sure, the likeliest first.
    pub findings: Vec<Finding>,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a patch to propose.
    Found(Box<PassingPatch>),
    /// All candidates were tried, or equally likely patches that pass the tests disagree.
    NotFound(Tried),
    /// There are more candidates than the budget allows.
    BudgetSpent(Tried),
    /// The caller cancelled it.
    Cancelled,
}
