//! Reads the text of Python's own `unittest`, which Django's test runner prints as well.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, Trouble, assertion, location, pytest};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// Until Python 3.11 the parentheses held the class only, since then the whole id.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\S+) \(([^()\s]+)\)( \.\.\. |$)"));
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(ERROR|FAIL): (.+)$"));
/// A test, class or module, and what `subTest` was given.
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+) \(([^()\s]+)\)"));
static RAN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Ran (\d+) tests? in "));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)"));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"^\s*File "([^"<>]+)", line (\d+)"#));

/// What stands above each failure.
const RULE: &str = "======================================================================";
/// What fails for every test below it when it fails.
const FIXTURES: [&str; 4] = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];

pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let unexpected = results(text, &mut reading);
    sections(text, &mut reading);
    for name in unexpected {
        reading.fail(&name, None, "unexpected success");
    }
    sums(text, &mut reading);
    let is_missing = |message: &str| message.contains("\nModuleNotFoundError: ");
    if reading.trouble.is_none() && !reading.diagnostics.is_empty() {
        let all = reading
            .diagnostics
            .iter()
            .all(|diagnostic| is_missing(&diagnostic.message));
        reading.trouble = Some(if all {
            Trouble::MissingModule
        } else {
            Trouble::NotCollected
        });
    }
    reading
}

/// `test_a (tests.test_x.TestX.test_a) ... ok`; the result may come lines later, after what the test printed. Returns
/// the tests that passed although they are marked to fail, which have no section of their own before Python 3.12.
fn results(text: &str, reading: &mut Reading) -> Vec<String> {
    let mut pending: Option<String> = None;
    let mut unexpected = Vec::new();
    for line in text.lines().take_while(|line| *line != RULE) {
        // Where a test with subtests failed, older versions go on in the same line.
        if let Some(named) = NAMED.as_ref().and_then(|named| named.captures_iter(line).last()) {
            // A subtest says its result in a line below that of its test, which then has none.
            pending = (!line.starts_with("  ")).then(|| id(&named[1], &named[2]));
        }
        let Some(name) = &pending else { continue };
        let word = line.rsplit_once(" ... ").map_or(line, |(_, word)| word).trim();
        match word {
            "expected failure" => reading.fail_as_expected(),
            // Counted from their sections.
            "FAIL" | "ERROR" => {}
            "unexpected success" => unexpected.push(name.clone()),
            _ if word.starts_with("skipped ") => reading.skip_named(name),
            // What a test prints without an end of line stands before its result.
            _ if word.ends_with("ok") && (word == "ok" || line.contains(" ... ")) => reading.pass(name),
            _ => continue,
        }
        pending = None;
    }
    if let Some(name) = pending
        && !text.contains("\nRan ")
    {
        reading.crash(&name, "the test process ended early");
    }
    unexpected
}

fn id(method: &str, parentheses: &str) -> String {
    if parentheses.ends_with(&format!(".{method}")) || FIXTURES.contains(&method) {
        parentheses.to_string()
    } else {
        format!("{parentheses}.{method}")
    }
}

/// The parts below `FAIL: …` and `ERROR: …`.
fn sections(text: &str, reading: &mut Reading) {
    let mut seen: HashSet<String> = HashSet::new();
    let rule = format!("\n{RULE}\n");
    for part in text.split(rule.as_str()).skip(1) {
        let (header, body) = part.split_once('\n').unwrap_or((part, ""));
        let Some(header) = HEADER.as_ref().and_then(|pattern| pattern.captures(header)) else {
            continue;
        };
        let body = body
            .split("\n----------------------------------------------------------------------\nRan ")
            .next();
        let body = body.unwrap_or_default();
        let traceback = body
            .find("Traceback (most recent call last):")
            .map_or(body, |at| &body[at..]);
        let place = last_place(traceback);
        let title = TITLE.as_ref().and_then(|title| title.captures(&header[2]));
        let name = title.map_or_else(|| header[2].to_string(), |title| id(&title[1], &title[2]));
        if name.contains("unittest.loader._FailedTest") {
            let module = name.rsplit("_FailedTest.").next().unwrap_or(&name);
            reading.diagnose(module, place, body.trim_start_matches(['-', '\n']));
        } else if !seen.contains(&name) {
            // Several failing subtests are one failing test.
            reading.fail(&name, place, traceback);
            if let Some((expected, actual)) = error(traceback).and_then(assertion::compared) {
                reading.compare(&expected, &actual);
            }
            seen.insert(name);
        }
    }
}

/// What stands below the frames.
fn error(traceback: &str) -> Option<&str> {
    let start = traceback.find("\nAssertionError: ")?;
    Some(&traceback[start + 1..])
}

fn last_place(traceback: &str) -> Option<Location> {
    let mut places = traceback.lines().filter_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        location(&frame[1], &frame[2])
    });
    places.rfind(|place| !pytest::is_foreign(&place.path))
}

/// `Ran 8 tests` and the line after it, which the counts are taken from.
fn sums(text: &str, reading: &mut Reading) {
    let mut lines = text
        .lines()
        .skip_while(|line| !RAN.as_ref().is_some_and(|ran| ran.is_match(line)));
    let ran = lines
        .next()
        .and_then(|line| RAN.as_ref()?.captures(line)?[1].parse::<u32>().ok());
    let Some(ran) = ran else { return };
    let verdict = lines
        .find(|line| line.starts_with("OK") || line.starts_with("FAILED") || line.starts_with("NO TESTS RAN"))
        .unwrap_or_default();
    reading.tell("run", ran);
    let mut red = 0u32;
    let (mut skipped, mut expected) = (0, 0);
    for sum in SUM.as_ref().map(|sum| sum.captures_iter(verdict)).into_iter().flatten() {
        let number = sum[2].parse().unwrap_or(0);
        reading.tell(&sum[1], number);
        match &sum[1] {
            "skipped" => skipped = number,
            "expected failures" => expected = number,
            _ => red = red.saturating_add(number),
        }
    }
    reading.settle_expected(expected);
    let broken = u32::try_from(reading.diagnostics.len()).unwrap_or(0);
    // A test with several failing subtests is run once and fails several times; a class that cannot be set up fails
    // without any of its tests being run. Where the names tell, they say how many tests passed.
    let tests = red.saturating_sub(broken).max(reading.failed);
    let green = ran
        .saturating_sub(red.max(reading.failed))
        .saturating_sub(skipped)
        .saturating_sub(expected);
    reading.settle(green.max(reading.passed), tests, skipped);
}
