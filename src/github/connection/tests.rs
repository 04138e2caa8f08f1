//! Which token goes where, and what is told when there is none: against a server that answers as it is told.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

const KEY: &str = include_str!("../../../crates/crypto/examples/key.pem");

fn key() -> Arc<AppKey> {
    Arc::new(AppKey::read(7, &KEY.to_owned().into()).unwrap())
}

fn request(method: Method, uri: &str) -> Request<String> {
    Request::builder().method(method).uri(uri).body(String::new()).unwrap()
}

/// Answers one request per connection, in this order. Ends with the heads of the requests, in lower case.
async fn answering(answers: Vec<(u16, String)>) -> (Url, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let answering = tokio::spawn(async move {
        let mut heads = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            heads.push(head(&mut stream).await);
            let answer = format!(
                "HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        heads
    });
    (url, answering)
}

/// Reads a request, and returns its head.
async fn head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return head.to_owned();
            }
        }
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{text}");
    }
}

fn granted(token: &str) -> (u16, String) {
    (
        201,
        format!(r#"{{"token":"{token}","expires_at":"2999-01-01T00:00:00Z"}}"#),
    )
}

fn nothing(status: u16) -> (u16, String) {
    (status, String::new())
}

#[test]
fn an_apps_own_token_is_valid_for_less_than_ten_minutes() {
    let now = Timestamp::now().as_second();
    let token = key().token().unwrap();
    let read = jsonwebtoken::dangerous::insecure_decode::<serde_json::Value>(token.expose_secret()).unwrap();
    let number = |name: &str| read.claims[name].as_i64().unwrap();
    assert_eq!((read.header.alg, number("iss")), (Algorithm::RS256, 7));
    assert!((now - SET_BACK..=now).contains(&number("iat")), "{}", read.claims);
    assert_eq!(number("exp") - number("iat"), 600);
}

#[test]
fn a_key_that_is_none_is_not_repeated() {
    for wrong in [
        "not a key",
        "-----BEGIN RSA PRIVATE KEY-----\nbm90IGEga2V5\n-----END RSA PRIVATE KEY-----\n",
    ] {
        let Err(error) = AppKey::read(7, &wrong.to_owned().into()) else {
            panic!("{wrong}")
        };
        let said = error.to_string();
        assert!(said.contains("GREENLIGHT_PRIVATE_KEY_FILE"), "{said}");
        assert!(!said.contains("not a key") && !said.contains("bm90"), "{said}");
    }
}

#[test]
fn a_token_that_soon_expires_is_not_used() {
    let left = |seconds: i64| Granted {
        token: String::new().into(),
        expires_at: Some(Timestamp::now() + SignedDuration::from_secs(seconds)),
    };
    assert!(left(40).is_valid());
    assert!(!left(20).is_valid());
    assert!(!left(-1).is_valid());
    let for_ever = Granted {
        expires_at: None,
        ..left(0)
    };
    assert!(for_ever.is_valid());
}

#[tokio::test]
async fn a_token_goes_to_routes_of_the_api_and_nowhere_else() {
    let (api, asked) = answering(vec![nothing(204)]).await;
    let (other, other_asked) = answering(vec![nothing(204)]).await;
    let connection = Connection::new(&api, Authentication::Token("ghp_1".to_owned().into())).unwrap();
    connection.send(request(Method::GET, "/user")).await.unwrap();
    connection.send(request(Method::GET, other.as_str())).await.unwrap();
    let (asked, other_asked) = (asked.await.unwrap(), other_asked.await.unwrap());
    assert!(asked[0].contains("\r\nauthorization: bearer ghp_1"), "{asked:?}");
    assert!(!other_asked[0].contains("ghp_1"), "{other_asked:?}");
}

#[tokio::test]
async fn a_token_of_an_installation_is_used_until_it_is_refused() {
    let answers = vec![granted("one"), nothing(204), nothing(401), granted("two"), nothing(200)];
    let (api, asked) = answering(answers).await;
    let app = Connection::new(&api, Authentication::App(key())).unwrap();
    let connection = app.of_installation(5, &key());
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let answer = connection.send(request(Method::POST, "/repos/a/b/issues")).await;
        statuses.push(answer.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [204, 200]);
    let asked = asked.await.unwrap();
    let sent: Vec<String> = asked
        .iter()
        .map(|head| {
            let (line, _) = head.split_once(" http/1.1").unwrap();
            let (_, token) = head.split_once("\r\nauthorization: bearer ").unwrap();
            let token = token.lines().next().unwrap();
            // The App's own tokens are much longer.
            format!("{line} {}", if token.len() > 10 { "app" } else { token })
        })
        .collect();
    assert_eq!(
        sent,
        [
            "post /app/installations/5/access_tokens app",
            "post /repos/a/b/issues one",
            "post /repos/a/b/issues one",
            "post /app/installations/5/access_tokens app",
            "post /repos/a/b/issues two",
        ]
    );
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_the_reason_is_told() {
    let not_found = (404, r#"{"message":"Integration not found"}"#.to_owned());
    let limited = (429, r#"{"message":"Too many requests"}"#.to_owned());
    let answers = vec![not_found, limited, nothing(502), (201, r#"{"tok":"ghs_1"}"#.to_owned())];
    let (api, asked) = answering(answers).await;
    let app = Connection::new(&api, Authentication::App(key())).unwrap();
    let connection = app.of_installation(5, &key());
    let mut errors = Vec::new();
    for _ in 0..4 {
        errors.push(connection.send(request(Method::GET, "/user")).await.unwrap_err());
    }
    let [
        Error::NotInstalled(message),
        Error::RateLimited(_),
        Error::Unclear(_),
        unreadable,
    ] = &errors[..]
    else {
        panic!("{errors:?}")
    };
    assert_eq!(message, "Integration not found");
    assert!(!unreadable.to_string().contains("ghs_1"), "{unreadable}");
    assert_eq!(asked.await.unwrap().len(), 4);
}

#[test]
fn only_the_refused_token_is_forgotten() {
    let connection = |token: &str| Installation {
        id: 5,
        app: key(),
        granted: Mutex::new(Some(Granted {
            token: token.to_owned().into(),
            expires_at: None,
        })),
    };
    let old = SecretString::from("old".to_owned());
    for (token, is_left) in [("old", false), ("new", true)] {
        let installation = connection(token);
        installation.forget(&old);
        assert_eq!(installation.granted().is_some(), is_left, "{token}");
    }
}
