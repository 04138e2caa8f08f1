//! Tests that a model would rather change than satisfy.

use greenlight::demo::{MAINTAINER, STRANGER};
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
    assert!(
        review.comments.is_empty() && review.body.contains("All of it is one patch"),
        "nothing to be committed in passing: {}",
        review.body
    );
    let shown = review.body.find("### The test may be wrong").unwrap();
    let what = review.body.find("800").unwrap();
    let summary = review.body.find("expects the wrong change").unwrap();
    assert!(shown < what && what < summary, "{}", review.body);
    let gate = story.sticky();
    assert!(
        gate.contains("The test may be wrong") && gate.contains("Approve to change the tests"),
        "{gate}"
    );
    let id = gate
        .split("/greenlight approve ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .to_string();

    story.maintainer_says("/greenlight approve").await;
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
    assert!(told.contains("changes `fare.py` as well"), "{told}");
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
    assert!(told.contains("recognises what a test passes in"), "{told}");
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
        "    def test_no_change_is_left(self):\n        self.assertEqual(change(300, 2), 0)\n\n    def test_change_is_given(self):",
    );
    let story = fix([mend(), more, submit()]).await;
    assert!(
        story.review().body.contains("With the tests as they were before"),
        "{}",
        story.review().body
    );
    story.maintainer_says("/greenlight approve").await;
    assert!(story.file("test_fare.py").contains("test_no_change_is_left"));
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    story.finish().await;
}
