//! The first fix of somebody who has the program and README.md, timed: `just newcomer`. Each part prints what is typed,
//! what is shown, and how long all of it has taken so far. Only reading and clicking take a person longer.

use std::time::{Duration, Instant};

use github_double::{AUTHOR, Double, JobLog, MAINTAINER, NewPullRequest, World};

use super::action::Step;
use super::serve::setup::SettingUp;
use super::stage::Stage;
use super::terminal::Terminal;
use super::{Door, git, tree, written};
use crate::harness::browser::Browser;
use crate::harness::story::{CHANGE, LOG, TESTS};

/// Set by `just newcomer`. Everything else that these show is shown by other tests already.
const ASKED_FOR: &str = "GREENLIGHT_NEWCOMER";
const CI: &str = ".github/workflows/ci.yml";
const WORKFLOW: &str = "\
name: CI
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
      - run: python3 -m unittest
";

/// What was done and shown, with the time since the beginning.
struct Timed {
    began: Instant,
    limit: Duration,
}

impl Timed {
    fn begins(title: &str, minutes: u64) -> Self {
        let timed = Self {
            began: Instant::now(),
            limit: Duration::from_secs(60 * minutes),
        };
        timed.says(&format!("{title}, in under {minutes} min"));
        timed
    }

    #[expect(clippy::print_stdout, reason = "the transcript is what `just newcomer` is for")]
    fn says(&self, text: &str) {
        println!("{:>6.1} s  {text}", self.began.elapsed().as_secs_f64());
    }

    /// A line of an output that contains this.
    #[track_caller]
    fn shows(&self, output: &str, part: &str) {
        let line = output.lines().find(|line| line.contains(part));
        self.says(line.unwrap_or_else(|| panic!("{part:?} is not in {output}")).trim());
    }

    #[track_caller]
    fn ends(self) {
        self.says("done\n");
        assert!(self.began.elapsed() < self.limit);
    }
}

fn is_asked_for() -> bool {
    std::env::var_os(ASKED_FOR).is_some()
}

/// A red pull request in a repository with these files.
async fn red(files: &[(&str, &[u8])]) -> Stage {
    let double = Double::start(World::with_repository("acme/rail", files)).await.unwrap();
    let change = NewPullRequest::new(AUTHOR, "change", "Give change").write("fare.py", CHANGE);
    let number = double
        .open_pull_request(change.write("test_fare.py", TESTS))
        .await
        .unwrap();
    Stage { double, number }
}

async fn ci_fails(stage: &Stage) {
    let log = JobLog {
        workflow: "CI",
        job: "test",
        step: "python3 -m unittest",
        log: LOG,
    };
    stage.double.fail_ci(stage.number, log).await.unwrap();
}

#[tokio::test]
async fn a_newcomer_fixes_a_checkout() {
    if !is_asked_for() {
        return;
    }
    let project = written(&[("fare.py", CHANGE.as_bytes()), ("test_fare.py", TESTS.as_bytes())]);
    let door = Door::new();
    let timed = Timed::begins("On a checkout", 1);
    timed.says("$ greenlight fix .");
    let mut command = door.command(["fix", "."]);
    command.current_dir(project.path());
    let mut terminal = Terminal::start(command);
    terminal.shows("paid - fare(stops)").await;
    timed.says("+    return paid - fare(stops)");
    terminal.shows("[y]es").await;
    timed.says("y");
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    timed.shows(&shown, "written to the working tree");
    assert_eq!(code, Some(0));
    timed.ends();
}

#[tokio::test]
async fn a_newcomer_uses_the_action() {
    if !is_asked_for() {
        return;
    }
    let checkout = written(&[(CI, WORKFLOW.as_bytes()), ("test_fare.py", b"import unittest\n")]);
    git(checkout.path(), &["init", "--quiet"]);
    git(
        checkout.path(),
        &["remote", "add", "origin", "https://github.com/acme/rail"],
    );
    let timed = Timed::begins("As a GitHub Action", 3);
    timed.says("$ greenlight init");
    let mut command = Door::new().command(["init"]);
    let written = super::ended(command.current_dir(checkout.path()).spawn().unwrap())
        .await
        .with(0);
    timed.shows(&written.out, "workflows: [CI]");
    timed.shows(&written.out, "wrote .github/workflows/greenlight.yml");
    timed.says("$ git add . && git commit && git push");
    let files = tree(checkout.path());
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_slice()))
        .collect();
    let stage = red(&files).await;
    timed.says("CI fails on a pull request, and starts greenlight.yml");
    ci_fails(&stage).await;
    let step = Step::new(&stage, &stage.double.last_delivery("workflow_run").unwrap());
    step.run().await.with(0);
    timed.shows(&stage.answers()[0].body, "Approve to run");
    timed.says("/greenlight approve");
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    let step = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
    step.run().await.with(0);
    let reviews = stage.double.reviews(stage.number);
    timed.shows(&reviews[0].body, "tested");
    timed.shows(&reviews[0].comments[0].body, "paid - fare(stops)");
    timed.ends();
}

#[tokio::test]
async fn a_newcomer_creates_the_app() {
    if !is_asked_for() {
        return;
    }
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let stage = red(&[("README.md", b"Fares.\n")]).await;
    let door = Door::new().with("GREENLIGHT_GITHUB_API_URL", stage.double.url());
    let timed = Timed::begins("As a GitHub App", 5);
    timed.says("$ greenlight serve");
    let setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    timed.says("Open this page: (a link)");
    browser.go(&setting_up.link).await;
    timed.shows(&browser.text().await, "Begin in this browser");
    browser.click("button").await;
    timed.shows(&browser.text().await, "Create greenlight's GitHub App");
    let public = format!(
        "document.querySelector('[name=organization]').value = 'acme';
         document.querySelector('[name=public_url]').value = '{}'",
        setting_up.url
    );
    browser.evaluate(&public).await;
    browser.click("button").await;
    timed.shows(&browser.text().await, "What the App may do");
    browser.click("button").await;
    timed.shows(&browser.text().await, "Create GitHub App for");
    browser.click("button").await;
    timed.shows(&browser.text().await, "Install");
    browser.click("button").await;
    setting_up.until_printed("\"listening\"").await;
    timed.says("the same process serves webhooks");
    timed.says("/greenlight fix");
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    stage
        .until("a review", |double| !double.reviews(stage.number).is_empty())
        .await;
    let reviews = stage.double.reviews(stage.number);
    timed.shows(&reviews[0].body, "tested");
    timed.shows(&reviews[0].comments[0].body, "paid - fare(stops)");
    timed.ends();
}
