//! `greenlight serve` as a process: started with valid and invalid settings, used over HTTP, ended gracefully or
//! killed.

mod crowd;
mod fleet;
mod log;
mod metrics;
mod page;
pub(super) mod setup;

use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use github_double::MAINTAINER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::process::Signal;
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::stage::Stage;
use super::{A_MOMENT, Door, PATIENCE, is_running, signal, until};
use crate::harness::model::{KEY, ScriptedModel, Turn};
use crate::harness::story::{CHANGE, FIXED, SECRET};

const ARGUMENTS: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];

/// A listening process.
struct Serving {
    child: Child,
    url: String,
    log: Arc<Mutex<String>>,
}

impl Serving {
    async fn start(door: &Door) -> Self {
        Self::spawn(door.command(ARGUMENTS)).await
    }

    async fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::inherit()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (found, listening) = tokio::sync::oneshot::channel();
        let kept = Arc::clone(&log);
        tokio::spawn(async move {
            let mut found = Some(found);
            while let Ok(Some(line)) = lines.next_line().await {
                let entry: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if let Some(address) = address(&entry)
                    && let Some(found) = found.take()
                {
                    let _ = found.send(address);
                }
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let address = tokio::time::timeout(PATIENCE, listening).await.expect("it listens");
        let address = address.unwrap_or_else(|_| panic!("it ended: {}", log.lock().unwrap()));
        Self {
            child,
            url: format!("http://{address}"),
            log,
        }
    }

    /// Sends a signal, and returns the exit code.
    async fn ends_by(&mut self, how: Signal) -> Option<i32> {
        signal(&self.child, how);
        let status = tokio::time::timeout(A_MOMENT, self.child.wait()).await;
        status.expect("a moment is enough").unwrap().code()
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Posts a delivery, with a valid signature unless another one is given.
    async fn post(&self, event: &str, body: Vec<u8>, signature: Option<&str>) -> u16 {
        let signature = signature.map_or_else(|| sign(&body), ToString::to_string);
        let request = crate::harness::http()
            .build()
            .unwrap()
            .post(format!("{}/webhook", self.url))
            .header("x-github-event", event)
            .header("x-github-delivery", "d-1")
            .header("x-hub-signature-256", signature);
        request.body(body).send().await.unwrap().status().as_u16()
    }

    async fn get(&self, path: &str) -> u16 {
        crate::harness::http()
            .build()
            .unwrap()
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    }
}

fn address(entry: &Value) -> Option<String> {
    let fields = &entry["fields"];
    (fields["message"] == "listening").then(|| fields["address"].as_str().unwrap().to_string())
}

fn sign(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// From a CI failure to a landed fix, with full logging, and no secrets in the log.
#[tokio::test]
async fn red_ci_is_answered_and_an_approval_lands() {
    let stage = Stage::new("").await;
    let door = stage
        .app()
        .with("GREENLIGHT_LOG", "trace")
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    let mut serving = Serving::start(&door).await;
    stage.double.set_webhook(&format!("{}/webhook", serving.url), SECRET);
    assert_eq!(
        (serving.get("/healthz").await, serving.get("/readyz").await),
        (200, 200)
    );

    stage.ci_fails().await;
    let delivery = stage.double.last_delivery("workflow_run").unwrap();
    assert_eq!(delivery.status, Some(202));
    stage.until_check("action_required").await;
    let approve = "/greenlight approve\n\nCANARY-OF-A-COMMENT";
    stage.double.comment(stage.number, MAINTAINER, approve).await.unwrap();
    stage
        .until("the tested fix", |double| double.reviews(stage.number).len() == 1)
        .await;
    stage.until_check("action_required").await;
    stage.double.comment(stage.number, MAINTAINER, approve).await.unwrap();
    stage.until_check("success").await;
    stage
        .until("the end is said", |_| {
            stage.answers().iter().any(|one| one.body.contains("Landed"))
        })
        .await;
    stage.has_landed_once("greenlight[bot]");

    assert_eq!(serving.ends_by(Signal::TERM).await, Some(0));
    let log = serving.log();
    log::says_what_it_does(&log, door.data());
    let app = stage.double.app_credentials();
    let mut secrets = vec![
        SECRET.to_string(),
        KEY.into(),
        app.private_key.lines().nth(3).unwrap().into(),
    ];
    let requests = stage.double.requests();
    secrets.extend(
        requests
            .iter()
            .filter_map(|one| one.response["token"].as_str())
            .map(ToString::to_string),
    );
    assert!(secrets.len() > 3, "no token was handed out");
    secrets.extend(
        [
            "CANARY-OF-A-COMMENT",
            "CANARY-OF-A-DESCRIPTION",
            "paid + fare",
            "paid - fare",
        ]
        .map(Into::into),
    );
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(&secret));
        assert_eq!(line, None, "{secret} is in the log");
    }
}

#[tokio::test]
async fn what_is_no_delivery_of_githubs_gets_the_documented_status() {
    let stage = Stage::new("").await;
    let serving = Serving::start(&stage.app()).await;
    let body = |text: &str| text.as_bytes().to_vec();
    let canary = r#"{"action":"CANARY-OF-A-BODY"}"#;
    assert_eq!(
        serving.post("issue_comment", body(canary), Some("sha256=00")).await,
        401
    );
    assert_eq!(serving.post("issue_comment", body(canary), Some("")).await, 401);
    assert_eq!(
        serving.post("issue_comment", body(canary), Some(&sign(b"other"))).await,
        401
    );
    assert_eq!(
        serving
            .post("issue_comment", body("CANARY-OF-A-BODY"), Some("sha1=00"))
            .await,
        401
    );
    assert_eq!(
        serving
            .post("issue_comment", body("{\"action\": CANARY-OF-A-BODY"), None)
            .await,
        400
    );
    assert_eq!(
        serving.post("workflow_run", body("[\"CANARY-OF-A-BODY\"]"), None).await,
        400
    );
    assert_eq!(serving.post("gollum", body(canary), None).await, 204);
    assert_eq!(
        serving
            .post("ping", body(r#"{"zen":"CANARY-OF-A-BODY","hook_id":1}"#), None)
            .await,
        202
    );
    assert_eq!(serving.post("ping", vec![b' '; (25 << 20) + 1], None).await, 413);
    assert_eq!(serving.get("/webhook").await, 405);
    assert_eq!(serving.get("/nowhere").await, 404);
    let unsigned = crate::harness::http()
        .build()
        .unwrap()
        .post(format!("{}/webhook", serving.url))
        .body("{}");
    assert_eq!(unsigned.send().await.unwrap().status().as_u16(), 401);
    let log = serving.log();
    assert!(!log.contains("CANARY-OF-A-BODY"), "{log}");
    assert_eq!(log.matches("a delivery was refused").count(), 5, "{log}");
    assert_eq!(stage.double.comments(stage.number), []);
}

#[tokio::test]
async fn a_wrong_setting_is_named_before_anything_is_served() {
    let stage = Stage::new("").await;
    // The port is bound, so that no other test listens there, but nothing listens on it.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = format!("http://{}", taken.local_addr().unwrap());
    let rubbish = stage.app();
    let not_a_key = rubbish.data().join("rubbish.pem");
    std::fs::write(
        &not_a_key,
        "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    )
    .unwrap();
    let not_a_key = not_a_key.to_str().unwrap();
    for (name, value, part) in [
        (
            "GREENLIGHT_WEBHOOK_SECRET",
            "",
            "GREENLIGHT_WEBHOOK_SECRET is not set; set it to",
        ),
        ("GREENLIGHT_PRIVATE_KEY_FILE", "/nowhere/app.pem", "/nowhere/app.pem"),
        ("GREENLIGHT_PRIVATE_KEY_FILE", not_a_key, "GREENLIGHT_PRIVATE_KEY_FILE"),
        ("GREENLIGHT_APP_ID", "Iv23li", "GREENLIGHT_APP_ID"),
        (
            "GREENLIGHT_APP_ID",
            "1",
            "check GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE",
        ),
        (
            "GREENLIGHT_DATABASE_URL",
            "postgres://me:hunter2@db/greenlight",
            "GREENLIGHT_DATABASE_URL",
        ),
        ("GREENLIGHT_DATABASE_URL", "mysql://db", "GREENLIGHT_DATABASE_URL"),
        (
            "GREENLIGHT_DATABASE_URL",
            "sqlite:///proc/nowhere/greenlight.db",
            "GREENLIGHT_DATABASE_URL",
        ),
        (
            "GREENLIGHT_GITHUB_API_URL",
            closed.as_str(),
            "cannot be reached: connection refused; check GREENLIGHT_GITHUB_API_URL",
        ),
        ("GREENLIGHT_REPOSITORIES", "acme", "GREENLIGHT_REPOSITORIES"),
    ] {
        let refused = stage.app().with(name, value).run(ARGUMENTS).await;
        let refused = refused.with(2).saying(part);
        assert!(!refused.err.contains("hunter2"), "{}", refused.err);
        assert!(!refused.err.contains("panicked"), "{}", refused.err);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    stage
        .app()
        .run(["serve", "--listen", &taken])
        .await
        .with(2)
        .saying("--listen");
}

async fn interrupted_at_work(how: Signal, code: Option<i32>) {
    let stage = Stage::new("").await;
    let model = ScriptedModel::start([Turn::Silence]).await;
    let door = stage
        .app()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    let mut first = Serving::start(&door).await;
    stage.double.set_webhook(&format!("{}/webhook", first.url), SECRET);
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    tokio::time::timeout(PATIENCE, model.is_silent())
        .await
        .expect("the model is asked");
    // A second process would do everything twice.
    door.run(ARGUMENTS).await.with(2).saying("GREENLIGHT_DATA_DIR");
    assert_eq!(first.ends_by(how).await, code, "{}", first.log());

    let (old, new) = ("paid + fare(stops)", "paid - fare(stops)");
    assert_eq!(CHANGE.replace(old, new), FIXED);
    model
        .edits("fare.py", old, new)
        .submits("Change was added, not taken off.");
    let mut second = Serving::start(&door).await;
    stage.double.set_webhook(&format!("{}/webhook", second.url), SECRET);
    stage.until_check("action_required").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    stage.until_check("success").await;
    stage
        .until("the end is said", |_| {
            stage.answers().iter().any(|one| one.body.contains("Landed"))
        })
        .await;
    stage.has_landed_once("greenlight[bot]");
    assert_eq!(second.ends_by(Signal::TERM).await, Some(0));
    for folder in ["trees", "workspaces"] {
        let left = std::fs::read_dir(door.data().join(folder)).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{folder}");
    }
    model.finish();
}

#[tokio::test]
async fn a_run_goes_on_after_an_orderly_end() {
    interrupted_at_work(Signal::TERM, Some(0)).await;
}

#[tokio::test]
async fn a_run_goes_on_after_a_kill() {
    interrupted_at_work(Signal::KILL, None).await;
}

/// SIGTERM ends the process cleanly while it starts, too.
#[tokio::test]
async fn a_start_can_be_ended_in_an_orderly_way() {
    let stage = Stage::new("").await;
    let door = stage.app();
    let mut child = door.command(ARGUMENTS).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = tokio::time::timeout(PATIENCE, log.next_line()).await.unwrap();
    let mut said = vec![first.unwrap()];
    signal(&child, Signal::TERM);
    let status = tokio::time::timeout(A_MOMENT, child.wait()).await.unwrap().unwrap();
    while let Ok(Some(line)) = log.next_line().await {
        said.push(Some(line));
    }
    assert_eq!(status.code(), Some(0), "{said:?}");
}

/// However the process ends, it ends what it started, and the next process starts it again.
#[tokio::test]
async fn tests_under_way_end_with_the_process() {
    let never_ends = format!("sleep 97{}", std::process::id());
    let stage = Stage::new(&format!("[test]\ncommand = \"{never_ends}\"\n")).await;
    let door = stage.app();
    let mut first = Some(Serving::start(&door).await);
    for (how, code) in [(Signal::TERM, Some(0)), (Signal::KILL, None)] {
        let mut serving = match first.take() {
            Some(serving) => {
                stage.double.set_webhook(&format!("{}/webhook", serving.url), SECRET);
                stage
                    .double
                    .comment(stage.number, MAINTAINER, "/greenlight fix")
                    .await
                    .unwrap();
                serving
            }
            None => Serving::start(&door).await,
        };
        until("the tests run", || is_running(&never_ends)).await;
        assert_eq!(serving.ends_by(how).await, code, "{}", serving.log());
        until("nothing of it runs", || !is_running(&never_ends)).await;
    }
}

/// Copies a program in another process. A process that another test starts here meanwhile would hold the copy open for
/// writing for a moment, and it could not be executed.
#[expect(clippy::disallowed_methods, reason = "it copies a file")]
async fn copy(program: &str, to: &Path) {
    let mut copying = Command::new("cp");
    assert!(copying.arg(program).arg(to).status().await.unwrap().success());
}

/// Another process of the same user must not read its secrets.
#[tokio::test]
async fn its_environment_is_closed_to_other_processes() {
    const NOBODY: u32 = 65534;
    let stage = Stage::new("").await;
    let door = stage.app();
    let mut command = door.command(ARGUMENTS);
    let serving = if rustix::process::geteuid().is_root() {
        // Nothing is closed to root, so switch to another user, who needs a copy of the program and a separate
        // folder.
        let program = door.data().join("greenlight");
        copy(env!("CARGO_BIN_EXE_greenlight"), &program).await;
        for path in [door.data(), &door.data().join("app.pem")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command = door.command_of(&program, ARGUMENTS);
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        Serving::spawn(command).await
    } else {
        Serving::spawn(command).await
    };
    let id = serving.child.id().unwrap();
    // The `/proc` files of an inspectable process belong to its user, those of a protected one to root.
    assert_eq!(std::fs::metadata(format!("/proc/{id}/environ")).unwrap().uid(), 0);
}
