//! Suggestions are what was tested: applied as GitHub applies them, they lead to the verified tree.

use github_double::AUTHOR;
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, Scene, TESTS};

/// The author commits the suggestions, and the file is then what was tested. Without suggestions, the approval lands
/// it.
async fn comes_out_as_tested(module: &str) {
    let story = Scene::default().adds("fare.py", module).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let patch = story.run().await.proposal.expect("no proposal").patch;
    let tested: Vec<_> = patch
        .files()
        .map(|(path, change)| (path.to_string(), change.after.clone()))
        .collect();
    let suggestions: Vec<u64> = story.suggestions().iter().map(|comment| comment.id).collect();
    if suggestions.is_empty() {
        assert!(story.review().body.contains("```diff"), "{}", story.review().body);
        story.maintainer_says("/greenlight approve").await;
    } else {
        story.double.commit_suggestions(&suggestions, AUTHOR).await.unwrap();
        story.settle().await;
    }
    story.has_commits(2);
    for (path, after) in tested {
        let file = story.double.file(story.number, &path).unwrap();
        assert_eq!(
            String::from_utf8(file),
            String::from_utf8(after.unwrap().bytes),
            "{module:?}"
        );
    }
    story.finish().await;
}

#[tokio::test]
async fn a_file_with_windows_line_ends() {
    comes_out_as_tested(&CHANGE.replace('\n', "\r\n")).await;
}

#[tokio::test]
async fn a_file_without_a_last_line_end() {
    comes_out_as_tested(CHANGE.trim_end()).await;
}

#[tokio::test]
async fn a_line_with_tabs_and_spaces_at_its_end() {
    comes_out_as_tested(&CHANGE.replace("    return paid + fare(stops)", "\treturn\tpaid  +  fare(stops) \t ")).await;
}

#[tokio::test]
async fn a_line_that_would_end_the_suggestion() {
    comes_out_as_tested(&CHANGE.replace("+ fare(stops)", "+ fare(stops)  # ```` </details> ~~~")).await;
}

#[tokio::test]
async fn a_line_of_many_scripts() {
    comes_out_as_tested(&CHANGE.replace("paid + fare(stops)", "paid + fare(stops)  # süß 日本語 🚆 e\u{301}")).await;
}

#[tokio::test]
async fn a_bug_on_the_base_branch_travels_as_a_patch() {
    let on_main = [("fare.py", CHANGE), ("test_fare.py", "")];
    let story = Scene::of(&on_main, &[("test_fare.py", TESTS)]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!(review.comments, []);
    insta::assert_snapshot!(story.whole_review(), @r#"
    <!-- greenlight:review head=[commit] -->

    `paid + fare(stops)` became `paid - fare(stops)` in `fare.py:6` (`change`) (tested)

    Found without a model: a small edit; [n] edits tried in [time].

    The fix cannot be attached to changed lines as suggestions, so here it is as a patch. The same approval lands it.

    <details><summary>Patch of 1 changed file</summary>

    - `fare.py`: not shown in the diff of this pull request

    ```diff
    diff --git a/fare.py b/fare.py
    --- a/fare.py
    +++ b/fare.py
    @@ -3,4 +3,4 @@


     def change(paid, stops):
    -    return paid + fare(stops)
    +    return paid - fare(stops)
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

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>Patch `[digest]`.</sub>

    Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does).
    "#);
    assert!(
        review.body.contains("+    return paid - fare(stops)"),
        "{}",
        review.body
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_fix_of_several_files_is_right_only_together() {
    let price = "PRICE = 20\n\n\ndef price(stops):\n    return PRICE * stops\n";
    let fare = "from price import price\n\n\ndef fare(stops):\n    return 200 - price(stops)\n";
    let test = "import unittest\n\nfrom fare import fare\n\n\nclass Fares(unittest.TestCase):\n    def \
                test_every_stop_costs(self):\n        self.assertEqual(fare(2), 300)\n";
    // All three files are needed: an unneeded one would be left out.
    let cents = "10 * len(open('notes/new file.md').read())";
    let turns = [
        calls(
            "edit_file",
            json!({ "path": "price.py", "old": "PRICE = 20", "new": "PRICE = 50" }),
        ),
        calls(
            "edit_file",
            json!({ "path": "fare.py", "old": "200 - price", "new": format!("{cents} + price") }),
        ),
        calls(
            "write_file",
            json!({ "path": "notes/new file.md", "text": "Fares are in cents.\n" }),
        ),
        calls("submit", json!({ "summary": "Stops cost fifty, and add up." })),
    ];
    let story = Scene::of(
        &[("README", "A rail.\n")],
        &[("price.py", price), ("fare.py", fare), ("test_fare.py", test)],
    )
    .model(turns)
    .begin()
    .await;
    story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!(review.comments.len(), 2);
    assert!(
        review.comments.iter().all(|comment| comment
            .body
            .contains("One of 2 suggestions that are only correct together, and with the patch")),
        "{review:#?}"
    );
    insta::assert_snapshot!(story.whole_review(), @r#"
    <!-- greenlight:review head=[commit] -->

    Stops cost fifty, and add up. (tested)

    This part is outside the changed lines, or cannot be expressed as a suggestion. The same approval lands it.

    <details><summary>Patch of 1 changed file</summary>

    - `notes/new file.md`: a new file

    ```diff
    diff --git a/notes/new file.md b/notes/new file.md
    new file mode 100644
    --- /dev/null
    +++ b/notes/new file.md
    @@ -0,0 +1,1 @@
    +Fares are in cents.
    ```

    In a checkout with the suggestions committed:

    ```sh
    echo [patch] | base64 -d | gunzip | git -C "$(git rev-parse --show-toplevel)" apply --whitespace=nowarn
    ```

    </details>

    <details><summary>Evidence: 1 red in 2 of 2 runs → 1 of 1 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 0 passed | [time] |
    | after | 1 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_every_stop_costs`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    The model used 4 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>Patch `[digest]`.</sub>

    Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does).

    --- fare.py:5-5
    ```suggestion
        return 10 * len(open('notes/new file.md').read()) + price(stops)
    ```

    <sub>One of 2 suggestions that are only correct together, and with the patch in the text of this review.</sub>
    <!-- greenlight:suggestion id=[digest] -->

    --- price.py:1-1
    ```suggestion
    PRICE = 50
    ```

    <sub>One of 2 suggestions that are only correct together, and with the patch in the text of this review.</sub>
    <!-- greenlight:suggestion id=[digest] -->
    "#);
    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    assert_eq!(story.file("notes/new file.md"), "Fares are in cents.\n");
    assert_eq!(story.file("fare.py"), fare.replace("200 -", &format!("{cents} +")));
    story.finish().await;
}
