//! Many simultaneous connections from clients that never finish their requests.

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::*;

/// More connections than are served at once, even without those that are answered at once.
const CROWD: usize = 1_200;
/// File descriptors for the crowd and for other tests.
const FILES: u64 = 4_096;

const HALF: [&str; 4] = [
    "",
    "POST /webhook HTTP/1.1\r\nhost: x\r\n",
    "POST /webhook HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: sha256=00\r\ncontent-length: 1000\r\n\r\n{",
    "POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\n\r\n{",
];

#[tokio::test]
async fn half_sent_requests_keep_nobody_out() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|files| files < FILES) {
        limit.current = Some(limit.maximum.unwrap_or(FILES).min(FILES));
        setrlimit(Resource::Nofile, limit).unwrap();
    }
    let stage = Stage::new("").await;
    let door = stage.app().with("GREENLIGHT_LOG", "info,greenlight::server=debug");
    let serving = Serving::start(&door).await;
    let address = serving.url.strip_prefix("http://").unwrap();
    let mut crowd = Vec::new();
    for at in 0..CROWD {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(HALF[at % HALF.len()].as_bytes()).await.unwrap();
        crowd.push(stream);
        if at % 300 == 0 {
            assert_eq!(serving.post("ping", b"{}".to_vec(), None).await, 202);
        }
    }
    assert_eq!(serving.get("/healthz").await, 200);
    assert_eq!(serving.post("ping", b"{}".to_vec(), None).await, 202);
    // Nobody had to wait for a timeout.
    let log = serving.log();
    assert!(log.contains("a connection was closed to make room"), "{log}");
}
