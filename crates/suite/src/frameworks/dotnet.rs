//! `dotnet test`: reads the report of its `trx` logger, and its text.
//!
//! The format: <https://github.com/microsoft/vstest/blob/main/src/Microsoft.TestPlatform.Extensions.TrxLogger>.

mod discover;

use std::collections::HashMap;
use std::sync::LazyLock;

use greenlight_readers::junit::{add, attribute, decoded, resolved};
use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, Report, location};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;

use crate::framework::Ecosystem;
use crate::frameworks::compiler;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "dotnet test",
    ecosystem: Ecosystem::Dotnet,
    is_compiled: true,
    looks_for: Some("projects of .NET tests"),
    discover: discover::discover,
    is_program: |line| line.program() == "dotnet" && line.has("test"),
    is_check: |line| line.program() == "dotnet" && line.subcommand() == "test",
    reporter,
    filter,
    parse,
    marks: &["! - Failed: ", "!  - Failed: "],
    ..Spec::NEW
};

/// Where it writes its reports.
const RESULTS: &str = ".greenlight-results";

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    if invocation.argv.iter().any(|word| word == "test") {
        let options = ["--results-directory", RESULTS, "--logger", "trx"].map(String::from);
        let end = invocation.argv.iter().position(|word| word == "--");
        let at = end.unwrap_or(invocation.argv.len());
        invocation.argv.splice(at..at, options);
        invocation.reports.push(format!("{RESULTS}/**/*.trx"));
    }
    invocation.env.insert("DOTNET_CLI_TELEMETRY_OPTOUT".into(), "1".into());
    invocation.env.insert("DOTNET_NOLOGO".into(), "1".into());
    // The output is parsed in English.
    invocation.env.insert("DOTNET_CLI_UI_LANGUAGE".into(), "en".into());
    invocation
}

/// `--filter FullyQualifiedName=a|…`: <https://learn.microsoft.com/dotnet/core/testing/selective-unit-tests>.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut names: Vec<String> = Vec::new();
    for name in only {
        // Arguments are not part of the full name.
        let name = name.split('(').next().unwrap_or(name).trim();
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '+' | '`'))
        {
            return None;
        }
        names.push(format!("FullyQualifiedName={name}"));
    }
    names.sort_unstable();
    names.dedup();
    let mut narrowed = argv.clone();
    narrowed.splice(at..at, ["--filter".to_string(), names.join("|")]);
    Some(narrowed)
}

/// Maximum number of results that are read.
const MAX_RESULTS: usize = 200_000;
/// Maximum nesting depth of a report.
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

/// One `UnitTestResult` element.
#[derive(Default)]
struct UnitTestResult {
    id: String,
    name: String,
    outcome: String,
    message: String,
    trace: String,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let totals = sums(printed.text);
    let mut parsed = ParsedRun::default();
    for report in printed.reports {
        read_trx(report, &mut parsed);
    }
    let is_more = totals.is_some_and(|(_, failed, _)| failed > parsed.failed);
    if printed.reports.is_empty() || is_more || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text, totals));
    }
    if let Some((passed, failed, skipped)) = totals {
        for (word, count) in [("Passed", passed), ("Failed", failed), ("Skipped", skipped)] {
            parsed.tell(word, count);
        }
    }
    if !parsed.ran() {
        compiler::diagnostics(printed.text, &mut parsed);
    }
    let restores = printed.text.contains("error NU1301") || printed.text.contains("error NU1101");
    if !parsed.ran() && restores {
        parsed.diagnostics.clear();
        parsed.anomaly = Some(Anomaly::Environment);
    } else if printed
        .text
        .contains("The active test run was aborted. Reason: Test host process crashed")
    {
        parsed.anomaly = Some(Anomaly::Crash);
    }
    parsed
}

/// Reads a report as far as it can be read, and compares it with the totals in it.
fn read_trx(report: &Report, parsed: &mut ParsedRun) {
    let text = decoded(&report.bytes);
    let mut reader = Reader::from_str(&text);
    let mut path: Vec<String> = Vec::new();
    let mut trx = Trx::default();
    let mut why = None;
    loop {
        let Ok(event) = reader.read_event() else {
            why = Some("it is not well-formed");
            break;
        };
        match event {
            Event::Start(element) => {
                trx.opened(&element);
                path.push(element.local_name().as_ref().to_string());
            }
            Event::Empty(element) => trx.opened(&element),
            Event::End(_) => {
                path.pop();
            }
            Event::Text(text) => append(&mut trx.results, &path, &text.xml10_content()),
            Event::CData(text) => append(&mut trx.results, &path, &text.xml10_content()),
            Event::GeneralRef(reference) => append(&mut trx.results, &path, &resolved(&reference)),
            Event::Eof => break,
            _ => {}
        }
        if path.len() > MAX_DEPTH || trx.results.len() > MAX_RESULTS || trx.names.len() > MAX_RESULTS {
            why = Some("it is too large");
            break;
        }
    }
    for result in &trx.results {
        let full = trx.names.get(&result.id);
        // The definitions are at the end. Without them, the text has the better names.
        if full.is_some() || path.is_empty() {
            take(parsed, result, full);
        }
    }
    let lost = trx.total.is_some_and(|total| total > trx.results.len());
    let why = why
        .or((!path.is_empty()).then_some("it is cut off"))
        .or(trx.total.is_none().then_some("it has no totals"))
        .or(lost.then_some("it counts more tests than it has results"));
    if let Some(why) = why {
        parsed.miss(&report.path, why);
    }
}

/// What is known of a report.
#[derive(Default)]
struct Trx {
    results: Vec<UnitTestResult>,
    /// The names that filters accept, by test id.
    names: HashMap<String, String>,
    /// The id of the test that is being defined.
    definition: String,
    total: Option<usize>,
}

impl Trx {
    fn opened(&mut self, element: &BytesStart<'_>) {
        match element.local_name().as_ref() {
            "UnitTestResult" => self.results.push(UnitTestResult {
                id: attribute(element, "testId"),
                name: attribute(element, "testName"),
                outcome: attribute(element, "outcome"),
                ..UnitTestResult::default()
            }),
            "UnitTest" => self.definition = attribute(element, "id"),
            "TestMethod" => {
                let (class, method) = (attribute(element, "className"), attribute(element, "name"));
                // Some adapters write `Namespace.Class, Assembly`.
                let class = class.split(',').next().unwrap_or_default().trim().to_string();
                self.names
                    .insert(std::mem::take(&mut self.definition), format!("{class}.{method}"));
            }
            "Counters" => self.total = attribute(element, "total").parse().ok(),
            _ => {}
        }
    }
}

fn append(results: &mut [UnitTestResult], path: &[String], text: &str) {
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

fn take(parsed: &mut ParsedRun, result: &UnitTestResult, full: Option<&String>) {
    // xUnit prints the full name with arguments, NUnit and MSTest only the method.
    let name = match full {
        Some(full) if !result.name.starts_with(full.as_str()) => {
            let arguments = result.name.find('(').map_or("", |at| &result.name[at..]);
            let full = full.strip_suffix(arguments).unwrap_or(full);
            format!("{full}{arguments}")
        }
        _ => result.name.clone(),
    };
    match result.outcome.as_str() {
        "Passed" | "PassedButRunAborted" | "Warning" => parsed.pass(&name),
        "NotExecuted" | "NotRunnable" | "Pending" | "Inconclusive" | "Disconnected" => parsed.skip_named(&name),
        _ => fail(parsed, &name, &format!("{}\n{}", result.message.trim(), result.trace)),
    }
}

fn fail(parsed: &mut ParsedRun, name: &str, message: &str) {
    // Reports from Windows have its line endings.
    let message = &message.replace('\r', "");
    parsed.fail(name, place(message), message.trim_end());
    let compared = [&COMPARED, &MS_COMPARED]
        .into_iter()
        .find_map(|compared| compared.as_ref()?.captures(message));
    if let Some(compared) = compared {
        parsed.compare(&compared[1], &compared[2]);
    }
}

fn place(message: &str) -> Option<Location> {
    let frame = FRAME.as_ref()?.captures(message)?;
    location(&frame[1], &frame[2])
}

/// The numbers of passed, failed and skipped tests, summed over all assemblies.
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

fn read_text(text: &str, totals: Option<(u32, u32, u32)>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        let failed = FAILED.as_ref().and_then(|failed| failed.captures(line));
        let ends = failed.is_some()
            || line.starts_with("  Passed ")
            || line.starts_with("  Skipped ")
            || SUM.as_ref().is_some_and(|sum| sum.is_match(line));
        if ends && let Some((name, lines)) = open.take() {
            fail(&mut parsed, name, &lines.join("\n"));
        }
        if let Some(failed) = failed {
            open = failed.get(1).map(|name| (name.as_str(), Vec::new()));
        } else if let Some((_, lines)) = open.as_mut().filter(|(_, lines)| lines.len() < 100) {
            lines.push(line);
        }
    }
    if let Some((name, lines)) = open {
        fail(&mut parsed, name, &lines.join("\n"));
    }
    if let Some((passed, failed, skipped)) = totals {
        parsed.reconcile_totals(passed, failed, skipped);
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written after reports that NUnit's adapter wrote on Windows: names lack the class, lines end with `&#xD;`.
    const NUNIT: &str = r#"<?xml version="1.0" encoding="utf-8"?><TestRun><Results>
        <UnitTestResult testId="a" testName="Doubles(2)" outcome="Failed"><Output><ErrorInfo>
        <Message>  Expected: 4&#xD;
  But was:  2&#xD;
</Message><StackTrace>   at Shop.Tests.Sums.Doubles(Int32 n) in C:\shop\Sums.cs:line 9&#xD;
</StackTrace></ErrorInfo></Output></UnitTestResult>
        <UnitTestResult testId="b" testName="Later" outcome="NotExecuted" />
        <UnitTestResult testId="c" testName="Doubles(0)" outcome="Passed" /></Results><TestDefinitions>
        <UnitTest id="a"><TestMethod className="Shop.Tests.Sums" name="Doubles(2)" /></UnitTest>
        <UnitTest id="b"><TestMethod className="Shop.Tests.Sums" name="Later" /></UnitTest>
        <UnitTest id="c"><TestMethod className="Shop.Tests.Sums" name="Doubles(0)" /></UnitTest>
        </TestDefinitions><ResultSummary><Counters total="3" executed="2" /></ResultSummary></TestRun>"#;

    fn read(report: &str) -> ParsedRun {
        let report = Report {
            path: "a.trx".into(),
            bytes: report.into(),
        };
        let reports = &[report];
        parse(&Printed { text: "", reports })
    }

    #[test]
    fn reports_of_nunit_are_read() {
        let parsed = read(NUNIT);
        assert_eq!((parsed.passed, parsed.failed, parsed.skipped), (1, 1, 1));
        assert_eq!(parsed.passed_names, ["Shop.Tests.Sums.Doubles(0)"]);
        let failure = &parsed.failures[0];
        assert_eq!(failure.name, "Shop.Tests.Sums.Doubles(2)");
        let values = failure.expected.as_deref().zip(failure.actual.as_deref());
        assert_eq!(values, Some(("4", "2")));
        assert!(parsed.unread.is_empty());
    }

    #[test]
    fn a_report_with_fewer_results_than_its_total_says_so() {
        let parsed = read(&NUNIT.replace(r#"total="3""#, r#"total="4""#));
        assert_eq!(parsed.unread, ["a.trx: it counts more tests than it has results"]);
        let parsed = read(&NUNIT.replace("Counters", "Other"));
        assert_eq!(parsed.unread, ["a.trx: it has no totals"]);
    }
}
