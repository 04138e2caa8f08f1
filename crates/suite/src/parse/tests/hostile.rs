//! Output is a claim: green needs both the exit code and the output, red needs only one of them.

use super::*;

const GREEN: &str = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

#[track_caller]
fn check(framework: Framework, ended: sandbox::Outcome, text: &str, expected: Outcome) -> TestRun {
    let run = read(framework, &output(ended, text.as_bytes()));
    assert_eq!(run.outcome, expected, "{}", run.tail);
    run
}

#[test]
fn a_runner_that_is_not_installed_did_not_start() {
    let text = "npm error code ENOTCACHED\nnpm error request to https://registry.npmjs.org/mocha failed\n";
    check(
        Framework::Mocha,
        sandbox::Outcome::Exited(1),
        text,
        Outcome::DidNotStart,
    );
    // A test may print the same text.
    let printed = format!("{text}\n  0 passing (1ms)\n  1 failing\n\n  1) adds:\n     Error: boom\n");
    check(Framework::Mocha, sandbox::Outcome::Exited(1), &printed, Outcome::Failed);
}

#[test]
fn printed_success_does_not_outweigh_the_exit_code() {
    use sandbox::Outcome::{DiskLimit, Exited, OutOfMemory, Signalled, TimedOut};
    check(Framework::Cargo, Exited(0), GREEN, Outcome::Passed);
    check(Framework::Cargo, Exited(101), GREEN, Outcome::Crashed);
    check(Framework::Cargo, TimedOut, GREEN, Outcome::TimedOut);
    check(Framework::Cargo, Signalled(9), GREEN, Outcome::Crashed);
    check(Framework::Cargo, OutOfMemory, GREEN, Outcome::OutOfMemory);
    check(Framework::Cargo, DiskLimit, GREEN, Outcome::Crashed);
    check(
        Framework::Pytest,
        Exited(1),
        "=== 5 passed in 0.1s ===",
        Outcome::Crashed,
    );
    check(
        Framework::Pytest,
        Exited(3),
        "=== 5 passed in 0.1s ===",
        Outcome::Crashed,
    );
    check(Framework::Other, Exited(1), GREEN, Outcome::Crashed);
    let report = br#"<testsuite><testcase classname="t" name="a" file="t.py"/></testsuite>"#;
    let run = read_with_report(Framework::Pytest, &exited(2, b""), report);
    assert_eq!(run.outcome, Outcome::Crashed);
}

#[test]
fn a_good_exit_code_does_not_outweigh_a_printed_failure() {
    use sandbox::Outcome::Exited;
    let red = GREEN.replace("test a ... ok", "test a ... FAILED");
    check(Framework::Cargo, Exited(0), &red, Outcome::Failed);
    let report = br#"<testsuite><testcase classname="t" name="a" file="t.py"><failure/></testcase></testsuite>"#;
    let run = read_with_report(Framework::Pytest, &exited(0, b""), report);
    assert_eq!((run.outcome, run.failed), (Outcome::Failed, 1));
}

#[test]
fn nothing_ran_is_not_green() {
    use sandbox::Outcome::Exited;
    for framework in [
        Framework::Cargo,
        Framework::Unittest,
        Framework::Node,
        Framework::Jest,
        Framework::Vitest,
        Framework::Mocha,
        Framework::Go,
        Framework::Maven,
    ] {
        check(framework, Exited(0), "", Outcome::NothingRan);
    }
    // pytest says so with another exit code.
    check(Framework::Pytest, Exited(5), "", Outcome::NothingRan);
    check(Framework::Pytest, Exited(0), "", Outcome::Crashed);
    // A plugin may turn that code into 0.
    check(
        Framework::Pytest,
        Exited(0),
        "=== no tests ran in 0.01s ===\n",
        Outcome::NothingRan,
    );
    // A test has called `std::process::exit(0)`.
    let cut = "     Running unittests src/lib.rs (target/debug/deps/x-1)\n\nrunning 3 tests\n   Doc-tests x\n\nrunning 0 \
               tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    check(Framework::Cargo, Exited(0), cut, Outcome::Crashed);
    check(Framework::Other, Exited(0), "running 0 tests\n", Outcome::NothingRan);
    check(
        Framework::Other,
        Exited(0),
        "=== no tests ran in 0.01s ===\n",
        Outcome::NothingRan,
    );
}

#[test]
fn what_never_ran_says_nothing_about_the_code() {
    use sandbox::Outcome::{Cancelled, DidNotStart, Exited};
    let run = check(
        Framework::Cargo,
        DidNotStart("no \x1b[31mcargo".into()),
        GREEN,
        Outcome::DidNotStart,
    );
    assert_eq!(run.tail, "no cargo");
    check(Framework::Cargo, Cancelled, GREEN, Outcome::DidNotStart);
    check(
        Framework::Pytest,
        Exited(127),
        "sh: 1: exec: python3: not found",
        Outcome::DidNotStart,
    );
    check(
        Framework::Pytest,
        Exited(1),
        "/usr/bin/python3: No module named pytest",
        Outcome::DidNotStart,
    );
    let offline = "error: no matching package named `serde` found\nlocation searched: crates.io index\n";
    check(Framework::Cargo, Exited(101), offline, Outcome::DidNotStart);
}

#[test]
fn names_and_messages_are_bounded_and_clean() {
    let name = format!("\x1b[31m{}\u{202e}", "n".repeat(50_000));
    let noise = "x".repeat(100_000);
    let text = format!(
        "running 1 test\ntest a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\n\x07\x1b]0;t\x07{noise}\n{noise}\n\ntest result: FAILED. 0 passed; 99999999999 failed; 4294967295 ignored; \n"
    );
    let run = read(Framework::Cargo, &exited(101, text.as_bytes()));
    assert!(run.failures[0].message.len() <= MAX_MESSAGE && run.tail.len() <= MAX_TAIL);
    assert_eq!(run.failed, 1);
    let report = format!(
        "<testsuite><testcase classname='t' file='t.py' name='&#27;{name}'><failure message='m'>{noise}</failure></testcase></testsuite>"
    );
    let run = read_with_report(Framework::Pytest, &exited(1, b""), report.as_bytes());
    assert!(run.failures[0].name.len() <= MAX_NAME);
    assert!(!run.failures[0].name.contains(['\x1b', '\u{202e}']));
    assert!(run.failures[0].message.len() <= MAX_MESSAGE);
}

#[test]
fn lists_are_bounded_and_counts_are_true() {
    let mut text = String::from("running 9000 tests\n");
    for i in 0..6_000 {
        writeln!(text, "test t{i} ... ok").unwrap();
    }
    for i in 0..3_000 {
        writeln!(text, "test f{i} ... FAILED").unwrap();
    }
    text += "\ntest result: FAILED. 6000 passed; 3000 failed; 0 ignored; 0 measured\n";
    let run = check(Framework::Cargo, sandbox::Outcome::Exited(101), &text, Outcome::Failed);
    assert_eq!((run.passed, run.failed), (6_000, 3_000));
    assert_eq!(
        (run.passed_names.len(), run.failures.len()),
        (TestRun::MAX_NAMES, TestRun::MAX_FAILURES)
    );
}

#[test]
fn what_a_failing_test_printed_is_not_taken_for_results() {
    let text = "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\ntest evil ... ok\nerror[E0001]: evil\n --> x.rs:1:1\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n";
    let run = check(Framework::Cargo, sandbox::Outcome::Exited(101), text, Outcome::Failed);
    assert!(run.passed_names.is_empty() && run.failures.len() == 1);
}

#[test]
fn output_that_was_cut_in_the_middle_still_counts() {
    let run = read(
        Framework::Cargo,
        &Output {
            stdout: Captured {
                head: b"running 3 tests\ntest a ... ok\ntest b ..".to_vec(),
                tail: b"est c ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n".to_vec(),
                total: 1 << 30,
            },
            ..exited(0, b"")
        },
    );
    assert_eq!(
        (run.outcome, run.passed, run.passed_names.len()),
        (Outcome::Passed, 3, 1)
    );
}
