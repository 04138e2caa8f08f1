//! A real Chromium, driven over its own protocol.
//! <https://chromedevtools.github.io/devtools-protocol/>

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Debian's package.
pub(crate) const CHROMIUM: &str = "/usr/bin/chromium";
pub(crate) const QUIET: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];
const PATIENCE: Duration = Duration::from_secs(120);

/// A window with its own cookies.
pub(crate) struct Browser {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next: u64,
    /// The window that commands are for.
    window: String,
    events: VecDeque<Value>,
    _child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// `None`, and a line that says so, if this machine has no Chromium.
    #[expect(clippy::print_stderr, reason = "what is not tested is named")]
    #[expect(clippy::disallowed_methods, reason = "the tests start a browser")]
    pub(crate) async fn open() -> Option<Self> {
        if !Path::new(CHROMIUM).exists() {
            eprintln!("UNAVAILABLE: the page was not opened in a browser, because there is no {CHROMIUM}");
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(CHROMIUM);
        command.args(QUIET).arg("--remote-debugging-port=0");
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stderr(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("DevTools listening on ") {
                    return address.to_string();
                }
            }
            panic!("Chromium ended");
        };
        let address = tokio::time::timeout(PATIENCE, address).await.unwrap();
        // Otherwise it would wait for somebody to read the rest.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        let mut browser = Self {
            socket,
            next: 0,
            window: String::new(),
            events: VecDeque::new(),
            _child: child,
            _profile: profile,
        };
        browser.window = browser.window().await;
        Some(browser)
    }

    /// Opens a window with its own cookies.
    pub(crate) async fn window(&mut self) -> String {
        let before = std::mem::take(&mut self.window);
        let context = self.call("Target.createBrowserContext", json!({})).await;
        let target = json!({ "url": "about:blank", "browserContextId": context["browserContextId"] });
        let target = self.call("Target.createTarget", target).await;
        let attached = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attached).await;
        self.window = attached["sessionId"].as_str().unwrap().to_string();
        self.call("Page.enable", json!({})).await;
        self.call("Log.enable", json!({})).await;
        std::mem::replace(&mut self.window, before)
    }

    /// Uses another window from now on, and returns the one that was used.
    pub(crate) fn look_at(&mut self, window: &str) -> String {
        std::mem::replace(&mut self.window, window.into())
    }

    pub(crate) async fn go(&mut self, url: &str) {
        self.forget_loads();
        self.call("Page.navigate", json!({ "url": url })).await;
        self.loaded().await;
    }

    /// Prefers `light` or `dark` pages from now on.
    pub(crate) async fn prefers(&mut self, scheme: &str) {
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme).await;
    }

    /// Makes the window this large.
    pub(crate) async fn resize(&mut self, width: u64, height: u64) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Clicks what a selector finds, which leads to another page.
    pub(crate) async fn click(&mut self, selector: &str) {
        self.forget_loads();
        self.evaluate(&format!("document.querySelector({selector:?}).click()"))
            .await;
        self.loaded().await;
    }

    /// The result of an expression, or of the promise that it is.
    pub(crate) async fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", asked).await;
        let error = &answer["exceptionDetails"];
        assert!(error.is_null(), "{expression}: {error}");
        answer["result"]["value"].clone()
    }

    pub(crate) async fn text(&mut self) -> String {
        let text = self.evaluate("document.body.innerText").await;
        text.as_str().unwrap().to_string()
    }

    /// Waits until the page that is open shows a text, without loading it again from here.
    pub(crate) async fn shows(&mut self, text: &str) {
        let promise = format!(
            "new Promise((resolve) => {{
               const look = () => document.body.innerText.includes({text:?}) && resolve(true);
               new MutationObserver(look).observe(document.documentElement,
                 {{ subtree: true, childList: true, characterData: true }});
               look();
             }})"
        );
        let shown = tokio::time::timeout(PATIENCE, self.evaluate(&promise)).await;
        if shown.is_err() {
            panic!("{text:?} is not shown in:\n{}", self.text().await);
        }
    }

    /// A picture of what a selector finds, in this file.
    pub(crate) async fn picture(&mut self, selector: &str, file: &Path) {
        let area = format!(
            "(() => {{
               const area = document.querySelector({selector:?}).getBoundingClientRect();
               return {{ x: area.x, y: area.y, width: area.width, height: area.height, scale: 1 }};
             }})()"
        );
        let clip = self.evaluate(&area).await;
        let asked = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", asked).await;
        let picture = BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, picture).unwrap();
    }

    /// What the browser complained about since the last time, such as a policy that was violated.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let logged = self.events.iter().filter(|event| event["method"] == "Log.entryAdded");
        let complaints = logged.map(|event| event["params"]["entry"].to_string()).collect();
        self.events.retain(|event| event["method"] != "Log.entryAdded");
        complaints
    }

    fn is_load(&self, event: &Value) -> bool {
        event["method"] == "Page.loadEventFired" && event["sessionId"] == self.window
    }

    fn forget_loads(&mut self) {
        let window = self.window.clone();
        let is_load = |event: &Value| event["method"] == "Page.loadEventFired" && event["sessionId"] == window;
        self.events.retain(|event| !is_load(event));
    }

    async fn loaded(&mut self) {
        while !self.events.iter().any(|event| self.is_load(event)) {
            let event = self.receive().await;
            self.events.push_back(event);
        }
    }

    async fn receive(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(2 * PATIENCE, self.socket.next()).await.unwrap();
            if let Message::Text(text) = message.unwrap().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut call = json!({ "id": id, "method": method, "params": parameters });
        if !self.window.is_empty() {
            call["sessionId"] = self.window.clone().into();
        }
        self.socket.send(Message::Text(call.to_string().into())).await.unwrap();
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            if message["method"].is_string() {
                self.events.push_back(message);
            }
        }
    }
}
