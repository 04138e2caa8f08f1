//! The author of a pull request chooses its base branch and can change it at any time: that never loosens a rule of
//! the default branch, and no approval survives it.

use github_double::{AUTHOR, MAINTAINER, STRANGER};
use greenlight::domain::run::End;
use reqwest::Method;

use crate::harness::story::{CHANGE, Scene, Story};

const OLD: &str = "old-release";

/// `main` requires two approvals and ignores CI failures; an old branch has no such rules.
const STRICT: &str = "[trigger]\nci = false\n[gate]\napprovers = 2\n[protect]\npaths = [\"db/**\"]\n";
const LOOSE: &str = "execution = \"sandbox\"\n[limits]\nturns = 200\n[sandbox]\nnetwork = [\"evil.example\"]\n";

async fn with_an_old_release(story: &Story, config: Option<&str>) {
    story.double.branch_off("main", OLD).unwrap();
    let files = [("greenlight.toml", config.map(str::as_bytes))];
    story.double.push_to(OLD, MAINTAINER, &files).await.unwrap();
    story.settle().await;
}

async fn is_retargeted(story: &Story) {
    let run = story.run().await;
    let retargeted = End::Retargeted {
        from: "main".into(),
        to: OLD.into(),
    };
    assert_eq!(run.end, Some(retargeted));
    assert!(run.open_gates().is_empty());
    let stopped = story.whole_sticky();
    let stopped = stopped.lines().nth(1).unwrap();
    insta::allow_duplicates! { insta::assert_snapshot!(stopped, @"⚪ **Stopped:** the base branch changed from `main` to `old-release`, where other rules apply. Open requests are void; `/greenlight fix` starts again."); }
    assert_eq!(story.check().conclusion.as_deref(), Some("cancelled"));
    story.has_not_landed();
    assert_eq!(story.file("fare.py"), CHANGE);
}

#[tokio::test]
async fn an_old_branch_does_not_loosen_the_rules_of_the_default_branch() {
    let story = Scene::default()
        .config(STRICT)
        .author(STRANGER)
        .forked(false)
        .begin()
        .await;
    with_an_old_release(&story, Some(LOOSE)).await;
    story.double.change_base(story.number, STRANGER, OLD).await.unwrap();
    story.ci_fails().await;
    assert!(story.runs().await.is_empty(), "red CI is left alone: {}", story.told());
    story.says(STRANGER, "/greenlight config").await;
    let shown = story.answer();
    for line in [
        "the stricter of `greenlight.toml on main` and `greenlight.toml on old-release`",
        "execution = \"approve\"",
        "ci = false",
        "approvers = 2",
        "turns = 30",
        "network = []",
        "paths = [\"db/**\"]",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    story.finish().await;
}

#[tokio::test]
async fn a_branch_without_a_file_has_the_rules_of_the_default_branch() {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    with_an_old_release(&story, None).await;
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    story.maintainer_says("/greenlight fix").await;
    assert!(
        story.sticky().contains("2 people have to approve"),
        "{}",
        story.sticky()
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_not_landed();
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_mistake_on_the_default_branch_is_said() {
    let story = Scene::default().config("[gate]\naprovers = 2\n").begin().await;
    with_an_old_release(&story, Some(LOOSE)).await;
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_answer(), @"
    `greenlight.toml` on the base branch cannot be used, so I did nothing:

    ```text
    on `main`, the default branch, which also counts: greenlight.toml line 2, `gate.aprovers`: there is no such field; did you mean `approvers`?
    ```
    ");
    assert!(story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn one_read_is_enough_where_the_base_is_the_default_branch() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight config").await;
    let requests = story.double.requests();
    let reads = requests
        .iter()
        .filter(|one| one.path.ends_with("/contents/greenlight.toml"));
    assert_eq!(reads.count(), 1);
    story.finish().await;
}

#[tokio::test]
async fn another_base_voids_what_waits_for_an_approval() {
    let story = Story::new().await;
    with_an_old_release(&story, Some(LOOSE)).await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    story.settle().await;
    is_retargeted(&story).await;
    story.maintainer_says("/greenlight approve").await;
    story.has_not_landed();
    // On the new base, approval is requested again.
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn another_base_that_nobody_told_of_is_seen_at_the_approval() {
    let mut story = Story::new().await;
    with_an_old_release(&story, Some("")).await;
    story.maintainer_says("/greenlight fix").await;
    story.kill().await;
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    story.start().await;
    story.maintainer_says("/greenlight approve").await;
    is_retargeted(&story).await;
    story.finish().await;
}

#[tokio::test]
async fn another_base_that_nobody_told_of_is_seen_by_the_next_command() {
    let mut story = Scene::default().begin().await;
    with_an_old_release(&story, Some("[gate]\napprovers = 2\n")).await;
    story.maintainer_says("/greenlight fix").await;
    story.kill().await;
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    story.start().await;
    story.maintainer_says("/greenlight fix").await;
    let runs = story.runs().await;
    assert!(matches!(runs[0].end, Some(End::Retargeted { .. })), "{:?}", runs[0].end);
    assert!(
        story.sticky().contains("2 people have to approve"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn another_base_between_the_approval_and_the_commit_is_seen_there() {
    let mut story = Story::new().await;
    with_an_old_release(&story, Some("")).await;
    let gateway = story.gateway().await;
    story.maintainer_says("/greenlight fix").await;
    gateway.hold(Method::GET, "/collaborators/mia/permission");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    gateway.holds().await;
    story.double.change_base(story.number, AUTHOR, OLD).await.unwrap();
    gateway.release();
    story.settle().await;
    is_retargeted(&story).await;
    story.finish().await;
}

#[tokio::test]
async fn another_title_voids_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story
        .double
        .retitle(story.number, AUTHOR, "Give change back")
        .await
        .unwrap();
    story.settle().await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}
