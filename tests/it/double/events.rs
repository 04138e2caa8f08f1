//! Check runs, and the webhooks that follow actions of people, CI and the bot.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use github_double::{AUTHOR, MAINTAINER, What};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::Sha256;

use super::routes::LOG;
use super::{Client, world};

type Heard = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// A receiver that answers 202 and stores what it received.
async fn receiver() -> (String, Heard) {
    let heard = Heard::default();
    let listen = async |State(heard): State<Heard>, headers: HeaderMap, body: Bytes| {
        heard.lock().unwrap().push((headers, body));
        StatusCode::ACCEPTED.as_u16().to_string()
    };
    let router = Router::new().fallback(listen).with_state(Arc::clone(&heard));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, heard)
}

#[tokio::test]
async fn deliveries_are_signed_and_keep_their_id_when_sent_again() {
    let (client, number) = world().await;
    let (url, heard) = receiver().await;
    client.double.set_webhook(&url, "s3cret");
    client
        .double
        .comment(number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    let delivery = client.double.last_delivery("issue_comment").unwrap();
    assert_eq!((delivery.status, delivery.action()), (Some(200), "created"));
    client.double.deliver_again(&delivery).await;
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 2);
    for (headers, body) in heard.iter() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        assert_eq!(headers["x-hub-signature-256"], signature);
        assert_eq!(headers["x-github-event"], "issue_comment");
        assert_eq!(headers["x-github-delivery"], delivery.id);
        let payload: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(payload["comment"]["body"], "/greenlight fix");
        assert_eq!(payload["sender"]["login"], MAINTAINER);
        assert!(payload["issue"]["pull_request"]["url"].is_string());
        assert!(payload["installation"]["id"].is_u64());
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_noted() {
    let (client, number) = world().await;
    client.double.set_webhook("http://127.0.0.1:1/webhook", "s");
    client.double.comment(number, AUTHOR, "anybody?").await.unwrap();
    let delivery = client.double.last_delivery("issue_comment").unwrap();
    assert_eq!(delivery.status, None);
    assert!(delivery.error.is_some());
}

#[tokio::test]
async fn a_new_hook_is_pinged_and_an_installation_told() {
    let (client, _) = world().await;
    client.double.ping().await;
    client.double.install().await;
    assert!(client.double.last_delivery("ping").unwrap().payload["zen"].is_string());
    let told = client.double.last_delivery("installation").unwrap();
    assert_eq!(
        (told.action(), &told.payload["repositories"][0]["full_name"]),
        ("created", &json!("acme/rail"))
    );
}

#[tokio::test]
async fn what_the_bot_does_is_told_as_well() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    client
        .post(&format!("/issues/{number}/comments"), json!({ "body": "I am on it" }))
        .await;
    let comment = json!({ "path": "list.txt", "line": 5, "body": "x" });
    client
        .post(
            &format!("/pulls/{number}/reviews"),
            json!({ "event": "COMMENT", "body": "y", "comments": [comment] }),
        )
        .await;
    let check = json!({ "name": "greenlight", "head_sha": head, "status": "in_progress" });
    let (_, check) = client.post("/check-runs", check).await;
    let done = json!({ "conclusion": "success", "output": { "title": "Done", "summary": "Green" } });
    client
        .send(Method::PATCH, &format!("/check-runs/{}", check["id"]), done)
        .await;
    client.double.delivered().await;
    let told: Vec<(String, String)> = client
        .double
        .deliveries()
        .iter()
        .map(|one| (one.event.clone(), one.action().to_owned()))
        .collect();
    let expected = [
        ("pull_request", "opened"),
        ("issue_comment", "created"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
        ("check_run", "created"),
        ("check_run", "completed"),
        ("check_suite", "completed"),
    ];
    assert_eq!(
        told,
        expected.map(|(event, action)| (event.to_owned(), action.to_owned()))
    );
    let bot = &client.double.deliveries()[1].payload["sender"];
    assert_eq!(
        (&bot["login"], &bot["type"]),
        (&json!("greenlight[bot]"), &json!("Bot"))
    );
}

#[tokio::test]
async fn red_ci_is_told_three_times_and_a_button_once() {
    let (client, number) = world().await;
    client.double.fail_ci(number, LOG).await.unwrap();
    for event in ["check_run", "check_suite", "workflow_run"] {
        let told = client.double.last_delivery(event).unwrap();
        assert_eq!(
            (told.action(), &told.payload[event]["conclusion"]),
            ("completed", &json!("failure")),
            "{event}"
        );
        assert_eq!(told.payload[event]["pull_requests"][0]["number"], number, "{event}");
    }
    let head = client.double.head(number).unwrap();
    let action = json!({ "label": "Approve", "description": "Run it", "identifier": "approve" });
    let check = json!({ "name": "greenlight", "head_sha": head, "actions": [action] });
    let id = client.post("/check-runs", check).await.1["id"].as_u64().unwrap();
    client.double.press_button(id, "approve", MAINTAINER).await.unwrap();
    let told = client.double.last_delivery("check_run").unwrap();
    assert_eq!(
        (told.action(), &told.payload["requested_action"]["identifier"]),
        ("requested_action", &json!("approve"))
    );
    assert_eq!(told.payload["sender"]["login"], MAINTAINER);
    assert!(client.double.press_button(id, "reject", MAINTAINER).await.is_err());
}

#[tokio::test]
async fn people_edit_reply_label_and_push() {
    let (client, number) = world().await;
    let comment = json!({ "path": "list.txt", "line": 5, "body": "x" });
    client
        .post(
            &format!("/pulls/{number}/reviews"),
            json!({ "event": "COMMENT", "comments": [comment] }),
        )
        .await;
    let double = &client.double;
    let thread = double.reviews(number)[0].comments[0].id;
    double.review_comment_reply(thread, AUTHOR, "because").await.unwrap();
    let told = double.last_delivery("pull_request_review_comment").unwrap();
    assert_eq!(
        (
            &told.payload["comment"]["in_reply_to_id"],
            &told.payload["comment"]["user"]["login"]
        ),
        (&json!(thread), &json!(AUTHOR))
    );
    let id = double.comment(number, AUTHOR, "frist").await.unwrap();
    double.edit_comment(id, AUTHOR, "first").await.unwrap();
    let told = double.last_delivery("issue_comment").unwrap();
    assert_eq!(
        (told.action(), &told.payload["changes"]["body"]["from"]),
        ("edited", &json!("frist"))
    );
    double.label(number, MAINTAINER, "greenlight").await.unwrap();
    assert_eq!(
        double.last_delivery("pull_request").unwrap().payload["label"]["name"],
        "greenlight"
    );
    let before = double.head(number).unwrap();
    let after = double
        .push(number, AUTHOR, &[("list.txt", Some(b"new\n"))])
        .await
        .unwrap();
    let told = double.last_delivery("pull_request").unwrap();
    assert_eq!(
        (told.action(), &told.payload["before"], &told.payload["after"]),
        ("synchronize", &json!(before), &json!(after))
    );
    double
        .force_push(number, AUTHOR, &[("list.txt", Some(b"newer\n"))])
        .await
        .unwrap();
    assert_eq!(double.commits(number).unwrap().len(), 1);
    let story: Vec<&'static str> = double
        .conversation(number)
        .unwrap()
        .iter()
        .map(|entry| word(&entry.what))
        .collect();
    assert_eq!(story, ["commit", "review", "reply", "comment", "commit", "commit"]);
}

fn word(what: &What) -> &'static str {
    match what {
        What::Commented(_) => "comment",
        What::Reviewed(_) => "review",
        What::Replied(_) => "reply",
        What::Checked(_) => "check",
        What::Committed(_) => "commit",
        What::Closed => "closed",
    }
}

/// Creates a check run on the head with these additional keys.
async fn check_run(client: &Client, number: u64, more: Value) -> (StatusCode, Value) {
    let mut body = json!({ "name": "greenlight", "head_sha": client.double.head(number).unwrap() });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    client.post("/check-runs", body).await
}

#[tokio::test]
async fn check_runs_keep_to_the_documented_limits() {
    let (client, number) = world().await;
    let annotation =
        json!({ "path": "list.txt", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "x" });
    let button = json!({ "label": "Go", "description": "Go on", "identifier": "go" });
    let output = |more: Value| {
        let mut output = json!({ "title": "t", "summary": "s" });
        for (key, value) in more.as_object().unwrap() {
            output[key] = value.clone();
        }
        json!({ "output": output })
    };
    let many = |one: &Value, count: usize| Value::Array(vec![one.clone(); count]);
    let with = |key: &str, value: Value| {
        let mut changed = if button.get(key).is_some() {
            button.clone()
        } else {
            annotation.clone()
        };
        changed[key] = value;
        changed
    };
    let bad = [
        json!({ "status": "completed" }),
        json!({ "status": "done" }),
        json!({ "conclusion": "red" }),
        json!({ "output": { "summary": "s" } }),
        output(json!({ "summary": "s".repeat(65_536) })),
        output(json!({ "text": "s".repeat(65_536) })),
        output(json!({ "annotations": many(&annotation, 51) })),
        output(json!({ "annotations": [with("title", json!("t".repeat(256)))] })),
        output(json!({ "annotations": [with("end_line", json!(0))] })),
        json!({ "actions": many(&button, 4) }),
        json!({ "actions": [with("label", json!("l".repeat(21)))] }),
        json!({ "actions": [with("description", json!("d".repeat(41)))] }),
        json!({ "actions": [with("identifier", json!("i".repeat(21)))] }),
        json!({ "head_sha": "0123456789012345678901234567890123456789" }),
    ];
    for body in bad {
        let (status, answer) = check_run(&client, number, body.clone()).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{} {answer}",
            body.to_string().chars().take(100).collect::<String>()
        );
    }
    let good = output(json!({ "annotations": many(&annotation, 50), "text": "t".repeat(65_535) }));
    let (status, run) = check_run(&client, number, good.clone()).await;
    assert_eq!(
        (status, &run["output"]["annotations_count"]),
        (StatusCode::CREATED, &json!(50))
    );
    let path = format!("/check-runs/{}", run["id"]);
    assert_eq!(
        client.send(Method::PATCH, &path, good).await.1["output"]["annotations_count"],
        100,
        "annotations are added"
    );
    assert_eq!(client.get(&path).await.1["status"], "queued");
}

#[tokio::test]
async fn the_latest_check_run_of_a_name_is_found() {
    let (client, number) = world().await;
    client.double.fail_ci(number, LOG).await.unwrap();
    check_run(&client, number, json!({})).await;
    let (_, second) = check_run(&client, number, json!({ "conclusion": "neutral" })).await;
    let (_, found) = client.get("/commits/topic/check-runs?check_name=greenlight").await;
    assert_eq!(
        (&found["total_count"], &found["check_runs"][0]["id"]),
        (&json!(1), &second["id"])
    );
    assert_eq!(
        client.get("/commits/heads/topic/check-runs?filter=all").await.1["total_count"],
        3
    );
    let ci = client.get("/commits/topic/check-runs?check_name=test").await.1["check_runs"][0]["id"].clone();
    let foreign = client
        .send(
            Method::PATCH,
            &format!("/check-runs/{ci}"),
            json!({ "conclusion": "success" }),
        )
        .await;
    assert_eq!(foreign.0, StatusCode::FORBIDDEN);
    assert_eq!(client.double.check_runs(&client.double.head(number).unwrap()).len(), 3);
}
