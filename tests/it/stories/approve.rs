//! `/greenlight approve`: exactly what the gate said, by authorised people, on the head it was made for.

use github_double::{AUTHOR, MAINTAINER, READER, Role, STRANGER};
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, FIXED, Scene, Story};

#[tokio::test]
async fn a_maintainer_fixes_and_approves() {
    let story = Story::new().await;
    let command = story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!((review.state.as_str(), review.commit), ("COMMENTED", story.head()));
    assert_eq!(review.comments.len(), 1);
    assert_eq!(
        (review.comments[0].path.as_str(), review.comments[0].lines),
        ("fare.py", Some((6, 6)))
    );
    assert_eq!(
        story.suggestions()[0].body,
        "```suggestion\n    return paid - fare(stops)\n```"
    );
    assert_eq!(story.check().conclusion.as_deref(), Some("action_required"));
    insta::assert_snapshot!(story.whole_review(), @"
    <!-- greenlight:review head=[commit] -->

    `paid + fare(stops)` became `paid - fare(stops)` in `fare.py:6` (`change`) (tested)

    Found without a model: a small edit; [n] edits tried in [time].

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

    --- fare.py:6-6
    ```suggestion
        return paid - fare(stops)
    ```
    <!-- greenlight:suggestion id=[digest] -->
    ");
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **A tested fix for [commit] is suggested.**

    **Approve to commit 1 changed file to `change`, exactly as tested.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`.</sub>

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
    insta::assert_snapshot!(story.whole_check(), @r#"
    🟡 A tested fix for [commit] is suggested.
    completed, action_required
    "test_fare.py":11: "Traceback (most recent call last):\n  File \"/workspace/test_fare.py\", line 11, in test_change_is_given\n    self.assertEqual(change(500, 2), 200)\nAssertionError: 800 != 200"
    ["Approve"] "Commit exactly what was tested"
    ["Reject"] "Turn this down"
    "#);
    story.has_not_landed();

    let approval = story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
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
    ");
    insta::assert_snapshot!(story.whole_check(), @"
    🟢 Landed as [commit]: 2 passed.
    completed, success
    ");
    let commits = story.double.commits(story.number).unwrap();
    assert!(commits[1].verified, "made by the App, so signed by GitHub");
    insta::assert_snapshot!(story.whole_message(), @"
    paid + fare(stops) became paid - fare(stops) in fare.py:6 (change)

    Found by greenlight (the built-in repair engine).

    Approved-by: mia

    Greenlight-Run: [run]
    ");
    // A single comment, edited; every command has its receipt.
    assert_eq!(story.comments().len(), 1);
    for comment in story.double.comments(story.number) {
        if [command, approval].contains(&comment.id) {
            assert_eq!(comment.reactions, [("eyes".to_string(), story.double.bot())]);
        }
    }
    story.finish().await;
}

#[tokio::test]
async fn what_lands_is_what_applying_the_suggestions_gives() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let suggestions: Vec<u64> = story.review().comments.iter().map(|comment| comment.id).collect();
    story.double.commit_suggestions(&suggestions, AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), FIXED);
    // The author's commit is a push, so the request for the old head is void.
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟢 **The suggestion was committed:** the head moved from [commit] to [commit], and nothing is left to commit.

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
    story.finish().await;
}

#[tokio::test]
async fn red_ci_without_a_model_asks_before_anything_runs() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    story.has_no_review();
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🔴 **CI is red on [commit].** I read the job's log; nothing was executed.

    **Approve to run `python3 -m unittest discover` in the sandbox on [commit] and search for a fix, for at most 10 minutes; nothing lands.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`.</sub>

    From the log of the failed job:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/home/runner/work/rail/rail/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    insta::assert_snapshot!(story.whole_check(), @r#"
    🔴 CI is red on [commit]. I read the job's log; nothing was executed.
    completed, action_required
    "test_fare.py":11: "Traceback (most recent call last):\n  File \"/home/runner/work/rail/rail/test_fare.py\", line 11, in test_change_is_given\n    self.assertEqual(change(500, 2), 200)\nAssertionError: 800 != 200"
    ["Approve"] "Run the tests and search for a fix"
    ["Reject"] "Turn this down"
    ["Re-run failed jobs"] "Have GitHub re-run the failed CI jobs"
    "#);

    story.maintainer_says("/greenlight approve").await;
    story.review();
    story.has_not_landed();

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_test_run_leaves_time_for_two_more() {
    let story = Scene::default()
        .config("[limits]\nwall = \"15m\"\n[test]\ntimeout = \"14m\"\n")
        .begin()
        .await;
    story.ci_fails().await;
    let asked = story.whole_sticky();
    assert!(
        asked.contains("in the sandbox") && asked.contains("for at most 5 minutes"),
        "{asked}"
    );
    story.finish().await;
}

#[tokio::test]
async fn red_ci_with_a_model_takes_one_approval() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("read_file", json!({ "path": "fare.py" })),
        calls("edit_file", edit),
        calls(
            "submit",
            json!({ "summary": "Change is what is left of what was paid." }),
        ),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    insta::assert_snapshot!(story.whole_review(), @"
    <!-- greenlight:review head=[commit] -->

    Change is what is left of what was paid. (**not executed** yet: based only on reading the log and the code)

    <sub>Patch `[digest]`.</sub>

    Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does).

    --- fare.py:6-6
    ```suggestion
        return paid - fare(stops)
    ```
    <!-- greenlight:suggestion id=[digest] -->
    ");
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **A fix for [commit] is suggested, not executed yet.**

    **Approve to run `python3 -m unittest discover` on 1 changed file in the sandbox, for at most 10 minutes, and commit the result to `change` if it is green.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`. The model used 3 turns, [n] tokens, unknown cost so far, and may use 27 turns, [n] tokens, $2.00, [time] more.</sub>

    From the log of the failed job:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/home/runner/work/rail/rail/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.file("fare.py"), CHANGE);

    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn who_may_not_is_refused_and_nothing_happens() {
    let story = Story::new().await;
    for (login, command) in [(STRANGER, "/greenlight fix"), (READER, "/greenlight fix")] {
        story.says(login, command).await;
        let answer = story.whole_answer().replace(&format!("`{login}`"), "`[login]`");
        insta::allow_duplicates! { insta::assert_snapshot!(answer, @"`[login]` may not do this: it requires write access to this repository. Somebody with write access can comment the same command."); }
    }
    assert!(story.runs().await.is_empty());
    story.says(MAINTAINER, "/greenlight fix").await;
    for login in [STRANGER, READER] {
        for command in [
            "/greenlight approve",
            "/greenlight reject no",
            "/greenlight cancel",
            "/greenlight undo",
        ] {
            story.says(login, command).await;
            assert!(
                story.answer().contains("it requires write access"),
                "{}",
                story.answer()
            );
        }
    }
    story.has_not_landed();
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn an_approval_of_an_outdated_head_is_refused() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let old = story.head();
    // greenlight does not hear of the push, so the approval itself must notice it.
    story.kill().await;
    let new = story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.start().await;
    story.maintainer_says("/greenlight approve").await;
    let answer = story.answer();
    assert!(answer.contains(&old[..7]) && answer.contains(&new[..7]), "{answer}");
    assert_eq!(story.head(), new);
    assert!(story.sticky().contains("Stopped"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn an_approval_after_a_push_names_both_heads() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let old = story.head();
    let new = story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight approve").await;
    let answer = story.answer();
    assert!(answer.contains(&old[..7]) && answer.contains(&new[..7]), "{answer}");
    insta::assert_snapshot!(story.whole_answer(), @"The request was made for [commit], but the head is now [commit], so this approval does nothing. `/greenlight fix` starts again.");
    assert_eq!(story.head(), new);
    story.finish().await;
}

#[tokio::test]
async fn an_approval_written_before_the_request_approves_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix\n\n/greenlight approve").await;
    story.has_not_landed();
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn two_approvers_are_two_people() {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **A tested fix for [commit] is suggested.**

    **Approve to commit 1 changed file to `change`, exactly as tested.** 2 people have to approve.

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`.</sub>

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
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight approve").await;
    insta::assert_snapshot!(story.whole_answer(), @"You have already approved; 2 different people are needed.");
    story.has_not_landed();
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_landed();
    insta::assert_snapshot!(story.whole_message(), @"
    paid + fare(stops) became paid - fare(stops) in fare.py:6 (change)

    Found by greenlight (the built-in repair engine).

    Approved-by: mia
    Approved-by: ada

    Greenlight-Run: [run]
    ");
    story.finish().await;
}

#[tokio::test]
async fn who_lost_the_right_since_approving_lands_nothing() {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.double.set_role(MAINTAINER, Role::Read);
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_not_landed();
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🔴 **Refused.** mia approved, but no longer has write access.

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
    story.finish().await;
}

#[tokio::test]
async fn a_request_that_nobody_answered_in_time_is_closed() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.kill().await;
    story.days_pass().await;
    story.start().await;
    story.settle().await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Expired:** nobody answered in time. `/greenlight fix` starts again.

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
    story.maintainer_says("/greenlight approve").await;
    insta::assert_snapshot!(story.whole_answer(), @"`[gate]` expired. `/greenlight fix` starts again.");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn an_id_means_that_request_and_no_other() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve gaaaa7").await;
    insta::assert_snapshot!(story.whole_answer(), @"There is no open request `[gate]`. `/greenlight status` shows what is waiting.");
    story.has_not_landed();
    let id = story.run().await.open_gates()[0].id.clone();
    story.maintainer_says(&format!("/greenlight approve `{id}`")).await;
    story.has_landed();
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("No request is waiting"), "{}", story.answer());
    story.finish().await;
}
