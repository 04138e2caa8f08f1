//! GoogleTest, no matter which program contains it: reads its JUnit report, and its text.

use std::sync::LazyLock;

use greenlight_readers::junit::{self, Case, CaseVerdict};
use greenlight_readers::{Anomaly, ParsedRun, Printed};
use regex::Regex;

use super::ctest;
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "GoogleTest",
    ecosystem: Ecosystem::C,
    is_compiled: true,
    is_program: |line| line.0.iter().any(|word| word.starts_with("--gtest_")),
    is_check: |line| line.0.iter().any(|word| word.starts_with("--gtest_")),
    reporter,
    filter,
    parse,
    marks: &["\n[==========] Running "],
    ..Spec::NEW
};

const REPORT: &str = ".greenlight-report.xml";

/// The variables also work if a script runs the program.
/// <https://google.github.io/googletest/advanced.html#generating-an-xml-report>
fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.env.insert("GTEST_OUTPUT".into(), format!("xml:{REPORT}"));
    invocation.env.insert("GTEST_COLOR".into(), "no".into());
    invocation.reports.push(REPORT.into());
    invocation
}

/// `--gtest_filter=Shop.Adds:Shop.IsEmpty`, where some characters have a meaning.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/');
    let is_name = |name: &String| name.contains('.') && name.chars().all(is_plain);
    let is_script = command.argv.first().is_some_and(|word| word == "sh");
    (only.iter().all(is_name) && !is_script).then(|| {
        let own = command.argv.iter().filter(|word| !word.starts_with("--gtest_filter="));
        own.cloned()
            .chain([format!("--gtest_filter={}", only.join(":"))])
            .collect()
    })
}

/// `[  FAILED  ] Values/Table.AddsOne/0, where GetParam() = 1 (0 ms)`. The list at the end has no times.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$"));
static BEGUN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\[ RUN      \] (\S+)$"));
static DISABLED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\[ DISABLED \] (\S+)$"));
/// `[  FAILED  ] 4 tests, listed below:`
static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\[  (PASSED|FAILED|SKIPPED) *\] (\d+) tests?[.,]"));
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(printed.reports, &mut parsed);
    cases.iter().for_each(|case| take(&mut parsed, case));
    let totals = sums(printed.text);
    // A script may run several programs, and the report covers the last one only.
    let is_more = totals.is_some_and(|[passed, failed, _]| passed > parsed.passed || failed > parsed.failed);
    if printed.reports.is_empty() || is_more || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text));
    }
    if let Some(totals) = totals {
        for (word, count) in ["PASSED", "FAILED", "SKIPPED"].into_iter().zip(totals) {
            parsed.tell(word, count);
        }
    }
    parsed
}

fn take(parsed: &mut ParsedRun, case: &Case) {
    let name = format!("{}.{}", case.class, case.name);
    match case.verdict {
        CaseVerdict::Passed if case.status == "notrun" => parsed.skip_named(&name),
        CaseVerdict::Passed => parsed.pass(&name),
        CaseVerdict::Skipped => parsed.skip_named(&name),
        CaseVerdict::Failed | CaseVerdict::Error => {
            let text = case.complaint();
            ctest::fail(parsed, &name, text);
        }
    }
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        if let Some(found) = RESULT.as_ref().and_then(|pattern| pattern.captures(line)) {
            let (_, lines) = open.take().unwrap_or_default();
            match &found[1] {
                "OK" => parsed.pass(&found[2]),
                "SKIPPED" => parsed.skip_named(&found[2]),
                _ => ctest::fail(&mut parsed, &found[2], &lines.join("\n")),
            }
        } else if let Some(found) = BEGUN.as_ref().and_then(|pattern| pattern.captures(line)) {
            died(open.take(), &mut parsed);
            open = Some((found[1].to_string(), Vec::new()));
        } else if let Some(found) = DISABLED.as_ref().and_then(|pattern| pattern.captures(line)) {
            parsed.skip_named(&found[1]);
        } else if let Some((_, lines)) = open.as_mut().filter(|(_, lines)| lines.len() < MAX_LINES) {
            lines.push(line);
        }
    }
    died(open, &mut parsed);
    parsed
}

/// A test without a result ended its process, or was ended with it.
fn died(open: Option<(String, Vec<&str>)>, parsed: &mut ParsedRun) {
    if let Some((name, lines)) = open {
        ctest::fail(
            parsed,
            &name,
            &format!("the process ended in this test\n{}", lines.join("\n")),
        );
        parsed.anomaly = Some(Anomaly::Crash);
    }
}

/// The numbers of passed, failed and skipped tests, summed over all programs.
fn sums(text: &str) -> Option<[u32; 3]> {
    let mut sums = None;
    for found in text.lines().filter_map(|line| SUM.as_ref()?.captures(line)) {
        let [passed, failed, skipped] = sums.get_or_insert([0u32; 3]);
        let sum = match &found[1] {
            "PASSED" => passed,
            "FAILED" => failed,
            _ => skipped,
        };
        *sum = sum.saturating_add(found[2].parse().unwrap_or(0));
    }
    sums
}
