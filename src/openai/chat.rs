//! Assembles the chunks of a streamed chat completion into the same form as an answer that was not streamed.
//!
//! <https://platform.openai.com/docs/api-reference/chat-streaming>

use serde_json::{Value, json};

use super::failure::error_message;
use super::read::{arguments, text};
use super::stream_tap::{Heard, StreamTap};

/// Further calls in one answer are ignored; the transcript keeps far fewer.
const MAX_CALLS: usize = 64;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    text: String,
    refusal: String,
    calls: Vec<FunctionCall>,
    finish_reason: Option<Value>,
    usage: Value,
    /// An answer that arrived in one piece, or an error; it replaces everything else.
    whole: Option<Value>,
    has_begun: bool,
}

#[derive(Debug, Default)]
struct FunctionCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Chunks {
    /// Takes in the next chunk.
    pub(super) fn take(&mut self, chunk: Value, tap: &StreamTap) {
        if self.whole.is_some() {
            return;
        }
        if chunk.get("choices").is_none() && error_message(&chunk).is_some() {
            self.whole = Some(chunk);
            return;
        }
        for usage in [&chunk["usage"], &chunk["x_groq"]["usage"]] {
            if usage.is_object() {
                self.usage = usage.clone();
            }
        }
        let choices = chunk["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) else {
            return;
        };
        if choice["finish_reason"].is_string() {
            self.finish_reason = Some(choice["finish_reason"].clone());
        }
        if choice["delta"].is_object() {
            self.delta(&choice["delta"], tap);
        } else if choice["message"].is_object() && !self.has_begun {
            self.whole = Some(chunk);
        }
    }

    fn delta(&mut self, delta: &Value, tap: &StreamTap) {
        self.has_begun = true;
        if let Some(thought) = text(&delta["reasoning_content"]).or_else(|| text(&delta["reasoning"])) {
            tap.hear(Heard::Reasoning(thought));
        }
        if let Some(text) = text(&delta["content"]) {
            self.text.push_str(&text);
            tap.hear(Heard::Text(text));
        }
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        let calls = match &delta["tool_calls"] {
            Value::Array(calls) => calls.as_slice(),
            call @ Value::Object(_) => std::slice::from_ref(call),
            _ => &[],
        };
        for call in calls
            .iter()
            .chain(delta.get("function_call").filter(|call| call.is_object()))
        {
            self.call(call, tap);
        }
    }

    /// Adds to the call that a piece belongs to. Some servers omit the index, some the id, and some give all calls
    /// the same index.
    fn call(&mut self, piece: &Value, tap: &StreamTap) {
        let function = piece
            .get("function")
            .filter(|function| function.is_object())
            .unwrap_or(piece);
        let (index, id) = (piece["index"].as_u64(), piece["id"].as_str().unwrap_or_default());
        let name = function["name"].as_str().unwrap_or_default();
        let is_other = |call: &FunctionCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let known = match index {
            Some(_) => self
                .calls
                .iter()
                .rposition(|call| call.index == index && !is_other(call)),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        let at = match known {
            Some(at) => at,
            None if self.calls.len() < MAX_CALLS => {
                self.calls.push(FunctionCall {
                    index,
                    ..FunctionCall::default()
                });
                self.calls.len() - 1
            }
            None => return,
        };
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id = id.into();
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name = name.into();
            tap.hear(Heard::Call(name.into()));
        }
        call.arguments
            .push_str(&arguments(&function["arguments"]).unwrap_or_default());
    }

    /// Whether all further chunks are ignored.
    pub(super) fn is_done(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether the answer is complete, though its usage may follow.
    pub(super) fn is_complete(&self) -> bool {
        self.is_done() || self.finish_reason.is_some()
    }

    /// The answer, if it is complete. A stream without an end marker may have been cut off.
    pub(super) fn answer(self, is_done: bool) -> Option<Value> {
        if self.whole.is_some() {
            return self.whole;
        }
        let is_json = |call: &FunctionCall| serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
        let is_cut = !is_done && self.finish_reason.is_none() && !self.calls.iter().all(is_json);
        if !self.has_begun || is_cut {
            return None;
        }
        let reason = self.finish_reason.unwrap_or_default();
        let calls = self.calls.into_iter().map(|call| {
            // A call with empty arguments has none, unless the answer was cut off before them.
            let arguments = match call.arguments.is_empty() && reason != "length" {
                true => Value::Null,
                false => call.arguments.into(),
            };
            json!({ "id": call.id, "function": { "name": call.name, "arguments": arguments } })
        });
        let calls: Vec<_> = calls.collect();
        let or_null = |text: String| if text.is_empty() { Value::Null } else { text.into() };
        let message = json!({ "content": or_null(self.text), "refusal": or_null(self.refusal), "tool_calls": calls });
        let choice = json!({ "message": message, "finish_reason": reason });
        Some(json!({ "choices": [choice], "usage": self.usage }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::read;

    /// What is read from the chunks, and what was passed on meanwhile.
    #[track_caller]
    fn check(deltas: &[Value], end: Option<&str>, calls: &[(&str, &str, &str)], heard: &str) {
        let (tap, mut hears) = StreamTap::new();
        let mut chunks = Chunks::default();
        for delta in deltas {
            chunks.take(json!({ "choices": [{ "delta": delta }] }), &tap);
        }
        chunks.take(json!({ "choices": [{ "delta": {}, "finish_reason": end }] }), &tap);
        let reply = read::reply(&chunks.answer(false).unwrap()).unwrap();
        let got: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        let said = std::iter::from_fn(|| hears.try_recv().ok()).map(|heard| match heard {
            Heard::Text(text) => format!("says {text}"),
            Heard::Reasoning(text) => format!("thinks {text}"),
            Heard::Call(name) => format!("call {name}"),
        });
        assert_eq!(
            (got.as_slice(), said.collect::<Vec<_>>().join("|").as_str()),
            (calls, heard)
        );
    }

    #[test]
    fn calls_come_in_pieces() {
        let named = json!({ "tool_calls": [{ "index": 0, "id": "a", "type": "function", "function": { "name": "f", "arguments": "" } }] });
        let piece =
            |index: Value, text: &str| json!({ "tool_calls": [{ "index": index, "function": { "arguments": text } }] });
        check(
            &[named.clone(), piece(json!(0), "{\"x\":"), piece(json!(0), "1}")],
            Some("tool_calls"),
            &[("a", "f", "{\"x\":1}")],
            "call f",
        );
        check(
            &[named.clone(), piece(Value::Null, "{\"x\":"), piece(Value::Null, "1}")],
            Some("anything"),
            &[("a", "f", "{\"x\":1}")],
            "call f",
        );
        check(&[named], Some("stop"), &[("a", "f", "{}")], "call f");
    }

    #[test]
    fn several_calls_are_told_apart_by_index_or_id() {
        let whole = |index: Value, id: Value, name: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": { "x": 1 } } }] });
        for (first, second) in [
            (whole(json!(0), json!("a"), "f"), whole(json!(0), json!("b"), "g")),
            (whole(Value::Null, json!("a"), "f"), whole(Value::Null, json!("b"), "g")),
            (whole(json!(0), json!("a"), "f"), whole(json!(1), json!("b"), "g")),
        ] {
            let calls = [("a", "f", "{\"x\":1}"), ("b", "g", "{\"x\":1}")];
            check(&[first, second], Some("tool_calls"), &calls, "call f|call g");
        }
        check(
            &[
                whole(Value::Null, Value::Null, "f"),
                whole(Value::Null, Value::Null, "f"),
            ],
            None,
            &[("", "f", "{\"x\":1}"), ("", "f", "{\"x\":1}")],
            "call f|call f",
        );
        let legacy = json!({ "function_call": { "name": "f", "arguments": "{}" } });
        check(&[legacy], Some("function_call"), &[("", "f", "{}")], "call f");
        let bare = json!({ "tool_calls": { "name": "f", "arguments": "{}" } });
        check(&[bare], None, &[("", "f", "{}")], "call f");
    }

    #[test]
    fn text_and_thoughts_are_heard() {
        let deltas = [
            json!({ "role": "assistant", "content": null }),
            json!({ "reasoning_content": "hm" }),
            json!({ "reasoning": "so" }),
            json!({ "content": "a" }),
            json!({ "content": [{ "type": "text", "text": "b" }] }),
        ];
        check(&deltas, Some("eos"), &[], "thinks hm|thinks so|says a|says b");
    }

    #[test]
    fn a_call_cut_by_length_is_malformed() {
        for text in ["", "{\"x\":"] {
            let half =
                json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "f", "arguments": text } }] });
            check(&[half], Some("length"), &[("a", "f", text)], "call f");
        }
    }

    #[test]
    fn a_cut_or_empty_stream_is_no_answer() {
        let (tap, _) = StreamTap::new();
        assert_eq!(Chunks::default().answer(true), None);
        let half =
            json!({ "choices": [{ "delta": { "tool_calls": [{ "function": { "name": "f", "arguments": "{" } }] } }] });
        let mut cut = Chunks::default();
        cut.take(half, &tap);
        assert_eq!(cut.answer(false), None);
    }

    #[test]
    fn an_error_within_a_stream_is_the_answer() {
        let (tap, _) = StreamTap::new();
        let mut chunks = Chunks::default();
        chunks.take(json!({ "choices": [{ "delta": { "content": "a" } }] }), &tap);
        chunks.take(json!({ "error": { "message": "overloaded", "code": 503 } }), &tap);
        let failure = read::reply(&chunks.answer(true).unwrap()).unwrap_err();
        assert!(failure.is_transient() && failure.kind() == "status 503", "{failure:?}");
    }

    #[test]
    fn usage_comes_last_or_in_every_chunk() {
        let (tap, _) = StreamTap::new();
        let mut chunks = Chunks::default();
        for tokens in 1..4 {
            let usage = json!({ "prompt_tokens": 7, "completion_tokens": tokens });
            chunks.take(
                json!({ "choices": [{ "delta": { "content": "a" } }], "usage": usage }),
                &tap,
            );
        }
        chunks.take(json!({ "choices": [], "usage": null }), &tap);
        let usage = read::reply(&chunks.answer(true).unwrap()).unwrap().usage;
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (7, 3));
    }
}
