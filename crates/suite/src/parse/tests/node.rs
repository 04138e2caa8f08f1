//! The other JavaScript runners, TAP, and the linters.

use super::javascript::check;
use super::*;

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
#[expect(clippy::too_many_lines, reason = "one recorded output after the other")]
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
fn node_tap() {
    check(
        Framework::Tap,
        "tap/node_tap_fail",
        1,
        r#"
        Failed: 3 passed, 1 failed, 2 skipped
        passed: test/zz/a.mjs > nothing in it, test/zz/a.mjs > sums > two, test/zz/a.mjs > top
        test/zz/a.mjs > sums > three at test/zz/a.mjs:5: --- expected
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
