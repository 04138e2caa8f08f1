//! People answer on the page: every answer ends in a plain sentence about what became of it.

use github_double::{AUTHOR, MAINTAINER, Role, STRANGER};

use crate::harness::site::{Form, Site, Visitor, location, notice};
use crate::harness::story::{FIXED, Scene, Story};

async fn proposed() -> Story {
    let story = Scene::default().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

async fn path(story: &Story) -> String {
    format!("/runs/{}", story.run().await.id())
}

#[tokio::test]
async fn a_maintainer_approves() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let page = mia.page(&run).await;
    let form = Form::of(&page, "/approve");
    assert_eq!(form.value("digest"), story.run().await.open_gates()[0].digest);
    let fields = [("csrf", form.value("csrf")), ("digest", form.value("digest"))];
    let sent = mia.post(&form.action, &fields).await;
    assert_eq!(sent.status(), 303);
    story.settle().await;
    story.has_landed();
    let after = mia.page(&location(&sent)).await;
    assert_eq!(notice(&after), "Your approval counts.");
    // The same form again changes nothing, and says so.
    assert_eq!(
        notice(&mia.submits(&page, "/approve", &[]).await),
        "Your approval counts."
    );
    assert_eq!(
        notice(&mia.submits(&page, "/cancel", &[]).await),
        "The run ended before it could be cancelled."
    );
    story.has_commits(2);
    story.finish().await;
}

#[tokio::test]
async fn a_rejection_has_a_reason() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let page = mia.page(&run).await;
    let long = "x".repeat(4_001);
    let kept = mia.submits(&page, "/reject", &[("reason", &long)]).await;
    assert_eq!(notice(&kept), "Your answer was not used: the reason is too long.");
    let form = Form::of(&page, "/reject");
    let reason = "  use <script>the</script>\r\ntable & keep it  ";
    let fields = [
        ("csrf", form.value("csrf")),
        ("digest", form.value("digest")),
        ("reason", reason),
    ];
    let sent = mia.post(&form.action, &fields).await;
    story.settle().await;
    let run = story.run().await;
    let (by, reason) = run.gates[0].rejected.as_ref().unwrap();
    assert_eq!(
        (by.login.as_str(), reason.as_deref()),
        (MAINTAINER, Some("use <script>the</script>\ntable & keep it"))
    );
    let after = mia.page(&location(&sent)).await;
    assert_eq!(notice(&after), "Your rejection was recorded.");
    assert!(!after.contains("<script>the"), "{after}");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_run_is_cancelled() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let form = Form::of(&mia.page(&run).await, "/cancel");
    let sent = mia.post(&form.action, &[("csrf", form.value("csrf"))]).await;
    story.settle().await;
    let after = mia.page(&location(&sent)).await;
    assert_eq!(notice(&after), "This run was cancelled.");
    assert!(!after.contains("/cancel\""), "{after}");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn access_that_is_lost_before_the_click_counts_for_nothing() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let page = mia.page(&run).await;
    story.double.set_role(MAINTAINER, Role::Read);
    for action in ["/approve", "/reject", "/cancel"] {
        let after = mia.submits(&page, action, &[]).await;
        assert_eq!(
            notice(&after),
            "Your answer was not used: it needs write access to the repository."
        );
        assert!(!after.contains("/approve\""), "{after}");
    }
    story.settle().await;
    assert!(story.run().await.gates[0].is_open());
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_private_repository_vanishes_with_the_access() {
    let story = Scene::default().private().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let (mia, sam) = (
        site.sign_in(&story, MAINTAINER, &run).await,
        site.sign_in(&story, STRANGER, "/").await,
    );
    let page = mia.page(&run).await;
    let own = Form::of(&sam.page("/").await, "/sign-out");
    let form = Form::of(&page, "/approve");
    // Somebody who never had access has a valid form of their session, and the digest.
    let fields = [("csrf", own.value("csrf")), ("digest", form.value("digest"))];
    let there = sam.post(&form.action, &fields).await;
    let nowhere = sam.post("/runs/none/gates/gaaaa2/approve", &fields).await;
    assert_eq!((there.status().as_u16(), nowhere.status().as_u16()), (404, 404));
    assert_eq!(there.text().await.unwrap(), nowhere.text().await.unwrap());
    story.double.set_role(MAINTAINER, Role::None);
    let fields = [("csrf", form.value("csrf")), ("digest", form.value("digest"))];
    assert_eq!(mia.post(&form.action, &fields).await.status(), 404);
    assert_eq!(mia.status(&run).await, 404);
    story.settle().await;
    assert!(story.run().await.gates[0].is_open());
    story.finish().await;
}

#[tokio::test]
async fn what_has_expired_is_not_approved() {
    let mut story = proposed().await;
    let run = path(&story).await;
    let (page, cookies) = {
        let site = Site::of(&story);
        let mia = site.sign_in(&story, MAINTAINER, &run).await;
        (mia.page(&run).await, mia.cookies)
    };
    story.kill().await;
    story.days_pass().await;
    story.start().await;
    story.settle().await;
    let site = Site::of(&story);
    let mut mia = site.stranger();
    mia.cookies = cookies;
    let after = mia.submits(&page, "/approve", &[]).await;
    assert_eq!(notice(&after), "This request has expired. Your answer was not used.");
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_push_voids_what_is_on_the_screen() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let page = mia.page(&run).await;
    let more = [("README", Some("more\n".as_bytes()))];
    story.double.push(story.number, AUTHOR, &more).await.unwrap();
    let sentence = "Your answer was for the older one and was not used.";
    // Before greenlight has handled the push, or after.
    let after = mia.submits(&page, "/approve", &[]).await;
    assert!(notice(&after).ends_with(sentence), "{}", notice(&after));
    story.settle().await;
    let after = mia.submits(&page, "/approve", &[]).await;
    assert!(notice(&after).ends_with(sentence), "{}", notice(&after));
    story.has_commits(2);
    assert_ne!(story.file("fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn of_two_people_one_is_faster() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let ada = site.sign_in(&story, AUTHOR, &run).await;
    let (of_mia, of_ada) = (mia.page(&run).await, ada.page(&run).await);
    let (approve, reject) = (Form::of(&of_mia, "/approve"), Form::of(&of_ada, "/reject"));
    let fields = |form: &Form| -> Vec<(String, String)> { form.hidden.clone() };
    let send = async |visitor: &Visitor<'_>, form: &Form| {
        let fields = fields(form);
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let sent = visitor.post(&form.action, &fields).await;
        assert_eq!(sent.status(), 303);
        location(&sent)
    };
    let (first, second) = tokio::join!(send(&mia, &approve), send(&ada, &reject));
    story.settle().await;
    let told = (notice(&mia.page(&first).await), notice(&ada.page(&second).await));
    let run = story.run().await;
    match &run.gates[0].rejected {
        None => {
            story.has_landed();
            assert_eq!(told.0, "Your approval counts.");
            assert_eq!(told.1, "mia was faster and approved this. Your answer was not used.");
        }
        Some(_) => {
            story.has_not_landed();
            assert_eq!(told.0, "ada was faster and rejected this. Your answer was not used.");
            assert_eq!(told.1, "Your rejection was recorded.");
        }
    }
    story.finish().await;
}

#[tokio::test]
async fn two_people_are_needed_where_the_repository_says_so() {
    let story = Scene::default()
        .config("[gate]\napprovers = 2\n")
        .auto()
        .model([])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let ada = site.sign_in(&story, AUTHOR, &run).await;
    let page = mia.page(&run).await;
    mia.submits(&page, "/approve", &[]).await;
    story.settle().await;
    let again = mia.submits(&mia.page(&run).await, "/approve", &[]).await;
    assert_eq!(
        notice(&again),
        "You have approved this before. Another person is needed."
    );
    story.has_not_landed();
    ada.submits(&ada.page(&run).await, "/approve", &[]).await;
    story.settle().await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_forged_form_does_nothing() {
    let story = proposed().await;
    let site = Site::of(&story);
    let run = path(&story).await;
    let mia = site.sign_in(&story, MAINTAINER, &run).await;
    let ada = site.sign_in(&story, AUTHOR, &run).await;
    let (form, others) = (
        Form::of(&mia.page(&run).await, "/approve"),
        Form::of(&ada.page(&run).await, "/approve"),
    );
    let (csrf, digest) = (("csrf", form.value("csrf")), ("digest", form.value("digest")));
    let own = [("origin", site.url.as_str()), ("sec-fetch-site", "same-origin")];
    let forged = [
        (vec![digest], own.to_vec()),
        (vec![("csrf", ""), digest], own.to_vec()),
        (vec![("csrf", others.value("csrf")), digest], own.to_vec()),
        (vec![csrf, digest], vec![]),
        (vec![csrf, digest], vec![("origin", "null")]),
        (vec![csrf, digest], vec![("origin", "https://evil.example")]),
        (vec![csrf, digest], vec![own[0], ("sec-fetch-site", "cross-site")]),
        (vec![csrf, digest], vec![own[0], ("sec-fetch-site", "same-site")]),
    ];
    for (fields, headers) in forged {
        let answer = mia.post_with(&form.action, &fields, &headers).await;
        assert_eq!(answer.status(), 403, "{fields:?} {headers:?}");
    }
    // Without a session, or with a digest of something else.
    let answer = site.stranger().post(&form.action, &[csrf, digest]).await;
    assert_eq!(answer.status(), 401);
    for digest in [vec![], vec![("digest", "00")]] {
        let fields: Vec<_> = std::iter::once(csrf).chain(digest).collect();
        let answer = mia.post(&form.action, &fields).await;
        let page = mia.page(&location(&answer)).await;
        assert!(
            notice(&page).contains("is not the one that was shown"),
            "{}",
            notice(&page)
        );
    }
    // A link changes nothing.
    assert_eq!(mia.status(&form.action).await, 405);
    story.settle().await;
    assert!(story.run().await.gates[0].is_open());
    story.has_not_landed();
    story.finish().await;
}
