//! `/greenlight approve`: exactly what the gate said, by who may, on the head it was made for.

use greenlight::demo::{AUTHOR, MAINTAINER, READER, Role, STRANGER};
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, FIXED, Scene, Story};

#[tokio::test]
async fn a_maintainer_fixes_and_approves() {
    let story = Story::new().await;
    let command = story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!((review.state.as_str(), review.commit), ("COMMENTED", story.head()));
    assert_eq!(review.comments.len(), 1);
    assert_eq!(
        (review.comments[0].path.as_str(), review.comments[0].lines),
        ("fare.py", Some((6, 6)))
    );
    assert_eq!(
        story.suggestions()[0].body,
        "```suggestion\n    return paid - fare(stops)\n```"
    );
    assert!(review.body.contains("(tested)"), "{}", review.body);
    assert_eq!(story.check().conclusion.as_deref(), Some("action_required"));
    story.has_not_landed();

    let approval = story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let commits = story.double.commits(story.number).unwrap();
    assert!(commits[1].verified, "made by the App, so signed by GitHub");
    assert!(
        commits[1].message.contains("Approved-by: mia"),
        "{}",
        commits[1].message
    );
    // One comment, edited; every command has its receipt.
    assert_eq!(story.comments().len(), 1);
    for comment in story.double.comments(story.number) {
        if [command, approval].contains(&comment.id) {
            assert_eq!(comment.reactions, [("eyes".to_string(), story.double.bot())]);
        }
    }
    story.finish().await;
}

#[tokio::test]
async fn what_lands_is_what_applying_the_suggestions_gives() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let suggestions: Vec<u64> = story.review().comments.iter().map(|comment| comment.id).collect();
    story.double.commit_suggestions(&suggestions, AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), FIXED);
    // The author's commit is a push: the request on the old head is void.
    assert!(story.sticky().contains("the head moved"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn red_ci_without_a_model_asks_before_anything_runs() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    story.has_no_review();
    let gate = story.sticky();
    assert!(
        gate.contains("nothing was executed") && gate.contains("test_change_is_given"),
        "{gate}"
    );
    assert!(gate.contains("search for a fix"), "{gate}");

    story.maintainer_says("/greenlight approve").await;
    story.review();
    story.has_not_landed();
    assert!(story.sticky().contains("exactly as tested"), "{}", story.sticky());

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn red_ci_with_a_model_takes_one_approval() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("read_file", json!({ "path": "fare.py" })),
        calls("edit_file", edit),
        calls(
            "submit",
            json!({ "summary": "Change is what is left of what was paid." }),
        ),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert!(
        story.review().body.contains("**not executed** yet"),
        "{}",
        story.review().body
    );
    assert!(story.sticky().contains("if it is green"), "{}", story.sticky());
    assert_eq!(story.file("fare.py"), CHANGE);

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn who_may_not_is_refused_and_nothing_happens() {
    let story = Story::new().await;
    for (login, command) in [(STRANGER, "/greenlight fix"), (READER, "/greenlight fix")] {
        story.says(login, command).await;
        assert!(story.answer().contains("it takes write access"), "{}", story.answer());
    }
    assert!(story.runs().await.is_empty());
    story.says(MAINTAINER, "/greenlight fix").await;
    for login in [STRANGER, READER] {
        for command in [
            "/greenlight approve",
            "/greenlight reject no",
            "/greenlight cancel",
            "/greenlight undo",
        ] {
            story.says(login, command).await;
            assert!(story.answer().contains("it takes write access"), "{}", story.answer());
        }
    }
    story.has_not_landed();
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn an_approval_of_an_outdated_head_is_refused() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let old = story.head();
    // greenlight does not hear of the push: the approval itself has to notice.
    story.kill().await;
    let new = story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.start().await;
    story.maintainer_says("/greenlight approve").await;
    let answer = story.answer();
    assert!(answer.contains(&old[..7]) && answer.contains(&new[..7]), "{answer}");
    assert_eq!(story.head(), new);
    assert!(story.sticky().contains("Stopped"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn an_approval_after_a_push_names_both_heads() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let old = story.head();
    let new = story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight approve").await;
    let answer = story.answer();
    assert!(answer.contains(&old[..7]) && answer.contains(&new[..7]), "{answer}");
    assert_eq!(story.head(), new);
    story.finish().await;
}

#[tokio::test]
async fn an_approval_written_before_the_request_approves_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix\n\n/greenlight approve").await;
    story.has_not_landed();
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn two_approvers_are_two_people() {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert!(
        story.sticky().contains("2 people have to approve"),
        "{}",
        story.sticky()
    );
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("2 different people"), "{}", story.answer());
    story.has_not_landed();
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_landed();
    let commits = story.double.commits(story.number).unwrap();
    assert!(
        commits[1].message.contains("Approved-by: mia\nApproved-by: ada"),
        "{}",
        commits[1].message
    );
    story.finish().await;
}

#[tokio::test]
async fn who_lost_the_right_since_approving_lands_nothing() {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.double.set_role(MAINTAINER, Role::Read);
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_not_landed();
    assert!(
        story.sticky().contains("no write access any more"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn a_request_that_nobody_answered_in_time_is_closed() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.kill().await;
    story.days_pass().await;
    story.start().await;
    story.settle().await;
    assert!(story.sticky().contains("Expired"), "{}", story.sticky());
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("expired"), "{}", story.answer());
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn an_id_means_that_request_and_no_other() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve gaaaa7").await;
    assert!(
        story.answer().contains("No open request is called `gaaaa7`"),
        "{}",
        story.answer()
    );
    story.has_not_landed();
    let id = story.run().await.open_gates()[0].id.clone();
    story.maintainer_says(&format!("/greenlight approve `{id}`")).await;
    story.has_landed();
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("Nothing waits"), "{}", story.answer());
    story.finish().await;
}
