//! Shows on standard error what a model says and does while it works. Nothing relies on it.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::terminal;
use crate::agent::{Delta, Item, ToolCall};

/// A longer line is shown in parts, in bytes.
const MAX_LINE: usize = 2 << 10;
/// How much of a path, a name or a pattern is shown, in characters.
const MAX_NAMED: usize = 120;

/// Shows replies as they are generated; silent if nobody watches.
pub(super) struct Voice {
    is_heard: bool,
    line: Mutex<String>,
}

impl Voice {
    pub(super) fn new(is_heard: bool) -> Self {
        Self {
            is_heard,
            line: Mutex::default(),
        }
    }

    /// Handles a chunk of a reply. It is shown line by line, because a secret is only recognised in a whole line.
    pub(super) fn delta(&self, delta: Delta<'_>) {
        let Delta::Text(text) = delta else { return };
        if !self.is_heard {
            return;
        }
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in text.split_inclusive('\n') {
            line.push_str(piece);
            if piece.ends_with('\n') || line.len() > MAX_LINE {
                tell(&std::mem::take(&mut *line));
            }
        }
    }

    /// Handles an item of the transcript, and shows what the model's calls do.
    pub(super) fn item(&self, item: &Value) {
        if !self.is_heard {
            return;
        }
        match serde_json::from_value(item.clone()) {
            Ok(Item::Reply(reply)) => {
                self.pause();
                reply.calls.iter().for_each(show_call);
            }
            Ok(Item::Called { call, .. }) => show_call(&call),
            _ => {}
        }
    }

    /// Ends the current line.
    pub(super) fn pause(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&std::mem::take(&mut *line));
    }
}

/// Prints a line of the model, with a mark so that it cannot be taken for greenlight's own.
fn tell(line: &str) {
    let line = crate::domain::redact::redact(line.trim_end());
    if !line.trim().is_empty() {
        terminal::mention(&format!("  │ {line}"));
    }
}

fn show_call(call: &ToolCall) {
    terminal::mention(&format!("  {}", does(call)));
}

/// What a call does, in a few words.
fn does(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let named = |key: &str| {
        let text = arguments[key].as_str().unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        crate::domain::redact::redact(&line)
            .chars()
            .take(MAX_NAMED)
            .collect::<String>()
    };
    match call.name.as_str() {
        "think" => "thinks".into(),
        "list_files" => format!(
            "lists {}",
            if named("folder").is_empty() {
                "the files".into()
            } else {
                named("folder")
            }
        ),
        "read_file" => format!("reads {}", named("path")),
        "search" => format!("searches for {}", named("pattern")),
        "edit_file" => format!("edits {}", named("path")),
        "write_file" => format!("writes {}", named("path")),
        "apply_patch" => "applies a patch".into(),
        "run_tests" => "runs tests".into(),
        "run_code" => format!(
            "runs {}",
            if named("language").is_empty() {
                "code".into()
            } else {
                named("language")
            }
        ),
        "execute" => "runs a block of code".into(),
        "request_execution" => "asks to run something".into(),
        "submit" => "submits its edits".into(),
        other => format!("calls {}", other.chars().take(MAX_NAMED).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_described_in_a_few_words() {
        let call = |name: &str, arguments: &str| ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        assert_eq!(does(&call("read_file", r#"{"path":"src/x.py"}"#)), "reads src/x.py");
        assert_eq!(does(&call("list_files", "{}")), "lists the files");
        assert_eq!(does(&call("search", r#"{"pattern":"a\n  b"}"#)), "searches for a b");
        assert_eq!(does(&call("edit_file", "no JSON")), "edits ");
    }
}
