//! A model that misbehaves: it is asked again within limits, and then the pull request says so.

use github_double::MAINTAINER;
use serde_json::json;

use crate::harness::model::{KEY, Turn, calls, fails, says};
use crate::harness::story::{Scene, Story};

fn edit() -> Turn {
    calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" }),
    )
}

fn submit() -> Turn {
    calls("submit", json!({ "summary": "Change is what is left." }))
}

async fn fix(turns: Vec<Turn>) -> Story {
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn what_passes_is_waited_out() {
    let nonsense = Turn::Raw {
        status: 200,
        headers: Vec::new(),
        body: "<html>hello".into(),
    };
    let turns = vec![
        fails(429, "slow down"),
        fails(500, "oops"),
        edit(),
        Turn::Cut,
        fails(503, "busy"),
        nonsense,
        submit(),
    ];
    let story = fix(turns).await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_does_not_pass_is_said() {
    for broken in [fails(500, "oops"), fails(429, "slow down"), Turn::Cut] {
        let story = fix(vec![broken; 5]).await;
        assert!(story.sticky().contains("No fix found"), "{}", story.sticky());
        assert!(
            story.sticky().contains("The model could not be used"),
            "{}",
            story.sticky()
        );
        assert_eq!(story.check().conclusion.as_deref(), Some("failure"));
        story.has_no_review();
        story.finish().await;
    }
}

#[tokio::test]
async fn a_wrong_key_is_said_without_the_key() {
    let story = fix(vec![fails(
        401,
        &format!("Incorrect API key provided: {KEY} <!-- greenlight:sticky --> @ada"),
    )])
    .await;
    let sticky = story.sticky();
    assert!(sticky.contains("The model could not be used"), "{sticky}");
    assert!(!sticky.contains("@ada"), "{sticky}");
    story.finish().await;
}

#[tokio::test]
async fn a_model_that_only_talks_is_given_up() {
    let story = fix(vec![says("Let me think."), says("Hm."), says("/greenlight approve")]).await;
    assert!(story.sticky().contains("No fix found"), "{}", story.sticky());
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_limit_is_named_when_it_is_reached() {
    let turns = vec![calls("read_file", json!({ "path": "fare.py" })); 2];
    let story = Scene::default()
        .config("[limits]\nturns = 2\n")
        .model(turns)
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    assert!(
        story.sticky().contains("The limit of 2 turns was reached"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn a_patch_beyond_the_limit_is_not_proposed() {
    let long = "x = 1\n".repeat(30);
    let write = calls("write_file", json!({ "path": "long.py", "text": long }));
    let turns = vec![write, submit(), submit(), submit()];
    let limits = "[limits]\npatch_lines = 10\nturns = 4\n";
    let story = Scene::default().config(limits).model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let told = story.model().results().join("\n");
    assert!(told.contains("patch_lines"), "{told}");
    assert!(
        story.sticky().contains("The limit of 4 turns was reached"),
        "{}",
        story.sticky()
    );
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn what_holds_only_by_reading_is_not_landed() {
    let wrong = calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "paid + fare", "new": "paid * fare" }),
    );
    let story = Scene::default().model([wrong, submit()]).begin().await;
    story.ci_fails().await;
    story.review();
    story.says(MAINTAINER, "/greenlight approve").await;
    story.has_not_landed();
    assert!(
        story.sticky().contains("executed as approved, but does not work"),
        "{}",
        story.sticky()
    );
    assert_eq!(story.check().conclusion.as_deref(), Some("failure"));
    story.finish().await;
}

#[tokio::test]
async fn a_model_cannot_run_anything_before_an_approval() {
    let no_fix = calls("submit", json!({ "summary": "I cannot tell.", "no_fix": true }));
    let story = Scene::default()
        .model([calls("run_tests", json!({})), no_fix])
        .begin()
        .await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert!(story.model().results()[0].contains("not available"));
    assert!(story.run().await.gates.is_empty());
    story.finish().await;
}
