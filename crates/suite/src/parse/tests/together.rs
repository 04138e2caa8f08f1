//! Outputs of unknown commands: from one framework, and from several one after another.

use super::*;

/// Outputs that identify their framework, and the exit codes of their commands.
const RECORDED: [(Framework, &str, i32); 22] = [
    (Framework::Cargo, "cargo/fail.txt", 101),
    (Framework::Pytest, "pytest/fail.txt", 1),
    (Framework::Unittest, "unittest/fail.txt", 1),
    (Framework::Go, "go/fail.txt", 1),
    (Framework::Jest, "jest/fail.txt", 1),
    (Framework::Vitest, "vitest/fail.txt", 1),
    (Framework::Mocha, "mocha/fail.txt", 2),
    (Framework::Node, "node/fail.txt", 1),
    (Framework::Maven, "maven/fail.txt", 1),
    (Framework::Rspec, "rspec/fail.txt", 1),
    (Framework::Rspec, "rspec/missing.txt", 1),
    (Framework::Minitest, "minitest/fail.txt", 1),
    (Framework::Minitest, "minitest/missing.txt", 1),
    (Framework::Minitest, "minitest/crash.txt", 1),
    (Framework::Minitest, "minitest/testunit_fail.txt", 1),
    (Framework::Phpunit, "phpunit/fail.txt", 2),
    (Framework::Phpunit, "phpunit/syntax.txt", 255),
    (Framework::Ctest, "ctest/fail.txt", 8),
    (Framework::Ctest, "ctest/build.txt", 2),
    (Framework::Dotnet, "dotnet/fail.txt", 1),
    (Framework::Tap, "tap/perl_fail.txt", 2),
    (Framework::Tap, "tap/prove_fail.txt", 1),
];

#[test]
fn an_unknown_command_counts_as_its_framework_does() {
    for (framework, name, code) in RECORDED {
        let output = exited(code, &fixture(name));
        let (own, guessed) = (read(framework, &output), read(Framework::Other, &output));
        let counts = |run: &TestRun| (run.outcome, run.passed, run.failed, run.skipped, run.failures.clone());
        assert_eq!(counts(&guessed), counts(&own), "{name}");
    }
}

#[test]
fn results_of_several_frameworks_are_added_up() {
    for (one, first) in [
        ("cargo/pass.txt", Framework::Cargo),
        ("pytest/pass.txt", Framework::Pytest),
    ] {
        for (framework, name, code) in RECORDED {
            if framework == first
                || framework == Framework::Ctest
                || name.contains("crash")
                || framework == Framework::Cargo
            {
                continue;
            }
            let red = read(framework, &exited(code, &fixture(name)));
            let green = read(first, &exited(0, &fixture(one)));
            let orders = [[fixture(one), fixture(name)], [fixture(name), fixture(one)]];
            for text in orders.map(|texts| texts.join(&b'\n')) {
                let both = read(Framework::Other, &exited(code, &text));
                assert!(!both.is_green(), "{one} {name}");
                assert_eq!(both.failed, red.failed, "{one} {name}");
                assert_eq!(both.passed, red.passed + green.passed, "{one} {name}");
            }
        }
    }
}

#[test]
fn what_ctest_passes_on_is_not_counted_again() {
    let inner = fixture("pytest/fail.txt");
    let mut text =
        b"Test project /workspace/build\n    Start 1: python\n1/1 Test #1: python ...........***Failed    0.10 sec\n"
            .to_vec();
    text.extend(inner);
    text.extend(b"\n\n0% tests passed, 1 tests failed out of 1\n\nThe following tests FAILED:\n\t  1 - python (Failed)\nErrors while running CTest\n");
    let run = read(Framework::Other, &exited(8, &text));
    assert_eq!((run.outcome, run.passed, run.failed), (Outcome::Failed, 0, 1));
    assert_eq!(run.failures[0].name, "python");
}
