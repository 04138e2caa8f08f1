//! Commands of no known framework.

use super::*;

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
            run.failing_names()
                .all(|name| name != greenlight_readers::WHOLE_COMMAND),
            "{file}"
        );
    }
}
