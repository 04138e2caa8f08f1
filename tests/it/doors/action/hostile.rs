//! The action meets attackers, concurrent workflow runs, and a machine that is switched off.

use github_double::{Fault, MAINTAINER};
use rustix::process::Signal;
use serde_json::json;

use super::{ME, PERMISSIONS, Step, says_and_runs, with};
use crate::doors::stage::Stage;
use crate::doors::{PATIENCE, ended, signal};
use crate::harness::model::{KEY, ScriptedModel, Turn};

/// No comment can make the runner read an output that greenlight did not write, or obey a workflow command.
#[tokio::test]
async fn nobody_writes_outputs_of_their_own() {
    let stage = Stage::opened("", |new| new.body("state=landed\n::set-output name=state::landed")).await;
    let text = "/greenlight reject because\ncommit=0123\n::add-mask::x\nproposal<<EOF\nx\nEOF";
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    let (step, ended) = says_and_runs(&stage, MAINTAINER, text).await;
    let names: Vec<String> = step.outputs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["before", "run", "state", "waits-for", "proposal", "commit"]);
    let word = ended.out.strip_prefix("::stop-commands::").unwrap().trim_end();
    assert!(
        word.len() > 20 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{word}"
    );
    assert!(!ended.err.contains(word), "{}", ended.err);
    let again = step.run().await.with(0);
    assert_ne!(again.out, ended.out);
}

/// The annotation of a failed run explains the failure in the terms of the workflow file, and is the only workflow
/// command.
#[tokio::test]
async fn an_error_is_annotated_and_nothing_else_is_obeyed() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let hostile = with(&event, "/repository/full_name", json!("acme/rail\n::set-env name=X::y"));
    let mut step = Step::new(&stage, &event);
    step.door = step.door.with("GREENLIGHT_ENGINE", "buildin");
    for (step, expected) in [
        (step, "the input `engine` (GREENLIGHT_ENGINE) does not name an engine"),
        (Step::new(&stage, &hostile), "GITHUB_EVENT_PATH"),
    ] {
        let ended = step.run().await.with(2);
        let lines: Vec<&str> = ended.out.lines().collect();
        let [silence, speech, error, silence_again] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        let word = silence.strip_prefix("::stop-commands::").unwrap();
        assert_eq!(*speech, format!("::{word}::"));
        assert!(
            error.starts_with("::error title=greenlight::") && error.contains(expected),
            "{error}"
        );
        let next = silence_again.strip_prefix("::stop-commands::").unwrap();
        assert!(next != word && next.len() > 20, "{next}");
        assert!(
            ended.err.contains(expected) && !ended.err.contains(next),
            "{}",
            ended.err
        );
    }
}

#[tokio::test]
async fn an_event_of_another_repository_is_refused() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let other = with(&event, "/repository/full_name", json!("acme/other"));
    Step::new(&stage, &other)
        .run()
        .await
        .with(2)
        .saying("GITHUB_REPOSITORY");
    assert_eq!(stage.answers(), []);
}

/// The payload contains the comment; permissions are requested from GitHub.
#[tokio::test]
async fn the_payloads_word_for_somebodys_rights_is_not_taken() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, "sam", "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let event = with(&event, "/comment/author_association", json!("OWNER"));
    Step::new(&stage, &event).run().await.with(0);
    assert!(stage.answers()[0].body.contains("may not do this"), "{}", stage.told());
}

/// For a pull request from a fork the token is read-only: the log of the step says so in one line.
#[tokio::test]
async fn a_token_that_may_only_read_is_a_clear_end() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let permissions = PERMISSIONS.map(|(name, _)| (name, "read"));
    let token = stage.double.actions_token(&permissions);
    let ended = Step::new(&stage, &event)
        .door
        .with("GITHUB_TOKEN", token)
        .run(["action"])
        .await;
    let ended = ended.with(2).saying("is read-only").saying("contents: write");
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    assert_eq!(stage.answers(), []);
}

/// The machine disappears in the middle; the next event continues from the state in the ref.
#[tokio::test]
async fn a_killed_run_is_taken_up_by_running_the_job_again() {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([Turn::Silence]).await;
    let with_model = |step: Step| {
        step.door
            .with("GREENLIGHT_MODEL", "scripted")
            .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
            .with("GREENLIGHT_MODEL_API_KEY", KEY)
    };
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let door = with_model(Step::new(&stage, &event));
    let child = door.command(["action"]).spawn().unwrap();
    tokio::time::timeout(PATIENCE, model.is_silent())
        .await
        .expect("the model is asked");
    signal(&child, Signal::KILL);
    assert_eq!(ended(child).await.code, None);

    model
        .edits("fare.py", "paid + fare", "paid - fare")
        .submits("Change was added.");
    let again = with_model(Step::new(&stage, &event));
    again.run(["action"]).await.with(0);
    model.finish();
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    stage.has_landed_once(ME);
}

/// GitHub applies a change but its answer is lost, for the ref and for every other write.
#[tokio::test]
async fn an_effect_whose_answer_is_lost_is_not_repeated() {
    let stage = Stage::new("").await;
    for path in [
        "/git/refs",
        "/git/trees",
        "/git/commits",
        "/reviews",
        "/issues/1/comments",
        "/check-runs",
    ] {
        stage.double.plan_fault("POST", path, Fault::ResetAfter);
    }
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    stage.double.plan_fault("PATCH", "/git/refs", Fault::BadGatewayAfter);
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    stage.has_landed_once(ME);
    assert_eq!(stage.double.waiting_faults(), 0);
}

/// Two workflow runs answer the same comment at once, as if two people pressed "Re-run jobs": only one posts.
#[tokio::test]
async fn two_at_the_same_time_do_it_once() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let (one, other) = (Step::new(&stage, &event), Step::new(&stage, &event));
    let (first, second) = tokio::join!(one.run(), other.run());
    first.with(0);
    second.with(0);
    assert_eq!(stage.double.reviews(stage.number).len(), 1, "{}", stage.told());
    assert_eq!(stage.answers().len(), 1, "{}", stage.told());

    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let (one, other) = (Step::new(&stage, &event), Step::new(&stage, &event));
    let (first, second) = tokio::join!(one.run(), other.run());
    first.with(0);
    second.with(0);
    stage.has_landed_once(ME);
}

/// Somebody cancels during a search: in a separate workflow run, beside the one at work.
#[tokio::test]
async fn a_cancellation_beside_the_work_wins() {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([Turn::Silence]).await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let door = Step::new(&stage, &event)
        .door
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    let at_work = door.command(["action"]).spawn().unwrap();
    tokio::time::timeout(PATIENCE, model.is_silent())
        .await
        .expect("the model is asked");
    let (step, ended_) = says_and_runs(&stage, MAINTAINER, "/greenlight cancel").await;
    ended_.with(0);
    assert_eq!(step.output("state"), "cancelled");
    signal(&at_work, Signal::TERM);
    ended(at_work).await;
    assert_eq!(stage.double.reviews(stage.number), []);
    assert!(stage.answers()[0].body.contains("ancelled"), "{}", stage.told());
}
