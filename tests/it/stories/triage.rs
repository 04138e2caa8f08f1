//! Which failing tests are worked on, what is reported about the others, and how CI is re-run.

use github_double::AUTHOR;
use greenlight::domain::run::{End, Origin};
use greenlight::domain::triage::Verdict;
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, FIXED, Scene, Story, TESTS};

/// Fails both on `main` and in the pull request.
const OLD: &str = "\n    def test_old(self):\n        self.assertEqual(fare(0), 0)\n";
/// Needs a name server.
const REMOTE: &str =
    "\n    def test_remote(self):\n        import socket\n        socket.getaddrinfo('example.org', 80)\n";

/// The default scene, with more tests on both sides.
fn with(tests: &str) -> Scene {
    let on_main = TESTS.replace("change, ", "");
    let on_main = on_main.split("\n    def test_change").next().unwrap().to_string() + tests;
    let fare = CHANGE.split("\n\n\ndef change").next().unwrap().to_string() + "\n";
    let in_pull_request = TESTS.to_string() + tests;
    Scene::of(
        &[("fare.py", &fare), ("test_fare.py", &on_main)],
        &[("fare.py", CHANGE), ("test_fare.py", &in_pull_request)],
    )
}

/// The same, but the pull request is correct.
fn innocent(tests: &str) -> Scene {
    with(tests).adds("fare.py", FIXED)
}

async fn judged(story: &Story) -> Vec<(String, Verdict)> {
    let triage = story.run().await.reproduced.unwrap().1;
    let name = |name: &str| name.rsplit('.').next().unwrap_or_default().to_string();
    let mut judged: Vec<_> = triage
        .tests
        .iter()
        .map(|test| (name(&test.name), test.verdict))
        .collect();
    judged.sort_by(|a, b| a.0.cmp(&b.0));
    judged
}

fn reruns(story: &Story) -> usize {
    let requests = story.double.requests();
    let is_rerun = |path: &str| path.ends_with("/rerun-failed-jobs");
    requests.iter().filter(|request| is_rerun(&request.path)).count()
}

#[tokio::test]
async fn the_pull_requests_own_bug_is_worked_on_with_its_numbers() {
    let story = Scene::default().about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let triage = story.run().await.reproduced.unwrap().1;
    assert_eq!(triage.verdict, Verdict::Deterministic);
    let [test] = triage.tests.as_slice() else {
        panic!("{triage:?}")
    };
    assert!(test.is_new && triage.base.is_some(), "{triage:?}");
    let sticky = story.sticky();
    assert!(sticky.contains("1 red in 5 of 5 runs → 2 of 2 green"), "{sticky}");
    assert!(
        sticky.contains("They were run 2 more times with the change, and passed every time"),
        "{sticky}"
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_was_broken_before_costs_no_token() {
    let story = innocent(OLD).model([]).about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(judged(&story).await, [("test_old".into(), Verdict::BrokenOnBase)]);
    let sticky = story.sticky();
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    ⚪ **Broken on the base branch already**, at [commit]. `test_fare.Fares.test_old` is red in 4 of 4 runs and in 2 of 2 on the merge base: broken before these changes.

    Failing tests:

    - `test_fare.Fares.test_old` at `test_fare.py:14`: `AssertionError: 200 != 0`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_old`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 14, in test_old
        self.assertEqual(fare(0), 0)
    AssertionError: 200 != 0
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert!(
        !sticky.contains("/greenlight retry"),
        "no CI is known to have failed: {sticky}"
    );
    assert_eq!(story.model().requests().len(), 0);
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_test_that_needs_the_network_is_the_machines_matter() {
    let story = innocent(REMOTE).model([]).about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(judged(&story).await, [("test_remote".into(), Verdict::Environment)]);
    // Where Python is installed differs between machines.
    let sticky = story.whole_sticky();
    let library = sticky.split('"').find(|part| part.ends_with("/socket.py")).unwrap();
    insta::assert_snapshot!(sticky.replace(library, "[python]/socket.py"), @r#"
    <!-- greenlight:sticky -->
    🟡 **The tests cannot be judged on this machine.** `test_fare.Fares.test_remote` is red in 2 of 2 runs and in 1 of 1 on the merge base: it needs the network, which tests do not have.

    Failing tests:

    - `test_fare.Fares.test_remote` at `test_fare.py:15`: `socket.gaierror: [Errno -2] Name or service not known`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_remote`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 15, in test_remote
        socket.getaddrinfo('example.org', 80)
      File "[python]/socket.py", line 962, in getaddrinfo
        for res in _socket.getaddrinfo(host, port, family, type, proto, flags):
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    socket.gaierror: [Errno -2] Name or service not known
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.model().requests().len(), 0);
    story.finish().await;
}

#[tokio::test]
async fn a_program_that_is_missing_is_the_machines_matter_on_the_base_branch_as_well() {
    let makefile = "test:\n\tno-such-program --all\n";
    let story = Scene::of(
        &[("Makefile", makefile), ("notes.txt", "old\n")],
        &[("notes.txt", "new\n")],
    );
    let story = story
        .config("[test]\ncommand = \"make test\"\n")
        .model([])
        .about_triage()
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.run().await.reproduced.unwrap().1.verdict, Verdict::Environment);
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🟡 **The tests cannot be judged on this machine.** `make test` needs `no-such-program`, which is missing on this machine, so it says nothing about the code. Install it where greenlight runs. If it is a dependency of the project, greenlight can install it for the tests: `network = ["registries"]` under `[sandbox]`, and if needed `install` under `[test]`, in `greenlight.toml` on the base branch.

    Failing tests:

    - `the test command`: `make: no-such-program: No such file or directory`

    <details><summary>Messages</summary>

    `the test command`

    ```text
    no-such-program --all
    make: no-such-program: No such file or directory
    make: *** [Makefile:2: test] Error 127
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn of_several_red_tests_only_the_pull_requests_own_are_worked_on() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let story = with(&format!("{OLD}{REMOTE}"))
        .model(turns)
        .about_triage()
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(
        judged(&story).await,
        [
            ("test_change_is_given".into(), Verdict::Deterministic),
            ("test_old".into(), Verdict::BrokenOnBase),
            ("test_remote".into(), Verdict::Environment),
        ]
    );
    let asked = story.model().requests()[0].to_string();
    assert!(asked.contains("Tests that may stay red"), "{asked}");
    let sticky = story.sticky();
    assert!(
        sticky.contains("1 red in 5 of 5 runs → 2 of 2 green, no new failures"),
        "{sticky}"
    );
    let (_, aside) = sticky
        .split_once("Set aside, because this pull request does not make them fail")
        .unwrap();
    assert!(
        aside.contains("test_old`: red in") && aside.contains("test_remote`: red in"),
        "{aside}"
    );
    assert!(aside.contains(" --excuse 'test_fare.Fares.test_old'"), "{aside}");
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn the_built_in_engine_leaves_the_others_alone_too() {
    let story = with(OLD).about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let evidence = story.run().await.evidence.unwrap();
    assert_eq!(evidence.before.excused, ["test_fare.Fares.test_old"]);
    assert_eq!(evidence.after.summary(), "2 passed, 1 set aside");
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_flaky_test_is_answered_with_numbers_and_the_offer_to_run_ci_again() {
    // Fails three times in ten, on main as well: each run is random.
    let coin = "\n    def test_coin(self):\n        import os\n        self.assertGreater(os.urandom(1)[0], 76)\n";
    let story = innocent(coin).about_triage().begin().await;
    story.ci_fails().await;
    for _ in 0..60 {
        story.maintainer_says("/greenlight fix").await;
        if judged(&story).await != [("test_coin".into(), Verdict::Flaky)] {
            continue;
        }
        let sticky = story.sticky();
        assert!(sticky.contains("test_coin` is red in"), "{sticky}");
        assert!(sticky.contains("on the merge base: flaky"), "{sticky}");
        assert!(
            sticky.contains("`/greenlight retry` re-runs the failed jobs on GitHub"),
            "{sticky}"
        );
        assert_eq!(story.check().conclusion.as_deref(), Some("neutral"));
        story.has_no_review();
        story.maintainer_says("/greenlight retry").await;
        assert_eq!(reruns(&story), 1);
        story.presses(AUTHOR, "Re-run failed jobs").await;
        return story.finish().await;
    }
    panic!("sixty times the same again and again");
}

#[tokio::test]
async fn where_ci_is_green_by_now_nothing_is_said() {
    let story = innocent(OLD).about_triage().begin().await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight retry").await;
    let Origin::Ci {
        workflow_run: Some(workflow_run),
    } = story.run().await.started.origin
    else {
        panic!("no workflow run")
    };
    story.double.finish_rerun(workflow_run, "success", "").await.unwrap();
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.run().await.end, Some(End::PassedMeanwhile));
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    ⚪ **CI has passed in the meantime.**

    Failing tests:

    - `test_fare.Fares.test_old` at `test_fare.py:14`: `AssertionError: 200 != 0`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_old`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 14, in test_old
        self.assertEqual(fare(0), 0)
    AssertionError: 200 != 0
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.check().conclusion.as_deref(), Some("neutral"));
    story.finish().await;
}

#[tokio::test]
async fn a_test_that_needs_the_others_before_it_is_confirmed_among_them() {
    let company = "\n    def test_a_first(self):\n        import sys\n        sys.first = True\n\n    \
                   def test_zone(self):\n        import sys\n        \
                   self.assertEqual((change(500, 2), getattr(sys, 'first', False)), (200, True))\n";
    let tests = format!("{TESTS}{company}");
    // The built-in engine runs the failing tests alone, where this one keeps failing.
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "It gives change again." })),
    ];
    let scene = Scene::default().adds("test_fare.py", &tests);
    let story = scene.model(turns).about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let evidence = story.run().await.evidence.unwrap();
    assert_eq!(
        (evidence.before.failed, evidence.confirmed > 0),
        (2, true),
        "{evidence:?}"
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_the_pull_request_itself_takes_from_the_tests_is_said_in_the_review() {
    let on_main = TESTS.replace("change, ", "");
    let on_main = on_main.split("\n    def test_change").next().unwrap().to_string() + OLD;
    let skipped = OLD.replace("    def test_old", "    @unittest.skip('later')\n    def test_old");
    let fare = CHANGE.split("\n\n\ndef change").next().unwrap().to_string() + "\n";
    let story = Scene::of(
        &[("fare.py", &fare), ("test_fare.py", &on_main)],
        &[("fare.py", CHANGE), ("test_fare.py", &(TESTS.to_string() + &skipped))],
    );
    let story = story.about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_review(), @r#"
    <!-- greenlight:review head=[commit] -->

    `paid + fare(stops)` became `paid - fare(stops)` in `fare.py:6` (`change`) (tested)

    Found without a model: a small edit; [n] edits tried in [time].

    ⚠️ This pull request itself weakens tests compared with the base branch: `` test_fare.py:13: Fares > test_old: it is marked `@unittest.skip("later")` ``. Green here means green by these weaker tests.

    <details><summary>Evidence: 1 red in 5 of 5 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 1 passed, 1 skipped | [time] |
    | after | 2 passed, 1 skipped | [time] |

    Red in 5 of 5 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`

    They were run 2 more times with the change, and passed every time.

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

    --- fare.py:6-6
    ```suggestion
        return paid - fare(stops)
    ```
    <!-- greenlight:suggestion id=[digest] -->
    "#);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}
