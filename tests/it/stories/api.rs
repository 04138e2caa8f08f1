//! Answers over REST: by people with their own tokens, each checked against GitHub's permissions.

use futures::StreamExt as _;
use github_double::{AUTHOR, MAINTAINER, Role, STRANGER};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::harness::model::{Turn, calls};
use crate::harness::rest::{described, is_as_described};
use crate::harness::story::{Scene, Story};

fn asks() -> Turn {
    let arguments = json!({ "command": "echo $((6 * 7)) answers", "minutes": 1, "why": "To see." });
    calls("request_execution", arguments)
}

fn fixes(line: &str) -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "paid + fare(stops)", "new": line });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

/// A run that waits for an answer to its model, which continues with these turns.
async fn waiting(turns: impl IntoIterator<Item = Turn>) -> Story {
    let story = Scene::default().model([asks()].into_iter().chain(turns)).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

/// Sends a request to the API with this token.
async fn ask(story: &Story, method: Method, path: &str, token: Option<&str>, body: &str) -> (u16, Value) {
    let url = format!("{}/api/v1{path}", story.process().url);
    let mut request = crate::harness::http()
        .build()
        .unwrap()
        .request(method.clone(), url)
        .body(body.to_string());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let answer = serde_json::from_str(&text).unwrap_or(Value::String(text));
    is_as_described(method.as_str(), path, status, &answer);
    (status, answer)
}

async fn get(story: &Story, path: &str, login: &str) -> (u16, Value) {
    let token = story.double.user_token(login);
    ask(story, Method::GET, path, Some(&token), "").await
}

async fn post(story: &Story, path: &str, login: &str, body: &str) -> (u16, Value) {
    let token = story.double.user_token(login);
    let answer = ask(story, Method::POST, path, Some(&token), body).await;
    story.settle().await;
    answer
}

/// The path at which the only open gate is answered.
async fn gate(story: &Story) -> String {
    let run = story.run().await;
    format!("/runs/{}/gates/{}", run.id(), run.open_gates()[0].id)
}

#[tokio::test]
async fn every_refusal_is_json() {
    let story = waiting([]).await;
    for (method, path, status) in [
        (Method::GET, "/nothing", 404),
        (Method::DELETE, "/runs", 405),
        (Method::GET, "/runs/%FF", 404),
    ] {
        let token = story.double.user_token(MAINTAINER);
        let (answered, body) = ask(&story, method, path, Some(&token), "").await;
        assert_eq!(answered, status, "{path}: {body}");
        assert!(body["error"].is_string(), "{path}: {body}");
    }
    story.finish().await;
}

#[tokio::test]
async fn its_description_is_public() {
    let story = Scene::default().begin().await;
    let (status, document) = ask(&story, Method::GET, "/openapi.json", None, "").await;
    assert_eq!((status, &document), (200, described()));
    let methods = document["paths"]["/runs/{id}/cancel"].as_object().unwrap();
    assert_eq!(methods.keys().collect::<Vec<_>>(), ["post"]);
    story.finish().await;
}

#[tokio::test]
async fn what_found_a_fix_is_told() {
    let story = Scene::default().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let path = format!("/runs/{}", story.run().await.id());
    let (status, run) = get(&story, &path, AUTHOR).await;
    assert_eq!((status, run["rung"].as_str()), (200, Some("search")), "{run}");
    story.finish().await;
}

#[tokio::test]
async fn whoever_may_read_the_repository_reads_its_runs() {
    let story = waiting([]).await;
    let (status, listed) = get(&story, "/runs?repository=acme/rail&limit=5", MAINTAINER).await;
    assert_eq!(status, 200, "{listed}");
    for limit in [0, 101] {
        let path = format!("/runs?repository=acme/rail&limit={limit}");
        let (status, wrong) = get(&story, &path, MAINTAINER).await;
        assert_eq!(status, 400);
        assert!(
            wrong.to_string().contains("`limit` has to be between 1 and 100"),
            "{wrong}"
        );
    }
    let run = &listed["runs"][0];
    assert_eq!(
        (run["state"].as_str(), run["mode"].as_str()),
        (Some("waiting"), Some("debug"))
    );
    let (status, run) = get(&story, &format!("/runs/{}", run["id"].as_str().unwrap()), AUTHOR).await;
    assert_eq!(status, 200, "{run}");
    let gate = &run["gates"][0];
    assert_eq!(
        (gate["kind"].as_str(), gate["state"].as_str()),
        (Some("execute"), Some("open"))
    );
    assert_eq!(gate["execution"]["what"]["command"], "echo $((6 * 7)) answers");
    assert!(
        gate["request"]
            .as_str()
            .unwrap()
            .contains("```sh\necho $((6 * 7)) answers\n```")
    );
    assert!(run["comment"].as_str().unwrap().contains(gate["id"].as_str().unwrap()));
    assert_eq!(run["spent"]["turns"], 1);
    for (path, status) in [
        ("/runs?repository=acme", 400),
        ("/runs", 400),
        ("/runs?repository=acme/other", 404),
        ("/runs/none", 404),
    ] {
        assert_eq!(get(&story, path, MAINTAINER).await.0, status, "{path}");
    }
    post(
        &story,
        &format!("/runs/{}/cancel", story.run().await.id()),
        MAINTAINER,
        "",
    )
    .await;
    assert!(story.sticky().contains("Cancelled"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn an_approval_and_a_rejection_are_those_of_a_comment() {
    let turns = [fixes("(paid - fare(stops))"), fixes("paid - fare(stops)")];
    let story = waiting(turns.into_iter().flatten()).await;
    let path = gate(&story).await;
    let (status, accepted) = post(&story, &format!("{path}/approve"), MAINTAINER, "").await;
    assert_eq!(
        (status, accepted["accepted"].as_str()),
        (202, Some("approve")),
        "{accepted}"
    );
    assert!(story.model().results()[0].contains("42 answers"));
    // An answer counts only once.
    assert_eq!(post(&story, &format!("{path}/approve"), MAINTAINER, "").await.0, 409);
    story.review();
    let path = gate(&story).await;
    for (body, status) in [
        ("no JSON", 400),
        (r#"{ "why": "x" }"#, 400),
        (&json!({ "reason": "x".repeat(5_000) }).to_string(), 400),
        (r#"{ "reason": " say less @ada " }"#, 202),
    ] {
        assert_eq!(
            post(&story, &format!("{path}/reject"), MAINTAINER, body).await.0,
            status,
            "{body}"
        );
    }
    assert_eq!(story.run().await.turned_down[0].reason, "say less @ada");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_is_approved_here_lands() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let path = gate(&story).await;
    assert_eq!(post(&story, &format!("{path}/approve"), MAINTAINER, "").await.0, 202);
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn nobody_else_answers_and_strangers_learn_nothing() {
    let story = Scene::default()
        .private()
        .person("helper[bot]", Role::Admin)
        .person("reader", Role::Read)
        .model([asks()])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let path = gate(&story).await;
    let approve = format!("{path}/approve");
    let run = format!("/runs/{}", story.run().await.id());
    let unknown = get(&story, "/runs/none", STRANGER).await;
    for (login, path, status) in [
        ("reader", &approve, 403),
        ("helper[bot]", &approve, 403),
        (STRANGER, &approve, 404),
        (MAINTAINER, &format!("{run}/gates/gaaaa2/approve"), 404),
        (MAINTAINER, &format!("{run}/gates/%0a/approve"), 404),
        (MAINTAINER, &"/runs/none/gates/gaaaa2/approve".to_string(), 404),
    ] {
        assert_eq!(post(&story, path, login, "").await.0, status, "{login} {path}");
    }
    assert_eq!(get(&story, &run, STRANGER).await, unknown);
    assert_eq!(get(&story, &run, "helper[bot]").await.0, 403);
    assert_eq!(get(&story, "/runs?repository=acme/rail", STRANGER).await.0, 404);
    for token in [None, Some("ghp_nobodys0123456789"), Some("")] {
        for (method, path) in [(Method::GET, &run), (Method::POST, &approve)] {
            assert_eq!(ask(&story, method, path, token, "").await.0, 401, "{token:?}");
        }
    }
    // A token that a service received when she signed in there.
    let of_a_sign_in = story.double.user_token_with(MAINTAINER, "read:user, user:email");
    assert_eq!(
        ask(
            &story,
            Method::GET,
            "/runs?repository=acme/rail",
            Some(&of_a_sign_in),
            ""
        )
        .await
        .0,
        403
    );
    // A token of the App itself does not belong to a person.
    let of_a_workflow = story.double.actions_token(&[("contents", "write")]);
    assert_eq!(
        ask(&story, Method::POST, &approve, Some(&of_a_workflow), "").await.0,
        401
    );
    assert_eq!(story.run().await.open_gates().len(), 1);
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_permission_that_was_taken_away_counts_at_once() {
    let story = Scene::default()
        .person("bob", Role::Write)
        .model([asks()])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let path = format!("{}/approve", gate(&story).await);
    let token = story.double.user_token("bob");
    assert_eq!(
        ask(&story, Method::GET, "/runs?repository=acme/rail", Some(&token), "")
            .await
            .0,
        200
    );
    story.double.set_role("bob", Role::Read);
    assert_eq!(ask(&story, Method::POST, &path, Some(&token), "").await.0, 403);
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn an_old_head_is_a_conflict() {
    let story = Scene::default().model([asks()]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let path = gate(&story).await;
    let change = [("fare.py", Some(&b"x = 1\n"[..]))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    let (status, problem) = post(&story, &format!("{path}/approve"), MAINTAINER, "").await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(post(&story, &format!("{path}/reject"), MAINTAINER, "").await.0, 409);
    let run = format!("/runs/{}/cancel", story.run().await.id());
    assert_eq!(post(&story, &run, MAINTAINER, "").await.0, 409);
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn its_events_are_read_to_the_end_and_gone_on_with() {
    let story = waiting([]).await;
    let run = story.run().await.id().to_string();
    let token = story.double.user_token(MAINTAINER);
    let url = format!("{}/api/v1/runs/{run}/events", story.process().url);
    let request = crate::harness::http().build().unwrap().get(&url).bearer_auth(&token);
    let mut events = request.send().await.unwrap().bytes_stream();
    let mut ws = format!("{url}?after=2")
        .replace("http://", "ws://")
        .into_client_request()
        .unwrap();
    let bearer = format!("Bearer {token}").parse().unwrap();
    ws.headers_mut().insert("authorization", bearer);
    let (mut socket, _) = tokio_tungstenite::connect_async(ws).await.unwrap();
    post(&story, &format!("/runs/{run}/cancel"), MAINTAINER, "").await;
    let mut text = String::new();
    while let Some(piece) = events.next().await {
        text += std::str::from_utf8(&piece.unwrap()).unwrap();
    }
    let ids: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("id: ")?.parse().ok())
        .collect();
    let steps = story.run().await.length;
    assert_eq!(ids, (0..steps).collect::<Vec<_>>());
    assert!(text.contains(r#"data: {"state":"cancelled"}"#), "{text}");
    let again = crate::harness::http().build().unwrap().get(&url).bearer_auth(&token);
    let last = (steps - 2).to_string();
    let rest = again
        .header("last-event-id", last)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(rest.contains("announced") && !rest.contains("started"), "{rest}");
    let mut places = Vec::new();
    let mut is_over = false;
    while let Some(Ok(message)) = socket.next().await {
        let Ok(event) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else {
            continue;
        };
        places.extend(event["id"].as_u64());
        is_over |= event["event"] == "end";
    }
    assert_eq!(places, (3..steps as u64).collect::<Vec<_>>());
    assert!(is_over);
    story.finish().await;
}

#[tokio::test]
async fn a_token_answers_only_what_it_may_do_itself() {
    let scene = |is_private: bool| {
        let scene = Scene::default().model([asks()]);
        if is_private { scene.private() } else { scene }
    };
    let write: &[(&str, &str)] = &[("metadata", "read"), ("pull_requests", "read"), ("contents", "write")];
    let read: &[(&str, &str)] = &[("metadata", "read"), ("pull_requests", "read"), ("contents", "read")];
    for is_private in [true, false] {
        let story = scene(is_private).begin().await;
        story.maintainer_says("/greenlight fix").await;
        let run = format!("/runs/{}", story.run().await.id());
        let gate = gate(&story).await;
        // Everybody can read what is public.
        let unseen = if is_private { 404 } else { 200 };
        for (is_for_it, permissions, seen) in [
            (false, &[("metadata", "read")][..], unseen),
            (false, write, unseen),
            (true, &[("metadata", "read")][..], unseen),
            (true, read, 200),
        ] {
            let token = story.double.fine_grained_token(MAINTAINER, is_for_it, permissions);
            let (status, body) = ask(&story, Method::GET, &run, Some(&token), "").await;
            assert_eq!(status, seen, "{is_for_it} {permissions:?} {body}");
            let refused = if seen == 200 { 403 } else { 404 };
            for path in [
                format!("{gate}/approve"),
                format!("{gate}/reject"),
                format!("{run}/cancel"),
            ] {
                let (status, body) = ask(&story, Method::POST, &path, Some(&token), "").await;
                assert_eq!(status, refused, "{path} {is_for_it} {permissions:?} {body}");
            }
        }
        story.settle().await;
        assert_eq!(story.run().await.open_gates().len(), 1);
        // The check leaves nothing behind.
        let token = story.double.fine_grained_token(MAINTAINER, true, write);
        let (status, body) = ask(&story, Method::POST, &format!("{run}/cancel"), Some(&token), "").await;
        assert_eq!(status, 202, "{body}");
        story.settle().await;
        assert!(story.sticky().contains("Cancelled"), "{}", story.sticky());
        story.finish().await;
    }
}

#[tokio::test]
async fn made_up_tokens_are_not_passed_on_to_github_without_end() {
    let story = Story::new().await;
    let (runs, good) = ("/runs?repository=acme/rail", story.double.user_token(MAINTAINER));
    assert_eq!(ask(&story, Method::GET, runs, Some(&good), "").await.0, 200);
    let asked = || {
        let log = story.double.requests();
        log.iter().filter(|request| request.path == "/user").count()
    };
    for at in 0..60 {
        let token = format!("ghp_{at:036}");
        let (status, _) = ask(&story, Method::GET, "/runs?repository=acme/rail", Some(&token), "").await;
        assert!(matches!(status, 401 | 503), "{status}");
        let (status, _) = ask(
            &story,
            Method::GET,
            "/runs?repository=acme/rail",
            Some(&format!("made-up-{at:036}")),
            "",
        )
        .await;
        assert_eq!(status, 401);
    }
    assert!(asked() <= 21, "{}", asked());
    // A token that was already checked is still accepted.
    assert_eq!(ask(&story, Method::GET, runs, Some(&good), "").await.0, 200);
    story.finish().await;
}
