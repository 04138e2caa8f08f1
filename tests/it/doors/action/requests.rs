//! A model's request in one workflow run is answered and carried out in another.

use github_double::{MAINTAINER, STRANGER};
use serde_json::json;

use super::{Step, says_and_runs};
use crate::doors::stage::Stage;
use crate::doors::{Door, Ended};
use crate::harness::model::{KEY, ScriptedModel, calls};

/// A separate process that uses the model.
pub(super) async fn with_model(stage: &Stage, model: &ScriptedModel, login: &str, text: &str) -> (Step, Ended) {
    stage.double.comment(stage.number, login, text).await.unwrap();
    let step = Step::new(stage, &stage.double.last_delivery("issue_comment").unwrap());
    run(step, model).await
}

pub(super) async fn run(mut step: Step, model: &ScriptedModel) -> (Step, Ended) {
    let door = std::mem::replace(&mut step.door, Door::new());
    step.door = door
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    let ended = step.door.run(["action"]).await;
    (step, ended)
}

async fn asking() -> ScriptedModel {
    let arguments = json!({ "command": "echo $((6 * 7)) answers", "minutes": 1, "why": "To see." });
    let model = ScriptedModel::start([calls("request_execution", arguments)]).await;
    model
        .edits("fare.py", "paid + fare", "paid - fare")
        .submits("Change is what is left.");
    model
}

#[tokio::test]
async fn what_is_asked_in_one_process_is_done_in_another() {
    let (stage, model) = (Stage::new("").await, asking().await);
    let (step, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    let outputs = ["state", "waits-for"].map(|name| step.output(name));
    assert_eq!(outputs, ["waiting", "execute"]);
    assert!(step.summary().contains("echo $((6 * 7)) answers"), "{}", step.summary());
    let run = step.output("run");
    // The process is gone; a stranger's comment starts another one that does nothing.
    let (_, ended) = says_and_runs(&stage, STRANGER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(model.requests().len(), 1);

    let gate = step.output("proposal");
    let (step, ended) = with_model(&stage, &model, MAINTAINER, &format!("/greenlight approve {gate}")).await;
    ended.with(0);
    assert!(model.results()[0].contains("42 answers"), "{:?}", model.results());
    let outputs = ["run", "state", "waits-for"].map(|name| step.output(name));
    assert_eq!(outputs, [run.as_str(), "waiting", "land"]);

    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(
        (step.output("state"), step.output("waits-for")),
        ("landed".into(), String::new())
    );
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 2, "{}", stage.told());
    model.finish();
}

#[tokio::test]
async fn a_rejection_reaches_the_model_in_another_process() {
    let (stage, model) = (Stage::new("").await, asking().await);
    let (_, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    let (step, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight reject read the tests").await;
    ended.with(0);
    let told = &model.results()[0];
    assert!(
        told.contains("read the tests") && !told.contains("42 answers"),
        "{told}"
    );
    assert_eq!(step.output("waits-for"), "land");
    model.finish();
}
