//! Runs every parser on input that no tool would write: bounded, without a panic, and never better than the exit
//! code.

use proptest::prelude::*;

use super::*;

/// All recorded files: outputs and reports, including those of multi-module projects.
fn recorded() -> Vec<Vec<u8>> {
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs")];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let is_directory = entry.path().is_dir();
            if is_directory { &mut directories } else { &mut files }.push(entry.path());
        }
    }
    files.sort();
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[track_caller]
fn check_bounds(framework: Framework, run: &TestRun) {
    let is_clean = |text: &str| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert!(run.failures.len() <= TestRun::MAX_FAILURES && run.passed_names.len() <= TestRun::MAX_NAMES);
    assert!(run.skipped_names.len() <= TestRun::MAX_NAMES && run.summary_counts.len() <= 20);
    assert!(run.tail.len() <= MAX_TAIL);
    for name in run.passed_names.iter().chain(&run.skipped_names) {
        assert!(name.len() <= MAX_NAME && is_clean(name), "{framework:?} {name:?}");
    }
    for failure in &run.failures {
        assert!(
            failure.name.len() <= MAX_NAME && is_clean(&failure.name),
            "{framework:?} {failure:?}"
        );
        assert!(failure.message.len() <= MAX_MESSAGE, "{framework:?}");
        for value in failure.expected.iter().chain(&failure.actual) {
            assert!(value.len() <= MAX_MESSAGE, "{framework:?}");
        }
    }
}

/// Parses bytes as the output and as the report of a framework.
fn read_both(framework: Framework, text: &[u8], report: &[u8]) {
    for code in [0, 1] {
        let run = read_with_report(framework, &exited(code, text), report);
        check_bounds(framework, &run);
        assert!(code == 0 || !run.is_green(), "{framework:?}");
    }
}

#[derive(Debug, Clone)]
enum Change {
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
    Flip(usize, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let hostile = prop::sample::select(vec![
        &b"\x1b[31m"[..],
        b"\x1b]8;;x\x07",
        b"\0",
        b"\xff\xfe",
        "\u{202e}".as_bytes(),
        b"99999999999999999999",
        b"-1",
        b"<!DOCTYPE a [<!ENTITY b \"c\">]>",
        b"<testcase name='x'>",
        b"</testsuite>",
        b"]]>",
        b"{\"",
        b"\r\n",
        b"test result: ok. 5 passed; 0 failed",
        b"=== 5 passed in 0.1s ===",
        b"5 examples, 0 failures",
    ]);
    let change = prop_oneof![
        any::<usize>().prop_map(Change::Cut),
        (any::<usize>(), 0..2_000usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<usize>(), 0..2_000usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        (any::<usize>(), hostile).prop_map(|(at, bytes)| Change::Insert(at, bytes.to_vec())),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
    ];
    prop::collection::vec(change, 0..8)
}

fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes {
        let at = |at: usize| at % (bytes.len() + 1);
        match change {
            Change::Cut(end) => bytes.truncate(at(*end)),
            Change::Remove(start, length) => {
                let start = at(*start);
                bytes.drain(start..(start + length).min(bytes.len()));
            }
            Change::Repeat(start, length) => {
                let start = at(*start);
                let part = bytes[start..(start + length).min(bytes.len())].to_vec();
                bytes.splice(start..start, part);
            }
            Change::Insert(start, more) => {
                let start = at(*start);
                bytes.splice(start..start, more.iter().copied());
            }
            Change::Flip(start, byte) => {
                let start = at(*start);
                if let Some(found) = bytes.get_mut(start) {
                    *found = *byte;
                }
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_recorded_output_breaks_a_reader(
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        framework in prop::sample::select(Framework::ALL.to_vec()),
        changes in changes(),
    ) {
        let files = recorded();
        let (text, report) = (changed(&files[one.index(files.len())], &changes), changed(&files[other.index(files.len())], &changes));
        read_both(framework, &text, &report);
    }
}

#[test]
fn what_only_an_attacker_writes_is_bounded() {
    let long = "x".repeat(100_000);
    let suite = |inner: &str| format!("<testsuite>{inner}</testsuite>");
    let lines = |line: &str| format!("{line}\n").repeat(1_000);
    let inputs = [
        suite(&format!(
            "<testcase name='{long}' classname='{long}'><failure message='{long}'>{long}</failure></testcase>"
        )),
        suite(&format!("<testcase name='a'{}/>", " x='y'".repeat(10_000))),
        "<testsuite>".repeat(10_000),
        suite(&"<testcase name='same'><failure/></testcase>".repeat(2_000)),
        "[".repeat(10_000),
        format!("{{\"examples\":{}1", "[".repeat(10_000)),
        "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><testsuite><testcase name='&b;'/></testsuite>"
            .to_string(),
        suite("<testcase name='&#0;&#x202e;&#27;[31m&#xffffffff;' line='-5' time='NaN'/>"),
        long.clone(),
        format!("{}: error: ", "a:1".repeat(5_000)),
        format!("1/1 Test #1: {} ", "a .".repeat(5_000)),
        format!("Failure: {}(", "a(".repeat(5_000)),
        format!("There were 9 {}", "a ".repeat(5_000)),
        lines("  1) a"),
        lines("An error occurred while loading ./a_spec.rb."),
        lines("1..999999999"),
        lines("not ok 1 - a # b"),
        lines("99999999999 runs, 1 assertions, 4294967295 failures, 4294967295 errors, 4294967295 skips"),
        lines("4294967295 examples, 4294967295 failures"),
        lines("Tests: 4294967295, Assertions: 1, Failures: 4294967295."),
        lines("99% tests passed, 4294967295 tests failed out of 4294967295"),
        lines("Failed!  - Failed: 4294967295, Passed: 4294967295, Skipped: 4294967295, Total: 4294967295"),
        lines("a.c:99999999999999999999:1: error: b"),
        lines("test/a.rb:1:in `x': y (NameError)"),
        lines("a.rb:1: syntax error"),
    ];
    for input in &inputs {
        for framework in Framework::ALL.iter().copied() {
            for (text, report) in [(input.as_bytes(), &b"<testsuite/>"[..]), (b"", input.as_bytes())] {
                let run = read_with_report(framework, &exited(1, text), report);
                check_bounds(framework, &run);
                assert!(!run.is_green());
            }
        }
    }
}

#[test]
fn a_report_that_cannot_be_read_keeps_a_run_from_being_green() {
    let text = fixture("pytest/pass.txt");
    let whole = fixture("pytest/pass.xml");
    let green = |report: &[u8]| read_with_report(Framework::Pytest, &exited(0, &text), report).is_green();
    assert!(green(&whole));
    for cut in [0, 1, whole.len() / 2, whole.len() - 5] {
        assert!(!green(&whole[..cut]), "{cut}");
    }
    let json = fixture("rspec/pass.json");
    let text = fixture("rspec/pass.txt");
    let run = |report: &[u8]| read_with_report(Framework::Rspec, &exited(0, &text), report).outcome;
    assert_eq!(
        (run(&json), run(&json[..json.len() - 9])),
        (Outcome::Passed, Outcome::Crashed)
    );
}

#[test]
fn a_report_and_an_output_that_contradict_each_other_are_red() {
    for (framework, folder, ending) in [
        (Framework::Rspec, "rspec", "json"),
        (Framework::Phpunit, "phpunit", "xml"),
        (Framework::Ctest, "ctest", "xml"),
        (Framework::Pytest, "pytest", "xml"),
        (Framework::Jest, "jest/report", "json"),
        (Framework::Vitest, "vitest/report", "json"),
        (Framework::Bun, "bun/report", "xml"),
        (Framework::Deno, "deno", "xml"),
    ] {
        let between = if folder.contains('/') { '_' } else { '/' };
        let file = |name: &str, ending: &str| fixture(&format!("{folder}{between}{name}.{ending}"));
        for (text, report) in [("pass", "fail"), ("fail", "pass"), ("fail", "fail")] {
            let run = read_with_report(framework, &exited(0, &file(text, "txt")), &file(report, ending));
            assert_eq!(run.outcome, Outcome::Failed, "{folder}: {text} and {report}");
        }
        let run = read_with_report(framework, &exited(1, &file("pass", "txt")), &file("pass", ending));
        assert_eq!(run.outcome, Outcome::Crashed, "{folder}");
    }
}

/// A build that ignores failing tests and exits with 0, and one whose printed totals contradict its reports.
#[test]
fn maven_is_red_by_its_reports_alone() {
    let report =
        b"<testsuite><testcase classname='a.B' name='adds'><failure message='no'>no</failure></testcase></testsuite>";
    let green = b"[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n";
    for text in [&b""[..], green] {
        let run = read_with_report(Framework::Maven, &exited(0, text), report);
        assert_eq!(run.outcome, Outcome::Failed, "{}", String::from_utf8_lossy(text));
    }
    let red = b"[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n";
    let passed = b"<testsuite><testcase classname='a.B' name='adds'/></testsuite>";
    let run = read_with_report(Framework::Maven, &exited(0, red), passed);
    assert_eq!(run.outcome, Outcome::Failed);
}

/// Inputs in which many results share one text, so that handling each could cost as much as handling all.
#[test]
fn many_results_that_share_a_text_are_each_counted() {
    const MANY: usize = 3_000;
    let shared = "x".repeat(7_000);
    let check = |framework, text: String, failed: u32| {
        let run = read(framework, &exited(1, text.as_bytes()));
        check_bounds(framework, &run);
        assert_eq!(run.failed, failed, "{framework:?}");
    };
    let many = u32::try_from(MANY).unwrap();
    // Many binaries with one name, each with more results than its summary counts.
    let block = "     Running unittests src/lib.rs (target/debug/deps/a-0)\nrunning 1 test\ntest a.rs ... ok\n\
        test b ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    check(Framework::Cargo, block.repeat(MANY), many);
    let shown = format!(
        "running 1 test\n{}failures:\n---- a stdout ----\n{shared}\n",
        "test a ... FAILED\n".repeat(MANY)
    );
    check(Framework::Cargo, shown, many);
    let summary = "FAILED a.py::b - c\n".repeat(MANY);
    check(
        Framework::Pytest,
        format!("____ b ____\n{shared}\n====\n{summary}"),
        many,
    );
    let failing = "--- FAIL: TestA (0.00s)\n".repeat(MANY);
    check(
        Framework::Go,
        format!("{failing}panic: {shared}\nFAIL\ta\t0.1s\n"),
        many,
    );
    let event = |package: usize, action: &str| {
        format!("{{\"Action\":\"{action}\",\"Package\":\"p{package}\",\"Test\":\"TestA\"}}\n")
    };
    let events: String = (0..MANY)
        .map(|package| event(package, "run") + &event(package, "fail"))
        .collect();
    check(Framework::Go, events, many);
    let suites: String = (0..32)
        .map(|depth| format!("{}# Subtest: {shared}\n", "    ".repeat(depth)))
        .collect();
    let results = format!("{}not ok 1\n", "    ".repeat(32)).repeat(MANY);
    check(Framework::Tap, format!("TAP version 13\n{suites}{results}1..1\n"), many);
}
