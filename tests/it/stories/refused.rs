//! Errors from GitHub are explained to people: the missing permission, the invalid field.

use github_double::{Fault, JobLog};

use crate::harness::story::{LOG, Scene, Story};

#[tokio::test]
async fn a_missing_permission_is_named_in_the_answer_and_in_the_log() {
    let story = Story::new().await;
    story.double.plan_fault("GET", "/permission", Fault::NotAccessible);
    story.maintainer_says("/greenlight fix").await;
    let answer = story.answer();
    assert!(answer.contains("the App lacks `pull_requests: write`"), "{answer}");
    insta::assert_snapshot!(story.whole_answer(), @"GitHub does not let me do this: the App lacks `pull_requests: write`. For a GitHub App, an owner grants it in the App's settings under *Permissions & events* and then accepts the change for this installation. For a workflow, add it under `permissions:`. Then repeat the command.");
    assert!(story.log().contains("the App lacks `pull_requests: write`"));
    story.finish().await;
}

#[tokio::test]
async fn without_the_right_to_review_the_end_of_the_run_names_it() {
    let story = Scene::default().app_permission("pull_requests", "read").begin().await;
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    assert!(sticky.contains("lacks `pull_requests: write`"), "{sticky}");
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🔴 **The fix could not be posted** on [commit]. GitHub could not be used: GitHub refused /repos/acme/rail/pulls/1/reviews with 403: Resource not accessible by integration; the App lacks `pull_requests: write`.

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
    story.has_no_review();
    story.finish().await;
}

/// The body is one from `octokit/fixtures`, where `errors` has codes and no messages.
#[tokio::test]
async fn codes_of_a_validation_are_sentences_and_nothing_did_not_land_before_anybody_approved() {
    let story = Story::new().await;
    // Once for the suggestions, and once for the patch in their place.
    for _ in 0..2 {
        story.double.plan_fault("POST", "/reviews", Fault::MissingField);
    }
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    assert!(
        sticky.contains("body of PullRequestReview is missing") || sticky.contains("body of `PullRequestReview`"),
        "{sticky}"
    );
    assert!(!sticky.contains("; ;") && !sticky.contains("did not land"), "{sticky}");
    assert!(sticky.contains("The fix could not be posted"), "{sticky}");
    story.finish().await;
}

#[tokio::test]
async fn jobs_that_timed_out_are_found_and_run_again() {
    let story = Scene::default().config("[trigger]\nci = false\n").begin().await;
    let job = JobLog {
        workflow: "CI",
        job: "test",
        step: "python -m unittest",
        log: LOG,
    };
    story.double.conclude_ci(story.number, job, "timed_out").await.unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight retry").await;
    assert_eq!(story.answers(), [""; 0], "{}", story.told());
    let again = story.double.requests();
    let again = again.iter().filter(|one| one.path.ends_with("/rerun-failed-jobs"));
    assert_eq!(again.count(), 1);
    story.finish().await;
}
