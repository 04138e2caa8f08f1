//! Permissions: App tokens, installation tokens, limits, and faults on demand.

use github_double::{AUTHOR, Double, Fault, MAINTAINER, NewPullRequest, READER, World};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Client, answer, serve, world};

fn jwt(double: &Double, claims: &Value) -> String {
    let key = EncodingKey::from_rsa_pem(double.app_credentials().private_key.as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).unwrap()
}

fn good_claims(double: &Double) -> Value {
    let now = Timestamp::now().as_second();
    json!({ "iss": double.app_credentials().app_id, "iat": now - 60, "exp": now + 540 })
}

fn plain(client: &Client, method: Method, path: &str, token: &str) -> reqwest::RequestBuilder {
    client
        .http
        .request(method, format!("{}{path}", client.double.url()))
        .bearer_auth(token)
        .header("user-agent", "test")
}

#[tokio::test]
async fn an_app_signs_in_and_gets_a_token_with_fewer_permissions() {
    let (client, number) = world().await;
    let double = &client.double;
    let signed = jwt(double, &good_claims(double));
    assert_eq!(
        answer(plain(&client, Method::GET, "/app", &signed)).await.1["slug"],
        "greenlight"
    );
    let (_, installation) = answer(plain(&client, Method::GET, "/repos/acme/rail/installation", &signed)).await;
    assert_eq!(installation["id"], double.app_credentials().installation_id);
    let path = format!("/app/installations/{}/access_tokens", installation["id"]);
    let ask = |body: Value| answer(plain(&client, Method::POST, &path, &signed).json(&body));
    let (status, reading) = ask(json!({ "repositories": ["rail"], "permissions": { "contents": "read" } })).await;
    assert_eq!(
        (status, &reading["permissions"]["contents"]),
        (StatusCode::CREATED, &json!("read"))
    );
    let token = reading["token"].as_str().unwrap();
    let comment = plain(
        &client,
        Method::POST,
        &format!("/repos/acme/rail/issues/{number}/comments"),
        token,
    );
    let (status, refused) = answer(comment.json(&json!({ "body": "x" }))).await;
    assert_eq!(
        (status, refused["message"].as_str()),
        (StatusCode::FORBIDDEN, Some("Resource not accessible by integration"))
    );
    let reads = answer(plain(&client, Method::GET, "/repos/acme/rail/contents/list.txt", token)).await;
    assert_eq!(reads.0, StatusCode::OK);
    assert_eq!(
        ask(json!({ "permissions": { "administration": "write" } })).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        ask(json!({ "repositories": ["other"] })).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        answer(plain(&client, Method::POST, &path, &signed)).await.0,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn a_web_token_that_breaks_a_rule_is_refused() {
    let (client, _) = world().await;
    let now = Timestamp::now().as_second();
    let id = client.double.app_credentials().app_id;
    let table = [
        json!({ "iss": id, "iat": now, "exp": now + 3600 }),
        json!({ "iss": id, "iat": now - 900, "exp": now - 300 }),
        json!({ "iss": id + 1, "iat": now, "exp": now + 60 }),
        json!({ "iss": id, "exp": now + 60 }),
        json!({ "iss": id, "iat": now + 300, "exp": now + 400 }),
    ];
    for claims in table {
        let (status, body) = answer(plain(&client, Method::GET, "/app", &jwt(&client.double, &claims))).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{claims} {body}");
    }
    let forged = format!("{}x", jwt(&client.double, &good_claims(&client.double)));
    assert_eq!(
        answer(plain(&client, Method::GET, "/app", &forged)).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        answer(plain(&client, Method::GET, "/app", &client.token)).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn bad_missing_and_expired_credentials_are_refused() {
    let (client, _) = world().await;
    let bare = client
        .http
        .get(format!("{}/repos/acme/rail", client.double.url()))
        .header("user-agent", "test");
    assert_eq!(answer(bare).await.0, StatusCode::UNAUTHORIZED);
    let (status, body) = answer(plain(&client, Method::GET, "/repos/acme/rail", "ghs_nonsense")).await;
    assert_eq!(
        (status, body["message"].as_str()),
        (StatusCode::UNAUTHORIZED, Some("Bad credentials"))
    );
    client.double.expire_tokens();
    assert_eq!(client.get("").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_private_repository_does_not_exist_for_strangers() {
    let (client, _) = serve(World::with_repository("acme/rail", &[("list.txt", super::MAIN)]).private()).await;
    let status = async |token: &str| answer(plain(&client, Method::GET, "/repos/acme/rail", token)).await.0;
    assert_eq!(status(&client.double.user_token("sam")).await, StatusCode::NOT_FOUND);
    assert_eq!(status(&client.double.user_token(READER)).await, StatusCode::OK);
    assert_eq!(status(&client.token).await, StatusCode::OK);
    let narrow = client.double.actions_token(&[("metadata", "read")]);
    let contents = plain(&client, Method::GET, "/repos/acme/rail/contents/list.txt", &narrow);
    assert_eq!(answer(contents).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn people_write_as_far_as_their_role_goes() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let send = async |login: &str, path: &str, body: Value| {
        let token = client.double.user_token(login);
        answer(plain(&client, Method::POST, &format!("/repos/acme/rail{path}"), &token).json(&body))
            .await
            .0
    };
    let reference = json!({ "ref": "refs/heads/mine", "sha": head });
    assert_eq!(
        send(READER, "/git/refs", reference.clone()).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(send(AUTHOR, "/git/refs", reference).await, StatusCode::CREATED);
    assert_eq!(
        send(READER, &format!("/issues/{number}/comments"), json!({ "body": "hi" })).await,
        StatusCode::CREATED
    );
    assert_eq!(
        send(MAINTAINER, "/check-runs", json!({ "name": "x", "head_sha": head })).await,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn an_app_does_not_write_to_a_fork_and_ci_events_name_no_pull_request_of_one() {
    let (client, _) = world().await;
    let new = NewPullRequest::new("sam", "patch-1", "From afar")
        .write("list.txt", "mine\n")
        .from_fork(true);
    let number = client.double.open_pull_request(new).await.unwrap();
    let (_, pull) = client.get(&format!("/pulls/{number}")).await;
    assert_eq!(
        (&pull["head"]["label"], &pull["maintainer_can_modify"]),
        (&json!("sam:patch-1"), &json!(true))
    );
    assert_eq!(pull["head"]["repo"]["fork"], true);
    let main = client.get("/git/ref/heads/main").await.1["object"]["sha"].clone();
    let body = json!({ "sha": main, "force": true });
    let fork = plain(
        &client,
        Method::PATCH,
        "/repos/sam/rail/git/refs/heads/patch-1",
        &client.token,
    )
    .json(&body);
    assert_eq!(answer(fork).await.0, StatusCode::FORBIDDEN);
    client.double.fail_ci(number, super::routes::LOG).await.unwrap();
    let told = client.double.last_delivery("workflow_run").unwrap().payload;
    assert_eq!(told["workflow_run"]["pull_requests"], json!([]));
    assert_eq!(told["workflow_run"]["head_repository"]["full_name"], "sam/rail");
    assert_eq!(client.get("/pulls?head=sam:patch-1").await.1[0]["number"], number);
}

#[tokio::test]
async fn lists_come_in_pages_and_readings_with_tags() {
    let (client, number) = world().await;
    for text in ["a", "b", "c"] {
        client.double.comment(number, AUTHOR, text).await.unwrap();
    }
    let path = format!("/issues/{number}/comments?per_page=2");
    let first = client.request(Method::GET, &path).send().await.unwrap();
    let link = first.headers()["link"].to_str().unwrap().to_owned();
    assert!(link.contains("page=2>; rel=\"next\""), "{link}");
    let next = link.split(['<', '>']).nth(1).unwrap();
    let rest = answer(
        client
            .http
            .get(next)
            .bearer_auth(&client.token)
            .header("user-agent", "test"),
    )
    .await
    .1;
    assert_eq!((rest.as_array().unwrap().len(), &rest[0]["body"]), (1, &json!("c")));
    let tag = first.headers()["etag"].clone();
    let same = client
        .request(Method::GET, &path)
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
    client.double.comment(number, AUTHOR, "d").await.unwrap();
    client
        .double
        .edit_comment(rest[0]["id"].as_u64().unwrap(), AUTHOR, "C")
        .await
        .unwrap();
    let changed = client
        .request(Method::GET, &format!("{path}&page=2"))
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_hour_and_the_minute_have_their_limits() {
    let (client, number) = world().await;
    let thread = format!("/issues/{number}/comments");
    let first = client.request(Method::GET, &thread).send().await.unwrap();
    assert_eq!(first.headers()["x-ratelimit-remaining"], "4999");
    for count in 0..80 {
        assert_eq!(
            client.post(&thread, json!({ "body": "again" })).await.0,
            StatusCode::CREATED,
            "{count}"
        );
    }
    let refused = client
        .request(Method::POST, &thread)
        .json(&json!({ "body": "again" }))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (refused.status(), refused.headers()["retry-after"].to_str().unwrap()),
        (StatusCode::FORBIDDEN, "60")
    );
    client.double.limit_content(false);
    assert_eq!(
        client.post(&thread, json!({ "body": "again" })).await.0,
        StatusCode::CREATED
    );
    client.double.leave_requests(1, 3600);
    assert_eq!(client.get("").await.0, StatusCode::OK);
    let spent = client.request(Method::GET, "").send().await.unwrap();
    assert_eq!(
        (
            spent.status(),
            spent.headers()["x-ratelimit-remaining"].to_str().unwrap()
        ),
        (StatusCode::FORBIDDEN, "0")
    );
}

#[tokio::test]
async fn planned_faults_strike_once_before_or_after_the_effect() {
    let (client, number) = world().await;
    let thread = format!("/issues/{number}/comments");
    let body = json!({ "body": "once" });
    let table = [
        (Fault::BadGatewayBefore, Some(502), 0),
        (Fault::BadGatewayAfter, Some(502), 1),
        (Fault::ResetBefore, None, 1),
        (Fault::ResetAfter, None, 2),
        (Fault::SecondaryLimit { retry_after: 7 }, Some(403), 2),
        (Fault::TooManyRequests { retry_after: 7 }, Some(429), 2),
        (Fault::BadCredentials, Some(401), 2),
    ];
    for (fault, status, comments) in table {
        client.double.plan_fault("POST", "/comments", fault);
        assert_eq!(client.get(&thread).await.0, StatusCode::OK, "other requests are spared");
        let sent = client.request(Method::POST, &thread).json(&body).send().await;
        assert_eq!(
            sent.ok().map(|response| response.status().as_u16()),
            status,
            "{fault:?}"
        );
        assert_eq!(client.double.comments(number).len(), comments, "{fault:?}");
    }
    assert_eq!(client.double.waiting_faults(), 0);
    assert_eq!(client.post(&thread, body).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn unknown_routes_and_unknown_keys_are_loud() {
    let (client, number) = world().await;
    assert!(client.double.violations().is_empty());
    let (status, body) = client.get("/nonsense").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("NO ROUTE FOR GET /repos/acme/rail/nonsense")
    );
    client
        .post(
            &format!("/issues/{number}/comments"),
            json!({ "body": "x", "bdoy": "y" }),
        )
        .await;
    assert_eq!(client.double.unmatched().len(), 1);
    assert_eq!(client.double.violations().len(), 2);
    let recorded = client.double.requests();
    let last = recorded.last().unwrap();
    assert_eq!(
        (last.route, last.status),
        (Some("/repos/{owner}/{repo}/issues/{issue_number}/comments"), 201)
    );
    assert_eq!(
        (&last.request["bdoy"], &last.response["body"], last.login.as_str()),
        (&json!("y"), &json!("x"), "greenlight[bot]")
    );
    assert_eq!(
        answer(
            client
                .request(Method::POST, &format!("/issues/{number}/comments"))
                .body("{")
        )
        .await
        .0,
        StatusCode::BAD_REQUEST
    );
}
