//! Installing dependencies on a pull request: who must consent, and what is reported when it fails.

use crate::harness::story::Scene;

/// Tests that need an installed file, and the bug of the pull request.
const NEEDY: &str = "[test]\ninstall = \"echo yes > /installed/there\"\n\
                     command = \"sh -c 'test -f /installed/there || exit 99; python3 -m unittest discover'\"\n";

#[tokio::test]
async fn an_approval_says_what_is_installed_and_then_it_is() {
    let story = Scene::default().config(NEEDY).begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    let asked = story.sticky();
    assert!(asked.contains("echo yes > /installed/there && "), "{asked}");
    story.maintainer_says("/greenlight approve").await;
    let before = story.run().await.reproduced.unwrap().0;
    assert_eq!((before.passed, before.failed), (1, 1), "{}", before.tail);
    story.finish().await;
}

#[tokio::test]
async fn what_cannot_be_installed_is_no_failure_of_the_tests() {
    let story = Scene::default()
        .config("[test]\ninstall = \"echo no such package; exit 3\"\n")
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    assert!(
        sticky.contains("The tests were not run")
            && sticky.contains("exited with 3")
            && sticky.contains("no such package"),
        "{sticky}"
    );
    assert!(story.run().await.reproduced.is_none());
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_pull_request_grants_itself_nothing() {
    let own = "[test]\ninstall = \"touch /installed/evil\"\n[sandbox]\nnetwork = [\"evil.example\"]\n";
    let story = Scene::default().adds("greenlight.toml", own).begin().await;
    story.ci_fails().await;
    let asked = story.sticky();
    assert!(!asked.contains("evil"), "{asked}");
    story.maintainer_says("/greenlight approve").await;
    assert!(story.run().await.reproduced.is_some());
    assert!(!story.folder().join("installed").exists());
    story.finish().await;
}
