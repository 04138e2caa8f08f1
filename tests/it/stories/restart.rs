//! Killed anywhere and restarted with the same data folder: nothing is lost, and nothing is done twice.

use axum::http::Method;
use github_double::{AUTHOR, MAINTAINER};
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, Gateway, Scene, Story};

/// Somebody comments, and greenlight is killed at every change it makes until it is idle.
async fn says_and_kills(story: &mut Story, gateway: &Gateway, body: &str) {
    // Does not wait: the delivery may meet a dead greenlight.
    story.double.comment(story.number, MAINTAINER, body).await.unwrap();
    story.settle_through(gateway).await;
}

#[tokio::test]
async fn killed_at_every_request_it_fixes_and_lands_once() {
    let mut story = Story::new().await;
    let gateway = story.gateway().await;
    gateway.kill_everywhere();
    says_and_kills(&mut story, &gateway, "/greenlight fix").await;
    story.review();
    let proposed = gateway.deaths();
    assert!(proposed >= 15, "{proposed} requests were deadly");
    says_and_kills(&mut story, &gateway, "/greenlight approve").await;
    assert!(
        gateway.deaths() >= proposed + 6,
        "{} requests were deadly",
        gateway.deaths()
    );
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    assert_eq!(story.runs().await.len(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_it_pays_for_each_model_turn_once() {
    let edit = |to: &str| {
        let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": to });
        [
            calls("edit_file", edit),
            calls("submit", json!({ "summary": "Change is what is left." })),
        ]
    };
    let turns = [edit("return (paid - fare(stops))"), edit("return paid - fare(stops)")];
    let mut story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    says_and_kills(&mut story, &gateway, "/greenlight fix").await;
    says_and_kills(&mut story, &gateway, "/greenlight reject no parentheses").await;
    says_and_kills(&mut story, &gateway, "/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    assert_eq!(story.suggestions().len(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_a_small_edit_is_found_and_suggested_once() {
    let mut story = Scene::default().auto().model([]).begin().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    says_and_kills(&mut story, &gateway, "/greenlight fix").await;
    assert!(gateway.deaths() >= 5, "{} requests were deadly", gateway.deaths());
    let found_by = story.run().await.proposal.unwrap().found_by.unwrap();
    assert_eq!(found_by.rung.name(), "search");
    says_and_kills(&mut story, &gateway, "/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    assert_eq!(story.suggestions().len(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_red_ci_is_answered_once() {
    let mut story = Story::new().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    story.fail_ci_unseen().await;
    story.settle_through(&gateway).await;
    story.has_executed_nothing().await;
    says_and_kills(&mut story, &gateway, "/greenlight approve").await;
    says_and_kills(&mut story, &gateway, "/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    assert_eq!(story.runs().await.len(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_each_answer_is_given_once() {
    let mut story = Story::new().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    story.fail_ci_unseen().await;
    story.settle_through(&gateway).await;
    says_and_kills(&mut story, &gateway, "/greenlight hepl\n/greenlight status").await;
    assert_eq!(story.answers().len(), 1);
    says_and_kills(&mut story, &gateway, "/greenlight retry").await;
    assert_eq!(story.answers().len(), 1, "{}", story.told());
    says_and_kills(&mut story, &gateway, "/greenlight cancel").await;
    assert_eq!(story.answers().len(), 1, "{}", story.told());
    assert!(story.sticky().contains("**Cancelled** by `mia`"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_an_undo_is_done_once() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    says_and_kills(&mut story, &gateway, "/greenlight undo").await;
    story.has_commits(3);
    assert_eq!(story.file("fare.py"), CHANGE);
    assert_eq!(story.answers().len(), 1);
    assert!(story.answer().contains(&story.head()[..7]), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn killed_while_the_model_thinks_it_asks_from_there_on() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("read_file", json!({ "path": "fare.py" })),
        calls("edit_file", edit),
        Turn::Silence,
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let mut story = Scene::default().model(turns).begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.model().is_silent().await;
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    // Four turns, one of which was requested again because its answer was lost.
    assert_eq!(story.model().requests().len(), 4);
    story.finish().await;
}

#[tokio::test]
async fn a_run_at_work_goes_on_after_an_orderly_end() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        Turn::Silence,
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let mut story = Scene::default().model(turns).begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.model().is_silent().await;
    story.process().queue.drain(std::time::Duration::from_secs(60)).await;
    assert!(story.run().await.end.is_none());
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_waiting_request_survives_a_restart_and_costs_nothing() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let said = story.told();
    story.restart().await;
    story.restart().await;
    assert_eq!(story.told(), said);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_push_while_greenlight_was_away_is_noticed() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.kill().await;
    story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.start().await;
    story.settle().await;
    assert!(story.sticky().contains("the head moved"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_cancel_that_comes_while_the_request_is_posted_is_obeyed() {
    let mut story = Story::new().await;
    let gateway = story.gateway().await;
    gateway.hold(Method::POST, "/issues/1/comments");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    // The request is open in the journal, and on its way to the pull request.
    gateway.holds().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight cancel")
        .await
        .unwrap();
    let asked = |double: &github_double::Double| {
        let comments = double.comments(1);
        comments
            .iter()
            .any(|comment| comment.body == "/greenlight cancel" && !comment.reactions.is_empty())
    };
    story.until("the receipt of the cancel", asked).await;
    gateway.release();
    story.settle().await;
    assert!(story.sticky().contains("**Cancelled** by `mia`"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn what_a_killed_process_left_of_its_work_is_swept_away() {
    let mut story = Story::new().await;
    story.kill().await;
    for left in ["trees/tree-dead/tree/src", "copies/ws-dead/target"] {
        std::fs::create_dir_all(story.folder().join(left)).unwrap();
    }
    story.start().await;
    story.maintainer_says("/greenlight fix").await;
    story.review();
    story.finish().await;
}
