//! Texts for people use words: no value in Rust's debug notation in a log or a sentence.

use super::sources::{Tree, code, line_of};

/// Where sentences for people are composed.
const FOR_PEOPLE: [&str; 4] = ["src/cli/", "src/engine/", "src/server/", "src/domain/reply/"];

/// Log levels that everybody sees.
const LOGS: [&str; 3] = ["info!(", "warn!(", "error!("];

pub(super) fn nobody_is_shown_rusts_own_notation(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.shipped() {
        let code = code(text);
        let tests = code.find("\nmod tests {").unwrap_or(code.len());
        let code = &code[..tests];
        for log in LOGS {
            for (at, _) in code.match_indices(log) {
                let inside = call(&code[at + log.len()..]);
                if fields(inside).any(|value| value.starts_with('?')) {
                    complaints.push(format!("{path}:{}: a log line with a `?value`", line_of(code, at)));
                }
            }
        }
        if !FOR_PEOPLE.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let lines = text.lines().enumerate().take(code.matches('\n').count() + 1);
        for (index, line) in lines.filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if [":?}", ":#?}"].iter().any(|notation| line.contains(notation)) {
                complaints.push(format!("{path}:{}: `{{:?}}` in what people read", index + 1));
            }
        }
    }
    complaints
}

/// The text of a call's arguments, up to the closing bracket.
fn call(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The value of each field of a log line: `?value` in `name = ?value` and in `?value`.
fn fields(arguments: &str) -> impl Iterator<Item = &str> {
    let values = arguments.split(',').map(|field| match field.split_once('=') {
        Some((_, value)) => value.trim(),
        None => field.trim(),
    });
    values.filter(|value| !value.is_empty())
}
