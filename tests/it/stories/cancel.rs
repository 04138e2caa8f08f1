//! `/greenlight cancel`, a push and the end of a pull request: running work stops, and waiting requests are closed.

use github_double::{AUTHOR, Fault, MAINTAINER};

use crate::harness::model::Turn;
use crate::harness::story::{Scene, Story};

/// A test suite that never ends.
fn endless() -> Scene {
    Scene::tested_by("sleep 3000")
}

#[tokio::test]
async fn what_waits_is_cancelled() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight cancel").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Cancelled** by `mia`.

    <details><summary>Evidence: 1 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 1 passed | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    assert_eq!(story.check().conclusion.as_deref(), Some("cancelled"));
    story.maintainer_says("/greenlight approve").await;
    story.has_not_landed();
    story.maintainer_says("/greenlight cancel").await;
    story.finish().await;
}

#[tokio::test]
async fn tests_that_run_are_stopped() {
    let story = endless().begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until_it_works().await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.sticky().contains("**Cancelled** by `mia`"), "{}", story.sticky());
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_model_that_thinks_is_stopped() {
    let story = Scene::default().model([Turn::Silence]).begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.model().is_silent().await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.sticky().contains("**Cancelled** by `mia`"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_push_supersedes_what_is_at_work() {
    let story = endless().begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until_it_works().await;
    let old = story.head();
    let new = story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.settle().await;
    let sticky = story.sticky();
    assert!(
        sticky.contains(&format!("the head moved from {} to {}", &old[..7], &new[..7])),
        "{sticky}"
    );
    assert_eq!(story.check_on(&old).conclusion.as_deref(), Some("cancelled"));
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_forced_push_closes_what_waits() {
    let story = Story::new().await;
    story.ci_fails().await;
    let (old, changes) = (
        story.head(),
        [("fare.py", Some(&b"def fare(stops):\n    return 1\n"[..]))],
    );
    story.double.force_push(story.number, AUTHOR, &changes).await.unwrap();
    story.settle().await;
    assert!(story.sticky().contains("Open requests are void"), "{}", story.sticky());
    assert_eq!(story.check_on(&old).conclusion.as_deref(), Some("cancelled"));
    story.has_executed_nothing().await;
    story.finish().await;
}

#[tokio::test]
async fn closing_the_pull_request_stops_the_work() {
    let story = endless().begin().await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until_it_works().await;
    story.double.close(story.number, AUTHOR).await.unwrap();
    story.settle().await;
    assert!(story.sticky().contains("**Cancelled**"), "{}", story.sticky());
    story.maintainer_says("/greenlight fix").await;
    assert!(story.answer().contains("closed"), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn nothing_is_there_to_cancel() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.answer().contains("Nothing is running"), "{}", story.answer());
    story.finish().await;
}

/// How often a change that may be repeated is sent to GitHub.
const ATTEMPTS: usize = 6;

#[tokio::test]
async fn what_an_older_run_says_late_does_not_hide_what_waits_now() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    // GitHub takes no edit as often as it is tried, so the clock must report the end of this run later. With PostgreSQL,
    // the lane is claimed a second time before that.
    let claims = if story.is_shared() { 2 } else { 1 };
    for _ in 0..claims * ATTEMPTS {
        story
            .double
            .plan_fault("PATCH", "/issues/comments/", Fault::BadGatewayBefore);
    }
    story.maintainer_says("/greenlight cancel").await;
    let old = story.run().await;
    assert!(old.end.is_some() && !old.announced);
    story.maintainer_says("/greenlight fix").await;
    let waiting = story.sticky();
    assert!(waiting.contains("Approve to commit"), "{waiting}");
    story.process().resume(old).await;
    story.settle().await;
    assert_eq!(story.sticky(), waiting);
    assert_eq!(story.check().conclusion.as_deref(), Some("action_required"));
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}
