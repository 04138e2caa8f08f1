//! The formats of requests and answers on the wire, for both interfaces, streamed or not.

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{Ending, Refuses, response};

/// The messages or items of a request.
pub(in crate::harness) fn history(request: &Value) -> Vec<Value> {
    let history = request["messages"].as_array().or_else(|| request["input"].as_array());
    history.cloned().unwrap_or_default()
}

/// The id of the call that a message answers, and the text of the result.
pub(in crate::harness) fn result(message: &Value) -> Option<(&str, &str)> {
    let is_item = message["type"] == "function_call_output";
    let (id, text) = if is_item {
        ("call_id", "output")
    } else {
        ("tool_call_id", "content")
    };
    (is_item || message["role"] == "tool").then(|| (message[id].as_str().unwrap(), message[text].as_str().unwrap()))
}

/// Whether a message is the shortened form of an earlier one.
pub(in crate::harness) fn is_left_out(earlier: &Value, now: &Value) -> bool {
    match (result(earlier), result(now)) {
        (Some((one, _)), Some((two, text))) => one == two && text.starts_with("[left out: "),
        _ => false,
    }
}

/// The server's error for a request with a rejected feature.
pub(in crate::harness) fn refusal(request: &Value, what: Refuses) -> Option<&'static str> {
    let (is_in, message) = match what {
        Refuses::Tools => (request.get("tools").is_some(), "scripted does not support tools"),
        Refuses::Streams => (request["stream"] == true, "stream is not supported"),
        Refuses::StreamUsage => (
            request.get("stream_options").is_some(),
            "Unrecognized request argument supplied: stream_options",
        ),
    };
    is_in.then_some(message)
}

/// Each call has one result, directly after the reply with the call.
pub(in crate::harness) fn every_call_has_one_result(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if let Some((id, _)) = result(message) {
            let at = open.iter().position(|call| *call == id);
            open.remove(at.ok_or_else(|| format!("{id} has a result but was not called, or has two"))?);
            continue;
        }
        let is_item = message["type"] == "function_call";
        if !open.is_empty() && !is_item {
            return Err(format!("{open:?} have no result"));
        }
        if !is_item && message["role"] != "assistant" && !message["content"].is_string() {
            return Err(format!("a message has no text: {message}"));
        }
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls = calls.iter().map(|call| (&call["id"], &call["function"]["arguments"]));
        let item = is_item.then_some((&message["call_id"], &message["arguments"]));
        for (id, arguments) in calls.chain(item) {
            open.push(id.as_str().ok_or("a call has no id")?);
            let arguments = arguments.as_str().ok_or("a call has no arguments")?;
            serde_json::from_str::<Value>(arguments)
                .map_err(|_| "a call of the history has arguments that are no JSON")?;
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} have no result"))
    }
}

/// An answer in the interface of the request, as a stream if requested.
pub(in crate::harness) fn answer(
    request: &Value,
    number: usize,
    text: Option<String>,
    calls: &[(String, String)],
) -> Response {
    let size = request.to_string().len();
    let is_stream = request["stream"] == true;
    if request.get("input").is_some() {
        let (whole, events) = responses(number, text, calls, size);
        if is_stream {
            events_of(&events, false)
        } else {
            response(200, &[], whole.to_string())
        }
    } else {
        let (whole, mut chunks) = chat(number, text, calls, size);
        if request["stream_options"]["include_usage"] != true {
            chunks.pop();
        }
        if is_stream {
            events_of(&chunks, true)
        } else {
            response(200, &[], whole.to_string())
        }
    }
}

fn chat(number: usize, text: Option<String>, calls: &[(String, String)], size: usize) -> (Value, Vec<Value>) {
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": size / 4, "completion_tokens": 20, "total_tokens": size / 4 + 20 });
    let head = json!({ "id": format!("chatcmpl-{number}"), "created": 1_700_000_000, "model": "scripted" });
    let chunk = |choices: Value| {
        let mut chunk = head.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]));
    let mut chunks = vec![delta(json!({ "role": "assistant", "content": null }))];
    for half in text.iter().flat_map(|text| halves(text)) {
        chunks.push(delta(json!({ "content": half })));
    }
    let mut message = json!({ "role": "assistant", "content": text });
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call-{number}-{index}");
        let call = json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        if index == 0 {
            message["tool_calls"] = json!([]);
        }
        message["tool_calls"].as_array_mut().unwrap().push(call);
        let first =
            json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
        chunks.push(delta(json!({ "tool_calls": [first] })));
        for half in halves(arguments) {
            chunks.push(delta(
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": half } }] }),
            ));
        }
    }
    chunks.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }])));
    let mut last = chunk(json!([]));
    last["usage"] = usage.clone();
    chunks.push(last);
    let mut whole = head.clone();
    whole["object"] = "chat.completion".into();
    whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
    whole["usage"] = usage;
    (whole, chunks)
}

fn responses(number: usize, text: Option<String>, calls: &[(String, String)], size: usize) -> (Value, Vec<Value>) {
    let id = format!("resp_{number}");
    let mut output = vec![json!({ "type": "reasoning", "id": "rs_0", "summary": [] })];
    let mut events = vec![json!({ "type": "response.created", "response": { "id": id, "status": "in_progress" } })];
    if let Some(text) = text {
        for half in halves(&text) {
            events.push(
                json!({ "type": "response.output_text.delta", "item_id": "msg_0", "output_index": 1, "delta": half }),
            );
        }
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        output.push(json!({ "type": "message", "id": "msg_0", "role": "assistant", "content": content }));
    }
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let (call_id, id) = (format!("call-{number}-{index}"), format!("fc_{index}"));
        let item = |arguments: &str| json!({ "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments });
        events.push(json!({ "type": "response.output_item.added", "output_index": output.len(), "item": item("") }));
        for half in halves(arguments) {
            events.push(json!({ "type": "response.function_call_arguments.delta", "item_id": id, "delta": half }));
        }
        events.push(
            json!({ "type": "response.output_item.done", "output_index": output.len(), "item": item(arguments) }),
        );
        output.push(item(arguments));
    }
    let usage =
        json!({ "input_tokens": size / 4, "output_tokens": 20, "input_tokens_details": { "cached_tokens": 0 } });
    let whole = json!({ "id": id, "object": "response", "status": "completed", "error": null, "output": output, "usage": usage });
    events.push(json!({ "type": "response.completed", "response": whole }));
    (whole, events)
}

fn halves(text: &str) -> Vec<String> {
    let middle = text.chars().count() / 2;
    let halves = [
        text.chars().take(middle).collect::<String>(),
        text.chars().skip(middle).collect(),
    ];
    halves.into_iter().filter(|half| !half.is_empty()).collect()
}

fn events_of(events: &[Value], says_done: bool) -> Response {
    let mut text = String::from(": keep-alive\n\n");
    for event in events {
        if let Some(kind) = event["type"].as_str() {
            text.push_str(&format!("event: {kind}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    if says_done {
        text.push_str("data: [DONE]\n\n");
    }
    // The parts may end anywhere, even inside a character.
    stream(text.as_bytes().chunks(61).map(<[u8]>::to_vec).collect(), Ending::Closed)
}

/// A stream of the given parts.
pub(in crate::harness) fn stream(parts: Vec<Vec<u8>>, ending: Ending) -> Response {
    let last = parts.last().cloned().unwrap_or_default();
    let parts = futures::stream::iter(parts.into_iter().map(|part| Ok(Bytes::from(part))));
    let rest = match ending {
        Ending::Closed => futures::stream::empty().boxed(),
        Ending::Broken => futures::stream::iter([Err(std::io::Error::other("cut"))]).boxed(),
        Ending::Open => futures::stream::pending().boxed(),
        Ending::Endless => futures::stream::repeat_with(move || Ok(Bytes::from(last.clone()))).boxed(),
    };
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(parts.chain(rest)))
        .unwrap()
}
