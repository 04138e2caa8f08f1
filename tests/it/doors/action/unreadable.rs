//! Contents of the ref that are broken or from a newer version, although only people with write access can write
//! there.

use github_double::MAINTAINER;
use serde_json::{Value, json};

use super::journal::{id, journal};
use super::{PERMISSIONS, ci_fails_and_runs, says_and_runs};
use crate::doors::stage::Stage;

const REF: &str = "refs/greenlight/pr-1";
const MEMORY: &str = "refs/greenlight/memory";

/// Replaces the content of a ref with one file.
async fn put(stage: &Stage, reference: &str, file: &str, content: &str) {
    let token = stage.double.actions_token(&PERMISSIONS);
    let client = crate::harness::http().build().unwrap();
    let send = async |method: reqwest::Method, path: &str, body: Value| -> Value {
        let url = format!("{}/repos/acme/rail/git/{path}", stage.double.url());
        let request = client.request(method, url).bearer_auth(&token);
        let request = request.header("user-agent", "test").json(&body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        response.json().await.unwrap()
    };
    let entry = json!({ "path": file, "mode": "100644", "type": "blob", "content": content });
    let tree = send(reqwest::Method::POST, "trees", json!({ "tree": [entry] })).await;
    let before: Vec<String> = stage.double.reference(reference).into_iter().collect();
    let commit = json!({ "message": "x", "tree": tree["sha"], "parents": before });
    let commit = send(reqwest::Method::POST, "commits", commit).await;
    if before.is_empty() {
        let new = json!({ "ref": reference, "sha": commit["sha"] });
        send(reqwest::Method::POST, "refs", new).await;
    } else {
        let to = json!({ "sha": commit["sha"] });
        send(reqwest::Method::PATCH, reference, to).await;
    }
}

/// The lines of the only run, and the name of its file.
async fn lines(stage: &Stage) -> (String, Vec<String>) {
    let journal = journal(stage).await;
    let run = journal.runs_of(&id()).await.unwrap().remove(0);
    let steps = journal.steps(run.id(), 0, 1_000).await.unwrap();
    (
        format!("{}.jsonl", run.id()),
        steps.into_iter().map(|stored| stored.json).collect(),
    )
}

#[tokio::test]
async fn a_file_without_a_start_is_named_and_nothing_is_done_for_it() {
    let stage = Stage::new("").await;
    put(&stage, REF, "r0.jsonl", "{\"proposed\":\n").await;
    let (_, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0).saying("r0.jsonl in refs/greenlight/pr-1");
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
    // It does not block anything.
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    assert_eq!(step.output("state"), "waiting");
}

#[tokio::test]
async fn a_run_with_a_broken_step_ends_and_says_why() {
    let stage = Stage::new("").await;
    ci_fails_and_runs(&stage).await.1.with(0);
    let (file, mut lines) = lines(&stage).await;
    let broken = lines.len() - 1;
    lines[broken] = "{\"gate_opened\":".into();
    put(&stage, REF, &file, &(lines.join("\n") + "\n")).await;

    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "gave-up");
    let why = format!("Step {broken} of its journal cannot be read");
    assert!(step.summary().contains(&why), "{}", step.summary());
    assert!(stage.told().contains(&why), "{}", stage.told());
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_written_without_a_format_goes_on() {
    let stage = Stage::new("").await;
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    let (file, lines) = lines(&stage).await;
    put(&stage, REF, &file, &(lines.join("\n") + "\n")).await;
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed");
}

#[tokio::test]
async fn a_ref_of_a_newer_greenlight_is_left_alone() {
    let stage = Stage::new("").await;
    put(&stage, REF, "r0.jsonl", "{\"format\":99}\n{\"later\":1}\n").await;
    let before = stage.double.reference(REF);
    for command in ["/greenlight approve", "/greenlight fix"] {
        let (_, ended) = says_and_runs(&stage, MAINTAINER, command).await;
        ended.with(2).saying("upgrade greenlight");
        let answer = stage.answers().pop().unwrap().body;
        assert!(answer.contains("A newer version of greenlight"), "{answer}");
    }
    ci_fails_and_runs(&stage).await.1.with(2).saying("upgrade greenlight");
    assert_eq!(stage.double.reference(REF), before);
    assert_eq!(stage.double.reviews(stage.number), []);
    let (_, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight status").await;
    ended.with(0);
    let answer = stage.answers().pop().unwrap().body;
    assert!(
        answer.contains("Run `r0`: a newer version of greenlight wrote this"),
        "{answer}"
    );
    assert_eq!(stage.double.reference(REF), before);
}

#[tokio::test]
async fn the_memory_of_a_newer_greenlight_is_left_alone() {
    let stage = Stage::new("").await;
    put(&stage, MEMORY, "runs.jsonl", "{\"format\":99,\"later\":1}\n").await;
    let before = stage.double.reference(MEMORY);
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight approve").await;
    ended.with(0).saying("refs/greenlight/memory");
    assert_eq!(step.output("state"), "landed");
    assert_eq!(stage.double.reference(MEMORY), before);
}
