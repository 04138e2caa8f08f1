//! JavaScript and TypeScript.

use super::*;

/// Reads a recorded run, with its report where it came to one.
fn read_case(framework: Framework, name: &str, code: i32) -> TestRun {
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
fn check(framework: Framework, name: &str, code: i32, expected: &str) {
    let shown = show(&read_case(framework, name, code));
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(shown.lines().map(str::trim).collect::<Vec<_>>(), expected, "{name}");
}

#[test]
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
        process.exit called with "7" at shop.js:1:     > 1 | exports.add = (a, b) => { process.exit(7); };
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
fn mocha() {
    let check = |name, code, expected| check(Framework::Mocha, name, code, expected);
    check(
        "mocha/collection_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        the tests could not be loaded at /tmp/fx/jsx/mocha/shop.js:1: Exception during run: /tmp/fx/jsx/shop.js:1
    "#,
    );
    check("mocha/exit", 1, "Crashed: 0 passed, 0 failed, 0 skipped");
    check(
        "mocha/fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 1 skipped
        passed: basket is empty
        adds at mocha/shop.js:2:       AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
        basket sums at mocha/shop.js:5:       AssertionError [ERR_ASSERTION]: 0 == 4
    "#,
    );
    check(
        "mocha/load_error",
        1,
        r#"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        the tests could not be loaded at /tmp/js/fx/shop.js:1: Exception during run: Error: boom at load
    "#,
    );
    check(
        "mocha/missing_module",
        1,
        r#"
        MissingModule: 0 passed, 1 failed, 0 skipped
        the tests could not be loaded at /tmp/js/fx/shop.js:1: Exception during run: Error: Cannot find module 'no-such-package'
    "#,
    );
    check("mocha/no_files", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("mocha/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("mocha/out_of_memory", 1, "OutOfMemory: 0 passed, 0 failed, 0 skipped");
    check(
        "mocha/pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 1 skipped
        passed: adds, basket is empty, basket sums
    "#,
    );
    check(
        "mocha/report_compile_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        the tests could not be loaded at /tmp/js/fx/mocha/shop.js:1: Exception during run: /tmp/js/fx/shop.js:2
    "#,
    );
    check(
        "mocha/report_fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 2 skipped
        passed: basket is empty
        adds at mocha/shop.js:2: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
        basket sums (a|b) $1 "x" at mocha/shop.js:4: AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:
    "#,
    );
    check(
        "mocha/report_pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 2 skipped
        passed: adds, basket is empty, basket sums (a|b) $1 "x"
    "#,
    );
}

#[test]
fn node() {
    let check = |name, code, expected| check(Framework::Node, name, code, expected);
    check(
        "node/collection_error",
        1,
        r#"
        DidNotBuild: 1 passed, 1 failed, 0 skipped
        passed: adds
        /tmp/fx/js/test/shop.test.js at /tmp/fx/js/shop.js:1: /tmp/fx/js/shop.js:1
    "#,
    );
    check(
        "node/crash",
        1,
        r#"
        Crashed: 6 passed, 1 failed, 1 skipped
        passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent, parent > child
        /tmp/fx/js/test/z.test.js at -: test failed
    "#,
    );
    check(
        "node/fail",
        1,
        r#"
        Failed: 2 passed, 4 failed, 1 skipped
        passed: adds, basket > is empty
        adds at /tmp/fx/js/test/shop.test.js:5: Expected values to be strictly equal:
        basket > sums (a|b) # 100% at /tmp/fx/js/test/shop.test.js:8: two and two
        parent > child at /tmp/fx/js/test/shop.test.js:10: 0 == 2
    "#,
    );
    check(
        "node/fail_spec",
        1,
        r#"
        Failed: 2 passed, 4 failed, 2 skipped
        passed: adds, basket > is empty
        adds at test/shop.test.js:5:   AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
        basket > sums (a|b) # 100% at test/shop.test.js:8:     AssertionError [ERR_ASSERTION]: two and two
        parent > child at test/shop.test.js:10:     AssertionError [ERR_ASSERTION]: 0 == 2
    "#,
    );
    check(
        "node/missing_module",
        1,
        r#"
        MissingModule: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/node/shop.test.js at /tmp/js/fx/node/shop.test.js:1: node:internal/modules/cjs/loader:1210
    "#,
    );
    check("node/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "node/out_of_memory",
        1,
        r#"
        OutOfMemory: 0 passed, 1 failed, 0 skipped
        /tmp/js/fx/node/shop.test.js at -: test failed
    "#,
    );
    check(
        "node/pass",
        0,
        r#"
        Passed: 6 passed, 0 failed, 1 skipped
        passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent, parent > child
    "#,
    );
    check(
        "node/pass_spec",
        0,
        r#"
        Passed: 6 passed, 0 failed, 2 skipped
        passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent > child
    "#,
    );
    check(
        "node/report_fail",
        1,
        r#"
        Failed: 1 passed, 4 failed, 2 skipped
        passed: basket > is empty
        adds at /tmp/js/fx/node/shop.test.js:2: Expected values to be strictly equal:
        basket > sums (a|b) # "x" at /tmp/js/fx/node/shop.test.js:4: Expected values to be strictly deep-equal:
        parent > child at /tmp/js/fx/node/shop.test.js:10: The expression evaluated to a falsy value:
    "#,
    );
    check(
        "node/report_pass",
        0,
        r#"
        Passed: 5 passed, 0 failed, 2 skipped
        passed: adds, basket > is empty, basket > sums (a|b) # "x", parent, parent > child
    "#,
    );
}

#[test]
fn bun() {
    let check = |name, code, expected| check(Framework::Bun, name, code, expected);
    check("bun/exit", 1, "Crashed: 0 passed, 0 failed, 0 skipped");
    check(
        "bun/load_error",
        1,
        r#"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        bun/shop.test.js at /tmp/js/fx/shop.js:1: 1 | throw new Error('boom at load')
    "#,
    );
    check(
        "bun/missing_module",
        1,
        r#"
        MissingModule: 0 passed, 1 failed, 0 skipped
        bun/shop.test.js at -: error: Cannot find package 'no-such-package' from '/tmp/js/fx/shop.js'
    "#,
    );
    check("bun/no_files", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "bun/report_compile_error",
        1,
        r#"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        bun/shop.test.js at /tmp/js/fx/shop.js:1: SyntaxError
    "#,
    );
    check(
        "bun/report_fail",
        1,
        r#"
        Failed: 1 passed, 2 failed, 2 skipped
        passed: bun/shop.test.js > basket > is empty
        bun/shop.test.js > adds at bun/shop.test.js:2: AssertionError: expect(received).toBe(expected)
        bun/shop.test.js > basket > sums (a|b) $1 "x" at bun/shop.test.js:4: AssertionError: expect(received).toEqual(expected)
    "#,
    );
    check(
        "bun/report_pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 2 skipped
        passed: bun/shop.test.js > adds, bun/shop.test.js > basket > is empty, bun/shop.test.js > basket > sums (a|b) $1 "x"
    "#,
    );
}

#[test]
fn tap() {
    let check = |name, code, expected| check(Framework::Tap, name, code, expected);
    check("tap/ava_exit", 1, "Crashed: 0 passed, 0 failed, 1 skipped");
    check(
        "tap/ava_load_error",
        1,
        r#"
        DidNotCollect: 0 passed, 2 failed, 0 skipped
        Error: boom at load at /tmp/js/fx/shop.js:1: Error: boom at load
        tap/ava.test.mjs exited with a non-zero exit code: 1 at -: tap/ava.test.mjs exited with a non-zero exit code: 1
    "#,
    );
    check(
        "tap/ava_missing_module",
        1,
        r#"
        MissingModule: 0 passed, 2 failed, 0 skipped
        Error: Cannot find module 'no-such-package' at -: Error: Cannot find module 'no-such-package'
        tap/ava.test.mjs exited with a non-zero exit code: 1 at -: tap/ava.test.mjs exited with a non-zero exit code: 1
    "#,
    );
    check(
        "tap/ava_report_compile_error",
        1,
        r#"
        DidNotCollect: 0 passed, 2 failed, 0 skipped
        /tmp/js/fx/shop.js:2 at -: /tmp/js/fx/shop.js:2
        tap/ava.test.mjs exited with a non-zero exit code: 1 at -: tap/ava.test.mjs exited with a non-zero exit code: 1
    "#,
    );
    check(
        "tap/ava_report_fail",
        1,
        r#"
        Failed: 2 passed, 1 failed, 1 skipped
        passed: known, passes
        adds at -: assertion: t.is()
    "#,
    );
    check(
        "tap/ava_report_pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 1 skipped
        passed: adds, known, passes
    "#,
    );
    check("tap/tape_exit", 1, "Crashed: 0 passed, 0 failed, 0 skipped");
    check(
        "tap/tape_report_fail",
        1,
        r#"
        Failed: 2 passed, 1 failed, 0 skipped
        passed: inside, should be truthy
        one and two at /tmp/js/fx/tap/tape.js:2: Error: one and two
    "#,
    );
    check(
        "tap/tape_report_pass",
        0,
        r#"
        Passed: 3 passed, 0 failed, 0 skipped
        passed: inside, one and two, should be truthy
    "#,
    );
    check(
        "tap/version14",
        1,
        r#"
        Crashed: 3 passed, 1 failed, 1 skipped
        passed: adds, basket > sums, nested > inner
        basket > is empty at shop.js:4: no "sum"
        bail out at -: the disk is full
    "#,
    );
}

#[test]
fn eslint() {
    let check = |name, code, expected| check(Framework::Eslint, name, code, expected);
    check(
        "eslint/fail",
        1,
        r#"
        Flagged: 0 passed, 1 failed, 0 skipped
        no-undef at /tmp/js/fx/lint/a.js:2: 'undefined_thing' is not defined.
    "#,
    );
    check(
        "eslint/parse_error",
        1,
        r#"
        Flagged: 0 passed, 1 failed, 0 skipped
        parsing error at /tmp/js/fx/lint/b.js:1: Parsing error: Unexpected token ;
    "#,
    );
    check(
        "eslint/stylish",
        1,
        r#"
        Flagged: 0 passed, 1 failed, 0 skipped
        no-undef at /tmp/js/fx/lint/a.js:2: 'undefined_thing' is not defined
    "#,
    );
}

#[test]
fn tsc() {
    let check = |name, code, expected| check(Framework::Tsc, name, code, expected);
    check(
        "tsc/plain",
        1,
        r#"
        Flagged: 0 passed, 3 failed, 0 skipped
        TS2322 at lint/a.ts:1: Type 'string' is not assignable to type 'number'.
        TS2322 at lint/a.ts:2: Type 'number' is not assignable to type 'string'.
        TS2307 at lint/a.ts:3: Cannot find module './nowhere' or its corresponding type declarations.
    "#,
    );
    check(
        "tsc/pretty",
        1,
        r#"
        Flagged: 0 passed, 3 failed, 0 skipped
        TS2322 at lint/a.ts:1: Type 'string' is not assignable to type 'number'.
        TS2322 at lint/a.ts:2: Type 'number' is not assignable to type 'string'.
        TS2307 at lint/a.ts:3: Cannot find module './nowhere' or its corresponding type declarations.
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
        assert_eq!(format!("{:?}", read_case(framework, name, 1).tally), expected, "{name}");
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
