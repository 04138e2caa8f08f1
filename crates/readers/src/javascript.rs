//! Code shared by the readers of Jest, Vitest and Mocha: stack traces, trees of results, and errors that keep a test file
//! from loading. The JSON results of the first two are in `jest.rs`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Anomaly, ParsedRun, location};
use crate::Location;
use crate::text::pattern;

/// The deepest nesting of suites that is read.
pub const MAX_DEPTH: usize = 32;
/// The separator between the parts of a name.
pub const BETWEEN: &str = " > ";

static TREE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^( *)(✓|✔|√|✕|×|○|✎|↓|□|-|\d+\)) (.+?)(?: \(?\d+(?:\.\d+)?\s?m?s\)?)?$"));
/// A line of a stack trace, with path, line and column.
pub static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+at (?:.* \()?((?:file://)?[^()\s]+?):(\d+):\d+\)?$"));
/// One number in the totals that a runner prints.
pub static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(\d+) (passed|failed|skipped|todo|pending|passing|failing|expected fail)\b"));
static EXPECTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^ *Expected(?: [a-z ]+)?: +(.+)\n *Received(?: [a-z ]+)?: +(.+)$"));
static CHAI: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^\w*(?:Error)?:? ?expected (.+?) to (?:be|equal|deeply equal|strictly equal|match object|match) (.+?)(?: // .*)?$",
    )
});

/// The expected and actual value of an assertion, from its message.
pub fn compared(message: &str) -> Option<(String, String)> {
    if let Some(found) = EXPECTED.as_ref().and_then(|pattern| pattern.captures(message)) {
        return Some((found[1].to_string(), found[2].to_string()));
    }
    let first = message.lines().find(|line| !line.trim().is_empty())?;
    if let Some(found) = CHAI.as_ref().and_then(|pattern| pattern.captures(first.trim())) {
        return Some((found[2].to_string(), found[1].to_string()));
    }
    // A diff line by line, below its legend.
    let legend = message.lines().position(|line| {
        let line = line.trim_start();
        ["- Snapshot", "- Expected", "+ actual - expected", "+ expected - actual"]
            .iter()
            .any(|legend| line.starts_with(legend))
    })?;
    let lines: Vec<&str> = message.lines().collect();
    let turned = lines[legend].trim_start().starts_with('+') && lines[legend].trim_start().starts_with("+ expected");
    let marked = |mark: char| {
        let lines = lines.iter().skip(legend + 1).map(|line| line.trim_start());
        let lines = lines.filter(|line| !line.starts_with("+ Received") && !line.starts_with("at "));
        let lines: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix(mark))
            .map(str::trim)
            .collect();
        lines.join("\n")
    };
    let (minus, plus) = (marked('-'), marked('+'));
    (!minus.is_empty() || !plus.is_empty()).then_some(if turned { (plus, minus) } else { (minus, plus) })
}

/// Records a file without results, and the reason.
pub fn not_loaded(name: &str, place: Option<Location>, message: &str, parsed: &mut ParsedRun) {
    let message = crate::text::clean(message.as_bytes());
    let says = |marks: &[&str]| marks.iter().any(|mark| message.contains(mark));
    let anomaly = if says(&[
        "Cannot find module ",
        "Cannot find package ",
        "Failed to resolve import ",
        "ERR_MODULE_NOT_FOUND",
        "Failed to load url ",
        "Could not resolve ",
    ]) {
        Some(Anomaly::MissingModule)
    } else if says(&[
        "SyntaxError",
        "error TS",
        "error\u{1b}[0m TS",
        ": error TS",
        "TSError",
        "Transform failed",
        "Parse failure",
        "PARSE_ERROR",
        "Parse failed",
        "invalid JS syntax",
        "Unexpected token",
        "Jest encountered an unexpected token",
    ]) {
        // The code does not compile.
        None
    } else {
        Some(Anomaly::NotCollected)
    };
    parsed.diagnose(name, place, &message);
    parsed.anomaly = parsed.anomaly.or(anomaly);
}

/// Recognises the engine's message about reaching its memory limit.
pub fn notice_memory(text: &str, parsed: &mut ParsedRun) {
    let is_out = |line: &str| {
        // In TAP, the output of a file is a comment.
        let line = line.trim_start_matches("# ");
        (line.starts_with("FATAL ERROR: ") && line.ends_with("JavaScript heap out of memory"))
            || line.contains("ERR_WORKER_OUT_OF_MEMORY")
    };
    if text.lines().any(is_out) {
        parsed.anomaly = Some(Anomaly::OutOfMemory);
    }
}

/// Reads results printed as a tree: a mark before each test, with the names of its suites above and less indented.
pub fn passed_in_tree(text: &str, between: &str, parsed: &mut ParsedRun) {
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
        // Files have the same mark as tests.
        if matches!(&found[2], "✓" | "✔" | "√") && !found[3].contains(" tests") && !found[3].ends_with(" test)") {
            let names = suites.iter().map(|(_, name)| name.as_str()).chain([&found[3]]);
            parsed.pass(&joined(names, between));
        }
    }
}

/// A name joined from its parts, cut to the length that is kept. Long names of suites are repeated in the names of
/// all their tests.
pub fn joined<'a>(parts: impl Iterator<Item = &'a str>, between: &str) -> String {
    let mut name = String::new();
    for (index, part) in parts.enumerate() {
        if name.len() > super::MAX_NAME {
            break;
        }
        if index > 0 {
            name.push_str(between);
        }
        name.push_str(part);
    }
    name
}

/// Splits a text into blocks by their titles.
pub fn blocks(text: &str, title: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
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

/// The lines before the first one that starts with a mark.
pub fn until(body: &str, marks: &[&str]) -> String {
    let lines = body
        .lines()
        .take_while(|line| !marks.iter().any(|mark| line.starts_with(mark)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The first stack frame in the project's own code.
pub fn frame(body: &str, pattern: &LazyLock<Option<Regex>>) -> Option<Location> {
    let mut frames = body.lines().filter_map(|line| {
        let frame = pattern.as_ref()?.captures(line)?;
        location(frame[1].trim_start_matches("file://"), &frame[2])
    });
    frames.find(|frame| {
        !frame.path.contains("node_modules/")
            && !frame.path.starts_with("node:")
            && !frame.path.starts_with("internal/")
    })
}

/// Takes the totals from the last lines of Jest's or Vitest's output.
pub fn settle_from(text: &str, label: &str, parsed: &mut ParsedRun) {
    let sums = text.lines().rev().find(|line| line.trim_start().starts_with(label));
    let Some(sums) = sums else { return };
    let (mut passed, mut failed, mut skipped) = (0u32, 0u32, 0u32);
    for sum in SUM.as_ref().map(|sum| sum.captures_iter(sums)).into_iter().flatten() {
        let number = sum[1].parse().unwrap_or(0);
        match &sum[2] {
            // In Vitest's report, a test that fails as expected has passed.
            "passed" | "expected fail" => passed = passed.saturating_add(number),
            "failed" => failed = number,
            _ => skipped = skipped.saturating_add(number),
        }
    }
    parsed.reconcile_totals(passed, failed, skipped);
}
