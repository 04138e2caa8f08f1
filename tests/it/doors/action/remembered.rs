//! A fix remembered from one pull request is used in the next one, in a separate workflow run on an empty disk.

use github_double::{AUTHOR, MAINTAINER, NewPullRequest};

use super::requests::with_model;
use crate::doors::stage::Stage;
use crate::harness::model::ScriptedModel;
use crate::harness::story::{CHANGE, FIXED, TESTS};

const MEMORY: &str = "refs/greenlight/memory";

#[tokio::test]
async fn a_fix_that_landed_is_tried_first_in_another_pull_request() {
    let mut stage = Stage::new("").await;
    // The model has turns for one fix only; if it is asked for another, it fails.
    let model = ScriptedModel::start([]).await;
    model
        .edits("fare.py", "paid + fare", "paid - fare")
        .submits("Change is what is left.");
    let (_, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    // A run in progress has not taught anything yet.
    assert_eq!(stage.double.reference(MEMORY), None);
    let (step, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed");
    assert!(stage.double.reference(MEMORY).is_some());

    let again = NewPullRequest::new(AUTHOR, "again", "Give change again")
        .write("fare.py", format!("{CHANGE}\n\ndef free():\n    return 0\n"))
        .write("test_fare.py", TESTS);
    stage.number = stage.double.open_pull_request(again).await.unwrap();
    let (_, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    let review = stage.double.reviews(stage.number).remove(0).body;
    assert!(review.contains("accepted before for the same failure"), "{review}");
    let (step, ended) = with_model(&stage, &model, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed");
    let landed = stage.double.file(stage.number, "fare.py").unwrap();
    assert_eq!(
        String::from_utf8(landed).unwrap(),
        format!("{FIXED}\n\ndef free():\n    return 0\n")
    );
    model.finish();
}
