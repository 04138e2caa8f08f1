//! The page over real HTTP: who gets in, what it shows, and that nothing on it has any effect besides being read.

mod under_way;

use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight::github::webhook::WebhookSecret;
use greenlight::server::{self, Access, LocalPage};
use reqwest::header::{COOKIE, HOST, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Client, Response, redirect};
use serde_json::json;
use tokio::net::TcpListener;

use crate::harness::browser::{CHROMIUM, QUIET};
use crate::harness::model::calls;
use crate::harness::story::{CHANGE, SECRET, Scene, Story, TESTS};

const PATIENCE: Duration = Duration::from_secs(120);
const HOSTILE: &str = r#"</pre><script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u202edesrever ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"#;

/// A second listener for the queue of a story, with a page.
struct Open {
    url: String,
    link: String,
    client: Client,
}

impl Open {
    async fn of(story: &Story) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (page, link) = LocalPage::new(address).unwrap();
        let access = Access {
            webhook: WebhookSecret::new(SECRET.into()).unwrap(),
            metrics: None,
            page: Some(page),
            sign_in: None,
        };
        let router = server::router(story.process().queue.clone(), access);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let client = crate::harness::http()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Self {
            url: format!("http://{address}"),
            link,
            client,
        }
    }

    /// Follows the link, and returns the cookie.
    async fn enter(&self) -> String {
        let entered = self.client.get(&self.link).send().await.unwrap();
        assert_eq!(
            (entered.status().as_u16(), &entered.headers()[LOCATION]),
            (303, &"/".parse().unwrap())
        );
        let cookie = entered.headers()[SET_COOKIE].to_str().unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_string()
    }

    async fn get(&self, path: &str, headers: &[(&'static str, &str)]) -> Response {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        self.client
            .get(format!("{}{path}", self.url))
            .headers(headers)
            .send()
            .await
            .unwrap()
    }

    /// A page, for the browser that has the cookie.
    async fn page(&self, path: &str, cookie: &str) -> String {
        let response = self.get(path, &[("cookie", cookie)]).await;
        assert_eq!(response.status(), 200, "{path}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert_eq!(response.headers()["referrer-policy"], "no-referrer");
        response.text().await.unwrap()
    }
}

/// A fix that waits for its approval. One of the tests prints in colour.
async fn proposed() -> Story {
    let story = Scene::default();
    let tests = format!("{TESTS}\n\nprint('\\x1b[1;31mnot \\x1b[8menough\\x1b[0m <b>left</b>')\n");
    let story = story.adds("test_fare.py", &tests).auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

/// A run whose test output, names and model are hostile.
async fn hostile() -> Story {
    let test = format!(
        "import unittest\n\nfrom fare import change\n\nWORDS = \"\"\"{HOSTILE}\"\"\"\nprint(WORDS)\nprint('x' * (3 << 20))\n\n\nclass Fares(unittest.TestCase):\n    def test_change_is_given(self):\n        self.assertEqual(change(500, 2), 200, WORDS)\n"
    );
    let edit = json!({ "path": "fare.py", "old": "paid + fare(stops)", "new": "paid - fare(stops)" });
    let words = HOSTILE.replace("\\x1b", "\u{1b}").replace("\\u202e", "\u{202e}");
    let turns = [calls("edit_file", edit), calls("submit", json!({ "summary": words }))];
    let story = Scene::of(&[("README", "x\n")], &[("fare.py", CHANGE), ("test_fare.py", &test)])
        .model(turns)
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn only_the_browser_that_used_the_link_gets_in() {
    let story = proposed().await;
    let open = Open::of(&story).await;
    let run = format!("/runs/{}", story.run().await.id());
    let plain = open.get("/", &[]).await.text().await.unwrap();
    assert!(plain.starts_with("This is greenlight."), "{plain}");
    assert_eq!(open.get(&run, &[]).await.status(), 404);
    assert_eq!(open.get("/enter?link=00", &[]).await.status(), 403);
    // A name that somebody rebinds to this address does not use up the link.
    let rebound = open
        .client
        .get(&open.link)
        .header(HOST, "evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(rebound.status(), 404);
    let cookie = open.enter().await;
    assert_eq!(open.client.get(&open.link).send().await.unwrap().status(), 403);
    assert!(open.page("/", &cookie).await.contains(&run));
    for strange in [
        ("host", "evil.example"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
        ("x-forwarded-for", "10.0.0.1"),
    ] {
        let headers = [("cookie", cookie.as_str()), strange];
        assert_eq!(open.get(&run, &headers).await.status(), 404, "{strange:?}");
        assert_eq!(
            open.get(&format!("{run}/events"), &headers).await.status(),
            404,
            "{strange:?}"
        );
    }
    // What no page takes is said on a page, without the words of a library.
    for (path, status, said) in [
        ("/nothing", 404, "There is nothing here."),
        ("/repositories/acme", 404, "There is nothing here."),
        ("/repositories/acme/rail?days=-1", 400, "cannot read"),
        ("/runs/%FF", 400, "cannot read"),
    ] {
        let answer = open.get(path, &[("cookie", cookie.as_str())]).await;
        assert_eq!(answer.status(), status, "{path}");
        let text = answer.text().await.unwrap();
        assert!(
            text.contains(said) && text.starts_with("<!doctype html>"),
            "{path}: {text}"
        );
    }
    let posted = open
        .client
        .post(format!("{}/", open.url))
        .header(COOKIE, &cookie)
        .send();
    let posted = posted.await.unwrap();
    assert_eq!(posted.status(), 405);
    assert!(posted.headers().contains_key("allow"));
    assert!(posted.text().await.unwrap().starts_with("<!doctype html>"));
    // The page of another server does not open this one.
    let other = Open::of(&story).await;
    assert_eq!(other.get(&run, &[("cookie", &cookie)]).await.status(), 404);
    story.finish().await;
}

#[tokio::test]
async fn what_waits_is_shown_as_the_comment_shows_it() {
    let story = proposed().await;
    let open = Open::of(&story).await;
    let cookie = open.enter().await;
    let run = story.run().await;
    let gate = &run.open_gates()[0];
    let overview = open.page("/", &cookie).await;
    let waiting = overview.split("At work").next().unwrap();
    assert!(
        waiting.contains(&gate.id.to_string()) && waiting.contains("expires in"),
        "{overview}"
    );
    for (query, is_there) in [
        ("?repository=acme%2Frail&state=waiting", true),
        ("?state=landed", false),
        ("?search=nothing-like-it", false),
    ] {
        let page = open.page(&format!("/{query}"), &cookie).await;
        assert_eq!(page.contains(&gate.id.to_string()), is_there, "{query}");
    }
    let page = open.page(&format!("/runs/{}", run.id()), &cookie).await;
    let request = greenlight::domain::reply::gate_request(gate, "change");
    let shown = page
        .split("The request as the comment shows it\">")
        .nth(1)
        .unwrap()
        .split("</pre>")
        .next()
        .unwrap();
    assert_eq!(unescaped(shown), request);
    assert!(story.sticky().contains(&request));
    assert!(
        page.contains(&gate.digest) && page.contains("greenlight verify --head"),
        "{page}"
    );
    assert!(page.contains("class=\"added\"") && page.contains("Timeline") && page.contains("class=\"whole\""));
    let suggestion =
        "<b>Suggestion 1</b>, line 6: red in 2 of 2 runs → green in 2 of 2, evidence <a href=\"#evidence\">";
    assert!(page.contains(suggestion), "{page}");
    assert!(page.contains("<p class=\"cause\">AssertionError: "), "{page}");
    let coloured = "<span class=\"c-red c-bold\">not enough</span> &#60;b&#62;left&#60;/b&#62;";
    assert!(page.contains(coloured), "{page}");
    let on_github = format!("{}/acme/rail/pull/{}", story.double.web_url(), story.number);
    assert!(page.contains(&on_github), "{page}");
    assert!(page.contains("<b>triage</b> A failure to work on: "), "{page}");
    let repository = open.page("/repositories/acme/rail?days=7", &cookie).await;
    assert!(
        repository.contains("<rect ") && repository.contains("0 of 0"),
        "{repository}"
    );
    let csv = open.page("/repositories/acme/rail/days.csv", &cookie).await;
    let columns = "day,runs,accepted,cost_micros,proposed,accepted_without_model,time_to_green_ms\r\n20";
    assert!(csv.starts_with(columns), "{csv}");
    let csv = open.page("/repositories/acme/rail/outcomes.csv", &cookie).await;
    assert_eq!(csv, "state,runs\r\nwaiting,1\r\n");
    for nothing in ["/runs/none", "/repositories/acme/other", "/repositories/a/..", "/other"] {
        assert_eq!(
            open.get(nothing, &[("cookie", &cookie)]).await.status(),
            404,
            "{nothing}"
        );
    }
    story.finish().await;
}

fn unescaped(html: &str) -> String {
    let pairs = [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ];
    pairs
        .iter()
        .fold(html.to_string(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[tokio::test]
async fn hostile_texts_are_only_read() {
    let story = hostile().await;
    let open = Open::of(&story).await;
    let cookie = open.enter().await;
    let run = story.run().await;
    assert!(run.proposal.is_some(), "{}", story.sticky());
    for path in [
        "/".into(),
        format!("/runs/{}", run.id()),
        "/?search=%3Cscript%3Ealert(1)".into(),
    ] {
        let page = open.page(&path, &cookie).await;
        for effective in ["<script>", "<img", "\u{1b}", "\u{202e}", "ghp_0123"] {
            assert!(!page.contains(effective), "{effective:?} in {path}:\n{page}");
        }
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
    }
    let page = open.page(&format!("/runs/{}", run.id()), &cookie).await;
    assert!(page.contains("&#60;script&#62;alert(1)"), "{page}");
    // Nothing is inline, and nothing comes from elsewhere.
    assert!(!page.contains("style=") && !page.contains("onclick=") && !page.contains("//cdn"));
    story.finish().await;
}

#[tokio::test]
async fn the_page_is_told_of_new_steps() {
    use futures::StreamExt as _;
    let story = proposed().await;
    let open = Open::of(&story).await;
    let cookie = open.enter().await;
    let path = format!("{}/runs/{}/events", open.url, story.run().await.id());
    let response = open.client.get(path).header(COOKIE, &cookie).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = response.bytes_stream();
    story.maintainer_says("/greenlight cancel").await;
    let event = tokio::time::timeout(PATIENCE, events.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(event.starts_with(b"event: changed"), "{event:?}");
    story.finish().await;
}

/// Debian's Chromium, if this machine has it.
#[expect(clippy::print_stderr, reason = "what is not tested is named")]
fn chromium() -> Option<PathBuf> {
    let path = PathBuf::from(CHROMIUM);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "UNAVAILABLE: the page was not opened in a browser, because there is no {}",
        path.display()
    );
    None
}

/// What a browser makes of a page, as HTML, or as a picture in this file.
#[expect(clippy::disallowed_methods, reason = "the tests start a browser")]
async fn browse(program: &Path, link: &str, (size, scheme): (&str, u8), picture: Option<&Path>) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut command = tokio::process::Command::new(program);
    command.args(QUIET).arg("--hide-scrollbars").arg("--timeout=8000");
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("--window-size={size}"));
    command.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
    match picture {
        Some(file) => command.arg(format!("--screenshot={}", file.display())),
        None => command.arg("--dump-dom"),
    };
    let output = command.arg(link).kill_on_drop(true).output();
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_browser_runs_the_script_of_the_page_and_no_other() {
    let Some(program) = chromium() else { return };
    let story = hostile().await;
    let run = story.run().await;
    let open = Open::of(&story).await;
    let link = format!("{}&to=/runs/{}", open.link, run.id());
    let seen = browse(&program, &link, ("1000,1400", 1), None).await;
    assert!(
        seen.contains("Waits for an approval") && seen.contains("alert(1)"),
        "{seen}"
    );
    assert_eq!(seen.matches("<script").count(), 1, "{seen}");
    // Only the script writes this.
    let is_told = ["Connecting", "Live"]
        .iter()
        .any(|state| seen.contains(&format!("role=\"status\">{state}")));
    assert!(is_told, "{seen}");
    story.finish().await;
}

/// Pictures for the manual, and to look at: `just screenshots`.
#[tokio::test]
async fn pictures_of_the_page() {
    let (Some(program), Some(folder)) = (chromium(), std::env::var_os("GREENLIGHT_SCREENSHOTS")) else {
        return;
    };
    let story = proposed().await;
    let run = format!("/runs/{}", story.run().await.id());
    for (name, to, size, scheme) in [
        ("overview", "/", "1000,700", 1),
        ("run", run.as_str(), "900,1130", 1),
        ("run-dark", run.as_str(), "1000,1600", 0),
        ("run-narrow", run.as_str(), "320,2400", 1),
        ("overview-narrow", "/", "320,1200", 0),
        ("repository", "/repositories/acme/rail", "1000,1200", 1),
    ] {
        let open = Open::of(&story).await;
        let file = Path::new(&folder).join(format!("page-{name}.png"));
        browse(&program, &format!("{}&to={to}", open.link), (size, scheme), Some(&file)).await;
        assert!(file.exists(), "{name}");
    }
    story.finish().await;
}
