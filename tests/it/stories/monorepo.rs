//! A repository with several suites: all that the pull request may have broken are run, under one approval that names
//! them all, and what was not run is said.

use github_double::MAINTAINER;

use crate::harness::story::{CHANGE, FIXED, Scene, Story, TESTS};

const BEFORE: &str = "def fare(stops):\n    return 200 + 50 * stops\n";
const OTHER: &str =
    "import unittest\n\nclass TicketTest(unittest.TestCase):\n    def test_a_ticket(self):\n        pass\n";
const PROJECT: &str = "[project]\nname = \"one\"\n";

fn tests_before() -> String {
    let tests = TESTS.replace("change, ", "");
    tests.split("\n    def test_change").next().unwrap().to_string()
}

/// A pull request with these files on three packages.
async fn with(head: &[(&str, &str)]) -> Story {
    let tests = tests_before();
    let base = [
        ("app/pyproject.toml", PROJECT),
        ("app/test_ticket.py", OTHER),
        ("fares/pyproject.toml", PROJECT),
        ("fares/fare.py", BEFORE),
        ("fares/test_fare.py", tests.as_str()),
        ("zone/pyproject.toml", PROJECT),
        ("zone/test_zone.py", OTHER),
    ];
    Scene::of(&base, head).begin().await
}

/// The pull request breaks `fares`, and touches `app`, too.
async fn broken() -> Story {
    with(&[
        ("fares/fare.py", CHANGE),
        ("fares/test_fare.py", TESTS),
        ("app/ticket.py", "PRICE = 3\n"),
    ])
    .await
}

#[tokio::test]
async fn every_suite_that_changed_runs_until_one_is_red() {
    let story = broken().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    assert_eq!(
        run.reproduced.unwrap().0.command,
        "cd fares && python3 -m unittest discover"
    );
    let suites = run.suites.unwrap();
    assert_eq!(suites.set_aside[0].0.command, "cd app && python3 -m unittest discover");
    assert_eq!(suites.unaffected, ["cd zone && python3 -m unittest discover"]);
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("fares/fare.py"), FIXED);
    story.finish().await;
}

/// "Nothing to fix" says what it covers.
#[tokio::test]
async fn nothing_to_fix_names_what_was_run_and_what_was_not() {
    let story = with(&[
        ("fares/fare.py", "def fare(stops):\n    return 50 * stops + 200\n"),
        ("app/ticket.py", "PRICE = 3\n"),
    ])
    .await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Nothing to fix.** `cd app && python3 -m unittest discover` is green here: 1 passed. `cd fares && python3 -m unittest discover` is green here: 1 passed. `cd zone && python3 -m unittest discover` was not run, because nothing that it depends on changed.

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    story.finish().await;
}

/// Without consent, one approval permits exactly the commands that it shows.
#[tokio::test]
async fn an_approval_names_every_suite_that_it_permits() {
    let story = broken().await;
    story.ci_fails_with("Ran 1 test in 0.1s\n\nFAILED (failures=1)\n").await;
    story.has_executed_nothing().await;
    let asked = "(cd app && python3 -m unittest discover); (cd fares && python3 -m unittest discover)";
    assert!(story.sticky().contains(asked), "{}", story.sticky());
    story.says(MAINTAINER, "/greenlight approve").await;
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("fares/fare.py"), FIXED);
    story.finish().await;
}
