//! The order of candidates, and that every offered candidate is useful.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::evidence::Evidence;
use crate::localise;

fn fixture(name: &str) -> Checkout {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/repos")
        .join(name);
    Checkout::open(&root).unwrap()
}

/// Every candidate after these tests failed; a passing test is marked with `+`.
fn candidates(checkout: &Checkout, tests: &[&str], excluded: &[String]) -> Candidates {
    let failure = |name: &str| Failure {
        name: name.into(),
        location: None,
        message: String::new(),
        ..Failure::default()
    };
    let (passed, failed): (Vec<&str>, Vec<&str>) = tests.iter().partition(|test| test.starts_with('+'));
    let before = TestRun {
        failures: failed.into_iter().map(failure).collect(),
        passed_names: passed.iter().map(|test| test[1..].to_string()).collect(),
        ..TestRun::without_result("", Outcome::Failed, "")
    };
    let paths: BTreeSet<RepoPath> = checkout.paths().into_iter().cloned().collect();
    let evidence = Evidence::new(&before, &BTreeMap::new(), &paths);
    let suspects = localise::suspects(checkout, &paths, &evidence, &CancellationToken::new()).unwrap();
    Candidates::new((checkout, Vec::new()), suspects, (excluded, &[]))
}

#[track_caller]
fn check(name: &str, tests: &[&str], path: &str) {
    let checkout = fixture(&format!("{name}/before"));
    let after = fixture(&format!("{name}/after")).read_text(path).unwrap();
    let first: Vec<Candidate> = candidates(&checkout, tests, &[]).take(20).collect();
    assert!(
        first.iter().any(|candidate| candidate.text == after),
        "{:#?}",
        Vec::from_iter(first.iter().map(|candidate| (candidate.line, &candidate.after)))
    );
}

#[test]
fn the_fix_is_among_the_first_candidates() {
    let off = [
        "passengers_who_get_off_are_no_longer_on_board",
        "+the_first_free_seat_is_sold",
    ];
    check("rail", &off, "src/lib.rs");
    check("postage", &["tests::a_bulky_parcel_costs_more"], "src/lib.rs");
    check(
        "version_match",
        &["a_caret_leaves_what_is_older", "+comparisons_are_exact"],
        "src/lib.rs",
    );
    check(
        "rooms",
        &["everybody_else_may_not", "a_room_without_groups_is_open_to_all"],
        "src/lib.rs",
    );
    check("pages", &["test_pages.WindowTest.test_at_the_ends"], "pages.py");
    check(
        "checkdigit",
        &["tests/test_luhn.py::test_well_formed[79927398713]"],
        "checkdigit.py",
    );
    check(
        "retry",
        &["tests/test_retry.py::test_it_gives_up_after_the_last_attempt"],
        "retry.py",
    );
    let errors = "tests.test_report.ReportTest.test_failed_requests_are_not_counted";
    check(
        "access_log",
        &[errors, "+tests.test_parse.ParseTest.test_an_entry"],
        "accesslog/report.py",
    );
}

#[test]
fn no_candidate_comes_twice_and_excluded_ones_not_at_all() {
    let checkout = fixture("pages/before");
    let tests = ["test_pages.WindowTest.test_at_the_ends"];
    let all: Vec<Candidate> = candidates(&checkout, &tests, &[]).collect();
    let texts: HashSet<(&RepoPath, &str)> = all.iter().map(|c| (&c.path, c.text.as_str())).collect();
    assert_eq!(texts.len(), all.len());
    let excluded = [all[0].patch(&checkout).digest(), all[2].patch(&checkout).digest()];
    let rest: Vec<String> = candidates(&checkout, &tests, &excluded).map(|c| c.text).collect();
    assert_eq!(rest.len(), all.len() - 2);
    assert_eq!(rest[0], all[1].text);
    assert_eq!(rest[1], all[3].text);
}

#[test]
fn estimates_get_exact_in_the_end() {
    let mut candidates = candidates(&fixture("pages/before"), &["test_at_the_ends"], &[]);
    assert!(candidates.estimate() > 20);
    assert!(candidates.by_ref().count() > 20);
    assert_eq!(candidates.estimate(), 0);
}

#[test]
fn the_tail_is_made_when_it_is_asked_for() {
    let mut candidates = candidates(&fixture("pages/before"), &["test_at_the_ends"], &[]);
    assert_eq!(candidates.made, 0);
    assert!(candidates.next().is_some());
    let first = candidates.made;
    let scores: Vec<f32> = candidates.by_ref().map(|candidate| candidate.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b));
    assert!(
        first > 0 && first < candidates.made / 2,
        "{first} of {}",
        candidates.made
    );
}
