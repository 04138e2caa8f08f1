//! Faults of GitHub: no matter what it answers, everything happens exactly once.

use github_double::{AUTHOR, Fault, Role, STRANGER};

use crate::harness::story::{CHANGE, Scene, Story};

/// Everything that greenlight changes from `fix` to the landed commit.
const CHANGES: [(&str, &str); 10] = [
    ("POST", "/reactions"),
    ("POST", "/check-runs"),
    ("PATCH", "/check-runs/"),
    ("POST", "/reviews"),
    ("POST", "/issues/1/comments"),
    ("PATCH", "/issues/comments/"),
    ("POST", "/git/blobs"),
    ("POST", "/git/trees"),
    ("POST", "/git/commits"),
    ("POST", "/graphql mutation"),
];

async fn lands_once_despite(fault: Fault) {
    let story = Story::new().await;
    for (method, path) in CHANGES {
        story.double.plan_fault(method, path, fault);
    }
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn bad_gateway_before_the_effect() {
    lands_once_despite(Fault::BadGatewayBefore).await;
}

#[tokio::test]
async fn bad_gateway_after_the_effect() {
    lands_once_despite(Fault::BadGatewayAfter).await;
}

#[tokio::test]
async fn reset_before_the_effect() {
    lands_once_despite(Fault::ResetBefore).await;
}

#[tokio::test]
async fn reset_after_the_effect() {
    lands_once_despite(Fault::ResetAfter).await;
}

#[tokio::test]
async fn too_many_requests() {
    lands_once_despite(Fault::TooManyRequests { retry_after: 0 }).await;
}

#[tokio::test]
async fn the_secondary_limit() {
    lands_once_despite(Fault::SecondaryLimit { retry_after: 0 }).await;
}

#[tokio::test]
async fn reads_that_fail_are_read_again() {
    let story = Story::new().await;
    for path in [
        "/app",
        "/pulls/1",
        "/permission",
        "/contents/greenlight.toml",
        "/pulls/1/files",
        "/check-runs",
        "/issues/1/comments",
        "/git/ref/",
        "/git/commits/",
    ] {
        story.double.plan_fault("GET", path, Fault::BadGatewayBefore);
    }
    story
        .double
        .plan_fault("POST", "/graphql query", Fault::BadGatewayBefore);
    story
        .double
        .plan_fault("POST", "/access_tokens", Fault::BadGatewayAfter);
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

/// An Enterprise Server may be too old for what GraphQL is asked before a review.
#[tokio::test]
async fn what_graphql_does_not_answer_is_asked_over_rest() {
    let story = Story::new().await;
    story.double.predate_rulesets();
    story
        .double
        .plan_fault("GET", "/pulls/1/reviews", Fault::BadGatewayBefore);
    story.maintainer_says("/greenlight fix").await;
    let change = format!("{CHANGE}# again\n");
    let change = [("fare.py", Some(change.as_bytes()))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight fix").await;
    let reviews = story.double.reviews(story.number);
    let suggestions: usize = reviews.iter().map(|review| review.comments.len()).sum();
    assert_eq!((reviews.len(), suggestions), (2, 1), "{}", story.told());
    story.maintainer_says("/greenlight approve").await;
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn an_expired_token_is_renewed() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.expire_tokens();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.double.expire_tokens();
    story.maintainer_says("/greenlight status").await;
    assert!(story.answer().contains("Landed as"), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn a_retried_rerun_is_one_rerun() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.double.plan_fault("POST", "/rerun-failed-jobs", Fault::ResetAfter);
    story.maintainer_says("/greenlight retry").await;
    assert!(story.answers().is_empty(), "{}", story.told());
    story.finish().await;
}

#[tokio::test]
async fn an_answer_is_given_once_despite_a_reset() {
    let story = Story::new().await;
    story.double.plan_fault("POST", "/issues/1/comments", Fault::ResetAfter);
    story.says(STRANGER, "/greenlight fix").await;
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn without_the_right_to_write_check_runs_the_rest_works() {
    let story = Scene::default().app_permission("checks", "none").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn without_the_right_to_write_contents_the_suggestions_are_the_result() {
    let story = Scene::default().app_permission("contents", "read").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_not_landed();
    assert!(
        story.sticky().contains("greenlight cannot push to this branch"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn who_is_gone_may_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.set_role("mia", Role::None);
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("write access"), "{}", story.answer());
    story.has_not_landed();
    story.finish().await;
}
