//! The double follows GitHub's rules: each rule is tested once, over plain HTTP, with real git as the independent
//! peer.

mod access;
mod events;
mod git;
mod git_data;
mod manifests;
mod moving;
mod protection;
mod reviews;
mod routes;

use github_double::{AUTHOR, Double, NewPullRequest, World};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const MAIN: &[u8] = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// A world with one pull request that changes line five of `list.txt`.
async fn world() -> (Client, u64) {
    serve(World::with_repository(
        "acme/rail",
        &[("list.txt", MAIN), ("src/lib.rs", b"fn main() {}\n")],
    ))
    .await
}

async fn serve(world: World) -> (Client, u64) {
    let double = Double::start(world).await.unwrap();
    let changed = String::from_utf8_lossy(MAIN).replace("five", "FIVE");
    let new = NewPullRequest::new(AUTHOR, "topic", "Shout").write("list.txt", changed);
    let number = double.open_pull_request(new).await.unwrap();
    let token = double.token();
    (
        Client {
            http: crate::harness::http()
                .tls_certs_only([])
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .unwrap(),
            double,
            token,
        },
        number,
    )
}

/// A client that knows only HTTP.
struct Client {
    http: reqwest::Client,
    double: Double,
    token: String,
}

impl Client {
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/repos/acme/rail{path}", self.double.url());
        self.http
            .request(method, url)
            .bearer_auth(&self.token)
            .header("user-agent", "test")
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.request(Method::GET, path)).await
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.request(method, path).json(&body)).await
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(Method::POST, path, body).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let bytes = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test]
async fn a_pull_request_is_shown_with_its_files_and_commits() {
    let (client, number) = world().await;
    let (status, pull) = client.get(&format!("/pulls/{number}")).await;
    assert_eq!((status, pull["head"]["ref"].as_str()), (StatusCode::OK, Some("topic")));
    assert_eq!(pull["head"]["sha"], client.double.head(number).unwrap());
    let (_, files) = client.get(&format!("/pulls/{number}/files")).await;
    assert_eq!(
        files[0]["patch"],
        "@@ -2,7 +2,7 @@ one\n two\n three\n four\n-five\n+FIVE\n six\n seven\n eight"
    );
    let (_, commits) = client.get(&format!("/pulls/{number}/commits")).await;
    assert_eq!(commits.as_array().unwrap().len(), 1);
    assert_eq!(commits[0]["author"]["login"], AUTHOR);
}

#[tokio::test]
async fn a_review_lands_on_lines_of_the_diff_and_can_be_committed() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let review = json!({
        "commit_id": head, "event": "COMMENT", "body": "see below",
        "comments": [{ "path": "list.txt", "line": 5, "side": "RIGHT", "body": "```suggestion\nFive\n```" }],
    });
    let (status, review) = client.post(&format!("/pulls/{number}/reviews"), review).await;
    assert_eq!((status, review["state"].as_str()), (StatusCode::OK, Some("COMMENTED")));
    let reviews = client.double.reviews(number);
    let sha = client
        .double
        .commit_suggestions(&[reviews[0].comments[0].id], AUTHOR)
        .await
        .unwrap();
    assert_eq!(client.double.head(number).unwrap(), sha);
    let file = client.double.file(number, "list.txt").unwrap();
    assert!(String::from_utf8(file).unwrap().contains("four\nFive\nsix"));
}

#[tokio::test]
async fn the_same_story_has_the_same_commits_every_time() {
    let ((one, number), (other, _)) = (world().await, world().await);
    assert_eq!(
        one.double.head(number).unwrap(),
        "8cac59951f0b9616c0b2bfa22ed3b341e6c79ba2"
    );
    assert_eq!(one.double.head(number).unwrap(), other.double.head(number).unwrap());
}
