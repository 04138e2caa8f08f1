//! Reads pytest: its JUnit report if there is one, else the text of its terminal reporter.

mod report;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, assertion, location};
use regex::Regex;

use crate::text::pattern;

static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^([^\s:<>]+\.(?:pyx?|rst|txt|md)):(\d+): "));
static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"^(?:E|INTERNALERROR>)?\s*File "([^"<>]+)", line (\d+)"#));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^=* ?(\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*|no tests ran) in [\d.:]+"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) ([a-z]+(?: [a-z]+)?)"));
static SHORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(FAILED|ERROR|PASSED|XFAIL|XPASS) (\S+?\.\w+(?:::.*?)?)(?: - (.*))?$"));
static TITLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^_{3,} (?:ERROR at (?:setup|teardown) of |ERROR collecting )?(.+?) _{3,}$"));
static CONFTEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\w+ while loading conftest '([^'\n]+)'"));

/// Python's messages about a missing module; the last one is pytest's, for a plugin.
const MISSING: [&str; 3] = [
    "ModuleNotFoundError: No module named",
    "ImportError: No module named",
    "Error importing plugin \"",
];
/// Headings of the thread stacks that a dying process prints: from Python's fault handler, and from pytest-timeout if
/// it cannot interrupt a test.
const LAST_WORDS: [&str; 2] = ["Fatal Python error: ", "++ Timeout ++"];

/// Reads the report that pytest wrote, or else its output.
pub(super) fn parse(printed: &Printed<'_>) -> ParsedRun {
    let text = printed.text;
    let mut parsed = report::read(printed.reports);
    if printed.reports.is_empty() || !parsed.unread.is_empty() {
        parsed.complete(named(text));
    }
    outside_of_tests(text, &mut parsed);
    let last = || text.lines().rev().find_map(sums);
    // A script may run pytest several times. There is one report at most, so it is about the last.
    let totals = match printed.reports.is_empty() {
        true => of_sessions(text).or_else(last),
        false => last(),
    };
    match totals {
        Some(sums) => settle(&sums, &mut parsed),
        None => last_words(text, &mut parsed),
    }
    if parsed.anomaly.is_none() && !parsed.diagnostics.is_empty() {
        let is_missing = |message: &str| MISSING.iter().any(|mark| message.contains(mark));
        let all = parsed
            .diagnostics
            .iter()
            .all(|diagnostic| is_missing(&diagnostic.message));
        parsed.anomaly = Some(if all {
            Anomaly::MissingModule
        } else {
            Anomaly::NotCollected
        });
    }
    parsed
}

/// Reads errors that belong to no test: a requested test is missing, or pytest could not start.
fn outside_of_tests(text: &str, parsed: &mut ParsedRun) {
    let says = |mark: &str| text.contains(mark);
    if says("ERROR: not found: ") || says("ERROR: file or directory not found: ") {
        parsed.anomaly = Some(Anomaly::NotFound);
    } else if text.lines().any(|line| line.ends_with("No module named pytest")) {
        parsed.anomaly = Some(Anomaly::Environment);
    }
    let begun = parsed.ran() || !parsed.diagnostics.is_empty();
    if let Some(conftest) = CONFTEST.as_ref().and_then(|conftest| conftest.captures(text)) {
        let start = conftest.get(0).map_or(0, |whole| whole.start());
        let place = last_place(&text[start..]);
        let file = place.as_ref().map(|place| place.path.clone());
        let file = file.filter(|file| file.ends_with("conftest.py"));
        parsed.diagnose(file.as_deref().unwrap_or("conftest.py"), place, &text[start..]);
    } else if let Some(start) = text.find("INTERNALERROR> ").filter(|_| !begun) {
        let lines = text[start..]
            .lines()
            .map_while(|line| line.strip_prefix("INTERNALERROR> "));
        let lines: Vec<&str> = lines.collect();
        let message = lines.join("\n");
        parsed.diagnose("pytest", last_place(&message), &message);
    } else if let Some(start) = text.find("Error importing plugin \"").filter(|_| !begun) {
        parsed.diagnose("pytest", None, &text[start..]);
    }
}

/// Finds the project's file that was executing when the process ended without a result.
fn last_words(text: &str, parsed: &mut ParsedRun) {
    let Some(start) = LAST_WORDS.iter().find_map(|mark| text.find(mark)) else {
        return;
    };
    let words = &text[start..];
    let current = words.find("\nCurrent thread ").map_or(words, |at| &words[at..]);
    // The fault handler prints the innermost frame first, pytest-timeout prints it last.
    let place = if words.starts_with(LAST_WORDS[0]) {
        places(current).next()
    } else {
        places(current).last()
    };
    let name = place
        .as_ref()
        .map_or("pytest", |place| relative(text, &place.path))
        .to_string();
    parsed.crash(&name, words);
    if let Some(last) = parsed.failures.last_mut() {
        last.location = place;
    }
}

/// A path relative to the `rootdir` named in the header of the output, as in node ids.
fn relative<'a>(text: &str, path: &'a str) -> &'a str {
    let root = text.lines().find_map(|line| line.strip_prefix("rootdir: "));
    let below = root.and_then(|root| path.strip_prefix(root.split(", ").next()?)?.strip_prefix('/'));
    below.unwrap_or(path)
}

/// The last location of a traceback that is in the project.
fn last_place(text: &str) -> Option<Location> {
    places(text).last()
}

/// Every location of a traceback that is in the project.
fn places(text: &str) -> impl Iterator<Item = Location> {
    let places = text.lines().filter_map(|line| {
        let place = PLACE
            .as_ref()?
            .captures(line)
            .or_else(|| FRAME.as_ref()?.captures(line))?;
        location(&place[1], &place[2])
    });
    places.filter(|place| !is_foreign(&place.path))
}

/// Whether a path belongs to Python itself or to an installed package.
pub(in crate::frameworks) fn is_foreign(path: &str) -> bool {
    path.contains("site-packages/") || path.contains("/lib/python") || path.starts_with('<')
}

/// Reads the terminal text: the short summary, and the sections of the failures.
fn named(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut seen = HashSet::new();
    // Of several sections with one title, the first is used.
    let sections: HashMap<String, String> = sections(text).into_iter().rev().collect();
    let collecting = text.contains("ERROR collecting ") || text.contains(" during collection ");
    for line in text.lines() {
        let Some(short) = SHORT.as_ref().and_then(|short| short.captures(line)) else {
            continue;
        };
        let (name, message) = (&short[2], short.get(3).map_or("", |message| message.as_str()));
        let section = sections.get(&title_of(name)).map_or(message, String::as_str);
        let section = if section.trim().is_empty() { message } else { section };
        match &short[1] {
            "PASSED" | "XPASS" => parsed.pass(name),
            "XFAIL" => parsed.fail_as_expected(),
            "ERROR" if collecting && !name.contains("::") => {
                if seen.insert(name.to_string()) {
                    parsed.diagnose(name, last_place(section), section);
                }
            }
            _ if !parsed.has_room() => parsed.fail(name, None, ""),
            _ => {
                parsed.fail(name, last_place(section), section);
                if let Some((expected, actual)) = assertion::compared(message) {
                    parsed.compare(&expected, &actual);
                }
            }
        }
    }
    parsed
}

/// Parses `3 failed, 7 passed, 1 skipped, 1 xfailed, 1 error in 0.04s`.
fn sums(line: &str) -> Option<Vec<(String, u32)>> {
    let sum = SUM.as_ref()?.captures(line)?;
    let counts = COUNT.as_ref()?.captures_iter(sum.get(1)?.as_str());
    counts
        .map(|count| {
            let word = match &count[2] {
                "error" => "errors",
                "warning" => "warnings",
                word => word,
            };
            Some((word.to_string(), count[1].parse().ok()?))
        })
        .collect()
}

/// The totals of all sessions together. A session inside another, whose output a failing test of a plugin repeats, does
/// not count. `None` if no session has a heading.
fn of_sessions(text: &str) -> Option<Vec<(String, u32)>> {
    let mut all: BTreeMap<String, u32> = BTreeMap::new();
    let (mut depth, mut seen) = (0u32, false);
    for line in text.lines() {
        if line.starts_with("===") && line.contains(" test session starts ===") {
            depth = depth.saturating_add(1);
        } else if depth > 0
            && let Some(sums) = sums(line)
        {
            depth -= 1;
            if depth == 0 {
                seen = true;
                for (word, count) in sums {
                    let sum = all.entry(word).or_default();
                    *sum = sum.saturating_add(count);
                }
            }
        }
    }
    seen.then(|| all.into_iter().collect())
}

/// Applies pytest's own totals, which count unexpected passes separately and errors apart from failures.
fn settle(sums: &[(String, u32)], parsed: &mut ParsedRun) {
    let sum = |words: &[&str]| {
        let counts = sums.iter().filter(|(word, _)| words.contains(&word.as_str()));
        counts.fold(0u32, |sum, (_, count)| sum.saturating_add(*count))
    };
    let collection = u32::try_from(parsed.diagnostics.len()).unwrap_or(0);
    let failed = sum(&["failed", "errors"]).saturating_sub(collection).max(parsed.failed);
    parsed.reconcile_totals(sum(&["passed", "xpassed"]), failed, sum(&["skipped"]));
    parsed.settle_expected(sum(&["xfailed"]));
    for (word, count) in sums {
        parsed.tell(word, *count);
    }
}

/// The sections below `____ title ____`.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(title) = TITLE.as_ref().and_then(|title| title.captures(line)) {
            open = sections.len() < 1_000;
            if open {
                sections.push((title[1].to_string(), String::new()));
            }
        } else if line.starts_with("====") {
            open = false;
        } else if let Some((_, section)) = sections.last_mut().filter(|_| open)
            && section.len() < 2 * greenlight_readers::MAX_MESSAGE
        {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections
}

/// Titles contain the test without its file and with dots: `TestBasket.test_empty`.
fn title_of(name: &str) -> String {
    match name.split_once("::") {
        Some((_, test)) => test.replace("::", "."),
        None => name.to_string(),
    }
}
