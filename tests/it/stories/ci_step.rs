//! Information from CI: its failed step is run as the base branch defines it, and its log is read.

use github_double::{Fault, JobLog};

use crate::harness::story::{CHANGE, FIXED, LOG, Scene, Story, TESTS};

const WORKFLOW: &str = r#"
on: [pull_request]
env:
  SEASON: summer
  TOKEN: ${{ secrets.TOKEN }}
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        fares: ["1", "2"]
        include: [{ fares: "2", how: -v }]
    steps:
      - uses: actions/checkout@v5
      - name: Fares ${{ matrix.fares }}
        working-directory: py
        run: |
          pip install -r requirements.txt
          export LEVEL=${{ matrix.fares }}
          python3 -m unittest ${{ matrix.how }} # all of them
"#;
const COMMAND: &str = "cd py && LEVEL=2 SEASON=summer python3 -m unittest -v";
const FILE: &str = ".github/workflows/ci.yml";

fn scene(workflow: &str) -> Scene {
    let before = "def fare(stops):\n    return 200 + 50 * stops\n";
    let tests = TESTS.replace("change, ", "");
    let tests = tests.split("\n    def test_change").next().unwrap();
    Scene::of(
        &[(FILE, workflow), ("py/fare.py", before), ("py/test_fare.py", tests)],
        &[("py/fare.py", CHANGE), ("py/test_fare.py", TESTS)],
    )
}

fn failed(log: &str) -> JobLog<'_> {
    JobLog {
        workflow: "CI",
        job: "test (2, -v)",
        step: "Fares 2",
        log,
    }
}

async fn ci_fails(story: &Story) {
    let log = LOG.replace("/rail/rail/test_fare.py", "/rail/rail/py/test_fare.py");
    story.double.fail_ci(story.number, failed(&log)).await.unwrap();
    story.settle().await;
}

#[tokio::test]
async fn the_failed_step_is_what_the_gate_names_and_what_runs() {
    let mut story = scene(WORKFLOW).begin().await;
    ci_fails(&story).await;
    story.has_executed_nothing().await;
    assert!(story.sticky().contains(COMMAND), "{}", story.sticky());
    let reading = story.run().await.reading.unwrap();
    assert_eq!(reading.step.unwrap().shows.as_deref(), Some("unittest"));

    // Another process finds the approved command.
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    let reproduced = story.run().await.reproduced.unwrap().0;
    assert_eq!(reproduced.command, COMMAND);
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("py/fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn the_workflow_is_that_of_the_base_branch() {
    let evil = WORKFLOW.replace("python3 -m unittest", "python3 -m unittest evil");
    let story = scene(WORKFLOW).adds(FILE, &evil).begin().await;
    ci_fails(&story).await;
    assert!(story.sticky().contains(COMMAND), "{}", story.sticky());
    assert!(!story.sticky().contains("evil"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn without_a_failed_step_the_workflows_of_the_base_branch_name_the_command() {
    let evil = WORKFLOW.replace("python3 -m unittest", "python3 -m unittest evil");
    let story = scene(WORKFLOW).adds(FILE, &evil).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let reproduced = story.run().await.reproduced.unwrap().0;
    assert_eq!(reproduced.command, "cd py && LEVEL=1 SEASON=summer python3 -m unittest");
    story.finish().await;
}

#[tokio::test]
async fn a_step_that_is_not_on_the_base_branch_is_not_run() {
    let other = WORKFLOW
        .replace("name: Fares", "name: Prices")
        .replace("LEVEL", "GRADE");
    let story = scene(&other).adds(FILE, WORKFLOW).begin().await;
    ci_fails(&story).await;
    assert!(!story.sticky().contains("LEVEL"), "{}", story.sticky());
    assert!(story.sticky().contains("-m unittest"), "{}", story.sticky());
    // That of the files would run the same tests once more.
    assert!(!story.sticky().contains("discover"), "{}", story.sticky());
    assert_eq!(story.run().await.reading.unwrap().step, None);
    story.finish().await;
}

#[tokio::test]
async fn a_log_that_is_not_kept_by_itself_is_taken_from_the_archive() {
    let story = scene(WORKFLOW).begin().await;
    story.double.plan_fault("GET", "/actions/jobs/", Fault::Gone);
    ci_fails(&story).await;
    assert!(story.sticky().contains("test_change_is_given"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn what_a_green_log_has_too_is_left_out() {
    let usual = "2026-01-05T10:00:00.2000000Z ERROR: the cache of 12 fares is cold\n";
    let story = scene(WORKFLOW).begin().await;
    let green = format!("{}2026-01-04T10:00:00.2000000Z OK\n", usual.replace("12", "3"));
    story.double.pass_ci_on_main(failed(&green)).await.unwrap();
    story.settle().await;
    let log = format!("{usual}{LOG}");
    story.double.fail_ci(story.number, failed(&log)).await.unwrap();
    story.settle().await;
    let reading = story.run().await.reading.unwrap();
    assert!(reading.excerpt.contains("AssertionError"), "{}", reading.excerpt);
    assert!(!reading.excerpt.contains("cache"), "{}", reading.excerpt);
    story.finish().await;
}

#[tokio::test]
async fn somebody_who_asks_gets_what_the_ci_ran_as_well() {
    let story = scene(WORKFLOW).config("[trigger]\nci = false\n").begin().await;
    ci_fails(&story).await;
    assert!(story.runs().await.is_empty());
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    assert_eq!(run.reading.unwrap().step.unwrap().job, "test (2, -v)");
    assert_eq!(run.reproduced.unwrap().0.command, COMMAND);
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("py/fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn failed_jobs_that_nobody_told_of_are_run_again() {
    let story = scene(WORKFLOW).config("[trigger]\nci = false\n").begin().await;
    ci_fails(&story).await;
    story.maintainer_says("/greenlight retry").await;
    let requests = story.double.requests();
    let again = requests
        .iter()
        .filter(|request| request.path.ends_with("/rerun-failed-jobs"));
    assert_eq!(again.count(), 1, "{:?}", story.answers());
    story.finish().await;
}

/// A run is listed by the name of its branch, and a fork's branch may have the name of the base branch.
#[tokio::test]
async fn a_green_run_of_a_fork_is_not_taken_for_one_of_the_base_branch() {
    let story = scene(WORKFLOW).forked(true).branch("main").begin().await;
    story.double.pass_ci(story.number, failed(LOG)).await.unwrap();
    story.settle().await;
    story.double.fail_ci(story.number, failed(LOG)).await.unwrap();
    story.settle().await;
    let reading = story.run().await.reading.unwrap();
    assert!(reading.excerpt.contains("AssertionError"), "{}", reading.excerpt);
    story.finish().await;
}
