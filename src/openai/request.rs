//! Builds requests. They begin in the same way in every turn, so endpoints can cache the beginning.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::agent::{Item, Reply, Speech, ToolCall, ToolSpec, as_shown};
use crate::domain::model::Api;

/// A request to a model, independent of which model it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) history: &'a [Item],
    pub(super) tools: &'a [ToolSpec],
    pub(super) speech: Speech,
}

/// How much of streaming an endpoint supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Streaming {
    /// As a stream that ends with the usage.
    #[default]
    WithUsage,
    Plain,
    /// In one piece.
    Off,
}

/// The body of a request.
pub(super) fn body(api: Api, model: &str, question: &Question<'_>, streaming: Streaming) -> Value {
    match api {
        Api::Chat => chat(model, question, streaming),
        Api::Responses => responses(model, question, streaming),
    }
}

/// <https://platform.openai.com/docs/api-reference/chat/create>
fn chat(model: &str, question: &Question<'_>, streaming: Streaming) -> Value {
    let items = as_shown(question.history);
    let messages: Vec<Value> = match question.speech {
        Speech::Tools => items.iter().flat_map(|item| messages(item)).collect(),
        Speech::Code => plain_conversation(&items)
            .into_iter()
            .map(|(role, text)| json!({ "role": role, "content": text }))
            .collect(),
    };
    let mut body = json!({ "model": model, "messages": messages, "stream": streaming != Streaming::Off });
    if streaming == Streaming::WithUsage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    let tools = question.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
        })
    });
    // Some endpoints refuse an empty list.
    if question.speech == Speech::Tools && !question.tools.is_empty() {
        body["tools"] = tools.collect();
    }
    body
}

fn messages(item: &Item) -> Vec<Value> {
    match item {
        Item::Task { instructions, task } => vec![
            json!({ "role": "system", "content": instructions }),
            json!({ "role": "user", "content": task }),
        ],
        Item::Called { .. } | Item::Compacted { .. } => Vec::new(),
        Item::Note(text) => vec![json!({ "role": "user", "content": text })],
        Item::Result { call_id, text, .. } => vec![json!({ "role": "tool", "tool_call_id": call_id, "content": text })],
        Item::Reply(reply) if reply.calls.is_empty() => {
            vec![json!({ "role": "assistant", "content": reply_text(reply) })]
        }
        Item::Reply(reply) => {
            let calls = reply.calls.iter().map(|call| {
                let function = json!({ "name": call.name, "arguments": valid_arguments(call) });
                json!({ "id": call.id, "type": "function", "function": function })
            });
            vec![json!({ "role": "assistant", "content": reply.text, "tool_calls": calls.collect::<Vec<_>>() })]
        }
    }
}

/// A request that stores nothing at the endpoint, and refers to nothing there.
/// <https://platform.openai.com/docs/api-reference/responses/create>
fn responses(model: &str, question: &Question<'_>, streaming: Streaming) -> Value {
    let items = as_shown(question.history);
    let input: Vec<Value> = match question.speech {
        Speech::Tools => items.iter().flat_map(|item| input(item)).collect(),
        Speech::Code => plain_conversation(&items)
            .into_iter()
            .map(|(role, text)| json!({ "role": role, "content": text }))
            .collect(),
    };
    let mut body = json!({ "model": model, "input": input, "store": false, "stream": streaming != Streaming::Off });
    let tools = question.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": false,
        })
    });
    if question.speech == Speech::Tools && !question.tools.is_empty() {
        body["tools"] = tools.collect();
    }
    body
}

fn input(item: &Item) -> Vec<Value> {
    match item {
        Item::Result { call_id, text, .. } => {
            vec![json!({ "type": "function_call_output", "call_id": call_id, "output": text })]
        }
        Item::Reply(reply) if !reply.calls.is_empty() => {
            let text = reply
                .text
                .iter()
                .map(|text| json!({ "role": "assistant", "content": text }));
            let calls = reply.calls.iter().map(|call| {
                let arguments = valid_arguments(call);
                json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments })
            });
            text.chain(calls).collect()
        }
        // Both APIs use the same messages for plain text.
        _ => messages(item),
    }
}

/// Some servers parse the arguments in the history, and fail on malformed ones.
fn valid_arguments(call: &ToolCall) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
        Ok(_) => call.arguments.clone(),
        Err(_) => json!({ "malformed": call.arguments }).to_string(),
    }
}

/// The conversation of a model without tools: its replies unchanged, and one message of ours between two of them.
fn plain_conversation(items: &[Cow<'_, Item>]) -> Vec<(&'static str, String)> {
    let mut messages: Vec<(&'static str, String)> = Vec::new();
    for item in items {
        let (role, text) = match &**item {
            Item::Task { instructions, task } => {
                messages.push(("system", instructions.clone()));
                ("user", task.as_str())
            }
            Item::Reply(reply) => ("assistant", reply_text(reply)),
            Item::Result { text, .. } | Item::Note(text) => ("user", text.as_str()),
            Item::Called { .. } | Item::Compacted { .. } => continue,
        };
        match messages.last_mut() {
            Some((last, before)) if *last == role => *before = format!("{before}\n\n{text}"),
            _ => messages.push((role, text.into())),
        }
    }
    messages
}

/// The text of a reply. Some endpoints refuse empty messages.
fn reply_text(reply: &Reply) -> &str {
    reply
        .text
        .as_deref()
        .filter(|text| !text.is_empty())
        .unwrap_or("(nothing)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Vec<Item> {
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: "execute".into(),
            arguments: arguments.into(),
        };
        let result = |id: &str, text: &str| Item::Result {
            call_id: id.into(),
            text: text.into(),
            exit: None,
            granted: false,
        };
        vec![
            Item::Task {
                instructions: "Be good.".into(),
                task: "Fix it.".into(),
            },
            Item::Reply(Reply {
                text: Some("So:\n<execute>1</execute>".into()),
                calls: vec![call("a", "{}"), call("b", "{\"x")],
                ..Reply::default()
            }),
            result("a", "one"),
            Item::Called {
                within: "b".into(),
                call: call("c", "{}"),
            },
            result("c", "inside"),
            result("b", "two"),
            Item::Reply(Reply::default()),
            Item::Note("Go on.".into()),
        ]
    }

    fn request_body(api: Api, speech: Speech) -> Value {
        let tools = [ToolSpec {
            name: "execute",
            description: "Runs.",
            parameters: json!({ "type": "object" }),
        }];
        let question = Question {
            history: &history(),
            tools: &tools,
            speech,
        };
        body(api, "m", &question, Streaming::WithUsage)
    }

    #[test]
    fn chat_completions_have_calls_and_results() {
        insta::assert_snapshot!(request_body(Api::Chat, Speech::Tools), @r#"{"messages":[{"content":"Be good.","role":"system"},{"content":"Fix it.","role":"user"},{"content":"So:\n<execute>1</execute>","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"execute"},"id":"a","type":"function"},{"function":{"arguments":"{\"malformed\":\"{\\\"x\"}","name":"execute"},"id":"b","type":"function"}]},{"content":"one","role":"tool","tool_call_id":"a"},{"content":"two","role":"tool","tool_call_id":"b"},{"content":"(nothing)","role":"assistant"},{"content":"Go on.","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"function":{"description":"Runs.","name":"execute","parameters":{"type":"object"}},"type":"function"}]}"#);
    }

    #[test]
    fn responses_have_items_and_keep_nothing_elsewhere() {
        insta::assert_snapshot!(request_body(Api::Responses, Speech::Tools), @r#"{"input":[{"content":"Be good.","role":"system"},{"content":"Fix it.","role":"user"},{"content":"So:\n<execute>1</execute>","role":"assistant"},{"arguments":"{}","call_id":"a","name":"execute","type":"function_call"},{"arguments":"{\"malformed\":\"{\\\"x\"}","call_id":"b","name":"execute","type":"function_call"},{"call_id":"a","output":"one","type":"function_call_output"},{"call_id":"b","output":"two","type":"function_call_output"},{"content":"(nothing)","role":"assistant"},{"content":"Go on.","role":"user"}],"model":"m","store":false,"stream":true,"tools":[{"description":"Runs.","name":"execute","parameters":{"type":"object"},"strict":false,"type":"function"}]}"#);
    }

    #[test]
    fn a_model_without_tools_gets_a_plain_conversation() {
        insta::assert_snapshot!(request_body(Api::Chat, Speech::Code), @r#"{"messages":[{"content":"Be good.","role":"system"},{"content":"Fix it.","role":"user"},{"content":"So:\n<execute>1</execute>","role":"assistant"},{"content":"one\n\ntwo","role":"user"},{"content":"(nothing)","role":"assistant"},{"content":"Go on.","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#);
    }
}
