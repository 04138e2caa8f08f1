//! mypy: reads its text, with or without columns and source lines, and `--output json`.

use std::sync::LazyLock;

use greenlight_readers::{ParsedRun, location};
use regex::Regex;
use serde::Deserialize;

use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "mypy",
    ecosystem: Ecosystem::Python,
    kind: FrameworkKind::Linter,
    installers: &["python3", "uv"],
    words: &["mypy"],
    is_check: |line| line.program() == "mypy" && (!line.has("--install-types") || line.0.len() > 3),
    parse: |printed| parse(printed.text),
    marks: &["\nFound ", ": error: "],
    // C compilers print errors in the same format, but for other files.
    may_be: |text| [".py:", ".pyi:", ".ipynb:"].iter().any(|kind| text.contains(kind)) && text.contains(": error"),
    settings_error: Some(2),
    ..Spec::NEW
};

/// `bad.py:9:15:9:20: error: message  [code]`; the numbers after the line are optional.
static FINDING: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^([^\s:][^:]*):(?:(\d+):(?:\d+:)*)? (error|note): (.+)$"));
static FOUND: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Found (\d+) errors? in "));
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\s\[([a-z][a-z0-9-]*)\]$"));

/// One line of `--output json`: <https://mypy.readthedocs.io/en/stable/command_line.html#cmdoption-mypy-output>
#[derive(Deserialize)]
struct TypeError {
    file: String,
    line: u32,
    message: String,
    hint: Option<String>,
    code: Option<String>,
    severity: String,
}

/// An error and its notes.
struct Fault {
    file: String,
    line: Option<u32>,
    message: String,
}

fn parse(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let faults = faults(text);
    let found = u32::try_from(faults.len()).unwrap_or(u32::MAX);
    for Fault { file, line, message } in faults {
        let name = format!("{file}: {}", message.lines().next().unwrap_or_default());
        let place = line.and_then(|line| location(&file, &line.to_string()));
        parsed.diagnose(&name, place, &message);
    }
    let total = text
        .lines()
        .rev()
        .find_map(|line| FOUND.as_ref()?.captures(line)?[1].parse().ok());
    parsed.settle_found(found, total);
    parsed
}

fn faults(text: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    // With `--pretty`, a long message continues on the next lines until its error code ends it.
    let mut open = false;
    for line in text.lines() {
        if let Some(finding) = json(line) {
            if finding.severity == "error" {
                let code = finding.code.map(|code| format!("  [{code}]")).unwrap_or_default();
                let hint = finding.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
                faults.push(Fault {
                    line: Some(finding.line),
                    message: format!("{}{code}{hint}", finding.message),
                    file: finding.file,
                });
            }
            continue;
        }
        if let Some(parts) = FINDING.as_ref().and_then(|finding| finding.captures(line)) {
            open = false;
            if &parts[3] == "error" {
                open = !has_code(&parts[4]);
                faults.push(Fault {
                    file: parts[1].to_string(),
                    line: parts.get(2).and_then(|line| line.as_str().parse().ok()),
                    message: parts[4].to_string(),
                });
            } else if let Some(last) = faults.last_mut().filter(|last| last.file == parts[1]) {
                last.message += &format!("\nnote: {}", &parts[4]);
            }
        } else if let Some(last) = faults.last_mut().filter(|_| open)
            && !line.starts_with([' ', '\t'])
            && !line.starts_with("Found ")
            && !line.is_empty()
        {
            last.message += &format!(" {line}");
            open = !has_code(line);
        } else {
            open = false;
        }
    }
    faults
}

fn json(line: &str) -> Option<TypeError> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

fn has_code(message: &str) -> bool {
    CODE.as_ref().is_some_and(|code| code.is_match(message))
}
