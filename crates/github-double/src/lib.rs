//! An in-memory GitHub on loopback that follows GitHub's rules. The demo and the tests use it like the real one.
//!
//! [`World`] describes the initial state, [`Double`] serves it and plays the people. The REST routes are in one file
//! for each group, with a table each; [`table`] finds a route, and [`server`] checks, executes and records every
//! request. [`git_http`] serves git over smart HTTP. The double works with any client of GitHub, not only with
//! greenlight.

#![warn(missing_docs)]

mod accounts;
mod actions;
mod answer;
mod apps;
mod auth;
mod before_review;
mod branch_rules;
mod check_rules;
mod checks;
mod ci;
mod comments;
mod contents;
mod deliveries;
mod diff_rules;
mod faults;
mod git_data;
mod git_http;
mod graphql;
mod history;
mod hooks;
mod installing;
mod limits;
mod manifests;
mod merging;
mod moving;
mod names;
mod objects;
mod opening;
mod other_ci;
mod pack;
mod paging;
mod pkt;
mod placing;
mod play;
mod protection;
mod pulls;
mod reactions;
mod reading;
mod record;
mod records;
mod refs;
mod registering;
mod repositories;
mod reviews;
mod rounds;
mod route;
mod rules;
mod server;
mod sign_in;
mod sign_ins;
mod state;
mod statuses;
mod store;
mod suggestions;
mod table;
mod threads;
mod update_refs;
mod webhooks;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::serve::ListenerExt as _;
pub use ci::JobLog;
pub use faults::{Fault, Uninstalled};
pub use hooks::Delivery;
use hooks::DeliveryLog;
use jiff::Timestamp;
pub use names::{AUTHOR, DEFAULT_BRANCH, MAINTAINER, READER, Role, STRANGER};
pub use opening::NewPullRequest;
pub use protection::{Demand, Protection};
pub use reading::{CheckRunView, CommentView, CommitView, Entry, LineComment, ReviewView, What};
pub use record::RecordedExchange;
pub use rules::{Files, PullRequestDiff, ShownFile};
use state::{Holder, State};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
pub use world::World;

/// Why a step of a story failed.
#[derive(Debug, thiserror::Error)]
pub enum DoubleError {
    /// Files or sockets could not be created.
    #[error("cannot write the double's files: {0}")]
    Io(#[from] std::io::Error),
    /// libgit2 reported an error.
    #[error("the double's git failed: {0}")]
    Git(#[from] git2::Error),
    /// The story refers to something that does not exist.
    #[error("there is no {what} {id}")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// Its number.
        id: u64,
    },
    /// GitHub would not allow this; the text is that of its page.
    #[error("{0}")]
    Refused(String),
}

/// Shared by the server and all handles.
pub(crate) struct Shared {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    rounds: rounds::Rounds,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// A running double; it stops when the last clone is dropped.
#[derive(Clone)]
pub struct Double {
    shared: Arc<Shared>,
    log: Arc<DeliveryLog>,
    finished: watch::Receiver<u64>,
    _stop: Arc<DropGuard>,
}

/// The credentials of an App.
#[derive(Debug, Clone)]
pub struct AppCredentials {
    /// The App's id, which is the issuer of its JSON web tokens.
    pub app_id: u64,
    /// The installation for the repository's owner.
    pub installation_id: u64,
    /// PEM, PKCS#1, as GitHub provides it.
    pub private_key: String,
    /// What the App is called when people sign in with it.
    pub client_id: String,
    /// What the App proves with when people sign in with it.
    pub client_secret: String,
}

impl Double {
    /// Serves a world on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be opened, or the repository cannot be written.
    pub async fn start(world: World) -> Result<Self, DoubleError> {
        greenlight_crypto::install();
        let main = TcpListener::bind("127.0.0.1:0").await?;
        let logs = TcpListener::bind("127.0.0.1:0").await?;
        let address = |listener: &TcpListener| listener.local_addr().map(|address| format!("http://{address}"));
        let mut state = world.build(address(&main)?, address(&logs)?)?;
        let app = state.app().id;
        let (log, finished) = hooks::start_courier(&mut state.hooks, app);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changes: watch::Sender::new(0),
            rounds: rounds::Rounds::default(),
        });
        let stop = CancellationToken::new();
        for listener in [main, logs] {
            let router = server::router(Arc::clone(&shared));
            let stopped = stop.clone().cancelled_owned();
            // Without this, Nagle's algorithm and delayed acknowledgements add 40 ms to every exchange.
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            tokio::spawn(async move {
                if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
                    tracing::error!(%error, "the double stopped serving");
                }
            });
        }
        Ok(Self {
            shared,
            log,
            finished,
            _stop: Arc::new(stop.drop_guard()),
        })
    }

    /// The base URL of the REST API, without a slash at the end.
    pub fn url(&self) -> String {
        self.shared.lock().api()
    }

    /// The base URL of git and the web pages: `{web_url}/acme/rail.git` can be cloned.
    pub fn web_url(&self) -> String {
        self.shared.lock().web.clone()
    }

    /// `owner/name` of the repository.
    pub fn repository(&self) -> String {
        self.shared.lock().repositories[0].full_name()
    }

    /// GitHub's id of the repository.
    pub fn repository_id(&self) -> u64 {
        self.shared.lock().repositories[0].id
    }

    /// The credentials of greenlight's App.
    pub fn app_credentials(&self) -> AppCredentials {
        let state = self.shared.lock();
        let app = state.app();
        AppCredentials {
            app_id: app.id,
            installation_id: app.installations[0].0,
            private_key: auth::APP_KEY.into(),
            client_id: sign_in::client_id(&state),
            client_secret: sign_in::client_secret(&state),
        }
    }

    /// The login of the App's bot account.
    pub fn bot(&self) -> String {
        self.shared.lock().app().bot()
    }

    /// A new token of the App's installation, with all of its permissions.
    pub fn token(&self) -> String {
        let mut state = self.shared.lock();
        let (slug, permissions) = (state.app().slug.clone(), state.app().accepted());
        let id = Some(state.app().installations[0].0);
        auth::mint(
            &mut state,
            Holder::Installation {
                slug,
                id,
                permissions,
                repositories: None,
            },
        )
        .0
    }

    /// A new `GITHUB_TOKEN` of a workflow, with these permissions, such as `("contents", "write")`.
    pub fn actions_token(&self, permissions: &[(&str, &str)]) -> String {
        let mut state = self.shared.lock();
        let slug = state.apps[1].slug.clone();
        let permissions: BTreeMap<String, String> = permissions
            .iter()
            .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
            .collect();
        auth::mint(
            &mut state,
            Holder::Installation {
                slug,
                id: None,
                permissions,
                repositories: Some(vec![1]),
            },
        )
        .0
    }

    /// A new personal token.
    pub fn user_token(&self, login: &str) -> String {
        self.user_token_with(login, "repo, read:org")
    }

    /// A fine-grained token of a person with these permissions, for this repository or for another one.
    pub fn fine_grained_token(&self, login: &str, is_for_it: bool, permissions: &[(&str, &str)]) -> String {
        let permissions = permissions
            .iter()
            .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
        let holder = Holder::FineGrained {
            login: login.into(),
            repositories: if is_for_it { vec![names::HOME] } else { Vec::new() },
            permissions: permissions.collect(),
        };
        auth::mint(&mut self.shared.lock(), holder).0
    }

    /// A personal token with these scopes, such as that of another service that the person signed in to.
    pub fn user_token_with(&self, login: &str, scopes: &'static str) -> String {
        let login = login.into();
        auth::mint(&mut self.shared.lock(), Holder::Person { login, scopes }).0
    }

    /// Expires every token created so far.
    pub fn expire_tokens(&self) {
        for token in self.shared.lock().tokens.values_mut() {
            token.expires_at = Timestamp::UNIX_EPOCH;
        }
    }

    /// Sets somebody's role from now on.
    pub fn set_role(&self, login: &str, role: Role) {
        let mut state = self.shared.lock();
        state.welcome(login);
        let roles = &mut state.repositories[0].roles;
        roles.retain(|name, _| !name.eq_ignore_ascii_case(login));
        roles.insert(login.into(), role);
    }

    /// Plans one fault for the next request with this method (`*` for any) whose path contains `path`. The path of
    /// GraphQL ends with ` query` or ` mutation`.
    pub fn plan_fault(&self, method: &str, path: &str, fault: Fault) {
        self.shared.lock().faults.plan(method, path, fault);
    }

    /// How many planned faults have not occurred yet.
    pub fn waiting_faults(&self) -> usize {
        self.shared.lock().faults.waiting()
    }

    /// Leaves everybody this many requests until the rate limit resets, in this many seconds.
    pub fn leave_requests(&self, requests: u32, seconds: i64) {
        self.shared.lock().limits.leave(requests, seconds);
    }

    /// Sets the clock of this GitHub ahead of all others, or behind them.
    pub fn set_clock_ahead(&self, seconds: i64) {
        self.shared.lock().limits.set_ahead(seconds);
    }

    /// Disables or enables the limit of 80 content-creating requests a minute, which is enabled by default.
    pub fn limit_content(&self, on: bool) {
        self.shared.lock().limits.secondary = on;
    }

    /// Changes whenever the state may have changed, for showing the conversation live.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Changes the state in somebody's name, and creates an account for a person without one.
    fn act<T>(&self, login: &str, change: impl FnOnce(&mut State) -> Result<T, DoubleError>) -> Result<T, DoubleError> {
        self.change(|state| {
            state.welcome(login);
            change(state)
        })
    }

    /// Changes the state under its lock, and notifies the watchers.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> Result<T, DoubleError>) -> Result<T, DoubleError> {
        let done = change(&mut self.shared.lock());
        self.shared.changed();
        done
    }
}
