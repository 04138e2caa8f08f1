//! People sign in to the page: who they are, what they see, and what nobody can forge.

use futures::StreamExt as _;
use github_double::{MAINTAINER, READER, Role, STRANGER};
use reqwest::header::{COOKIE, SET_COOKIE};

use crate::harness::site::{Form, Site, location};
use crate::harness::story::{Scene, Story};

const OTHER: &str = "greenlight-session=1111111111111111111111111111111111111111111111111111111111111111";

async fn proposed(scene: Scene) -> Story {
    let story = scene.auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn everyone_sees_what_they_may_see_on_github() {
    let story = proposed(Scene::default().private()).await;
    let site = Site::of(&story);
    let run = format!("/runs/{}", story.run().await.id());
    let stranger = site.stranger();
    let begin = stranger.page("/").await;
    assert!(begin.contains("href=\"/sign-in?to=/\""), "{begin}");
    // Nobody learns what exists.
    let (there, nowhere) = (stranger.get(&run).await, stranger.get("/runs/none").await);
    assert_eq!((there.status().as_u16(), nowhere.status().as_u16()), (401, 401));
    let there = there.text().await.unwrap();
    assert_eq!(there.replace(&run, "/runs/none"), nowhere.text().await.unwrap());
    for path in ["/events", "/repositories/acme/rail", "/repositories/acme/rail/days.csv"] {
        assert_eq!(stranger.status(path).await, 401, "{path}");
    }

    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let page = mia.page(&run).await;
    assert!(
        page.contains("Signed in as mia") && page.contains("/approve\""),
        "{page}"
    );
    assert!(mia.page("/").await.contains(&run));
    let csv = mia.page("/repositories/acme/rail/days.csv").await;
    assert!(csv.starts_with("day,"), "{csv}");

    let rae = site.sign_in(&story, READER, "/").await;
    let page = rae.page(&run).await;
    assert!(page.contains("write access") && !page.contains("/approve\""), "{page}");

    let sam = site.sign_in(&story, STRANGER, "/").await;
    let overview = sam.page("/").await;
    assert!(!overview.contains("rail"), "{overview}");
    let there = sam.get(&run).await;
    assert_eq!(there.status(), 404);
    assert_eq!(
        there.text().await.unwrap(),
        sam.get("/runs/none").await.text().await.unwrap()
    );
    for path in [
        format!("{run}/events"),
        "/repositories/acme/rail".into(),
        "/repositories/acme/rail/days.csv".into(),
    ] {
        assert_eq!(sam.status(&path).await, 404, "{path}");
    }
    story.finish().await;
}

#[tokio::test]
async fn a_session_survives_a_restart_and_a_new_login_and_ends_when_told() {
    let mut story = proposed(Scene::default()).await;
    let run = format!("/runs/{}", story.run().await.id());
    let cookies = {
        let site = Site::of(&story);
        site.sign_in(&story, MAINTAINER, "/").await.cookies
    };
    story.restart().await;
    story.double.rename_account(MAINTAINER, "mona").unwrap();
    let site = Site::of(&story);
    let mut mia = site.stranger();
    mia.cookies = cookies;
    let page = mia.page(&run).await;
    assert!(page.contains("/approve\""), "{page}");
    let later = mia.submits(&page, "/approve", &[]).await;
    assert!(!later.contains("write access"), "{later}");
    story.settle().await;
    story.has_landed();
    let gates = story.run().await.gates;
    let by: Vec<&str> = gates[0].approved_by().map(|by| by.login.as_str()).collect();
    assert_eq!(by, ["mona"]);

    let before = mia.clone();
    let form = Form::of(&page, "/sign-out");
    let out = mia.post("/sign-out", &[("csrf", form.value("csrf"))]).await;
    assert_eq!(mia.take(&out), "/");
    assert_eq!((mia.status(&run).await, before.status(&run).await), (401, 401));
    story.finish().await;
}

#[tokio::test]
async fn people_who_withdraw_their_permission_are_signed_out() {
    let story = proposed(Scene::default()).await;
    let site = Site::of(&story);
    let mia = site.sign_in(&story, MAINTAINER, "/").await;
    let rae = site.sign_in(&story, READER, "/").await;
    let run = format!("/runs/{}", story.run().await.id());
    story.double.revoke(MAINTAINER).await;
    assert_eq!((mia.status(&run).await, rae.status(&run).await), (401, 200));
    story.finish().await;
}

#[tokio::test]
async fn the_journal_has_neither_cookies_nor_tokens() {
    let story = proposed(Scene::default()).await;
    let site = Site::of(&story);
    let mia = site.sign_in(&story, MAINTAINER, "/").await;
    let token = story.double.requests().into_iter();
    let mut token = token.filter_map(|asked| Some(asked.response["access_token"].as_str()?.to_string()));
    let token = token.next_back().unwrap();
    let cookie = mia.cookies["greenlight-session"].clone();
    for entry in std::fs::read_dir(story.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            for secret in [&token, &cookie] {
                let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!is_there, "{}", path.display());
            }
        }
    }
    assert!(!story.log().contains(&cookie));
    story.finish().await;
}

#[tokio::test]
async fn a_sign_in_belongs_to_the_browser_that_began_it() {
    let story = proposed(Scene::default()).await;
    let site = Site::of(&story);
    story.double.set_browser_of(Some(MAINTAINER));
    let refused = async |visitor: &crate::harness::site::Visitor<'_>, path: &str, status: u16| {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert!(!answer.headers().contains_key(SET_COOKIE), "{path}");
    };
    let mut mine = site.stranger();
    let begun = mine.get("/sign-in").await;
    let github = mine.take(&begun);
    let back = location(&site.client.get(&github).send().await.unwrap());
    let back = back.strip_prefix(&site.url).unwrap().to_string();
    let (code, state) = back.split_once("?code=").unwrap().1.split_once("&state=").unwrap();
    // Another browser with the same link, one with a separate sign-in, and forged states.
    refused(&site.stranger(), &back, 400).await;
    let mut other = site.stranger();
    let theirs = other.get("/sign-in").await;
    other.take(&theirs);
    refused(&other, &back, 400).await;
    let first = if state.starts_with('0') { '1' } else { '0' };
    for forged in [
        "",
        "0",
        &format!("{}0", &state[1..]),
        &format!("{first}{}", &state[1..]),
    ] {
        refused(&mine, &format!("/sign-in/callback?code={code}&state={forged}"), 400).await;
    }
    refused(&mine, "/sign-in/callback", 400).await;
    // Somebody else's code, which was made for the verifier of another browser.
    let github = location(&other.get("/sign-in").await);
    let stolen = location(&site.client.get(&github).send().await.unwrap());
    let stolen = stolen.split_once("?code=").unwrap().1.split_once('&').unwrap().0;
    refused(&mine, &format!("/sign-in/callback?code={stolen}&state={state}"), 403).await;
    refused(
        &mine,
        &format!("/sign-in/callback?error=access_denied&state={state}"),
        403,
    )
    .await;
    // The right one works once.
    let signed_in = mine.get(&back).await;
    assert_eq!(signed_in.status(), 303);
    refused(&mine, &back, 403).await;
    // An old code does not work.
    let mut late = site.stranger();
    let begun = late.get("/sign-in").await;
    let github = late.take(&begun);
    let back = location(&site.client.get(&github).send().await.unwrap());
    story.double.expire_codes();
    refused(&late, back.strip_prefix(&site.url).unwrap(), 403).await;
    story.finish().await;
}

#[tokio::test]
async fn a_planted_session_is_never_taken_over() {
    let story = proposed(Scene::default().private()).await;
    let site = Site::of(&story);
    let run = format!("/runs/{}", story.run().await.id());
    let planted = site.sign_in(&story, STRANGER, "/").await;
    story.double.set_browser_of(Some(MAINTAINER));
    // The browser of the maintainer has the session of the stranger.
    let mut mia = planted.clone();
    let begun = mia.get("/sign-in").await;
    let asked = site.client.get(mia.take(&begun)).send().await.unwrap();
    let signed_in = mia.get(location(&asked).strip_prefix(&site.url).unwrap()).await;
    mia.take(&signed_in);
    assert_ne!(mia.cookies, planted.cookies);
    assert_eq!((mia.status(&run).await, planted.status(&run).await), (200, 401));
    // A value that this server never gave is nobody's.
    let made_up = site.client.get(format!("{}{run}", site.url)).header(COOKIE, OTHER);
    assert_eq!(made_up.send().await.unwrap().status(), 401);
    story.finish().await;
}

#[tokio::test]
async fn a_sign_in_leads_to_pages_of_this_server_only() {
    let story = Scene::default().begin().await;
    let site = Site::of(&story);
    for to in [
        "//evil.example",
        "https://evil.example/runs/",
        "/runs/%0d%0aset-cookie:a=b",
        "/sign-out",
        "/runs/;a",
    ] {
        story.double.set_browser_of(Some(MAINTAINER));
        let mut visitor = site.stranger();
        let begun = visitor.get(&format!("/sign-in?to={to}")).await;
        let asked = site.client.get(visitor.take(&begun)).send().await.unwrap();
        let signed_in = visitor.get(location(&asked).strip_prefix(&site.url).unwrap()).await;
        assert_eq!(location(&signed_in), "/", "{to}");
    }
    story.finish().await;
}

#[tokio::test]
async fn over_https_cookies_belong_to_this_host() {
    let story = Scene::default().begin().await;
    let site = Site::at(&story, "https://greenlight.example.org");
    let begun = site.stranger().get("/sign-in").await;
    let cookie = begun.headers()[SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.starts_with("__Host-greenlight-sign-in=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    assert!(cookie.contains("; Path=/; "), "{cookie}");
    let back = "redirect_uri=https%3A%2F%2Fgreenlight.example.org%2Fsign-in%2Fcallback";
    assert!(location(&begun).contains(back), "{}", location(&begun));
    assert_eq!(begun.headers()["referrer-policy"], "same-origin");
    story.finish().await;
}

#[tokio::test]
async fn a_watcher_is_told_of_what_they_may_see() {
    let story = proposed(Scene::default().private()).await;
    let site = Site::of(&story);
    let run = format!("/runs/{}", story.run().await.id());
    let (mia, sam) = (
        site.sign_in(&story, MAINTAINER, "/").await,
        site.sign_in(&story, STRANGER, "/").await,
    );
    let told = [mia.get(&format!("{run}/events")).await, mia.get("/events").await];
    let untold = sam.get("/events").await;
    story.maintainer_says("/greenlight cancel").await;
    for events in told {
        let mut events = events.bytes_stream();
        let event = tokio::time::timeout(std::time::Duration::from_secs(60), events.next());
        let event = event.await.unwrap().unwrap().unwrap();
        assert!(event.starts_with(b"event: changed"), "{event:?}");
    }
    // A keep-alive comes after fifteen seconds at the earliest, so this one was told nothing so far.
    let mut untold = untold.bytes_stream();
    assert!(futures::poll!(untold.next()).is_pending());
    story.double.set_role(MAINTAINER, Role::Read);
    story.finish().await;
}
