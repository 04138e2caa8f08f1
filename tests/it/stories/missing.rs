//! Pull requests whose tests lack a package on greenlight's machine, or pretend to.

use crate::harness::story::{Scene, Story};

const LISTS_NONE: &str = "[project]\nname = 'fare'\nversion = '1'\n";
const LISTS_ONE: &str = "[project]\nname = 'fare'\nversion = '1'\ndependencies = ['unheard-of']\n";
const CODE: &str = "def fare(stops):\n    return 2 + stops\n";
const TESTS: &str = "import unittest\nfrom fare import fare\n\n\nclass T(unittest.TestCase):\n    def test_fare(self):\n        self.assertEqual(fare(1), 3)\n";

/// A repository whose tests pass, and a pull request that changes its code and what it lists.
async fn changing(code: &str, lists: &str) -> Story {
    let main = [
        ("pyproject.toml", LISTS_NONE),
        ("fare.py", CODE),
        ("test_fare.py", TESTS),
    ];
    Scene::of(&main, &[("fare.py", code), ("pyproject.toml", lists)])
        .begin()
        .await
}

#[tokio::test]
async fn a_new_package_is_named_with_what_to_configure() {
    let story = changing(
        "import unheard_of\n\n\ndef fare(stops):\n    return 2 + stops\n",
        LISTS_ONE,
    )
    .await;
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.whole_sticky();
    insta::assert_snapshot!(sticky.split("\n\n<details>").next().unwrap(), @r#"
    <!-- greenlight:sticky -->
    🟡 **The tests cannot be judged on this machine.** `python3 -m unittest discover` needs `unheard_of`, which is not installed here, so it says nothing about the code. greenlight installs the project's dependencies first if `greenlight.toml` on the base branch allows it: `network = ["registries"]` under `[sandbox]`.

    Failing tests:

    - `test_fare` at `fare.py:1`: `ModuleNotFoundError: No module named 'unheard_of'`
    "#);
    assert_eq!(story.check().conclusion.as_deref(), Some("failure"));
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_package_that_nobody_lists_is_a_bug_of_the_pull_request() {
    let story = changing(
        "import unheard_of\n\n\ndef fare(stops):\n    return 2 + stops\n",
        LISTS_NONE,
    )
    .await;
    story.maintainer_says("/greenlight fix").await;
    assert!(story.run().await.reproduced.unwrap().1.has_regression());
    story.finish().await;
}

/// A test that fails with the words of a missing package is neither green nor without a bug.
#[tokio::test]
async fn a_pretended_missing_package_never_passes_for_nothing_to_fix() {
    let pretends = "def fare(stops):\n    raise ModuleNotFoundError(\"No module named 'unheard_of'\")\n";
    let same = changing(pretends, LISTS_NONE).await;
    same.maintainer_says("/greenlight fix").await;
    assert!(same.run().await.reproduced.unwrap().1.has_regression());
    same.finish().await;

    let listed = changing(pretends, LISTS_ONE).await;
    listed.maintainer_says("/greenlight fix").await;
    let sticky = listed.sticky();
    assert!(
        sticky.contains("cannot be judged") && !sticky.contains("Nothing to fix"),
        "{sticky}"
    );
    assert_eq!(listed.check().conclusion.as_deref(), Some("failure"));
    listed.finish().await;
}
