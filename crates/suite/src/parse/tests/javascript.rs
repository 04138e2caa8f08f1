//! Jest and Vitest, and what all JavaScript runners have in common.

use super::*;

/// Parses a recorded run, with its report if it wrote one.
pub(super) fn read_case(framework: Framework, name: &str, code: i32) -> TestRun {
    let output = exited(code, &fixture(&format!("{name}.txt")));
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs");
    let report = ["json", "xml"]
        .iter()
        .find_map(|end| std::fs::read(base.join(format!("{name}.{end}"))).ok());
    match report {
        Some(report) => read_with_report(framework, &output, &report),
        None => read(framework, &output),
    }
}

#[track_caller]
pub(super) fn check(framework: Framework, name: &str, code: i32, expected: &str) {
    let shown = show(&read_case(framework, name, code));
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(shown.lines().map(str::trim).collect::<Vec<_>>(), expected, "{name}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one recorded output after the other")]
fn jest() {
    let check = |name, code, expected| check(Framework::Jest, name, code, expected);
    check(
        "jest/collection_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        Test suite failed to run at jest/shop.test.js:1:     Jest encountered an unexpected token
    "#,
    );
    check(
        "jest/exit",
        1,
        r#"
        Crashed: 0 passed, 1 failed, 0 skipped
        process.exit called with "7" at -:     > 1 | exports.add = (a, b) => { process.exit(7); };
    "#,
    );
    check(
        "jest/fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 2 skipped
        passed: basket > is empty
        adds at jest/shop.test.js:2:     expect(received).toBe(expected) // Object.is equality
        basket > sums at jest/shop.test.js:5:     expect(received).toBe(expected) // Object.is equality
    "#,
    );
    check(
        "jest/load_error",
        1,
        r#"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/jest/shop.test.js at shop.js:1:   ● Test suite failed to run
    "#,
    );
    check(
        "jest/missing_module",
        1,
        r#"
        MissingModule: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/jest/shop.test.js at shop.js:1:   ● Test suite failed to run
    "#,
    );
    check("jest/no_files", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("jest/nothing_found", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("jest/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 5 skipped");
    check("jest/out_of_memory", 1, "OutOfMemory: 0 passed, 0 failed, 0 skipped");
    check(
        "jest/pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 2 skipped
        passed: adds, basket > is empty, basket > sums
    "#,
    );
    check(
        "jest/report_compile_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/jest/shop.test.js at jest/shop.test.js:1:   ● Test suite failed to run
    "#,
    );
    check(
        "jest/report_fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 2 skipped
        passed: /tmp/js/fx/jest/shop.test.js > basket > is empty
        /tmp/js/fx/jest/shop.test.js > adds at /tmp/js/fx/jest/shop.test.js:2: Error: expect(received).toBe(expected) // Object.is equality
        /tmp/js/fx/jest/shop.test.js > basket > sums (a|b) $1 "x" at /tmp/js/fx/jest/shop.test.js:4: Error: expect(received).toEqual(expected) // deep equality
    "#,
    );
    check(
        "jest/report_pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 2 skipped
        passed: /tmp/js/fx/jest/shop.test.js > adds, /tmp/js/fx/jest/shop.test.js > basket > is empty, /tmp/js/fx/jest/shop.test.js > basket > sums (a|b) $1 "x"
    "#,
    );
    check(
        "jest/snapshot",
        1,
        r#"
        Failed: 3 passed, 2 failed, 2 skipped
        passed: /tmp/js/fx/jest/shop.test.js > adds, /tmp/js/fx/jest/shop.test.js > basket > is empty, /tmp/js/fx/jest/shop.test.js > basket > sums (a|b) $1 "x"
        /tmp/js/fx/jest/snap.test.js > shows at /tmp/js/fx/jest/snap.test.js:1: Error: expect(received).toMatchInlineSnapshot(snapshot)
        /tmp/js/fx/jest/snap.test.js > is slow at /tmp/js/fx/jest/snap.test.js:2: Error: thrown: "Exceeded timeout of 50 ms for a test while waiting for `done()` to be called.
    "#,
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one recorded output after the other")]
fn vitest() {
    let check = |name, code, expected| check(Framework::Vitest, name, code, expected);
    check(
        "vitest/collection_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        vitest/shop.test.js at -: RolldownError: Parse failure: Parse failed with 1 error:
    "#,
    );
    check(
        "vitest/exit",
        1,
        r#"
        Failed: 2 passed, 2 failed, 2 skipped
        passed: /tmp/js/fx/vitest/shop.test.mjs > basket > is empty, /tmp/js/fx/vitest/shop.test.mjs > basket > known
        /tmp/js/fx/vitest/shop.test.mjs > adds at /tmp/js/fx/shop.js:1: Error: process.exit unexpectedly called with "7"
        /tmp/js/fx/vitest/shop.test.mjs > basket > sums (a|b) $1 "x" at /tmp/js/fx/shop.js:1: Error: process.exit unexpectedly called with "7"
    "#,
    );
    check(
        "vitest/fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 2 skipped
        vitest/shop.test.js > adds at vitest/shop.test.js:2: AssertionError: expected -1 to be 3 // Object.is equality
        vitest/shop.test.js > basket > sums at vitest/shop.test.js:5: AssertionError: expected +0 to be 4 // Object.is equality
    "#,
    );
    check(
        "vitest/load_error",
        1,
        r#"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/vitest/shop.test.mjs at -: boom at load
    "#,
    );
    check(
        "vitest/missing_module",
        1,
        r#"
        MissingModule: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/vitest/shop.test.mjs at -: Cannot find module 'no-such-package'
    "#,
    );
    check("vitest/no_files", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("vitest/nothing_found", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("vitest/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 5 skipped");
    check("vitest/pass", 0, "Passed: 3 passed, 0 failed, 2 skipped");
    check(
        "vitest/report_compile_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/vitest/shop.test.mjs at -: Failed to parse source for import analysis because the content contains invalid JS syntax. If you are using JSX, make sure to name the file with the .jsx or .tsx extension.
    "#,
    );
    check(
        "vitest/report_fail",
        1,
        r#"
        Failed: 2 passed, 2 failed, 2 skipped
        passed: /tmp/js/fx/vitest/shop.test.mjs > basket > is empty, /tmp/js/fx/vitest/shop.test.mjs > basket > known
        /tmp/js/fx/vitest/shop.test.mjs > adds at /tmp/js/fx/vitest/shop.test.mjs:3: AssertionError: expected -1 to be 3 // Object.is equality
        /tmp/js/fx/vitest/shop.test.mjs > basket > sums (a|b) $1 "x" at /tmp/js/fx/vitest/shop.test.mjs:5: AssertionError: expected { sum: +0 } to deeply equal { sum: 4 }
    "#,
    );
    check(
        "vitest/report_pass",
        0,
        r#"
        Passed: 4 passed, 0 failed, 2 skipped
        passed: /tmp/js/fx/vitest/shop.test.mjs > adds, /tmp/js/fx/vitest/shop.test.mjs > basket > is empty, /tmp/js/fx/vitest/shop.test.mjs > basket > known, /tmp/js/fx/vitest/shop.test.mjs > basket > sums (a|b) $1 "x"
    "#,
    );
    check(
        "vitest/snapshot",
        1,
        r#"
        Failed: 4 passed, 2 failed, 2 skipped
        passed: /tmp/js/fx/vitest/shop.test.mjs > adds, /tmp/js/fx/vitest/shop.test.mjs > basket > is empty, /tmp/js/fx/vitest/shop.test.mjs > basket > known, /tmp/js/fx/vitest/shop.test.mjs > basket > sums (a|b) $1 "x"
        /tmp/js/fx/vitest/snap.test.mjs > shows at /tmp/js/fx/vitest/snap.test.mjs:2: Error: Snapshot `shows 1` mismatched
        /tmp/js/fx/vitest/snap.test.mjs > is slow at /tmp/js/fx/vitest/snap.test.mjs:3: Error: STACK_TRACE_ERROR
    "#,
    );
    check(
        "vitest/unhandled",
        1,
        r#"
        Crashed: 5 passed, 0 failed, 2 skipped
        passed: /tmp/js/fx/vitest/shop.test.mjs > adds, /tmp/js/fx/vitest/shop.test.mjs > basket > is empty, /tmp/js/fx/vitest/shop.test.mjs > basket > known, /tmp/js/fx/vitest/shop.test.mjs > basket > sums (a|b) $1 "x", /tmp/js/fx/vitest/z.test.mjs > leaks
        unhandled rejection at -: Error: nobody waits
    "#,
    );
}

#[test]
fn a_runner_that_never_came_to_a_test_says_why() {
    let outcome = |name: &str| read_case(Framework::Tap, name, 1).outcome;
    assert_eq!(outcome("tap/tape_load_error"), Outcome::DidNotCollect);
    assert_eq!(outcome("tap/tape_missing_module"), Outcome::MissingModule);
    assert_eq!(outcome("tap/tape_report_compile_error"), Outcome::DidNotBuild);
}

#[test]
fn what_was_wanted_and_what_came_is_told() {
    #[track_caller]
    fn check(framework: Framework, name: &str, expected: &str, actual: &str) {
        let failure = read_case(framework, name, 1).failures.remove(0);
        assert_eq!(
            (failure.expected.as_deref(), failure.actual.as_deref()),
            (Some(expected), Some(actual)),
            "{name}"
        );
    }
    check(Framework::Jest, "jest/report_fail", "3", "-1");
    check(Framework::Jest, "jest/snapshot", "{\"a\": 2}", "{\n  \"a\": 1,\n}");
    check(Framework::Vitest, "vitest/report_fail", "3", "-1");
    check(Framework::Mocha, "mocha/report_fail", "3", "-1");
    check(Framework::Node, "node/report_fail", "3", "-1");
    check(Framework::Bun, "bun/report_fail", "3", "-1");
    check(Framework::Tap, "tap/tape_report_fail", "3", "-1");
    check(Framework::Tap, "tap/version14", "3", "4");
}

#[test]
fn the_sums_are_told_in_the_words_of_the_runner() {
    #[track_caller]
    fn check(framework: Framework, name: &str, expected: &str) {
        assert_eq!(
            format!("{:?}", read_case(framework, name, 1).summary_counts),
            expected,
            "{name}"
        );
    }
    check(
        Framework::Jest,
        "jest/report_fail",
        r#"{"failed": 2, "passed": 1, "skipped": 1, "todo": 1}"#,
    );
    check(
        Framework::Mocha,
        "mocha/report_fail",
        r#"{"failing": 2, "passing": 1, "pending": 2}"#,
    );
    check(
        Framework::Node,
        "node/report_fail",
        r#"{"fail": 4, "pass": 1, "skipped": 1, "todo": 2}"#,
    );
    check(
        Framework::Bun,
        "bun/report_fail",
        r#"{"fail": 2, "pass": 1, "skip": 1, "todo": 1}"#,
    );
}
