//! Parses recorded outputs of the real tools; `tests/fixtures/outputs/README.md` says how they were made.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use greenlight_readers::test_run::Outcome;
use greenlight_readers::{MAX_MESSAGE, MAX_NAME};
use greenlight_sandbox as sandbox;
use greenlight_sandbox::Captured;
use insta::assert_snapshot;

use super::verdict::MAX_TAIL;
use super::*;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/outputs")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn output(outcome: sandbox::Outcome, text: &[u8]) -> Output {
    Output {
        outcome,
        stdout: Captured {
            head: text.to_vec(),
            tail: Vec::new(),
            total: text.len() as u64,
        },
        stderr: Captured::default(),
        cpu: Duration::ZERO,
        peak_memory: 0,
        wall: Duration::from_millis(5),
    }
}

fn exited(code: i32, text: &[u8]) -> Output {
    output(sandbox::Outcome::Exited(code), text)
}

fn read(framework: Framework, output: &Output) -> TestRun {
    super::read(framework, output, &[])
}

fn read_with_report(framework: Framework, output: &Output, report: &[u8]) -> TestRun {
    let report = Report {
        path: "report".into(),
        bytes: report.to_vec(),
    };
    super::read(framework, output, &[report])
}

/// What callers base decisions on, and the first line of each message.
fn show(run: &TestRun) -> String {
    let mut shown = format!(
        "{:?}: {} passed, {} failed, {} skipped\n",
        run.outcome, run.passed, run.failed, run.skipped
    );
    if !run.passed_names.is_empty() {
        writeln!(shown, "passed: {}", run.passed_names.join(", ")).unwrap();
    }
    for failure in &run.failures {
        let place = failure
            .location
            .as_ref()
            .map_or("-".into(), |place| format!("{}:{}", place.path, place.line));
        let message = failure
            .message
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        writeln!(shown, "{} at {place}: {message}", failure.name).unwrap();
    }
    shown.trim_end().to_string()
}

fn read_file(framework: Framework, name: &str, code: i32) -> String {
    show(&read(framework, &exited(code, &fixture(name))))
}

fn read_pytest(name: &str, code: i32) -> String {
    let report = fixture(&format!("pytest/{name}.xml"));
    let text = fixture(&format!("pytest/{name}.txt"));
    show(&read_with_report(Framework::Pytest, &exited(code, &text), &report))
}

/// Everything known about a run.
fn show_whole(run: &TestRun) -> String {
    let mut shown = show(run);
    let words = |names: &[String]| names.join(", ");
    if run.expected_failures > 0 {
        write!(shown, "\nfailed as expected: {}", run.expected_failures).unwrap();
    }
    if !run.skipped_names.is_empty() {
        write!(shown, "\nskipped: {}", words(&run.skipped_names)).unwrap();
    }
    for failure in &run.failures {
        if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
            write!(shown, "\n{}: {expected:?}, not {actual:?}", failure.name).unwrap();
        }
    }
    if !run.summary_counts.is_empty() {
        write!(shown, "\n{:?}", run.summary_counts).unwrap();
    }
    shown
}

fn whole(framework: Framework, name: &str, code: i32) -> String {
    show_whole(&read(framework, &exited(code, &fixture(name))))
}

/// Parses a recorded output, with its report of this extension if there is one, and shows the whole result.
fn read_case(framework: Framework, name: &str, code: i32, report: Option<&str>) -> String {
    let output = exited(code, &fixture(&format!("{name}.txt")));
    let run = match report {
        Some(ending) => read_with_report(framework, &output, &fixture(&format!("{name}.{ending}"))),
        None => read(framework, &output),
    };
    let mut shown = show(&run);
    for failure in &run.failures {
        if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
            write!(shown, "\n{}: wanted {expected:?}, got {actual:?}", failure.name).unwrap();
        }
    }
    if !run.skipped_names.is_empty() {
        write!(shown, "\nskipped: {}", run.skipped_names.join(", ")).unwrap();
    }
    if run.expected_failures > 0 {
        write!(shown, "\nexpected failures: {}", run.expected_failures).unwrap();
    }
    if !run.summary_counts.is_empty() {
        write!(shown, "\nsummary_counts: {:?}", run.summary_counts).unwrap();
    }
    shown
}

mod bounds;
mod damaged;
mod deno;
mod go;
mod hostile;
mod javascript;
mod jvm;
mod more;
mod native;
mod node;
mod others;
mod python;
mod python_linters;
mod rust;
mod scripting;
mod together;
mod totals;
