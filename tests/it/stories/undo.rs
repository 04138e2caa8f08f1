//! `/greenlight undo` and `/greenlight retry`.

use github_double::AUTHOR;

use crate::harness::story::{CHANGE, Story};

#[tokio::test]
async fn what_landed_is_taken_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight undo").await;
    insta::assert_snapshot!(story.whole_answer(), @"There is nothing to undo: the head is not a commit that greenlight landed.");
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight undo").await;
    story.has_commits(3);
    assert_eq!(story.file("fare.py"), CHANGE);
    assert!(story.answer().contains(&story.head()[..7]), "{}", story.answer());
    insta::assert_snapshot!(story.whole_answer(), @"Reverted with [commit].");
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Reverted** with [commit]: the fix that landed as [commit].

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
    // An undone fix cannot be undone again, nor landed again.
    story.maintainer_says("/greenlight undo").await;
    story.has_commits(3);
    story.finish().await;
}

#[tokio::test]
async fn what_somebody_built_on_is_not_taken_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight undo").await;
    assert!(story.answer().contains("nothing to undo"), "{}", story.answer());
    story.has_commits(3);
    story.finish().await;
}

#[tokio::test]
async fn failed_jobs_run_again() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight retry").await;
    insta::assert_snapshot!(story.whole_answer(), @"I know of no failed CI jobs on this head.");
    story.ci_fails().await;
    story.maintainer_says("/greenlight retry").await;
    let reruns = |story: &Story| {
        let requests = story.double.requests();
        requests
            .iter()
            .filter(|request| request.path.ends_with("/rerun-failed-jobs"))
            .count()
    };
    assert_eq!((reruns(&story), story.answers().len()), (1, 1));
    // A second retry is not an error: CI is already running.
    story.maintainer_says("/greenlight retry").await;
    assert!(!story.answer().contains("Something broke"), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn red_ci_after_an_undo_does_not_bring_the_fix_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight undo").await;
    story.ci_fails().await;
    assert_eq!(story.runs().await.len(), 1, "{}", story.told());
    story.finish().await;
}
