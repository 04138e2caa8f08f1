//! A model that changes more than necessary: changes that the tests do not need are left out of the suggestions.

use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{FIXED, Scene, Story};

fn edits(path: &str, old: &str, new: &str) -> Turn {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

fn submits() -> Turn {
    calls("submit", json!({ "summary": "Change is what is left." }))
}

async fn fixed_with(turns: Vec<Turn>) -> Story {
    let story = Scene::default()
        .adds("other.py", "import sys\nimport os\n\nprint( os, sys )\n")
        .model(turns)
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn formatting_and_needless_hunks_are_left_out() {
    let story = fixed_with(vec![
        edits("fare.py", "return 200 + 50 * stops", "return 200 + (50 * stops)"),
        edits("fare.py", "paid + fare", "paid - fare"),
        edits("other.py", "import sys\nimport os\n", "import os\nimport sys\n"),
        edits("other.py", "print( os, sys )", "print(os, sys)"),
        submits(),
    ])
    .await;
    let proposal = story.run().await.proposal.unwrap();
    let paths: Vec<_> = proposal.patch.paths().map(ToString::to_string).collect();
    assert_eq!(paths, ["fare.py"]);
    let left_out = proposal.evidence.clone().unwrap().left_out.unwrap();
    assert_eq!(left_out.hunks + 1, left_out.of);
    assert!(
        proposal.summary.contains("hunks were not needed"),
        "{}",
        proposal.summary
    );
    assert_eq!(story.suggestions().len(), 1);
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("fare.py"), FIXED);
    assert_eq!(story.file("other.py"), "import sys\nimport os\n\nprint( os, sys )\n");
    story.finish().await;
}

#[tokio::test]
async fn single_lines_and_new_files_that_nothing_needs_go_too() {
    let story = fixed_with(vec![
        edits(
            "fare.py",
            "    return paid + fare(stops)\n",
            "    owed = fare(stops)\n    seen = []\n    return paid - owed\n",
        ),
        calls("write_file", json!({ "path": "notes.md", "content": "What I did.\n" })),
        submits(),
    ])
    .await;
    let run = story.run().await;
    let proposal = run.proposal.unwrap();
    let diff = proposal.patch.unified();
    assert!(
        diff.contains("owed = fare(stops)") && !diff.contains("seen") && !diff.contains("notes"),
        "{diff}"
    );
    story.maintainer_says("/greenlight approve").await;
    story.finish().await;
}

#[tokio::test]
async fn what_other_tests_need_stays() {
    let test = "import unittest\n\nimport fare\n\n\nclass Both(unittest.TestCase):\n    def test_both(self):\n        \
                self.assertEqual(hasattr(fare, 'A'), hasattr(fare, 'B'))\n";
    let story = Scene::default()
        .adds("test_both.py", test)
        .model(vec![
            edits("fare.py", "def fare(stops):\n", "A = 1\n\n\ndef fare(stops):\n"),
            edits(
                "fare.py",
                "    return paid + fare(stops)\n",
                "    return paid - fare(stops)\n\n\nB = 1\n",
            ),
            submits(),
        ])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let proposal = story.run().await.proposal.unwrap();
    let evidence = proposal.evidence.unwrap();
    assert!(evidence.after.is_green());
    assert_eq!(evidence.after.passed, 3);
    story.maintainer_says("/greenlight approve").await;
    let landed = story.file("fare.py");
    assert_eq!(landed.contains("A = 1"), landed.contains("B = 1"), "{landed}");
    story.finish().await;
}

#[tokio::test]
async fn a_credential_is_never_suggested() {
    let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let story = fixed_with(vec![
        edits(
            "fare.py",
            "paid + fare(stops)",
            &format!("paid - fare(stops)  # {token}"),
        ),
        submits(),
        edits("fare.py", &format!("  # {token}"), ""),
        submits(),
    ])
    .await;
    assert!(!story.told().contains(token), "{}", story.told());
    let said = story.model().results().join("\n");
    assert!(said.contains("looks like a credential to `fare.py`, line 6"), "{said}");
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("fare.py"), FIXED);
    story.finish().await;
}
