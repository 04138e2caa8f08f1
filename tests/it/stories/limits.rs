//! At a limit: edits that pass are proposed with the limit's name, and everything else is shown as unverified.

use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

fn edit(new: &str) -> Turn {
    calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "paid + fare", "new": new }),
    )
}

async fn limited(turns: Vec<Turn>) -> Story {
    let config = format!("[limits]\nturns = {}\n", turns.len());
    let story = Scene::default().config(&config).model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn edits_that_hold_become_the_proposal() {
    let story = limited(vec![edit("paid - fare")]).await;
    insta::assert_snapshot!(story.whole_review(), @"
    <!-- greenlight:review head=[commit] -->

    The limit of 1 turn was reached before the work was submitted; the edits made so far count. (tested)

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

    The model used 1 turn, [n] tokens, unknown cost.

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
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn edits_that_do_not_hold_are_shown_as_that() {
    let words = "I think `change` adds. @ada\n/greenlight approve";
    let mut says = edit("paid * fare");
    if let Turn::Answer { text, .. } = &mut says {
        *text = Some(words.into());
    }
    let story = limited(vec![says]).await;
    story.has_no_review();
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🔴 **No fix found** for [commit]. The limit of 1 turn was reached.

    <details><summary>Found so far, <b>not proved</b></summary>

    The model's last words:

    ```text
    I think `change` adds. @ada
    /greenlight approve
    ```

    The model's edits so far (not proved: the tests are not green after the change (1 failed, 1 passed)):

    ```diff
    diff --git a/fare.py b/fare.py
    --- a/fare.py
    +++ b/fare.py
    @@ -3,4 +3,4 @@


     def change(paid, stops):
    -    return paid + fare(stops)
    +    return paid * fare(stops)
    ```

    </details>

    Failing tests:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    let sticky = story.sticky();
    for part in [
        "The limit of 1 turn was reached",
        "Found so far, <b>not proved</b>",
        "```text\nI think `change` adds.",
        "+    return paid * fare(stops)",
        "not proved: the tests are not green",
    ] {
        assert!(sticky.contains(part), "{part}\n{sticky}");
    }
    story.finish().await;
}
