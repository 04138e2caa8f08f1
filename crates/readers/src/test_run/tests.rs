//! When one run is better than another.

use super::*;

fn run(outcome: Outcome, passed: &[&str], failed: &[&str]) -> TestRun {
    TestRun {
        passed: u32::try_from(passed.len()).unwrap(),
        failed: u32::try_from(failed.len()).unwrap(),
        passed_names: passed.iter().map(ToString::to_string).collect(),
        failures: failed
            .iter()
            .map(|name| Failure {
                name: name.to_string(),
                location: None,
                message: String::new(),
                ..Failure::default()
            })
            .collect(),
        ..TestRun::without_result("cargo test", outcome, "")
    }
}

#[test]
fn green_after_red_with_every_test_still_there_is_better() {
    let before = run(Outcome::Failed, &["a"], &["b"]);
    assert_eq!(is_better(&before, &run(Outcome::Passed, &["a", "b"], &[])), Ok(()));
    assert_eq!(is_better(&before, &run(Outcome::Passed, &["a", "b", "c"], &[])), Ok(()));
}

#[test]
fn a_test_that_went_missing_is_not_better() {
    let before = run(Outcome::Failed, &["a"], &["b"]);
    assert_eq!(
        is_better(&before, &run(Outcome::Passed, &["a", "c"], &[])),
        Err(NotBetter::TestWentMissing { name: "b".into() })
    );
}

#[test]
fn nothing_ran_is_never_a_success() {
    let before = run(Outcome::Failed, &["a"], &["b"]);
    assert!(is_better(&before, &run(Outcome::NothingRan, &[], &[])).is_err());
    assert!(is_better(&run(Outcome::NothingRan, &[], &[]), &run(Outcome::Passed, &["a"], &[])).is_err());
}

#[test]
fn fewer_tests_are_not_better_even_without_names() {
    let mut before = run(Outcome::Failed, &[], &[]);
    (before.passed, before.failed) = (8, 2);
    let mut after = run(Outcome::Passed, &[], &[]);
    after.passed = 9;
    assert_eq!(
        is_better(&before, &after),
        Err(NotBetter::FewerTests { before: 10, after: 9 })
    );
}

#[test]
fn an_excused_test_may_fail_as_before_but_nothing_else_may() {
    let flaky = ["flaky".to_string()];
    let before = run(Outcome::Failed, &["a"], &["b", "flaky"]).excusing(&flaky);
    assert_eq!((before.failed, before.excused.as_slice()), (1, &flaky[..]));
    assert_eq!(before.summary(), "1 failed, 1 passed, 1 set aside");
    let missing = |name: &str| Err(NotBetter::TestWentMissing { name: name.into() });
    for (passed, failed, expected) in [
        (&["a", "b", "flaky"][..], &[][..], Ok(())),
        (&["a", "b"], &["flaky"], Ok(())),
        // It was deleted or skipped.
        (&["a", "b"], &[], missing("flaky")),
        (&["a", "flaky"], &[], missing("b")),
        (
            &["a"],
            &["b", "flaky"],
            Err(NotBetter::NotGreenAfter {
                after: "1 failed, 1 passed, 1 set aside".into(),
            }),
        ),
        (
            &["b"],
            &["a", "flaky"],
            Err(NotBetter::NotGreenAfter {
                after: "1 failed, 1 passed, 1 set aside".into(),
            }),
        ),
    ] {
        let outcome = if failed.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        assert_eq!(
            is_better(&before, &run(outcome, passed, failed)),
            expected,
            "{passed:?} {failed:?}"
        );
    }
    // Only tests that ran to a result are excused: a tree that does not build is not.
    let broken = run(Outcome::DidNotBuild, &["a", "b"], &["flaky"]);
    assert!(is_better(&before, &broken).is_err());
    let mut more = run(Outcome::Failed, &["a", "b"], &["flaky"]);
    more.failed = 2;
    assert!(is_better(&before, &more).is_err(), "a failure without a name");
}

#[test]
fn what_ran_before_a_run_was_cut_short_must_still_pass() {
    let missing = |name: &str| Err(NotBetter::TestWentMissing { name: name.into() });
    for (outcome, after, expected) in [
        (Outcome::DidNotBuild, &["a", "x"][..], Ok(())),
        (Outcome::DidNotBuild, &["x", "y"], missing("a")),
        (Outcome::Crashed, &["a", "x"], Ok(())),
        (Outcome::Crashed, &["x", "y"], missing("a")),
        (Outcome::TimedOut, &["a", "b"], Ok(())),
        (Outcome::TimedOut, &["a", "x"], missing("b")),
        (Outcome::TimedOut, &["b", "x"], missing("a")),
        // Two binaries have a test with the same name.
        (Outcome::Crashed, &["it:tests/it.rs a", "src/lib.rs a"], Ok(())),
        (Outcome::Crashed, &["not quite a", "b-a"], missing("a")),
        (Outcome::Failed, &["src/lib.rs a", "b"], missing("a")),
    ] {
        let before = run(outcome, &["a"], &["b"]);
        let after = run(Outcome::Passed, after, &[]);
        assert_eq!(
            is_better(&before, &after),
            expected,
            "{outcome:?} {:?}",
            after.passed_names
        );
    }
}

#[test]
fn fewer_tests_than_before_a_run_was_cut_short_are_not_better() {
    for (outcome, before_passed, after_passed, expected) in [
        (Outcome::DidNotBuild, 8, 8, None),
        (Outcome::DidNotBuild, 8, 7, Some(8)),
        (Outcome::Crashed, 8, 7, Some(8)),
        (Outcome::TimedOut, 8, 10, None),
        (Outcome::TimedOut, 8, 9, Some(10)),
        (Outcome::TimedOut, 0, 1, Some(2)),
    ] {
        let mut before = run(outcome, &[], &[]);
        (before.passed, before.failed) = (before_passed, 2);
        let mut after = run(Outcome::Passed, &[], &[]);
        after.passed = after_passed;
        let expected = expected.map_or(Ok(()), |before| {
            Err(NotBetter::FewerTests {
                before,
                after: after_passed,
            })
        });
        assert_eq!(is_better(&before, &after), expected, "{outcome:?}");
    }
}

#[test]
fn a_name_that_other_runs_of_the_same_tree_lack_may_be_missing() {
    let before = run(Outcome::Failed, &["a", "b", "at[1732585267]"], &["c"]);
    let again = run(Outcome::Failed, &["a", "b", "at[1732585301]"], &["c"]);
    assert!(before.may_have_unstable_names() && !run(Outcome::Passed, &["a"], &[]).may_have_unstable_names());
    let after = run(Outcome::Passed, &["a", "b", "c", "at[1732585344]"], &[]);
    let missing = |name: &str| Err(NotBetter::TestWentMissing { name: name.into() });
    assert_eq!(is_better(&before, &after), missing("at[1732585267]"));
    let noted = before.clone().noting_unstable(&again);
    assert_eq!(noted.unstable, ["at[1732585267]"]);
    assert_eq!(is_better(&noted, &after), Ok(()));
    // Others must be there, and as many.
    let other = run(Outcome::Passed, &["a", "c", "x", "at[1732585344]"], &[]);
    assert_eq!(is_better(&noted, &other), missing("b"));
    let fewer = run(Outcome::Passed, &["a", "b", "c"], &[]);
    assert_eq!(
        is_better(&noted, &fewer),
        Err(NotBetter::FewerTests { before: 4, after: 3 })
    );
    // A run without all names says nothing.
    let mut crashed = run(Outcome::Crashed, &["a"], &[]);
    assert_eq!(before.clone().noting_unstable(&crashed).unstable.len(), 0);
    crashed = run(Outcome::Passed, &["a"], &[]);
    crashed.passed = 2;
    assert_eq!(before.noting_unstable(&crashed).unstable.len(), 0);
}

#[test]
fn failing_tests_with_unstable_names_are_told_from_the_others() {
    let before = run(Outcome::Failed, &["a"], &["b", "at[1732585267]"]);
    let noted = before.noting_unstable(&run(Outcome::Failed, &["a"], &["b", "at[1732585268]"]));
    assert_eq!(noted.stable_failing_names().collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        is_better(&noted, &run(Outcome::Passed, &["a", "b", "at[1732585269]"], &[])),
        Ok(())
    );
}

#[test]
fn a_name_with_a_line_may_move_with_it() {
    let before = run(
        Outcome::Failed,
        &["of[sums.py:12:add@0]", "of[sums.py:14:add@1]"],
        &["c"],
    );
    let after = |first: &str| run(Outcome::Passed, &["c", first, "of[sums.py:16:add@1]"], &[]);
    assert_eq!(is_better(&before, &after("of[sums.py:13:add@0]")), Ok(()));
    let missing = NotBetter::TestWentMissing {
        name: "of[sums.py:12:add@0]".into(),
    };
    assert_eq!(is_better(&before, &after("of[sums.py:13:sub@0]")), Err(missing));
}
