//! Catch2, no matter which program contains it: recognised in the output of a command, because such a program cannot be
//! told from others. It names the test cases that fail, and counts the others.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, Printed};
use regex::Regex;

use super::ctest;
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Catch2",
    ecosystem: Ecosystem::C,
    is_compiled: true,
    parse: |printed: &Printed<'_>| read(printed.text),
    marks: &["\nAll tests passed (", "\ntest cases: ", "\nNo test cases matched "],
    may_be: |text| text.contains(" assertion") || text.contains("\nassertions: ") || text.contains("\nNo tests ran"),
    ..Spec::NEW
};

static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^test cases: +(\d+)((?: +\| +\d+ [a-z ]+)+)$"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) (passed|failed as expected|failed|skipped)"));
static FINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^All tests passed \((?:\d+ skipped tests?, )?\d+ assertions? in (\d+) test cases?\)"));
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

fn read(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut totals: Option<[u32; 4]> = None;
    for line in text.lines() {
        let counts = if let Some(fine) = FINE.as_ref().and_then(|fine| fine.captures(line)) {
            vec![("passed".to_string(), fine[1].parse().unwrap_or(0))]
        } else if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            let counts = COUNT.iter().flat_map(|count| count.captures_iter(&sum[2]));
            counts
                .map(|count| (count[2].to_string(), count[1].parse().unwrap_or(0)))
                .collect()
        } else {
            continue;
        };
        let totals = totals.get_or_insert_default();
        for (word, count) in counts {
            let at = match word.as_str() {
                "passed" => 0,
                "failed" => 1,
                "skipped" => 2,
                _ => 3,
            };
            totals[at] = totals[at].saturating_add(count);
        }
    }
    failures(text, &mut parsed);
    let Some([passed, failed, skipped, expected]) = totals else {
        if text.contains("\nNo test cases matched ") {
            parsed.anomaly = Some(Anomaly::NotFound);
        }
        return parsed;
    };
    // Failures that are expected are printed like others.
    if failed == 0 && expected > 0 && parsed.anomaly.is_none() {
        parsed.failures.clear();
    }
    parsed.reconcile_totals(passed, failed, skipped);
    parsed.settle_expected(expected);
    for (word, count) in [("passed", passed), ("failed", failed), ("skipped", skipped)] {
        parsed.tell(word, count);
    }
    parsed
}

/// Reads the failing test cases: between two lines is the name with its sections, then the place, then the assertion.
fn failures(text: &str, parsed: &mut ParsedRun) {
    let is_rule = |line: &&str| line.len() >= 70 && line.bytes().all(|byte| byte == b'-');
    let is_end = |line: &str| line.len() >= 70 && line.bytes().all(|byte| byte == b'=');
    let mut lines = text.lines().peekable();
    let mut known: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        if !is_rule(&line) {
            continue;
        }
        let mut title: Vec<&str> = Vec::new();
        while let Some(line) = lines.next_if(|line| !is_rule(line) && !is_end(line)) {
            if title.len() < MAX_LINES {
                title.push(line.trim());
            }
        }
        if lines.next_if(is_rule).is_none() {
            continue;
        }
        let mut body: Vec<&str> = Vec::new();
        while let Some(line) = lines.next_if(|line| !is_rule(line) && !is_end(line)) {
            if body.len() < MAX_LINES && !line.starts_with("....") {
                body.push(line);
            }
        }
        let body = body.join("\n");
        let Some(name) = title.first().map(ToString::to_string) else {
            continue;
        };
        if !body.contains("FAILED:") {
            continue;
        }
        if body.contains("due to a fatal error condition:") {
            parsed.anomaly = Some(Anomaly::Crash);
        }
        // The sections of a test case fail one after the other.
        if parsed.has_room() && !known.contains(&name) {
            ctest::fail(parsed, &name, &format!("{}\n{}", title.join(" > "), body.trim()));
            known.push(name);
        }
    }
}
