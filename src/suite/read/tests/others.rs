//! JavaScript, and commands of no known framework.

use super::*;

#[test]
fn node() {
    assert_snapshot!(read_file(Framework::Node, "node/pass.txt", 0), @r"
    Passed: 6 passed, 0 failed, 2 skipped
    passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent, parent > child
    ");
    assert_snapshot!(read_file(Framework::Node, "node/pass_spec.txt", 0), @r"
    Passed: 6 passed, 0 failed, 2 skipped
    passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent > child
    ");
    assert_snapshot!(read_file(Framework::Node, "node/fail.txt", 1), @r"
    Failed: 2 passed, 4 failed, 2 skipped
    passed: adds, basket > is empty
    adds at /tmp/fx/js/test/shop.test.js:5: error: |-
    basket > sums (a|b) # 100% at /tmp/fx/js/test/shop.test.js:8: error: 'two and two'
    parent > child at /tmp/fx/js/test/shop.test.js:10: error: '0 == 2'
    ");
    assert_snapshot!(read_file(Framework::Node, "node/fail_spec.txt", 1), @r"
    Failed: 2 passed, 4 failed, 2 skipped
    passed: adds, basket > is empty
    adds at test/shop.test.js:5:   AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    basket > sums (a|b) # 100% at test/shop.test.js:8:     AssertionError [ERR_ASSERTION]: two and two
    parent > child at test/shop.test.js:10:     AssertionError [ERR_ASSERTION]: 0 == 2
    ");
    assert_snapshot!(read_file(Framework::Node, "node/collection_error.txt", 1), @r"
    DidNotBuild: 1 passed, 1 failed, 0 skipped
    passed: adds
    /tmp/fx/js/test/shop.test.js at /tmp/fx/js/test/shop.test.js:1: /tmp/fx/js/shop.js:1
    ");
    assert_snapshot!(read_file(Framework::Node, "node/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Node, "node/crash.txt", 1), @r"
    Crashed: 6 passed, 1 failed, 2 skipped
    passed: adds, adds, basket > is empty, basket > sums (a|b) # 100%, parent, parent > child
    /tmp/fx/js/test/z.test.js at -: error: 'test failed'
    ");
}

#[test]
fn jest() {
    assert_snapshot!(read_file(Framework::Jest, "jest/pass.txt", 0), @r"
    Passed: 3 passed, 0 failed, 2 skipped
    passed: adds, basket > is empty, basket > sums
    ");
    assert_snapshot!(read_file(Framework::Jest, "jest/fail.txt", 1), @r"
    Failed: 1 passed, 2 failed, 2 skipped
    passed: basket > is empty
    adds at jest/shop.test.js:2:     expect(received).toBe(expected) // Object.is equality
    basket > sums at jest/shop.test.js:5:     expect(received).toBe(expected) // Object.is equality
    ");
    assert_snapshot!(read_file(Framework::Jest, "jest/collection_error.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    Test suite failed to run at jest/shop.test.js:1:     Jest encountered an unexpected token
    ");
    assert_snapshot!(read_file(Framework::Jest, "jest/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 5 skipped");
}

#[test]
fn vitest() {
    assert_snapshot!(read_file(Framework::Vitest, "vitest/pass.txt", 0), @"Passed: 3 passed, 0 failed, 2 skipped");
    assert_snapshot!(read_file(Framework::Vitest, "vitest/fail.txt", 1), @r"
    Failed: 1 passed, 2 failed, 2 skipped
    adds at vitest/shop.test.js:2: AssertionError: expected -1 to be 3 // Object.is equality
    basket > sums at vitest/shop.test.js:5: AssertionError: expected +0 to be 4 // Object.is equality
    ");
    assert_snapshot!(read_file(Framework::Vitest, "vitest/collection_error.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    vitest/shop.test.js [ vitest/shop.test.js ] at -: RolldownError: Parse failure: Parse failed with 1 error:
    ");
    assert_snapshot!(read_file(Framework::Vitest, "vitest/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 5 skipped");
}

#[test]
fn mocha() {
    assert_snapshot!(read_file(Framework::Mocha, "mocha/pass.txt", 0), @r"
    Passed: 3 passed, 0 failed, 1 skipped
    passed: adds, basket > is empty, basket > sums
    ");
    assert_snapshot!(read_file(Framework::Mocha, "mocha/fail.txt", 2), @r"
    Failed: 1 passed, 2 failed, 1 skipped
    passed: basket > is empty
    adds at mocha/shop.js:2:       AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    basket > sums at mocha/shop.js:5:       AssertionError [ERR_ASSERTION]: 0 == 4
    ");
    assert_snapshot!(read_file(Framework::Mocha, "mocha/collection_error.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    the tests could not be loaded at /tmp/fx/jsx/mocha/shop.js:1: Exception during run: /tmp/fx/jsx/shop.js:1
    ");
    assert_snapshot!(read_file(Framework::Mocha, "mocha/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn a_command_of_no_known_framework_is_one_test() {
    assert_snapshot!(show(&read(Framework::Other, &exited(0, b"all fine"))), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
    assert_snapshot!(show(&read(Framework::Other, &exited(3, b"boom"))), @"
    Failed: 0 passed, 1 failed, 0 skipped
    the test command at -: boom
    ");
    assert_snapshot!(show(&read(Framework::Other, &exited(127, b"sh: 1: make: not found"))), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(show(&read(Framework::Other, &output(sandbox::Outcome::TimedOut, b"..."))), @"TimedOut: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn a_command_of_a_known_framework_is_recognised_by_its_output() {
    for (file, code) in [
        ("cargo/fail.txt", 101),
        ("cargo/nothing_ran.txt", 0),
        ("pytest/fail.txt", 1),
        ("pytest/nothing_ran.txt", 5),
        ("unittest/fail.txt", 1),
        ("unittest/nothing_ran.txt", 0),
        ("node/fail.txt", 1),
        ("node/nothing_ran.txt", 0),
        ("jest/fail.txt", 1),
        ("jest/nothing_ran.txt", 0),
        ("jest/nothing_found.txt", 1),
        ("vitest/fail.txt", 1),
        ("vitest/nothing_found.txt", 1),
        ("mocha/fail.txt", 2),
        ("mocha/nothing_ran.txt", 0),
        ("go/fail.txt", 1),
        ("go/nothing_ran.txt", 0),
        ("maven/fail.txt", 1),
        ("maven/nothing_ran.txt", 0),
    ] {
        let run = read(Framework::Other, &exited(code, &fixture(file)));
        let expected = if file.contains("fail") {
            Outcome::Failed
        } else {
            Outcome::NothingRan
        };
        let found = run.outcome;
        assert!(
            found == expected || (code != 0 && !file.contains("fail") && found == Outcome::Crashed),
            "{file}: {found:?}"
        );
        assert!(
            run.failing_names().all(|name| name != conclude::WHOLE_COMMAND),
            "{file}"
        );
    }
}
