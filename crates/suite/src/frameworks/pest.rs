//! Pest: reads its JUnit report, which is PHPUnit's, and its own text, which Laravel's `artisan test` prints too.

use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, junit, location};
use regex::Regex;

use super::phpunit::{self, RunTotals};
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Pest",
    ecosystem: Ecosystem::Php,
    words: &["pest"],
    is_check: |line| line.program() == "pest",
    reporter,
    filter,
    parse,
    marks: &["\n   PASS  ", "\n   FAIL  ", "\n   WARN  ", "\n  No tests executed!"],
    may_be: |text| text.contains("\n  Tests: ") || text.contains("\n  No tests executed!"),
    ..Spec::NEW
};

const REPORT: &str = ".greenlight-report.xml";

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    if invocation.behind("pest", &["--colors=never", &format!("--log-junit {REPORT}")]) {
        invocation.reports.push(REPORT.into());
    }
    invocation
}

/// `--filter /(^|\\)(A::a|A::b)$/`: before version 2, the class has a prefix that is not printed.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    phpunit::with_filter(command, "pest", &format!(r"/(^|\\)({})$/", phpunit::any_of(only)))
}

/// `   FAIL  Tests\ShopTest`
static CLASS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ +(?:PASS|FAIL|WARN|TODO) +(\S+)$"));
/// `  ⨯ it adds one with (5)`, with a time since version 2, or a reason.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^  (✓|⨯|✗|-|…|!|↓) (.+?)(?: +\d+\.\d+s)?(?: → .*)?(?: +\d+\.\d+s)?\s*$"));
/// `  • Tests\ShopTest > it raises`; since version 2 `   FAILED  Tests\ShopTest > it raises`, with the class of an error.
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:  • |   FAILED  )(\S+) > (.+?)(?:  +\S+)?\s*$"));
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^ +(?:at |\d+ +)(\S+\.php):(\d+)$"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) ([a-z]+)"));
/// `  at tests/BadTest.php:2`, below the message of an error that ends the run.
static AT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^  at (\S+\.php):(\d+)$"));
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let totals = sums(printed.text);
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(printed.reports, &mut parsed);
    cases.iter().for_each(|case| phpunit::take(&mut parsed, case));
    // Pest may have run twice, and the report covers the last run only.
    let is_more = totals
        .as_ref()
        .is_some_and(|totals| totals.failed > parsed.failed || totals.all > phpunit::total(&parsed));
    if printed.reports.is_empty() || is_more || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text, totals.as_ref()));
    }
    for (word, count) in totals.map(|totals| totals.words).unwrap_or_default() {
        parsed.tell(&word, count);
    }
    phpunit::broken(printed.text, &mut parsed);
    if !parsed.ran() && parsed.diagnostics.is_empty() {
        broken(printed.text, &mut parsed);
    }
    parsed
}

/// `  Tests:  6 failed, 1 incomplete, 1 skipped, 1 passed`
fn sums(text: &str) -> Option<RunTotals> {
    let mut totals: Option<RunTotals> = None;
    for line in text.lines().filter_map(|line| line.strip_prefix("  Tests: ")) {
        let totals = totals.get_or_insert_default();
        let line = line.split('(').next().unwrap_or(line);
        for count in COUNT.iter().flat_map(|count| count.captures_iter(line)).take(20) {
            let number: u32 = count[1].parse().unwrap_or(0);
            totals.all = totals.all.saturating_add(number);
            let sum = match &count[2] {
                "failed" => &mut totals.failed,
                "skipped" | "incomplete" | "todo" | "todos" => &mut totals.skipped,
                // Risky tests and those with warnings have passed.
                _ => &mut 0,
            };
            *sum = sum.saturating_add(number);
            totals.words.push((count[2].to_string(), number));
        }
        totals.words.truncate(20);
    }
    totals
}

fn read_text(text: &str, totals: Option<&RunTotals>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut class = "";
    let mut open: Option<(String, Vec<&str>)> = None;
    let close = |open: &mut Option<(String, Vec<&str>)>, parsed: &mut ParsedRun| {
        if let Some((name, lines)) = open.take() {
            let message = lines.join("\n");
            phpunit::fail(parsed, &name, place(&message), message.trim());
        }
    };
    for line in text.lines() {
        if let Some(title) = TITLE.as_ref().and_then(|title| title.captures(line)) {
            close(&mut open, &mut parsed);
            open = Some((format!("{}::{}", &title[1], &title[2]), Vec::new()));
        } else if line.starts_with("  Tests: ") {
            close(&mut open, &mut parsed);
        } else if let Some((_, lines)) = &mut open {
            if lines.len() < MAX_LINES {
                lines.push(line);
            }
        } else if let Some(found) = CLASS.as_ref().and_then(|pattern| pattern.captures(line)) {
            class = found.get(1).map_or("", |class| class.as_str());
        } else if let Some(found) = RESULT.as_ref().and_then(|pattern| pattern.captures(line)) {
            let name = format!("{class}::{}", &found[2]);
            match &found[1] {
                "✓" | "!" => parsed.pass(&name),
                "-" | "…" | "↓" => parsed.skip_named(&name),
                // Its message follows.
                _ => {}
            }
        }
    }
    close(&mut open, &mut parsed);
    if let Some(totals) = totals {
        let passed = totals.all.saturating_sub(totals.failed).saturating_sub(totals.skipped);
        parsed.reconcile_totals(passed, totals.failed, totals.skipped);
    }
    parsed
}

/// The first place in the project's own code.
fn place(message: &str) -> Option<Location> {
    let mut places = PLACE.iter().flat_map(|place| place.captures_iter(message));
    let is_own = |place: &regex::Captures<'_>| !place[1].starts_with('/') && !place[1].starts_with("vendor/");
    let found = places.find(is_own)?;
    location(&found[1], &found[2])
}

/// Reads an error that kept the tests from being loaded: its class, its message, its place.
fn broken(text: &str, parsed: &mut ParsedRun) {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .enumerate()
        .find_map(|(index, line)| Some((index, AT.as_ref()?.captures(line)?)));
    let Some((index, at)) = at else { return };
    let before = lines[index.saturating_sub(MAX_LINES)..index].iter();
    let before: Vec<&str> = before.map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let message = before.join("\n");
    let is_missing = message.contains("Failed to open stream") || message.contains("\" not found");
    parsed.anomaly = Some(if is_missing {
        Anomaly::MissingModule
    } else {
        Anomaly::NotCollected
    });
    parsed.diagnose(before.last().unwrap_or(&"an error"), location(&at[1], &at[2]), &message);
}
