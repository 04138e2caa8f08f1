//! Probe.
use serde_json::json;

use github_double::{AUTHOR, MAINTAINER};
use crate::harness::model::calls;
use crate::harness::story::{Scene, Story};

fn show(story: &Story, title: &str, from: usize) -> usize {
    let all = story.double.requests();
    println!("== {title}");
    for (n, one) in all[from..].iter().enumerate() {
        println!("{:>3} {} {} {} {}", n + 1, one.method, one.path, one.query, one.status);
    }
    all.len()
}

#[tokio::test]
async fn probe_model() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.settle().await;
    let n = show(&story, "opened", 0);
    story.ci_fails().await;
    story.review();
    let n = show(&story, "red CI, model", n);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let _ = show(&story, "approve", n);
    story.finish().await;
}

#[tokio::test]
async fn probe_sandbox() {
    let story = Scene::default().config("execution = \"sandbox\"\n").begin().await;
    story.ci_fails().await;
    story.review();
    let n = show(&story, "red CI, sandbox", 0);
    story.maintainer_says("/greenlight reject").await;
    let _ = show(&story, "reject", n);
    story.finish().await;
}

#[tokio::test]
async fn probe_gate() {
    let story = Scene::default().begin().await;
    story.ci_fails().await;
    let n = show(&story, "red CI, gate", 0);
    story.maintainer_says("/greenlight approve").await;
    let n = show(&story, "approve search", n);
    story.maintainer_says("/greenlight retry").await;
    let n = show(&story, "retry", n);
    let _ = story.double.push(story.number, AUTHOR, &[("note.md", Some(&b"1\n"[..]))]).await;
    story.settle().await;
    let _ = show(&story, "push", n);
    story.finish().await;
}

#[tokio::test]
async fn probe_fix() {
    let story = Scene::default().begin().await;
    story.says(MAINTAINER, "/greenlight fix").await;
    let n = show(&story, "fix", 0);
    story.maintainer_says("/greenlight approve").await;
    let _ = show(&story, "approve", n);
    story.finish().await;
}
