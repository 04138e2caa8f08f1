//! Tests that a model would rather change than satisfy.

use github_double::{MAINTAINER, STRANGER};
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

fn edit(path: &str, old: &str, new: &str) -> Turn {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

fn submit() -> Turn {
    calls("submit", json!({ "summary": "Change is what is left." }))
}

fn doubt() -> Turn {
    let summary = "The test expects the wrong change.";
    calls("submit", json!({ "summary": summary, "test_may_be_wrong": true }))
}

fn weaken() -> Turn {
    edit(
        "test_fare.py",
        "self.assertEqual(change(500, 2), 200)",
        "self.assertEqual(change(500, 2), 800)",
    )
}

fn mend() -> Turn {
    edit("fare.py", "paid + fare", "paid - fare")
}

async fn fix(turns: impl IntoIterator<Item = Turn>) -> Story {
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn a_weakened_test_is_sent_back_and_the_code_mended() {
    let undo = edit(
        "test_fare.py",
        "self.assertEqual(change(500, 2), 800)",
        "self.assertEqual(change(500, 2), 200)",
    );
    let story = fix([weaken(), submit(), undo, mend(), submit()]).await;
    let told = story.model().results().join("\n");
    assert!(told.contains("Careful: this weakens the tests"), "{told}");
    assert!(
        told.contains("not accepted: it weakens the tests: test_fare.py:"),
        "{told}"
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_test_that_may_be_wrong_is_shown_as_that_and_lands_only_by_its_name() {
    let story = fix([weaken(), submit(), doubt()]).await;
    let review = story.review();
    assert!(review.comments.is_empty(), "nothing to be committed in passing");
    insta::assert_snapshot!(story.whole_review(), @r#"
    <!-- greenlight:review head=[commit] -->

    ### The test may be wrong

    This does not fix the code. It changes the tests, and makes them weaker:

    - `test_fare.py:11`: `Fares > test_change_is_given`: `` `self.assertEqual(change(500,2),200)` is now `self.assertEqual(change(500,2),800)` ``

    It is posted only as a patch, so that no part of it is committed by accident.

    The test expects the wrong change. (tested)

    Here is the whole fix as one patch. The same approval lands it.

    <details><summary>Patch of 1 changed file</summary>



    ```diff
    diff --git a/test_fare.py b/test_fare.py
    --- a/test_fare.py
    +++ b/test_fare.py
    @@ -8,4 +8,4 @@
             self.assertEqual(fare(2), 300)

         def test_change_is_given(self):
    -        self.assertEqual(change(500, 2), 200)
    +        self.assertEqual(change(500, 2), 800)
    ```

    In a checkout of this head:

    ```sh
    echo [patch] | base64 -d | gunzip | git -C "$(git rev-parse --show-toplevel)" apply --whitespace=nowarn
    ```

    </details>

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

    The model used 3 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>Patch `[digest]`.</sub>

    None of this lands until somebody approves the request by name; the name is in the comment below.
    "#);
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟠 **The test may be wrong** on [commit]: a change to a test is suggested, not a fix of the code.

    **Approve to change the tests: commit 1 changed file with tests to `change`, which weakens them in one place. The code does not change.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`. The model used 3 turns, [n] tokens, unknown cost so far, and may use 27 turns, [n] tokens, $2.00, [time] more.</sub>

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

    The model used 3 turns, [n] tokens, unknown cost.

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
    🟠 The test may be wrong on [commit]: a change to a test is suggested, not a fix of the code.
    completed, action_required
    "test_fare.py":11: "Traceback (most recent call last):\n  File \"/workspace/test_fare.py\", line 11, in test_change_is_given\n    self.assertEqual(change(500, 2), 200)\nAssertionError: 800 != 200"
    ["Change the tests"] "Commit a change to tests"
    ["Reject"] "Turn this down"
    "#);
    let gate = story.sticky();
    let id = gate
        .split("/greenlight approve ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .to_string();

    story.maintainer_says("/greenlight approve").await;
    insta::assert_snapshot!(story.whole_answer(), @"`[gate]` weakens a test, so it has to be approved or rejected by name: `/greenlight approve [gate]`.");
    story.has_not_landed();
    story.says(STRANGER, &format!("/greenlight approve {id}")).await;
    story.has_not_landed();
    story.says(MAINTAINER, &format!("/greenlight approve {id}")).await;
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    assert!(story.file("test_fare.py").contains("800"));
    story.finish().await;
}

#[tokio::test]
async fn a_doubt_about_a_test_brings_no_code_along() {
    let code = edit("fare.py", "200 + 50 * stops", "200 + stops * 50");
    let story = fix([
        weaken(),
        code,
        doubt(),
        calls("submit", json!({ "summary": "No.", "no_fix": true })),
    ])
    .await;
    let told = story.model().results().join("\n");
    assert!(told.contains("also changes `fare.py`"), "{told}");
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn code_that_recognises_the_test_is_sent_back() {
    let cheat = edit(
        "fare.py",
        "    return paid + fare",
        "    if paid == 500:\n        return 200\n    return paid + fare",
    );
    let back = edit(
        "fare.py",
        "    if paid == 500:\n        return 200\n    return paid + fare",
        "    return paid - fare",
    );
    let story = fix([cheat, submit(), doubt(), back, submit()]).await;
    let told = story.model().results().join("\n");
    assert!(told.contains("recognises a value that a test passes in"), "{told}");
    assert_eq!(told.matches("not accepted").count(), 2, "{told}");
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_test_may_be_added_beside_the_fix() {
    let more = edit(
        "test_fare.py",
        "    def test_change_is_given(self):",
        "    def test_no_change_is_left(self):\n        self.assertEqual(change(300, 2), 0)\n\n    def \
         test_change_is_given(self):",
    );
    let story = fix([mend(), more, submit()]).await;
    assert!(
        story.review().body.contains("With the original tests"),
        "{}",
        story.review().body
    );
    story.maintainer_says("/greenlight approve").await;
    assert!(story.file("test_fare.py").contains("test_no_change_is_left"));
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    story.finish().await;
}
