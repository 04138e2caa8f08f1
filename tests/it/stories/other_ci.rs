//! CI systems other than GitHub Actions start a run as well, and "Re-run" in the Checks tab requests one.

use github_double::{MAINTAINER, READER, STRANGER};

use crate::harness::story::{Scene, Story};

/// CircleCI, Buildkite and others report check runs and their suite, which name no pull request from a fork.
#[tokio::test]
async fn red_checks_of_another_app_begin_one_run_also_on_a_fork() {
    for forked in [false, true] {
        let scene = Scene::default();
        let scene = if forked {
            scene.author(STRANGER).forked(false)
        } else {
            scene
        };
        let story = scene.begin().await;
        for green in ["success", "neutral", "cancelled", "skipped"] {
            story
                .double
                .report_checks(story.number, &["lint"], green)
                .await
                .unwrap();
        }
        story.settle().await;
        assert!(story.runs().await.is_empty());
        let red = ["build", "unit", "integration"];
        story.double.report_checks(story.number, &red, "failure").await.unwrap();
        story.settle().await;
        assert_eq!(story.runs().await.len(), 1);
        assert_eq!(story.comments().len(), 1);
        story.has_executed_nothing().await;
        story.maintainer_says("/greenlight approve").await;
        assert_eq!(story.suggestions().len(), 1);
        story.finish().await;
    }
}

#[tokio::test]
async fn red_statuses_of_another_ci_begin_one_run_also_on_a_fork() {
    for forked in [false, true] {
        let scene = Scene::default();
        let scene = if forked {
            scene.author(STRANGER).forked(false)
        } else {
            scene
        };
        let story = scene.begin().await;
        for green in ["pending", "success"] {
            story
                .double
                .report_status(story.number, ("ci/jenkins", green), MAINTAINER)
                .await
                .unwrap();
        }
        let bot = story.double.bot();
        story
            .double
            .report_status(story.number, ("ours", "failure"), &bot)
            .await
            .unwrap();
        story.settle().await;
        assert!(story.runs().await.is_empty());
        for at in 0..50 {
            let context = format!("ci/jenkins-{at}");
            let state = if at % 2 == 0 { "failure" } else { "error" };
            story
                .double
                .report_status(story.number, (&context, state), MAINTAINER)
                .await
                .unwrap();
        }
        story.settle().await;
        assert_eq!(story.runs().await.len(), 1);
        assert_eq!(story.comments().len(), 1);
        story.has_executed_nothing().await;
        story.maintainer_says("/greenlight approve").await;
        assert_eq!(story.suggestions().len(), 1);
        story.finish().await;
    }
}

#[tokio::test]
async fn rerun_in_the_checks_tab_is_fix_by_whoever_pressed_it() {
    let story = Story::new().await;
    story.ci_fails().await;
    let check = story.check();
    for nobody in [STRANGER, READER] {
        story.double.rerequest(check.id, nobody).await.unwrap();
        story.settle().await;
    }
    story.has_executed_nothing().await;
    assert_eq!(story.runs().await.len(), 1);
    story.double.rerequest(check.id, MAINTAINER).await.unwrap();
    story.settle().await;
    assert!(story.review().body.contains("(tested)"), "{}", story.review().body);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn rerun_of_all_checks_is_fix_by_whoever_pressed_it() {
    let story = Story::new().await;
    story.ci_fails().await;
    let check = story.check();
    for nobody in [STRANGER, READER] {
        story.double.rerequest_suite(check.id, nobody).await.unwrap();
        story.settle().await;
    }
    story.has_executed_nothing().await;
    story.double.rerequest_suite(check.id, MAINTAINER).await.unwrap();
    story.settle().await;
    assert!(story.review().body.contains("(tested)"), "{}", story.review().body);
    story.finish().await;
}

#[tokio::test]
async fn rerun_of_the_checks_of_another_app_is_not_for_greenlight() {
    let story = Story::new().await;
    let id = story
        .double
        .report_checks(story.number, &["build"], "success")
        .await
        .unwrap();
    story.double.rerequest(id, MAINTAINER).await.unwrap();
    story.double.rerequest_suite(id, MAINTAINER).await.unwrap();
    story.settle().await;
    story.has_executed_nothing().await;
    assert!(story.runs().await.is_empty());
    story.finish().await;
}
