//! Streams: what is heard of an answer while it arrives, and all the ways in which a stream can fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use greenlight::agent::{Delta, Item, Model as _, ModelError, Reply, ToolSpec, Turn as Asked};
use greenlight::domain::model::Api;
use greenlight::openai::{OpenAi, Settings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client;
use crate::harness::model::{Ending, KEY, Refuses, ScriptedModel, Turn, says};

/// Sends one request with one tool. The streamed chunks are joined into a line.
pub(super) async fn ask(client: &OpenAi) -> (Result<Reply, ModelError>, String) {
    let history = [Item::Task {
        instructions: "Be good.".into(),
        task: "Say hello.".into(),
    }];
    ask_about(client, &history).await
}

pub(super) async fn ask_about(client: &OpenAi, history: &[Item]) -> (Result<Reply, ModelError>, String) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&heard);
    let live = move |delta: Delta<'_>| {
        all.lock().unwrap().push(match delta {
            Delta::Text(text) => text.to_string(),
            Delta::Reasoning(text) => format!("({text})"),
            Delta::Call(name) => format!("→{name}"),
        });
    };
    let tools = [ToolSpec {
        name: "think",
        description: "Thinks.",
        parameters: json!({ "type": "object", "properties": { "thought": { "type": "string" } } }),
    }];
    let reply = client
        .reply(&Asked {
            speech: client.speech(),
            history,
            tools: &tools,
            live: &live,
            cancel: &CancellationToken::new(),
        })
        .await;
    let heard = heard.lock().unwrap().join("|");
    (reply, heard)
}

fn settings(model: &ScriptedModel) -> Settings {
    let mut settings = Settings::new(model.base_url().parse().unwrap(), "scripted", KEY.into());
    settings.first_wait = Duration::from_millis(1);
    settings
}

fn stream(events: &[Value], ending: Ending) -> Turn {
    let text: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
    Turn::Stream {
        parts: vec![text.into_bytes()],
        ending,
    }
}

fn says_part(text: &str) -> Value {
    json!({ "choices": [{ "delta": { "content": text } }] })
}

#[tokio::test]
async fn an_answer_is_heard_as_it_comes_in() {
    for api in [Api::Chat, Api::Responses] {
        let turn = Turn::Answer {
            text: Some("Größe 😀.".into()),
            calls: vec![("think".into(), json!({ "thought": "é" }).to_string())],
        };
        let model = ScriptedModel::start([turn.and("think", json!({}))]).await;
        let mut settings = settings(&model);
        settings.api = api;
        let (reply, heard) = ask(&OpenAi::new(settings).unwrap()).await;
        let reply = reply.unwrap();
        assert_eq!(heard, "Größ|e 😀.|→think|→think", "{api:?}");
        assert_eq!(reply.text.as_deref(), Some("Größe 😀."));
        let arguments: Vec<_> = reply.calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, ["{\"thought\":\"é\"}", "{}"]);
        assert_eq!(reply.usage.completion_tokens, 20);
        assert_eq!(reply.model.as_deref(), Some("scripted"));
        model.finish();
    }
}

#[tokio::test]
async fn who_does_not_stream_is_asked_for_as_much_as_it_does_and_only_once() {
    for refused in [
        vec![Refuses::Streams],
        vec![Refuses::StreamUsage],
        vec![Refuses::StreamUsage, Refuses::Streams],
    ] {
        let model = ScriptedModel::start([says("a"), says("b")]).await;
        for what in &refused {
            model.refuses(*what);
        }
        let client = client(&model);
        assert_eq!(ask(&client).await.0.unwrap().text.as_deref(), Some("a"));
        assert_eq!(ask(&client).await.0.unwrap().text.as_deref(), Some("b"));
        assert_eq!(model.refused().len(), refused.len(), "{refused:?}");
        model.finish();
    }
}

#[tokio::test]
async fn a_server_that_answers_in_one_piece_is_read_too() {
    let whole = json!({ "choices": [{ "message": { "content": "Hello." } }], "usage": { "prompt_tokens": 5, "completion_tokens": 1 } });
    let raw = Turn::Raw {
        status: 200,
        headers: vec![],
        body: whole.to_string(),
    };
    let model = ScriptedModel::start([raw, stream(&[whole], Ending::Closed)]).await;
    for _ in 0..2 {
        let (reply, _) = ask(&client(&model)).await;
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_deref(), reply.usage.prompt_tokens), (Some("Hello."), 5));
    }
    model.finish();
}

#[tokio::test]
async fn a_stream_that_breaks_is_asked_for_again() {
    let call = json!({ "choices": [{ "delta": { "tool_calls": [{ "id": "a", "function": { "name": "think", "arguments": "{\"th" } }] } }] });
    let model = ScriptedModel::start([
        stream(&[says_part("Hel")], Ending::Broken),
        stream(&[call], Ending::Closed),
        stream(
            &[
                says_part("Hel"),
                json!({ "error": { "message": "overloaded", "type": "x" } }),
            ],
            Ending::Closed,
        ),
        stream(&[], Ending::Closed),
        says("Hello."),
    ])
    .await;
    let (reply, heard) = ask(&client(&model)).await;
    assert_eq!(reply.unwrap().text.as_deref(), Some("Hello."));
    // The last chunk before a broken connection may be lost.
    assert!(heard.ends_with("→think|Hel|Hel|lo."), "{heard}");
    model.finish();
}

#[tokio::test]
async fn an_error_within_a_stream_that_does_not_pass_is_told() {
    let error = json!({ "error": { "message": "no such model", "code": 404 } });
    let model = ScriptedModel::start([stream(&[error], Ending::Open)]).await;
    let error = ask(&client(&model)).await.0.unwrap_err().to_string();
    assert!(error.contains("status 404 (no such model)"), "{error}");
    model.finish();
}

#[tokio::test]
async fn a_stream_needs_neither_a_last_word_nor_a_count() {
    let model = ScriptedModel::start([stream(&[says_part("Hel"), says_part("lo.")], Ending::Closed)]).await;
    let reply = ask(&client(&model)).await.0.unwrap();
    assert_eq!(reply.text.as_deref(), Some("Hello."));
    assert!(
        reply.usage.prompt_tokens > 20 && reply.usage.completion_tokens > 0,
        "{:?}",
        reply.usage
    );
    model.finish();
}

#[tokio::test]
async fn a_stream_that_has_said_its_last_word_is_not_waited_for() {
    let mut turn = stream(&[says_part("Hello.")], Ending::Open);
    if let Turn::Stream { parts, .. } = &mut turn {
        parts.push(b"data: [DONE]\n\n".to_vec());
    }
    let model = ScriptedModel::start([turn]).await;
    assert_eq!(ask(&client(&model)).await.0.unwrap().text.as_deref(), Some("Hello."));
    model.finish();
}

#[tokio::test]
async fn a_stream_that_says_why_it_ends_is_complete() {
    let last = json!({ "choices": [{ "delta": { "content": "Hello." }, "finish_reason": "stop" }] });
    let model = ScriptedModel::start([stream(&[last], Ending::Open)]).await;
    let mut settings = settings(&model);
    settings.idle = Duration::from_millis(300);
    let reply = ask(&OpenAi::new(settings).unwrap()).await.0.unwrap();
    assert_eq!(reply.text.as_deref(), Some("Hello."));
    model.finish();
}

#[tokio::test]
async fn a_stream_without_an_end_has_bounds() {
    for part in [
        "data: ".to_string() + &"x".repeat(1 << 16),
        format!("data: {}\n\n", says_part(&"x".repeat(1 << 16))),
    ] {
        let turn = Turn::Stream {
            parts: vec![b"data: {}\n\n".to_vec(), part.into_bytes()],
            ending: Ending::Endless,
        };
        let model = ScriptedModel::start(vec![turn; 5]).await;
        let error = ask(&client(&model)).await.0.unwrap_err().to_string();
        assert!(error.contains("more than 4 MiB"), "{error}");
        model.finish();
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_or_trickles_is_given_up() {
    let model = ScriptedModel::start(vec![stream(&[says_part("Hel")], Ending::Open); 5]).await;
    let mut silent = settings(&model);
    silent.idle = Duration::from_millis(200);
    let error = ask(&OpenAi::new(silent).unwrap()).await.0.unwrap_err().to_string();
    assert!(error.contains("its answer stopped midway"), "{error}");
    model.finish();

    let model = ScriptedModel::start(vec![stream(&[says_part("Hel")], Ending::Open); 5]).await;
    let mut slow = settings(&model);
    slow.timeout = Duration::from_millis(300);
    let error = ask(&OpenAi::new(slow).unwrap()).await.0.unwrap_err().to_string();
    assert!(error.contains("no answer in time"), "{error}");
    model.finish();
}

#[tokio::test]
async fn a_run_ends_the_same_in_either_interface() {
    let model = ScriptedModel::start([]).await;
    model
        .reads("src/lib.rs")
        .edits("src/lib.rs", "0..=n", "0..n")
        .submits(super::FIXED);
    let mut settings = settings(&model);
    settings.api = Api::Responses;
    let ending = super::Scene::new().run(&OpenAi::new(settings).unwrap()).await;
    assert_eq!(ending.exit, super::submitted());
    assert!(model.results()[1].starts_with("`src/lib.rs` is changed."));
    assert!(
        model
            .requests()
            .iter()
            .all(|request| request["store"] == false && request["previous_response_id"].is_null())
    );
    model.finish();
}

#[tokio::test]
async fn a_call_cut_by_length_is_told_to_the_model_and_not_made() {
    let half = json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "read_file", "arguments": "{\"path\": \"src/l" } }] }, "finish_reason": "length" }] });
    let model = ScriptedModel::start([stream(&[half], Ending::Closed)]).await;
    model.edits("src/lib.rs", "0..=n", "0..n").submits(super::FIXED);
    assert_eq!(super::Scene::new().run(&client(&model)).await.exit, super::submitted());
    assert!(
        model.results()[0].starts_with("the arguments of `read_file` cannot be read"),
        "{}",
        model.results()[0]
    );
    model.finish();
}
