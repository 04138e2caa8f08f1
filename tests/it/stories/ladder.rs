//! Fixes that need no model are made without one. The search is reported, passed on to the model, and not suggested
//! unless it is confirmed.

use greenlight::domain::run::End;
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{Scene, Story};

/// This takes more than one small edit.
const UNDONE: &str = "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    return None\n";
const TESTS: &str = "import unittest\n\nfrom fare import change\n\n\nclass Fares(unittest.TestCase):\n    def \
                     test_change(self):\n        \
                     self.assertEqual([change(500, 2), change(900, 4), change(700, 1)], [200, 500, 450])\n";

fn undone() -> Scene {
    Scene::default().adds("fare.py", UNDONE).adds("test_fare.py", TESTS)
}

#[tokio::test]
async fn a_small_bug_takes_no_model() {
    let story = Scene::default().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let review = story.review().body;
    assert!(review.contains("Found without a model: a small edit"), "{review}");
    let run = story.run().await;
    assert_eq!((run.spent.turns, run.search.tried), (0, 0));
    assert!(run.proposal.unwrap().found_by.unwrap().tried > 0);
    assert!(story.model().requests().is_empty());
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_small_edits_do_not_mend_is_for_the_model_that_hears_of_the_search() {
    let edit = json!({ "path": "fare.py", "old": "return None", "new": "return paid - fare(stops)" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let story = undone().auto().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let asked = story.model().requests()[0].to_string();
    assert!(asked.contains("What a search of small edits found (data)"), "{asked}");
    assert!(asked.contains(r"worst first:\n```text\nfare.py:"), "{asked}");
    let run = story.run().await;
    assert!(run.search.is_over && run.search.tried > 0, "{:?}", run.search);
    // The search is not repeated after its rejection, and the ladder does not claim its share.
    assert_eq!(run.proposal.unwrap().found_by, None);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

async fn without_a_model(scene: Scene) -> Story {
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.has_no_review();
    assert_eq!(story.check().conclusion.as_deref(), Some("failure"));
    story
}

#[tokio::test]
async fn what_was_tried_is_said_when_nothing_was_found() {
    let story = without_a_model(undone()).await;
    let sticky = story.sticky();
    assert!(sticky.contains("**No fix found**"), "{sticky}");
    assert!(sticky.contains("The built-in engine tried"), "{sticky}");
    assert!(sticky.contains("It looked first at `fare.py:"), "{sticky}");
    let run = story.run().await;
    let Some(End::NotFound { search, .. }) = run.end else {
        panic!("{:?}", run.end)
    };
    assert!(
        search.is_over && search.digests.is_empty() && search.tried > 0,
        "{search:?}"
    );
    story.finish().await;
}

#[tokio::test]
async fn the_limit_that_ended_a_search_is_named() {
    let story = without_a_model(undone().config("[repair]\ncandidates = 1\n")).await;
    let sticky = story.sticky();
    assert!(sticky.contains("tried 1 small edit in"), "{sticky}");
    assert!(sticky.contains("`[repair] candidates` allows 1"), "{sticky}");
    story.finish().await;
}

#[tokio::test]
async fn without_time_for_it_nothing_is_searched_before_the_model() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let scene = Scene::default().config("[repair]\nbefore_model = \"0s\"\n");
    let story = scene.auto().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.model().requests().len(), 2);
    assert_eq!(story.run().await.search.tried, 0);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

/// Two equally likely edits make the only test pass, and differ in behaviour that no test checks.
#[tokio::test]
async fn what_passes_the_tests_and_is_not_sure_is_shown_and_cannot_be_committed() {
    let tests = "import unittest\n\nfrom fare import is_open\n\n\nclass Hours(unittest.TestCase):\n    def \
                 test_open(self):\n        \
                 self.assertTrue(is_open(1, 5))\n";
    let scene = Scene::default()
        .adds("fare.py", "def is_open(day, hour):\n    return day < 3 and hour > 5\n")
        .adds("test_fare.py", tests);
    let story = without_a_model(scene).await;
    let run = story.run().await;
    assert!(run.gates.is_empty() && run.proposal.is_none(), "{:?}", run.gates);
    let Some(End::NotFound { search, .. }) = run.end else {
        panic!("{:?}", run.end)
    };
    assert!(!search.unverified.is_empty(), "{search:?}");
    let sticky = story.sticky();
    assert!(sticky.contains("not verified"), "{sticky}");
    assert!(sticky.contains("behaves differently"), "{sticky}");
    assert!(!sticky.contains("```suggestion"), "{sticky}");
    story.finish().await;
}
