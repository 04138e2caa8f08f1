//! Every route answers, and its effects can be read back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use github_double::{AUTHOR, JobLog, MAINTAINER, READER, STRANGER, World};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Client, serve, world};

pub(super) const LOG: JobLog<'_> = JobLog {
    workflow: "CI",
    job: "test",
    step: "cargo test",
    log: "error: it broke\n",
};

#[tokio::test]
async fn the_conversation_can_be_written_and_read() {
    let (client, number) = world().await;
    let thread = format!("/issues/{number}/comments");
    let (status, comment) = client.post(&thread, json!({ "body": "Hello" })).await;
    assert_eq!(
        (status, comment["user"]["login"].as_str()),
        (StatusCode::CREATED, Some("greenlight[bot]"))
    );
    assert_eq!(comment["user"]["type"], "Bot");
    let one = format!("/issues/comments/{}", comment["id"]);
    let (status, edited) = client.send(Method::PATCH, &one, json!({ "body": "Hello again" })).await;
    assert_eq!((status, edited["body"].as_str()), (StatusCode::OK, Some("Hello again")));
    assert_eq!(client.get(&one).await.1["body"], "Hello again");
    let reaction = json!({ "content": "eyes" });
    assert_eq!(
        client.post(&format!("{one}/reactions"), reaction.clone()).await.0,
        StatusCode::CREATED
    );
    assert_eq!(
        client.post(&format!("{one}/reactions"), reaction).await.0,
        StatusCode::OK
    );
    assert_eq!(client.get(&format!("{one}/reactions")).await.1[0]["content"], "eyes");
    assert_eq!(client.get(&thread).await.1[0]["reactions"]["eyes"], 1);
    assert_eq!(
        client.send(Method::DELETE, &one, Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(client.get(&one).await.0, StatusCode::NOT_FOUND);
    assert!(client.double.comments(number).is_empty());
}

#[tokio::test]
async fn a_thread_can_be_answered_edited_and_removed() {
    let (client, number) = world().await;
    let comment = json!({ "path": "list.txt", "line": 5, "body": "Why?" });
    let review = json!({ "event": "COMMENT", "comments": [comment] });
    let (_, review) = client.post(&format!("/pulls/{number}/reviews"), review).await;
    let one = format!("/pulls/{number}/reviews/{}", review["id"]);
    let (_, comments) = client.get(&format!("{one}/comments")).await;
    let id = &comments[0]["id"];
    let (status, reply) = client
        .post(
            &format!("/pulls/{number}/comments/{id}/replies"),
            json!({ "body": "So." }),
        )
        .await;
    assert_eq!((status, &reply["in_reply_to_id"]), (StatusCode::CREATED, id));
    assert_eq!(
        client
            .get(&format!("/pulls/{number}/comments"))
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let at = format!("/pulls/comments/{id}");
    assert_eq!(
        client.send(Method::PATCH, &at, json!({ "body": "How?" })).await.1["body"],
        "How?"
    );
    assert_eq!(
        client
            .post(&format!("{at}/reactions"), json!({ "content": "rocket" }))
            .await
            .0,
        StatusCode::CREATED
    );
    assert_eq!(client.get(&format!("{at}/reactions")).await.1[0]["content"], "rocket");
    assert_eq!(
        client.send(Method::PUT, &one, json!({ "body": "All said" })).await.1["body"],
        "All said"
    );
    assert_eq!(
        client.get(&format!("/pulls/{number}/reviews")).await.1[0]["body"],
        "All said"
    );
    assert_eq!(
        client.send(Method::DELETE, &at, Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(client.get(&at).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn failed_ci_can_be_read_and_started_again() {
    let (client, number) = world().await;
    let id = client.double.fail_ci(number, LOG).await.unwrap();
    let run = format!("/actions/runs/{id}");
    let (_, shown) = client.get(&run).await;
    assert_eq!(shown["conclusion"], "failure");
    assert_eq!(shown["pull_requests"][0]["number"], number);
    let (_, jobs) = client.get(&format!("{run}/jobs")).await;
    let job = &jobs["jobs"][0];
    assert_eq!(job["steps"][1]["name"], "cargo test");
    let link = client
        .request(Method::GET, &format!("/actions/jobs/{}/logs", job["id"]))
        .send()
        .await
        .unwrap();
    assert_eq!(link.status(), StatusCode::FOUND);
    let place = link.headers()["location"].to_str().unwrap();
    assert!(!place.starts_with(&client.double.url()), "logs are on another host");
    let log = client.http.get(place).header("user-agent", "test");
    assert_eq!(log.send().await.unwrap().text().await.unwrap(), LOG.log);
    let leaky = client
        .http
        .get(place)
        .header("user-agent", "test")
        .bearer_auth(&client.token);
    assert_eq!(
        super::answer(leaky).await.0,
        StatusCode::BAD_REQUEST,
        "and take no credentials"
    );
    assert_eq!(
        client.post(&format!("{run}/rerun-failed-jobs"), Value::Null).await.0,
        StatusCode::CREATED
    );
    assert_eq!(client.get(&run).await.1["status"], "queued");
    assert_eq!(
        client.post(&format!("{run}/rerun-failed-jobs"), Value::Null).await.0,
        StatusCode::FORBIDDEN
    );
    assert_eq!(client.get(&format!("{run}/jobs?filter=all")).await.1["total_count"], 2);
    client.double.finish_rerun(id, "success", "all well\n").await.unwrap();
    assert_eq!(
        client.get(&format!("{run}/jobs")).await.1["jobs"][0]["conclusion"],
        "success"
    );
    let told = client.double.last_delivery("workflow_run").unwrap();
    assert_eq!(
        (
            &told.payload["workflow_run"]["conclusion"],
            &told.payload["workflow_run"]["run_attempt"]
        ),
        (&json!("success"), &json!(2))
    );
}

#[tokio::test]
async fn contents_are_served_as_json_raw_and_list() {
    let (client, number) = world().await;
    let (_, file) = client.get("/contents/list.txt").await;
    let encoded: String = file["content"].as_str().unwrap().split_whitespace().collect();
    assert_eq!(STANDARD.decode(encoded).unwrap(), super::MAIN);
    let raw = client
        .request(Method::GET, "/contents/list.txt?ref=topic")
        .header("accept", "application/vnd.github.raw+json");
    assert!(raw.send().await.unwrap().text().await.unwrap().contains("FIVE"));
    assert_eq!(client.get("/contents/src").await.1[0]["path"], "src/lib.rs");
    assert_eq!(client.get("/contents/nowhere").await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        client.get("/contents/list.txt?ref=nowhere").await.0,
        StatusCode::NOT_FOUND
    );
    let diff = client
        .request(Method::GET, &format!("/pulls/{number}"))
        .header("accept", "application/vnd.github.diff");
    assert!(
        diff.send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
            .starts_with("diff --git a/list.txt b/list.txt\n")
    );
}

#[tokio::test]
async fn commits_compare_and_pull_requests_are_found_by_their_branch() {
    let (client, number) = world().await;
    client
        .double
        .push_to("main", MAINTAINER, &[("other.txt", Some(b"x\n"))])
        .await
        .unwrap();
    let (_, compared) = client.get("/compare/main...topic").await;
    assert_eq!(
        (&compared["status"], &compared["ahead_by"], &compared["behind_by"]),
        (&json!("diverged"), &json!(1), &json!(1))
    );
    assert_eq!(
        compared["files"].as_array().unwrap().len(),
        1,
        "only what the pull request changes"
    );
    assert_eq!(client.get("/compare/main...main").await.1["status"], "identical");
    assert_eq!(client.get("/compare/main...nowhere").await.0, StatusCode::NOT_FOUND);
    assert_eq!(client.get("/pulls?head=acme:topic").await.1[0]["number"], number);
    assert_eq!(client.get("/pulls?head=acme:other").await.1, json!([]));
    client.double.close(number, MAINTAINER).await.unwrap();
    assert_eq!(client.get("/pulls").await.1, json!([]));
    assert_eq!(
        client.get("/pulls?state=closed&base=main").await.1[0]["state"],
        "closed"
    );
}

#[tokio::test]
async fn everybody_has_the_permission_github_would_name() {
    let (client, _) = world().await;
    let table = [
        (MAINTAINER, "write", "maintain"),
        (AUTHOR, "write", "write"),
        (READER, "read", "read"),
        (STRANGER, "read", "read"),
    ];
    for (login, permission, role) in table {
        let (_, shown) = client.get(&format!("/collaborators/{login}/permission")).await;
        assert_eq!(
            (&shown["permission"], &shown["role_name"]),
            (&json!(permission), &json!(role)),
            "{login}"
        );
    }
    assert_eq!(
        client.get("/collaborators/nobody-there/permission").await.0,
        StatusCode::NOT_FOUND
    );
    let private = World::with_repository("acme/rail", &[("a", b"a")]).private();
    let (client, _) = serve(private).await;
    assert_eq!(
        client.get(&format!("/collaborators/{STRANGER}/permission")).await.1["permission"],
        "none"
    );
}

#[tokio::test]
async fn people_and_the_repository_introduce_themselves() {
    let (client, _) = world().await;
    assert_eq!(client.get("").await.1["full_name"], "acme/rail");
    let user = |token: String| {
        client
            .http
            .get(format!("{}/user", client.double.url()))
            .bearer_auth(token)
            .header("user-agent", "test")
    };
    assert_eq!(
        super::answer(user(client.double.user_token(AUTHOR))).await.1["login"],
        AUTHOR
    );
    assert_eq!(super::answer(user(client.token.clone())).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn everything_can_live_below_a_prefix() {
    let (client, number) =
        serve(World::with_repository("acme/rail", &[("list.txt", super::MAIN)]).prefix("/api/v3")).await;
    assert!(client.double.url().ends_with("/api/v3"));
    let (status, pull) = client.get(&format!("/pulls/{number}")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(pull["url"].as_str().unwrap().starts_with(&client.double.url()));
    let outside: Client = client;
    let bare = format!("{}/repos/acme/rail", outside.double.web_url());
    let request = outside
        .http
        .get(bare)
        .bearer_auth(&outside.token)
        .header("user-agent", "test");
    assert_eq!(super::answer(request).await.0, StatusCode::NOT_FOUND);
}
