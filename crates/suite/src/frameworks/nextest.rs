//! cargo-nextest, which prints one line for each attempt of each test, and a summary.
//! <https://nexte.st/docs/reporting/>
//! Its JUnit report has neither locations nor skipped tests, and is only written if a profile of the project asks for
//! one, so the text is read.
//! one, so the text is what is read.

use std::collections::HashMap;
use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, Printed};
use regex::Regex;

use super::cargo::{self, libtest};
use super::rustc;
use crate::filter::rust;
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "cargo nextest",
    ecosystem: Ecosystem::Rust,
    is_compiled: true,
    snapshots: cargo::SNAPSHOTS,
    installers: &["cargo"],
    is_program: |line| line.program() == "cargo" && line.has("nextest") && !cargo::is_test(line),
    is_check: |line| line.program() == "cargo" && line.subcommand() == "nextest",
    reporter,
    filter,
    part: rust::package,
    parse,
    marks: &["\n Nextest run ID ", "\n     Summary [", "\n    Starting "],
    may_be: |text| text.contains("tests run"),
    ..Spec::NEW
};

/// Where a report is written if the project's profile asks for one.
const REPORT: &str = "target/nextest/*/*.xml";

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.after("run", "--no-fail-fast");
    let settings = [
        ("NEXTEST_STATUS_LEVEL", "all"),
        ("NEXTEST_FAILURE_OUTPUT", "immediate"),
        ("NEXTEST_SUCCESS_OUTPUT", "never"),
        ("NEXTEST_SHOW_PROGRESS", "none"),
        ("NEXTEST_HIDE_PROGRESS_BAR", "1"),
    ];
    let settings = settings.map(|(name, value)| (name.to_string(), value.to_string()));
    invocation.env.extend(settings);
    invocation.reports.push(REPORT.into());
    invocation
}

/// A filter for `binary test` as nextest prints them: <https://nexte.st/docs/filtersets/>
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '.'))
    };
    let one = |name: &String| {
        let (binary, test) = name
            .split_once(' ')
            .map_or((None, name.as_str()), |(binary, test)| (Some(binary), test));
        if !is_plain(test) || !binary.is_none_or(is_plain) {
            return None;
        }
        Some(match binary {
            Some(binary) => format!("(binary_id(={binary}) & test(={test}))"),
            None => format!("test(={test})"),
        })
    };
    let argv = &command.argv;
    let filters: Vec<String> = only.iter().map(one).collect::<Option<_>>()?;
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let mut narrowed = argv.clone();
    narrowed.splice(at..at, ["-E".to_string(), filters.join(" | ")]);
    Some(narrowed)
}

/// Maximum number of tests that are read one by one; the summary is always read.
const MAX_TESTS: usize = 200_000;

/// `        PASS [   0.004s] (1/5) crate::binary module::test`
static STATUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^\s*(TRY \d+ )?([A-Z][A-Z0-9 +-]*?)(?: \d+/\d+)? \[[^\]]*\] +(?:\[[^\]]*\] +)?(?:\([^)]*\) +)?(?:\[[^\]]*\] +)?(\S+) +(\S.*)$",
    )
});
static SUMMARY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*Summary \[[^\]]*\] +(\d+)(?:/\d+)? tests? run: (.*)$"));
static COUNT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(\d+) (passed|failed|timed out|exec failed|skipped)\b"));

/// Printed below an attempt of a test that passed too late for its profile.
const FAILED_AS_FLAKY: &str = "- test configured to fail if flaky";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TryOutcome {
    Passed,
    Failed,
    Skipped,
    /// Ended by a signal.
    Died,
}

/// The last attempt of one test.
struct TestTry {
    name: String,
    verdict: TryOutcome,
    shown: String,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut compiler = rustc::Diagnostics::default();
    let (tests, sums) = scan(printed.text, &mut compiler);
    for test in &tests {
        match test.verdict {
            TryOutcome::Passed => parsed.pass(&test.name),
            TryOutcome::Skipped => parsed.skip_named(&test.name),
            TryOutcome::Failed | TryOutcome::Died => {
                let (place, message) = libtest::panicked(&test.shown);
                let message = if place.is_some() { message } else { reason(&test.shown) };
                parsed.fail(&test.name, place, &message);
                if let Some((expected, actual)) = libtest::sides(&message) {
                    parsed.compare(expected, actual);
                }
                if test.verdict == TryOutcome::Died {
                    parsed.anomaly = Some(Anomaly::Crash);
                }
            }
        }
    }
    if !sums.is_empty() {
        let sum = |words: &[&str]| {
            let counts = sums.iter().filter(|(word, _)| words.contains(&word.as_str()));
            counts.fold(0u32, |sum, (_, count)| sum.saturating_add(*count))
        };
        let failed = sum(&["failed", "timed out", "exec failed"]).max(parsed.failed);
        parsed.reconcile_totals(sum(&["passed"]), failed, sum(&["skipped"]));
        for (word, count) in &sums {
            parsed.tell(word, *count);
        }
    }
    if printed
        .text
        .lines()
        .any(|line| line.starts_with("error: no tests to run"))
    {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
    compiler.finish(&mut parsed, printed.text);
    parsed
}

/// The message of a test that failed without a panic: an error that it returned, or how it was ended.
fn reason(shown: &str) -> String {
    let errors = shown.split_once("  stderr ───\n").map_or(shown, |(_, errors)| errors);
    let is_harness = |line: &&str| {
        let line = line.trim();
        matches!(line, "stdout ───" | "running 1 test" | "failures:") || line.starts_with("test result: ")
    };
    let lines: Vec<&str> = errors.lines().filter(|line| !is_harness(line)).collect();
    let text = lines.join("\n").trim().to_string();
    if text.is_empty() {
        shown.trim().to_string()
    } else {
        text
    }
}

/// The tests in the order of their first appearance, and the summary.
fn scan(text: &str, compiler: &mut rustc::Diagnostics) -> (Vec<TestTry>, Vec<(String, u32)>) {
    let mut tests: Vec<TestTry> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut current: Option<usize> = None;
    for line in text.lines() {
        if let Some(summary) = SUMMARY.as_ref().and_then(|summary| summary.captures(line)) {
            let counts = COUNT
                .as_ref()
                .map(|count| count.captures_iter(&summary[2]))
                .into_iter()
                .flatten();
            let counts = counts.filter_map(|count| Some((count[2].to_string(), count[1].parse().ok()?)));
            let run = summary[1].parse().ok().map(|run| ("run".to_string(), run));
            // The lines after the summary repeat the failures.
            return (tests, run.into_iter().chain(counts).collect());
        }
        let status = STATUS.as_ref().and_then(|status| status.captures(line));
        let status = status.and_then(|status| {
            let verdict = match status.get(1) {
                Some(_) => verdict_of_try(&status[2]),
                None => verdict(&status[2]),
            };
            Some((verdict?, format!("{} {}", &status[3], &status[4])))
        });
        if let Some((verdict, name)) = status {
            current = match known.get(&name) {
                Some(index) => Some(*index),
                None if tests.len() < MAX_TESTS => {
                    known.insert(name.clone(), tests.len());
                    tests.push(TestTry {
                        name,
                        verdict,
                        shown: String::new(),
                    });
                    Some(tests.len() - 1)
                }
                None => None,
            };
            if let Some(test) = current.and_then(|index| tests.get_mut(index)) {
                test.verdict = verdict;
                test.shown.clear();
            }
        } else if let Some(test) = current.and_then(|index| tests.get_mut(index)) {
            if line.trim() == FAILED_AS_FLAKY {
                test.verdict = TryOutcome::Failed;
            }
            if test.shown.len() < 2 * greenlight_readers::MAX_MESSAGE {
                // Output is indented below its heading.
                test.shown.push_str(line.strip_prefix("    ").unwrap_or(line));
                test.shown.push('\n');
            }
        } else {
            compiler.line(line);
        }
    }
    (tests, Vec::new())
}

/// Parses the words before the time. Some, such as `SLOW`, are not a result.
fn verdict(words: &str) -> Option<TryOutcome> {
    match words {
        "PASS" | "LEAK" | "FLAKY" | "TIMEOUT-PASS" => Some(TryOutcome::Passed),
        "FAIL" | "FAIL + LEAK" | "TIMEOUT" | "LEAK-FAIL" | "XFAIL" | "FLKY-FL" => Some(TryOutcome::Failed),
        "SKIP" => Some(TryOutcome::Skipped),
        _ => (words.starts_with("ABORT") || words.starts_with("SIG")).then_some(TryOutcome::Died),
    }
}

/// Parses the shorter words for one of several attempts, where only the bare name is printed for a signal.
fn verdict_of_try(words: &str) -> Option<TryOutcome> {
    match words {
        "PASS" | "LEAK" | "TMPASS" => Some(TryOutcome::Passed),
        "FAIL" | "FL+LK" | "LKFAIL" | "TMT" | "XFAIL" => Some(TryOutcome::Failed),
        "START" | "SLOW" | "TRMNTG" | "DELAY" => None,
        _ => Some(TryOutcome::Died),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    /// Written from <https://nexte.st/docs/reporting/>, not recorded.
    const TEXT: &str = r"    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.01s
────────────
 Nextest run ID 0b2e with nextest profile: default
    Starting 5 tests across 2 binaries (1 test skipped)
        PASS [   0.004s] (1/5) shop tests::adds
        FAIL [   0.005s] (2/5) shop::it halves
  stdout ───

    running 1 test
    test halves ... FAILED

  stderr ───

    thread 'halves' (12) panicked at tests/it.rs:8:5:
    assertion `left == right` failed
      left: 1
     right: 2
    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

  TRY 1 FAIL [   0.003s] (─/5) shop tests::flaky
  TRY 2 PASS [   0.003s] (3/5) shop tests::flaky
     SIGABRT [   0.002s] (4/5) shop tests::dies
     TIMEOUT [   1.002s] (5/5) shop tests::hangs
        SKIP [         ] shop tests::ignored
────────────
     Summary [   1.020s] 5 tests run: 2 passed (1 flaky), 2 failed, 1 timed out, 1 skipped
        FAIL [   0.005s] (2/5) shop::it halves
error: test run failed
";

    #[test]
    fn the_last_try_of_a_test_counts() {
        let parsed = parse(&Printed {
            text: TEXT,
            reports: &[],
        });
        assert_eq!((parsed.passed, parsed.failed, parsed.skipped), (2, 3, 1));
        assert_eq!(parsed.passed_names, ["shop tests::adds", "shop tests::flaky"]);
        assert_eq!(parsed.skipped_names, ["shop tests::ignored"]);
        assert_eq!(parsed.anomaly, Some(Anomaly::Crash));
        assert_eq!(parsed.summary_counts["timed out"], 1);
        let failure = &parsed.failures[0];
        assert_eq!(failure.name, "shop::it halves");
        assert_eq!(failure.location.as_ref().map(|place| place.line), Some(8));
        assert_eq!(
            (failure.expected.as_deref(), failure.actual.as_deref()),
            (Some("2"), Some("1"))
        );
        assert_eq!(parsed.failures.len(), 3);
    }

    /// The lines come from nextest's own reporter tests, version 0.9.
    #[test]
    fn every_word_of_a_result_is_known() {
        #[track_caller]
        fn check(line: &str, expected: Option<TryOutcome>) {
            let (tests, _) = scan(line, &mut rustc::Diagnostics::default());
            let found = tests.first().map(|test| (test.name.as_str(), test.verdict));
            assert_eq!(
                found,
                expected.map(|verdict| ("my-binary-id test_name", verdict)),
                "{line}"
            );
        }
        use TryOutcome::{Died, Failed, Passed, Skipped};
        for (verdict, lines) in [
            (
                Passed,
                &[
                    "        PASS [   1.000s] (  1/100) my-binary-id test_name",
                    "        LEAK [   2.000s] (  2/100) my-binary-id test_name",
                    "TIMEOUT-PASS [ 240.000s] (  3/100) my-binary-id test_name",
                    "  TRY 2 PASS [   1.000s] (  7/100) my-binary-id test_name",
                    "   FLAKY 2/2 [   2.000s] [3/3] (  20/5000) my-binary-id test_name",
                ][..],
            ),
            (
                Failed,
                &[
                    "  TRY 2 PASS [   1.000s] (  8/100) my-binary-id test_name\n           - test configured to fail if flaky",
                    " FAIL + LEAK [   1.000s] ( 10/100) my-binary-id test_name",
                    "       XFAIL [   1.000s] ( 11/100) my-binary-id test_name",
                    "   LEAK-FAIL [   1.000s] ( 12/100) my-binary-id test_name",
                    "     TIMEOUT [  60.000s] ( 13/100) my-binary-id test_name",
                    " TRY 2 FL+LK [   1.000s] ( 17/100) my-binary-id test_name",
                    "TRY 2 LKFAIL [   1.000s] ( 18/100) my-binary-id test_name",
                    "   TRY 2 TMT [  60.000s] ( 19/100) my-binary-id test_name",
                    " FLKY-FL 2/2 [   1.000s] ( 27/100) my-binary-id test_name",
                ],
            ),
            (
                Died,
                &[
                    "     SIGSEGV [   1.000s] ( 14/100) my-binary-id test_name",
                    "ABORT SIG 34 [   1.000s] ( 14/100) my-binary-id test_name",
                    "       ABORT [   1.000s] ( 15/100) my-binary-id test_name",
                    "  TRY 2 SEGV [   1.000s] ( 15/100) my-binary-id test_name",
                ],
            ),
            (
                Skipped,
                &["        SKIP [         ] [1/5] (───) my-binary-id test_name"],
            ),
        ] {
            lines.iter().for_each(|line| check(line, Some(verdict)));
        }
        for line in [
            "       START [         ] ( 1/10) my-binary-id test_name",
            "        SLOW [> 60.000s] (─────────) my-binary-id test_name",
            "  TRY 2 SLOW [> 60.000s] (─────────) my-binary-id test_name",
            "TRY 1 TRMNTG [>120.000s] (─────────) my-binary-id test_name",
            " TERMINATING [>120.000s] my-script: my-program --arg1",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn no_tests_are_no_success() {
        let text =
            "    Starting 0 tests across 1 binary\nerror: no tests to run\n(hint: use `--no-tests` to customize)\n";
        assert_eq!(parse(&Printed { text, reports: &[] }).anomaly, Some(Anomaly::NotFound));
    }

    #[test]
    fn filters_name_tests_and_nothing_else() {
        let words = |line: &str| shlex::split(line).unwrap();
        let nextest = |line: &str| TestCommand::new(words(line), Framework::Nextest, Source::Settings);
        let one = |name: &str| vec![name.to_string()];
        assert_eq!(
            filter(&nextest("cargo nextest run"), &["a::it b::c".into(), "d".into()]),
            Some(words(
                "cargo nextest run -E '(binary_id(=a::it) & test(=b::c)) | test(=d)'"
            ))
        );
        assert_eq!(filter(&nextest("cargo nextest run"), &one("a) | all(")), None);
    }
}
