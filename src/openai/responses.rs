//! Parses the Responses API, streamed or not. Unknown items and events are skipped.
//!
//! Nothing is stored at the endpoint: every request carries the whole history, as with chat completions.
//! <https://platform.openai.com/docs/api-reference/responses-streaming>

use serde_json::{Value, json};

use super::failure::Failure;
use super::read::{arguments, call, refused_within, text, usage};
use super::stream_tap::{Heard, StreamTap};
use crate::agent::Reply;

/// Further items in one answer are ignored.
const MAX_ITEMS: usize = 256;

/// Parses a response.
pub(super) fn reply(answer: &Value) -> Result<Reply, Failure> {
    let output = answer["output"].as_array().map(Vec::as_slice).unwrap_or_default();
    if output.is_empty()
        && let Some(failure) = refused_within(answer)
    {
        return Err(failure);
    }
    if !answer["output"].is_array() {
        return Err(Failure::Nonsense("no `output`".into()));
    }
    let of = |kind: &'static str| output.iter().filter(move |item| item["type"] == kind);
    let said = of("message").filter_map(|item| text(&item["content"]).or_else(|| refusal(item)));
    let said: Vec<String> = said.collect();
    let is_cut = answer["status"] == "incomplete";
    let last = of("function_call").count().saturating_sub(1);
    let calls = of("function_call").enumerate().map(|(at, item)| {
        let mut call = call(item, is_cut && at == last);
        if let Some(id) = item["call_id"].as_str() {
            call.id = id.into();
        }
        call
    });
    Ok(Reply {
        calls: calls.collect(),
        text: (!said.is_empty()).then(|| said.join("\n")),
        usage: usage(&answer["usage"]),
        ..Reply::default()
    })
}

fn refusal(item: &Value) -> Option<String> {
    let parts = item["content"].as_array()?;
    parts.iter().find_map(|part| part["refusal"].as_str().map(String::from))
}

/// The part of a streamed response that has arrived.
#[derive(Debug, Default)]
pub(super) struct Events {
    items: Vec<Value>,
    /// The response as of the last event, or an error.
    last: Option<Value>,
}

impl Events {
    /// Takes in the next event.
    pub(super) fn take(&mut self, mut event: Value, tap: &StreamTap) {
        if self.last.is_some() {
            return;
        }
        let said = |event: &Value| event["delta"].as_str().unwrap_or_default().to_string();
        let kind = event["type"].as_str().unwrap_or_default().to_string();
        match kind.as_str() {
            "response.output_item.added" => {
                if let Some(name) = event["item"]["name"]
                    .as_str()
                    .filter(|_| event["item"]["type"] == "function_call")
                {
                    tap.hear(Heard::Call(name.into()));
                }
                self.put(&event["item"], &event["item"]["id"], &event["output_index"]);
            }
            "response.output_item.done" => self.put(&event["item"], &event["item"]["id"], &event["output_index"]),
            "response.output_text.delta" => {
                let said = said(&event);
                self.add(&event, &said);
                tap.hear(Heard::Text(said));
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                tap.hear(Heard::Reasoning(said(&event)));
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = arguments(&event["arguments"])
                    && let Some(item) = self.item(&event["item_id"], &event["output_index"])
                {
                    item["arguments"] = arguments.into();
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.last = Some(event["response"].take());
            }
            "error" => self.last = Some(event),
            _ if event["type"].is_null() && refused_within(&event).is_some() => self.last = Some(event),
            _ => {}
        }
    }

    /// Whether all further events are ignored.
    pub(super) fn is_done(&self) -> bool {
        self.last.is_some()
    }

    /// The answer, if the stream is complete.
    pub(super) fn answer(self) -> Option<Value> {
        let mut answer = self.last?;
        let is_empty = answer["output"].as_array().is_none_or(Vec::is_empty);
        // Some servers end with an empty response, because they sent its items before.
        if is_empty && !self.items.is_empty() && refused_within(&answer).is_none() {
            answer["output"] = self
                .items
                .into_iter()
                .map(|mut item| {
                    if let Some(item) = item.as_object_mut() {
                        item.remove("output_index");
                    }
                    item
                })
                .collect();
        }
        Some(answer)
    }

    fn put(&mut self, item: &Value, id: &Value, index: &Value) {
        if !item.is_object() {
            return;
        }
        let mut item = item.clone();
        item["output_index"] = index.clone();
        if let Some(known) = self.item(id, index) {
            *known = item;
        } else if self.items.len() < MAX_ITEMS {
            self.items.push(item);
        }
    }

    /// Adds text to a message, for servers that do not send the complete text at the end.
    fn add(&mut self, event: &Value, said: &str) {
        if self.item(&event["item_id"], &event["output_index"]).is_none() {
            let item = json!({ "type": "message", "id": event["item_id"], "content": [] });
            self.put(&item, &event["item_id"], &event["output_index"]);
        }
        if let Some(item) = self.item(&event["item_id"], &event["output_index"]) {
            let before = item["content"][0]["text"].as_str().unwrap_or_default();
            item["content"] = json!([{ "type": "output_text", "text": format!("{before}{said}") }]);
        }
    }

    fn item(&mut self, id: &Value, index: &Value) -> Option<&mut Value> {
        let is_it = |item: &Value| match (id.is_null(), index.is_null()) {
            (false, _) => item["id"] == *id,
            (true, false) => item["output_index"] == *index,
            (true, true) => false,
        };
        self.items.iter_mut().rfind(|item| is_it(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(events: &[Value]) -> (Option<Value>, String) {
        let (tap, mut hears) = StreamTap::new();
        let mut stream = Events::default();
        for event in events {
            stream.take(event.clone(), &tap);
        }
        let heard = std::iter::from_fn(|| hears.try_recv().ok()).map(|heard| format!("{heard:?}"));
        (stream.answer(), heard.collect::<Vec<_>>().join(" "))
    }

    fn output() -> Value {
        json!([
            { "type": "reasoning", "id": "r", "summary": [] },
            { "type": "message", "id": "m", "content": [{ "type": "output_text", "text": "Let me see." }] },
            { "type": "web_search_call", "id": "w" },
            { "type": "function_call", "id": "f", "call_id": "c", "name": "think", "arguments": "{\"thought\":1}" },
            { "type": "function_call", "id": "g", "call_id": "d", "name": "submit", "arguments": { "a": 1 } },
        ])
    }

    #[track_caller]
    fn check(reply: &Reply) {
        assert_eq!(reply.text.as_deref(), Some("Let me see."));
        let calls: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(calls, [("c", "think", "{\"thought\":1}"), ("d", "submit", "{\"a\":1}")]);
        let usage = reply.usage;
        assert_eq!(
            (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens),
            (9, 4, 2)
        );
    }

    #[test]
    fn a_response_is_read_whether_it_is_streamed_or_not() {
        let usage = json!({ "input_tokens": 9, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 4 } });
        check(&reply(&json!({ "status": "completed", "output": output(), "usage": usage })).unwrap());

        let mut events = vec![
            json!({ "type": "response.created", "response": {} }),
            json!({ "type": "response.surprise" }),
        ];
        events.push(json!({ "type": "response.reasoning_summary_text.delta", "delta": "hm" }));
        for (index, item) in output().as_array().unwrap().iter().enumerate() {
            events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
            if item["type"] == "message" {
                events.push(json!({ "type": "response.output_text.delta", "item_id": "m", "delta": "Let" }));
            }
            events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        }
        events.push(json!({ "type": "response.completed", "response": { "output": [], "usage": usage } }));
        let (answer, heard) = streamed(&events);
        check(&reply(&answer.unwrap()).unwrap());
        assert_eq!(heard, r#"Reasoning("hm") Text("Let") Call("think") Call("submit")"#);
        assert_eq!(streamed(&events[..events.len() - 1]).0, None, "it was cut");
    }

    #[test]
    fn deltas_alone_are_enough() {
        let (answer, _) = streamed(&[
            json!({ "type": "response.output_text.delta", "item_id": "m", "delta": "Hel" }),
            json!({ "type": "response.output_text.delta", "item_id": "m", "delta": "lo" }),
            json!({ "type": "response.output_item.added", "item": { "type": "function_call", "id": "f", "name": "think" } }),
            json!({ "type": "response.function_call_arguments.done", "item_id": "f", "arguments": "{}" }),
            json!({ "type": "response.completed", "response": {} }),
        ]);
        let reply = reply(&answer.unwrap()).unwrap();
        assert_eq!(
            (reply.text.as_deref(), reply.calls[0].arguments.as_str()),
            (Some("Hello"), "{}")
        );
    }

    #[test]
    fn errors_are_reported_wherever_they_are() {
        for event in [
            json!({ "type": "error", "code": "server_error", "message": "overloaded" }),
            json!({ "type": "error", "error": { "message": "overloaded" } }),
            json!({ "type": "response.failed", "response": { "output": [], "error": { "message": "overloaded" } } }),
            json!({ "error": { "message": "overloaded" } }),
        ] {
            let failure = reply(&streamed(&[event]).0.unwrap()).unwrap_err();
            assert!(
                matches!(&failure, Failure::Refused { status: 500, message, .. } if message == "overloaded"),
                "{failure:?}"
            );
        }
        assert!(matches!(reply(&json!({ "choices": [] })), Err(Failure::Nonsense(_))));
    }

    #[test]
    fn a_call_cut_by_length_is_malformed() {
        let item = json!({ "type": "function_call", "call_id": "c", "name": "think" });
        let cut = json!({ "status": "incomplete", "output": [item] });
        assert_eq!(reply(&cut).unwrap().calls[0].arguments, "");
        let refused = json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }] });
        assert_eq!(reply(&refused).unwrap().text.as_deref(), Some("no"));
    }
}
