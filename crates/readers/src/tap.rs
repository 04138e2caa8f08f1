//! Parses the Test Anything Protocol (<https://testanything.org>) in versions 12 to 14 with nested tests, as `node
//! --test`, node-tap, tape, AVA and others print it.
//!
//! Usually only the innermost results count. Node also counts a test with subtests, and Perl counts no subtests.

use std::sync::LazyLock;

use regex::Regex;

use super::javascript::{FRAME, compared, frame, joined, not_loaded, notice_memory};
use super::node::place;
use super::{MAX_MESSAGE, ParsedRun, Printed, location, node, node_tap, prove, sums, yaml};
use crate::text::{pattern, tail};

/// The deepest nesting that is read, and the maximum number of lines about one result.
const MAX_DEPTH: usize = 32;
const MAX_LINES: usize = 400;

static POINT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^( *)(not )?ok\b(?: +(\d+))?(?: +(?:- ?)?(.*?))?(\s*\{)?$"));
static SUBTEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^( *)# Subtest: (.*)$"));
static DIRECTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?i)^(.*?)\s*# *(skip|todo)\b\S* ?(.*)$"));
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r" # time=[\d.]+m?s$"));
static FIRST_PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:file://)?(/[^:]+):(\d+)$"));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^[#ℹ] (tests|suites|pass|fail|cancelled|skipped|skip|todo):? +(\d+)$"));

/// One `ok` or `not ok` line, with the lines that belong to it.
#[derive(Default)]
struct Point {
    depth: usize,
    name: String,
    ok: bool,
    directive: Option<String>,
    has_parts: bool,
    yaml: Vec<String>,
    /// The output before it, and after it.
    comments: Vec<String>,
    remarks: Vec<String>,
}

/// Parses the output of a TAP producer, or of Node's similar reporters.
pub fn parse(printed: &Printed<'_>) -> ParsedRun {
    let text = printed.text;
    let is_tap = text
        .lines()
        .any(|line| line.starts_with("TAP version 1") || is_plan(line));
    let is_tree = text.lines().any(|line| line.starts_with("\u{2139} tests "));
    let mut parsed = match (is_tap, is_tree) {
        (true, _) => read_points(text),
        (false, true) => node::read(text),
        (false, false) => prove::read(text).unwrap_or_else(|| sums::read(text)),
    };
    if is_by_node(text) {
        take_totals(text, &mut parsed);
    } else if is_tap && !node_tap::take_totals(text, &mut parsed) {
        record_counts(&mut parsed);
        if text.lines().any(|line| line == "# tests 0") {
            nothing_was_loaded(&mut parsed);
        }
    }
    // Node died before the first result.
    if !parsed.ran() && parsed.diagnostics.is_empty() && text.contains("\nNode.js v") {
        not_loaded(
            "the tests could not be loaded",
            frame(text, &FRAME),
            &tail(text, MAX_MESSAGE),
            &mut parsed,
        );
    }
    notice_memory(text, &mut parsed);
    parsed
}

/// Only Node prints a total of cancelled tests.
fn is_by_node(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("# cancelled ") || line.starts_with("\u{2139} cancelled "))
}

fn record_counts(parsed: &mut ParsedRun) {
    let counts = [
        ("pass", parsed.passed),
        ("fail", parsed.failed),
        ("skip", parsed.skipped),
        ("todo", parsed.expected_failures),
    ];
    for (word, count) in counts {
        if count > 0 || word == "pass" {
            parsed.tell(word, count);
        }
    }
}

/// If there are no tests, the failures are those of files, because AVA reports both in the same way.
fn nothing_was_loaded(parsed: &mut ParsedRun) {
    for failure in std::mem::take(&mut parsed.failures) {
        not_loaded(
            &failure.name,
            failure.location,
            &format!("{}\n{}", failure.name, failure.message),
            parsed,
        );
    }
    parsed.failed = 0;
}

fn is_plan(line: &str) -> bool {
    let last = line
        .strip_prefix("1..")
        .map(|rest| rest.split(' ').next().unwrap_or(rest));
    last.is_some_and(|last| !last.is_empty() && last.chars().all(|c| c.is_ascii_digit()))
}

/// Takes the totals at the end. Several runs in a row print several of them.
fn take_totals(text: &str, parsed: &mut ParsedRun) {
    // Passed, failed, cancelled, skipped, to do.
    let mut sums = [0u32; 5];
    let (mut seen, mut filtered) = (false, 0u32);
    for line in text.lines() {
        let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) else {
            filtered += u32::from(line.ends_with("# SKIP test name does not match pattern"));
            continue;
        };
        let number: u32 = sum[2].parse().unwrap_or(0);
        let at = match &sum[1] {
            "tests" | "suites" => continue,
            "pass" => 0,
            "fail" => 1,
            "cancelled" => 2,
            "skipped" | "skip" => 3,
            _ => 4,
        };
        seen |= at == 0;
        sums[at] = sums[at].saturating_add(number);
    }
    if !seen {
        return;
    }
    let [passed, failed, cancelled, skipped, todo] = sums;
    for (word, count) in ["pass", "fail", "cancelled", "skipped", "todo"].into_iter().zip(sums) {
        if count > 0 || word == "pass" {
            parsed.tell(word, count);
        }
    }
    let broken = u32::try_from(parsed.diagnostics.len()).unwrap_or(0);
    let failed = failed.saturating_add(cancelled).saturating_sub(broken);
    let unsuccessful = todo.saturating_sub(parsed.expected_failures);
    parsed.reconcile_totals(
        passed,
        failed,
        skipped.saturating_add(unsuccessful).saturating_sub(filtered),
    );
}

fn read_points(text: &str) -> ParsedRun {
    let mut reader = TapReader {
        producer: if is_by_node(text) {
            Producer::Node
        } else if prove::is_perl(text) {
            Producer::Perl
        } else {
            Producer::Any
        },
        ..TapReader::default()
    };
    for line in text.lines() {
        reader.line(line);
    }
    reader.close();
    reader.parsed
}

/// The producer, because some nest their tests in their own ways.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Producer {
    Node,
    Perl,
    #[default]
    Any,
}

#[derive(Default)]
struct TapReader {
    producer: Producer,
    parsed: ParsedRun,
    /// The comments before a result, which are the output of its file.
    comments: Vec<String>,
    parents: Vec<String>,
    /// The number of results at each depth since the last one above it.
    parts: Vec<u32>,
    /// The depths of tests whose subtests follow in braces.
    open: Vec<usize>,
    point: Option<Point>,
    in_yaml: bool,
}

impl TapReader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim_start();
        if self.in_yaml {
            self.in_yaml = trimmed != "...";
            if let Some(point) = self.point.as_mut().filter(|point| point.yaml.len() < MAX_LINES) {
                point.yaml.push(line.to_string());
            }
            return;
        }
        if trimmed == "---" && self.point.is_some() {
            self.in_yaml = true;
        } else if let Some(found) = POINT.as_ref().and_then(|pattern| pattern.captures(line)) {
            self.point(&found);
        } else if let Some(subtest) = SUBTEST.as_ref().and_then(|subtest| subtest.captures(line)) {
            self.close();
            let depth = (subtest[1].len() / 4).min(MAX_DEPTH);
            // TAP 14 names a nested test inside its block, Node before it.
            self.parents.resize(depth, String::new());
            self.parents.push(unescaped(&subtest[2]));
        } else if trimmed == "}" {
            self.close();
            self.open.pop();
        } else if let Some(reason) = trimmed.strip_prefix("Bail out!") {
            self.close();
            let (passed, failed, skipped) = (self.parsed.passed, self.parsed.failed, self.parsed.skipped);
            self.parsed.crash("bail out", reason.trim());
            self.parsed.reconcile_totals(passed, failed, skipped);
        } else if let Some(comment) = line.strip_prefix("# ") {
            let remarks = self
                .point
                .as_mut()
                .filter(|_| self.producer != Producer::Node)
                .map(|point| &mut point.remarks);
            for lines in [Some(&mut self.comments), remarks].into_iter().flatten() {
                if lines.len() < MAX_LINES {
                    lines.push(comment.to_string());
                }
            }
        }
    }

    /// Takes in a match of [`POINT`].
    fn point(&mut self, found: &regex::Captures<'_>) {
        let (number, name) = (found.get(3), found.get(4));
        // For Perl, subtests are not tests, and a bare result is `prove`'s verdict on a file.
        if self.producer == Producer::Perl
            && (!found[1].is_empty() || number.or(name.filter(|name| !name.is_empty())).is_none())
        {
            return;
        }
        self.close();
        let depth = (found[1].len() / 4).min(MAX_DEPTH);
        let (ok, opens) = (found.get(2).is_none(), found.get(5).is_some());
        let name = name.map_or("", |name| name.as_str());
        let has_parts = self.parts.get(depth + 1).is_some_and(|parts| *parts > 0);
        self.parts
            .resize((depth + 1).max(self.open.last().map_or(0, |open| open + 1)), 0);
        self.parts[depth] += 1;
        let directive = DIRECTIVE.as_ref().and_then(|directive| directive.captures(name));
        let own = directive
            .as_ref()
            .map_or(name, |found| found.get(1).map_or("", |own| own.as_str()));
        let own = TIME.as_ref().map_or(own.into(), |time| time.replace(own, ""));
        let own = match (unescaped(&own), number) {
            (own, Some(number)) if own.is_empty() => number.as_str().to_string(),
            (own, _) => own,
        };
        if opens {
            self.parents.resize(depth, String::new());
            self.parents.push(own.clone());
            self.open.push(depth);
        }
        self.point = Some(Point {
            depth,
            name: own,
            ok,
            directive: directive.map(|found| found[2].to_lowercase()),
            has_parts: has_parts || opens,
            yaml: Vec::new(),
            comments: std::mem::take(&mut self.comments),
            remarks: Vec::new(),
        });
    }

    /// Records the last result after everything about it was read.
    fn close(&mut self) {
        self.in_yaml = false;
        let Some(point) = self.point.take() else { return };
        let details = yaml::entries(&point.yaml);
        let value = |key: &str| details.get(key).map(String::as_str);
        let parents = self.parents.iter().take(point.depth).map(String::as_str);
        let names = parents.filter(|name| !name.is_empty()).chain([point.name.as_str()]);
        let name = joined(names, " > ");
        let name = if name.is_empty() { "(unnamed)".to_string() } else { name };
        let is_suite = if self.producer == Producer::Node {
            value("type") == Some("suite") || value("failureType") == Some("subtestsFailed")
        } else {
            point.has_parts
        };
        let is_file = value("exitCode").is_some_and(|_| self.producer == Producer::Node);
        match (point.ok, point.directive.as_deref()) {
            (_, Some(_)) if is_suite => {}
            (false, Some("todo")) => self.parsed.fail_as_expected(),
            (_, Some(_)) => self.parsed.skip_named(&name),
            _ if is_suite => {}
            (true, None) => self.parsed.pass(&name),
            (false, None) if is_file && value("signal").is_some_and(|signal| signal != "~") => {
                self.parsed.crash(&name, &message(&details, &point.comments));
            }
            // A file that could not be loaded is reported like a test.
            (false, None) if is_file => {
                let text = point.comments.join("\n");
                let cause = FIRST_PLACE.as_ref().zip(point.comments.first());
                let cause = cause.and_then(|(pattern, line)| pattern.captures(line));
                let cause = cause.and_then(|found| location(&found[1], &found[2]));
                not_loaded(
                    &name,
                    cause.or_else(|| value("location").and_then(place)),
                    &text,
                    &mut self.parsed,
                );
            }
            (false, None) if details.is_empty() && !point.remarks.is_empty() => {
                let remarks = point.remarks.join("\n");
                self.parsed.fail(&name, prove::place(&remarks), remarks.trim_start());
                if let Some((expected, actual)) = prove::compared(&remarks) {
                    self.parsed.compare(&expected, &actual);
                }
            }
            (false, None) => self.fail(&name, &details, &point.comments),
        }
    }

    fn fail(&mut self, name: &str, details: &yaml::Entries, comments: &[String]) {
        let value = |key: &str| details.get(key).map(String::as_str);
        let message = message(details, comments);
        let at = value("location").or_else(|| value("at")).and_then(place);
        let file = value("at.file").or_else(|| value("at.fileName"));
        let line = value("at.line").or_else(|| value("at.lineNumber"));
        let at = at.or_else(|| location(file?, line?));
        let frames = || value("stack").and_then(|stack| stack.lines().find_map(|line| place(line.trim())));
        self.parsed.fail(name, at.or_else(frames), &message);
        let values = value("expected")
            .zip(value("actual"))
            .or_else(|| value("wanted").zip(value("found")));
        let values = values.filter(|(expected, actual)| expected != actual);
        let values = values.map(|(expected, actual)| (expected.to_string(), actual.to_string()));
        if let Some((expected, actual)) = values.or_else(|| compared(&message)) {
            self.parsed.compare(&expected, &actual);
        }
    }
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\").trim().to_string()
}

/// The error message, and the stack trace.
fn message(details: &yaml::Entries, comments: &[String]) -> String {
    let parts = ["error", "message", "diff", "stack"].map(|key| details.get(key).map(String::as_str));
    let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        return parts.join("\n");
    }
    let rest: Vec<String> = details.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    if rest.is_empty() {
        comments.join("\n")
    } else {
        rest.join("\n")
    }
}
