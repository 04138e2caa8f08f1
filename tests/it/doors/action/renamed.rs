//! A repository is renamed between two workflow runs; the ref with the journal moves with it.

use github_double::MAINTAINER;

use super::{ME, Step, ci_fails_and_runs};
use crate::doors::stage::Stage;

/// The workflow run for the last comment, under the repository's current name.
async fn runs_for_the_comment(stage: &Stage, name: &str, id: &str) -> (Step, crate::doors::Ended) {
    let mut step = Step::new(stage, &stage.double.last_delivery("issue_comment").unwrap());
    step.door = step
        .door
        .with("GITHUB_REPOSITORY", name)
        .with("GITHUB_REPOSITORY_ID", id);
    let ended = step.run().await;
    (step, ended)
}

#[tokio::test]
async fn a_gate_is_approved_after_a_rename() {
    let stage = Stage::new("").await;
    let (step, ended) = ci_fails_and_runs(&stage).await;
    ended.with(0);
    let (run, gate) = (step.output("run"), step.output("proposal"));
    stage.double.rename_repository(1, "acme/track").unwrap();
    for command in [format!("/greenlight approve {gate}"), "/greenlight approve".into()] {
        stage.double.comment(stage.number, MAINTAINER, &command).await.unwrap();
        // A run that was queued before the rename uses the old name.
        let name = if command.ends_with(&gate) {
            "acme/rail"
        } else {
            "acme/track"
        };
        let (step, ended) = runs_for_the_comment(&stage, name, "1").await;
        ended.with(0);
        assert_eq!(step.output("run"), run);
    }
    stage.has_landed_once(ME);
}

#[tokio::test]
async fn an_event_of_another_repository_of_the_same_name_is_refused() {
    let stage = Stage::new("").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let (_, ended) = runs_for_the_comment(&stage, "acme/rail", "2").await;
    ended.with(2).saying("GITHUB_REPOSITORY");
    assert_eq!(stage.answers(), []);
}
