//! A door and workers as separate processes, with a real PostgreSQL between them.

use github_double::MAINTAINER;
use rustix::process::Signal;
use secrecy::ExposeSecret as _;

use super::{SECRET, Serving, Stage, signal};
use crate::doors::Door;
use crate::harness::postgres;

const WORKER: [&str; 3] = ["worker", "--workers", "1"];

/// A process of the service, with its own data folder.
fn member(stage: &Stage, url: &str) -> Door {
    stage.app().with("GREENLIGHT_DATABASE_URL", url)
}

#[tokio::test]
async fn a_worker_replaces_one_that_was_killed_and_the_fix_lands_once() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let stage = Stage::new("").await;
    let url_text = url.expose_secret();
    let migrated = member(&stage, url_text).run(["migrate"]).await;
    migrated.with(0).saying("up to date");
    let door = member(&stage, url_text);
    let mut command = door.command(super::ARGUMENTS);
    command.args(["--workers", "0"]);
    let mut serving = Serving::spawn(command).await;
    stage.double.set_webhook(&format!("{}/webhook", serving.url), SECRET);
    let (first, second) = (member(&stage, url_text), member(&stage, url_text));
    let mut killed = first.command(WORKER).spawn().unwrap();
    let fix = stage.double.comment(stage.number, MAINTAINER, "/greenlight fix");
    fix.await.unwrap();
    stage
        .until("at work", |double| {
            let head = double.head(stage.number).unwrap();
            let runs = double.check_runs(&head);
            runs.iter()
                .any(|run| run.name == "greenlight" && run.status == "in_progress")
        })
        .await;
    signal(&killed, Signal::KILL);
    killed.wait().await.unwrap();
    let mut command = second.command(WORKER);
    command.args([
        "--metrics-listen",
        "127.0.0.1:0",
        "--label",
        "gpu",
        "--log-format",
        "json",
    ]);
    let mut worker = Serving::spawn(command).await;
    let labels = ["`gpu`", "`linux`", "`sandbox`", "`python3`"];
    assert!(
        labels.iter().all(|label| worker.log().contains(label)),
        "{}",
        worker.log()
    );
    postgres::let_leases_end(&url).await;
    let asks = |double: &github_double::Double| {
        let comments = double.comments(stage.number);
        comments
            .iter()
            .any(|comment| comment.body.contains("Approve to commit"))
    };
    stage.until("a request", asks).await;
    assert_eq!(stage.double.reviews(stage.number).len(), 1);
    let approve = stage.double.comment(stage.number, MAINTAINER, "/greenlight approve");
    approve.await.unwrap();
    // The run is over before the comment says so.
    let landed = |double: &github_double::Double| {
        let comments = double.comments(stage.number);
        comments.iter().any(|comment| comment.body.contains("Landed as"))
    };
    stage.until("a commit", landed).await;
    let answer = async |path: &str| {
        crate::harness::http()
            .build()
            .unwrap()
            .get(format!("{}{path}", worker.url))
            .send()
            .await
            .unwrap()
    };
    let metrics = answer("/metrics").await.text().await.unwrap();
    assert!(
        metrics.contains("greenlight_runs_ended_total{mode=\"debug\""),
        "{metrics}"
    );
    assert_eq!(answer("/webhook").await.status(), 404);
    assert_eq!(worker.ends_by(Signal::TERM).await, Some(0));
    assert_eq!(serving.ends_by(Signal::TERM).await, Some(0));
}

#[tokio::test]
async fn workers_without_a_shared_database_are_refused() {
    let stage = Stage::new("").await;
    for arguments in [&WORKER[..], &["serve", "--workers", "0"]] {
        let refused = stage.app().run(arguments).await;
        refused.with(2).saying("GREENLIGHT_DATABASE_URL");
    }
    let refused = stage.app().run(["worker", "--workers", "0"]).await;
    refused.with(2).saying("does nothing");
}
