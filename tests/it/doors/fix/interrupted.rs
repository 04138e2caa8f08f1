//! A run on a checkout that was killed: the same command resumes it.

use serde_json::json;
use tempfile::TempDir;

use super::{GREEN, RED, document, sums};
use crate::doors::{Door, PATIENCE, ended, signal};
use crate::harness::model::{KEY, ScriptedModel, Turn, calls};

fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

/// Kills a run whose model has read a file and no longer answers.
async fn killed(door: &Door, model: &ScriptedModel, arguments: &[&str]) {
    model.reads("sums.py").then(Turn::Silence);
    let child = door.command(arguments).spawn().unwrap();
    tokio::time::timeout(PATIENCE, model.is_silent()).await.unwrap();
    signal(&child, rustix::process::Signal::KILL);
    assert_eq!(ended(child).await.code, None);
}

fn first_edit(model: &ScriptedModel) {
    model.edits("sums.py", "numbers[0] - numbers[1]", "numbers[0] + numbers[1]");
    model.submits("The numbers were subtracted.");
}

#[tokio::test]
async fn a_killed_run_resumes_where_its_model_was() {
    let (checkout, model) = (sums(RED, &[]), ScriptedModel::start([]).await);
    let door = door(&model);
    let arguments = ["fix", "--yes", "--json", checkout.path().to_str().unwrap()];
    killed(&door, &model, &arguments).await;
    let listed = document(&door.run(["runs", "--json"]).await.with(0));
    assert_eq!(listed["runs"][0]["state"], "interrupted", "{listed}");
    // Nothing happens in it any more, so it takes no longer.
    assert_eq!(document(&door.run(["runs", "--json"]).await.with(0)), listed);
    let lines = door.run(["runs"]).await.with(0).out;
    let lines: Vec<&str> = lines.lines().collect();
    let [headings, run] = lines[..] else {
        panic!("{lines:?}")
    };
    let words: Vec<&str> = headings.split_whitespace().collect();
    assert_eq!(words.join(" "), "RUN STATE WHERE MODE STARTED TOOK COST WAITS FOR");
    for (heading, cell) in [
        ("STATE", "interrupted"),
        ("WHERE", checkout.path().to_str().unwrap()),
        ("MODE", "debug"),
    ] {
        let column = headings.find(heading).unwrap();
        assert!(run[column..].starts_with(&format!("{cell}  ")), "{lines:#?}");
    }
    let asked = model.requests().len();
    first_edit(&model);
    let fixed = door.run(arguments).await.with(0).saying("resuming the run");
    let fixed = document(&fixed);
    assert_eq!(
        (&fixed["outcome"], &fixed["spent"]["turns"]),
        (&json!("fixed"), &json!(3))
    );
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    // The transcript contains what the model read before, and the task is not repeated.
    let first = &model.requests()[asked];
    let messages = first["messages"].as_array().unwrap();
    let roles: Vec<_> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    model.finish();
    // The run has ended, so nothing is left to resume.
    let nothing = door.run(arguments).await.with(0);
    assert!(!nothing.err.contains("resuming"), "{}", nothing.err);
}

/// Kills a run. Returns the lines printed by another command that might resume it.
async fn after_a_kill(checkout: &TempDir, arguments: &[&str], answer: impl Fn(&ScriptedModel)) -> String {
    let model = ScriptedModel::start([]).await;
    let door = door(&model);
    let path = checkout.path().to_str().unwrap();
    killed(&door, &model, &["fix", path]).await;
    if arguments == ["fix"] {
        std::fs::write(checkout.path().join("sums.py"), format!("{RED}\n")).unwrap();
    }
    // A different model, which would reject a transcript that starts over.
    let again = ScriptedModel::start([]).await;
    let door = door.with("GREENLIGHT_MODEL_BASE_URL", again.base_url());
    answer(&again);
    let ended = door.run(arguments.iter().chain([&path])).await;
    model.finish();
    again.finish();
    ended.err
}

#[tokio::test]
async fn a_killed_run_is_not_resumed_for_anything_else() {
    let checkout = sums(RED, &[]);
    let explains = |model: &ScriptedModel| {
        let because = json!([{ "path": "sums.py", "from": 2, "to": 2, "says": "Here." }]);
        model.then(calls(
            "explain",
            json!({ "root_cause": "It subtracts.", "because": because }),
        ));
    };
    let explained = after_a_kill(&checkout, &["explain"], explains).await;
    assert!(!explained.contains("resuming"), "{explained}");
    let restarted = after_a_kill(&checkout, &["fix", "--restart"], first_edit).await;
    assert!(!restarted.contains("resuming"), "{restarted}");
    let other_files = after_a_kill(&checkout, &["fix"], first_edit).await;
    assert!(!other_files.contains("resuming"), "{other_files}");
}

/// A run that nobody could approve has ended: the next one starts over, and comes to the same result.
#[tokio::test]
async fn what_nobody_could_approve_is_not_left_open() {
    let (checkout, door) = (sums(RED, &[]), Door::new());
    let arguments = ["fix", "--json", checkout.path().to_str().unwrap()];
    for _ in 0..2 {
        let refused = door.run(arguments).await.with(3).saying("`--yes` approves up front");
        assert!(!refused.err.contains("resuming"), "{}", refused.err);
        assert_eq!(document(&refused)["outcome"], "refused");
    }
}
