//! ESLint's fixes and suggestions. <https://eslint.org/docs/latest/use/formatters/#json>

use greenlight_suite::CommandPart;
use serde::Deserialize;

use super::{ToolChange, ToolComplaint, ToolHint, byte_of_utf16};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LintedFile {
    file_path: String,
    messages: Vec<LintMessage>,
}

#[derive(Deserialize)]
struct LintMessage {
    #[serde(default)]
    message: String,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    severity: u8,
    fix: Option<LintFix>,
    #[serde(default)]
    suggestions: Vec<LintSuggestion>,
}

#[derive(Deserialize)]
struct LintSuggestion {
    fix: LintFix,
}

#[derive(Deserialize)]
struct LintFix {
    range: [usize; 2],
    text: String,
}

pub(super) fn command(part: &CommandPart) -> Vec<String> {
    let mut words = part.to_run();
    words.extend(["--format", "json"].map(str::to_owned));
    words
}

pub(super) fn complaints(printed: &str, read: impl Fn(&str) -> Option<String>) -> Vec<ToolComplaint> {
    let line = printed.lines().find(|line| line.starts_with("[{"));
    let files: Vec<LintedFile> = line
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default();
    let mut found = Vec::new();
    for LintedFile { file_path, messages } in files {
        let text = read(&file_path).unwrap_or_default();
        let hint = |fix: LintFix, weight: f32| {
            let [start, end] = fix.range.map(|units| byte_of_utf16(&text, units));
            let change = ToolChange {
                file: file_path.clone(),
                start: start?,
                end: end?,
                before: None,
                after: fix.text,
            };
            Some(ToolHint {
                changes: vec![change],
                weight,
            })
        };
        for message in messages.into_iter().filter(|message| message.severity == 2) {
            let sure = message.fix.and_then(|fix| hint(fix, 1.0));
            let others = message
                .suggestions
                .into_iter()
                .filter_map(|suggestion| hint(suggestion.fix, 0.9));
            found.push(ToolComplaint {
                hints: sure.into_iter().chain(others).collect(),
                file: file_path.clone(),
                line: message.line,
                message: message.message,
            });
        }
    }
    found
}
