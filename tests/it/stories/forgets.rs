//! People forget on the page what greenlight learned: those who may approve, and nobody else.

use github_double::{MAINTAINER, READER, STRANGER};
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::site::{Form, Site, location, notice};
use crate::harness::story::Scene;

const SUMMARY: &str = "Change is what is left. &#60;script&#62;";

fn proposes() -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": "return paid - fare(stops)" });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left. <script>" })),
    ]
}

#[tokio::test]
async fn what_is_remembered_is_forgotten_by_those_who_may_approve() {
    let story = Scene::default().private().model(proposes()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let site = Site::of(&story);
    let mia = site.sign_in(&story, MAINTAINER, "/").await;
    let rae = site.sign_in(&story, READER, "/").await;
    let sam = site.sign_in(&story, STRANGER, "/").await;
    let path = "/repositories/acme/rail";
    let page = mia.page(path).await;
    assert!(
        page.contains(SUMMARY) && page.contains("python3 -m unittest discover"),
        "{page}"
    );
    let form = Form::of(&page, "/forget");
    let (csrf, entry) = (form.value("csrf"), form.value("entry"));
    assert!(!entry.is_empty());

    // Those who only read see it, and cannot forget it with a form of their session.
    let read = rae.page(path).await;
    assert!(read.contains(SUMMARY) && !read.contains("/forget\""), "{read}");
    let of_rae = Form::of(&read, "/sign-out");
    let sent = rae
        .post(&form.action, &[("csrf", of_rae.value("csrf")), ("entry", entry)])
        .await;
    assert_eq!(
        notice(&rae.page(&location(&sent)).await),
        "Nothing was forgotten: that needs write access to the repository."
    );
    let of_sam = Form::of(&sam.page("/").await, "/sign-out");
    let sent = sam
        .post(&form.action, &[("csrf", of_sam.value("csrf")), ("entry", entry)])
        .await;
    assert_eq!(sent.status(), 404);
    // Forged, or about nothing.
    let sent = mia.post_with(&form.action, &[("csrf", csrf), ("entry", "")], &[]).await;
    assert_eq!(sent.status(), 403);
    let others = [("csrf", of_rae.value("csrf")), ("entry", "")];
    assert_eq!(mia.post(&form.action, &others).await.status(), 403);
    assert_eq!(
        mia.post(&form.action, &[("csrf", csrf), ("entry", "../x")])
            .await
            .status(),
        404
    );
    mia.post(&form.action, &[("csrf", csrf), ("entry", "00000000")]).await;
    assert!(mia.page(path).await.contains(SUMMARY));

    let after = mia.submits(&page, "/forget", &[]).await;
    assert_eq!(notice(&after), "Forgotten. greenlight no longer uses it.");
    assert!(!after.contains(SUMMARY), "{after}");
    // The command that ran the tests is still known, until everything is forgotten.
    assert!(after.contains("python3 -m unittest discover"), "{after}");
    let sent = mia.post(&form.action, &[("csrf", csrf), ("entry", "")]).await;
    let after = mia.page(&location(&sent)).await;
    assert!(after.contains("Nothing is remembered."), "{after}");
    story.finish().await;
}
