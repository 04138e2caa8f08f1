//! ESLint: reads its JSON output, or the text of its `stylish` formatter.

use std::sync::LazyLock;

use greenlight_readers::lenient::{self, MaybeRead};
use greenlight_readers::test_run::{Location, TestRun};
use greenlight_readers::{ParsedRun, Printed, documents};
use regex::Regex;
use serde::Deserialize;

use super::javascript;
use crate::discover::javascript::Script;
use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "ESLint",
    ecosystem: Ecosystem::JavaScript,
    kind: FrameworkKind::Linter,
    installers: javascript::INSTALLERS,
    is_check: |line| line.program() == "eslint",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    parse,
    marks: &["\n\u{2716} "],
    settings_error: Some(2),
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    starts: |line| (line.at == 0 && line.program() == "eslint").then_some(line.end),
    options: |_| &["--format=json", "--output-file={report}"],
    report: Some(javascript::JSON),
    ..Script::NEW
};

static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(/\S.*|\S+\.[cm]?[jt]sx?)$"));
static FOUND: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^ +(\d+):(\d+) +(error|warning|✖|⚠) +(.+?)(?:  +(\S+))?$"));

/// The `json` formatter's output for one file: <https://eslint.org/docs/latest/use/formatters/>.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LintedFile {
    #[serde(default, deserialize_with = "lenient::text")]
    file_path: String,
    #[serde(default)]
    messages: Vec<MaybeRead<Message>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default, deserialize_with = "lenient::text")]
    rule_id: String,
    #[serde(default, deserialize_with = "lenient::number")]
    severity: Option<u32>,
    #[serde(default, deserialize_with = "lenient::text")]
    message: String,
    #[serde(default, deserialize_with = "lenient::number")]
    line: Option<u32>,
}

/// One finding.
struct LintMessage {
    rule: String,
    place: Option<Location>,
    message: String,
    is_error: bool,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut reports: Vec<(String, Vec<MaybeRead<LintedFile>>)> = documents(printed.reports, &mut parsed);
    let in_text = printed.text.lines().filter(|line| line.starts_with("[{\"filePath\":"));
    let in_text = in_text.filter_map(|line| serde_json::from_str(line).ok());
    reports.extend(in_text.map(|files| ("the output".to_string(), files)));
    let mut findings: Vec<LintMessage> = Vec::new();
    let has_report = !reports.is_empty();
    for (report, files) in reports {
        for file in files {
            match file {
                MaybeRead::Read(file) => findings.extend(of_file(&report, file, &mut parsed)),
                MaybeRead::Unread(_) => parsed.miss(&report, "the findings in a file have an unknown form"),
            }
        }
    }
    if !has_report || !parsed.unread.is_empty() && findings.is_empty() {
        findings = of_text(printed.text);
    }
    let errors = findings.iter().filter(|finding| finding.is_error).count();
    for (word, count) in [("errors", errors), ("warnings", findings.len() - errors)] {
        if count > 0 {
            parsed.tell(word, u32::try_from(count).unwrap_or(u32::MAX));
        }
    }
    // Warnings fail the run only if there are too many of them; then there are no errors, and warnings are reported.
    note(
        &mut parsed,
        findings.into_iter().filter(|finding| errors == 0 || finding.is_error),
    );
    parsed
}

/// Records findings up to the limit, and counts all of them.
fn note(parsed: &mut ParsedRun, findings: impl Iterator<Item = LintMessage>) {
    for finding in findings {
        let before = parsed.diagnostics.len();
        if before < TestRun::MAX_FAILURES {
            parsed.diagnose(&finding.rule, finding.place, &finding.message);
        }
        parsed.failed = parsed
            .failed
            .saturating_add(u32::from(parsed.diagnostics.len() == before));
    }
}

/// The findings in a file. A finding of an unknown form counts as an error, because it may be one.
fn of_file(report: &str, file: LintedFile, parsed: &mut ParsedRun) -> Vec<LintMessage> {
    let path = file.file_path;
    let mut findings = Vec::new();
    for message in file.messages {
        let MaybeRead::Read(message) = message else {
            parsed.miss(report, &format!("a finding in {path} has an unknown form"));
            continue;
        };
        let rule = if message.rule_id.is_empty() {
            "parsing error".into()
        } else {
            message.rule_id
        };
        findings.push(LintMessage {
            rule,
            place: message.line.map(|line| Location {
                path: path.clone(),
                line,
            }),
            message: message.message,
            is_error: message.severity.is_none_or(|severity| severity > 1),
        });
    }
    findings
}

fn of_text(text: &str) -> Vec<LintMessage> {
    let mut file: Option<String> = None;
    let mut findings = Vec::new();
    for line in text.lines() {
        if let Some(found) = FOUND.as_ref().and_then(|pattern| pattern.captures(line)) {
            let Some(path) = &file else { continue };
            findings.push(LintMessage {
                rule: found.get(5).map_or("parsing error", |rule| rule.as_str()).to_string(),
                place: greenlight_readers::location(path, &found[1]),
                message: found[4].to_string(),
                is_error: matches!(&found[3], "error" | "✖"),
            });
        } else if FILE.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            file = Some(line.trim().to_string());
        }
    }
    findings
}
