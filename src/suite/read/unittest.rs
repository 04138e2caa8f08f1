//! Reads the verbose text of Python's own `unittest`.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, location, pytest};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// Until Python 3.11 the parentheses held the class only, since then the whole id.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+) \(([^()\s]+)\)(.*)$"));
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(ERROR|FAIL): (.+)$"));
static RAN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Ran (\d+) tests? in "));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)"));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"^\s*File "([^"<>]+)", line (\d+)"#));

/// What stands above each failure.
const RULE: &str = "======================================================================";

pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    results(text, &mut reading);
    sections(text, &mut reading);
    sums(text, &mut reading);
    reading
}

/// `test_a (tests.test_x.TestX.test_a) ... ok`; the result may come lines later, after what the test printed.
fn results(text: &str, reading: &mut Reading) {
    let mut pending: Option<String> = None;
    for line in text.lines().take_while(|line| *line != RULE) {
        let named = NAMED.as_ref().and_then(|named| named.captures(line));
        if let Some(named) = &named
            && (named[3].is_empty() || named[3].starts_with(" ... "))
        {
            pending = Some(id(&named[1], &named[2]));
        }
        let Some(name) = &pending else { continue };
        let word = line.rsplit_once(" ... ").map_or(line, |(_, word)| word).trim();
        match word {
            "ok" => reading.pass(name),
            "expected failure" => reading.skip(),
            // Counted from their sections, or below.
            "FAIL" | "ERROR" => {}
            "unexpected success" => reading.fail(name, None, "unexpected success"),
            _ if word.starts_with("skipped ") => reading.skip(),
            _ => continue,
        }
        pending = None;
    }
    if let Some(name) = pending
        && !text.contains("\nRan ")
    {
        reading.crash(&name, "the test process ended early");
    }
}

fn id(method: &str, parentheses: &str) -> String {
    if parentheses.ends_with(&format!(".{method}")) {
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
        // A subtest adds its parameters to the name: `test_a (x.T.test_a) (i=1)`.
        let name = header[2].split(") ").next().unwrap_or_default();
        let name = name.strip_suffix(')').unwrap_or(name);
        let name = name
            .split_once(" (")
            .map_or_else(|| name.to_string(), |(method, rest)| id(method, rest));
        if name.contains("unittest.loader._FailedTest") {
            let module = name.rsplit("_FailedTest.").next().unwrap_or(&name);
            reading.diagnose(module, place, body.trim_start_matches(['-', '\n']));
        } else if !seen.contains(&name) {
            // Several failing subtests are one failing test.
            reading.fail(&name, place, traceback);
            seen.insert(name);
        }
    }
}

fn last_place(traceback: &str) -> Option<Location> {
    let mut places = traceback.lines().filter_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        location(&frame[1], &frame[2])
    });
    places.rfind(|place| !pytest::is_foreign(&place.path))
}

/// `Ran 8 tests` and the line after it, where the names did not tell (without `-v`).
fn sums(text: &str, reading: &mut Reading) {
    let mut lines = text
        .lines()
        .skip_while(|line| !RAN.as_ref().is_some_and(|ran| ran.is_match(line)));
    let Some(ran) = lines
        .next()
        .and_then(|line| RAN.as_ref()?.captures(line)?[1].parse::<u32>().ok())
    else {
        return;
    };
    let verdict = lines
        .find(|line| line.starts_with("OK") || line.starts_with("FAILED"))
        .unwrap_or_default();
    let (mut red, mut skipped) = (0u32, 0u32);
    for sum in SUM.as_ref().map(|sum| sum.captures_iter(verdict)).into_iter().flatten() {
        let number = sum[2].parse().unwrap_or(0);
        match &sum[1] {
            "failures" | "errors" | "unexpected successes" => red = red.saturating_add(number),
            _ => skipped = skipped.saturating_add(number),
        }
    }
    // A test with several failing subtests counts once as run and several times as failed, so names go first.
    if reading.passed == 0 && reading.passed_names.is_empty() {
        let broken = u32::try_from(reading.diagnostics.len()).unwrap_or(0);
        reading.passed = ran.saturating_sub(red.max(reading.failed)).saturating_sub(skipped);
        reading.failed = reading.failed.max(red.saturating_sub(broken));
        reading.skipped = reading.skipped.max(skipped);
    }
}
