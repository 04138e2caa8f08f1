//! Ruff's fixes, also those that it is not sure of. <https://docs.astral.sh/ruff/settings/#output-format>

use greenlight_suite::CommandPart;
use serde::Deserialize;

use super::{ToolChange, ToolComplaint, ToolHint};

#[derive(Deserialize)]
struct RuffMessage {
    filename: String,
    code: Option<String>,
    message: String,
    location: RuffPlace,
    fix: Option<RuffFix>,
}

/// Both from 1.
#[derive(Deserialize, Clone, Copy)]
struct RuffPlace {
    row: usize,
    column: usize,
}

#[derive(Deserialize)]
struct RuffFix {
    applicability: String,
    edits: Vec<RuffEdit>,
}

#[derive(Deserialize)]
struct RuffEdit {
    content: String,
    location: RuffPlace,
    end_location: RuffPlace,
}

pub(super) fn command(part: &CommandPart) -> Vec<String> {
    let mut words = part.to_run();
    words.extend(["--output-format", "json"].map(str::to_owned));
    words
}

pub(super) fn complaints(printed: &str, read: impl Fn(&str) -> Option<String>) -> Vec<ToolComplaint> {
    let start = printed.lines().position(|line| line == "[");
    let whole: String = start.map_or_else(String::new, |start| {
        let lines: Vec<&str> = printed.lines().skip(start).collect();
        let end = lines
            .iter()
            .position(|line| *line == "]")
            .map_or(lines.len(), |end| end + 1);
        lines[..end].join("\n")
    });
    let messages: Vec<RuffMessage> = serde_json::from_str(&whole).unwrap_or_default();
    let complaint = |message: RuffMessage| {
        let text = read(&message.filename).unwrap_or_default();
        let hint = message.fix.and_then(|fix| {
            let weight = match fix.applicability.as_str() {
                "safe" => 1.0,
                "unsafe" => 0.9,
                _ => return None,
            };
            let changes = fix.edits.into_iter().map(|edit| {
                Some(ToolChange {
                    file: message.filename.clone(),
                    start: byte(&text, edit.location)?,
                    end: byte(&text, edit.end_location)?,
                    before: None,
                    after: edit.content,
                })
            });
            Some(ToolHint {
                changes: changes.collect::<Option<_>>()?,
                weight,
            })
        });
        ToolComplaint {
            hints: hint.into_iter().collect(),
            line: u32::try_from(message.location.row).unwrap_or(0),
            message: format!("{} {}", message.code.unwrap_or_default(), message.message),
            file: message.filename,
        }
    };
    messages.into_iter().map(complaint).collect()
}

/// The byte at a row and a column in characters.
fn byte(text: &str, place: RuffPlace) -> Option<usize> {
    let mut start = 0;
    for (row, line) in (1..).zip(text.split_inclusive('\n')) {
        if row == place.row {
            let columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            return columns
                .take(MAX_COLUMNS)
                .nth(place.column.checked_sub(1)?)
                .map(|at| start + at);
        }
        start += line.len();
    }
    (place.column == 1).then_some(text.len())
}

/// Longer lines are not edited.
const MAX_COLUMNS: usize = 100_000;
