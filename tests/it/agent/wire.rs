//! The wire: mistakes of endpoints, and text of models that is not a valid call.

use greenlight::agent::{self, Exit, LimitKind, ModelError};
use greenlight::openai::{OpenAi, Settings};
use serde_json::json;

use super::{FIXED, Scene, client, client_of, gave_up, submitted, transcript};
use crate::harness::model::{KEY, ScriptedModel, Turn, calls, fails, says};

#[tokio::test]
async fn an_endpoint_that_does_not_count_tokens_is_held_to_the_limit_too() {
    let body = json!({ "choices": [{ "message": { "tool_calls": [{ "function": { "name": "think" } }] } }] });
    let model = ScriptedModel::start([Turn::Raw {
        status: 200,
        headers: vec![],
        body: body.to_string(),
    }])
    .await;
    let mut scene = Scene::new();
    scene.limits.tokens = 500;
    assert_eq!(scene.run(&client(&model)).await.exit, Exit::Limit(LimitKind::Tokens));
    model.finish();
}

#[tokio::test]
async fn malformed_calls_are_answered_then_given_up_on() {
    let wrong = |arguments: &str| Turn::Answer {
        text: None,
        calls: vec![("read_file".into(), arguments.into())],
    };
    let model = ScriptedModel::start([
        wrong("{\"path\": \"src"),
        wrong("{}"),
        calls("delete_everything", json!({})),
    ])
    .await;
    model.edits("src/lib.rs", "0..=n", "0..n").submits(FIXED);
    assert_eq!(Scene::new().run(&client(&model)).await.exit, submitted());
    insta::assert_snapshot!(model.results()[..3].join("\n"), @"
    the arguments of `read_file` cannot be read: EOF while parsing a string at line 1 column 13. Call it again with JSON that fits its schema.
    the arguments of `read_file` cannot be read: missing field `path` at line 1 column 2. Call it again with JSON that fits its schema.
    there is no tool `delete_everything`; the tools are think, list_files, read_file, search, edit_file, write_file, apply_patch, diagnostics, submit.
    ");
    model.finish();

    let model = ScriptedModel::start((0..4).map(|_| wrong("[]"))).await;
    let ending = Scene::new().run(&client(&model)).await;
    assert_eq!(gave_up(&ending.exit), "the model's tool calls could not be parsed");
    model.finish();
}

#[tokio::test]
async fn a_model_that_only_talks_is_nudged_twice() {
    let model = ScriptedModel::start([says("Hello."), says(""), says("I would edit the file.")]).await;
    let ending = Scene::new().run(&client(&model)).await;
    assert_eq!(gave_up(&ending.exit), "the model answered without calling a tool");
    let messages = model.requests()[2]["messages"].clone();
    let roles: Vec<_> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
    model.finish();
}

#[tokio::test]
async fn what_passes_is_asked_again() {
    let nonsense = |body: &str| Turn::Raw {
        status: 200,
        headers: vec![],
        body: body.into(),
    };
    let model = ScriptedModel::start([
        fails(429, "slow down"),
        fails(503, "busy"),
        Turn::Cut,
        nonsense("<html>Bad gateway</html>"),
        calls(
            "edit_file",
            json!({ "path": "src/lib.rs", "old": "0..=n", "new": "0..n" }),
        ),
        nonsense("{\"object\":\"list\"}"),
        calls("submit", json!({ "summary": FIXED })),
    ])
    .await;
    let scene = Scene::new();
    assert_eq!(scene.run(&client(&model)).await.exit, submitted());
    assert_eq!(scene.journal.lock().unwrap().len(), 4);
    model.finish();
}

#[tokio::test]
async fn what_does_not_pass_is_said_in_a_sentence_one_can_act_on() {
    let long_wait = Turn::Raw {
        status: 429,
        headers: vec![("retry-after", "3600")],
        body: "{}".into(),
    };
    let out_of_credit = Turn::Raw {
        status: 429,
        headers: vec![("retry-after", "0")],
        body: json!({ "error": { "message": "no credit", "code": "insufficient_quota" } }).to_string(),
    };
    let refused = [
        (
            vec![fails(401, &format!("Incorrect API key: {KEY}"))],
            "status 401 (Incorrect API key: [redacted])",
        ),
        (
            vec![fails(404, "no such model")],
            "check GREENLIGHT_MODEL_BASE_URL and GREENLIGHT_MODEL",
        ),
        (vec![out_of_credit], "its quota or rate limit is used up"),
        (vec![long_wait], "its quota or rate limit is used up"),
        (
            (0..5).map(|_| fails(500, "oops\u{202e}\n@admin")).collect(),
            "status 500 (oops @admin); the endpoint failed",
        ),
        (vec![fails(307, "moved")], "it redirects"),
    ];
    for (turns, sentence) in refused {
        let model = ScriptedModel::start(turns).await;
        let error = Scene::new()
            .resume(&client(&model), &mut transcript())
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(sentence) && !error.contains(KEY), "{error}");
        model.finish();
    }
    let html = Turn::Raw {
        status: 200,
        headers: vec![],
        body: "<html>".into(),
    };
    let model = ScriptedModel::start(vec![html; 5]).await;
    let error = Scene::new()
        .resume(&client(&model), &mut transcript())
        .await
        .unwrap_err();
    assert!(
        matches!(error, agent::Error::Model(ModelError::Nonsense { .. })),
        "{error}"
    );
    model.finish();
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_named_without_its_credentials() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = client_of(&format!("http://user:secret-word@{free}/v1/?api-version=1"), "");
    let error = Scene::new()
        .resume(&client, &mut transcript())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("http://{free}/v1 cannot be reached")),
        "{error}"
    );
    assert!(
        error.contains("GREENLIGHT_MODEL_BASE_URL") && !error.contains("secret-word"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read_to_it() {
    let body = format!(
        "{{\"choices\":[{{\"message\":{{\"content\":\"{}\"}}}}]}}",
        "x".repeat(5 << 20)
    );
    let turn = Turn::Raw {
        status: 200,
        headers: vec![],
        body,
    };
    let model = ScriptedModel::start(vec![turn; 5]).await;
    let error = Scene::new()
        .resume(&client(&model), &mut transcript())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("more than 4 MiB"), "{error}");
    model.finish();
}

#[test]
fn settings_that_cannot_work_are_named() {
    let settings = |url: &str, key: &str| OpenAi::new(Settings::new(url.parse().unwrap(), "m", key.into()));
    assert!(
        settings("file:///etc", "")
            .unwrap_err()
            .to_string()
            .contains("GREENLIGHT_MODEL_BASE_URL")
    );
    assert!(
        settings("http://x/v1", "a\nb")
            .unwrap_err()
            .to_string()
            .contains("GREENLIGHT_MODEL_API_KEY")
    );
    let debug = format!("{:?}", settings("http://x/v1", "sk-hidden").unwrap());
    assert!(!debug.contains("sk-hidden"), "{debug}");
}
