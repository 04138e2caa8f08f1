//! Confinement that is required before anything runs, and whose code never runs without it.

use github_double::MAINTAINER;

use crate::harness::story::{Scene, Story};
use crate::harness::unconfined;

async fn is_refused(story: &Story, reason: &str) {
    story.ci_fails().await;
    story.says(MAINTAINER, "/greenlight fix").await;
    assert!(story.sticky().contains(reason), "{}", story.sticky());
    assert!(story.sticky().contains("Nothing was executed"), "{}", story.sticky());
    story.has_executed_nothing().await;
    story.has_not_landed();
}

#[tokio::test]
async fn code_of_a_fork_never_runs_unconfined() {
    let story = Scene::default().forked(true).sandbox(unconfined().await).begin().await;
    is_refused(&story, "never runs the code of a fork").await;
    story.finish().await;
}

#[tokio::test]
async fn code_of_the_repository_itself_runs_unconfined_where_that_was_chosen() {
    let story = Scene::default().sandbox(unconfined().await).begin().await;
    story.ci_fails().await;
    story.says(MAINTAINER, "/greenlight fix").await;
    assert!(story.review().body.contains("(tested)"), "{}", story.review().body);
    story.finish().await;
}

#[tokio::test]
async fn what_the_base_branch_requires_is_enforced_or_nothing_runs() {
    let config = "[sandbox]\nrequire = [\"memory\", \"disk\"]\n";
    let story = Scene::default()
        .config(config)
        .sandbox(unconfined().await)
        .begin()
        .await;
    is_refused(&story, "`require` names memory").await;
    story.finish().await;
}
