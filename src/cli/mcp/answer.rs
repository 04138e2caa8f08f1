//! What a tool answers: the document that the command prints with `--json`, or what went wrong and what to do about it.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use super::super::{Exit, terminal};
use crate::domain::redact::{redact, visible};

/// How many entries of a list are sent. A model reads all of them, and the names of the tests that pass say little.
const MAX_LISTED: usize = 100;

/// The answer for work that ended like this. Red tests and a search without a result are results; what keeps the tool
/// from working is an error.
pub(super) fn of(document: &Value, exit: &Exit) -> CallToolResult {
    let is_proposal = document["outcome"] == "proposed";
    match exit {
        Exit::Done | Exit::NoFix(_) | Exit::Limit(_) => CallToolResult::structured(sent(document)),
        Exit::Refused(_) if is_proposal => CallToolResult::structured(sent(document)),
        Exit::Refused(text) | Exit::Usage(text) | Exit::Fault(text) => wrong(text),
        // What the tests lack is in the document.
        Exit::Environment(text) => {
            let mut answer = CallToolResult::structured_error(sent(document));
            answer.content.insert(0, ContentBlock::text(shown(text)));
            answer
        }
        Exit::Stopped => wrong("stopped before it was done"),
    }
}

/// An error, with what to do.
pub(super) fn wrong(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(shown(text))])
}

fn shown(text: &str) -> String {
    redact(&visible(text))
}

/// The document as `--json` prints it, with shorter lists, and without characters that hide text from the person who
/// watches the agent.
fn sent(document: &Value) -> Value {
    let mut document = terminal::rewritten(document, &shown);
    shorten(&mut document);
    document
}

/// Shortens the lists, and says how much each one lacks: `tests_left_out` beside `tests`.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => {
            let mut left_out = Vec::new();
            for (name, member) in members.iter_mut() {
                if let Value::Array(items) = member
                    && items.len() > MAX_LISTED
                {
                    left_out.push((format!("{name}_left_out"), Value::from(items.len() - MAX_LISTED)));
                    items.truncate(MAX_LISTED);
                }
                shorten(member);
            }
            members.extend(left_out);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_error(exit: &Exit) -> bool {
        of(&json!({ "outcome": "refused" }), exit).is_error == Some(true)
    }

    #[test]
    fn red_tests_are_a_result_and_a_missing_tool_is_an_error() {
        for result in [Exit::Done, Exit::NoFix("1 failed".into()), Exit::Limit("time".into())] {
            assert!(!is_error(&result), "{result:?}");
        }
        for error in [
            Exit::Usage("no tests".into()),
            Exit::Refused("no sandbox".into()),
            Exit::Environment("pytest is missing".into()),
            Exit::Fault("a bug".into()),
            Exit::Stopped,
        ] {
            assert!(is_error(&error), "{error:?}");
        }
        let proposed = of(&json!({ "outcome": "proposed" }), &Exit::Refused("nobody".into()));
        assert_eq!(proposed.is_error, Some(false));
    }

    #[test]
    fn long_lists_are_shortened_and_say_so() {
        let tests: Vec<usize> = (0..MAX_LISTED + 7).collect();
        let sent = sent(&json!({ "suites": [{ "tests": tests, "few": [1, 2] }] }));
        let suite = &sent["suites"][0];
        assert_eq!(suite["tests"].as_array().map(Vec::len), Some(MAX_LISTED));
        assert_eq!((&suite["tests_left_out"], &suite["few"]), (&json!(7), &json!([1, 2])));
        assert_eq!(suite["few_left_out"], Value::Null);
    }

    #[test]
    fn nothing_secret_or_invisible_is_in_a_message() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let answer = wrong(&format!("{token}\u{202e}"));
        let text = serde_json::to_string(&answer).unwrap();
        assert!(!text.contains(&token) && !text.contains('\u{202e}'), "{text}");
        let document = json!({ "tail": "a\u{e0041}b", "patch": "a\u{e0041}b" });
        let sent = sent(&document);
        assert_eq!((&sent["tail"], &sent["patch"]), (&json!("ab"), &document["patch"]));
    }
}
