//! `/greenlight explain` with a model: it names the cause and the relevant lines, and changes nothing.

use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

fn explains(from: u32, to: u32) -> Turn {
    calls(
        "explain",
        json!({
            "root_cause": "The fare is added where it has to be taken off. @ada <img>",
            "because": [{ "path": "fare.py", "from": from, "to": to, "says": "adds" }],
        }),
    )
}

#[tokio::test]
async fn the_cause_is_said_with_links_to_the_lines() {
    let story = Scene::default().model([explains(60, 61), explains(6, 6)]).begin().await;
    story.maintainer_says("/greenlight explain").await;
    let answer = story.answer();
    insta::assert_snapshot!(story.whole_answer(), @"
    **Why it fails** on [commit]

    The fare is added where it has to be taken off. @⁠ada &lt;img&gt;

    **Because of**

    [github]/acme/rail/blob/[commit]/fare.py#L6

    adds

    ```text
        return paid + fare(stops)
    ```
    ");
    let link = format!("/blob/{}/fare.py#L6\n", story.head());
    for part in ["The fare is added", &link, "    return paid + fare(stops)"] {
        assert!(answer.contains(part), "{part}\n{answer}");
    }
    assert!(!answer.contains("@ada") && !answer.contains("<img>"), "{answer}");
    let results = story.model().results();
    assert!(results[0].contains("`fare.py` has lines 1 to 6"), "{results:?}");
    let offered = story.model().requests()[0]["tools"].to_string();
    assert!(
        !offered.contains("edit_file") && !offered.contains("submit"),
        "{offered}"
    );
    assert_eq!(story.comments().len(), 1);
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn an_open_proposal_is_not_disturbed() {
    let edit = calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" }),
    );
    let submit = calls("submit", json!({ "summary": "Change is what is left." }));
    let story = Scene::default().model([edit, submit, explains(5, 6)]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let before = story.sticky();
    story.maintainer_says("/greenlight explain").await;
    assert!(story.answer().contains("The fare is added"), "{}", story.answer());
    assert_eq!(story.sticky(), before);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_is_green_needs_no_explanation() {
    let story: Story = Scene::default()
        .adds("fare.py", crate::harness::story::FIXED)
        .model([])
        .begin()
        .await;
    story.maintainer_says("/greenlight explain").await;
    insta::assert_snapshot!(story.whole_answer(), @"
    ⚪ **Nothing to fix.** The tests are green here and I know of no failed check, so there is nothing to explain.

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    story.finish().await;
}
