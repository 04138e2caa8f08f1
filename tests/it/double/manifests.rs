//! Apps from manifests: GitHub's pages, and the code that counts once.

use github_double::{Double, World};
use reqwest::{Client, StatusCode, Url, redirect};
use serde_json::{Value, json};

fn manifest() -> Value {
    json!({
        "name": "Green",
        "url": "https://example.com",
        "hook_attributes": { "url": "http://127.0.0.1:9/webhook" },
        "redirect_url": "http://127.0.0.1:9/back?a=b",
        "callback_urls": ["https://example.com/callback"],
        "default_permissions": { "checks": "write", "metadata": "read" },
        "default_events": ["check_run"],
    })
}

async fn started() -> (Double, Client) {
    let double = Double::start(World::with_repository("acme/rail", &[])).await.unwrap();
    let client = crate::harness::http()
        .redirect(redirect::Policy::none())
        .user_agent("test");
    (double, client.build().unwrap())
}

/// Posts a manifest, and returns the status and the page.
async fn asked((double, client): &(Double, Client), path: &str, manifest: &Value) -> (StatusCode, String) {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("manifest", &manifest.to_string())
        .finish();
    let response = client.post(format!("{}{path}?state=s", double.web_url())).body(body);
    let response = response.send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

#[tokio::test]
async fn mistakes_in_a_manifest_are_named() {
    let started = started().await;
    let mut with = Vec::new();
    for (pointer, value, named) in [
        ("/name", json!("x".repeat(35)), "name"),
        ("/url", Value::Null, "url must be a URL"),
        ("/hook_attributes/url", json!("nowhere"), "hook url"),
        ("/redirect_url", json!("nowhere"), "redirect_url"),
        ("/callback_urls", json!(vec!["https://a.example"; 11]), "callback_urls"),
        (
            "/default_permissions/checks",
            json!("admin"),
            "unknown permission checks",
        ),
        (
            "/default_permissions/metadata",
            json!("write"),
            "unknown permission metadata",
        ),
        ("/default_events", json!(["installation"]), "unknown event"),
    ] {
        let mut wrong = manifest();
        *wrong.pointer_mut(pointer).unwrap() = value;
        with.push((wrong, named));
    }
    let mut unknown = manifest();
    unknown["default_permissions"]["everything"] = json!("write");
    unknown["owner"] = json!("me");
    with.push((unknown, "unknown field owner, unknown permission everything"));
    with.push((Value::Null, "no JSON object"));
    for (wrong, named) in with {
        let (status, page) = asked(&started, "/settings/apps/new", &wrong).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
        assert!(page.contains(named), "{named}: {page}");
    }
    let nobody = asked(&started, "/organizations/nobody/settings/apps/new", &manifest()).await;
    assert_eq!(nobody.0, StatusCode::NOT_FOUND);
    let here = asked(&started, "/organizations/acme/settings/apps/new", &manifest()).await;
    assert_eq!(here.0, StatusCode::OK);
}

#[tokio::test]
async fn a_code_is_exchanged_once_within_an_hour() {
    let started = started().await;
    let (double, client) = &started;
    let code = async || {
        let (_, page) = asked(&started, "/settings/apps/new", &manifest()).await;
        let path = page.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
        let sent = client.post(format!("{}{path}", double.web_url())).send().await.unwrap();
        let back: Url = sent.headers()["location"].to_str().unwrap().parse().unwrap();
        let pairs: Vec<(String, String)> = back.query_pairs().into_owned().collect();
        assert_eq!((&*pairs[0].1, &*pairs[2].1), ("b", "s"), "{back}");
        pairs[1].1.clone()
    };
    let exchange = async |code: &str| {
        let response = client.post(format!("{}/app-manifests/{code}/conversions", double.url()));
        let response = response.send().await.unwrap();
        (response.status(), response.json::<Value>().await.unwrap())
    };
    let first = code().await;
    let (status, app) = exchange(&first).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(
        (&app["slug"], &app["permissions"]["checks"]),
        (&json!("green"), &json!("write"))
    );
    for name in ["pem", "webhook_secret", "client_id", "client_secret", "html_url"] {
        assert!(app[name].is_string(), "{name}: {app}");
    }
    assert_eq!(exchange(&first).await.0, StatusCode::NOT_FOUND);
    assert_eq!(exchange("made-up").await.0, StatusCode::NOT_FOUND);
    let second = code().await;
    double.age_codes();
    assert_eq!(exchange(&second).await.0, StatusCode::NOT_FOUND);
}
