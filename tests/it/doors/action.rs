//! `greenlight action` as steps of workflow runs: each is a separate process on an empty disk, with the token that
//! `workflows/*.yml` request. A git ref of the repository passes state from one to the next.

mod account;
mod forged;
mod hostile;
mod journal;
mod ordinary;
mod remembered;
mod renamed;
mod requests;
mod together;
mod unreadable;

use std::path::PathBuf;

use github_double::{AUTHOR, Delivery, MAINTAINER, STRANGER};
use serde_json::Value;

use super::stage::Stage;
use super::{Door, Ended};
use crate::harness::model::{KEY, ScriptedModel, says};

/// The permissions that `workflows/greenlight.yml` and `workflows/greenlight-commands.yml` give their only job.
const PERMISSIONS: [(&str, &str); 5] = [
    ("actions", "read"),
    ("checks", "write"),
    ("contents", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
];
const ME: &str = "github-actions[bot]";

/// A step of a workflow, before it starts.
pub(super) struct Step {
    pub(super) door: Door,
    outputs: PathBuf,
    summary: PathBuf,
}

impl Step {
    pub(super) fn new(stage: &Stage, event: &Delivery) -> Self {
        Self::of(stage, &event.event, &event.payload.to_string())
    }

    pub(super) fn of(stage: &Stage, event: &str, payload: &str) -> Self {
        let door = Door::new();
        let at = |name: &str| door.data().join(name);
        let (payload_at, outputs, summary) = (at("event.json"), at("outputs"), at("summary.md"));
        std::fs::write(&payload_at, payload).unwrap();
        // Earlier steps may have written outputs, too.
        std::fs::write(&outputs, "before=1\n").unwrap();
        let text = |path: &PathBuf| path.to_str().unwrap().to_string();
        let token = stage.double.actions_token(&PERMISSIONS);
        let door = door
            .with("GITHUB_EVENT_NAME", event)
            .with("GITHUB_EVENT_PATH", text(&payload_at))
            .with("GITHUB_REPOSITORY", "acme/rail")
            .with("GITHUB_ACTIONS", "true")
            .with("GITHUB_RUN_ID", "71")
            .with("GITHUB_API_URL", stage.double.url())
            .with("GITHUB_TOKEN", token)
            .with("GITHUB_OUTPUT", text(&outputs))
            .with("GITHUB_STEP_SUMMARY", text(&summary));
        Self { door, outputs, summary }
    }

    pub(super) async fn run(&self) -> Ended {
        self.door.run(["action"]).await
    }

    /// The outputs, as the runner reads them.
    pub(super) fn outputs(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(&self.outputs).unwrap();
        let lines = text.lines().map(|line| line.split_once('=').unwrap());
        lines.map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[track_caller]
    pub(super) fn output(&self, name: &str) -> String {
        let mut outputs = self.outputs().into_iter().filter(|(known, _)| known == name);
        let (_, value) = outputs.next().unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(outputs.next(), None, "{name} is there twice");
        value
    }

    pub(super) fn summary(&self) -> String {
        std::fs::read_to_string(&self.summary).unwrap_or_default()
    }
}

/// Somebody comments, and the workflow for the comment runs to its end.
pub(super) async fn says_and_runs(stage: &Stage, login: &str, text: &str) -> (Step, Ended) {
    stage.double.comment(stage.number, login, text).await.unwrap();
    let step = Step::new(stage, &stage.double.last_delivery("issue_comment").unwrap());
    let ended = step.run().await;
    (step, ended)
}

pub(super) async fn ci_fails_and_runs(stage: &Stage) -> (Step, Ended) {
    stage.ci_fails().await;
    let step = Step::new(stage, &stage.double.last_delivery("workflow_run").unwrap());
    let ended = step.run().await;
    (step, ended)
}

#[tokio::test]
async fn red_ci_becomes_a_landed_commit_in_three_workflow_runs() {
    let stage = Stage::new("").await;
    let (step, ended) = ci_fails_and_runs(&stage).await;
    ended.with(0);
    let gate = step.output("proposal");
    assert_eq!(
        (step.output("state").as_str(), step.output("before").as_str()),
        ("waiting", "1")
    );
    let run = step.output("run");
    assert!(step.summary().contains("Approve to run"), "{}", step.summary());
    assert!(
        stage
            .double
            .reference(&format!("refs/greenlight/pr-{}", stage.number))
            .is_some()
    );
    assert_eq!(stage.double.reviews(stage.number), []);

    let (step, ended) = says_and_runs(&stage, MAINTAINER, &format!("/greenlight approve {gate}")).await;
    ended.with(0);
    assert_eq!(
        (step.output("state").as_str(), step.output("run")),
        ("waiting", run.clone())
    );
    assert_ne!(step.output("proposal"), gate);
    assert_eq!(stage.double.reviews(stage.number).len(), 1);

    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!((step.output("state").as_str(), step.output("run")), ("landed", run));
    assert_eq!(
        (step.output("commit"), step.output("proposal")),
        (stage.double.head(stage.number).unwrap(), String::new())
    );
    assert!(step.summary().contains("Landed as"), "{}", step.summary());
    stage.has_landed_once(ME);

    // The same event again, as "Re-run jobs" sends it, has no further effect.
    let again = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
    again.run().await.with(0);
    stage.has_landed_once(ME);
}

#[tokio::test]
async fn a_maintainers_fix_is_tested_at_once() {
    let stage = Stage::new("").await;
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    assert_eq!(step.output("state"), "waiting");
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed");
    stage.has_landed_once(ME);
}

/// The other events in `workflows/*.yml`: the label, and a command in a thread of the review.
#[tokio::test]
async fn a_label_and_a_thread_are_heard_too() {
    let stage = Stage::new("").await;
    stage
        .double
        .label(stage.number, MAINTAINER, "greenlight")
        .await
        .unwrap();
    let labelled = stage.double.last_delivery("pull_request").unwrap();
    let step = Step::of(&stage, "pull_request_target", &labelled.payload.to_string());
    step.run().await.with(0);
    assert_eq!(step.output("state"), "waiting");
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);

    let comment = stage.double.reviews(stage.number)[0].comments[0].id;
    stage
        .double
        .review_comment_reply(comment, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    let step = Step::new(
        &stage,
        &stage.double.last_delivery("pull_request_review_comment").unwrap(),
    );
    step.run().await.with(0);
    assert_eq!(step.output("state"), "landed");
}

/// The payload does not name a fork's pull request, and the token of the base repository must not push to the fork.
#[tokio::test]
async fn a_forks_pull_request_gets_suggestions() {
    let stage = Stage::opened("", |new| new.from_fork(true)).await;
    let (step, ended) = ci_fails_and_runs(&stage).await;
    ended.with(0);
    assert_eq!(step.output("state"), "waiting");
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    assert_eq!(
        stage.double.reviews(stage.number)[0].comments.len(),
        1,
        "{}",
        stage.told()
    );
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_ne!(step.output("state"), "landed");
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
}

#[tokio::test]
async fn a_rejection_is_remembered_by_the_next_workflow_run() {
    let stage = Stage::new("").await;
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight reject").await;
    ended.with(0);
    assert_eq!(step.output("state"), "rejected");
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "rejected");
    assert!(
        stage
            .answers()
            .last()
            .unwrap()
            .body
            .contains("No request is waiting for an answer"),
        "{}",
        stage.told()
    );
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
}

#[tokio::test]
async fn an_approval_of_an_outdated_head_does_nothing() {
    let stage = Stage::new("").await;
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    stage
        .double
        .push(stage.number, AUTHOR, &[("NEWS.md", Some(b"News.\n"))])
        .await
        .unwrap();
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "superseded");
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 2);
}

#[tokio::test]
async fn a_stranger_is_refused_in_a_comment() {
    let stage = Stage::new("").await;
    let (step, ended) = says_and_runs(&stage, STRANGER, "/greenlight fix").await;
    ended.with(0);
    assert_eq!(step.outputs(), [("before".to_string(), "1".to_string())]);
    let answers = stage.answers();
    assert_eq!((answers.len(), answers[0].author.as_str()), (1, ME));
    assert!(answers[0].body.contains("`sam` may not do this"), "{}", answers[0].body);
}

#[tokio::test]
async fn what_is_not_greenlights_business_ends_well_and_silently() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "Looks good, see `/greenlight fix`.")
        .await
        .unwrap();
    let comment = stage.double.last_delivery("issue_comment").unwrap();
    let opened = stage.double.last_delivery("pull_request").unwrap();
    for event in [comment, opened] {
        Step::new(&stage, &event).run().await.with(0);
    }
    for (event, payload) in [
        ("schedule", "{}"),
        ("workflow_dispatch", "{}"),
        ("push", "{}"),
        ("gollum", "[]"),
    ] {
        Step::of(&stage, event, payload).run().await.with(0);
    }
    assert_eq!(stage.answers(), []);
    assert_eq!(stage.double.reference("refs/greenlight/pr-1"), None);
}

/// Each error is one line, written for the person who set up the workflow.
#[tokio::test]
async fn a_step_that_is_set_up_wrong_says_what_is_missing() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let step = || Step::new(&stage, &event).door;
    for (name, value) in [
        ("GITHUB_REPOSITORY", "acme/other"),
        ("GITHUB_REPOSITORY", "nonsense"),
        ("GITHUB_REPOSITORY", ""),
        ("GITHUB_EVENT_NAME", ""),
        ("GITHUB_EVENT_PATH", "/nowhere/event.json"),
        ("GITHUB_TOKEN", ""),
        ("GITHUB_TOKEN", "ghs_wrongwrongwrongwrongwrong"),
        ("GITHUB_API_URL", "http://127.0.0.1:9"),
    ] {
        let ended = step().with(name, value).run(["action"]).await.with(2).saying(name);
        assert!(!ended.err.contains("wrongwrong"), "{}", ended.err);
    }
    Step::of(&stage, "issue_comment", "{\"action\":")
        .run()
        .await
        .with(2)
        .saying("GITHUB_EVENT_PATH");
    assert_eq!(stage.answers(), []);
}

#[tokio::test]
async fn the_model_of_the_inputs_is_used() {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([says("I cannot."), says("I cannot."), says("I cannot.")]).await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let step = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
    let token = stage.double.requests().len();
    let door = step
        .door
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    door.run(["action"]).await.with(0);
    assert!(stage.double.requests().len() > token);
    assert!(!model.requests().is_empty());
    let said = stage.answers().pop().unwrap().body;
    assert!(said.contains("No fix found"), "{said}");
}

/// The payload of an event with one value replaced.
pub(super) fn with(event: &Delivery, pointer: &str, value: Value) -> Delivery {
    let mut event = event.clone();
    *event.payload.pointer_mut(pointer).unwrap() = value;
    event
}
