//! `greenlight serve` without an App: a person creates one in a browser, and the same process serves it.

mod browser;
mod strangers;
mod trouble;

use std::os::unix::fs::PermissionsExt as _;

use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Client, RequestBuilder, Response};

use super::*;

/// A process that waits for its App, and everything that it has printed.
pub(crate) struct SettingUp {
    child: Child,
    /// The base URL, without a `/` at the end.
    pub(crate) url: String,
    pub(crate) link: String,
    printed: Arc<Mutex<String>>,
}

impl SettingUp {
    pub(crate) async fn start(door: &Door, address: &str) -> Self {
        let arguments = ["serve", "--listen", address, "--log-format", "json"];
        let mut child = door.command(arguments).spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, out.next_line()).await.unwrap().unwrap();
        let line = line.unwrap_or_default();
        keep(out, Arc::clone(&printed));
        keep(
            BufReader::new(child.stderr.take().unwrap()).lines(),
            Arc::clone(&printed),
        );
        let (_, link) = line.split_once("http://").unwrap_or_else(|| panic!("no link: {line}"));
        let (host, _) = link.split_once('/').unwrap();
        Self {
            url: format!("http://{host}"),
            link: format!("http://{link}"),
            child,
            printed,
        }
    }

    fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    pub(crate) async fn until_printed(&self, part: &str) {
        until(part, || self.printed().contains(part)).await;
    }

    /// The browser that followed the link.
    async fn enter(&self) -> Person {
        let person = Person::anybody(self);
        let (_, link) = self.link.split_once("?link=").unwrap();
        let entered = filled(person.post("/enter"), &[("link", link)]).send().await.unwrap();
        assert_eq!((entered.status().as_u16(), location(&entered).as_str()), (303, "/"));
        let cookie = entered.headers()[SET_COOKIE].to_str().unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_string();
        Person { cookie, ..person }
    }
}

fn keep<R: tokio::io::AsyncBufRead + Unpin + Send + 'static>(mut lines: tokio::io::Lines<R>, into: Arc<Mutex<String>>) {
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let mut into = into.lock().unwrap();
            into.push_str(&line);
            into.push('\n');
        }
    });
}

/// Somebody with a browser, as far as this program sees one.
struct Person {
    http: Client,
    url: String,
    cookie: String,
}

impl Person {
    fn anybody(at: &SettingUp) -> Self {
        let http = crate::harness::http().redirect(reqwest::redirect::Policy::none());
        Self {
            http: http.user_agent("a browser").timeout(PATIENCE).build().unwrap(),
            url: at.url.clone(),
            cookie: String::new(),
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.http
            .get(format!("{}{path}", self.url))
            .header(COOKIE, &self.cookie)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.url));
        request.header(COOKIE, &self.cookie).header(ORIGIN, &self.url)
    }

    /// Fills the form in, and returns what the next page sends to GitHub: the URL and the manifest.
    async fn fill_in(&self, public: &str) -> (String, String) {
        let fields = [
            ("name", "Green Acme"),
            ("owner", "organization"),
            ("organization", "acme"),
            ("public_url", public),
        ];
        let review = filled(self.post("/setup"), &fields).send().await.unwrap();
        assert_eq!(review.status(), 200);
        let page = review.text().await.unwrap();
        let between = |start: &str| {
            let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("{start}: {page}"));
            unescaped(rest.split_once('"').unwrap().0)
        };
        (
            between("<form method=\"post\" action=\""),
            between("name=\"manifest\" value=\""),
        )
    }

    /// Creates the App on GitHub's pages, and returns the URL to which GitHub sends the browser.
    async fn create(&self, public: &str) -> String {
        let (action, manifest) = self.fill_in(public).await;
        let asked = filled(self.http.post(&action), &[("manifest", &manifest)])
            .send()
            .await
            .unwrap();
        assert_eq!(asked.status(), 200, "{manifest}");
        let page = asked.text().await.unwrap();
        let path = page.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
        let github: reqwest::Url = action.parse().unwrap();
        let created = self.http.post(github.join(path).unwrap()).send().await.unwrap();
        location(&created)
    }

    /// Follows GitHub back.
    async fn comes_back(&self, to: &str) -> Response {
        let request = self.http.get(to).header(COOKIE, &self.cookie);
        request.header("sec-fetch-site", "cross-site").send().await.unwrap()
    }
}

/// The request with the fields of a form.
fn filled(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

fn location(response: &Response) -> String {
    let to = response.headers().get(LOCATION);
    to.unwrap_or_else(|| panic!("{response:?}"))
        .to_str()
        .unwrap()
        .to_string()
}

fn unescaped(html: &str) -> String {
    [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
    ]
    .iter()
    .fold(html.to_string(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// A door without an App.
fn door(stage: &Stage) -> Door {
    Door::new()
        .with("GREENLIGHT_GITHUB_API_URL", stage.double.url())
        .with("GREENLIGHT_LOG", "trace")
}

/// Everything that must stay secret, from the stored file.
fn secrets(door: &Door) -> Vec<String> {
    let file = door.data().join("github-app.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let stored: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let key = stored["private_key"].as_str().unwrap();
    let lines = key.lines().filter(|line| !line.starts_with("---"));
    let others = ["client_secret", "webhook_secret"].map(|name| stored[name].as_str().unwrap());
    lines.chain(others).map(Into::into).collect()
}

/// After the answer, the same process serves GitHub's webhooks.
async fn is_served(stage: &Stage, setting_up: &SettingUp) {
    setting_up.until_printed("\"listening\"").await;
    stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight status")
        .await
        .unwrap();
    let delivery = stage.double.last_delivery("issue_comment").unwrap();
    assert_eq!(delivery.status, Some(202), "{}", setting_up.printed());
}

#[tokio::test]
async fn an_app_is_created_stored_and_served_without_a_restart() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let mut setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    let person = setting_up.enter().await;
    let form = person.get("/").send().await.unwrap();
    let policy = form.headers()["content-security-policy"].to_str().unwrap().to_string();
    assert!(
        policy.contains("form-action 'self';") && policy.starts_with("default-src 'none'"),
        "{policy}"
    );
    let back = person.create(&setting_up.url).await;
    let (_, query) = back.split_once("/setup/created?").unwrap();
    let created = person.comes_back(&back).await;
    assert_eq!(created.status(), 303);
    let install = location(&created);
    assert_eq!(
        install,
        format!("{}/apps/green-acme/installations/new", stage.double.web_url())
    );
    setting_up.until_printed(&format!("Install the App: {install}")).await;
    // GitHub's first delivery came before the secret, and waited for it.
    stage.double.delivered().await;
    assert_eq!(stage.double.last_delivery("ping").unwrap().status, Some(202));
    let doctor = door.run(["doctor", "--app", "--json"]).await.with(1);
    let document: Value = serde_json::from_str(&doctor.out).unwrap();
    assert_eq!(document["missing"][0]["what"], "the App is not installed anywhere");
    assert_eq!(document["missing"].as_array().unwrap().len(), 1, "{document}");
    let installed = person.http.post(install.trim_end_matches("/new")).send().await.unwrap();
    let back_from_installing = location(&installed);
    assert!(back_from_installing.starts_with(&format!("{}/?installation_id=", setting_up.url)));
    setting_up.until_printed("\"listening\"").await;
    let welcome = person.http.get(&back_from_installing).send().await.unwrap();
    assert!(welcome.text().await.unwrap().contains("The App is installed"));
    is_served(&stage, &setting_up).await;
    // Who goes back and loads the last page again is told what to do.
    let again = person.comes_back(&back).await;
    assert_eq!(again.status(), 200);
    assert!(again.text().await.unwrap().contains("`greenlight doctor --app`"));
    stage.until("the answer", |_| !stage.answers().is_empty()).await;
    assert_eq!(stage.answers()[0].author, "green-acme[bot]");

    let code = query.split(['=', '&']).nth(1).unwrap().to_string();
    let secrets = [secrets(&door), vec![code]].concat();
    signal(&setting_up.child, Signal::TERM);
    let status = tokio::time::timeout(A_MOMENT, setting_up.child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(0), "{}", setting_up.printed());
    for secret in &secrets {
        let printed = setting_up.printed();
        assert_eq!(printed.lines().find(|line| line.contains(secret)), None, "{secret}");
    }
    // The next one needs no variables, and neither has `doctor`.
    let doctor = door.run(["doctor", "--app"]).await;
    assert!(doctor.out.contains("green-acme (App ID 4242)"), "{doctor:?}");
    let door = door.without("GREENLIGHT_GITHUB_API_URL");
    let mut serving = Serving::start(&door).await;
    assert_eq!(serving.get("/readyz").await, 200);
    assert_eq!(serving.ends_by(Signal::TERM).await, Some(0));
}

/// Who stops it before there is an App, leaves nothing behind.
#[tokio::test]
async fn it_can_be_stopped_before_there_is_an_app() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let mut setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    let person = setting_up.enter().await;
    let health = ["/healthz", "/readyz"].map(|path| person.get(path));
    let [alive, ready] = futures::future::join_all(health.map(RequestBuilder::send))
        .await
        .try_into()
        .unwrap();
    assert_eq!(
        (alive.unwrap().status().as_u16(), ready.unwrap().status().as_u16()),
        (200, 503)
    );
    // A second one would set up the same folder.
    door.run(ARGUMENTS).await.with(2).saying("GREENLIGHT_DATA_DIR");
    signal(&setting_up.child, Signal::TERM);
    let status = tokio::time::timeout(A_MOMENT, setting_up.child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(0), "{}", setting_up.printed());
    assert!(!door.data().join("github-app.json").exists());
}
