//! Unusual requests: slow, huge or outdated ones, and those that arrive while GitHub is away.

use std::time::Duration;

use github_double::{AUTHOR, Fault, MAINTAINER, STRANGER};
use greenlight::github::webhook::WebhookSecret;
use greenlight::server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::harness::story::{SECRET, Scene, Story};

const PATIENCE: Duration = Duration::from_secs(120);

/// A second listener for the queue of a story, its shutdown, and a client that sends half a request.
async fn slow_connection(story: &Story) -> (TcpStream, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = oneshot::channel();
    let queue = story.process().queue.clone();
    let secret = WebhookSecret::new(SECRET.into()).unwrap();
    let until = async { ended.await.unwrap() };
    let door = tokio::spawn(server::serve(listener, queue, secret, until));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"POST /webhook HTTP/1.1\r\nhost: x\r\nx-a: ")
        .await
        .unwrap();
    (stream, end, door)
}

#[tokio::test]
async fn half_a_request_does_not_hold_up_the_end() {
    let story = Story::new().await;
    let (_stream, end, door) = slow_connection(&story).await;
    end.send(()).unwrap();
    tokio::time::timeout(PATIENCE, door).await.expect("it ends").unwrap();
    story.finish().await;
}

#[tokio::test]
async fn half_a_request_is_not_waited_for() {
    let story = Story::new().await;
    let (mut stream, _end, door) = slow_connection(&story).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("it is closed").unwrap();
    door.abort();
    story.finish().await;
}

#[tokio::test]
async fn an_approval_during_an_outage_is_not_lost() {
    // One request, and each of its retries.
    an_approval_meets(Fault::BadGatewayBefore, 6).await;
}

/// As with a clock that is wrong, or a key that was replaced.
#[tokio::test]
async fn an_approval_that_meets_refused_credentials_is_not_lost() {
    // One for the current token, and one for the new one.
    an_approval_meets(Fault::BadCredentials, 2).await;
}

async fn an_approval_meets(fault: Fault, times: usize) {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    for _ in 0..times {
        story.double.plan_fault("GET", "/pulls/1", fault);
    }
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.double.waiting_faults(), 0);
    story.has_not_landed();
    story.restart().await;
    story.has_landed();
    assert_eq!(story.answers().len(), 0, "{}", story.told());
    story.finish().await;
}

#[tokio::test]
async fn a_push_of_yesterday_stops_nothing() {
    let story = Scene::tested_by("sleep 3; python3 -m unittest -v").begin().await;
    for text in [&b"1\n"[..], b"2\n"] {
        let files = [("note.md", Some(text))];
        story.double.push(story.number, AUTHOR, &files).await.unwrap();
    }
    story.settle().await;
    let deliveries = story.double.deliveries().into_iter();
    let mut pushes = deliveries.filter(|one| one.event == "pull_request" && one.action() == "synchronize");
    let mut old = pushes.next().unwrap();
    old.id = "11111111-2222-3333-4444-555555555556".into();
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until_it_works().await;
    story.double.deliver_again(&old).await;
    story.settle().await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn many_long_comments_of_a_stranger_do_not_silence_it() {
    let story = Story::new().await;
    let long = "\u{1f600}".repeat(65_000);
    for _ in 0..70 {
        story.double.comment(story.number, STRANGER, &long).await.unwrap();
    }
    story.maintainer_says("/greenlight fix").await;
    story.review();
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    story.finish().await;
}
