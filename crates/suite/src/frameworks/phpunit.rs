//! PHPUnit: reads its JUnit report and its text, and PHP's errors about code that it cannot load.

use std::sync::LazyLock;

use greenlight_readers::junit::{self, Case, CaseVerdict};
use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use crate::discover::others;
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "PHPUnit",
    ecosystem: Ecosystem::Php,
    looks_for: Some("PHPUnit"),
    discover: others::php::find,
    words: &["phpunit", "simple-phpunit"],
    is_check: |line| matches!(line.program(), "phpunit" | "simple-phpunit"),
    reporter,
    filter,
    parse,
    marks: &["\nPHPUnit ", "\nPHP Fatal error: ", "\nPHP Parse error: "],
    may_be: |text| text.contains(" by Sebastian Bergmann") || text.contains("\nPHP "),
    ..Spec::NEW
};

const REPORT: &str = ".greenlight-report.xml";

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    let option = format!("--log-junit {REPORT}");
    // Symfony's bridge passes its arguments on: <https://symfony.com/doc/current/components/phpunit_bridge.html>
    if invocation.behind("phpunit", &[&option]) || invocation.behind("simple-phpunit", &[&option]) {
        invocation.reports.push(REPORT.into());
    }
    invocation
}

/// `--filter /^(A::a|A::b)$/`, with all special characters escaped.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let filter = format!("/^({})$/", any_of(only));
    with_filter(command, "phpunit", &filter).or_else(|| with_filter(command, "simple-phpunit", &filter))
}

/// The command of this program with a filter.
pub(super) fn with_filter(command: &TestCommand, program: &str, filter: &str) -> Option<Vec<String>> {
    let argv = &command.argv;
    let at = argv.iter().position(|word| word.rsplit('/').next() == Some(program))?;
    let mut narrowed = argv.clone();
    narrowed.insert(at + 1, format!("--filter={filter}"));
    Some(narrowed)
}

/// A part of a pattern that matches these names and nothing else.
pub(super) fn any_of(only: &[String]) -> String {
    let escape = |c: char| {
        if c.is_ascii_punctuation() && c != '_' {
            format!("\\{c}")
        } else {
            c.to_string()
        }
    };
    let names: Vec<String> = only.iter().map(|name| name.chars().map(escape).collect()).collect();
    names.join("|")
}

static FINE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^OK \((\d+) tests?, \d+ assertions?\)$"));
/// `Tests: 11, Assertions: 7, Errors: 1, Failures: 5, Skipped: 1.`
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^Tests: \d+, Assertions: \d+(?:, [A-Z][\w ]*: \d+)*\.$"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"([A-Z][\w ]*): (\d+)"));
/// `There were 5 failures:`
static SECTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^There (?:was|were) \d+ (?:\S+ )*?(failure|error|risky test|skipped test|incomplete test|warning|deprecation|notice)s?(?: .*)?:$",
    )
});
/// `2) Acme\Tests\ShopTest::testTable with data set #1 (1, 1, 2)`.
static TITLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"^\d+\) ([\w\\]+::\w+(?: with data set (?:#\d+|".*"))?)(?: \(.*\))?$"#));
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^(\S.*\.php):(\d+)$"));
static COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?m)^Failed asserting that (.+?) (?:is identical to|matches expected|is equal to) (.+?)\.$")
});
/// `PHP Fatal error:  Uncaught ParseError: … in shop.php:2`, printed once for the log and once for people.
static FATAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:PHP )?(?:Fatal|Parse) error: +(.+?) in (\S.*?)(?::| on line )(\d+)$"));
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let totals = sums(printed.text);
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(printed.reports, &mut parsed);
    cases.iter().for_each(|case| take(&mut parsed, case));
    // PHPUnit may have run twice, and the report covers the last run only.
    let is_more = totals
        .as_ref()
        .is_some_and(|totals| totals.failed > parsed.failed || totals.all > total(&parsed));
    if printed.reports.is_empty() || is_more || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text, totals.as_ref()));
    }
    for (word, count) in totals.map(|totals| totals.words).unwrap_or_default() {
        parsed.tell(&word, count);
    }
    broken(printed.text, &mut parsed);
    parsed
}

pub(super) fn total(parsed: &ParsedRun) -> u32 {
    parsed
        .passed
        .saturating_add(parsed.failed)
        .saturating_add(parsed.skipped)
}

pub(super) fn take(parsed: &mut ParsedRun, case: &Case) {
    let name = match (case.php_class.as_str(), case.class.as_str()) {
        ("", "") => case.name.clone(),
        ("", class) => format!("{}::{}", class.replace('.', "\\"), case.name),
        (class, _) => format!("{class}::{}", case.name),
    };
    match case.verdict {
        CaseVerdict::Passed => parsed.pass(&name),
        CaseVerdict::Skipped => parsed.skip_named(&name),
        // PHPUnit 9 reports a risky test as an error but succeeds.
        CaseVerdict::Error if case.kind.contains("RiskyTest") => parsed.pass(&name),
        CaseVerdict::Failed | CaseVerdict::Error => {
            // The text starts with the name of the test.
            let text = case.text.split_once('\n').map_or(case.text.as_str(), |(_, text)| text);
            let message = [case.message.as_str(), text].map(str::trim).join("\n");
            let own = || {
                Some(Location {
                    path: case.file.clone(),
                    line: case.line?,
                })
            };
            fail(parsed, &name, place(&message, &case.file).or_else(own), message.trim());
        }
    }
}

pub(super) fn fail(parsed: &mut ParsedRun, name: &str, place: Option<Location>, message: &str) {
    parsed.fail(name, place, message);
    if let Some(compared) = COMPARED.as_ref().and_then(|compared| compared.captures(message)) {
        parsed.compare(&compared[2], &compared[1]);
    } else if let Some((_, diff)) = message.split_once("\n--- Expected\n+++ Actual\n") {
        let side = |other: char| {
            let lines = diff.lines().take_while(|line| line.starts_with(['-', '+', ' ', '@']));
            let own = lines.filter(|line| !line.starts_with('@') && !line.starts_with(other));
            own.map(|line| line.get(1..).unwrap_or_default())
                .collect::<Vec<_>>()
                .join("\n")
        };
        parsed.compare(&side('+'), &side('-'));
    }
}

/// The last line of the trace that is in the test's own file, else the first line.
fn place(message: &str, file: &str) -> Option<Location> {
    let places = || PLACE.iter().flat_map(|place| place.captures_iter(message));
    let found = places()
        .find(|place| !file.is_empty() && &place[1] == file)
        .or_else(|| places().next())?;
    location(&found[1], &found[2])
}

/// The totals of all runs.
#[derive(Default)]
pub(super) struct RunTotals {
    pub(super) all: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
    pub(super) words: Vec<(String, u32)>,
}

fn sums(text: &str) -> Option<RunTotals> {
    // Up to PHPUnit 9 a warning is the result of a test; later it is printed in addition to a result.
    let is_old = (4..10).any(|version| text.contains(&format!("PHPUnit {version}.")));
    let mut totals: Option<RunTotals> = None;
    for line in text.lines() {
        if let Some(fine) = FINE.as_ref().and_then(|fine| fine.captures(line)) {
            let totals = totals.get_or_insert_default();
            let number = fine[1].parse().unwrap_or(0);
            totals.all = totals.all.saturating_add(number);
            totals.words.push(("Tests".into(), number));
        } else if SUM.as_ref().is_some_and(|sum| sum.is_match(line)) {
            let totals = totals.get_or_insert_default();
            for count in COUNT.iter().flat_map(|count| count.captures_iter(line)) {
                let number: u32 = count[2].parse().unwrap_or(0);
                let sum = match &count[1] {
                    "Tests" => &mut totals.all,
                    "Errors" | "Failures" => &mut totals.failed,
                    "Skipped" | "Incomplete" => &mut totals.skipped,
                    "Warnings" if is_old => &mut totals.skipped,
                    _ => &mut 0,
                };
                *sum = sum.saturating_add(number);
                totals.words.push((count[1].to_string(), number));
            }
        }
        if let Some(totals) = &mut totals {
            totals.words.truncate(20);
        }
    }
    totals
}

fn read_text(text: &str, totals: Option<&RunTotals>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut is_red = false;
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        let section = SECTION.as_ref().and_then(|section| section.captures(line));
        let title = TITLE.as_ref().and_then(|title| title.captures(line)).filter(|_| is_red);
        let ends = line == "--" || line == "FAILURES!" || line == "ERRORS!" || section.is_some() || title.is_some();
        if ends && let Some((name, lines)) = open.take() {
            let message = lines.join("\n");
            fail(&mut parsed, &name, place(&message, ""), message.trim());
        }
        if let Some(section) = section {
            is_red = matches!(&section[1], "failure" | "error");
        } else if let Some(title) = title {
            open = Some((title[1].to_string(), Vec::new()));
        } else if let Some((_, lines)) = open.as_mut().filter(|(_, lines)| lines.len() < MAX_LINES) {
            lines.push(line);
        }
    }
    if let Some((name, lines)) = open {
        let message = lines.join("\n");
        fail(&mut parsed, &name, place(&message, ""), message.trim());
    }
    if let Some(totals) = totals {
        let passed = totals.all.saturating_sub(totals.failed).saturating_sub(totals.skipped);
        parsed.reconcile_totals(passed, totals.failed, totals.skipped);
    }
    parsed
}

/// Reads PHP's message when it aborts, inside of the tests or before them.
pub(super) fn broken(text: &str, parsed: &mut ParsedRun) {
    for line in text.lines() {
        if line.contains("Allowed memory size of ") && line.contains(" bytes exhausted") {
            parsed.anomaly = Some(Anomaly::OutOfMemory);
        } else if let Some(fatal) = FATAL
            .as_ref()
            .and_then(|fatal| fatal.captures(line))
            .filter(|_| !parsed.ran())
        {
            let message = &fatal[1];
            let is_missing = message.contains("Failed opening required") || message.contains("\" not found");
            let anomaly = if is_missing {
                Anomaly::MissingModule
            } else {
                Anomaly::NotCollected
            };
            parsed.anomaly = parsed.anomaly.or(Some(anomaly));
            let message = message.trim_start_matches("Uncaught ");
            parsed.diagnose(message, location(&fatal[2], &fatal[3]), message);
        }
    }
    if !parsed.ran() && parsed.anomaly.is_none() && text.contains("\nCannot open file \"") {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
}
