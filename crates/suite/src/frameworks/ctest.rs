//! CTest.
//!
//! Its JUnit report takes precedence over its text.

use std::collections::HashMap;
use std::sync::LazyLock;

use greenlight_readers::junit::{self, Case, CaseVerdict};
use greenlight_readers::{ParsedRun, Printed, native};
use regex::Regex;

use crate::discover::directory::Directory;
use crate::discover::others;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::compiler;
use crate::frameworks::spec::Spec;
use crate::install;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "CTest",
    ecosystem: Ecosystem::C,
    is_compiled: true,
    installers: install::plan::ALL,
    also_uses: &[Ecosystem::Python],
    looks_for: Some("CTest"),
    discover,
    configure: Some("cmake -S . -B .greenlight-build"),
    is_program: |line| line.program() == "ctest",
    is_check: |line| line.program() == "ctest",
    reporter,
    filter,
    parse,
    marks: &["% tests passed, ", "\nNo tests were found!!!"],
    runs_others: true,
    ..Spec::NEW
};

/// Where the report is written, relative to the build directory.
const REPORT: &str = ".greenlight-report.xml";
/// Builds in a separate directory, which greenlight never takes for part of a change.
const CMAKE: &str = "cmake -S . -B .greenlight-build && cmake --build .greenlight-build --parallel 2 && \
                     cd .greenlight-build && ctest --output-on-failure";

/// Commands that enable the tests of a directory: <https://cmake.org/cmake/help/latest/command/enable_testing.html>.
static ENABLES: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?im)^[ \t]*(?:enable_testing[ \t]*\(|include[ \t]*\([ \t]*CTest[ \t]*\))"));

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    // A directory without a `project()` command is part of one above it.
    let top = place.text("CMakeLists.txt")?;
    if !others::PROJECT.as_ref()?.is_match(&top) {
        return None;
    }
    let all = place
        .files()
        .filter(|path| others::file_name(path) == "CMakeLists.txt" || path.ends_with(".cmake"));
    let enables = |text: &str| ENABLES.as_ref().is_some_and(|enables| enables.is_match(text));
    let file = if enables(&top) {
        "CMakeLists.txt"
    } else {
        all.take(others::MAX_READ)
            .find(|path| place.text(path).is_some_and(|text| enables(&text)))?
    };
    place.command(&["sh", "-c", CMAKE], Framework::Ctest, file)
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    // Older versions ignore the option.
    if invocation.behind("ctest", &[&format!("--output-junit {REPORT}")]) {
        invocation.reports.push(format!("**/{REPORT}"));
    }
    invocation.env.insert("CTEST_OUTPUT_ON_FAILURE".into(), "1".into());
    invocation
}

/// `-R ^(a|b)$`. Characters that are special in CMake's regular expressions are put in brackets, which make them
/// literal.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in only {
        // A quote could end a quoted script, and the other two cannot be put in brackets.
        if name.contains(['\'', '\\', '^']) {
            return None;
        }
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | ' ' | ',');
        names.push(
            name.chars()
                .map(|c| if is_plain(c) { c.to_string() } else { format!("[{c}]") })
                .collect::<String>(),
        );
    }
    let pattern = format!("^({})$", names.join("|"));
    let mut narrowed = command.argv.clone();
    if let [shell, flag, script] = narrowed.as_mut_slice()
        && shell == "sh"
        && flag == "-c"
    {
        // Only if `ctest` is the last command of the script, so that the options reach it.
        let last = script.rsplit("&&").next().unwrap_or(script).trim_start();
        if !last.starts_with("ctest")
            || last.contains(['|', ';', '>', '-']) && !last.starts_with("ctest --output-on-failure")
        {
            return None;
        }
        script.push_str(&format!(" -R '{pattern}'"));
        return Some(narrowed);
    }
    narrowed
        .iter()
        .any(|word| word.rsplit('/').next() == Some("ctest"))
        .then(|| {
            narrowed.extend(["-R".to_string(), pattern]);
            narrowed
        })
}

/// ` 1/10 Test  #1: adds ....***Failed   0.01 sec`.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^ *\d+/\d+ Test +#\d+: (.+) \.{3,}( +Passed|[^.]*\*\*\*.*?) +[\d.]+ sec"));
/// `      1 - adds (SEGFAULT)`, in the list of failed tests.
static LISTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\t *\d+ - (.+) \(([^()]+)\)(?: +\S.*)?$"));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$"));
/// What CTest prints for a program that was never built.
const NOT_BUILT: &str = "Unable to find executable";

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let why = reasons(printed.text);
    let totals = sums(printed.text);
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(printed.reports, &mut parsed);
    results(&cases, &why, &mut parsed);
    // CTest may have run twice, and the report covers the last run only.
    let all_failed = parsed.failed as usize + parsed.diagnostics.len();
    let is_more = totals.is_some_and(|(failed, _)| failed as usize > all_failed);
    if printed.reports.is_empty() || is_more || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text, &why));
    }
    if let Some((failed, total)) = totals {
        parsed.tell("failed", failed);
        parsed.tell("total", total);
    }
    if !parsed.ran() {
        compiler::diagnostics(printed.text, &mut parsed);
    }
    parsed
}

fn results(cases: &[Case], why: &HashMap<&str, &str>, parsed: &mut ParsedRun) {
    let is_missing = |case: &Case| case.message.starts_with(NOT_BUILT);
    let passed = |case: &Case| case.verdict == CaseVerdict::Passed && case.status == "run";
    let built = cases
        .iter()
        .any(|case| passed(case) || !is_missing(case) && case.status == "fail");
    for case in cases {
        let reason = why.get(case.name.as_str()).copied().unwrap_or("Failed");
        let message = [reason, case.message.as_str(), case.text.as_str(), case.printed.as_str()];
        let message = message
            .map(str::trim)
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
        match case.status.as_str() {
            _ if case.verdict >= CaseVerdict::Failed => fail(parsed, &case.name, &message),
            "disabled" => parsed.skip_named(&case.name),
            "notrun" if case.message.starts_with("SKIP_") => parsed.skip_named(&case.name),
            // Nothing was built, so no test has a result of interest.
            "notrun" if !built && is_missing(case) => parsed.diagnose(&case.name, None, &message),
            "notrun" => fail(parsed, &case.name, &message),
            "fail" => fail(parsed, &case.name, &message),
            _ if case.verdict == CaseVerdict::Skipped => parsed.skip_named(&case.name),
            _ => parsed.pass(&case.name),
        }
    }
}

pub(super) fn fail(parsed: &mut ParsedRun, name: &str, message: &str) {
    parsed.fail(name, native::place(message), message);
    if let Some((expected, actual)) = native::compared(message) {
        parsed.compare(&expected, &actual);
    }
}

/// The reason why each test failed, from the list at the end.
fn reasons(text: &str) -> HashMap<&str, &str> {
    let mut reasons = HashMap::new();
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("The following tests FAILED:"));
    for line in lines {
        if let Some(listed) = LISTED.as_ref().and_then(|listed| listed.captures(line))
            && let (Some(name), Some(reason)) = (listed.get(1), listed.get(2))
        {
            reasons.insert(name.as_str(), reason.as_str());
        }
    }
    reasons
}

/// The numbers of failed and of all tests, summed over all runs.
fn sums(text: &str) -> Option<(u32, u32)> {
    let mut sums = None;
    for line in text.lines() {
        if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            let number = |index: usize| sum[index].parse::<u32>().unwrap_or(0);
            let (failed, total): (u32, u32) = sums.unwrap_or_default();
            sums = Some((failed.saturating_add(number(1)), total.saturating_add(number(2))));
        }
    }
    sums
}

fn read_text(text: &str, why: &HashMap<&str, &str>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut failed: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        let result = RESULT.as_ref().and_then(|result| result.captures(line));
        if result.is_some() || line.trim_start().starts_with("Start ") || SUM.as_ref().is_some_and(|s| s.is_match(line))
        {
            if let Some((name, lines)) = failed.take() {
                fail(&mut parsed, name, &lines.join("\n"));
            }
        } else if let Some((_, lines)) = &mut failed
            && lines.len() < 100
        {
            lines.push(line);
        }
        let Some(result) = result else { continue };
        let name = result.get(1).map_or("", |name| name.as_str());
        match result.get(2).map_or("", |ended| ended.as_str().trim()) {
            "Passed" => parsed.pass(name),
            ended if ended.contains("***Skipped") || ended.contains("(Disabled)") => parsed.skip_named(name),
            ended => failed = Some((name, vec![why.get(name).copied().unwrap_or(ended)])),
        }
    }
    if let Some((name, lines)) = failed {
        fail(&mut parsed, name, &lines.join("\n"));
    }
    parsed
}
