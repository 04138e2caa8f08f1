//! Every reader on what no tool would write: bounded, without a panic, and never better than the exit code.

use proptest::prelude::*;

use super::*;

/// Every framework, with a recorded output of it where there is one.
const FRAMEWORKS: [Framework; 26] = [
    Framework::Cargo,
    Framework::Nextest,
    Framework::Rustc,
    Framework::Pytest,
    Framework::Unittest,
    Framework::Ruff,
    Framework::Mypy,
    Framework::Node,
    Framework::Jest,
    Framework::Vitest,
    Framework::Mocha,
    Framework::Bun,
    Framework::Tap,
    Framework::Tsc,
    Framework::Eslint,
    Framework::Go,
    Framework::GoVet,
    Framework::Maven,
    Framework::Gradle,
    Framework::Dotnet,
    Framework::Rspec,
    Framework::Minitest,
    Framework::Phpunit,
    Framework::Ctest,
    Framework::Compiler,
    Framework::Other,
];

/// All recorded files: outputs and reports, those of whole trees of modules too.
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
    assert!(run.skipped_names.len() <= TestRun::MAX_NAMES && run.tally.len() <= 20);
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

/// Reads bytes as the output and as the report of a framework.
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
        framework in prop::sample::select(FRAMEWORKS.to_vec()),
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
        for framework in FRAMEWORKS {
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
    ] {
        let file = |name: &str, ending: &str| fixture(&format!("{folder}/{name}.{ending}"));
        for (text, report) in [("pass", "fail"), ("fail", "pass")] {
            let run = read_with_report(framework, &exited(0, &file(text, "txt")), &file(report, ending));
            assert_eq!(run.outcome, Outcome::Failed, "{folder}: {text} and {report}");
        }
        let run = read_with_report(framework, &exited(1, &file("pass", "txt")), &file("pass", ending));
        assert_eq!(run.outcome, Outcome::Crashed, "{folder}");
    }
}
