//! Jest: reads its JSON report if there is one, else its text.

use greenlight_readers::javascript::{
    BETWEEN, FRAME, blocks, frame, not_loaded, notice_memory, passed_in_tree, settle_from, until,
};
use greenlight_readers::jest::read_results;
use greenlight_readers::{Anomaly, ParsedRun, Printed};

use super::javascript;
use crate::discover::javascript::{Script, TestFiles};
use crate::framework::Ecosystem;
use crate::frameworks::spec::{Runtime, Snapshots, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "Jest",
    ecosystem: Ecosystem::JavaScript,
    runtime: Some(Runtime::Node),
    snapshots: &[Snapshots {
        marks: &["toMatchSnapshot(", "toMatchInlineSnapshot(", "Snapshot name: `"],
        adds: &["-u"],
        env: &[],
        is_inline: true,
    }],
    installers: javascript::INSTALLERS,
    words: &["jest"],
    is_check: |line| line.program() == "jest",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    part: javascript::part,
    parse,
    marks: &["\nTest Suites: "],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    searches_below: true,
    starts: |line| match line.program() {
        "jest" => Some(line.end),
        "react-scripts" | "craco" | "react-app-rewired" if line.next() == Some("test") => Some(line.end),
        _ => None,
    },
    words: &["jest"],
    unwanted: &[
        "--coverage",
        "--collectCoverage",
        "--collect-coverage",
        "--watch",
        "--watchAll",
    ],
    options: |_| {
        &[
            "--json",
            "--testLocationInResults",
            "--coverage=false",
            "--outputFile={report}",
        ]
    },
    report: Some(javascript::JSON),
    filter: Some(|names| vec![format!("--testNamePattern={}", javascript::any_of(names))]),
    without_tests: Some("--passWithNoTests"),
    files: Some(TestFiles {
        option: Some("--runTestsByPath"),
        prefix: "./",
        // Jest knows which tests depend on a file.
        related: Some(&["--findRelatedTests", "--passWithNoTests=false"]),
    }),
    ..Script::NEW
};

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
    if !parsed.ran() && parsed.diagnostics.is_empty() && printed.text.contains("No tests found, exiting with code 1") {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
    notice_memory(printed.text, &mut parsed);
    parsed
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    passed_in_tree(text, BETWEEN, &mut parsed);
    for (title, body) in blocks(text, |line| line.strip_prefix("  ● ").map(ToString::to_string)) {
        let body = until(
            &body,
            &["Test Suites: ", "PASS ", "FAIL ", "Summary of all failing tests"],
        );
        let place = frame(&body, &FRAME);
        if title.starts_with("process.exit called with ") {
            parsed.crash(&title, &body);
        } else if title == "Test suite failed to run" {
            not_loaded(&title, place, &body, &mut parsed);
        } else if !title.starts_with("Console") {
            let name = title.replace(" › ", " > ");
            // With many failures, a summary repeats them.
            if !parsed.failures.iter().any(|failure| failure.name == name) {
                parsed.fail(&name, place, &body);
            }
        }
    }
    settle_from(text, "Tests: ", &mut parsed);
    parsed
}
