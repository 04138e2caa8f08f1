//! Models that are unavailable, do not support tools, cost money, or have a small context window.

use std::time::Duration;

use greenlight::agent::{Item, Model as _, ModelError, Reply, Speech, ToolCall};
use greenlight::domain::model::{Api, Price, Prices, ToolUse};
use greenlight::openai::{OpenAi, Settings};
use serde_json::json;

use super::wire_streams::{ask, ask_about};
use super::{FIXED, Scene, submitted};
use crate::harness::model::{KEY, Refuses, ScriptedModel, Turn, fails, says};

fn client(model: &ScriptedModel, change: impl FnOnce(&mut Settings)) -> OpenAi {
    let mut settings = Settings::new(model.base_url().parse().unwrap(), "first", KEY.into());
    settings.first_wait = Duration::from_millis(1);
    change(&mut settings);
    OpenAi::new(settings).unwrap()
}

fn asked(model: &ScriptedModel) -> String {
    let names: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request["model"].as_str().unwrap().to_string())
        .collect();
    names.join(" ")
}

#[tokio::test]
async fn a_model_that_is_not_to_be_had_is_stood_in_for() {
    let out_of_credit = Turn::Raw {
        status: 429,
        headers: vec![],
        body: json!({ "error": { "message": "no credit", "code": "insufficient_quota" } }).to_string(),
    };
    let broken: Vec<Turn> = (0..5).map(|_| fails(503, "busy")).collect();
    for (refusals, names) in [
        (vec![fails(404, "no such model")], "first second second"),
        (vec![out_of_credit], "first second second"),
        (broken, "first first first first first second second"),
    ] {
        let model = ScriptedModel::start(refusals).await;
        model.then(says("a")).then(says("b"));
        let client = client(&model, |settings| {
            settings.fallbacks = vec!["second".into(), "third".into()];
        });
        assert_eq!(ask(&client).await.0.unwrap().model.as_deref(), Some("second"));
        // The first model is not asked again for a while.
        assert_eq!(ask(&client).await.0.unwrap().model.as_deref(), Some("second"));
        assert_eq!(asked(&model), names);
        model.finish();
    }
}

#[tokio::test]
async fn a_fault_of_the_endpoint_or_the_request_is_not_asked_of_another_model() {
    for (status, message) in [
        (401, "bad key"),
        (400, "no such field"),
        (400, "the context window is exceeded"),
    ] {
        let model = ScriptedModel::start([fails(status, message)]).await;
        let client = client(&model, |settings| settings.fallbacks = vec!["second".into()]);
        ask(&client).await.0.unwrap_err();
        model.finish();
    }
    let model = ScriptedModel::start([fails(404, "no"), fails(404, "none either")]).await;
    let client = client(&model, |settings| settings.fallbacks = vec!["second".into()]);
    let error = ask(&client).await.0.unwrap_err().to_string();
    assert!(error.contains("none either"), "{error}");
    model.finish();
}

#[tokio::test]
async fn what_answered_is_what_is_paid() {
    let price = |input: u64| Price {
        input,
        cached_input: 0,
        output: 1_000_000,
    };
    let table = |known: &[(&str, u64)]| -> Prices {
        known
            .iter()
            .map(|(name, input)| ((*name).to_string(), price(*input)))
            .collect()
    };
    let answer = || {
        Turn::Raw {
        status: 200,
        headers: vec![],
        body: json!({
            "choices": [{ "message": { "content": "a" } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 60 } },
        })
        .to_string(),
    }
    };
    let model = ScriptedModel::start([answer(), fails(404, "gone"), answer(), answer()]).await;
    let both = client(&model, |settings| {
        settings.fallbacks = vec!["second".into()];
        settings.prices = table(&[("first", 2_000_000), ("sec*", 5_000_000)]);
    });
    assert_eq!(
        (both.price(), both.worst_case_micros(1_000)),
        (Some(price(2_000_000)), Some(5_000))
    );
    let reply = ask(&both).await.0.unwrap();
    assert_eq!(
        (reply.usage.cached_tokens, reply.usage.cost_micros),
        (60, Some(40 * 2 + 10))
    );
    assert_eq!(ask(&both).await.0.unwrap().usage.cost_micros, Some(40 * 5 + 10));

    let unknown = client(&model, |settings| settings.prices = table(&[("other", 1)]));
    assert_eq!(unknown.worst_case_micros(1), None);
    assert_eq!(ask(&unknown).await.0.unwrap().usage.cost_micros, None);
    model.finish();
}

/// The first real request shows it; no request is made only to find out.
#[tokio::test]
async fn whether_an_endpoint_takes_tools_is_learned_from_its_first_answer() {
    for api in [Api::Chat, Api::Responses] {
        let model = ScriptedModel::start([says("ok")]).await;
        let client = client(&model, |settings| settings.api = api);
        assert_eq!(client.speech(), Speech::Tools);
        ask(&client).await.0.unwrap();
        assert_eq!((client.speech(), model.requests().len()), (Speech::Tools, 1));
        model.finish();
    }

    let model = ScriptedModel::start([]).await;
    model.refuses(Refuses::Tools);
    let auto = client(&model, |_| {});
    assert_eq!(ask(&auto).await.0, Err(ModelError::NoTools));
    assert_eq!(auto.speech(), Speech::Code);
    assert_eq!(model.refused(), [Refuses::Tools]);
    let code = client(&model, |settings| settings.tools = ToolUse::Code);
    assert_eq!(code.speech(), Speech::Code);
    let native = client(&model, |settings| settings.tools = ToolUse::Native);
    assert_eq!(native.speech(), Speech::Tools);
    let error = ask(&native).await.0.unwrap_err().to_string();
    assert!(error.contains("set GREENLIGHT_MODEL_TOOLS=code"), "{error}");
    model.finish();
}

#[tokio::test]
async fn a_model_without_tools_hears_a_plain_conversation() {
    let history = [
        Item::Task {
            instructions: "Be good.".into(),
            task: "Fix it.".into(),
        },
        Item::Reply(Reply {
            text: Some("<execute>1</execute>".into()),
            calls: vec![ToolCall {
                id: "a".into(),
                name: "execute".into(),
                arguments: "{}".into(),
            }],
            ..Reply::default()
        }),
        Item::Result {
            call_id: "a".into(),
            text: "1".into(),
            exit: None,
            granted: false,
        },
        Item::Note("Go on.".into()),
    ];
    let model = ScriptedModel::start([says("Done.")]).await;
    model.refuses(Refuses::Tools);
    let client = client(&model, |settings| settings.tools = ToolUse::Code);
    ask_about(&client, &history).await.0.unwrap();
    let said: Vec<String> = model.requests()[0]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            format!(
                "{}: {}",
                message["role"].as_str().unwrap(),
                message["content"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            "system: Be good.",
            "user: Fix it.",
            "assistant: <execute>1</execute>",
            "user: 1\n\nGo on."
        ]
    );
    model.finish();
}

#[tokio::test]
async fn a_long_history_loses_its_oldest_results_and_the_run_goes_on() {
    let scene = Scene::new();
    for file in ["a.txt", "b.txt", "c.txt"] {
        scene.file(file, &"a line of text\n".repeat(200));
    }
    let model = ScriptedModel::start([]).await;
    model.reads("a.txt").reads("b.txt").reads("c.txt");
    model.edits("src/lib.rs", "0..=n", "0..n").submits(FIXED);
    let client = client(&model, |settings| settings.context = 4_000);
    assert_eq!(scene.run(&client).await.exit, submitted());
    let results = model.results();
    assert_eq!(
        results[0],
        "[left out: result of read_file a.txt; call again if needed]"
    );
    assert!(results[3].contains("0..n"), "{}", results[3]);
    let compactions = scene
        .journal
        .lock()
        .unwrap()
        .iter()
        .filter(|item| matches!(item, Item::Compacted { .. }))
        .count();
    assert!((1..3).contains(&compactions), "{compactions}");
    model.finish();
}

#[tokio::test]
async fn an_endpoint_that_finds_it_too_long_is_asked_with_less() {
    let too_long = || {
        fails(
            400,
            "request (6031 tokens) exceeds the available context size (2048 tokens)",
        )
    };
    let model = ScriptedModel::start([]).await;
    let scene = Scene::new();
    scene.file("a.txt", &"a line of text\n".repeat(200));
    model.reads("a.txt").reads("src/lib.rs").then(too_long());
    model.edits("src/lib.rs", "0..=n", "0..n").submits(FIXED);
    let client = client(&model, |_| {});
    assert_eq!(scene.run(&client).await.exit, submitted());
    assert_eq!(
        model.results()[0],
        "[left out: result of read_file a.txt; call again if needed]"
    );
    assert!(client.context() < 10_000);
    model.finish();

    let model = ScriptedModel::start([too_long()]).await;
    let error = Scene::new()
        .resume(&super::client(&model), &mut super::transcript())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("GREENLIGHT_MODEL_CONTEXT"), "{error}");
    model.finish();
}
