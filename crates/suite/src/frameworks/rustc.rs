//! rustc and cargo: reads their errors, as text or as JSON.

use std::sync::LazyLock;

use greenlight_readers::test_run::{Location, TestRun};
use greenlight_readers::{Anomaly, ParsedRun, location};
use regex::Regex;
use serde::Deserialize;

use crate::filter::rust;
use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "rustc",
    ecosystem: Ecosystem::Rust,
    kind: FrameworkKind::Compiler,
    is_compiled: true,
    installers: &["cargo"],
    is_program: |line| line.program() == "cargo" && ["check", "clippy", "build"].iter().any(|word| line.has(word)),
    is_check: |line| line.program() == "cargo" && matches!(line.subcommand(), "clippy" | "check" | "build" | "b" | "c"),
    part: rust::package,
    parse: |printed| parse(printed.text),
    marks: &["\nerror: "],
    ..Spec::NEW
};

/// Maximum number of lines kept of one diagnostic.
const MAX_LINES: usize = 60;

static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^error(?:\[E\d+\])?: \S"));
static ARROW: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s*--> (.+?):(\d+):\d+$"));

/// Cargo's errors for something missing outside of the project, most often because there is no network.
const ENVIRONMENT: [&str; 9] = [
    "no matching package named",
    "--offline was specified",
    "failed to download",
    "unable to update registry",
    "failed to load source for dependency",
    "requires rustc ",
    "error: no such command",
    "rustup could not choose a version",
    "is not installed for the toolchain",
];

/// Summaries that repeat earlier errors.
const SUMS: [&str; 7] = [
    // From nextest.
    "error: command `",
    "error: could not compile",
    "error: aborting due to",
    "error: test failed",
    "error: doctest failed",
    "error: build failed",
    "error: process didn't exit successfully",
];

/// Collects errors line by line.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    found: Vec<Diagnostic>,
    open: bool,
    did_not_compile: bool,
}

#[derive(Debug)]
struct Diagnostic {
    lines: Vec<String>,
    place: Option<Location>,
}

/// One line of `--message-format json`; <https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages>
#[derive(Deserialize)]
struct JsonLine {
    message: Option<JsonMessage>,
}

#[derive(Deserialize)]
struct JsonMessage {
    level: String,
    message: String,
    rendered: Option<String>,
    #[serde(default)]
    spans: Vec<JsonSpan>,
}

#[derive(Deserialize)]
struct JsonSpan {
    file_name: String,
    line_start: u32,
    is_primary: bool,
}

/// Reads the output of `cargo check` and similar commands.
fn parse(text: &str) -> ParsedRun {
    let (mut parsed, mut diagnostics) = (ParsedRun::default(), Diagnostics::default());
    text.lines().for_each(|line| diagnostics.line(line));
    diagnostics.finish(&mut parsed, text);
    parsed
}

impl Diagnostics {
    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("{\"reason\":\"compiler-message\"") {
            self.json(line);
            return;
        }
        self.did_not_compile |= line.starts_with("error: could not compile");
        if ERROR.as_ref().is_some_and(|error| error.is_match(line)) {
            self.open = false;
            let sum = SUMS.iter().any(|sum| line.starts_with(sum)) || line.contains("target failed:");
            if !sum && !line.contains("targets failed:") && self.found.len() < TestRun::MAX_FAILURES {
                self.found.push(Diagnostic {
                    lines: vec![line.to_string()],
                    place: None,
                });
                self.open = true;
            }
            return;
        }
        // An empty line ends a diagnostic; lines after it belong to no diagnostic until the next one starts.
        self.open &= !line.is_empty();
        let Some(last) = self.found.last_mut().filter(|_| self.open) else {
            return;
        };
        if last.place.is_none()
            && let Some(arrow) = ARROW.as_ref().and_then(|arrow| arrow.captures(line))
        {
            last.place = location(&arrow[1], &arrow[2]);
        }
        if last.lines.len() < MAX_LINES {
            last.lines.push(line.to_string());
        }
    }

    fn json(&mut self, line: &str) {
        let Ok(JsonLine { message: Some(message) }) = serde_json::from_str::<JsonLine>(line) else {
            return;
        };
        if message.level != "error" || message.message.starts_with("aborting due to") {
            return;
        }
        let primary = message.spans.iter().find(|span| span.is_primary);
        let rendered = message.rendered.unwrap_or(message.message);
        if self.found.len() < TestRun::MAX_FAILURES {
            self.did_not_compile = true;
            self.found.push(Diagnostic {
                lines: crate::text::clean(rendered.as_bytes())
                    .lines()
                    .map(ToString::to_string)
                    .collect(),
                place: primary.map(|span| Location {
                    path: span.file_name.clone(),
                    line: span.line_start,
                }),
            });
        }
    }

    /// Passes on the errors. If tests ran, errors only count if cargo says that compiling failed: a test may have
    /// printed them.
    pub(super) fn finish(self, parsed: &mut ParsedRun, text: &str) {
        let nothing_ran = !parsed.ran();
        if nothing_ran && !self.did_not_compile && ENVIRONMENT.iter().any(|mark| text.contains(mark)) {
            parsed.anomaly = Some(Anomaly::Environment);
            return;
        }
        if nothing_ran || self.did_not_compile {
            for diagnostic in self.found {
                let name = diagnostic.lines.first().map_or("", String::as_str);
                parsed.diagnose(name, diagnostic.place.clone(), &diagnostic.lines.join("\n"));
            }
        }
        if self.did_not_compile && parsed.diagnostics.is_empty() {
            parsed.diagnose("error: could not compile", None, "");
        }
    }
}
