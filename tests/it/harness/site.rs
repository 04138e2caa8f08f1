//! The page that people sign in to, and a browser without a screen: a cookie, and forms that are sent as they are.

use std::collections::HashMap;
use std::time::Duration;

use greenlight::github::SignInApp;
use greenlight::github::webhook::WebhookSecret;
use greenlight::server::{self, Access};
use reqwest::header::{COOKIE, HeaderMap, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Client, Response, redirect};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::story::{SECRET, Story};

const PATIENCE: Duration = Duration::from_secs(120);

/// A second listener for the queue of a story, with the page.
pub(crate) struct Site {
    pub(crate) url: String,
    pub(crate) client: Client,
    listener: Listener,
    /// Every connection ends with it.
    runtime: Option<Runtime>,
}

/// A page while greenlight is down: every connection is closed without an answer.
///
/// The port stays taken. If another test's server got it, an open page would send its requests there.
pub(crate) struct Down {
    listener: Listener,
    closing: JoinHandle<()>,
}

impl Down {
    /// Starts the page again, at the same URL.
    pub(crate) fn start(self, story: &Story) -> Site {
        self.closing.abort();
        Site::on(story, self.listener, None)
    }
}

/// A socket that outlives the server that answers on it.
struct Listener(std::net::TcpListener);

impl Listener {
    fn new() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    /// The same socket, for the runtime that asks.
    fn tokio(&self) -> TcpListener {
        TcpListener::from_std(self.0.try_clone().unwrap()).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Site {
    pub(crate) fn of(story: &Story) -> Self {
        Self::on(story, Listener::new(), None)
    }

    /// The page at a public URL, which is not that of the listener.
    pub(crate) fn at(story: &Story, public: &str) -> Self {
        Self::on(story, Listener::new(), Some(public))
    }

    /// Stops answering, and keeps the port.
    pub(crate) fn stop(self) -> Down {
        let listener = Listener(self.listener.0.try_clone().unwrap());
        drop(self);
        let connections = listener.tokio();
        let closing = tokio::spawn(async move { while connections.accept().await.is_ok() {} });
        Down { listener, closing }
    }

    fn on(story: &Story, listener: Listener, public: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // Work on pull requests that begins with an answer runs here.
            .thread_stack_size(greenlight::cli::STACK)
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let url = format!("http://{}", listener.0.local_addr().unwrap());
        let app = story.double.app_credentials();
        let app = SignInApp {
            client_id: app.client_id,
            client_secret: app.client_secret.into(),
            public_url: public.unwrap_or(&url).parse().unwrap(),
        };
        story.double.add_callback(app.callback().as_str());
        let access = Access {
            webhook: WebhookSecret::new(SECRET.into()).unwrap(),
            metrics: None,
            page: None,
            sign_in: Some(app),
        };
        let router = server::router(story.process().queue.clone(), access);
        let connections = {
            let _inside = runtime.enter();
            listener.tokio()
        };
        runtime.spawn(async move { axum::serve(connections, router).await });
        let client = crate::harness::http()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Self {
            url,
            client,
            listener,
            runtime: Some(runtime),
        }
    }

    /// Somebody signs in, and returns to this page.
    pub(crate) async fn sign_in<'a>(&'a self, story: &Story, login: &str, to: &str) -> Visitor<'a> {
        story.double.set_browser_of(Some(login));
        let mut visitor = self.stranger();
        let begun = visitor.get(&format!("/sign-in?to={to}")).await;
        let asked = self.client.get(visitor.take(&begun)).send().await.unwrap();
        let back = location(&asked);
        assert!(back.starts_with(&self.url), "{back}");
        let signed_in = visitor.get(back.strip_prefix(&self.url).unwrap()).await;
        let landed = visitor.take(&signed_in);
        assert_eq!((signed_in.status().as_u16(), landed.as_str()), (303, to), "{login}");
        visitor
    }

    /// A browser without a session.
    pub(crate) fn stranger(&self) -> Visitor<'_> {
        Visitor {
            site: self,
            cookies: HashMap::new(),
        }
    }
}

pub(crate) fn location(response: &Response) -> String {
    response.headers()[LOCATION].to_str().unwrap().to_string()
}

/// A browser.
#[derive(Clone)]
pub(crate) struct Visitor<'a> {
    pub(crate) site: &'a Site,
    pub(crate) cookies: HashMap<String, String>,
}

impl Visitor<'_> {
    /// Keeps the cookies of a response, and returns where it leads.
    pub(crate) fn take(&mut self, response: &Response) -> String {
        for cookie in response.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match cookie.contains("Max-Age=0;") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.into(), value.into()),
            };
        }
        location(response)
    }

    pub(crate) fn cookie_line(&self) -> String {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let request = self.site.client.get(format!("{}{path}", self.site.url));
        request.header(COOKIE, self.cookie_line()).send().await.unwrap()
    }

    /// The page at a path.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> impl Future<Output = String> {
        let getting = self.get(path);
        async move {
            let response = getting.await;
            assert_eq!(response.status(), 200);
            response.text().await.unwrap()
        }
    }

    pub(crate) async fn status(&self, path: &str) -> u16 {
        self.get(path).await.status().as_u16()
    }

    /// Sends a form with these headers.
    pub(crate) async fn post_with(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&'static str, &str)],
    ) -> Response {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let request = self.site.client.post(format!("{}{path}", self.site.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.header(COOKIE, self.cookie_line()).headers(headers);
        request.body(body).send().await.unwrap()
    }

    /// Sends a form as a browser does from a page of the site.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let headers = [
            (ORIGIN.as_str(), self.site.url.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        let headers = headers.map(|(name, value)| match name {
            "origin" => ("origin", value),
            _ => ("sec-fetch-site", value),
        });
        self.post_with(path, fields, &headers).await
    }

    /// Fills in the form of a page whose action ends so, sends it, and returns the page that follows.
    pub(crate) async fn submits(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> String {
        let form = Form::of(page, action);
        let mut all: Vec<(&str, &str)> = form
            .hidden
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        all.extend(fields);
        let sent = self.post(&form.action, &all).await;
        assert_eq!(sent.status(), 303, "{}", sent.text().await.unwrap());
        self.page(&location(&sent)).await
    }
}

/// A form in a page.
pub(crate) struct Form {
    pub(crate) action: String,
    pub(crate) hidden: Vec<(String, String)>,
}

impl Form {
    #[track_caller]
    pub(crate) fn of(page: &str, action: &str) -> Self {
        let forms = page
            .split("<form ")
            .skip(1)
            .map(|form| form.split("</form>").next().unwrap());
        let attribute = |tag: &str, name: &str| {
            let value = tag.split_once(&format!("{name}=\"")).unwrap().1;
            value.split('"').next().unwrap().to_string()
        };
        let mut found =
            forms.filter(|form| form.contains("method=\"post\"") && attribute(form, "action").ends_with(action));
        let form = found
            .next()
            .unwrap_or_else(|| panic!("no form for {action} in:\n{page}"));
        let hidden = form.split("type=\"hidden\"").skip(1);
        Self {
            action: attribute(form, "action"),
            hidden: hidden
                .map(|tag| (attribute(tag, "name"), attribute(tag, "value")))
                .collect(),
        }
    }

    pub(crate) fn value(&self, name: &str) -> &str {
        let found = self.hidden.iter().find(|(its, _)| its == name);
        &found.unwrap().1
    }
}

/// What the page says about the answer that was given.
#[track_caller]
pub(crate) fn notice(page: &str) -> String {
    let notice = page.split_once("class=\"notice\" role=\"status\">");
    let notice = notice.unwrap_or_else(|| panic!("no notice in:\n{page}")).1;
    notice.split("</p>").next().unwrap().to_string()
}
