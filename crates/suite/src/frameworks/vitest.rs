//! Vitest: reads its JSON report if there is one, else its text.

use std::sync::LazyLock;

use greenlight_readers::javascript::{blocks, compared, frame, not_loaded, notice_memory, settle_from, until};
use greenlight_readers::jest::read_results;
use greenlight_readers::{Anomaly, ParsedRun, Printed};
use regex::Regex;

use super::javascript;
use crate::discover::javascript::{Script, TestFiles};
use crate::framework::Ecosystem;
use crate::frameworks::spec::{Snapshots, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Vitest",
    ecosystem: Ecosystem::JavaScript,
    snapshots: &[Snapshots {
        marks: &["Snapshot `"],
        adds: &["-u"],
        env: &[],
        is_inline: true,
    }],
    installers: javascript::INSTALLERS,
    words: &["vitest"],
    is_check: |line| line.program() == "vitest",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    part: javascript::part,
    parse,
    marks: &[" Test Files  "],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    searches_below: true,
    starts: |line| (line.program() == "vitest").then_some(line.end),
    words: &["vitest"],
    unwanted: &[
        "--coverage",
        "--coverage.enabled",
        "--coverage.enabled=true",
        "--watch",
        "-w",
        "watch",
    ],
    options: |_| {
        &[
            "--run",
            "--reporter=default",
            "--reporter=json",
            "--coverage.enabled=false",
            "--outputFile.json={report}",
        ]
    },
    report: Some(javascript::JSON),
    env: &[("GREENLIGHT_CHECKS_TYPES", "1")],
    filter: Some(|names| vec![format!("--testNamePattern={}", javascript::any_of(names))]),
    without_tests: Some("--passWithNoTests"),
    files: Some(TestFiles {
        option: None,
        // Vitest compares its arguments with paths that have no leading `./`.
        prefix: "",
        related: None,
    }),
    ..Script::NEW
};

static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ ❯ (?:.* )?([^\s:]+):(\d+):\d+$"));
static UNHANDLED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^⎯+ (Unhandled Rejection|Uncaught Exception|Unhandled Error) ⎯+$"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    // A report without a failure may be left over from another run, so failures in the text take precedence.
    let is_read = read_results(printed.reports, &mut parsed);
    let text = read_text(printed.text);
    if !is_read || !parsed.unread.is_empty() {
        parsed.complete(text);
    } else if !parsed.shows_a_failure() && text.failed > 0 {
        parsed = text;
    }
    let has_none = printed.text.contains("No test files found, exiting with code 1");
    if !parsed.ran() && parsed.diagnostics.is_empty() && has_none {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
    read_unhandled(printed.text, &mut parsed);
    notice_memory(printed.text, &mut parsed);
    parsed
}

/// Errors that belong to no test fail the whole run, although no total includes them.
fn read_unhandled(text: &str, parsed: &mut ParsedRun) {
    let title = |line: &str| Some(UNHANDLED.as_ref()?.captures(line)?[1].to_lowercase());
    let (passed, failed, skipped) = (parsed.passed, parsed.failed, parsed.skipped);
    let before = parsed.failures.len();
    for (title, body) in blocks(text, title) {
        parsed.crash(&title, &until(&body, &["⎯⎯⎯", " Test Files  "]));
    }
    if parsed.failures.len() > before {
        parsed.reconcile_totals(passed, failed, skipped);
    }
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    for (title, body) in blocks(text, |line| line.strip_prefix(" FAIL  ").map(ToString::to_string)) {
        let body = until(&body, &["⎯⎯⎯"]);
        let place = frame(&body, &FRAME);
        match title.split_once(" > ") {
            Some(_) => {
                parsed.fail(&title, place, &body);
                if let Some((expected, actual)) = compared(&body) {
                    parsed.compare(&expected, &actual);
                }
            }
            None => not_loaded(title.split(" [ ").next().unwrap_or(&title), place, &body, &mut parsed),
        }
    }
    // Passed tests are shown without their suites, if at all, so they are only counted.
    settle_from(text, "Tests  ", &mut parsed);
    parsed
}
