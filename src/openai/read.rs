//! Parses what endpoints that claim to be OpenAI-compatible really send: fields that are missing, null, renamed or of
//! another type. No unneeded field makes parsing fail.

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::failure::{Failure, error_message};
use crate::agent::{Reply, ToolCall, Usage};

/// The first choice of a chat completion.
pub(super) fn reply(answer: &Value) -> Result<Reply, Failure> {
    if answer.get("choices").is_none()
        && let Some(failure) = refused_within(answer)
    {
        return Err(failure);
    }
    let message = answer
        .pointer("/choices/0/message")
        .filter(|message| message.is_object());
    let message = message.ok_or_else(|| Failure::Nonsense("no `choices` with a `message`".into()))?;
    let is_cut = answer
        .pointer("/choices/0/finish_reason")
        .is_some_and(|reason| reason == "length");
    Ok(Reply {
        text: text(&message["content"]).or_else(|| text(&message["refusal"])),
        calls: calls(message, is_cut),
        usage: usage(&answer["usage"]),
        ..Reply::default()
    })
}

/// The usage of one round trip, by the field names of either API.
pub(super) fn usage(usage: &Value) -> Usage {
    let first = |places: &[&str]| {
        count(
            places
                .iter()
                .find_map(|place| usage.pointer(place))
                .unwrap_or(&Value::Null),
        )
    };
    Usage {
        prompt_tokens: first(&["/prompt_tokens", "/input_tokens"]),
        cached_tokens: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
        ]),
        completion_tokens: first(&["/completion_tokens", "/output_tokens"]),
        ..Usage::default()
    }
}

/// The error in an answer whose status reports success: in a stream, or from a gateway.
pub(super) fn refused_within(answer: &Value) -> Option<Failure> {
    error_message(answer)?;
    let code = answer.pointer("/error/code").and_then(Value::as_u64);
    let status = code
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| *code >= 400);
    Some(Failure::refused(status.unwrap_or(500), answer, "", &HeaderMap::new()))
}

/// A string, or the text parts of a list.
pub(super) fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<_> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()))
                .collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

fn calls(message: &Value, is_cut: bool) -> Vec<ToolCall> {
    let calls = match &message["tool_calls"] {
        Value::Array(calls) => calls.as_slice(),
        call @ Value::Object(_) => std::slice::from_ref(call),
        _ => &[],
    };
    // OpenAI's predecessor of tool calls, which some servers still send.
    let legacy = message
        .get("function_call")
        .filter(|call| call.is_object() && calls.is_empty());
    let calls: Vec<&Value> = calls.iter().chain(legacy).collect();
    let last = calls.len().saturating_sub(1);
    let calls = calls.into_iter().enumerate();
    calls.map(|(at, item)| call(item, is_cut && at == last)).collect()
}

/// One call. If the answer was cut off, missing arguments stay malformed, so that the call is not made without them.
pub(super) fn call(call: &Value, is_cut: bool) -> ToolCall {
    let function = call
        .get("function")
        .filter(|function| function.is_object())
        .unwrap_or(call);
    let missing = if is_cut { "" } else { "{}" };
    ToolCall {
        id: call["id"].as_str().unwrap_or_default().into(),
        name: function["name"].as_str().unwrap_or_default().into(),
        arguments: arguments(&function["arguments"]).unwrap_or_else(|| missing.into()),
    }
}

/// The arguments of a call, or of a part of one, as text.
pub(super) fn arguments(arguments: &Value) -> Option<String> {
    match arguments {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn count(number: &Value) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    number
        .as_u64()
        .or_else(|| number.as_f64().map(|float| float as u64))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openai::failure::About;

    #[track_caller]
    fn check(message: Value, text: Option<&str>, calls: &[(&str, &str, &str)]) {
        let reply = reply(&json!({ "choices": [{ "message": message }] })).unwrap();
        let got: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!((reply.text.as_deref(), got.as_slice()), (text, calls));
    }

    #[test]
    fn messages_of_real_servers_are_read() {
        check(json!({}), None, &[]);
        check(json!({ "content": null, "tool_calls": null }), None, &[]);
        check(
            json!({ "content": "a", "role": "model", "reasoning_content": "b" }),
            Some("a"),
            &[],
        );
        check(
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "image" }, "b"] }),
            Some("a\nb"),
            &[],
        );
        check(json!({ "content": null, "refusal": "no" }), Some("no"), &[]);
        let function = json!({ "name": "think", "arguments": "{\"a\":1}" });
        check(
            json!({ "tool_calls": [{ "id": "x", "type": "function", "function": function }] }),
            None,
            &[("x", "think", "{\"a\":1}")],
        );
        check(
            json!({ "tool_calls": [{ "function": function }] }),
            None,
            &[("", "think", "{\"a\":1}")],
        );
        check(
            json!({ "function_call": function }),
            None,
            &[("", "think", "{\"a\":1}")],
        );
        check(
            json!({ "tool_calls": [{ "id": 7, "name": "think", "arguments": { "a": 1 } }, { "function": { "name": "b" } }] }),
            None,
            &[("", "think", "{\"a\":1}"), ("", "b", "{}")],
        );
        check(
            json!({ "tool_calls": [{ "function": { "name": "think", "arguments": "{\"a\":" } }] }),
            None,
            &[("", "think", "{\"a\":")],
        );
    }

    /// Deviations from OpenAI's schema, each seen on a real server.
    #[test]
    fn no_field_has_to_be_as_the_schema_says() {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{\"x\":1}" } });
        let whole = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "service_tier": "default",
            "choices": [{
                "index": 0, "finish_reason": "tool_calls", "logprobs": null,
                "message": { "role": "assistant", "content": "a", "tool_calls": [call] },
            }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
        });
        let odd = [
            ("/id", json!(null)),
            ("/id", json!(7)),
            ("/object", json!(null)),
            ("/object", json!("")),
            ("/created", json!(null)),
            ("/created", json!(1.5)),
            ("/created", json!("now")),
            ("/model", json!(null)),
            ("/service_tier", json!("on_demand")),
            ("/usage", json!(null)),
            ("/usage", json!({ "prompt_tokens": 1 })),
            ("/usage/total_tokens", json!(2.0)),
            ("/choices/0/index", json!(null)),
            ("/choices/0/index", json!("0")),
            ("/choices/0/logprobs", json!({})),
            ("/choices/0/finish_reason", json!(null)),
            ("/choices/0/finish_reason", json!("")),
            ("/choices/0/finish_reason", json!("eos")),
            ("/choices/0/finish_reason", json!("length")),
            ("/choices/0/message/role", json!(null)),
            ("/choices/0/message/role", json!("model")),
            ("/choices/0/message/content", json!([{ "type": "text", "text": "a" }])),
            ("/choices/0/message/tool_calls", call.clone()),
            ("/choices/0/message/tool_calls/0/type", json!(null)),
            ("/choices/0/message/tool_calls/0/type", json!("tool")),
            ("/choices/0/message/tool_calls/0/function/arguments", json!({ "x": 1 })),
            (
                "/choices/0/message/tool_calls/0",
                json!({ "id": "a", "name": "f", "arguments": "{\"x\":1}" }),
            ),
        ];
        assert_eq!(odd.len(), 27);
        for (place, value) in odd {
            let mut answer = whole.clone();
            *answer.pointer_mut(place).unwrap() = value.clone();
            let reply = reply(&answer).unwrap();
            let called = &reply.calls[0];
            let got = (
                reply.text.as_deref(),
                called.id.as_str(),
                called.name.as_str(),
                called.arguments.as_str(),
            );
            assert_eq!(got, (Some("a"), "a", "f", "{\"x\":1}"), "{place} = {value}");
        }
    }

    #[test]
    fn usage_may_be_missing_or_odd() {
        let usage = |usage: Value| {
            reply(&json!({ "choices": [{ "message": {} }], "usage": usage }))
                .unwrap()
                .usage
        };
        assert_eq!(usage(json!(null)), Usage::default());
        assert_eq!(
            usage(json!({ "prompt_tokens": 3.0, "completion_tokens": -1 })),
            Usage {
                prompt_tokens: 3,
                completion_tokens: 0,
                ..Usage::default()
            }
        );
    }

    #[test]
    fn what_is_no_completion_is_a_failure() {
        for answer in [
            json!(null),
            json!([]),
            json!({ "choices": [] }),
            json!({ "choices": [{ "message": 1 }] }),
        ] {
            assert!(matches!(reply(&answer), Err(Failure::Nonsense(_))), "{answer}");
        }
        let failure = reply(&json!({ "error": { "message": "busy", "code": 503 } })).unwrap_err();
        assert_eq!(
            failure,
            Failure::Refused {
                status: 503,
                message: "busy".into(),
                wait: None,
                about: About::Other,
            }
        );
    }

    #[test]
    fn error_bodies_of_all_kinds_have_a_message() {
        for body in [
            json!({ "error": { "message": "m", "type": "t", "code": 1 } }),
            json!({ "error": "m" }),
            json!({ "object": "error", "message": "m", "code": 400 }),
            json!({ "detail": "m" }),
        ] {
            assert_eq!(error_message(&body), Some("m"), "{body}");
        }
    }
}
