//! Blobs, trees, commits and references over the API.

use github_double::{AUTHOR, World};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Client, serve, world};

const CREATED: StatusCode = StatusCode::CREATED;
const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;

/// Writes a commit on top of `parent` that changes one file, and returns its SHA.
pub(super) async fn commit(client: &Client, parent: &str, path: &str, content: &str) -> String {
    let (_, blob) = client
        .post("/git/blobs", json!({ "content": content, "encoding": "utf-8" }))
        .await;
    let entry = json!({ "path": path, "mode": "100644", "type": "blob", "sha": blob["sha"] });
    let (status, tree) = client
        .post("/git/trees", json!({ "base_tree": parent, "tree": [entry] }))
        .await;
    assert_eq!(status, CREATED, "{tree}");
    let body = json!({ "message": "Fix it", "tree": tree["sha"], "parents": [parent] });
    let (status, commit) = client.post("/git/commits", body).await;
    assert_eq!(status, CREATED, "{commit}");
    commit["sha"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_commit_made_through_the_api_moves_the_pull_request() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let sha = commit(&client, &head, "list.txt", "fixed\n").await;
    let (_, shown) = client.get(&format!("/git/commits/{sha}")).await;
    assert_eq!(shown["verification"]["verified"], true);
    assert_eq!(shown["author"]["name"], "greenlight[bot]");
    let moved = client
        .send(
            Method::PATCH,
            "/git/refs/heads/topic",
            json!({ "sha": sha, "force": false }),
        )
        .await;
    assert_eq!((moved.0, &moved.1["object"]["sha"]), (StatusCode::OK, &json!(sha)));
    assert_eq!(client.double.head(number).unwrap(), sha);
    assert_eq!(client.double.file(number, "list.txt").unwrap(), b"fixed\n");
    client.double.delivered().await;
    let told = client.double.last_delivery("pull_request").unwrap();
    assert_eq!(
        (told.action(), &told.payload["after"], &told.payload["before"]),
        ("synchronize", &json!(sha), &json!(head))
    );
    assert_eq!(told.payload["sender"]["type"], "Bot");
}

#[tokio::test]
async fn a_branch_is_only_moved_forward_unless_forced() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let sha = commit(&client, &head, "a.txt", "a\n").await;
    client
        .double
        .push(number, AUTHOR, &[("b.txt", Some(b"b\n"))])
        .await
        .unwrap();
    let body = |force: bool| json!({ "sha": sha, "force": force });
    let (status, refused) = client.send(Method::PATCH, "/git/refs/heads/topic", body(false)).await;
    assert_eq!(
        (status, refused["message"].as_str()),
        (UNPROCESSABLE, Some("Update is not a fast forward"))
    );
    assert_eq!(
        client.send(Method::PATCH, "/git/refs/heads/topic", body(true)).await.0,
        StatusCode::OK
    );
    assert_eq!(client.double.head(number).unwrap(), sha);
}

#[tokio::test]
async fn references_of_any_namespace_are_kept_and_found() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let new = json!({ "ref": "refs/greenlight/runs/1", "sha": head });
    assert_eq!(client.post("/git/refs", new.clone()).await.0, CREATED);
    let (status, again) = client.post("/git/refs", new).await;
    assert_eq!(
        (status, again["message"].as_str()),
        (UNPROCESSABLE, Some("Reference already exists"))
    );
    assert_eq!(client.get("/git/ref/greenlight/runs/1").await.1["object"]["sha"], head);
    assert_eq!(
        client
            .get("/git/matching-refs/greenlight/")
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(client.get("/git/matching-refs/greenlight/runs/2").await.1, json!([]));
    assert_eq!(client.get("/git/ref/greenlight/runs").await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        client
            .send(Method::DELETE, "/git/refs/greenlight/runs/1", Value::Null)
            .await
            .0,
        StatusCode::NO_CONTENT
    );
    let (status, gone) = client
        .send(Method::DELETE, "/git/refs/greenlight/runs/1", Value::Null)
        .await;
    assert_eq!(
        (status, gone["message"].as_str()),
        (UNPROCESSABLE, Some("Reference does not exist"))
    );
    for bad in ["main", "refs/x", "refs/heads/a..b", "refs/pull/1/head"] {
        assert_eq!(
            client.post("/git/refs", json!({ "ref": bad, "sha": head })).await.0,
            UNPROCESSABLE,
            "{bad}"
        );
    }
    let nothing = json!({ "ref": "refs/heads/x", "sha": "0123456789012345678901234567890123456789" });
    assert_eq!(client.post("/git/refs", nothing).await.0, UNPROCESSABLE);
}

#[tokio::test]
async fn trees_are_built_on_others_with_inline_content_and_deletions() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let entries = json!([
        { "path": "src/lib.rs", "mode": "100644", "type": "blob", "sha": null },
        { "path": "deep/er/run.sh", "mode": "100755", "type": "blob", "content": "#!/bin/sh\n" },
    ]);
    let (status, tree) = client
        .post("/git/trees", json!({ "base_tree": head, "tree": entries }))
        .await;
    assert_eq!(status, CREATED, "{tree}");
    let (_, all) = client
        .get(&format!("/git/trees/{}?recursive=1", tree["sha"].as_str().unwrap()))
        .await;
    let rows: Vec<(&str, &str)> = all["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["mode"].as_str().unwrap()))
        .collect();
    let expected = [
        ("deep", "040000"),
        ("deep/er", "040000"),
        ("deep/er/run.sh", "100755"),
        ("list.txt", "100644"),
    ];
    assert_eq!(rows, expected, "an emptied folder is gone");
    let (_, blob) = client
        .get(&format!("/git/blobs/{}", all["tree"][2]["sha"].as_str().unwrap()))
        .await;
    assert_eq!(blob["content"], "IyEvYmluL3NoCg==\n");
    for bad in [
        json!({ "path": "../x", "mode": "100644", "type": "blob", "content": "" }),
        json!({ "path": "a/.git/config", "mode": "100644", "type": "blob", "content": "" }),
        json!({ "path": "nowhere", "mode": "100644", "type": "blob", "sha": null }),
        json!({ "path": "x", "mode": "777", "type": "blob", "content": "" }),
        json!({ "path": "x", "mode": "100644", "type": "blob" }),
    ] {
        assert_eq!(
            client
                .post("/git/trees", json!({ "base_tree": head, "tree": [bad] }))
                .await
                .0,
            UNPROCESSABLE,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_named_author_is_kept_and_not_verified() {
    let (client, number) = world().await;
    let head = client.double.head(number).unwrap();
    let tree = client.get(&format!("/git/commits/{head}")).await.1["tree"]["sha"].clone();
    let author = json!({ "name": "Ada", "email": "ada@example.org", "date": "2026-02-01T10:00:00Z" });
    let body = json!({ "message": "Same", "tree": tree, "parents": [head], "author": author });
    let (_, commit) = client.post("/git/commits", body.clone()).await;
    assert_eq!(
        (&commit["author"], &commit["verification"]["verified"]),
        (&author, &json!(false))
    );
    assert_eq!(
        client.post("/git/commits", body).await.1["sha"],
        commit["sha"],
        "the same commit has the same SHA"
    );
    let orphan = json!({ "message": "x", "tree": head, "parents": [] });
    assert_eq!(client.post("/git/commits", orphan).await.0, UNPROCESSABLE);
}

#[tokio::test]
async fn workflows_are_not_touched_without_the_permission_for_them() {
    let files: &[(&str, &[u8])] = &[("list.txt", super::MAIN), (".github/workflows/ci.yml", b"on: push\n")];
    let (client, number) = serve(World::with_repository("acme/rail", files)).await;
    let head = client.double.head(number).unwrap();
    let sha = commit(&client, &head, ".github/workflows/ci.yml", "on: pull_request\n").await;
    let body = json!({ "sha": sha });
    assert_eq!(
        client
            .send(Method::PATCH, "/git/refs/heads/topic", body.clone())
            .await
            .0,
        StatusCode::FORBIDDEN
    );
    let (client, _) = serve(World::with_repository("acme/rail", files).app_permission("workflows", "write")).await;
    commit(&client, &head, ".github/workflows/ci.yml", "on: pull_request\n").await;
    assert_eq!(
        client.send(Method::PATCH, "/git/refs/heads/topic", body).await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn deleting_the_branch_closes_the_pull_request() {
    let (client, number) = world().await;
    client.send(Method::DELETE, "/git/refs/heads/topic", Value::Null).await;
    assert_eq!(client.get(&format!("/pulls/{number}")).await.1["state"], "closed");
    client.double.delivered().await;
    assert_eq!(client.double.last_delivery("pull_request").unwrap().action(), "closed");
}
