//! Comments written while greenlight was away are acted on when it is back, and only once.

use github_double::MAINTAINER;
use greenlight::domain::id::DeliveryId;

use crate::harness::story::{SECRET, Scene, Story};

/// Somebody comments while nobody listens; GitHub records the failed delivery.
async fn unheard(story: &Story, body: &str) {
    story.double.set_webhook("http://127.0.0.1:1/webhook", SECRET);
    story.double.comment(story.number, MAINTAINER, body).await.unwrap();
    story.double.delivered().await;
}

/// An approval that nobody hears is used after the start, by the first sweep.
async fn approved_while_away(story: &mut Story) {
    story.kill().await;
    unheard(story, "/greenlight approve").await;
    story.start().await;
    story.has_not_landed();
    story.sweep().await;
    story.has_landed();
}

#[tokio::test]
async fn a_comment_made_while_it_was_away_is_acted_on_once() {
    let mut story = Story::new().await;
    story.kill().await;
    unheard(&story, "/greenlight fix").await;
    let missed = story.double.last_delivery("issue_comment").unwrap();
    assert_eq!(missed.status, None);
    story.start().await;
    story.sweep().await;
    story.review();
    assert_eq!(story.runs().await.len(), 1);
    // GitHub's "Redeliver", and another sweep: nothing happens twice.
    story.double.deliver_again(&missed).await;
    story.sweep().await;
    story.settle().await;
    assert_eq!(story.runs().await.len(), 1);
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_comment_answered_with_503_is_acted_on_after_the_start() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.process().queue.drain(std::time::Duration::from_secs(60)).await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    story.double.delivered().await;
    assert_eq!(story.double.last_delivery("issue_comment").unwrap().status, Some(503));
    story.restart().await;
    story.has_not_landed();
    story.sweep().await;
    story.has_landed();
    story.finish().await;
}

/// GitHub considers an acknowledged delivery delivered, and does not send it again.
#[tokio::test]
async fn what_was_acknowledged_and_not_read_is_read_after_a_restart() {
    let mut story = Story::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    let says_yes = axum::Router::new().fallback(async || axum::http::StatusCode::ACCEPTED);
    tokio::spawn(async move { axum::serve(listener, says_yes).await });
    story.double.set_webhook(&url, SECRET);
    let said = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    said.await.unwrap();
    story.double.delivered().await;
    let delivery = story.double.last_delivery("issue_comment").unwrap();
    assert_eq!(delivery.status, Some(202));
    story.sweep().await;
    assert!(story.runs().await.is_empty());
    let id = DeliveryId(delivery.id);
    story.process().queue.app().journal.arrive(&id).await.unwrap();
    story.restart().await;
    for _ in 0..2 {
        story.sweep().await;
        assert_eq!(story.runs().await.len(), 1);
        let unread = story.process().queue.app().journal.unread().await.unwrap();
        assert_eq!(unread, []);
    }
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn with_a_token_the_comments_of_open_runs_are_read() {
    let permissions = &[
        ("checks", "write"),
        ("contents", "write"),
        ("pull_requests", "write"),
        ("issues", "write"),
        ("actions", "write"),
    ];
    let mut story = Scene::default().token(permissions).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("Please wait for `/greenlight approve`.").await;
    approved_while_away(&mut story).await;
    story.sweep().await;
    assert_eq!(story.runs().await.len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_restart_does_not_ask_about_what_waits_for_people_if_a_sweep_hears_what_was_missed() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.sweep().await;
    story.kill().await;
    let before = story.double.requests().len();
    story.start().await;
    story.settle().await;
    let requests = story.double.requests();
    let about = |path: &str| path.contains("/pulls/") || path.contains("/issues/");
    let asked: Vec<&str> = requests[before..]
        .iter()
        .map(|one| one.path.as_str())
        .filter(|path| about(path))
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
    approved_while_away(&mut story).await;
    story.finish().await;
}

#[tokio::test]
async fn what_does_not_address_greenlight_is_nowhere_on_disk() {
    let story = Story::new().await;
    let said = [
        "The canary c4n4ry-one sings.",
        "`/greenlight approve` is what I would say, c4n4ry-two.",
        "> /greenlight fix c4n4ry-three",
    ];
    for body in said {
        story.maintainer_says(body).await;
    }
    story.maintainer_says("/greenlight help").await;
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(story.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    let kept = String::from_utf8_lossy(&bytes);
    assert!(kept.contains("comment @"), "the command is known");
    assert!(!kept.contains("c4n4ry"));
    story.finish().await;
}
