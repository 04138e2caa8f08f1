//! `deno test`.

use super::javascript::{check, read_case};
use super::*;

#[test]
fn reports_and_what_keeps_them_from_being_written() {
    let check = |name, code, expected| check(Framework::Deno, name, code, expected);
    check(
        "deno/pass",
        0,
        r#"
        Passed: 9 passed, 0 failed, 1 skipped
        passed: bdd_test.ts > shop, bdd_test.ts > shop > adds in a suite, shop_test.ts > adds, shop_test.ts > adds: odd > (name) [x] "quoted", shop_test.ts > basket, shop_test.ts > basket > is empty, shop_test.ts > basket > sums, shop_test.ts > passes, shop_test.ts > throws
    "#,
    );
    check(
        "deno/fail",
        1,
        r#"
        Failed: 2 passed, 5 failed, 1 skipped
        passed: shop_test.ts > basket > is empty, shop_test.ts > passes
        bdd_test.ts > shop > adds in a suite at /tmp/fx/deno/bdd_test.ts:7: AssertionError: Expected values to be strictly equal:
        shop_test.ts > adds at /tmp/fx/deno/shop_test.ts:5: AssertionError: Expected values to be strictly equal:
        shop_test.ts > adds: odd > (name) [x] "quoted" at /tmp/fx/deno/shop_test.ts:9: AssertionError: Expected values to be strictly equal:
        shop_test.ts > throws at /tmp/fx/deno/shop_test.ts:26: Error: wrong sum
        shop_test.ts > basket > sums at /tmp/fx/deno/shop_test.ts:18: AssertionError: Expected values to be strictly equal:
    "#,
    );
    check(
        "deno/denied",
        1,
        r#"
        Failed: 1 passed, 1 failed, 0 skipped
        passed: a_test.ts > is fine
        a_test.ts > reads a file at /tmp/fx/deno2/a_test.ts:3: NotCapable: Requires read access to "deno.json", run again with the --allow-read flag
    "#,
    );
    check(
        "deno/exit",
        1,
        "
        Failed: 1 passed, 2 failed, 0 skipped
        passed: a_test.ts > is fine
        a_test.ts > leaves at /tmp/fx/deno2/a_test.ts:3: Error: Test case attempted to exit with exit code: 3
        a_test.ts > never runs at a_test.ts:5: Error: Test case finished with exit code set to 3
    ",
    );
    check(
        "deno/load_error",
        1,
        "
        DidNotCollect: 1 passed, 1 failed, 0 skipped
        passed: b_test.ts > is fine
        a_test.ts at /tmp/fx/deno2/a_test.ts:2: error: (in promise) TypeError: Cannot read properties of undefined (reading 'rows')
    ",
    );
    check(
        "deno/compile_error",
        1,
        "
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        TS2322 at /tmp/fx/deno2/a_test.ts:2: Type 'string' is not assignable to type 'number'.
    ",
    );
    check(
        "deno/syntax_error",
        1,
        "
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        the tests could not be loaded at /tmp/fx/deno2/a_test.ts:2: error: SyntaxError: Expression expected
    ",
    );
    check(
        "deno/missing_module",
        1,
        "
        MissingModule: 0 passed, 1 failed, 0 skipped
        TS2307 at /tmp/fx/deno2/a_test.ts:1: Cannot find module 'file:///tmp/fx/deno2/missing.ts'.
    ",
    );
    check("deno/offline", 1, "DidNotStart: 0 passed, 0 failed, 0 skipped");
    check("deno/no_files", 1, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("deno/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("deno/not_found", 0, "NothingRan: 0 passed, 0 failed, 2 skipped");
}

#[test]
fn text_says_the_same_as_the_report() {
    for (name, code) in [
        ("pass", 0),
        ("fail", 1),
        ("denied", 1),
        ("exit", 1),
        ("load_error", 1),
        ("nothing_ran", 0),
    ] {
        let report = read_case(Framework::Deno, &format!("deno/{name}"), code);
        for framework in [Framework::Deno, Framework::Other] {
            let text = read(framework, &exited(code, &fixture(&format!("deno/{name}.txt"))));
            assert_eq!(text.outcome, report.outcome, "{name}");
            assert_eq!(text.passed_names, report.passed_names, "{name}");
            let failing = |run: &TestRun| {
                run.failing_names()
                    .map(String::from)
                    .collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(failing(&text), failing(&report), "{name}");
            let places = |run: &TestRun| run.failures.iter().filter(|failure| failure.location.is_some()).count();
            assert_eq!(places(&text), places(&report), "{name}");
        }
    }
    let outcome = |name: &str| read(Framework::Other, &exited(1, &fixture(&format!("deno/{name}.txt")))).outcome;
    assert_eq!(outcome("no_files"), Outcome::NothingRan);
    assert_eq!(outcome("offline"), Outcome::DidNotStart);
    assert_eq!(outcome("compile_error"), Outcome::DidNotBuild);
}
