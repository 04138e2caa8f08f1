//! `/greenlight reject`: with a reason it tries again, on the same review; without one, and at the third time, it
//! ends.

use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, Scene, Story};

/// Two turns that propose this line instead of the wrong one.
fn proposes(line: &str) -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": line });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

fn suggestions(story: &Story) -> Vec<String> {
    story.suggestions().into_iter().map(|comment| comment.body).collect()
}

#[tokio::test]
async fn a_reason_leads_to_a_second_proposal_on_the_same_review() {
    let turns = [
        proposes("return (paid - fare(stops))"),
        proposes("return paid - fare(stops)"),
    ];
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let first = story.review();
    assert_eq!(
        suggestions(&story),
        ["```suggestion\n    return (paid - fare(stops))\n```"]
    );
    story
        .maintainer_says("/greenlight reject no parentheses, please\n@ada: <b>see</b> style guide")
        .await;
    assert_eq!(story.review().id, first.id);
    assert_eq!(
        suggestions(&story),
        ["```suggestion\n    return paid - fare(stops)\n```"]
    );
    let asked = story.model().requests().pop().unwrap().to_string();
    assert!(asked.contains("no parentheses, please"), "{asked}");
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **A tested fix for [commit] is suggested.**

    **Approve to commit 1 changed file to `change`, exactly as tested.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`. The model used 4 turns, [n] tokens, unknown cost so far, and may use 26 turns, [n] tokens, $2.00, [time] more.</sub>

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

    The model used 4 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <details><summary>Rejected so far</summary>

    - no parentheses, please
    @⁠ada: &lt;b&gt;see&lt;/b&gt; style guide

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn an_id_of_a_rejected_request_opens_nothing() {
    let turns = [
        proposes("return (paid - fare(stops))"),
        proposes("return paid - fare(stops)"),
    ];
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let old = story.run().await.open_gates()[0].id.clone();
    story
        .maintainer_says(&format!("/greenlight reject {old} no parentheses"))
        .await;
    story.maintainer_says(&format!("/greenlight approve {old}")).await;
    assert!(
        story.answer().contains("There is no open request"),
        "{}",
        story.answer()
    );
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn the_third_rejection_ends_it() {
    let lines = ["(paid - fare(stops))", "-fare(stops) + paid", "paid - (fare(stops))"];
    let turns = lines.map(|line| proposes(&format!("return {line}")));
    let story = Scene::default().model(turns.into_iter().flatten()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    for reason in ["uglier", "longer", "stranger"] {
        assert_eq!(story.check().conclusion.as_deref(), Some("action_required"));
        story.maintainer_says(&format!("/greenlight reject {reason}")).await;
    }
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    ⚪ **Rejected** by `mia`: stranger

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

    <details><summary>Rejected so far</summary>

    - uglier
    - longer
    - stranger

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.check().conclusion.as_deref(), Some("cancelled"));
    story.review();
    assert_eq!(story.file("fare.py"), CHANGE);
    story.finish().await;
}

#[tokio::test]
async fn without_a_reason_it_ends_at_once() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject").await;
    assert!(story.sticky().contains("**Rejected** by `mia`"), "{}", story.sticky());
    story.maintainer_says("/greenlight approve").await;
    insta::assert_snapshot!(story.whole_answer(), @"No request is waiting for an answer here. `/greenlight status` shows the state.");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn the_built_in_engine_never_proposes_a_rejected_patch_again() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let first = suggestions(&story);
    story.maintainer_says("/greenlight reject not like this").await;
    let run = story.run().await;
    match &run.proposal {
        Some(proposal) => assert_ne!(proposal.patch, run.turned_down[0].proposal.patch),
        None => assert!(story.sticky().contains("No fix found"), "{}", story.sticky()),
    }
    assert!(run.proposal.is_none() || suggestions(&story) != first);
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_rejected_search_runs_nothing() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight reject we know").await;
    story.has_executed_nothing().await;
    assert!(
        story.sticky().contains("**Rejected** by `mia`: we know"),
        "{}",
        story.sticky()
    );
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_second_proposal_may_say_the_same_on_two_lines() {
    // An existing suggestion is reused only if it is on the same lines.
    let module = "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    if stops > 2:\n        return paid + fare(stops)\n    print(stops)\n    print(paid)\n    if stops >= 0:\n        return paid + fare(stops)\n";
    let tests = "import unittest\n\nfrom fare import change\n\n\nclass Fares(unittest.TestCase):\n    def test_near(self):\n        self.assertEqual(change(500, 2), 200)\n\n    def test_far(self):\n        self.assertEqual(change(500, 4), 100)\n";
    let wrong = |from: &str, to: &str| {
        calls(
            "write_file",
            json!({ "path": "fare.py", "text": module.replace(from, to) }),
        )
    };
    let submit = || calls("submit", json!({ "summary": "Change is what is left." }));
    let turns = [
        wrong("paid + fare", "(paid - fare(stops)) #"),
        submit(),
        wrong("paid + fare(stops)", "paid - fare(stops)"),
        submit(),
    ];
    let scene = Scene::default().adds("fare.py", module).adds("test_fare.py", tests);
    let story = scene.model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject no comments").await;
    assert_eq!(suggestions(&story).len(), 2, "{:?}", suggestions(&story));
    let ids: Vec<u64> = story.suggestions().iter().map(|comment| comment.id).collect();
    story.double.commit_suggestions(&ids, "ada").await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), module.replace("paid + fare", "paid - fare"));
    story.finish().await;
}

/// A rejected fix is not offered in a different spelling, in this run or a later one, and people are told why nothing
/// is found.
#[tokio::test]
async fn a_rejected_bound_comes_back_in_no_other_words() {
    let module = "DISCOUNT_FROM = 10_000\n\n\ndef change(amount):\n    if amount > DISCOUNT_FROM:\n        amount = amount - 500\n    return amount\n";
    let tests = "import unittest\n\nfrom fare import change\n\n\nclass Fares(unittest.TestCase):\n    def test_below(self):\n        self.assertEqual(change(9_999), 9_999)\n\n    def test_from(self):\n        self.assertEqual(change(10_000), 9_500)\n\n    def test_above(self):\n        self.assertEqual(change(10_001), 9_501)\n        self.assertEqual(change(20_000), 19_500)\n";
    let story = Scene::default()
        .adds("fare.py", module)
        .adds("test_fare.py", tests)
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(
        suggestions(&story),
        ["```suggestion\n    if amount >= DISCOUNT_FROM:\n```"]
    );
    story
        .maintainer_says("/greenlight reject I would rather lower the constant")
        .await;
    for _ in 0..2 {
        let run = story.run().await;
        assert!(run.proposal.is_none(), "{:#?}", run.proposal);
        let sticky = story.sticky();
        assert!(sticky.contains("No fix found"), "{sticky}");
        assert!(sticky.contains("1 rejected fix is left out"), "{sticky}");
        assert!(!sticky.contains("Passes the tests, not verified"), "{sticky}");
        story.maintainer_says("/greenlight status").await;
        assert!(
            story.answer().contains("1 fix was rejected and is not offered again"),
            "{}",
            story.answer()
        );
        story.maintainer_says("/greenlight fix").await;
    }
    story.has_not_landed();
    story.finish().await;
}
