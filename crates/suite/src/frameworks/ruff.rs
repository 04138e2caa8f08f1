//! Ruff: reads `ruff check` as full or concise text, JSON or GitHub annotations, and `ruff format --check`.

use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{ParsedRun, location};
use regex::Regex;
use serde::Deserialize;

use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Ruff",
    ecosystem: Ecosystem::Python,
    kind: FrameworkKind::Linter,
    installers: &["python3", "uv"],
    words: &["ruff"],
    is_check: |line| {
        let sub = line.subcommand();
        line.program() == "ruff" && (sub == "check" || (sub == "format" && line.has("--check")))
    },
    parse: |printed| parse(printed.text),
    marks: &["\nFound "],
    settings_error: Some(2),
    ..Spec::NEW
};

/// `bad.py:1:8: F401 [*] message`
static CONCISE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^([^\s:][^:]*):(\d+):\d+: ([A-Z]+\d+|[a-z]+(?:-[a-z]+)+|SyntaxError):?(?: \[\*\])? (.+)$")
});
/// `F401 [*] message`; the location is on the next line.
static HEADLINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^([A-Z]+\d+|[a-z]+(?:-[a-z]+)+|unformatted):?(?: \[\*\])? (\S.*)$"));
static ARROW: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s*--> (.+?):(\d+):\d+$"));
static ANNOTATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^::error title=[Rr]uff \(([^)]+)\),file=([^,]+),line=(\d+).*?::(?:[^:]+:\d+:\d+: )?(?:[A-Z]+\d+|[a-z]+(?:-[a-z]+)+):? (.*?)(?:%0A.*)?$",
    )
});
static FOUND: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Found (\d+) errors?"));

/// One finding of `--output-format json`; with `json-lines` each is on a separate line.
/// <https://docs.astral.sh/ruff/settings/#output-format>
#[derive(Deserialize)]
struct Violation {
    code: Option<String>,
    filename: String,
    location: Option<Row>,
    message: String,
}

#[derive(Deserialize)]
struct Row {
    row: u32,
}

fn parse(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut found = 0u32;
    for finding in findings(text) {
        found = found.saturating_add(1);
        let place = finding.location.map(|row| Location {
            path: finding.filename.clone(),
            line: row.row,
        });
        let code = finding.code.unwrap_or_else(|| "invalid-syntax".into());
        note(&mut parsed, &code, &finding.message, &finding.filename, place);
    }
    if found == 0 {
        found = lines(text, &mut parsed);
    }
    let total = text
        .lines()
        .find_map(|line| FOUND.as_ref()?.captures(line)?[1].parse().ok());
    parsed.settle_found(found, total);
    parsed
}

fn findings(text: &str) -> Vec<Violation> {
    let start = text.lines().position(|line| line == "[" || line.starts_with("[{"));
    if let Some(start) = start {
        let rest: Vec<&str> = text.lines().skip(start).collect();
        let rest = rest.join("\n");
        // The text after the list comes from the other output stream.
        let mut documents = serde_json::Deserializer::from_str(&rest).into_iter::<Vec<Violation>>();
        return documents.next().and_then(Result::ok).unwrap_or_default();
    }
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Reads the text formats and returns the number of findings.
fn lines(text: &str, parsed: &mut ParsedRun) -> u32 {
    let mut found = 0u32;
    let mut headline: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some(file) = line.strip_prefix("Would reformat: ") {
            note(parsed, "unformatted:", "this file would be reformatted", file, None);
        } else if let Some(parts) = captures(&ANNOTATION, line) {
            note(parsed, &parts[1], &parts[4], &parts[2], location(&parts[2], &parts[3]));
        } else if let Some(parts) = captures(&CONCISE, line) {
            note(parsed, &parts[3], &parts[4], &parts[1], location(&parts[1], &parts[2]));
        } else if let Some(place) = captures(&ARROW, line)
            && let Some((code, message)) = headline.take()
        {
            note(parsed, &code, &message, &place[1], location(&place[1], &place[2]));
        } else {
            headline = captures(&HEADLINE, line).map(|parts| (parts[1].to_string(), parts[2].to_string()));
            continue;
        }
        found = found.saturating_add(1);
    }
    found
}

fn captures<'a>(pattern: &LazyLock<Option<Regex>>, line: &'a str) -> Option<regex::Captures<'a>> {
    pattern.as_ref()?.captures(line)
}

/// A finding is identified by its file, rule and message, so moving its line does not change it.
fn note(parsed: &mut ParsedRun, code: &str, message: &str, file: &str, place: Option<Location>) {
    let file = file
        .strip_prefix(greenlight_sandbox::WORKSPACE)
        .map_or(file, |file| file.trim_start_matches('/'));
    let place = place.or_else(|| location(file, "1"));
    parsed.diagnose(
        &format!("{file}: {code} {message}"),
        place,
        &format!("{code} {message}"),
    );
}
