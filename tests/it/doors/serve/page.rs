//! The page of a real process: `--page`, and the settings with which people sign in.

use super::*;

const WITH_PAGE: [&str; 6] = ["serve", "--page", "--listen", "127.0.0.1:0", "--log-format", "json"];

const WITHOUT_PAGE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[tokio::test]
async fn the_link_is_printed_for_one_browser() {
    let stage = Stage::new("").await;
    let door = stage.app();
    let mut child = door.command(WITH_PAGE).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let link = line.split_once("http://").expect("a link").1;
    let client = crate::harness::http()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    // A program that only looks at links, and a browser that loads early, do not use it up.
    let link_url = format!("http://{link}");
    for looks in [
        client.head(&link_url),
        client.get(&link_url).header("sec-purpose", "prefetch"),
    ] {
        assert_eq!(looks.send().await.unwrap().status(), 503);
    }
    let entered = client.get(&link_url).send().await.unwrap();
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().to_string();
    let (address, token) = link.split_once("/enter?link=").unwrap();
    let get = async |with: &str| {
        let overview = client
            .get(format!("http://{address}/"))
            .header("cookie", with)
            .send()
            .await
            .unwrap();
        overview.text().await.unwrap()
    };
    assert!(get(&cookie).await.contains("Waiting for somebody"));
    assert!(get("").await.starts_with("This is greenlight."));
    signal(&child, Signal::TERM);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("listening") && !log.contains(token), "{log}");
}

#[tokio::test]
async fn other_machines_get_no_page() {
    let stage = Stage::new("").await;
    let everywhere = WITH_PAGE.map(|argument| {
        if argument == "127.0.0.1:0" {
            "0.0.0.0:0"
        } else {
            argument
        }
    });
    let refused = stage.app().run(everywhere).await;
    refused.with(2).saying("is not a loopback address");
}

#[tokio::test]
async fn people_sign_in_where_a_client_secret_is_set() {
    let stage = Stage::new("").await;
    let app = stage.double.app_credentials();
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), format!("{}\n", app.client_secret)).unwrap();
    stage.double.add_callback("http://127.0.0.1:9/sign-in/callback");
    let door = stage
        .app()
        .with("GREENLIGHT_LOG", "trace")
        .with("GREENLIGHT_CLIENT_ID", app.client_id)
        .with("GREENLIGHT_PUBLIC_URL", "http://127.0.0.1:9");
    // Without the secret, everything else works, and the page says what is missing.
    let mut without = Serving::start(&door).await;
    let start = crate::harness::http()
        .build()
        .unwrap()
        .get(&without.url)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        start.contains("/api/v1/runs") && start.contains("GREENLIGHT_CLIENT_SECRET"),
        "{start}"
    );
    assert_eq!(without.get("/sign-in").await, 404);
    assert_eq!(without.ends_by(Signal::TERM).await, Some(0));

    let door = door.with("GREENLIGHT_CLIENT_SECRET_FILE", secret.path().to_str().unwrap());
    let serving = Serving::start(&door).await;
    let client = crate::harness::http()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let get = async |url: &str, cookies: &[String]| {
        let asked = client.get(url).header("cookie", cookies.join("; "));
        let answer = asked.send().await.unwrap();
        let header = |name: &str| Some(answer.headers().get(name)?.to_str().unwrap().to_string());
        let cookie = header("set-cookie").map(|cookie| cookie.split(';').next().unwrap().to_string());
        (header("location"), cookie, answer.text().await.unwrap())
    };
    let (.., start) = get(&serving.url, &[]).await;
    assert!(start.contains("Sign in with GitHub"), "{start}");
    stage.double.set_browser_of(Some(MAINTAINER));
    let (github, begun, _) = get(&format!("{}/sign-in", serving.url), &[]).await;
    let (back, ..) = get(&github.unwrap(), &[]).await;
    let back = back.unwrap().replace("http://127.0.0.1:9", &serving.url);
    let (to, session, page) = get(&back, &[begun.unwrap()]).await;
    assert_eq!(to.as_deref(), Some("/"), "{page}\n{}", serving.log());
    let session = session.unwrap();
    let (.., overview) = get(&serving.url, std::slice::from_ref(&session)).await;
    assert!(overview.contains("Signed in as mia"), "{overview}");
    let log = serving.log();
    let token = stage.double.requests().into_iter();
    let token = token.filter_map(|asked| Some(asked.response["access_token"].as_str()?.to_string()));
    let cookie = session.split_once('=').unwrap().1;
    for secret in token.chain([app.client_secret, cookie.to_string()]) {
        assert!(!log.contains(&secret), "{log}");
    }
}

#[tokio::test]
async fn a_client_secret_alone_is_a_mistake() {
    let stage = Stage::new("").await;
    let refused = stage
        .app()
        .with("GREENLIGHT_CLIENT_SECRET", "sesame")
        .run(WITHOUT_PAGE)
        .await;
    let refused = refused.with(2).saying("GREENLIGHT_CLIENT_ID");
    assert!(!refused.err.contains("sesame"), "{}", refused.err);
}
