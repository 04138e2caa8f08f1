//! greenlight derives the account it writes as from the token, no matter of what kind, so that it recognises its own
//! comments, reviews and suggestions in the next workflow run.

use github_double::{Fault, MAINTAINER, STRANGER};

use super::{Step, ci_fails_and_runs, says_and_runs};
use crate::doors::stage::Stage;

/// A step for the last event of this kind, with the token of the project's own App instead of `GITHUB_TOKEN`.
fn with_app_token(stage: &Stage, event: &str) -> Step {
    let mut step = Step::new(stage, &stage.double.last_delivery(event).unwrap());
    step.door = step.door.with("GITHUB_TOKEN", stage.double.token());
    step
}

async fn says_to_the_app(stage: &Stage, login: &str, text: &str) -> Step {
    stage.double.comment(stage.number, login, text).await.unwrap();
    let step = with_app_token(stage, "issue_comment");
    step.run().await.with(0);
    step
}

#[tokio::test]
async fn the_token_of_an_app_finds_its_own_comment_and_review() {
    let stage = Stage::new("").await;
    stage.ci_fails().await;
    with_app_token(&stage, "workflow_run").run().await.with(0);
    says_to_the_app(&stage, MAINTAINER, "/greenlight approve").await;
    assert_eq!(stage.answers().len(), 1, "{}", stage.told());
    assert_eq!(stage.double.reviews(stage.number).len(), 1);
    let step = says_to_the_app(&stage, MAINTAINER, "/greenlight approve").await;
    assert_eq!(step.output("state"), "landed");
    stage.has_landed_once(&stage.double.bot());
}

#[tokio::test]
async fn another_token_edits_the_comment_of_the_first() {
    let stage = Stage::new("").await;
    ci_fails_and_runs(&stage).await.1.with(0);
    says_to_the_app(&stage, MAINTAINER, "/greenlight approve").await;
    let answers = stage.answers();
    assert_eq!(answers.len(), 1, "{}", stage.told());
    assert!(answers[0].body.contains("Approve to commit"), "{}", answers[0].body);
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    stage.has_landed_once(super::ME);
}

#[tokio::test]
async fn where_the_first_comment_may_not_be_edited_there_is_one_more() {
    let stage = Stage::new("").await;
    ci_fails_and_runs(&stage).await.1.with(0);
    for _ in 0..2 {
        stage
            .double
            .plan_fault("PATCH", "/issues/comments/", Fault::NotAccessible);
    }
    says_to_the_app(&stage, MAINTAINER, "/greenlight approve").await;
    let authors: Vec<String> = stage.answers().into_iter().map(|answer| answer.author).collect();
    assert_eq!(authors, [super::ME.to_string(), stage.double.bot()]);
}

#[tokio::test]
async fn a_comment_of_anybody_else_is_left_alone_whatever_it_begins_with() {
    let stage = Stage::new("").await;
    let forged = "<!-- greenlight:sticky -->\nAll is well.";
    for login in [STRANGER, MAINTAINER, "dependabot[bot]"] {
        stage.double.comment(stage.number, login, forged).await.unwrap();
    }
    stage.ci_fails().await;
    with_app_token(&stage, "workflow_run").run().await.with(0);
    let said = stage.double.comments(stage.number);
    assert_eq!(said.iter().filter(|comment| comment.body == forged).count(), 3);
    assert_eq!(said.len(), 4, "{}", stage.told());
}
