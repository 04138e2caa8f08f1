//! The agent's loop: a scripted model on the wire, a real checkout, and everything that the model tries.

mod codeact;
mod deferred;
mod executed;
mod hostile;
mod real_server;
mod tools;
mod wire;
mod wire_models;
mod wire_streams;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use greenlight::agent::{self, AgentLimits, Exit, Item, LimitKind, Model, Recorded, Shell, Transcript, prompt};
use greenlight::checkout::Checkout;
use greenlight::domain::id::RepoPath;
use greenlight::domain::proposal::Bounds;
use greenlight::openai::{OpenAi, Settings};
use greenlight::suite::Suite;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::model::{KEY, ScriptedModel, Turn, calls, says};

const LIB: &str = "\
/// The sum of the numbers below `n`.
pub fn sum_below(n: u32) -> u32 {
    (0..=n).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums() {
        assert_eq!(super::sum_below(4), 6);
    }
}
";
const FIXED: &str = "The range included its end; it no longer does.";
const LIMITS: AgentLimits = AgentLimits {
    turns: 30,
    tokens: 1_000_000,
    cost_micros: None,
    wall: Duration::from_secs(600),
};

/// A small repository, and the transcript of the loop's work on it.
struct Scene {
    repository: tempfile::TempDir,
    tests: Option<Suite>,
    limits: AgentLimits,
    patch_lines: usize,
    cancel: CancellationToken,
    journal: Arc<Mutex<Vec<Item>>>,
}

/// How a run ended, and its final diff.
#[derive(Debug, PartialEq)]
struct Ending {
    exit: Exit,
    diff: String,
}

impl Scene {
    fn empty() -> Self {
        Self {
            repository: tempfile::tempdir().unwrap(),
            tests: None,
            limits: LIMITS,
            patch_lines: 20,
            cancel: CancellationToken::new(),
            journal: Arc::default(),
        }
    }

    /// A library with one fault, whose tests must not be run.
    fn new() -> Self {
        let scene = Self::empty();
        scene.file("src/lib.rs", LIB);
        scene.file("tests/api.rs", "#[test]\nfn api() {}\n");
        scene.file(".github/workflows/ci.yml", "on: push\n");
        scene
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.repository.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    async fn run(&self, model: &impl Model) -> Ending {
        self.resume(model, &mut transcript()).await.unwrap()
    }

    async fn resume(&self, model: &impl Model, transcript: &mut Transcript) -> Result<Ending, agent::Error> {
        let is_protected = |path: &RepoPath| path.as_str().starts_with(".github/");
        let bounds = Bounds {
            patch_lines: self.patch_lines,
            is_protected: &is_protected,
            weakenings: &|patch| greenlight::guard::weakenings(patch, &greenlight::guard::Inputs::default()),
            without_tests: greenlight::guard::without_tests,
        };
        let checkout = Checkout::open(self.repository.path()).unwrap();
        let mut shell = Shell::new(checkout, self.tests.clone(), bounds, self.limits);
        let mut journal = |item: Item| {
            self.journal.lock().unwrap().push(item);
            async { Ok(()) }.boxed()
        };
        let exit = agent::run(model, &mut shell, transcript, &mut journal, &self.cancel).await?;
        Ok(Ending {
            exit,
            diff: shell.checkout.patch().unified(),
        })
    }
}

fn transcript() -> Transcript {
    Transcript::new(
        prompt::DEBUG,
        prompt::debug_task(None, Some("assertion failed: 10 != 6"), &[], &[], false),
    )
}

fn client(model: &ScriptedModel) -> OpenAi {
    client_of(model.base_url(), KEY)
}

fn client_of(base_url: &str, key: &str) -> OpenAi {
    let mut settings = Settings::new(base_url.parse().unwrap(), "scripted", key.into());
    settings.first_wait = Duration::from_millis(1);
    OpenAi::new(settings).unwrap()
}

fn submitted() -> Exit {
    Exit::Submitted {
        summary: FIXED.into(),
        test_may_be_wrong: false,
    }
}

fn gave_up(exit: &Exit) -> &str {
    match exit {
        Exit::GaveUp { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_model_reads_edits_and_submits() {
    let model = ScriptedModel::start([]).await;
    model
        .reads("src/lib.rs")
        .edits("src/lib.rs", "0..=n", "0..n")
        .submits(FIXED);
    let scene = Scene::new();

    let ending = scene.run(&client(&model)).await;

    assert_eq!(ending.exit, submitted());
    insta::assert_snapshot!(ending.diff, @"
    diff --git a/src/lib.rs b/src/lib.rs
    --- a/src/lib.rs
    +++ b/src/lib.rs
    @@ -1,6 +1,6 @@
     /// The sum of the numbers below `n`.
     pub fn sum_below(n: u32) -> u32 {
    -    (0..=n).sum()
    +    (0..n).sum()
     }
     
     #[cfg(test)]
    ");
    insta::assert_snapshot!(model.results()[1], @"
    `src/lib.rs` is changed. It now reads:
    1	/// The sum of the numbers below `n`.
    2	pub fn sum_below(n: u32) -> u32 {
    3	    (0..n).sum()
    4	}
    5	
    6	#[cfg(test)]
    [the file has 12 lines]
    All edits together: 2 changed lines.
    ");
    let first = model.requests()[0].to_string();
    assert!(first.len() < 12 << 10, "the first request has {} bytes", first.len());
    assert_eq!(scene.journal.lock().unwrap().len(), 6);
    assert_eq!(
        std::fs::read_to_string(scene.repository.path().join("src/lib.rs")).unwrap(),
        LIB
    );
    model.finish();
}

#[tokio::test]
async fn a_run_cut_after_any_item_ends_the_same_and_asks_nothing_twice() {
    let model = ScriptedModel::start([
        says("Let me see."),
        calls("think", json!({ "thought": "a range" })).and("read_file", json!({ "path": "src/lib.rs" })),
        calls(
            "edit_file",
            json!({ "path": "src/lib.rs", "old": "0..=n", "new": "1..n" }),
        ),
        calls("nonsense", json!({})).and(
            "edit_file",
            json!({ "path": "src/lib.rs", "old": "1..n", "new": "0..n" }),
        ),
        calls("submit", json!({ "summary": FIXED })).and("think", json!({ "thought": "too late" })),
    ])
    .await;
    let whole = Scene::new();
    let ending = whole.run(&client(&model)).await;
    model.finish();
    let items: Vec<Item> = transcript()
        .items()
        .iter()
        .chain(&*whole.journal.lock().unwrap())
        .cloned()
        .collect();
    assert_eq!(items.len(), 1 + 5 + 1 + 7);

    for kept in 1..=items.len() {
        let rest = items[kept..].iter().filter_map(|item| match item {
            Item::Reply(reply) => Some(reply.clone()),
            _ => None,
        });
        let rest = Recorded::new(rest.collect());
        let json = serde_json::to_string(&items[..kept]).unwrap();
        let mut transcript: Transcript = serde_json::from_str(&json).unwrap();
        let resumed = Scene::new();

        assert_eq!(
            resumed.resume(&rest, &mut transcript).await.unwrap(),
            ending,
            "cut after {kept} items"
        );
        assert_eq!(transcript.items(), items, "cut after {kept} items");
        assert_eq!(
            *resumed.journal.lock().unwrap(),
            items[kept..],
            "cut after {kept} items"
        );
    }
}

#[tokio::test]
async fn what_the_journal_did_not_take_is_not_done() {
    let model = ScriptedModel::start([calls("think", json!({ "thought": "x" }))]).await;
    let scene = Scene::new();
    let checkout = Checkout::open(scene.repository.path()).unwrap();
    let bounds = Bounds {
        patch_lines: 1,
        is_protected: &|_| false,
        weakenings: &|_| Vec::new(),
        without_tests: |_| None,
    };
    let mut shell = Shell::new(checkout, None, bounds, LIMITS);
    let mut transcript = transcript();
    let mut full = |_| async { anyhow::bail!("disk full") }.boxed();

    let error = agent::run(&client(&model), &mut shell, &mut transcript, &mut full, &scene.cancel)
        .await
        .unwrap_err();

    assert_eq!(error.to_string(), "the journal cannot be written: disk full");
    assert_eq!(transcript.items().len(), 1);
    model.finish();
}

#[tokio::test]
async fn a_submission_that_is_sent_back_is_worked_on_again() {
    let model = ScriptedModel::start([]).await;
    model.edits("src/lib.rs", "0..=n", "1..n").submits("First try.");
    let scene = Scene::new();
    let mut transcript = transcript();
    let client = client(&model);
    let first = scene.resume(&client, &mut transcript).await.unwrap();
    assert_eq!(
        first.exit,
        Exit::Submitted {
            summary: "First try.".into(),
            test_may_be_wrong: false,
        }
    );

    transcript.push(Item::Note(prompt::not_good_enough(
        "a maintainer says: too clever",
        None,
    )));
    model.edits("src/lib.rs", "1..n", "0..n").submits(FIXED);
    let second = scene.resume(&client, &mut transcript).await.unwrap();

    assert_eq!(second.exit, submitted());
    assert!(
        second.diff.contains("+    (0..n).sum()") && !second.diff.contains("1..n"),
        "{}",
        second.diff
    );
    model.finish();
}

#[tokio::test]
async fn what_came_too_late_is_not_done_later() {
    let submit = || calls("submit", json!({ "summary": FIXED }));
    let late = submit().and("write_file", json!({ "path": "late.txt", "text": "x" }));
    let model = ScriptedModel::start([]).await;
    model.edits("src/lib.rs", "0..=n", "0..n").then(late).then(submit());
    let (scene, mut transcript, client) = (Scene::new(), transcript(), client(&model));
    let first = scene.resume(&client, &mut transcript).await.unwrap();
    transcript.push(Item::Note("Once more.".into()));
    let second = scene.resume(&client, &mut transcript).await.unwrap();
    assert!(!second.diff.contains("late.txt"), "{}", second.diff);
    assert_eq!(first, second);
    model.finish();
}

#[tokio::test]
async fn every_limit_ends_the_run_and_is_named() {
    let think = || calls("think", json!({ "thought": "hm" }));

    let model = ScriptedModel::start([think(), think()]).await;
    let mut scene = Scene::new();
    scene.limits.turns = 2;
    assert_eq!(scene.run(&client(&model)).await.exit, Exit::Limit(LimitKind::Turns));
    model.finish();

    let model = ScriptedModel::start([think()]).await;
    let mut scene = Scene::new();
    scene.limits.tokens = 500;
    assert_eq!(scene.run(&client(&model)).await.exit, Exit::Limit(LimitKind::Tokens));
    model.finish();

    let model = ScriptedModel::start([think(), Turn::Silence]).await;
    let mut scene = Scene::new();
    scene.limits.wall = Duration::from_millis(200);
    assert_eq!(scene.run(&client(&model)).await.exit, Exit::Limit(LimitKind::Wall));
    model.finish();
}

#[tokio::test]
async fn a_cancelled_run_ends_while_the_model_thinks() {
    let model = ScriptedModel::start([Turn::Silence]).await;
    let scene = Scene::new();
    let client = client(&model);
    let cancel = async {
        model.is_silent().await;
        scene.cancel.cancel();
    };
    let (ending, ()) = tokio::join!(scene.run(&client), cancel);
    assert_eq!(ending.exit, Exit::Cancelled);
    model.finish();
}

#[tokio::test]
async fn a_patch_that_is_too_large_is_sent_back() {
    let model = ScriptedModel::start([]).await;
    model.edits(
        "src/lib.rs",
        "(0..=n).sum()",
        "let a = 0;\n    let b = 1;\n    (a..n + b).sum()",
    );
    model.submits("Too large.").edits(
        "src/lib.rs",
        "let a = 0;\n    let b = 1;\n    (a..n + b).sum()",
        "(0..n).sum()",
    );
    model.submits(FIXED);
    let mut scene = Scene::new();
    scene.patch_lines = 3;
    assert_eq!(scene.run(&client(&model)).await.exit, submitted());
    let results = model.results();
    assert!(results[0].contains("more than the 3 allowed"), "{}", results[0]);
    assert!(
        results[1].starts_with("not accepted: it changes 4 lines, more than the 3"),
        "{}",
        results[1]
    );
    model.finish();
}
