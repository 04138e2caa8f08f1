//! Failures that occur only together with the base branch: CI tests the merge, so greenlight runs, fixes and verifies
//! it.

use github_double::{JobLog, MAINTAINER};
use greenlight::domain::run::{End, Log, Tested};
use greenlight::domain::triage::MergeState;
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{FIXED, LOG, Scene, Story, TESTS};

const FARES: &str = "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef price(stops):\n    return fare(stops)\n";
/// Without the name that the pull request uses.
const SHORTER: &str = "def fare(stops):\n    return 200 + 50 * stops\n";
const TEST_FARES: &str = "\
import unittest

from fares import fare


class Fares(unittest.TestCase):
    def test_every_stop_costs(self):
        self.assertEqual(fare(2), 300)
";
const REFUND: &str = "from fares import price\n\n\ndef refund(paid, stops):\n    return paid - price(stops)\n";
const MENDED: &str = "from fares import fare as price\n\n\ndef refund(paid, stops):\n    return paid - price(stops)\n";
const TEST_REFUND: &str = "\
import unittest

from refund import refund


class Refunds(unittest.TestCase):
    def test_what_is_left_is_given_back(self):
        self.assertEqual(refund(500, 2), 200)
";

/// A pull request that passes alone. Only commands start runs, so that each story decides when.
fn scene() -> Scene {
    Scene::of(
        &[("fares.py", FARES), ("test_fares.py", TEST_FARES)],
        &[("refund.py", REFUND), ("test_refund.py", TEST_REFUND)],
    )
    .config("[trigger]\nci = false\n")
}

async fn main_becomes(story: &Story, path: &str, text: &str) -> String {
    let changes = [(path, Some(text.as_bytes()))];
    story.double.push_to("main", MAINTAINER, &changes).await.unwrap()
}

fn mends() -> Vec<crate::harness::model::Turn> {
    let edit = json!({ "path": "refund.py", "old": "import price", "new": "import fare as price" });
    vec![
        calls("edit_file", edit),
        calls(
            "submit",
            json!({ "summary": "A refund uses the name that main still has." }),
        ),
    ]
}

async fn state(story: &Story) -> Option<MergeState> {
    let triage = story.run().await.reproduced?.1;
    triage.merged.map(|merged| merged.state)
}

#[tokio::test]
async fn what_is_red_only_with_main_is_fixed_on_the_head_and_proved_on_the_merge() {
    let story = scene().model(mends()).begin().await;
    let tip = main_becomes(&story, "fares.py", SHORTER).await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    assert_eq!(run.reading.as_ref().unwrap().tested, Some(Tested::Merge));
    let (before, triage) = run.reproduced.as_ref().unwrap();
    assert!(before.outcome.is_red() && triage.has_regression(), "{triage:?}");
    assert_eq!(triage.red_merge().unwrap().tip.as_str(), tip);
    let asked = story.model().requests()[0].to_string();
    assert!(asked.contains("merged with `main`"), "{asked}");

    let evidence = run.evidence.as_ref().unwrap();
    let with = evidence.merged.as_ref().unwrap();
    assert_eq!((with.branch.as_str(), with.tip.as_str()), ("main", tip.as_str()));
    assert_eq!(
        (evidence.after.summary(), with.alone.as_str()),
        ("2 passed".into(), "2 passed")
    );
    let short = &tip[..7];
    for text in [story.sticky(), story.review().body] {
        let told = format!("its merge with `main` at {short}, as in CI. The head alone, with the change: 2 passed");
        assert!(text.contains(&told), "{text}");
        assert!(text.contains(&format!(" --merged-with {tip} --digest ")), "{text}");
    }
    let together = format!("The head alone is green, but its merge with `main` is red since {short}");
    assert!(story.sticky().contains(&together), "{}", story.sticky());
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **A tested fix for [commit] is suggested.**

    The head alone is green, but its merge with `main` is red since [commit]. A fix has to make the merge green without making the head red.

    **Approve to commit 1 changed file to `change`, exactly as tested.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`. The model used 2 turns, [n] tokens, unknown cost so far, and may use 28 turns, [n] tokens, $2.00, [time] more.</sub>

    <details><summary>Evidence: tests could not be loaded in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | tests could not be loaded | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the merge of the head with `main` at [commit].

    The head is red only when merged with `main`, so both runs used its merge with `main` at [commit], as in CI. The head alone, with the change: 2 passed.

    Red before, green after:

    - `test_refund`

    No new failures: every test that passed before passes after.

    The model used 2 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --merged-with [commit] --digest [digest]
    ```

    <sub>The digest covers both commits, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");

    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    assert_eq!(story.file("refund.py"), MENDED);
    assert!(!story.sticky().contains("moved from"), "{}", story.sticky());
    assert_eq!(story.check().conclusion.as_deref(), Some("success"));
    story.finish().await;
}

#[tokio::test]
async fn a_suggestion_made_from_reading_is_proved_on_the_merge_too() {
    let scene = Scene::of(
        &[("fares.py", FARES), ("test_fares.py", TEST_FARES)],
        &[("refund.py", REFUND), ("test_refund.py", TEST_REFUND)],
    );
    let mut story = scene.model(mends()).begin().await;
    main_becomes(&story, "fares.py", SHORTER).await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    assert_eq!(story.file("refund.py"), MENDED);
    assert!(story.run().await.evidence.unwrap().merged.is_some());
    story.finish().await;
}

#[tokio::test]
async fn that_main_moved_after_the_proof_is_said() {
    let story = scene().model(mends()).begin().await;
    let tip = main_becomes(&story, "fares.py", SHORTER).await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    let now = main_becomes(&story, "notes.txt", "later\n").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    let moved = format!("`main` moved from {} to {} after the tests ran", &tip[..7], &now[..7]);
    assert!(story.sticky().contains(&moved), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn what_no_change_of_the_head_can_mend_is_said_with_what_to_do() {
    // `tariff` exists only on main: with it the merge passes, and the head does not.
    let edit = json!({ "path": "refund.py", "old": "import price", "new": "import tariff as price" });
    let elsewhere = json!({ "path": "fares.py", "old": "def tariff", "new": "price = None\n\n\ndef tariff" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "It is called tariff now." })),
        calls("edit_file", elsewhere),
        calls("submit", json!({ "summary": "Both names." })),
        calls(
            "submit",
            json!({ "summary": "main has to be merged first", "no_fix": true }),
        ),
    ];
    let story = scene().model(turns).begin().await;
    let tip = main_becomes(&story, "fares.py", &FARES.replace("price", "tariff")).await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    let requests = story.model().requests();
    let last = requests.last().unwrap().to_string();
    assert!(
        last.contains("the merge with `main` is green, but the head alone is red"),
        "{last}"
    );
    assert!(last.contains("it changes what only `main` has"), "{last}");
    let sticky = story.sticky();
    let told = format!(
        "its merge with `main` is red since {}. Merge `main` into this branch",
        &tip[..7]
    );
    assert!(sticky.contains(&told) && !sticky.contains("Nothing to fix"), "{sticky}");
    let said = story.whole_sticky();
    // Python's traceback follows, which differs between versions.
    insta::assert_snapshot!(said.split("\n\n<details>").next().unwrap(), @r"
    <!-- greenlight:sticky -->
    🔴 **No fix found** for [commit]. main has to be merged first. The last submission was not accepted: it changes what only `main` has (fares.py), so it cannot be committed to the head: change only files and lines that the head also has, or say that `main` has to be merged into the branch first.

    The head alone is green, but its merge with `main` is red since [commit]. Merge `main` into this branch, or rebase: then `/greenlight fix` can also change what comes from `main`.

    Failing tests:

    - `test_refund` at `refund.py:1`: `ImportError: cannot import name 'price' from 'fares' (/workspace/fares.py)`
    ");
    story.has_no_review();
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_failure_of_main_alone_is_broken_on_main_with_the_commit() {
    let story = scene().model([]).begin().await;
    let tip = main_becomes(&story, "test_fares.py", &TEST_FARES.replace("300", "301")).await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    assert!(
        sticky.contains(&format!("**Broken on `main` at {}.**", &tip[..7])),
        "{sticky}"
    );
    assert!(sticky.contains("without this pull request"), "{sticky}");
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    ⚪ **Broken on `main` at [commit].** `test_fares.Fares.test_every_stop_costs` is red in 2 of 2 runs together with `main` and in 2 of 2 on `main` alone: broken there already. That is `main` at [commit], without this pull request.

    Failing tests:

    - `test_fares.Fares.test_every_stop_costs` at `test_fares.py:8`: `AssertionError: 300 != 301`

    <details><summary>Messages</summary>

    `test_fares.Fares.test_every_stop_costs`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fares.py", line 8, in test_every_stop_costs
        self.assertEqual(fare(2), 301)
    AssertionError: 300 != 301
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.model().requests().len(), 0);
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_conflict_with_main_is_said_and_where() {
    let story = scene()
        .adds("fares.py", &FARES.replace("50", "51"))
        .adds("test_fares.py", &TEST_FARES.replace("300", "302"));
    let story = story
        .adds("test_refund.py", &TEST_REFUND.replace("200", "198"))
        .model([])
        .begin()
        .await;
    story.ci_fails().await;
    let tip = main_becomes(&story, "fares.py", &FARES.replace("50", "52")).await;
    let log = JobLog {
        workflow: "CI",
        job: "test",
        step: "python -m unittest",
        log: LOG,
    };
    assert!(
        story.double.fail_ci(story.number, log).await.is_err(),
        "GitHub runs none"
    );
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    let told = format!("It conflicts with `main` at {} in `fares.py`", &tip[..7]);
    assert!(sticky.contains(&told) && !sticky.contains("Nothing to fix"), "{sticky}");
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🟡 **CI is red, but I cannot reproduce the failure.** `python3 -m unittest discover` is green here: 2 passed. It conflicts with `main` at [commit] in `fares.py`. GitHub cannot merge it, and runs no `pull_request` workflows until you resolve the conflict: merge `main` into this branch, or rebase.

    From the log of the failed job:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/home/runner/work/rail/rail/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    story.finish().await;
}

#[tokio::test]
async fn a_red_ci_that_is_green_everywhere_here_is_not_nothing_to_fix() {
    let story = Scene::default().adds("fare.py", FIXED).begin().await;
    let tip = main_becomes(&story, "notes.txt", "later\n").await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight approve").await;
    let green = MergeState::Green {
        summary: "2 passed".into(),
    };
    assert_eq!(state(&story).await, Some(green));
    let sticky = story.sticky();
    assert!(
        sticky.contains("CI is red, but I cannot reproduce the failure"),
        "{sticky}"
    );
    let told = format!(
        "2 passed. Its merge with `main` at {}, which CI tests, is also green here: 2 passed",
        &tip[..7]
    );
    assert!(sticky.contains(&told) && !sticky.contains("Nothing to fix"), "{sticky}");
    assert!(sticky.contains("CI differs from this machine"), "{sticky}");
    assert!(sticky.contains("`/greenlight retry`"), "{sticky}");
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🟡 **CI is red, but I cannot reproduce the failure.** `python3 -m unittest discover` is green here: 2 passed. Its merge with `main` at [commit], which CI tests, is also green here: 2 passed. So CI differs from this machine (versions, services, secrets, time), or it ran something else.

    From the log of the failed job:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/home/runner/work/rail/rail/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>

    `/greenlight retry` re-runs the failed jobs on GitHub.
    "#);
    insta::assert_snapshot!(story.whole_check(), @r#"
    🟡 CI is red, but I cannot reproduce the failure. python3 -m unittest discover is green here: 2 passed. Its merge with ma
    completed, neutral
    "test_fare.py":11: "Traceback (most recent call last):\n  File \"/home/runner/work/rail/rail/test_fare.py\", line 11, in test_change_is_given\n    self.assertEqual(change(500, 2), 200)\nAssertionError: 800 != 200"
    ["Re-run failed jobs"] "Have GitHub re-run the failed CI jobs"
    "#);
    let check = story.check();
    assert!(check.title.unwrap().contains("I cannot reproduce the failure"));
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
    story.finish().await;
}

/// As classic Jenkins and others report it.
#[tokio::test]
async fn a_red_commit_status_is_red_ci_to_whoever_asks() {
    let story = scene().begin().await;
    for (status, tested) in [("success", None), ("failure", Some(Tested::Unknown))] {
        let of = ("ci/jenkins", status);
        story.double.report_status(story.number, of, MAINTAINER).await.unwrap();
        story.maintainer_says("/greenlight fix").await;
        assert_eq!(story.run().await.reading.unwrap().tested, tested);
    }
    story.finish().await;
}

#[tokio::test]
async fn no_merge_is_run_where_ci_tests_the_head_or_the_head_shows_it() {
    let story = scene().begin().await;
    main_becomes(&story, "fares.py", SHORTER).await;
    let log = JobLog {
        workflow: "CI",
        job: "test",
        step: "python -m unittest",
        log: LOG,
    };
    story.double.fail_ci_of_push(story.number, log).await.unwrap();
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.run().await.reading.unwrap().tested, Some(Tested::Head));
    assert_eq!(state(&story).await, None);
    assert!(story.sticky().contains("CI is red, but"), "{}", story.sticky());
    story.finish().await;

    let red = Scene::default().config("[trigger]\nci = false\n").begin().await;
    main_becomes(&red, "notes.txt", "later\n").await;
    red.ci_fails().await;
    red.maintainer_says("/greenlight fix").await;
    assert_eq!(state(&red).await, None);
    assert!(red.run().await.evidence.unwrap().merged.is_none());
    red.finish().await;

    // Nothing reports a failure.
    let green = Scene::default()
        .adds("fare.py", FIXED)
        .adds("test_fare.py", TESTS)
        .begin()
        .await;
    main_becomes(&green, "notes.txt", "later\n").await;
    green.maintainer_says("/greenlight fix").await;
    assert_eq!(state(&green).await, None);
    assert!(matches!(green.run().await.end, Some(End::NothingToFix { .. })));
    green.finish().await;
}

#[tokio::test]
async fn lines_of_a_log_are_shown_only_where_they_are_those_of_the_head() {
    let story = Story::new().await;
    main_becomes(&story, "notes.txt", "later\n").await;
    story.ci_fails().await;
    let reading = story.run().await.reading.unwrap();
    assert!(reading.failures[0].location.is_some(), "main did not touch it");
    story.finish().await;

    let story = Story::new().await;
    let tests = TESTS
        .split("\n    def test_change")
        .next()
        .unwrap()
        .replace("change, ", "");
    main_becomes(&story, "test_fare.py", &format!("# More\n# lines\n{tests}")).await;
    story.ci_fails().await;
    let reading = story.run().await.reading.unwrap();
    assert!(reading.failures[0].location.is_none(), "{reading:?}");
    assert!(story.check().annotations.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn what_was_read_of_ci_is_what_is_said() {
    let gone = Story::new().await;
    for _ in 0..2 {
        gone.double.plan_fault("GET", "/logs", github_double::Fault::Gone);
    }
    gone.ci_fails().await;
    assert_eq!(gone.run().await.reading.unwrap().log, Log::Gone);
    let sticky = gone.sticky();
    assert!(
        sticky.contains("GitHub no longer has the job's log; nothing was executed"),
        "{sticky}"
    );
    gone.finish().await;

    let refused = Scene::default().app_permission("actions", "none").begin().await;
    refused.ci_fails().await;
    let sticky = refused.sticky();
    assert!(
        sticky.contains("I could not read the job's log; nothing was executed. GitHub says: 403"),
        "{sticky}"
    );
    assert!(sticky.contains("Resource not accessible by integration"), "{sticky}");
    refused.finish().await;
}
