//! The transcript of a model as a page shows it: what it said, the tools it called, and their results.

use serde_json::Value;

use super::text::shown;

/// How many entries are shown, and how long each is at most, in bytes.
pub(super) const MAX_SAID: usize = 200;
const MAX_SAID_TEXT: usize = 4 << 10;
/// How much of an entry its summary shows, in characters.
const MAX_SUMMARY: usize = 80;

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) who: &'static str,
    /// The tools that were called, or the beginning of the text.
    pub(super) summary: String,
    pub(super) text: String,
}

/// What an item of a transcript says.
pub(super) fn entry(item: &Value) -> Said {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let name = |call: &Value| string(&call["name"]);
    let call = |call: &Value| format!("{}({})", string(&call["name"]), string(&call["arguments"]));
    let mut called = Vec::new();
    let (who, text) = if item["reply"].is_object() {
        let calls = || item["reply"]["calls"].as_array().into_iter().flatten();
        called.extend(calls().map(name));
        let lines = std::iter::once(string(&item["reply"]["text"])).chain(calls().map(call));
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        ("model", lines.join("\n"))
    } else if item["result"].is_object() {
        ("result", string(&item["result"]["text"]))
    } else if item["task"].is_object() {
        ("task", string(&item["task"]["task"]))
    } else if item["called"].is_object() {
        called.push(name(&item["called"]["call"]));
        ("call", call(&item["called"]["call"]))
    } else {
        ("greenlight", string(&item["note"]))
    };
    let text = shown(&text, MAX_SAID_TEXT);
    let summary = match called.is_empty() {
        true => beginning(&text),
        false => beginning(&shown(&called.join(", "), MAX_SAID_TEXT)),
    };
    Said { who, summary, text }
}

/// The first line, cut.
fn beginning(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .trim();
    match line.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_says_in_one_line_what_it_is() {
        let of = |item: Value| {
            let Said { who, summary, text } = entry(&item);
            (who, summary, text)
        };
        let calls = json!([{ "name": "read_file", "arguments": "{\"path\":\"a\"}" }, { "name": "run_tests" }]);
        assert_eq!(
            of(json!({ "reply": { "text": "I look.", "calls": calls } })),
            (
                "model",
                "read_file, run_tests".into(),
                "I look.\nread_file({\"path\":\"a\"})\nrun_tests()".into()
            )
        );
        let long = format!("\n{}\nmore", "x".repeat(100));
        let (who, summary, text) = of(json!({ "result": { "text": long } }));
        assert_eq!((who, summary.chars().count(), text), ("result", MAX_SUMMARY + 1, long));
    }
}
