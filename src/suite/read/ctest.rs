//! Reads what CTest writes (`--output-junit`) and prints: <https://cmake.org/cmake/help/latest/manual/ctest.1.html>.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::junit::{self, Case, Verdict};
use super::{Printed, Reading, compiler, location};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// ` 1/10 Test  #1: adds ....***Failed   0.01 sec`.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^ *\d+/\d+ Test +#\d+: (.+) \.{3,}( +Passed|[^.]*\*\*\*.*?) +[\d.]+ sec"));
/// `      1 - adds (SEGFAULT)`, among those that failed.
static LISTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\t *\d+ - (.+) \(([^()]+)\)(?: +\S.*)?$"));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$"));
/// `path:line:` as assert, GoogleTest, Catch2, doctest and Unity print it.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)(?:^|[\s:])(/?[\w./+-]+\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx)):(\d+):"));
/// Unity: `Expected 1 Was 2`.
static COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)\bExpected (\S.*?) Was (\S.*?)\.?$"));
/// What CTest says of a program that was never built.
const NOT_BUILT: &str = "Unable to find executable";

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let why = reasons(printed.text);
    let told = sums(printed.text);
    let text = || read_text(printed.text, &why);
    let mut reading = match from_report(printed, &why) {
        // CTest may have run twice, and the report is of the last time.
        Some(report)
            if told.is_none_or(|(failed, _)| failed as usize <= report.failed as usize + report.diagnostics.len()) =>
        {
            report
        }
        _ => text(),
    };
    if let Some((failed, total)) = told {
        reading.tell("failed", failed);
        reading.tell("total", total);
    }
    if !reading.ran() {
        compiler::diagnostics(printed.text, &mut reading);
    }
    reading
}

fn from_report(printed: &Printed<'_>, why: &HashMap<&str, &str>) -> Option<Reading> {
    let mut cases: Vec<Case> = Vec::new();
    for report in printed.reports {
        cases.extend(junit::cases(&report.bytes)?);
    }
    (!printed.reports.is_empty()).then(|| results(&cases, why))
}

fn results(cases: &[Case], why: &HashMap<&str, &str>) -> Reading {
    let mut reading = Reading::default();
    let is_missing = |case: &Case| case.message.starts_with(NOT_BUILT);
    let passed = |case: &Case| case.verdict == Verdict::Passed && case.status == "run";
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
            _ if case.verdict >= Verdict::Failed => fail(&mut reading, &case.name, &message),
            "disabled" => reading.skip_named(&case.name),
            "notrun" if case.message.starts_with("SKIP_") => reading.skip_named(&case.name),
            // Nothing was built, so that no test says anything.
            "notrun" if !built && is_missing(case) => reading.diagnose(&case.name, None, &message),
            "notrun" => fail(&mut reading, &case.name, &message),
            "fail" => fail(&mut reading, &case.name, &message),
            _ if case.verdict == Verdict::Skipped => reading.skip_named(&case.name),
            _ => reading.pass(&case.name),
        }
    }
    reading
}

fn fail(reading: &mut Reading, name: &str, message: &str) {
    reading.fail(name, place(message), message);
    if let Some(compared) = COMPARED.as_ref().and_then(|compared| compared.captures(message)) {
        reading.compare(&compared[1], &compared[2]);
    }
}

fn place(message: &str) -> Option<Location> {
    let found = PLACE.as_ref()?.captures(message)?;
    location(&found[1], &found[2])
}

/// Why each test failed, from the list at the end.
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

/// How many failed, and of how many, in all runs together.
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

fn read_text(text: &str, why: &HashMap<&str, &str>) -> Reading {
    let mut reading = Reading::default();
    let mut failed: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        let result = RESULT.as_ref().and_then(|result| result.captures(line));
        if result.is_some() || line.trim_start().starts_with("Start ") || SUM.as_ref().is_some_and(|s| s.is_match(line))
        {
            if let Some((name, lines)) = failed.take() {
                fail(&mut reading, name, &lines.join("\n"));
            }
        } else if let Some((_, lines)) = &mut failed
            && lines.len() < 100
        {
            lines.push(line);
        }
        let Some(result) = result else { continue };
        let name = result.get(1).map_or("", |name| name.as_str());
        match result.get(2).map_or("", |ended| ended.as_str().trim()) {
            "Passed" => reading.pass(name),
            ended if ended.contains("***Skipped") || ended.contains("(Disabled)") => reading.skip_named(name),
            ended => failed = Some((name, vec![why.get(name).copied().unwrap_or(ended)])),
        }
    }
    if let Some((name, lines)) = failed {
        fail(&mut reading, name, &lines.join("\n"));
    }
    reading
}
