//! Fixes remembered from a repository are tried first, verified again, shown, and never trusted.

use github_double::{AUTHOR, MAINTAINER, NewPullRequest, STRANGER};
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, Scene, Story, TESTS};
use crate::harness::whole::stable;

/// Two turns that propose this line instead of the wrong one.
fn proposes(line: &str) -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": line });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left. cc @everyone" })),
    ]
}

/// The same mistake again, in a file that has changed since.
async fn breaks_again(story: &Story, file: &str) {
    let changes = [("fare.py", Some(file.as_bytes()))];
    story.double.push(story.number, AUTHOR, &changes).await.unwrap();
    story.settle().await;
}

#[tokio::test]
async fn an_accepted_fix_is_tried_first_when_the_same_failure_comes_back() {
    // The model has turns for one fix only; if it is asked for another, the story fails.
    let scene = Scene::default().model(proposes("return paid - fare(stops)"));
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    breaks_again(&story, &format!("{CHANGE}\n\ndef free():\n    return 0\n")).await;
    story.maintainer_says("/greenlight fix").await;
    let reviews = story.double.reviews(story.number);
    let review = &reviews.last().unwrap().body;
    // Verified on this tree, like any other.
    insta::assert_snapshot!(stable(review), @"
    <!-- greenlight:review head=[commit] -->

    Change is what is left. cc @⁠everyone

    This fix was accepted before for the same failure, in run `[run]`, so I tried it first (tested)

    Found without a model: a fix that was accepted before for the same failure.

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

    <sub>Patch `[digest]`.</sub>

    Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does).
    ");
    story.maintainer_says("/greenlight approve").await;
    assert!(story.file("fare.py").contains("return paid - fare(stops)"));
    assert!(story.file("fare.py").contains("def free()"));
    story.maintainer_says("/greenlight status").await;
    insta::assert_snapshot!(story.whole_answer(), @"
    🟢 **Landed as [commit]**: 2 passed.

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

    <details><summary>What I remember about this repository</summary>

    - Tests ran with `python3 -m unittest discover`.
    - Accepted as [commit] on [date], in `fare.py`: Change is what is left. cc @⁠everyone
    - Accepted as [commit] on [date], in `fare.py`: Change is what is left. cc @⁠everyone
    - Proposals: 0 from tools' autofixes, 1 from accepted fixes, 0 from reverting part of the pull request, 0 from small edits, 1 from a model.

    These fixes are tried first when the same failure comes back, and verified again like any other.

    </details>
    ");
    story.finish().await;
}

/// The author of the pull request commits the only suggestion.
async fn the_author_commits_it(story: &Story) {
    let suggestion = story.review().comments[0].id;
    story.double.commit_suggestions(&[suggestion], AUTHOR).await.unwrap();
    story.settle().await;
    assert!(
        story.sticky().contains("The suggestion was committed"),
        "{}",
        story.sticky()
    );
}

#[tokio::test]
async fn what_a_writer_commits_of_a_suggestion_is_accepted() {
    let story = Scene::default()
        .model(proposes("return paid - fare(stops)"))
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    the_author_commits_it(&story).await;
    breaks_again(&story, &format!("{CHANGE}\n\ndef free():\n    return 0\n")).await;
    story.maintainer_says("/greenlight fix").await;
    let reviews = story.double.reviews(story.number);
    let review = &reviews.last().unwrap().body;
    assert!(review.contains("accepted before for the same failure"), "{review}");
    story.finish().await;
}

#[tokio::test]
async fn what_a_stranger_commits_to_their_fork_is_not_accepted() {
    let story = Scene::default().author(STRANGER).forked(true).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let suggestion = story.review().comments[0].id;
    story.double.commit_suggestions(&[suggestion], STRANGER).await.unwrap();
    story.settle().await;
    assert!(
        story.sticky().contains("The suggestion was committed"),
        "{}",
        story.sticky()
    );
    // The same failure in a pull request from the same repository.
    let tests = NewPullRequest::new(AUTHOR, "again", "Give change, too");
    let tests = tests.write("fare.py", CHANGE).write("test_fare.py", TESTS);
    let other = story.double.open_pull_request(tests).await.unwrap();
    story
        .double
        .comment(other, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.settle().await;
    let review = story.double.reviews(other).pop().unwrap().body;
    assert!(review.contains("(tested)"), "{review}");
    assert!(!review.contains("accepted before"), "{review}");
    story.maintainer_says("/greenlight status").await;
    assert!(!story.answer().contains("Accepted as"), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn what_does_not_hold_any_more_is_not_proposed() {
    let both = proposes("return paid - fare(stops)")[0].clone().and(
        "edit_file",
        json!({ "path": "fare.py", "old": "_change(paid, stops) + 1", "new": "_change(paid, stops)" }),
    );
    let [_, submit] = proposes("");
    let turns = proposes("return paid - fare(stops)").into_iter().chain([both, submit]);
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    // The same test fails in the same way, but the remembered fix alone no longer suffices.
    let twice = "\n\n_change = change\n\n\ndef change(paid, stops):\n    return _change(paid, stops) + 1\n";
    breaks_again(&story, &format!("{CHANGE}{twice}")).await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    assert!(story.file("fare.py").ends_with("return _change(paid, stops)\n"));
    story.finish().await;
}

#[tokio::test]
async fn what_was_taken_back_is_not_tried_again() {
    let turns = [
        proposes("return paid - fare(stops)"),
        proposes("return paid - (200 + 50 * stops)"),
    ];
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight undo").await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    assert!(story.file("fare.py").contains("return paid - (200 + 50 * stops)"));
    story.finish().await;
}

#[tokio::test]
async fn a_reason_of_an_earlier_run_is_told_to_the_model() {
    let turns = [
        proposes("return (paid - fare(stops))"),
        proposes("return paid - fare(stops)"),
    ];
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject").await;
    story.maintainer_says("/greenlight fix").await;
    let asked = story.model().requests().pop().unwrap().to_string();
    assert!(asked.contains("rejected it without a reason"), "{asked}");
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_run_is_written_down_with_its_tree_and_without_secrets() {
    let story = Scene::default()
        .model(proposes("return paid - fare(stops)"))
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    let file = story.folder().join(format!("bundles/acme/rail/{}.zip", run.id()));
    let into = tempfile::tempdir().unwrap();
    let (manifest, steps, tree) = greenlight::engine::bundle::read(&file, into.path()).unwrap();
    assert_eq!(manifest.head, run.started.head);
    assert_eq!(manifest.model.as_deref(), Some("scripted"));
    assert_eq!(tree.read_text("fare.py").as_deref(), Some(CHANGE));
    let again = greenlight::domain::run::Run::fold(steps).unwrap();
    assert_eq!(again.proposal, run.proposal);
    assert_eq!(again.spent.turns, 2);
    story.finish().await;
}
