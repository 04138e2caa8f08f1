//! Reads `go test`, as JSON events (`go test -json`, or `go tool test2json`) or as text.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::{Reading, location};
use crate::domain::test_run::Location;
use crate::suite::text::{clean, pattern};

/// More tests than this are not read.
const MAX_TESTS: usize = 200_000;

static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s*(\S+\.go):(\d+)(?::\d+)?: "));
static COMPILER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:vet: )?(\S+\.go):(\d+):(?:\d+:)? (.+)$"));
/// A frame of a panic.
static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\t(\S+_test\.go|\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$"));
static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\s*)--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$"));
static PACKAGE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:ok  |FAIL|---|\?   )\t(\S+)(?:\t| |$)"));

/// One event; <https://pkg.go.dev/cmd/test2json#hdr-Output_Format>
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Event {
    action: String,
    package: String,
    test: String,
    output: String,
    import_path: String,
    failed_build: String,
}

#[derive(Debug, Default)]
struct Test {
    /// `pass`, `fail` or `skip`; empty while it runs.
    verdict: String,
    output: String,
}

/// What the tests printed, taken out of the events again; none if there are no events.
pub(super) fn without_events(text: &str) -> Option<String> {
    let mut printed = String::new();
    let mut found = false;
    for line in text.lines() {
        match event(line) {
            Some(event) => {
                found = true;
                printed.push_str(&event.output);
            }
            None => {
                printed.push_str(line);
                printed.push('\n');
            }
        }
    }
    found.then(|| clean(printed.as_bytes()))
}

fn event(line: &str) -> Option<Event> {
    let event: Event = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
    (!event.action.is_empty()).then_some(event)
}

pub(super) fn read(text: &str) -> Reading {
    let events: Vec<Event> = text.lines().filter_map(event).collect();
    if events.is_empty() {
        read_text(text)
    } else {
        read_events(&events, text)
    }
}

fn read_events(events: &[Event], text: &str) -> Reading {
    let mut reading = Reading::default();
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut tests: HashMap<(&str, &str), Test> = HashMap::new();
    let mut broken: HashSet<&str> = HashSet::new();
    let mut build = String::new();
    for event in events {
        if event.action == "build-output" && build.len() < (1 << 20) {
            build.push_str(&event.output);
        }
        if event.action == "fail" && event.test.is_empty() && event.failed_build.is_empty() {
            broken.insert(&event.package);
        }
        if event.test.is_empty() || order.len() >= MAX_TESTS {
            continue;
        }
        let key = (event.package.as_str(), event.test.as_str());
        let test = tests.entry(key).or_insert_with(|| {
            order.push(key);
            Test::default()
        });
        match event.action.as_str() {
            "output" if test.output.len() < 2 * super::MAX_MESSAGE => test.output.push_str(&event.output),
            "pass" | "fail" | "skip" => test.verdict.clone_from(&event.action),
            _ => {}
        }
    }
    compiler_errors(&build, &mut reading);
    // Since Go 1.24 build output is part of the events; before, it stands between them.
    compiler_errors(
        &text
            .lines()
            .filter(|line| !line.starts_with('{'))
            .collect::<Vec<_>>()
            .join("\n"),
        &mut reading,
    );
    if reading.diagnostics.is_empty()
        && let Some(event) = events.iter().find(|event| event.action == "build-fail")
    {
        reading.diagnose(&event.import_path, None, &build);
    }
    let ambiguous = ambiguous(&order);
    for key in order {
        let test = &tests[&key];
        let (package, name) = key;
        let name = if ambiguous.contains(name) {
            format!("{package} {name}")
        } else {
            name.to_string()
        };
        let message = shown(&test.output);
        match test.verdict.as_str() {
            "pass" => reading.pass(&name),
            "skip" => reading.skip(),
            "fail" if message.trim().is_empty() => reading.fail(&name, None, "a subtest failed"),
            "fail" => reading.fail(&name, place(&message), &message),
            _ if broken.contains(package) => reading.crash(&name, &message),
            _ => {}
        }
    }
    reading
}

/// Names that more than one package has.
fn ambiguous(tests: &[(&str, &str)]) -> HashSet<String> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    tests
        .iter()
        .filter(|(package, name)| first.entry(name).or_insert(package) != package)
        .map(|(_, name)| (*name).to_string())
        .collect()
}

/// The output of a test without the frame that go puts around it.
fn shown(output: &str) -> String {
    let lines = output
        .lines()
        .filter(|line| !line.starts_with("=== ") && !line.trim_start().starts_with("--- "));
    lines.collect::<Vec<_>>().join("\n")
}

fn place(message: &str) -> Option<Location> {
    let in_line = message.lines().find_map(|line| {
        let place = PLACE.as_ref()?.captures(line)?;
        location(&place[1], &place[2])
    });
    in_line.or_else(|| {
        message.lines().find_map(|line| {
            let frame = FRAME.as_ref()?.captures(line)?;
            let own = !frame[1].contains("/src/testing/") && !frame[1].contains("/src/runtime/");
            own.then(|| location(&frame[1], &frame[2]))?
        })
    })
}

fn compiler_errors(text: &str, reading: &mut Reading) {
    for line in text.lines() {
        if let Some(error) = COMPILER.as_ref().and_then(|compiler| compiler.captures(line)) {
            reading.diagnose(&error[3], location(&error[1], &error[2]), line);
        }
    }
}

/// Without `-json` and without `-v`, only failures have names.
fn read_text(text: &str) -> Reading {
    let mut reading = Reading::default();
    let mut failing: Vec<(String, usize, String)> = Vec::new();
    let mut package_built = true;
    let mut build = String::new();
    for line in text.lines() {
        if let Some(result) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            match &result[2] {
                "PASS" => reading.pass(&result[3]),
                "SKIP" => reading.skip(),
                _ => failing.push((result[3].to_string(), result[1].len(), String::new())),
            }
        } else if PACKAGE.as_ref().is_some_and(|package| package.is_match(line)) {
            package_built &= !line.contains("[build failed]") && !line.contains("[setup failed]");
            for (name, _, message) in failing.drain(..) {
                reading.fail(&name, place(&message), &message);
            }
            // One package that passed: how many tests it has is not said.
            if line.starts_with("ok  ") && !line.contains("[no tests to run]") && !line.contains("[no test files]") {
                reading.passed = reading
                    .passed
                    .saturating_add(u32::from(reading.passed_names.is_empty()));
            }
        } else if let Some((_, _, message)) = failing.last_mut() {
            if message.len() < 2 * super::MAX_MESSAGE {
                message.push_str(line);
                message.push('\n');
            }
        } else if build.len() < (1 << 20) {
            build.push_str(line);
            build.push('\n');
        }
    }
    for (name, _, message) in failing {
        reading.fail(&name, place(&message), &message);
    }
    if !package_built {
        compiler_errors(&build, &mut reading);
    }
    reading
}
