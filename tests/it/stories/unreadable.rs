//! Unreadable runs: a broken one ends and says so, one of a newer greenlight is left alone, and others continue.

use github_double::{AUTHOR, MAINTAINER, NewPullRequest};
use greenlight::domain::id::PullRequestId;
use greenlight::domain::run::{End, Run};

use crate::harness::story::{CHANGE, Story, TESTS};

/// Opens another pull request like the first one, and asks for a fix there.
async fn another(story: &Story) -> (PullRequestId, Run) {
    let new = NewPullRequest::new(AUTHOR, "again", "Give change again")
        .write("fare.py", CHANGE)
        .write("test_fare.py", TESTS);
    let number = story.double.open_pull_request(new).await.unwrap();
    story
        .double
        .comment(number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.settle().await;
    let id = PullRequestId { number, ..story.id() };
    let run = story.process().runs(&id).await.pop().unwrap();
    (id, run)
}

#[tokio::test]
async fn a_broken_run_ends_with_a_reason_and_the_sound_one_goes_on() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let (id, run) = another(&story).await;
    assert_eq!(run.open_gates().len(), 1);
    story.kill().await;
    story.changes_last_step(run.id(), "step", "{\"gate_opened\":").await;
    story.start().await;
    story.settle().await;

    let ended = story.process().runs(&id).await.pop().unwrap();
    let why = format!("Step {} of its journal cannot be read", run.length - 1);
    assert!(
        matches!(&ended.end, Some(End::GaveUp { reason }) if reason.contains(&why)),
        "{:?}",
        ended.end
    );
    assert!(ended.is_over());
    let comments = story.double.comments(id.number);
    assert!(
        comments.iter().any(|comment| comment.body.contains(&why)),
        "{comments:#?}"
    );
    let checks = story.double.check_runs(run.started.head.as_str());
    assert!(
        checks
            .iter()
            .any(|check| check.conclusion.as_deref() == Some("failure")),
        "{checks:#?}"
    );

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_run_whose_start_is_broken_ends_and_the_sound_one_goes_on() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let (id, run) = another(&story).await;
    story.kill().await;
    story.breaks_start(run.id()).await;
    story.start().await;
    story.settle().await;
    assert_eq!(story.process().runs(&id).await, []);
    let told = "a run was ended: the first step of its journal cannot be read";
    assert!(story.log().contains(told), "{}", story.log());

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_run_of_a_newer_greenlight_is_left_alone_until_the_upgrade() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    story.kill().await;
    story.changes_last_step(run.id(), "format", "99").await;
    let before = story.rows_of(run.id()).await;
    story.start().await;
    story.settle().await;
    assert_eq!(story.runs().await, []);
    story.maintainer_says("/greenlight approve").await;
    insta::assert_snapshot!(story.whole_answer(), @"A newer version of greenlight is working on this pull request, so this one leaves it alone. Upgrade greenlight and repeat the command.");
    story.maintainer_says("/greenlight status").await;
    let said = format!("Run `{}`: a newer version of greenlight wrote this", run.id());
    assert!(story.answer().contains(&said), "{}", story.answer());
    let told = story.log().matches("is left alone").count();
    assert_eq!(told, 1, "{}", story.log());
    story.has_not_landed();
    // Other people's work is unaffected.
    let (_, other) = another(&story).await;
    assert_eq!(other.open_gates().len(), 1);
    story.kill().await;
    assert_eq!(story.rows_of(run.id()).await, before);

    story.changes_last_step(run.id(), "format", "2").await;
    story.start().await;
    story.settle().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}
