//! The whole setup in a real browser: link, form, GitHub's question, back, installation, and a webhook that is served.

use super::*;
use crate::harness::browser::Browser;

#[track_caller]
fn shows(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text}");
}

#[tokio::test]
async fn a_person_creates_and_installs_the_app_with_six_clicks() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let stage = Stage::new("").await;
    let door = door(&stage);
    let setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    browser.go(&setting_up.link).await;
    shows(&browser.text().await, "This link works once");
    browser.click("button").await;
    shows(&browser.text().await, "Create greenlight's GitHub App");
    let fill_in = format!(
        "document.querySelector('[name=organization]').value = 'acme';
         document.querySelector('[name=public_url]').value = '{}'",
        setting_up.url
    );
    browser.evaluate(&fill_in).await;
    browser.click("button").await;
    let review = browser.text().await;
    shows(&review, "What the App may do");
    shows(&review, "checks: write");
    shows(&review, &stage.double.web_url());
    browser.click("button").await;
    shows(&browser.text().await, "Create GitHub App for acme?");
    browser.click("button").await;
    let install = browser.evaluate("location.href").await;
    let install = install.as_str().unwrap();
    assert!(install.starts_with(&stage.double.web_url()), "{install}");
    shows(install, "/installations/new");
    browser.click("button").await;
    let installed = browser.evaluate("location.href").await;
    shows(installed.as_str().unwrap(), "setup_action=install");
    is_served(&stage, &setting_up).await;
    for secret in secrets(&door) {
        assert!(!setting_up.printed().contains(&secret), "{secret}");
    }
}
