//! Reads what `dotnet test` writes with its logger `trx`, and what it prints.
//!
//! The format: <https://github.com/microsoft/vstest/blob/main/src/Microsoft.TestPlatform.Extensions.TrxLogger>.

use std::collections::HashMap;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;

use super::junit::{add, attribute, decoded, resolved};
use super::{Printed, Reading, Trouble, compiler, location};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// More results than this are not read.
const MAX_RESULTS: usize = 200_000;
/// Deeper nesting than this is not a report.
const MAX_DEPTH: usize = 64;

/// `Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 20 ms - Shop.dll (net8.0)`.
static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^\s*(?:Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+), Total: +(\d+)")
});
/// `  Failed Shop.Tests.Adds [12 ms]`.
static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+(?:Failed|X) (\S.*?) \[[<\d][^\]]*\]$"));
/// `   at Shop.Tests.Adds() in /src/ShopTests.cs:line 12`.
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m) in (\S.*?):line (\d+)\s*$"));
static COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\s*Expected: +(.*)\n\s*(?:Actual|But was): +(.*)$"));
static MS_COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"Expected:<(.*?)>\. Actual:<(.*?)>\."));

/// One `UnitTestResult`.
#[derive(Default)]
struct Outcome {
    id: String,
    name: String,
    outcome: String,
    message: String,
    trace: String,
}

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let told = sums(printed.text);
    let reports: Option<Vec<Reading>> = printed.reports.iter().map(|report| from_trx(&report.bytes)).collect();
    let from_reports = reports.filter(|readings| !readings.is_empty()).map(|readings| {
        let mut all = Reading::default();
        readings.into_iter().for_each(|reading| all.add(reading));
        all
    });
    let mut reading = match from_reports {
        Some(reading) if told.is_none_or(|(_, failed, _)| failed <= reading.failed) => reading,
        _ => read_text(printed.text, told),
    };
    if let Some((passed, failed, skipped)) = told {
        for (word, count) in [("Passed", passed), ("Failed", failed), ("Skipped", skipped)] {
            reading.tell(word, count);
        }
    }
    if !reading.ran() {
        compiler::diagnostics(printed.text, &mut reading);
    }
    let restores = printed.text.contains("error NU1301") || printed.text.contains("error NU1101");
    if !reading.ran() && restores {
        reading.diagnostics.clear();
        reading.trouble = Some(Trouble::Environment);
    } else if printed
        .text
        .contains("The active test run was aborted. Reason: Test host process crashed")
    {
        reading.trouble = Some(Trouble::Crash);
    }
    reading
}

fn from_trx(report: &[u8]) -> Option<Reading> {
    let report = decoded(report);
    let mut reader = Reader::from_str(&report);
    let mut path: Vec<String> = Vec::new();
    let mut results: Vec<Outcome> = Vec::new();
    // The names that filters know, by the ids of the tests.
    let mut names: HashMap<String, String> = HashMap::new();
    let mut definition = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                opened(&element, &mut results, &mut names, &mut definition);
                path.push(element.local_name().as_ref().to_string());
            }
            Event::Empty(element) => opened(&element, &mut results, &mut names, &mut definition),
            Event::End(_) => {
                path.pop();
            }
            Event::Text(text) => append(&mut results, &path, &text.xml10_content()),
            Event::CData(text) => append(&mut results, &path, &text.xml10_content()),
            Event::GeneralRef(reference) => append(&mut results, &path, &resolved(&reference)),
            Event::Eof => break,
            _ => {}
        }
        if path.len() > MAX_DEPTH || results.len() > MAX_RESULTS || names.len() > MAX_RESULTS {
            return None;
        }
    }
    let mut reading = Reading::default();
    for result in &results {
        take(&mut reading, result, names.get(&result.id));
    }
    path.is_empty().then_some(reading)
}

fn opened(
    element: &BytesStart<'_>,
    results: &mut Vec<Outcome>,
    names: &mut HashMap<String, String>,
    definition: &mut String,
) {
    match element.local_name().as_ref() {
        "UnitTestResult" => results.push(Outcome {
            id: attribute(element, "testId"),
            name: attribute(element, "testName"),
            outcome: attribute(element, "outcome"),
            ..Outcome::default()
        }),
        "UnitTest" => *definition = attribute(element, "id"),
        "TestMethod" => {
            let (class, method) = (attribute(element, "className"), attribute(element, "name"));
            // Written as `Namespace.Class, Assembly` by some.
            let class = class.split(',').next().unwrap_or_default().trim().to_string();
            names.insert(std::mem::take(definition), format!("{class}.{method}"));
        }
        _ => {}
    }
}

fn append(results: &mut [Outcome], path: &[String], text: &str) {
    let Some(result) = results.last_mut() else { return };
    if !path.iter().any(|element| element == "UnitTestResult") {
        return;
    }
    match path.last().map(String::as_str) {
        Some("Message") => add(&mut result.message, text),
        Some("StackTrace") => add(&mut result.trace, text),
        _ => {}
    }
}

fn take(reading: &mut Reading, result: &Outcome, full: Option<&String>) {
    // xUnit shows the full name with arguments, NUnit and MSTest the method alone.
    let name = match full {
        Some(full) if !result.name.starts_with(full.as_str()) => {
            let arguments = result.name.find('(').map_or("", |at| &result.name[at..]);
            let full = full.strip_suffix(arguments).unwrap_or(full);
            format!("{full}{arguments}")
        }
        _ => result.name.clone(),
    };
    match result.outcome.as_str() {
        "Passed" | "PassedButRunAborted" | "Warning" => reading.pass(&name),
        "NotExecuted" | "NotRunnable" | "Pending" | "Inconclusive" | "Disconnected" => reading.skip_named(&name),
        _ => fail(reading, &name, &format!("{}\n{}", result.message.trim(), result.trace)),
    }
}

fn fail(reading: &mut Reading, name: &str, message: &str) {
    reading.fail(name, place(message), message.trim_end());
    let compared = [&COMPARED, &MS_COMPARED]
        .into_iter()
        .find_map(|compared| compared.as_ref()?.captures(message));
    if let Some(compared) = compared {
        reading.compare(&compared[1], &compared[2]);
    }
}

fn place(message: &str) -> Option<Location> {
    let frame = FRAME.as_ref()?.captures(message)?;
    location(&frame[1], &frame[2])
}

/// Passed, failed and skipped of all assemblies together.
fn sums(text: &str) -> Option<(u32, u32, u32)> {
    let mut sums: Option<(u32, u32, u32)> = None;
    for sum in text.lines().filter_map(|line| SUM.as_ref()?.captures(line)) {
        let number = |index: usize| sum[index].parse::<u32>().unwrap_or(0);
        let before = sums.unwrap_or_default();
        sums = Some((
            before.0.saturating_add(number(2)),
            before.1.saturating_add(number(1)),
            before.2.saturating_add(number(3)),
        ));
    }
    sums
}

fn read_text(text: &str, told: Option<(u32, u32, u32)>) -> Reading {
    let mut reading = Reading::default();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        let failed = FAILED.as_ref().and_then(|failed| failed.captures(line));
        let ends = failed.is_some()
            || line.starts_with("  Passed ")
            || line.starts_with("  Skipped ")
            || SUM.as_ref().is_some_and(|sum| sum.is_match(line));
        if ends && let Some((name, lines)) = open.take() {
            fail(&mut reading, name, &lines.join("\n"));
        }
        if let Some(failed) = failed {
            open = failed.get(1).map(|name| (name.as_str(), Vec::new()));
        } else if let Some((_, lines)) = open.as_mut().filter(|(_, lines)| lines.len() < 100) {
            lines.push(line);
        }
    }
    if let Some((name, lines)) = open {
        fail(&mut reading, name, &lines.join("\n"));
    }
    if let Some((passed, failed, skipped)) = told {
        reading.settle(passed, failed, skipped);
    }
    reading
}
