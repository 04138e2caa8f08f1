//! People sign in, watch and answer in a real Chromium.

use github_double::{AUTHOR, MAINTAINER, Role};

use crate::harness::browser::Browser;
use crate::harness::site::Site;
use crate::harness::story::{Scene, Story, TESTS};

/// What finds faults of accessibility, if `just axe` has fetched it.
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/ci/axe-core/package/axe.min.js");

/// A fix that waits for its approval. The tests print in every colour.
async fn proposed() -> Story {
    let print = "\nfor colour in range(30, 38):\n    print(f'\\x1b[{colour}mcolour {colour}\\x1b[0m')\n";
    let scene = Scene::default().adds("test_fare.py", &format!("{TESTS}{print}"));
    let story = scene.auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

/// Signs in on GitHub's page, and returns to the overview.
async fn sign_in(browser: &mut Browser, site: &Site, login: &str) {
    browser.go(&site.url).await;
    browser.click("a.button").await;
    browser.click(&format!("button[value={login}]")).await;
    assert!(browser.text().await.contains(&format!("Signed in as {login}")));
}

/// Fails if the page that is open has faults that people with disabilities would meet.
#[expect(clippy::print_stderr, reason = "what is not tested is named")]
async fn is_accessible(browser: &mut Browser) {
    let Ok(axe) = std::fs::read_to_string(AXE) else {
        eprintln!("UNAVAILABLE: axe-core did not look at the page, because there is no {AXE}: `just axe` fetches it");
        return;
    };
    browser.evaluate(&format!("{axe}; undefined")).await;
    for scheme in ["dark", "light"] {
        browser.prefers(scheme).await;
        let faults = browser
            .evaluate("axe.run().then((found) => JSON.stringify(found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])))")
            .await;
        assert_eq!(faults, "[]", "{scheme}");
    }
}

/// Fails if the page that is open has to be scrolled sideways in a narrow window.
async fn fits(browser: &mut Browser) {
    browser.resize(320, 800).await;
    let hidden = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.evaluate(hidden).await, 0);
    browser.resize(1_000, 800).await;
}

#[tokio::test]
async fn one_approves_and_the_other_is_slower() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let story = proposed().await;
    let site = Site::of(&story);
    let run = format!("/runs/{}", story.run().await.id());
    sign_in(&mut browser, &site, MAINTAINER).await;
    is_accessible(&mut browser).await;
    browser.click(&format!("a[href='{run}']")).await;
    is_accessible(&mut browser).await;
    fits(&mut browser).await;
    browser.shows("Live").await;
    let ada = browser.window().await;
    let mia = browser.look_at(&ada);
    sign_in(&mut browser, &site, AUTHOR).await;
    browser.click(&format!("a[href='{run}']")).await;
    browser.shows("Live").await;
    // Ada writes, so her page stays as it is.
    browser
        .evaluate("document.querySelector('textarea').value = 'no'")
        .await;
    browser.look_at(&mia);
    browser.click("form[action$='/approve'] button").await;
    browser.shows("Your approval counts.").await;
    browser.shows("landed").await;
    story.settle().await;
    story.has_landed();
    browser.look_at(&ada);
    browser.shows("There is something new").await;
    browser.click("form[action$='/reject'] button").await;
    browser
        .shows("mia was faster and approved this. Your answer was not used.")
        .await;
    assert_eq!(browser.evaluate("document.querySelectorAll('.gate').length").await, 0);
    is_accessible(&mut browser).await;
    browser.click("dl a[href^='/repositories/']").await;
    browser.shows("What is remembered").await;
    is_accessible(&mut browser).await;
    fits(&mut browser).await;
    browser.click(".who button").await;
    assert!(browser.text().await.contains("Sign in with GitHub"));
    is_accessible(&mut browser).await;
    assert_eq!(browser.complaints(), [""; 0]);
    story.finish().await;
}

#[tokio::test]
async fn a_reason_is_typed_and_a_page_does_not_take_it_away() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let story = proposed().await;
    let site = Site::of(&story);
    let run = story.run().await;
    sign_in(&mut browser, &site, MAINTAINER).await;
    browser.go(&format!("{}/runs/{}", site.url, run.id())).await;
    browser.shows("Live").await;
    let hostile = "<img src=x onerror=alert(1)> no";
    let typed = format!("document.querySelector('textarea').value = {hostile:?}");
    browser.evaluate(&typed).await;
    // Something happens meanwhile.
    story.says(AUTHOR, "/greenlight status").await;
    let kept = browser.evaluate("document.querySelector('textarea').value").await;
    assert_eq!(kept, hostile);
    browser.click("form[action$='/reject'] button").await;
    story.settle().await;
    browser.shows("Your rejection was recorded.").await;
    let rejected = story.run().await.gates[0].rejected.clone().unwrap();
    assert_eq!(rejected.1.as_deref(), Some(hostile));
    assert_eq!(
        browser.evaluate("document.querySelectorAll('main img').length").await,
        0
    );
    assert_eq!(browser.complaints(), [""; 0]);
    story.finish().await;
}

#[tokio::test]
async fn access_that_is_lost_under_the_page_is_said() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let story = proposed().await;
    let site = Site::of(&story);
    sign_in(&mut browser, &site, MAINTAINER).await;
    browser
        .go(&format!("{}/runs/{}", site.url, story.run().await.id()))
        .await;
    story.double.set_role(MAINTAINER, Role::Read);
    browser.click("form[action$='/cancel'] button").await;
    browser.shows("it needs write access").await;
    assert!(story.run().await.end.is_none());
    story.finish().await;
}

#[tokio::test]
async fn a_request_expires_under_the_page_and_another_run_is_cancelled() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let mut story = proposed().await;
    let site = Site::of(&story);
    sign_in(&mut browser, &site, MAINTAINER).await;
    browser
        .go(&format!("{}/runs/{}", site.url, story.run().await.id()))
        .await;
    browser
        .evaluate("document.querySelector('textarea').value = 'no'")
        .await;
    let down = site.stop();
    story.kill().await;
    story.days_pass().await;
    story.start().await;
    story.settle().await;
    let site = down.start(&story);
    browser.click("form[action$='/approve'] button").await;
    browser
        .shows("This request has expired. Your answer was not used.")
        .await;
    story.has_not_landed();

    story.maintainer_says("/greenlight fix").await;
    browser
        .go(&format!("{}/runs/{}", site.url, story.run().await.id()))
        .await;
    browser.shows("Live").await;
    browser.click("form[action$='/cancel'] button").await;
    browser.shows("This run was cancelled.").await;
    assert!(!browser.text().await.contains("Cancel this run"));
    story.settle().await;
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_push_and_a_restart_under_the_page_are_seen_without_reloading() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let mut story = proposed().await;
    let site = Site::of(&story);
    let run = format!("/runs/{}", story.run().await.id());
    sign_in(&mut browser, &site, MAINTAINER).await;
    browser.go(&format!("{}{run}", site.url)).await;
    browser.shows("Live").await;
    let focus = "document.querySelector('main a[href^=\"/repositories/\"]').focus()";
    browser.evaluate(focus).await;
    let down = site.stop();
    browser.shows("greenlight is away").await;
    story.restart().await;
    let _site = down.start(&story);
    browser.shows("Updated at").await;
    // Who uses the keyboard stays where they were.
    let focused = browser.evaluate("document.activeElement.getAttribute('href')").await;
    assert_eq!(focused, "/repositories/acme/rail");
    story
        .double
        .push(story.number, AUTHOR, &[("README", Some("more\n".as_bytes()))])
        .await
        .unwrap();
    story.settle().await;
    browser.shows("superseded").await;
    assert_eq!(
        browser
            .evaluate("document.querySelectorAll('form.answers, .gate').length")
            .await,
        0
    );
    story.finish().await;
}

/// Pictures to look at: `just screenshots`.
#[tokio::test]
async fn pictures_of_the_page_that_people_sign_in_to() {
    let Some(folder) = std::env::var_os("GREENLIGHT_SCREENSHOTS") else {
        return;
    };
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let story = proposed().await;
    let site = Site::of(&story);
    sign_in(&mut browser, &site, MAINTAINER).await;
    let run = format!("/runs/{}", story.run().await.id());
    for (name, path) in [("run", run.as_str()), ("repository", "/repositories/acme/rail")] {
        for (kind, width, scheme) in [
            ("", 1_000, "light"),
            ("-dark", 1_000, "dark"),
            ("-narrow", 320, "light"),
        ] {
            browser.go(&format!("{}{path}", site.url)).await;
            browser
                .evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                .await;
            browser.prefers(scheme).await;
            let file = std::path::Path::new(&folder).join(format!("signed-in-{name}{kind}.png"));
            browser.resize(width, 900).await;
            browser.picture("html", &file).await;
        }
        story.maintainer_says("/greenlight approve").await;
    }
    story.finish().await;
}
