//! `bun test`: reads its JUnit report if there is one, else its text.

use std::sync::LazyLock;

use greenlight_readers::javascript::{BETWEEN, blocks, compared, not_loaded, notice_memory};
use greenlight_readers::junit::{self, CaseVerdict};
use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use super::javascript;
use crate::discover::javascript::{Script, TestFiles};
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "bun test",
    ecosystem: Ecosystem::JavaScript,
    installers: javascript::INSTALLERS,
    is_check: |line| line.program() == "bun" && line.subcommand() == "test",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    part: javascript::part,
    parse,
    marks: &["\nbun test v"],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    searches_below: true,
    programs: &["bun"],
    starts: |line| (line.program() == "bun" && line.next() == Some("test")).then_some(line.at + 2),
    options: |_| &["--reporter=junit", "--reporter-outfile={report}"],
    report: Some(javascript::XML),
    filter: Some(|names| vec![format!("--test-name-pattern={}", javascript::any_of(names))]),
    files: Some(TestFiles {
        option: None,
        prefix: "./",
        related: None,
    }),
    ..Script::NEW
};

static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+at (?:.* \()?([^\s()]+?):(\d+):\d+\)?$"));
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\((pass|fail|skip|todo)\)|(✓|✗|»|✎)) (.+?)(?: \[[\d.]+m?s\])?$"));
static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+\.[cm]?[jt]sx?):$"));
static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ +(\d+) (pass|fail|skip|todo|error)s?$"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(printed.reports, &mut parsed);
    for case in &cases {
        let parts = [case.file.as_str(), case.class.as_str(), case.name.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let name = parts.join(BETWEEN);
        match case.verdict {
            CaseVerdict::Passed => parsed.pass(&name),
            CaseVerdict::Skipped => parsed.skip_named(&name),
            CaseVerdict::Failed | CaseVerdict::Error => {
                let text = case.complaint();
                let defined = case.line.map(|line| Location {
                    path: case.file.clone(),
                    line,
                });
                parsed.fail(&name, frame(text).or(defined), text);
                if let Some((expected, actual)) = compared(text) {
                    parsed.compare(&expected, &actual);
                }
            }
        }
    }
    if cases.is_empty() || !parsed.unread.is_empty() {
        let mut text = ParsedRun::default();
        read_text(printed.text, &mut text);
        parsed.complete(text);
    }
    read_errors(printed.text, &mut parsed);
    settle(printed.text, &mut parsed);
    if !parsed.ran() && printed.text.contains(" had no matches") {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
    notice_memory(printed.text, &mut parsed);
    parsed
}

/// A test's result follows what the test printed.
fn read_text(text: &str, parsed: &mut ParsedRun) {
    let mut file = String::new();
    let mut body: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(found) = FILE.as_ref().and_then(|pattern| pattern.captures(line)) {
            file = found[1].to_string();
            body.clear();
        } else if let Some(found) = RESULT.as_ref().and_then(|pattern| pattern.captures(line)) {
            let name = [file.as_str(), &found[3]].join(BETWEEN);
            match found.get(1).or_else(|| found.get(2)).map(|mark| mark.as_str()) {
                Some("pass" | "✓") => parsed.pass(&name),
                Some("fail" | "✗") => {
                    let body = body.join("\n");
                    parsed.fail(&name, frame(&body), &body);
                    if let Some((expected, actual)) = compared(&body) {
                        parsed.compare(&expected, &actual);
                    }
                }
                _ => parsed.skip_named(&name),
            }
            body.clear();
        } else if body.len() < 200 {
            body.push(line);
        }
    }
}

/// Errors outside of any test, mostly while a file is loaded.
fn read_errors(text: &str, parsed: &mut ParsedRun) {
    let mut file = "the tests";
    for line in text.lines() {
        if let Some(found) = FILE.as_ref().and_then(|pattern| pattern.captures(line)) {
            file = found.get(1).map_or(file, |name| name.as_str());
        } else if line == "# Unhandled error between tests" {
            break;
        }
    }
    let title = |line: &str| {
        line.strip_prefix("# Unhandled error between tests")
            .map(ToString::to_string)
    };
    for (_, body) in blocks(text, title) {
        let body: Vec<&str> = body
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("-----"))
            .collect();
        let body = body.join("\n");
        let is_syntax = body.contains("error: Expected ") || body.contains("error: Unexpected ");
        let shown = if is_syntax {
            format!("SyntaxError\n{body}")
        } else {
            body.clone()
        };
        not_loaded(file, frame(&body), &shown, parsed);
    }
}

fn frame(text: &str) -> Option<Location> {
    let mut frames = text.lines().filter_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        location(&frame[1], &frame[2])
    });
    frames.find(|frame| !frame.path.contains("node_modules/") && !frame.path.starts_with("node:"))
}

/// The summary at the end counts a file that could not be loaded as a failure.
fn settle(text: &str, parsed: &mut ParsedRun) {
    let mut sums = [None::<u32>; 5];
    for found in text.lines().filter_map(|line| SUM.as_ref()?.captures(line)) {
        let at = match &found[2] {
            "pass" => 0,
            "fail" => 1,
            "skip" => 2,
            "todo" => 3,
            _ => 4,
        };
        let sum = sums[at].get_or_insert(0);
        *sum = sum.saturating_add(found[1].parse().unwrap_or(0));
    }
    let [Some(passed), failed, skipped, todo, errors] = sums else {
        return;
    };
    for (word, count) in ["pass", "fail", "skip", "todo", "error"].into_iter().zip(sums) {
        if let Some(count) = count {
            parsed.tell(word, count);
        }
    }
    let failed = failed.unwrap_or(0).saturating_sub(errors.unwrap_or(0));
    parsed.reconcile_totals(passed, failed, skipped.unwrap_or(0).saturating_add(todo.unwrap_or(0)));
}
