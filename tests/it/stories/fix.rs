//! `/greenlight fix`: what it works on, what it leaves alone, and what it reports if there is nothing to do.

use github_double::{AUTHOR, JobLog, MAINTAINER, STRANGER};
use greenlight::domain::triage::Verdict;
use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{CHANGE, FIXED, LOG, Scene, Story, TESTS};

#[tokio::test]
async fn a_second_fix_shows_what_waits_already() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.says(AUTHOR, "/greenlight fix").await;
    insta::assert_snapshot!(story.whole_answer(), @"
    🟡 **A tested fix for [commit] is suggested.**

    **Approve to commit 1 changed file to `change`, exactly as tested.**

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`.</sub>

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

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    assert_eq!(story.runs().await.len(), 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn fix_is_the_consent_that_a_waiting_search_asks_for() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    story.review();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn green_tests_need_no_fix() {
    let story = Scene::default().adds("fare.py", FIXED).begin().await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Nothing to fix.** `python3 -m unittest discover` is green here: 2 passed.

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    assert_eq!(story.check().conclusion.as_deref(), Some("neutral"));
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn without_tests_it_says_what_it_looked_for() {
    let story = Scene::of(&[("README", "A rail.\n")], &[("README", "A railway.\n")])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟡 **The tests cannot be judged on this machine.** I found no tests. I looked for: `Cargo.toml`, Python test files or pytest settings, a `test` script in `package.json`, `deno.json`, `go.mod`, `build.gradle`, `pom.xml`, RSpec or Ruby tests, PHPUnit, projects of .NET tests, CTest, Meson tests, `mix.exs`, `Package.swift`, a `test` target of make, just or Task. Set `[test]` `command` in `greenlight.toml` on the base branch.

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_bug_that_no_small_edit_mends_is_given_up_honestly() {
    let hopeless = CHANGE.replace("paid + fare(stops)", "None");
    let story = Scene::default().adds("fare.py", &hopeless).begin().await;
    story.maintainer_says("/greenlight fix").await;
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🔴 **No fix found** for [commit]. The built-in engine tried [n] small edits in [time], and none of them makes the tests pass. It looked first at `fare.py:5`, `fare.py:3`, `fare.py:1`.

    Failing tests:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: None != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: None != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    assert_eq!(story.check().conclusion.as_deref(), Some("failure"));
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn a_flaky_test_is_told_apart_from_a_bug() {
    // Each run passes or fails at random; a suite without code has nothing to edit.
    let story = Scene::of(
        &[("greenlight.toml", "[test]\ncommand = \"sh coin\"\n")],
        &[("coin", "exit $(od -An -N1 -tu1 /dev/urandom | awk '{print $1 % 2}')\n")],
    );
    let story = story.begin().await;
    for _ in 0..60 {
        story.maintainer_says("/greenlight fix").await;
        let run = story.run().await;
        if run.reproduced.unwrap().1.verdict == Verdict::Flaky {
            let sticky = story.sticky();
            // The number of runs on each side is random, too.
            for part in [
                "`the test command` is red in ",
                " runs and in ",
                " on the merge base: flaky",
            ] {
                assert!(sticky.contains(part), "{part} is not in {sticky}");
            }
            story.has_no_review();
            story.has_not_landed();
            return story.finish().await;
        }
    }
    panic!("sixty times the same twice");
}

#[tokio::test]
async fn a_protected_path_is_never_proposed() {
    let write = |path: &str| calls("write_file", json!({ "path": path, "text": "on: push\n" }));
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        write(".github/workflows/ci.yml").and(
            "write_file",
            json!({ "path": "greenlight.toml", "text": "execution = \"sandbox\"\n" }),
        ),
        write("CODEOWNERS").and(
            "write_file",
            json!({ "path": "migrations/1.sql", "text": "drop table fares;\n" }),
        ),
        write(".GitHub/workflows/ci.yml").and("write_file", json!({ "path": "x/../.github/a.yml", "text": "" })),
        calls("edit_file", edit),
        write("/etc/passwd").and("write_file", json!({ "path": "../../escape", "text": "" })),
        write(".git/hooks/pre-commit"),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let config = "[protect]\npaths = [\"migrations/**\"]\n";
    let story = Scene::default().config(config).model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    // Each time, the model must ask whether it may do so in its own copy; what lands does not depend on the answer.
    for answer in ["approve", "reject no", "reject no", "approve", "reject"] {
        story.has_commits(1);
        assert!(story.sticky().contains("change a protected file"), "{}", story.sticky());
        story.maintainer_says(&format!("/greenlight {answer}")).await;
    }
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let patch = story.run().await.proposal.unwrap().patch;
    let paths: Vec<String> = patch.paths().map(ToString::to_string).collect();
    assert_eq!(paths, ["fare.py"]);
    story.finish().await;
}

#[tokio::test]
async fn the_failing_test_is_neither_changed_nor_deleted_to_make_it_pass() {
    let weaker = TESTS.replace("self.assertEqual(change(500, 2), 200)", "pass");
    let write = |path: &str, text: &str| calls("write_file", json!({ "path": path, "text": text }));
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        write("test_fare.py", &weaker),
        write("test_fare.py", ""),
        write("conftest.py", "collect_ignore = ['test_fare.py']\n"),
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "It passes now." })),
        write("test_fare.py", TESTS),
        write("conftest.py", ""),
        calls("submit", json!({ "summary": "It gives change again." })),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let results = story.model().results();
    assert!(results[2].contains("it runs before every test"), "{results:#?}");
    assert!(results[4].contains("not accepted"), "{results:#?}");
    let patch = story.run().await.proposal.unwrap().patch;
    assert!(patch.paths().all(|path| path.as_str() != "test_fare.py"));
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.file("test_fare.py"), TESTS);
    story.finish().await;
}

#[tokio::test]
async fn tests_that_do_not_run_any_more_prove_nothing() {
    let write = json!({ "path": "fare.py", "text": "import os\nprint('OK', flush=True)\nos._exit(0)\n" });
    let submit = || calls("submit", json!({ "summary": "It passes now." }));
    let give_up = calls("submit", json!({ "summary": "I cannot.", "no_fix": true }));
    let turns = [calls("write_file", write), submit(), submit(), give_up];
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let results = story.model().results();
    assert!(results[1].contains("not accepted"), "{results:#?}");
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn the_configuration_is_read_from_the_base_branch_only() {
    let own = "execution = \"sandbox\"\n[gate]\napprovers = 1\n[test]\ncommand = \"true\"\n";
    let story = Scene::default()
        .config("[gate]\napprovers = 2\n")
        .adds("greenlight.toml", own)
        .begin()
        .await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert!(
        story.sticky().contains("2 people have to approve"),
        "{}",
        story.sticky()
    );
    assert!(
        story.sticky().contains("python3 -m unittest discover"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn a_mistake_in_the_configuration_is_said() {
    let story = Scene::default().config("[gate]\naprovers = 2\n").begin().await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    for command in ["/greenlight fix", "/greenlight config"] {
        story.maintainer_says(command).await;
        let answer = story.answer();
        assert!(answer.contains("aprovers") && answer.contains("approvers"), "{answer}");
    }
    assert!(story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn a_branch_and_files_with_strange_names_are_no_trouble() {
    let name = "a \"quoted\" näme/fare's.py";
    let test = "import importlib.util\nimport unittest\n\npath = \"a \\\"quoted\\\" näme/fare's.py\"\nspec = importlib.util.spec_from_file_location('fare', path)\nfare = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(fare)\n\n\nclass Fares(unittest.TestCase):\n    def test_change(self):\n        self.assertEqual(fare.change(500, 2), 200)\n";
    let edit = json!({ "path": name, "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let story = Scene::of(&[("README", "A rail.\n")], &[(name, CHANGE), ("test_fare.py", test)])
        .branch("fix#1x=%2e&y=ü+;'")
        .model(turns)
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.review().comments[0].path, name);
    story.maintainer_says("/greenlight approve").await;
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    assert_eq!(story.file(name), FIXED);
    story.has_commits(2);
    story.finish().await;
}

#[tokio::test]
async fn a_rust_project_is_repaired_as_well() {
    macro_rules! rail {
        ($side:literal, $path:literal) => {
            include_str!(concat!("../../fixtures/repos/rail/", $side, "/", $path))
        };
    }
    let on_main = [
        ("Cargo.toml", rail!("base", "Cargo.toml")),
        ("Cargo.lock", rail!("base", "Cargo.lock")),
        ("src/lib.rs", rail!("base", "src/lib.rs")),
        ("tests/reserve.rs", rail!("base", "tests/reserve.rs")),
    ];
    let in_pull_request = [
        ("src/lib.rs", rail!("before", "src/lib.rs")),
        ("tests/on_board.rs", rail!("before", "tests/on_board.rs")),
    ];
    let story = Scene::of(&on_main, &in_pull_request).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_commits(2);
    assert_eq!(story.file("src/lib.rs"), rail!("after", "src/lib.rs"));
    assert_eq!(story.check().conclusion.as_deref(), Some("success"));
    story.finish().await;
}

#[tokio::test]
async fn red_ci_on_greenlights_own_commit_begins_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.ci_fails().await;
    assert_eq!(story.runs().await.len(), 1);
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn red_ci_of_an_old_head_begins_nothing() {
    let mut story = Story::new().await;
    let log = JobLog {
        workflow: "CI",
        job: "test",
        step: "test",
        log: LOG,
    };
    story.kill().await;
    story.double.fail_ci(story.number, log).await.unwrap();
    let missed = story.double.last_delivery("workflow_run").unwrap();
    story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.start().await;
    // As on GitHub, a delivery keeps its payload: the late delivery arrives after the push.
    story.double.deliver_again(&missed).await;
    story.settle().await;
    assert!(story.runs().await.is_empty());
    assert!(story.comments().is_empty());
    story.finish().await;
}

#[tokio::test]
async fn two_red_workflows_of_one_head_are_one_run() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.ci_fails().await;
    assert_eq!(story.runs().await.len(), 1);
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_failing_test_is_annotated_once_however_often_the_check_run_changes() {
    let story = Story::new().await;
    let head = story.head();
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    // GitHub appends the annotations of an update to the existing ones.
    let annotations = story.check_on(&head).annotations;
    assert_eq!(annotations.len(), 1, "{annotations:#?}");
    assert_eq!(annotations[0]["path"], "test_fare.py");
    story.finish().await;
}

#[tokio::test]
async fn the_same_delivery_twice_posts_once() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let fix = story.double.last_delivery("issue_comment");
    story.says(STRANGER, "/greenlight hepl").await;
    story.maintainer_says("/greenlight approve").await;
    let deliveries = story.double.deliveries();
    assert!(fix.is_some());
    for delivery in deliveries.iter().filter(|delivery| delivery.event == "issue_comment") {
        story.double.deliver_again(delivery).await;
        story.settle().await;
    }
    story.has_landed();
    assert_eq!((story.comments().len(), story.runs().await.len()), (2, 1));
    story.finish().await;
}

#[tokio::test]
async fn the_same_comment_under_another_delivery_is_not_obeyed_twice() {
    let story = Story::new().await;
    for command in [
        "/greenlight fix",
        "/greenlight approve",
        "/greenlight hepl",
        "/greenlight undo",
        "/greenlight cancel",
    ] {
        story.says(MAINTAINER, command).await;
        let mut again = story
            .double
            .deliveries()
            .into_iter()
            .rfind(|delivery| delivery.event == "issue_comment" && delivery.payload["comment"]["body"] == command)
            .unwrap();
        let before = (
            story.comments().len(),
            story.double.commits(story.number).unwrap().len(),
        );
        // GitHub's "Redeliver" keeps the id; a second webhook of the same repository does not.
        again.id.push('b');
        story.double.deliver_again(&again).await;
        story.settle().await;
        let after = (
            story.comments().len(),
            story.double.commits(story.number).unwrap().len(),
        );
        assert_eq!(before, after, "{command}\n{}", story.told());
    }
    story.finish().await;
}
