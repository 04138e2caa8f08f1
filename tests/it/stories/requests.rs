//! How often greenlight asks GitHub, and how often it waits for it. The requests of a line are sent side by side; each
//! line waits for the one above.

use std::time::Duration;

use github_double::AUTHOR;
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

/// A request that never comes is waited for this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The turns of a model that fixes the default scene.
fn fixes() -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

/// A story of a greenlight that knows its own account and has a token, as it does after its first event of an hour.
async fn warm(scene: Scene) -> Story {
    let story = scene.begin().await;
    story.maintainer_says("/greenlight help").await;
    story
}

/// Fails unless exactly these requests are sent, in these rounds.
async fn takes(story: &Story, happens: impl Future<Output = ()>, rounds: &str) {
    let line = |line: &str| line.split(" | ").map(|name| name.trim().to_string()).collect();
    let lines = rounds.lines().filter(|line| !line.trim().is_empty());
    let before = story.double.requests().len();
    story.double.answer_in_rounds(&lines.map(line).collect::<Vec<_>>());
    let ended = tokio::time::timeout(PATIENCE, happens).await;
    let (missing, unexpected) = story.double.end_rounds();
    let sent: Vec<String> = story.double.requests()[before..]
        .iter()
        .map(|one| format!("{} {}", one.method, one.path))
        .collect();
    assert!(
        missing.is_empty() && unexpected.is_empty() && ended.is_ok(),
        "missing: {missing:#?}\nnot expected: {unexpected:#?}\nall: {sent:#?}"
    );
}

#[tokio::test]
async fn from_red_ci_to_a_review_and_from_an_approval_to_the_commit() {
    let story = warm(Scene::default().model(fixes())).await;
    takes(
        &story,
        story.ci_fails(),
        "GET pulls/* | GET contents/greenlight.toml
         GET actions/runs/* | GET actions/runs/*/jobs | GET commits/*/check-runs | GET pulls/*/files | POST app/installations/*/access_tokens
         POST check-runs | GET contents/.github/workflows/ci.yml | GET compare/*...main | GET actions/workflows/*/runs | GET actions/jobs/*/logs | POST acme/rail.git/git-upload-pack
         GET _logs/*
         GET pulls/* | GET pulls/*/reviews
         POST pulls/*/reviews
         GET rules/branches/change
         GET issues/*/comments | PATCH check-runs/*
         POST issues/*/comments",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight approve").await;
        },
        "GET pulls/*",
    )
    .await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn from_a_command_to_a_review_and_its_rejection() {
    let story = warm(Scene::default()).await;
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight fix").await;
        },
        "GET pulls/* | GET contents/greenlight.toml",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight reject").await;
        },
        "GET pulls/*",
    )
    .await;
    story.finish().await;
}

#[tokio::test]
async fn from_red_ci_to_a_tested_review_and_a_rerun() {
    let story = warm(Scene::default().config("execution = \"sandbox\"\n")).await;
    takes(
        &story,
        story.ci_fails(),
        "GET pulls/* | GET contents/greenlight.toml",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight retry").await;
        },
        "GET pulls/*",
    )
    .await;
    story.finish().await;
}

#[tokio::test]
async fn a_pull_request_that_nobody_asks_about_costs_nothing() {
    let story = Story::new().await;
    let change = [("note.md", Some(&b"1\n"[..]))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    story.settle().await;
    assert_eq!(story.double.requests().len(), 0);
    story.finish().await;
}
