//! What starts a run besides a command: a CI failure, a label, and what the base branch says about running code.

use github_double::{AUTHOR, MAINTAINER, READER, STRANGER};
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, Scene, Story};

#[tokio::test]
async fn execution_in_the_sandbox_is_enough_for_an_author_with_write_access() {
    let story = Scene::default().config("execution = \"sandbox\"\n").begin().await;
    story.ci_fails().await;
    assert!(story.review().body.contains("(tested)"));
    story.has_not_landed();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn execution_in_the_sandbox_is_not_for_an_author_who_may_only_read() {
    for author in [READER, STRANGER] {
        let story = Scene::default()
            .config("execution = \"sandbox\"\n")
            .author(author)
            .begin()
            .await;
        story.ci_fails().await;
        story.has_executed_nothing().await;
        assert!(story.sticky().contains("Approve to run"), "{}", story.sticky());
        story.says(author, "/greenlight approve").await;
        assert!(story.answer().contains("write access"), "{}", story.answer());
        story.has_executed_nothing().await;
        story.finish().await;
    }
}

#[tokio::test]
async fn a_fork_executes_nothing_by_configuration_whoever_opened_the_pull_request() {
    let story = Scene::default()
        .config("execution = \"sandbox\"\n")
        .author(MAINTAINER)
        .forked_by(STRANGER)
        .begin()
        .await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    let change = [("fare.py", Some(&b"import os\n"[..]))];
    story.double.push(story.number, STRANGER, &change).await.unwrap();
    story.settle().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert!(story.sticky().contains("Approve to run"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_consent_by_configuration_in_an_old_journal_is_none_for_a_fork() {
    let mut story = Scene::default().author(STRANGER).forked(false).begin().await;
    story.ci_fails().await;
    story.kill().await;
    story
        .rewrites_the_start("consent", r#"{"config":{"author":"mia"}}"#)
        .await;
    story.start().await;
    story.settle().await;
    story.has_executed_nothing().await;
    story.finish().await;
}

#[tokio::test]
async fn a_stranger_costs_no_turn_of_a_model_however_often_they_push() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    for opened_by in [STRANGER, MAINTAINER] {
        let story = Scene::default()
            .author(opened_by)
            .forked_by(STRANGER)
            .model(turns.clone())
            .begin()
            .await;
        for push in 0..4 {
            let text = format!("{CHANGE}# {push}\n");
            let change = [("fare.py", Some(text.as_bytes()))];
            story.double.push(story.number, STRANGER, &change).await.unwrap();
            story.settle().await;
            story.ci_fails().await;
        }
        assert_eq!(story.model().requests().len(), 0);
        story.has_executed_nothing().await;
        assert!(story.sticky().contains("search for a fix"), "{}", story.sticky());
        // A person who asks for it gets it.
        story.maintainer_says("/greenlight approve").await;
        assert_eq!(story.model().requests().len(), 2);
        story.review();
        story.finish().await;
    }
}

#[tokio::test]
async fn a_fork_that_is_pushed_to_after_the_command_is_not_what_the_command_was_about() {
    let mut story = Scene::default().author(STRANGER).forked(false).begin().await;
    let gateway = story.gateway().await;
    gateway.hold(reqwest::Method::GET, "/pulls/");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    gateway.holds().await;
    let change = [("fare.py", Some(&b"import os\n"[..]))];
    story.double.push(story.number, STRANGER, &change).await.unwrap();
    gateway.release();
    story.settle().await;
    insta::assert_snapshot!(story.whole_answer(), @"According to GitHub, the branch was pushed to after this comment, so nothing was started. Look at [commit], and repeat the command if that commit may run.");
    story.has_executed_nothing().await;
    assert!(story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn what_the_log_says_is_shown_at_the_lines_of_the_repository() {
    let story = Story::new().await;
    story.ci_fails().await;
    assert!(story.sticky().contains("at `test_fare.py:11`"), "{}", story.sticky());
    let annotations = story.check().annotations;
    assert_eq!(annotations.len(), 1, "{annotations:#?}");
    assert_eq!(
        (annotations[0]["path"].as_str(), annotations[0]["start_line"].as_u64()),
        (Some("test_fare.py"), Some(11))
    );
    story.finish().await;
}

#[tokio::test]
async fn ci_can_be_left_alone() {
    let story = Scene::default().config("[trigger]\nci = false\n").begin().await;
    story.ci_fails().await;
    assert!(story.comments().is_empty() && story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn a_label_starts_when_somebody_with_write_access_adds_it() {
    let story = Scene::default()
        .config("[trigger]\nlabel = \"mend me\"\n")
        .begin()
        .await;
    story.double.label(story.number, MAINTAINER, "other").await.unwrap();
    story.double.label(story.number, READER, "mend me").await.unwrap();
    story.settle().await;
    assert!(story.runs().await.is_empty());
    story.double.label(story.number, MAINTAINER, "mend me").await.unwrap();
    story.settle().await;
    story.has_executed_nothing().await;
    assert!(story.sticky().contains("search for a fix"), "{}", story.sticky());
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_fork_gets_suggestions_and_no_commit() {
    for maintainers_may_push in [false, true] {
        let story = Scene::default()
            .author(STRANGER)
            .forked(maintainers_may_push)
            .begin()
            .await;
        story.ci_fails().await;
        story.has_executed_nothing().await;
        story.maintainer_says("/greenlight approve").await;
        assert_eq!(story.suggestions().len(), 1);
        assert!(
            story.sticky().contains("**A tested fix is suggested.**"),
            "{}",
            story.sticky()
        );
        assert!(
            story.sticky().contains("its author commits the suggestions"),
            "{}",
            story.sticky()
        );
        story.maintainer_says("/greenlight approve").await;
        assert!(story.answer().contains("No request is waiting"), "{}", story.answer());
        story.has_not_landed();
        story.finish().await;
    }
}

#[tokio::test]
async fn what_was_not_executed_is_not_called_tested_on_a_fork_either() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let story = Scene::default().forked(false).model(turns).begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert!(!story.sticky().contains("tested fix"), "{}", story.sticky());
    assert!(story.sticky().contains("not executed"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn buttons_do_what_the_commands_do() {
    let story = Story::new().await;
    story.ci_fails().await;
    for nobody in [STRANGER, READER] {
        story.presses(nobody, "Approve").await;
        story.presses(nobody, "Reject").await;
    }
    story.has_executed_nothing().await;
    assert_eq!(story.comments().len(), 1);
    story.presses(MAINTAINER, "Approve").await;
    story.review();
    let stale = story.check();
    story.presses(AUTHOR, "Approve").await;
    story.has_landed();
    // A page that was loaded before still shows the buttons.
    let id = stale.actions[0]["identifier"].as_str().unwrap();
    assert!(story.double.press_button(stale.id, id, MAINTAINER).await.is_err());
    story.finish().await;
}

#[tokio::test]
async fn the_reject_button_ends_it() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.presses(MAINTAINER, "Reject").await;
    assert!(story.sticky().contains("**Rejected** by `mia`"), "{}", story.sticky());
    assert_eq!(story.file("fare.py"), CHANGE);
    story.finish().await;
}

/// The permissions that `workflows/greenlight-commands.yml` requests.
const PERMISSIONS: &[(&str, &str)] = &[
    ("actions", "read"),
    ("checks", "write"),
    ("contents", "write"),
    ("issues", "write"),
    ("pull_requests", "write"),
];

#[tokio::test]
async fn the_token_of_a_workflow_is_enough() {
    let story = Scene::default().token(PERMISSIONS).begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    story.review();
    story.finish().await;
}
