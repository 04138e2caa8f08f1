//! The HTTP door as a stranger on the internet sees it.

use github_double::MAINTAINER;
use greenlight::config::allow_list::AllowList;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::harness::story::{SECRET, Scene, Story};

fn signed(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// A delivery that a story can modify.
struct Knock {
    event: Option<&'static str>,
    delivery: Option<&'static str>,
    signature: Option<String>,
    content_type: Option<&'static str>,
    body: Vec<u8>,
}

impl Knock {
    fn new(event: &'static str, body: &[u8]) -> Self {
        Self {
            event: Some(event),
            delivery: Some("11111111-2222-3333-4444-555555555555"),
            signature: Some(signed(SECRET, body)),
            content_type: Some("application/json"),
            body: body.to_vec(),
        }
    }

    async fn at(self, story: &Story) -> u16 {
        self.answered(story).await.0
    }

    /// The status and the text of the answer.
    async fn answered(self, story: &Story) -> (u16, String) {
        let http = crate::harness::http().no_proxy().tls_certs_only([]).build().unwrap();
        let mut request = http.post(format!("{}/webhook", story.process().url)).body(self.body);
        let headers = [
            ("x-github-event", self.event.map(String::from)),
            ("x-github-delivery", self.delivery.map(String::from)),
            ("x-hub-signature-256", self.signature),
            ("content-type", self.content_type.map(String::from)),
        ];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

/// The maintainer's `/greenlight fix`, as GitHub delivers it.
async fn command(story: &Story) -> Value {
    story.double.set_webhook("http://127.0.0.1:1/webhook", SECRET);
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.double.last_delivery("issue_comment").unwrap().payload
}

#[tokio::test]
async fn a_missing_or_wrong_signature_is_401_and_nothing_happens() {
    let story = Story::new().await;
    let body = command(&story).await.to_string().into_bytes();
    let signatures = [
        None,
        Some(String::new()),
        Some("sha256=".into()),
        Some(format!("sha256={}", "0".repeat(64))),
        Some(signed("another secret", &body)),
        Some(signed(SECRET, b"another body")),
        Some(signed(SECRET, &body).replace("sha256=", "sha1=")),
        Some(signed(SECRET, &body) + "00"),
        Some(signed("", &body)),
    ];
    for signature in signatures {
        let knock = Knock {
            signature: signature.clone(),
            ..Knock::new("issue_comment", &body)
        };
        assert_eq!(knock.at(&story).await, 401, "{signature:?}");
    }
    story.settle().await;
    assert!(story.runs().await.is_empty());
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 202);
    story.settle().await;
    assert_eq!(story.runs().await.len(), 1);
    story.finish().await;
}

/// GitHub shows the body of the answer to the person who set up the webhook.
#[tokio::test]
async fn a_webhook_that_is_set_up_wrong_is_told_what_to_set() {
    let story = Story::new().await;
    let form = b"payload=%7B%22action%22%3A%22created%22%7D";
    let ping = || Knock::new("ping", b"{}");
    let wrong = [
        // The default content type of a repository's webhook.
        (
            Knock {
                content_type: Some("application/x-www-form-urlencoded"),
                ..Knock::new("issue_comment", form)
            },
            400,
            "set the content type of the webhook to application/json",
        ),
        (
            Knock {
                signature: None,
                ..ping()
            },
            401,
            "set the secret of the webhook to that in GREENLIGHT_WEBHOOK_SECRET",
        ),
        (
            Knock {
                signature: Some(signed("another secret", b"{}")),
                ..ping()
            },
            401,
            "set the secret of the webhook to that in GREENLIGHT_WEBHOOK_SECRET",
        ),
        (Knock { event: None, ..ping() }, 400, "X-GitHub-Event"),
        (
            Knock::new("issue_comment", b"[]"),
            400,
            "not the JSON that GitHub sends",
        ),
        (
            Knock::new("ping", &vec![b' '; 26 * 1024 * 1024]),
            413,
            "larger than GitHub's limit",
        ),
    ];
    for (knock, status, sentence) in wrong {
        let (given, text) = knock.answered(&story).await;
        assert_eq!(given, status, "{text}");
        assert!(text.contains(sentence) && text.lines().count() == 1, "{text:?}");
        assert!(!text.contains(SECRET), "{text}");
    }
    story.finish().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_400() {
    let story = Story::new().await;
    for body in [
        &b"{"[..],
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{\"action\":\"created\"}",
        b"{\"action\":7}",
    ] {
        let status = Knock::new("issue_comment", body).at(&story).await;
        assert_eq!(status, 400, "{}", String::from_utf8_lossy(body));
    }
    let without_event = Knock {
        event: None,
        ..Knock::new("ping", b"{}")
    };
    assert_eq!(without_event.at(&story).await, 400);
    let without_id = Knock {
        delivery: None,
        ..Knock::new("ping", b"{}")
    };
    assert_eq!(without_id.at(&story).await, 400);
    let deep = format!(
        "{{\"action\":\"created\",\"x\":{}1{}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert_eq!(Knock::new("issue_comment", deep.as_bytes()).at(&story).await, 400);
    story.finish().await;
}

#[tokio::test]
async fn what_is_not_ours_is_204() {
    let listed = AllowList::parse("acme/other,friends/*").unwrap();
    let story = Scene::default().allow_list(listed).begin().await;
    assert_eq!(Knock::new("star", b"{\"action\":\"created\"}").at(&story).await, 204);
    assert_eq!(Knock::new("gollum", b"not even json").at(&story).await, 204);
    let body = command(&story).await.to_string().into_bytes();
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 204);
    story.settle().await;
    assert!(story.runs().await.is_empty() && story.comments().is_empty());
    story.finish().await;
}

#[tokio::test]
async fn a_huge_body_is_413() {
    let story = Story::new().await;
    let body = vec![b' '; 25 * 1024 * 1024 + 1];
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 413);
    story.finish().await;
}

#[tokio::test]
async fn while_it_ends_it_is_503_and_the_next_one_takes_over() {
    let mut story = Story::new().await;
    story.process().queue.drain(std::time::Duration::from_secs(60)).await;
    let payload = command(&story).await;
    let body = payload.to_string().into_bytes();
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 503);
    story.restart().await;
    assert!(story.runs().await.is_empty());
    // GitHub's "Redeliver".
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 202);
    story.settle().await;
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn the_log_says_that_something_was_refused_and_not_what() {
    let story = Story::new().await;
    let body = json!({ "action": "created", "canary": "c4n4ry-in-the-body" }).to_string();
    assert_eq!(Knock::new("issue_comment", body.as_bytes()).at(&story).await, 400);
    let wrong = Knock {
        signature: Some(format!("sha256={}", "c".repeat(64))),
        ..Knock::new("issue_comment", body.as_bytes())
    };
    assert_eq!(wrong.at(&story).await, 401);
    let log = story.log();
    assert!(
        log.contains("a payload cannot be read") && log.contains("a delivery was refused"),
        "{log}"
    );
    assert!(!log.contains("c4n4ry") && !log.contains(&"c".repeat(64)), "{log}");
    story.finish().await;
}

/// GitHub waits for the acknowledgement, which must not depend on the size of a payload.
#[tokio::test]
async fn a_large_payload_is_acknowledged_before_it_is_read_and_acted_on_once() {
    let story = Story::new().await;
    let mut payload = command(&story).await;
    payload["installation"]["padding"] = json!("x".repeat(2 << 20));
    let body = payload.to_string().into_bytes();
    for _ in 0..2 {
        assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 202);
        story.settle().await;
        assert_eq!(story.runs().await.len(), 1);
    }
    story.review();
    // That it is malformed is noticed too late to tell GitHub.
    let cut = &body[..body.len() - 1];
    assert_eq!(Knock::new("issue_comment", cut).at(&story).await, 202);
    story.settle().await;
    assert!(story.log().contains("a payload cannot be read"), "{}", story.log());
    // Unsigned requests, and those for nothing, do not take up a place.
    let unsigned = Knock {
        signature: None,
        ..Knock::new("issue_comment", &body)
    };
    assert_eq!(unsigned.at(&story).await, 401);
    assert_eq!(Knock::new("gollum", &body).at(&story).await, 204);
    payload["comment"]["body"] = json!("The canary c4n4ry sings.");
    payload["comment"]["id"] = json!(1);
    let said = payload.to_string().into_bytes();
    assert_eq!(Knock::new("issue_comment", &said).at(&story).await, 202);
    story.settle().await;
    let journal = &story.process().queue.app().journal;
    assert_eq!(journal.unread().await.unwrap(), []);
    for name in ["greenlight.db", "greenlight.db-wal"] {
        let kept = std::fs::read(story.folder().join(name)).unwrap();
        assert!(!String::from_utf8_lossy(&kept).contains("c4n4ry"), "{name}");
    }
    story.finish().await;
}

/// Nobody can write a longer comment on GitHub, so this one is forged.
#[tokio::test]
async fn a_comment_that_is_longer_than_any_is_nobodys() {
    let story = Story::new().await;
    let mut payload = command(&story).await;
    payload["comment"]["body"] = json!(format!("/greenlight fix\n{}", "<".repeat(300_000)));
    let body = payload.to_string().into_bytes();
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 204);
    payload["comment"]["body"] = json!(format!("/greenlight fix\n{}", "ä".repeat(60_000)));
    let body = payload.to_string().into_bytes();
    assert_eq!(Knock::new("issue_comment", &body).at(&story).await, 202);
    story.settle().await;
    assert_eq!(story.runs().await.len(), 1);
    story.finish().await;
}
