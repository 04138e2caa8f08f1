//! The whole setup in a real browser: link, form, GitHub's question, back, installation, and a webhook that is served.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::*;

const PROGRAM: &str = "/usr/bin/chromium";

/// A page of Chromium, driven over its debugging protocol. <https://chromedevtools.github.io/devtools-protocol/>
struct Tab {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Value,
    number: u64,
    _browser: Child,
    _profile: tempfile::TempDir,
}

impl Tab {
    #[expect(clippy::disallowed_methods, reason = "the test starts a browser")]
    async fn open() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Command::new(PROGRAM)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(browser.stderr.take().unwrap()).lines();
        let address = async {
            loop {
                let line = lines.next_line().await.unwrap().expect("the browser runs");
                if let Some((_, address)) = line.split_once("DevTools listening on ") {
                    return address.to_string();
                }
            }
        };
        let address = tokio::time::timeout(PATIENCE, address).await.unwrap();
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        let mut tab = Self {
            socket,
            session: Value::Null,
            number: 0,
            _browser: browser,
            _profile: profile,
        };
        let target = tab.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        tab.session = tab.call("Target.attachToTarget", attach).await["sessionId"].clone();
        tab
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut request = json!({ "id": self.number, "method": method, "params": parameters });
        if self.session.is_string() {
            request["sessionId"] = self.session.clone();
        }
        self.socket.send(Message::text(request.to_string())).await.unwrap();
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            let answer: Value = serde_json::from_slice(&message.into_data()).unwrap_or_default();
            if answer["id"] == self.number {
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page. Null while another page is being loaded.
    async fn value(&mut self, expression: &str) -> Value {
        let evaluate = json!({ "expression": expression, "returnByValue": true });
        self.call("Runtime.evaluate", evaluate).await["result"]["value"].clone()
    }

    /// Waits until the page shows this.
    async fn shows(&mut self, part: &str) -> String {
        let mut look = tokio::time::interval(std::time::Duration::from_millis(50));
        let mut seen = String::new();
        let shown = async {
            while !seen.contains(part) {
                look.tick().await;
                let complete =
                    "document.readyState === 'complete' ? location.href + '\\n' + document.body.innerText : ''";
                seen = self.value(complete).await.as_str().unwrap_or_default().into();
            }
        };
        let waited = tokio::time::timeout(A_MOMENT, shown).await;
        assert!(waited.is_ok(), "{part:?} is not in {seen}");
        seen
    }

    async fn press(&mut self) {
        self.value("document.querySelector('button').click()").await;
    }
}

#[expect(clippy::print_stderr, reason = "what is not tested is named")]
fn has_browser() -> bool {
    let is_there = std::path::Path::new(PROGRAM).exists();
    if !is_there {
        eprintln!("UNAVAILABLE: the setup was not played in a browser, because there is no {PROGRAM}");
    }
    is_there
}

#[tokio::test]
async fn a_person_creates_and_installs_the_app_with_five_clicks() {
    if !has_browser() {
        return;
    }
    let stage = Stage::new("").await;
    let door = door(&stage);
    let setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    let mut tab = Tab::open().await;
    tab.call("Page.navigate", json!({ "url": setting_up.link })).await;
    tab.shows("Create greenlight's GitHub App").await;
    let fill_in = format!(
        "document.querySelector('[name=organization]').value = 'acme';
         document.querySelector('[name=public_url]').value = '{}'",
        setting_up.url
    );
    tab.value(&fill_in).await;
    tab.press().await;
    let review = tab.shows("What the App may do").await;
    assert!(
        review.contains("checks: write") && review.contains(&stage.double.web_url()),
        "{review}"
    );
    tab.press().await;
    tab.shows("Create GitHub App for acme?").await;
    tab.press().await;
    let install = tab.shows("/installations/new").await;
    assert!(install.starts_with(&stage.double.web_url()), "{install}");
    tab.press().await;
    tab.shows("setup_action=install").await;
    is_served(&stage, &setting_up).await;
    for secret in secrets(&door) {
        assert!(!setting_up.printed().contains(&secret), "{secret}");
    }
}
