//! The action in everyday use: one approval for a suggestion, limits, missing permissions, other CI systems.

use github_double::{AUTHOR, MAINTAINER, STRANGER};

use super::requests::{run, with_model};
use super::{ME, PERMISSIONS, Step, says_and_runs};
use crate::doors::stage::Stage;
use crate::harness::model::ScriptedModel;

/// More requests than a story makes in an hour.
const PLENTY: u32 = 5_000;

/// A CI failure, a suggestion that was not tested, and one approval: it is tested and landed.
#[tokio::test]
async fn one_approval_tests_and_lands_what_a_model_suggested() {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([]).await;
    model
        .edits("fare.py", "paid + fare", "paid - fare")
        .submits("Change is what is left.");
    stage.ci_fails().await;
    let step = Step::new(&stage, &stage.double.last_delivery("workflow_run").unwrap());
    let (step, ended) = run(step, &model).await;
    ended.with(0);
    assert_eq!(step.output("waits-for"), "verify-and-land", "{}", stage.told());
    let review = stage.double.reviews(stage.number).pop().unwrap();
    assert!(review.body.contains("**not executed** yet"), "{}", review.body);
    let (step, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed", "{}", stage.told());
    stage.has_landed_once(ME);
    model.finish();
}

/// A workflow triggered by `status` answers other CI systems, too.
#[tokio::test]
async fn a_commit_status_of_another_system_starts_a_run() {
    let stage = Stage::new("").await;
    stage
        .double
        .report_status(stage.number, ("ci/circleci", "failure"), MAINTAINER)
        .await
        .unwrap();
    let step = Step::new(&stage, &stage.double.last_delivery("status").unwrap());
    step.run().await.with(0);
    assert_eq!(step.output("waits-for"), "search", "{}", stage.told());
}

/// Nothing is sent before the reset; the job says when that is, and continues when it is run again.
#[tokio::test]
async fn a_rate_limit_ends_the_job_with_its_own_code_and_loses_nothing() {
    for left in [3, 9, 16] {
        let stage = Stage::new("").await;
        stage
            .double
            .comment(stage.number, MAINTAINER, "/greenlight fix")
            .await
            .unwrap();
        let step = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
        // A tenth of 5,000 is kept for answers and for landing.
        stage.double.leave_requests(500 + left, 900);
        step.run().await.with(4).saying("run this job again after that");
        stage.double.leave_requests(PLENTY, 3_600);
        step.run().await.with(0);
        assert_eq!(step.output("state"), "waiting", "{}", stage.told());
        says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
        stage.has_landed_once(ME);
    }
}

/// Two commands in quick succession: the newer one takes over, and only one review is visible.
#[tokio::test]
async fn two_commands_to_fix_at_once_make_one_review() {
    let stage = Stage::new("").await;
    let mut steps = Vec::new();
    for login in [MAINTAINER, AUTHOR] {
        stage
            .double
            .comment(stage.number, login, "/greenlight fix")
            .await
            .unwrap();
        steps.push(Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap()));
    }
    let (one, other) = tokio::join!(steps[0].run(), steps[1].run());
    one.with(0);
    other.with(0);
    assert_eq!(stage.double.reviews(stage.number).len(), 1, "{}", stage.told());
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 2, "{}", stage.told());
    assert_eq!(stage.double.reviews(stage.number).len(), 1, "{}", stage.told());
}

/// A stranger's comment costs a few requests: greenlight neither reads the journal nor asks a model.
#[tokio::test]
async fn a_stranger_reaches_neither_journal_nor_model() {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([]).await;
    for text in ["/greenlight fix", "/greenlight status", "/greenlight approve"] {
        let before = stage.double.requests().len();
        with_model(&stage, &model, STRANGER, text).await.1.with(0);
        let all = stage.double.requests().split_off(before);
        assert!(all.iter().all(|one| !one.path.contains("/git/")), "{text}");
        assert!(all.len() < 12, "{text}: {}", all.len());
    }
    assert_eq!(model.requests().len(), 0);
    let answers = stage.answers();
    assert!(
        answers.iter().all(|answer| answer.body.contains("may not do this")),
        "{}",
        stage.told()
    );
}

/// A push between a command and the start of its job: nobody had seen that code when they commented.
#[tokio::test]
async fn a_push_after_the_command_is_not_executed_on_its_word() {
    for is_fork in [false, true] {
        let stage = Stage::opened("", |new| new.from_fork(is_fork)).await;
        let earlier = (stage.number, 30);
        stage
            .double
            .comment_earlier(earlier, MAINTAINER, "/greenlight fix")
            .await
            .unwrap();
        let step = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
        stage
            .double
            .push(stage.number, AUTHOR, &[("NEWS.md", Some(b"News.\n"))])
            .await
            .unwrap();
        step.run().await.with(0);
        let answers = stage.answers();
        assert_eq!(answers.len(), 1, "{}", stage.told());
        assert!(
            answers[0].body.contains("pushed to after this comment"),
            "{}",
            stage.told()
        );
        assert_eq!(stage.double.reference("refs/greenlight/pr-1"), None);
    }
}

/// A missing permission is reported where the command was given, and the tests still run.
#[tokio::test]
async fn a_missing_right_to_see_ci_is_named() {
    let stage = Stage::new("").await;
    stage.ci_fails().await;
    let permissions: Vec<(&str, &str)> = PERMISSIONS.into_iter().filter(|(name, _)| *name != "actions").collect();
    for (text, said) in [
        ("/greenlight fix", "actions: read"),
        ("/greenlight retry", "actions: read"),
    ] {
        stage.double.comment(stage.number, MAINTAINER, text).await.unwrap();
        let mut step = Step::new(&stage, &stage.double.last_delivery("issue_comment").unwrap());
        step.door = step.door.with("GITHUB_TOKEN", stage.double.actions_token(&permissions));
        step.run().await.with(0);
        let told = stage.answers().pop().unwrap().body;
        assert!(told.contains(said), "{said}: {told}");
    }
}
