//! Properties of cutting a patch into suggestions, on generated pull requests, judged by the double's rules.
//!
//! `PROPTEST_CASES=20000 cargo test --test it suggestions::` runs many more cases.

mod cases;
mod git_apply;
mod trees;

use std::cell::Cell;

use cases::{Case, any_case};
use git_apply::{can_be_checked_out, git_apply};
use github_double::{Files, PullRequestDiff};
use greenlight::domain::anchor::{Cut, cut, proves};
use greenlight::domain::patch::Patch;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use trees::{comment, diff_files, patch_between, patched};

/// Maximum number of comments in one review.
const BATCH: usize = 30;

/// A patch cut into suggestions, with its pull request.
struct Reviewed {
    diff: PullRequestDiff,
    patch: Patch,
    cut: Cut,
    comments: Vec<Value>,
    without_patch: Vec<String>,
}

impl Reviewed {
    fn of(case: &Case) -> Self {
        let diff = PullRequestDiff::new(&case.base, &case.head).unwrap();
        let mut shown = diff.files();
        for index in &case.omitted {
            if !shown.is_empty() {
                let at = index.index(shown.len());
                shown[at].patch = None;
            }
        }
        let without_patch = shown.iter().filter(|file| file.patch.is_none());
        let without_patch = without_patch.map(|file| file.filename.clone()).collect();
        let patch = patch_between(&case.head, &case.after);
        let cut = cut(&patch, &diff_files(&shown).unwrap());
        let of = cut.suggestions.len() + usize::from(!cut.remainder.is_empty());
        let comments = cut.suggestions.iter().map(|one| comment(one, of)).collect();
        Self {
            diff,
            patch,
            cut,
            comments,
            without_patch,
        }
    }

    /// The head with all suggestions committed.
    fn committed(&self, case: &Case) -> Files {
        if self.comments.is_empty() {
            return case.head.clone();
        }
        self.diff.commit(&self.comments).unwrap()
    }
}

/// Checks a property on generated cases. Returns how often it applied.
#[track_caller]
fn hold(property: impl Fn(Case) -> Result<usize, TestCaseError>) -> usize {
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..Config::default()
    };
    let met = Cell::new(0);
    let result = TestRunner::new(config).run(&any_case(), |case| {
        met.set(met.get() + property(case)?);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    met.get()
}

/// The number of cases.
fn tried() -> usize {
    usize::try_from(Config::default().cases).unwrap()
}

#[test]
fn every_review_is_accepted_and_commits_to_what_was_tested() {
    let posted = hold(|case| judge(&case));
    // Random variation may halve this; far fewer would mean that the cases no longer test anything.
    assert!(posted > tried() / 4, "{posted} suggestions in {} cases", tried());
}

/// GitHub's list shows it as removed and added; it is unclear which of the two a comment would be on.
#[test]
fn a_link_that_becomes_a_file_gets_no_suggestions() {
    let tree = |mode, text: &str| Files::from([("a".into(), (mode, text.into()))]);
    let case = Case {
        base: tree(0o120_000, "target"),
        head: tree(0o100_644, "a\n"),
        after: tree(0o100_644, "b\n"),
        omitted: Vec::new(),
        order: Vec::new(),
    };
    assert_eq!(judge(&case).unwrap(), 0);
}

/// Checks the review of a case. Returns the number of its comments.
fn judge(case: &Case) -> Result<usize, TestCaseError> {
    let reviewed = Reviewed::of(case);
    prop_assert!(proves(&reviewed.cut, &reviewed.patch));
    for batch in reviewed.comments.chunks(BATCH) {
        prop_assert!(reviewed.diff.review(batch).is_ok(), "{:?}", reviewed.diff.review(batch));
    }
    for comment in &reviewed.comments {
        let path = comment["path"].as_str().unwrap();
        prop_assert!(
            !reviewed.without_patch.iter().any(|file| file == path),
            "{path} has no patch"
        );
        // Each suggestion has its own button, which must be enabled.
        let alone = reviewed.diff.commit(std::slice::from_ref(comment));
        prop_assert!(alone.is_ok(), "{:?}: {comment}", alone.err());
    }
    let committed = reviewed.committed(case);
    let whole = patched(committed.clone(), &reviewed.cut.remainder);
    prop_assert_eq!(whole.as_ref(), Ok(&case.after));

    let mut shuffled = reviewed.comments.clone();
    for (at, index) in case.order.iter().enumerate().take(shuffled.len()) {
        shuffled.swap(at, index.index(reviewed.comments.len()));
    }
    if !shuffled.is_empty() {
        prop_assert_eq!(reviewed.diff.commit(&shuffled).unwrap(), committed.clone());
        // One by one, from the last line up. In other orders a line may be mistaken for its twin: if a suggestion
        // puts a line beside an equal one, the two trees do not show which of them is new.
        let upwards: Vec<Value> = reviewed.comments.iter().rev().cloned().collect();
        match reviewed.diff.commit_each(&upwards) {
            Ok(each) => prop_assert!(each == committed, "one by one: {each:?}"),
            Err(refused) => prop_assert!(refused.to_string().contains("Outdated"), "{refused}"),
        }
    }
    Ok(reviewed.comments.len())
}

#[test]
fn the_remainder_is_what_git_apply_takes() {
    let applied = hold(|case| {
        let reviewed = Reviewed::of(&case);
        let (committed, remainder) = (reviewed.committed(&case), &reviewed.cut.remainder);
        if remainder.is_empty() || !can_be_checked_out([&committed, &case.after]) {
            return Ok(0);
        }
        let unified = remainder.unified();
        match git_apply(&committed, &unified) {
            Ok(found) => prop_assert_eq!(found, case.after, "{}", unified),
            Err(error) => prop_assert!(false, "{error}\n{unified}"),
        }
        Ok(1)
    });
    assert!(applied > tried() / 4, "{applied} remainders in {} cases", tried());
}
