//! How often greenlight asks GitHub, and how often it waits for it. The requests of a line are sent side by side; each
//! line waits for the one above.

use std::time::{Duration, Instant};

use axum::http::Method;
use github_double::{AUTHOR, CheckRunView, MAINTAINER, Role};
use greenlight::domain::run::End;
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, SECRET, Scene, Story};

/// A request that never comes is waited for this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The turns of a model that fixes the default scene.
fn fixes() -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

/// A story of a greenlight that knows its own account and has a token, as it does after its first event of an hour.
async fn warm(scene: Scene) -> Story {
    let story = scene.begin().await;
    story.maintainer_says("/greenlight help").await;
    story
}

/// Fails unless exactly these requests are sent, in these rounds.
async fn takes(story: &Story, happens: impl Future<Output = ()>, rounds: &str) {
    let line = |line: &str| line.split(" | ").map(|name| name.trim().to_string()).collect();
    let lines = rounds.lines().filter(|line| !line.trim().is_empty());
    let before = story.double.requests().len();
    story.double.answer_in_rounds(&lines.map(line).collect::<Vec<_>>());
    let ended = tokio::time::timeout(PATIENCE, happens).await;
    let (missing, unexpected) = story.double.end_rounds();
    let sent: Vec<String> = story.double.requests()[before..]
        .iter()
        .map(|one| format!("{} {}", one.method, one.path))
        .collect();
    assert!(
        missing.is_empty() && unexpected.is_empty() && ended.is_ok(),
        "missing: {missing:#?}\nnot expected: {unexpected:#?}\nall: {sent:#?}"
    );
}

#[tokio::test]
async fn from_red_ci_to_a_review_and_from_an_approval_to_the_commit() {
    let story = warm(Scene::default().model(fixes())).await;
    takes(
        &story,
        story.ci_fails(),
        "GET pulls/* | GET contents/greenlight.toml
         POST check-runs | GET actions/runs/*/jobs | GET pulls/*/files | POST app/installations/*/access_tokens
         GET contents/.github/workflows/ci.yml | GET compare/*...main | GET actions/jobs/*/logs | POST acme/rail.git/git-upload-pack
         GET _logs/*
         POST graphql
         POST pulls/*/reviews
         GET issues/*/comments | PATCH check-runs/*
         POST issues/*/comments",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight approve").await;
        },
        "GET pulls/*
         POST issues/comments/*/reactions | GET collaborators/mia/permission | GET contents/greenlight.toml
         GET issues/*/comments | GET commits/*/check-runs | GET collaborators/mia/permission | GET pulls/* | GET pulls/*/files | GET compare/*...*
         PATCH issues/comments/* | PATCH check-runs/*
         GET collaborators/mia/permission
         GET pulls/*
         GET git/ref/heads/change | GET git/commits/* | POST git/blobs | GET /
         POST git/trees
         POST git/commits
         POST graphql
         PATCH issues/comments/* | PATCH check-runs/* | GET commits/*/check-runs
         POST check-runs
         GET pulls/*
         GET pulls/*/comments
         GET contents/fare.py
         GET contents/fare.py
         POST graphql",
    )
    .await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn from_a_command_to_a_review_and_its_rejection() {
    let story = warm(Scene::default()).await;
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight fix").await;
        },
        "GET pulls/* | GET contents/greenlight.toml
         POST issues/comments/*/reactions | GET collaborators/mia/permission
         POST check-runs | GET actions/runs | GET pulls/*/files | POST app/installations/*/access_tokens
         GET commits/*/check-runs | GET commits/*/status | POST acme/rail.git/git-upload-pack
         GET collaborators/mia/permission | GET pulls/* | GET compare/*...*
         POST graphql
         POST pulls/*/reviews
         GET issues/*/comments | PATCH check-runs/*
         POST issues/*/comments",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight reject").await;
        },
        "GET pulls/*
         POST issues/comments/*/reactions | GET collaborators/mia/permission
         GET issues/*/comments | GET commits/*/check-runs
         PATCH issues/comments/* | PATCH check-runs/*",
    )
    .await;
    story.finish().await;
}

#[tokio::test]
async fn from_red_ci_to_a_tested_review_and_a_rerun() {
    let story = warm(Scene::default().config("execution = \"sandbox\"\n")).await;
    takes(
        &story,
        story.ci_fails(),
        "GET pulls/* | GET contents/greenlight.toml
         GET collaborators/ada/permission
         POST check-runs | GET actions/runs/*/jobs | GET pulls/*/files | POST app/installations/*/access_tokens
         GET contents/.github/workflows/ci.yml | GET compare/*...main | GET actions/jobs/*/logs | POST acme/rail.git/git-upload-pack
         GET _logs/*
         GET collaborators/ada/permission | GET pulls/* | GET compare/*...*
         POST graphql
         POST pulls/*/reviews
         GET issues/*/comments | PATCH check-runs/*
         POST issues/*/comments",
    )
    .await;
    story.review();
    takes(
        &story,
        async {
            story.maintainer_says("/greenlight retry").await;
        },
        "GET pulls/*
         POST issues/comments/*/reactions | GET collaborators/mia/permission
         GET actions/runs/*
         POST actions/runs/*/rerun-failed-jobs",
    )
    .await;
    story.finish().await;
}

#[tokio::test]
async fn a_pull_request_that_nobody_asks_about_costs_nothing() {
    let story = Story::new().await;
    let change = [("note.md", Some(&b"1\n"[..]))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    story.settle().await;
    let requests = story.double.requests();
    let to_github = requests.iter().filter(|one| !one.path.contains("/app"));
    assert_eq!(to_github.count(), 1, "{requests:#?}");
    story.finish().await;
}

/// What the step knew is not enough to execute code: the head and the permission are asked again right before.
#[tokio::test]
async fn a_push_that_nobody_told_of_is_seen_before_anything_is_executed() {
    let mut story = warm(Scene::default()).await;
    let gateway = story.gateway().await;
    gateway.hold(Method::GET, "/actions/runs");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    gateway.holds().await;
    story.double.set_webhook("http://127.0.0.1:1/webhook", SECRET);
    let change = [("fare.py", Some(&b"import os\n"[..]))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    gateway.release();
    story.settle().await;
    story.has_executed_nothing().await;
    let end = story.run().await.end;
    assert!(matches!(end, Some(End::Superseded { .. })), "{end:?}");
    story.finish().await;
}

#[tokio::test]
async fn a_permission_that_was_taken_away_meanwhile_executes_nothing() {
    let mut story = warm(Scene::default()).await;
    let gateway = story.gateway().await;
    gateway.hold(Method::GET, "/actions/runs");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    gateway.holds().await;
    story.double.set_role(MAINTAINER, Role::Read);
    gateway.release();
    story.settle().await;
    story.has_executed_nothing().await;
    assert!(
        story.sticky().contains("no longer has write access"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

/// The files are listed once, but only count while neither head nor base has moved.
#[tokio::test]
async fn files_that_were_listed_before_the_base_moved_are_listed_again() {
    for moves in [false, true] {
        let mut story = warm(Scene::default()).await;
        let gateway = story.gateway().await;
        gateway.hold(Method::GET, "/compare/");
        story
            .double
            .comment(story.number, MAINTAINER, "/greenlight fix")
            .await
            .unwrap();
        gateway.holds().await;
        if moves {
            let note = [("note.md", Some(&b"1\n"[..]))];
            story.double.push_to("main", MAINTAINER, &note).await.unwrap();
        }
        gateway.release();
        story.settle().await;
        let all = story.double.requests();
        let listed = all.iter().filter(|one| one.path.ends_with("/pulls/1/files"));
        assert_eq!(listed.count(), if moves { 2 } else { 1 });
        story.review();
        story.finish().await;
    }
}

#[tokio::test]
async fn a_token_for_the_code_is_used_until_it_is_refused() {
    let story = warm(Scene::default()).await;
    let granted = || {
        let all = story.double.requests();
        let tokens = all.iter().filter(|one| one.path.ends_with("/access_tokens"));
        let (code, app): (Vec<_>, Vec<_>) = tokens.partition(|one| one.request["permissions"].is_object());
        (app.len(), code.len())
    };
    let mut expected = vec![(1, 1), (1, 1), (2, 2)].into_iter();
    for (push, expires) in [false, false, true].into_iter().enumerate() {
        if expires {
            story.double.expire_tokens();
        }
        let text = format!("{CHANGE}# {push}\n");
        let change = [("fare.py", Some(text.as_bytes()))];
        story.double.push(story.number, AUTHOR, &change).await.unwrap();
        story.settle().await;
        story.maintainer_says("/greenlight fix").await;
        assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
        assert_eq!(Some(granted()), expected.next());
    }
    story.finish().await;
}

/// With `GREENLIGHT_LATENCY=150`, prints how long it takes if every answer of GitHub takes 150 ms longer; see
/// docs/performance.md.
#[tokio::test]
async fn red_ci_with_a_far_github() {
    let latency = std::env::var_os("GREENLIGHT_LATENCY");
    let latency = latency.map_or(0, |text| text.to_str().unwrap().parse().unwrap());
    let mut took = Vec::new();
    for latency in [0, latency] {
        let story = warm(Scene::default().model(fixes())).await;
        let before = story.double.requests().len();
        story.double.set_latency(Duration::from_millis(latency));
        let begun = Instant::now();
        story.fail_ci_unseen().await;
        let head = story.head();
        let is_ours = |one: &CheckRunView| one.name == "greenlight";
        story
            .until("a check run", |double| double.check_runs(&head).iter().any(is_ours))
            .await;
        let seen = begun.elapsed();
        story
            .until("a review", |double| !double.reviews(story.number).is_empty())
            .await;
        took.push((seen, begun.elapsed(), story.double.requests().len() - before));
        story.settle().await;
        story.finish().await;
    }
    let [(near_seen, near, _), (far_seen, far, requests)] = took[..] else {
        unreachable!()
    };
    println!(
        "each answer {latency} ms later: the check run appears {:.2} s later, the review {:.2} s, after {requests} requests",
        far_seen.saturating_sub(near_seen).as_secs_f64(),
        far.saturating_sub(near).as_secs_f64(),
    );
}
