//! `greenlight doctor --app`: what a GitHub App lacks is named, with the page on which to set it right.

use axum::http::StatusCode;
use github_double::{Double, Uninstalled, World};
use serde_json::Value;

use super::{Door, Ended};
use crate::harness::openapi::violations;
use crate::harness::story::SECRET;

fn world() -> World {
    World::with_repository("acme/rail", &[("README.md", b"Fares.\n")])
}

/// A door with the settings of the App.
fn door(double: &Double) -> Door {
    let app = double.app_credentials();
    Door::new()
        .with("GREENLIGHT_GITHUB_API_URL", double.url())
        .with("GREENLIGHT_APP_ID", app.app_id.to_string())
        .with("GREENLIGHT_PRIVATE_KEY", app.private_key)
        .with("GREENLIGHT_WEBHOOK_SECRET", SECRET)
}

/// The URL of a receiver of webhooks that always answers this.
async fn receiver(status: StatusCode) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().fallback(move || async move { status });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/webhook")
}

/// Examines the App, checks that only described requests were made and that nothing secret was printed.
async fn examined(double: &Double, door: &Door, code: i32) -> (Ended, Value) {
    let text = door.run(["doctor", "--app"]).await.with(code);
    let document = door.run(["doctor", "--app", "--json"]).await.with(code);
    let key = double.app_credentials().private_key;
    let secrets = key
        .lines()
        .filter(|line| !line.starts_with("---"))
        .chain([SECRET, "sesame"]);
    for secret in secrets {
        for shown in [&text.out, &text.err, &document.out, &document.err] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
    }
    for exchange in double.requests() {
        assert_eq!(violations(&exchange), [""; 0], "{exchange:?}");
        assert_eq!(exchange.method, "GET");
    }
    assert_eq!(double.violations(), [""; 0]);
    (text, serde_json::from_str(&document.out).unwrap())
}

/// What is missing, each with the path of its page.
fn missing(double: &Double, document: &Value) -> Vec<(String, String)> {
    let one = |finding: &Value| {
        let part = |name: &str| finding[name].as_str().unwrap().to_string();
        let page = part("page");
        (part("what"), page.trim_start_matches(&double.web_url()).to_string())
    };
    document["missing"].as_array().unwrap().iter().map(one).collect()
}

#[tokio::test]
async fn a_complete_app_lacks_nothing() {
    let double = Double::start(world()).await.unwrap();
    double.set_webhook(&receiver(StatusCode::ACCEPTED).await, SECRET);
    double.ping().await;
    let (text, document) = examined(&double, &door(&double), 0).await;
    for part in [
        "greenlight (App ID 4242) of acme",
        "/organizations/acme/settings/apps/greenlight\n",
        "1 of the last 1 arrived; the newest was `ping`",
        "installed on: acme",
        "Nothing is missing.",
    ] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    assert!(!text.out.contains("note:"), "{}", text.out);
    assert_eq!(document["missing"], serde_json::json!([]));
    assert_eq!(document["deliveries"]["newest"]["status"], "OK");
    assert_eq!(document["installations"][0]["suspended"], false);
}

/// The same below the path of an Enterprise Server.
#[tokio::test]
async fn what_is_missing_is_named_with_its_page() {
    let world = world()
        .prefix("/api/v3")
        .app_permission("checks", "read")
        .app_permission("statuses", "none")
        .app_permission("administration", "write")
        .unaccepted("actions")
        .without_event("workflow_run");
    let double = Double::start(world).await.unwrap();
    double.set_webhook(&receiver(StatusCode::UNAUTHORIZED).await, SECRET);
    for (name, value) in [("content_type", "form"), ("insecure_ssl", "1"), ("secret", "")] {
        double.pretend_webhook(name, value);
    }
    double.ping().await;
    let (text, document) = examined(&double, &door(&double), 1).await;
    let app = "/organizations/acme/settings/apps/greenlight";
    let found = missing(&double, &document);
    let expected = [
        (
            "lacks the permission `checks: write`, and has only `read`",
            format!("{app}/permissions"),
        ),
        ("lacks the permission `statuses: read`", format!("{app}/permissions")),
        (
            "does not subscribe to the event `workflow_run`",
            format!("{app}/permissions"),
        ),
        ("delivers forms", "https://docs.github.com/".into()),
        ("has no secret", app.into()),
        ("does not verify the certificate", app.into()),
        ("failed: Invalid HTTP Response: 401", format!("{app}/advanced")),
        (
            "the installation of acme has not accepted `actions: write`",
            "/organizations/acme/settings/installations/77".into(),
        ),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((what, page), (part, path)) in found.iter().zip(&expected) {
        assert!(what.contains(part), "{part}: {what}");
        assert!(
            page == path || path.ends_with('/') && page.starts_with(path.as_str()),
            "{page}"
        );
        assert!(
            text.out.contains(what.as_str()) && text.out.contains(page.as_str()),
            "{}",
            text.out
        );
    }
    for part in [
        "set *Commit statuses* to *Read-only*",
        "select *Workflow run*",
        "differs from GREENLIGHT_WEBHOOK_SECRET",
        "note: greenlight does not need `administration: write`",
    ] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    assert!(text.err.contains("8 problems; see above"), "{}", text.err);
}

/// The setup page answers so until it knows the secret. Later, the same status is a mistake.
#[tokio::test]
async fn a_ping_that_came_too_early_is_no_mistake() {
    let double = Double::start(world()).await.unwrap();
    double.set_webhook(&receiver(StatusCode::SERVICE_UNAVAILABLE).await, SECRET);
    double.ping().await;
    let (text, document) = examined(&double, &door(&double), 0).await;
    assert_eq!(missing(&double, &document), []);
    assert!(text.out.contains("note: GitHub's first `ping`"), "{}", text.out);
    double.ping().await;
    let (_, document) = examined(&double, &door(&double), 1).await;
    assert!(missing(&double, &document)[0].0.contains("failed: "), "{document}");
}

#[tokio::test]
async fn an_app_that_nothing_reaches_is_noticed() {
    let double = Double::start(world()).await.unwrap();
    let without_secret = door(&double).without("GREENLIGHT_WEBHOOK_SECRET");
    double.uninstall(Some(Uninstalled::Removed));
    let (_, document) = examined(&double, &without_secret, 1).await;
    let found = missing(&double, &document);
    let whats: Vec<&str> = found.iter().map(|(what, _)| what.as_str()).collect();
    assert!(whats[0].contains("no webhook URL"), "{whats:#?}");
    assert!(
        whats[1].contains("GREENLIGHT_WEBHOOK_SECRET is not set here"),
        "{whats:#?}"
    );
    assert_eq!(found[2].1, "/apps/greenlight/installations/new", "{found:#?}");
    assert_eq!(found.len(), 3, "{found:#?}");

    double.uninstall(Some(Uninstalled::Suspended));
    // Nothing is delivered there: the name does not exist.
    double.set_webhook("http://me:sesame@hooks.invalid/webhook?token=sesame", SECRET);
    let (text, document) = examined(&double, &door(&double), 1).await;
    let found = missing(&double, &document);
    assert!(found[0].0.contains("not https"), "{found:#?}");
    assert!(
        found[1].0.contains("the installation of acme is suspended"),
        "{found:#?}"
    );
    assert_eq!(found.len(), 2, "{found:#?}");
    for part in [
        "webhook:      http://hooks.invalid/webhook\n",
        "has not delivered anything yet",
    ] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
}

#[tokio::test]
async fn wrong_settings_are_named() {
    let double = Double::start(world()).await.unwrap();
    let another = door(&double).with("GREENLIGHT_APP_ID", "1");
    another
        .run(["doctor", "--app"])
        .await
        .with(2)
        .saying("check GREENLIGHT_APP_ID");
    let token = door(&double)
        .without("GREENLIGHT_APP_ID")
        .without("GREENLIGHT_PRIVATE_KEY")
        .with("GREENLIGHT_GITHUB_TOKEN", double.token());
    token
        .run(["doctor", "--app"])
        .await
        .with(2)
        .saying("--app needs the settings of a GitHub App");
    for (arguments, part) in [
        (&["doctor", "--app", "--bundles", "x"][..], "--bundles"),
        (&["doctor", "--app-id", "1"], "only with --app"),
        (&["doctor", "--webhook-secret-file", "x"], "--app"),
    ] {
        door(&double).run(arguments).await.with(2).saying(part);
    }
    double.leave_requests(0, 3600);
    door(&double)
        .run(["doctor", "--app"])
        .await
        .with(4)
        .saying("rate limit");
}
