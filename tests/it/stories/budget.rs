//! Limits apply across attempts, runs, people and days; a person who reaches one is told which.

use github_double::{AUTHOR, MAINTAINER, NewPullRequest, Role};
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, is_at_work};

/// Two turns that propose this line instead of the wrong one.
fn proposes(line: &str) -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": line });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

#[tokio::test]
async fn a_second_attempt_has_what_the_first_one_left() {
    let [edit, _] = proposes("return paid - fare(stops)");
    let turns = proposes("return (paid - fare(stops))").into_iter().chain([edit]);
    let scene = Scene::default().config("[limits]\nturns = 3\n").model(turns);
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert!(
        story.review().body.contains("The model used 2 turns"),
        "{}",
        story.review().body
    );
    assert!(story.sticky().contains("may use 1 turn"), "{}", story.sticky());
    story.maintainer_says("/greenlight reject no parentheses").await;
    assert_eq!(story.model().requests().len(), 3);
    story.finish().await;
}

#[tokio::test]
async fn a_pull_request_that_used_up_its_turns_is_worked_on_without_a_model() {
    let turns = proposes("return (paid - fare(stops))");
    let scene = Scene::default()
        .config("[limits.pull_request]\nturns = 2\n[repair]\nbefore_model = \"0s\"\n")
        .auto()
        .model(turns);
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    // Cancelled, not rejected: after a rejection, edits with the same effect would not be offered.
    story.maintainer_says("/greenlight cancel").await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    assert_eq!(run.spent.turns, 0);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_persons_day_ends_for_that_person_alone() {
    let turns = [
        proposes("return (paid - fare(stops))"),
        proposes("return paid - fare(stops)"),
    ];
    let config = "[limits.user]\nturns = 2\n[limits]\nturns = 3\n";
    let scene = Scene::default().config(config).person("noa", Role::Write);
    let story = scene.model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject").await;
    story.says("noa", "/greenlight fix").await;
    assert_eq!(story.run().await.spent.turns, 2);
    story.says("noa", "/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_day_without_anything_left_is_said_where_nothing_may_run() {
    let turns = proposes("return (paid - fare(stops))");
    let scene = Scene::default().config("[limits.day]\nturns = 2\n").model(turns);
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject").await;
    let changes = [("note.md", Some(b"more\n".as_slice()))];
    story.double.push(story.number, AUTHOR, &changes).await.unwrap();
    story.settle().await;
    // A CI failure without consent: the model could only read, and its limit is used up.
    story.ci_fails().await;
    let sticky = story.sticky();
    assert!(
        sticky.contains("2 turns a day for this repository was reached"),
        "{sticky}"
    );
    story.finish().await;
}

#[tokio::test]
async fn a_limit_of_one_cent_is_reached_and_named() {
    let [edit, _] = proposes("return paid - fare(stops)");
    // Thousands of tokens each, at a dollar for a thousand: the first reply is the last one.
    let scene = Scene::default().config("[limits]\ncost_usd = 0.01\n");
    let story = scene.priced(1_000).model([edit]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    // The edits made by then pass, and the review says how they came about.
    let review = story.review().body;
    assert!(review.contains("The limit of $0.01 was reached"), "{review}");
    assert!(story.sticky().contains("$0.00, "), "{}", story.sticky());
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn money_is_in_the_evidence_and_still_counts_when_what_was_said_is_left_out() {
    let turns = proposes("return paid - fare(stops)");
    let story = Scene::default().priced(2).model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let review = story.review().body;
    assert!(
        review.contains("The model used 2 turns") && review.contains(", $0.0"),
        "{review}"
    );
    let run = story.run().await;
    assert!(run.spent.cost_micros > Some(0), "{:?}", run.spent);
    let journal = &story.process().queue.app().journal;
    let abridged = journal.runs_in(&story.id().repository, 10).await.unwrap();
    assert_eq!((abridged.len(), &abridged[0].spent), (1, &run.spent));
    assert!(!format!("{abridged:?}").contains("edit_file"), "{abridged:#?}");
    story.finish().await;
}

/// Tests that never end as long as there is a file `block`, and a day that suffices for one run.
const SHARED: &str = "[test]\ncommand = \"if test -e block; then sleep 3000; fi; python3 -m unittest -v\"\n\
                      [limits]\nturns = 2\n[limits.day]\nturns = 2\n";

#[tokio::test]
async fn two_runs_at_once_do_not_both_spend_what_is_left_of_a_day() {
    let turns = proposes("return paid - fare(stops)");
    let story = Scene::default().config(SHARED).workers(4).model(turns).begin().await;
    let new = NewPullRequest::new(AUTHOR, "busy", "Never ends").write("block", "1\n");
    let busy = story.double.open_pull_request(new).await.unwrap();
    story.double.comment(busy, MAINTAINER, "/greenlight fix").await.unwrap();
    story.until("at work", |double| is_at_work(double, busy)).await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until_logged(&["other runs have reserved what is left"]).await;
    assert_eq!(story.run().await.end, None);
    let mut comments = story.comments().into_iter();
    assert!(!comments.any(|comment| comment.body.contains("Something broke")));
    story
        .double
        .comment(busy, MAINTAINER, "/greenlight cancel")
        .await
        .unwrap();
    story.settle().await;
    assert!(story.model().requests().is_empty());
    story.process().resume(story.run().await).await;
    story.settle().await;
    assert_eq!(story.run().await.spent.turns, 2);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}
