//! Calls that need a person's approval: which are asked about, which are rejected at once, and which are carried out.

use greenlight::agent::{self, Exit, Item, Recorded, Reply, Shell, ToolCall, Transcript};
use greenlight::checkout::Checkout;
use greenlight::domain::execution::{Deferred, Execution, What};
use greenlight::domain::id::RepoPath;
use greenlight::domain::proposal::Bounds;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::executed::scene;
use super::{LIMITS, Scene, gave_up, transcript};

fn call(id: &str, name: &str, arguments: &Value) -> Reply {
    Reply {
        calls: vec![ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
        }],
        ..Reply::default()
    }
}

fn no_fix() -> Reply {
    call("end", "submit", &json!({ "summary": "x", "no_fix": true }))
}

/// Runs a shell that may ask a person, on a scene.
async fn run(scene: &Scene, may_ask: u32, replies: Vec<Reply>, transcript: &mut Transcript) -> (Exit, String) {
    let is_protected = |path: &RepoPath| path.as_str().starts_with(".github/") || path.as_str() == "pinned.txt";
    let mut shell = shell(scene, may_ask, &is_protected);
    let mut journal = |_: Item| -> futures::future::BoxFuture<'_, anyhow::Result<()>> { Box::pin(async { Ok(()) }) };
    let model = Recorded::new(replies);
    let exit = agent::run(&model, &mut shell, transcript, &mut journal, &scene.cancel)
        .await
        .unwrap();
    (exit, shell.proposal_patch().unified())
}

fn shell<'a>(scene: &Scene, may_ask: u32, is_protected: &'a (dyn Fn(&RepoPath) -> bool + Sync)) -> Shell<'a> {
    let bounds = Bounds {
        patch_lines: 20,
        is_protected,
        weakenings: &|_| Vec::new(),
        without_tests: |_| None,
    };
    let checkout = Checkout::open(scene.repository.path()).unwrap();
    let mut shell = Shell::new(checkout, scene.tests.clone(), bounds, LIMITS);
    shell.may_ask = may_ask;
    shell.grantable = vec!["pypi.org".into(), "registries".into()];
    shell
}

fn deferred(exit: Exit) -> Deferred {
    match exit {
        Exit::Deferred(deferred) => *deferred,
        other => panic!("{other:?}"),
    }
}

fn results(transcript: &Transcript) -> Vec<&str> {
    let texts = transcript.items().iter().filter_map(|item| match item {
        Item::Result { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

async fn carried_out(scene: &Scene, transcript: &Transcript, execution: &Execution) -> String {
    let is_protected = |path: &RepoPath| path.as_str() == "pinned.txt";
    let mut shell = shell(scene, 0, &is_protected);
    agent::carry_out(&mut shell, transcript, execution, &CancellationToken::new())
        .await
        .unwrap()
}

fn answer(transcript: &mut Transcript, call_id: &str, text: &str, granted: bool) {
    transcript.push(Item::Result {
        call_id: call_id.into(),
        text: text.into(),
        exit: None,
        granted,
    });
}

#[tokio::test]
async fn what_is_asked_is_carried_out_exactly_and_the_run_goes_on() {
    let (scene, _workspaces) = scene().await;
    let mut transcript = transcript();
    let edit = call(
        "e",
        "edit_file",
        &json!({ "path": "shop.py", "old": "prices[1:]", "new": "prices" }),
    );
    let arguments = json!({ "command": "cat shop.py && printf $((6*7))", "minutes": 1, "why": "to see it" });
    let request = call("r", "request_execution", &arguments);
    let (exit, _) = run(&scene, 1, vec![edit, request], &mut transcript).await;

    let Deferred { call_id, execution } = deferred(exit);
    assert_eq!(call_id, "r");
    assert_eq!(execution.what, What::Command("cat shop.py && printf $((6*7))".into()));
    assert_eq!((execution.seconds, execution.files), (60, 1));
    assert_eq!(execution.network, [""; 0]);

    let text = carried_out(&scene, &transcript, &execution).await;
    assert!(
        text.starts_with("approved, and done. It exited with 0") && text.contains("return sum(prices)\n42"),
        "{text}"
    );
    let elsewhere = Execution {
        patch: "0".repeat(64),
        ..execution.clone()
    };
    let text_of_other = carried_out(&scene, &transcript, &elsewhere).await;
    assert_eq!(
        text_of_other,
        "not done: the edits are no longer those that were approved."
    );

    answer(&mut transcript, &call_id, &text, true);
    let (exit, diff) = run(&scene, 0, vec![no_fix()], &mut transcript).await;
    assert_eq!(gave_up(&exit), "x");
    assert!(diff.contains("+    return sum(prices)"), "{diff}");
}

#[tokio::test]
async fn what_cannot_be_granted_is_refused_at_once() {
    let scene = Scene::new();
    for (arguments, expected) in [
        (json!({ "command": "x", "minutes": 1, "why": " " }), "`why` has to say"),
        (json!({ "command": "x", "minutes": 31, "why": "y" }), "1 to 30"),
        (json!({ "command": "a\nb", "minutes": 1, "why": "y" }), "one line"),
        (
            json!({ "command": "a\u{202e}b", "minutes": 1, "why": "y" }),
            "invisible",
        ),
        (json!({ "command": "a", "minutes": 1, "why": "y\u{200b}" }), "invisible"),
        (
            json!({ "command": "a", "code": "b", "minutes": 1, "why": "y" }),
            "give one of",
        ),
        (json!({ "minutes": 1, "why": "y" }), "give one of"),
        (
            json!({ "code": "x".repeat(9000), "minutes": 1, "why": "y" }),
            "1 to 8192 bytes",
        ),
        (
            json!({ "command": "a", "network": ["evil.example"], "minutes": 1, "why": "y" }),
            "[sandbox] network",
        ),
        (
            json!({ "code": "a", "packages": ["--index-url=http://x"], "minutes": 1, "why": "y" }),
            "plain package name",
        ),
        (
            json!({ "code": "a", "packages": ["git+https://x/y"], "minutes": 1, "why": "y" }),
            "plain package name",
        ),
        (
            json!({ "code": "a", "language": "perl", "minutes": 1, "why": "y" }),
            "is not python",
        ),
        (
            json!({ "tests": ["--pdb"], "minutes": 1, "why": "y" }),
            "not the name of a test",
        ),
        (
            json!({ "command": "export T=ghp_0123456789abcdefghij", "minutes": 1, "why": "y" }),
            "credential",
        ),
    ] {
        let mut transcript = transcript();
        let request = call("r", "request_execution", &arguments);
        let (exit, _) = run(&scene, 3, vec![request, no_fix()], &mut transcript).await;
        gave_up(&exit);
        let text = results(&transcript)[0];
        assert!(text.contains(expected), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn every_call_beyond_the_policy_waits_in_the_same_way() {
    let (red, _workspaces) = scene().await;
    for (scene, name, arguments) in [
        (&red, "run_tests", json!({ "minutes": 25 })),
        (
            &red,
            "run_code",
            json!({ "language": "python", "code": "1", "packages": ["requests"] }),
        ),
        (
            &red,
            "run_code",
            json!({ "language": "bash", "code": "x", "network": ["pypi.org"] }),
        ),
        (
            &red,
            "run_code",
            json!({ "language": "bash", "code": "x", "minutes": 20 }),
        ),
        (
            &red,
            "write_file",
            json!({ "path": ".github/workflows/ci.yml", "text": "on: pull_request\n" }),
        ),
    ] {
        let mut transcript = transcript();
        let (exit, _) = run(scene, 1, vec![call("a", name, &arguments)], &mut transcript).await;
        let execution = deferred(exit).execution;
        if arguments["packages"].is_array() {
            assert_eq!(execution.network, ["registries"]);
        }
        // The same call again after a rejection, or when no more requests are possible.
        answer(&mut transcript, "a", &agent::prompt::rejected(Some("no")), false);
        let again = vec![call("b", name, &arguments), no_fix()];
        let (exit, _) = run(scene, 1, again, &mut transcript).await;
        gave_up(&exit);
        assert!(
            results(&transcript)[1].starts_with("not asked again"),
            "{name} {arguments}"
        );
    }
    let mut transcript = transcript();
    transcript.push(Item::Reply(call("z", "run_code", &json!({}))));
    let request = call(
        "r",
        "request_execution",
        &json!({ "command": "x", "minutes": 1, "why": "y" }),
    );
    run(&red, 0, vec![request, no_fix()], &mut transcript).await;
    assert!(results(&transcript)[1].starts_with("no more requests are possible"));
}

#[tokio::test]
async fn an_approved_edit_of_a_protected_file_is_no_part_of_a_proposal() {
    let (scene, _workspaces) = scene().await;
    scene.file("pinned.txt", "one\n");
    let mut transcript = transcript();
    let edit = call(
        "e",
        "edit_file",
        &json!({ "path": "pinned.txt", "old": "one", "new": "two" }),
    );
    let (exit, diff) = run(&scene, 1, vec![edit], &mut transcript).await;
    let Deferred { call_id, execution } = deferred(exit);
    assert_eq!(diff, "");
    assert!(matches!(&execution.what, What::Edit { difference, .. } if difference.contains("-one\n+two\n")));

    let text = carried_out(&scene, &transcript, &execution).await;
    assert!(text.contains("in your working copy only"), "{text}");
    answer(&mut transcript, &call_id, &text, true);
    let look = call("l", "read_file", &json!({ "path": "pinned.txt" }));
    let submit = call("s", "submit", &json!({ "summary": "x" }));
    let (exit, diff) = run(&scene, 1, vec![look, submit, no_fix()], &mut transcript).await;
    gave_up(&exit);
    assert_eq!(diff, "");
    assert_eq!(results(&transcript)[1], "1\ttwo\n");
    assert!(results(&transcript)[2].starts_with("not accepted: nothing was changed"));
}
