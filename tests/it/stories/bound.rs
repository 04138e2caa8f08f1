//! An approval is bound to what was shown, to when it was given, and to who gave it; attacks that were tried.

use github_double::{AUTHOR, Delivery};
use serde_json::json;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

fn proposes(line: &str) -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": line });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

/// The delivery of a comment, as an attacker would replay it under another name.
fn replayed(story: &Story, comment: u64, id: &str) -> Delivery {
    let mut deliveries = story.double.deliveries().into_iter();
    let of_the_comment =
        |delivery: &Delivery| delivery.event == "issue_comment" && delivery.payload["comment"]["id"] == json!(comment);
    let mut old = deliveries.find(of_the_comment).unwrap();
    old.id = id.into();
    old
}

#[tokio::test]
async fn an_approved_command_is_the_one_that_runs_or_none() {
    let story = Story::new().await;
    story.ci_fails().await;
    let other = b"[test]\ncommand = \"echo something else; exit 1\"\ntimeout = \"2h\"\n";
    let config: [(&str, Option<&[u8]>); 1] = [("greenlight.toml", Some(other))];
    story.double.push_to("main", AUTHOR, &config).await.unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight approve").await;
    assert!(story.run().await.reproduced.is_none());
    assert!(story.sticky().contains("Nothing was executed"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_second_patch_in_the_same_words_is_shown_before_it_can_be_approved() {
    let second = "return (paid - fare(stops)) if paid else 0";
    let turns = [proposes("return paid - fare(stops)"), proposes(second)];
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.ci_fails().await;
    story
        .maintainer_says("/greenlight reject mind the case of nothing paid")
        .await;
    let shown: Vec<_> = story.suggestions().into_iter().map(|comment| comment.body).collect();
    assert!(shown.iter().any(|body| body.contains(second)), "{shown:?}");
    story.finish().await;
}

#[tokio::test]
async fn an_old_approval_delivered_again_under_another_name_approves_nothing() {
    let story = Story::new().await;
    let id = story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight fix").await;
    let again = replayed(&story, id, "11111111-2222-3333-4444-555555555555");
    story.double.deliver_again(&again).await;
    story.settle().await;
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn an_old_fix_delivered_again_stops_nothing() {
    let story = Story::new().await;
    let id = story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight cancel").await;
    let change: [(&str, Option<&[u8]>); 1] = [("a.md", Some(b"1\n"))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    story.settle().await;
    story.ci_fails().await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    let again = replayed(&story, id, "11111111-2222-3333-4444-555555555557");
    story.double.deliver_again(&again).await;
    story.settle().await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_pull_request_that_was_closed_meanwhile_gets_no_commit() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    let gate = run.open_gates()[0].id.clone();
    story.kill().await;
    // The state on disk if it is killed right after recording the answer.
    let options = SqliteConnectOptions::new().filename(story.folder().join("greenlight.db"));
    let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
    let answer = json!({ "approved": { "by": "mia" } });
    let step = json!({ "answered": { "gate": gate, "answer": answer, "comment": 99 } }).to_string();
    sqlx::query("INSERT INTO step (run, place, step) VALUES (?, ?, ?)")
        .bind(run.id().to_string())
        .bind(i64::try_from(run.length).unwrap())
        .bind(step)
        .execute(&mut journal)
        .await
        .unwrap();
    journal.close().await.unwrap();
    story.double.close(story.number, AUTHOR).await.unwrap();
    story.start().await;
    story.settle().await;
    story.has_not_landed();
    assert!(story.sticky().contains("Cancelled"), "{}", story.sticky());
    story.finish().await;
}
