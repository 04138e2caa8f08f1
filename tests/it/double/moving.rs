//! The name of a renamed repository redirects to its id until somebody else takes the name; names of people never
//! redirect.

use github_double::{MAINTAINER, World};
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Client, answer, serve, world};

const HOME: u64 = 1;

impl Client {
    async fn at(&self, method: Method, path: &str) -> reqwest::Response {
        let url = format!("{}{path}", self.double.url());
        let request = self.http.request(method, url).bearer_auth(&self.token);
        request
            .header("user-agent", "test")
            .json(&json!({ "body": "Hello" }))
            .send()
            .await
            .unwrap()
    }

    async fn name_of(&self, path: &str) -> Option<String> {
        let url = format!("{}{path}", self.double.url());
        let request = self.http.get(url).bearer_auth(&self.token).header("user-agent", "test");
        let (_, repository) = answer(request).await;
        Some(repository["full_name"].as_str()?.to_string())
    }
}

#[tokio::test]
async fn an_old_name_leads_to_the_id_with_301_for_get_and_307_for_the_rest() {
    let (client, number) = world().await;
    client.double.rename_repository(HOME, "acme/track").unwrap();
    let api = client.double.url();
    let comments = format!("/issues/{number}/comments");
    for (method, status, message) in [
        (Method::GET, StatusCode::MOVED_PERMANENTLY, "Moved Permanently"),
        (Method::POST, StatusCode::TEMPORARY_REDIRECT, "Temporary Redirect"),
        (Method::PATCH, StatusCode::TEMPORARY_REDIRECT, "Temporary Redirect"),
    ] {
        let path = if method == Method::PATCH {
            "/issues/comments/7".to_string()
        } else {
            comments.clone()
        };
        let moved = client
            .at(method.clone(), &format!("/repos/Acme/Rail{path}?per_page=5"))
            .await;
        let location = moved.headers()["location"].to_str().unwrap().to_string();
        assert_eq!(
            (moved.status(), &location),
            (status, &format!("{api}/repositories/1{path}?per_page=5"))
        );
        let told: serde_json::Value = moved.json().await.unwrap();
        assert_eq!(
            (told["message"].as_str(), told["url"].as_str()),
            (Some(message), Some(location.as_str()))
        );
    }
    let there = client.at(Method::POST, &format!("/repositories/1{comments}")).await;
    assert_eq!(there.status(), StatusCode::CREATED);
    assert_eq!(client.double.comments(number).len(), 1);
    assert_eq!(client.name_of("/repositories/1").await.as_deref(), Some("acme/track"));
    assert_eq!(client.name_of("/repositories/2").await, None);
    let at = format!(
        "{}/acme/rail.git/info/refs?service=git-upload-pack",
        client.double.web_url()
    );
    let git = client.http.get(at).send().await.unwrap();
    let expected = format!(
        "{}/acme/track.git/info/refs?service=git-upload-pack",
        client.double.web_url()
    );
    assert_eq!(git.headers()["location"].to_str().unwrap(), expected);
}

#[tokio::test]
async fn a_name_is_whoever_takes_it() {
    let (client, _) = world().await;
    client.double.rename_repository(HOME, "acme/track").unwrap();
    assert!(client.double.copy_repository("acme/track", "eve").is_err());
    let other = client.double.copy_repository("acme/rail", "eve").unwrap();
    assert_eq!(client.name_of("/repos/acme/rail").await.as_deref(), Some("acme/rail"));
    assert_eq!(
        client.name_of(&format!("/repositories/{other}")).await.as_deref(),
        Some("acme/rail")
    );
    assert_eq!(client.name_of("/repositories/1").await.as_deref(), Some("acme/track"));
}

#[tokio::test]
async fn an_old_name_tells_nothing_to_those_who_may_not_see_the_repository() {
    let (mut client, _) = serve(World::with_repository("acme/rail", &[("a", b"a")]).private()).await;
    client.double.rename_repository(HOME, "acme/track").unwrap();
    client.token = client.double.user_token("sam");
    assert_eq!(
        client.at(Method::GET, "/repos/acme/rail").await.status(),
        StatusCode::NOT_FOUND
    );
    client.token = client.double.user_token(MAINTAINER);
    assert_eq!(
        client.at(Method::GET, "/repos/acme/rail").await.status(),
        StatusCode::MOVED_PERMANENTLY
    );
}

#[tokio::test]
async fn a_transferred_repository_is_written_by_its_new_owners_installation_alone() {
    let (client, number) = world().await;
    client.double.rename_repository(HOME, "umbrella/rail").unwrap();
    let path = format!("/repositories/1/issues/{number}/comments");
    assert_eq!(client.at(Method::POST, &path).await.status(), StatusCode::FORBIDDEN);
    client.double.comment(number, MAINTAINER, "Hello").await.unwrap();
    let told = client.double.last_delivery("issue_comment").unwrap().payload;
    assert_eq!(told["repository"]["full_name"], "umbrella/rail");
    assert_ne!(
        told["installation"]["id"],
        client.double.app_credentials().installation_id
    );
}

#[tokio::test]
async fn an_old_login_leads_nowhere_and_an_id_to_the_new_one() {
    let (client, _) = world().await;
    let permission = "/collaborators/mia/permission";
    let (_, before) = client.get(permission).await;
    client.double.rename_account(MAINTAINER, "mona").unwrap();
    assert_eq!(client.get(permission).await.0, StatusCode::NOT_FOUND);
    let (_, after) = client.get("/collaborators/mona/permission").await;
    assert_eq!(after["user"]["id"], before["user"]["id"]);
    let by_id = client.at(Method::GET, &format!("/user/{}", before["user"]["id"])).await;
    let by_id: serde_json::Value = by_id.json().await.unwrap();
    assert_eq!(by_id["login"], "mona");
}
