//! Reads the text of Jest, Vitest and Mocha.

use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, location};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// Deepest nesting of suites that is followed.
const MAX_DEPTH: usize = 32;

static TREE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^( *)(✓|✔|√|✕|×|○|✎|↓|□|-|\d+\)) (.+?)(?: \(?\d+(?:\.\d+)?\s?m?s\)?)?$"));
static JEST_FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+at (?:.* \()?((?:file://)?[^()\s]+?):(\d+):\d+\)?$"));
static VITEST_FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ ❯ (?:.* )?([^\s:]+):(\d+):\d+$"));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(\d+) (passed|failed|skipped|todo|pending|passing|failing)\b"));
static MOCHA_TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^  (\d+)\) (.+)$"));

pub(super) fn read_jest(text: &str) -> Reading {
    let mut reading = Reading::default();
    passed_in_tree(text, &mut reading);
    for (title, body) in blocks(text, |line| line.strip_prefix("  ● ").map(ToString::to_string)) {
        let body = until(
            &body,
            &["Test Suites: ", "PASS ", "FAIL ", "Summary of all failing tests"],
        );
        let place = frame(&body, &JEST_FRAME);
        if title == "Test suite failed to run" {
            reading.diagnose(&title, place, &body);
        } else if !title.starts_with("Console") {
            let name = title.replace(" › ", " > ");
            // Failures are repeated in a summary when there are many.
            if !reading.failures.iter().any(|failure| failure.name == name) {
                reading.fail(&name, place, &body);
            }
        }
    }
    settle_from(text, "Tests: ", &mut reading);
    reading
}

pub(super) fn read_vitest(text: &str) -> Reading {
    let mut reading = Reading::default();
    for (title, body) in blocks(text, |line| line.strip_prefix(" FAIL  ").map(ToString::to_string)) {
        let body = until(&body, &["⎯⎯⎯"]);
        let place = frame(&body, &VITEST_FRAME);
        match title.split_once(" > ") {
            Some((_, name)) => reading.fail(name, place, &body),
            None => reading.diagnose(&title, place, &body),
        }
    }
    // What passed is shown without its suites, if at all: only counted.
    settle_from(text, "Tests  ", &mut reading);
    reading
}

pub(super) fn read_mocha(text: &str) -> Reading {
    let mut reading = Reading::default();
    if let Some(at) = text
        .find(" Exception during run: ")
        .or_else(|| text.find("Error: Cannot find module"))
    {
        let body = text[at..].trim();
        reading.diagnose("the tests could not be loaded", frame(body, &JEST_FRAME), body);
        return reading;
    }
    let summary = text
        .lines()
        .position(|line| line.trim_start().split_once(" passing (").is_some());
    let lines: Vec<&str> = text.lines().collect();
    let (tree, rest) = lines.split_at(summary.unwrap_or(lines.len()));
    passed_in_tree(&tree.join("\n"), &mut reading);
    let rest = rest.join("\n");
    let title = |line: &str| MOCHA_TITLE.as_ref()?.captures(line).map(|title| title[2].to_string());
    for (title, body) in blocks(&rest, title) {
        // The title goes on over lines until one ends in a colon.
        let mut names = vec![title.trim_end_matches(':').to_string()];
        let mut lines = body.lines();
        if !title.ends_with(':') {
            for line in lines.by_ref().take(MAX_DEPTH) {
                names.push(line.trim().trim_end_matches(':').to_string());
                if line.ends_with(':') {
                    break;
                }
            }
        }
        let body = lines.collect::<Vec<_>>().join("\n");
        reading.fail(&names.join(" > "), frame(&body, &JEST_FRAME), &body);
    }
    let sum = |word: &str| {
        rest.lines().find_map(|line| {
            let sum = SUM.as_ref()?.captures(line.trim())?;
            (&sum[2] == word).then(|| sum[1].parse::<u32>().ok())?
        })
    };
    if let Some(passed) = sum("passing") {
        reading.settle(passed, sum("failing").unwrap_or(0), sum("pending").unwrap_or(0));
    }
    reading
}

/// Results shown as a tree: a mark before each test, the names of its suites above it with less indentation.
fn passed_in_tree(text: &str, reading: &mut Reading) {
    let mut suites: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if line.trim().is_empty() || line.starts_with("  ● ") {
            if line.starts_with("  ● ") {
                suites.clear();
            }
            continue;
        }
        suites.retain(|(depth, _)| *depth < indent);
        let Some(found) = TREE.as_ref().and_then(|tree| tree.captures(line)) else {
            if indent >= 2 && suites.len() < MAX_DEPTH {
                suites.push((indent, line.trim().to_string()));
            } else {
                suites.clear();
            }
            continue;
        };
        // Files are shown with the same mark as tests.
        if matches!(&found[2], "✓" | "✔" | "√") && !found[3].contains(" tests") && !found[3].ends_with(" test)") {
            let names: Vec<&str> = suites
                .iter()
                .map(|(_, name)| name.as_str())
                .chain([&found[3]])
                .collect();
            reading.pass(&names.join(" > "));
        }
    }
}

/// Cuts a text into what stands below each title.
fn blocks(text: &str, title: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(title) = title(line) {
            if blocks.len() >= 1_000 {
                break;
            }
            blocks.push((title.trim().to_string(), String::new()));
        } else if let Some((_, body)) = blocks.last_mut()
            && body.len() < 4 * super::MAX_MESSAGE
        {
            body.push_str(line);
            body.push('\n');
        }
    }
    blocks
}

/// The lines before the first that starts with one of the marks.
fn until(body: &str, marks: &[&str]) -> String {
    let lines = body
        .lines()
        .take_while(|line| !marks.iter().any(|mark| line.starts_with(mark)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The first frame that is the project's own.
fn frame(body: &str, pattern: &LazyLock<Option<Regex>>) -> Option<Location> {
    let mut frames = body.lines().filter_map(|line| {
        let frame = pattern.as_ref()?.captures(line)?;
        location(frame[1].trim_start_matches("file://"), &frame[2])
    });
    frames.find(|frame| !frame.path.contains("node_modules/") && !frame.path.starts_with("node:"))
}

/// The line of sums that Jest and Vitest end with.
fn settle_from(text: &str, label: &str, reading: &mut Reading) {
    let sums = text.lines().rev().find(|line| line.trim_start().starts_with(label));
    let Some(sums) = sums else { return };
    let (mut passed, mut failed, mut skipped) = (0u32, 0u32, 0u32);
    for sum in SUM.as_ref().map(|sum| sum.captures_iter(sums)).into_iter().flatten() {
        let number = sum[1].parse().unwrap_or(0);
        match &sum[2] {
            "passed" => passed = number,
            "failed" => failed = number,
            _ => skipped = skipped.saturating_add(number),
        }
    }
    reading.settle(passed, failed, skipped);
}
