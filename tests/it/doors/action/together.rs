//! Concurrent steps for one pull request. GitHub cancels waiting jobs of a concurrency group, so each command has a
//! separate group, and only the journal keeps the steps apart.

use github_double::MAINTAINER;

use super::{ME, Step, ci_fails_and_runs, says_and_runs};
use crate::doors::stage::Stage;

/// Posts both comments, and starts both workflows at once.
async fn both(stage: &Stage, texts: [&str; 2]) {
    let mut steps = Vec::new();
    for text in texts {
        stage.double.comment(stage.number, MAINTAINER, text).await.unwrap();
        steps.push(Step::new(stage, &stage.double.last_delivery("issue_comment").unwrap()));
    }
    let (one, other) = tokio::join!(steps[0].run(), steps[1].run());
    one.with(0);
    other.with(0);
}

#[tokio::test]
async fn two_approvals_at_once_land_one_commit() {
    let stage = Stage::new("").await;
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    both(&stage, ["/greenlight approve", "/greenlight approve"]).await;
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 2, "{}", stage.told());
    assert_eq!(stage.double.reviews(stage.number).len(), 1, "{}", stage.told());
    let sticky = stage
        .answers()
        .into_iter()
        .filter(|answer| answer.body.contains("Landed as"));
    assert_eq!(sticky.count(), 1, "{}", stage.told());
}

/// The second one sees what the first one wrote.
#[tokio::test]
async fn an_approval_and_another_command_at_once_are_both_answered() {
    let stage = Stage::new("").await;
    ci_fails_and_runs(&stage).await.1.with(0);
    both(&stage, ["/greenlight approve", "/greenlight help"]).await;
    says_and_runs(&stage, MAINTAINER, "/greenlight approve").await.1.with(0);
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 2, "{}", stage.told());
    assert_eq!(stage.double.reviews(stage.number).len(), 1, "{}", stage.told());
    assert!(stage.answers().iter().all(|answer| answer.author == ME));
}
