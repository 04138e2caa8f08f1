//! The beginning of a story: a repository with people, and a pull request with one wrong operator.

use std::sync::{Arc, Mutex};

use github_double::{AUTHOR, Double, NewPullRequest, Role, World};
use greenlight::config::allow_list::AllowList;
use greenlight::domain::model::{Price, Who};
use greenlight::domain::worker_labels::WorkerLabels;
use greenlight::github::Credentials;
use greenlight::sandbox::Sandbox;
use secrecy::SecretString;

use super::process::Settings;
use super::{SECRET, Story};
use crate::harness::model::{ScriptedModel, Turn};
use crate::harness::postgres;

const FARE: &str = "def fare(stops):\n    return 200 + 50 * stops\n";
/// The module in the pull request.
pub(crate) const CHANGE: &str =
    "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    return paid + fare(stops)\n";
/// The corrected module.
pub(crate) const FIXED: &str =
    "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    return paid - fare(stops)\n";
/// The tests of the pull request.
pub(crate) const TESTS: &str = "\
import unittest

from fare import change, fare


class Fares(unittest.TestCase):
    def test_every_stop_costs(self):
        self.assertEqual(fare(2), 300)

    def test_change_is_given(self):
        self.assertEqual(change(500, 2), 200)
";
/// The log of the failed job in the default scene.
pub(crate) const LOG: &str = "\
2026-01-05T10:00:00.0000000Z ##[group]Run python -m unittest -v
2026-01-05T10:00:00.1000000Z ##[endgroup]
2026-01-05T10:00:01.0000000Z test_change_is_given (test_fare.Fares.test_change_is_given) ... FAIL
2026-01-05T10:00:01.0100000Z test_every_stop_costs (test_fare.Fares.test_every_stop_costs) ... ok
2026-01-05T10:00:01.0200000Z
2026-01-05T10:00:01.0300000Z ======================================================================
2026-01-05T10:00:01.0400000Z FAIL: test_change_is_given (test_fare.Fares.test_change_is_given)
2026-01-05T10:00:01.0500000Z ----------------------------------------------------------------------
2026-01-05T10:00:01.0600000Z Traceback (most recent call last):
2026-01-05T10:00:01.0700000Z   File \"/home/runner/work/rail/rail/test_fare.py\", line 11, in test_change_is_given
2026-01-05T10:00:01.0800000Z     self.assertEqual(change(500, 2), 200)
2026-01-05T10:00:01.0900000Z AssertionError: 800 != 200
2026-01-05T10:00:01.1000000Z
2026-01-05T10:00:01.1100000Z ----------------------------------------------------------------------
2026-01-05T10:00:01.1200000Z Ran 2 tests in 0.001s
2026-01-05T10:00:01.1300000Z
2026-01-05T10:00:01.1400000Z FAILED (failures=1)
2026-01-05T10:00:01.1500000Z ##[error]Process completed with exit code 1.
";

/// The state before the story begins.
pub(crate) struct Scene {
    on_main: Vec<(String, String)>,
    in_pull_request: Vec<(String, String)>,
    is_private: bool,
    branch: &'static str,
    author: &'static str,
    /// Whether it comes from a fork, and if so, whether maintainers may push to it.
    fork: Option<bool>,
    /// The owner of the fork, if it is not the author.
    fork_owner: Option<&'static str>,
    people: Vec<(&'static str, Role)>,
    permissions: Vec<(&'static str, &'static str)>,
    turns: Option<Vec<Turn>>,
    /// Whether the built-in engine runs before the model. By default a scripted model runs alone: most of its stories
    /// have bugs that need no model.
    is_auto: bool,
    /// The address of another model.
    model_url: Option<String>,
    /// The price of a million tokens in US dollars. `None` if it is unknown.
    dollars: Option<u64>,
    title: String,
    /// Permissions of a workflow's token, which is used instead of an App.
    token: Option<&'static [(&'static str, &'static str)]>,
    /// The person whose own token is used instead.
    token_of: Option<&'static str>,
    allow_list: AllowList,
    /// A sandbox other than the best of this machine.
    sandbox: Option<Sandbox>,
    workers: usize,
    labels: Option<WorkerLabels>,
    collector: Option<String>,
    /// Additional configuration for triage.
    triage: &'static str,
    /// The URL of a PostgreSQL database for the journal.
    postgres: Option<SecretString>,
}

/// Set to run all stories on PostgreSQL instead of SQLite.
const ON_POSTGRES: &str = "GREENLIGHT_TEST_ON_POSTGRES";

/// Default triage settings for stories that are not about triage: without them, every failing test would run five
/// times.
pub(crate) const FEW_RUNS: &str = "[triage]\nruns = 2\n";

impl Default for Scene {
    fn default() -> Self {
        let tests = TESTS.replace("change, ", "");
        let tests = tests.split("\n    def test_change").next().unwrap();
        Self::of(
            &[("fare.py", FARE), ("test_fare.py", tests)],
            &[("fare.py", CHANGE), ("test_fare.py", TESTS)],
        )
    }
}

impl Scene {
    /// A repository with the first files on `main`, and a pull request that writes the others.
    pub(crate) fn of(on_main: &[(&str, &str)], in_pull_request: &[(&str, &str)]) -> Self {
        let owned = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(path, text)| ((*path).into(), (*text).into()));
            files.collect()
        };
        Self {
            on_main: owned(on_main),
            in_pull_request: owned(in_pull_request),
            is_private: false,
            branch: "change",
            author: AUTHOR,
            fork: None,
            fork_owner: None,
            people: Vec::new(),
            permissions: Vec::new(),
            turns: None,
            is_auto: false,
            model_url: None,
            dollars: None,
            title: "Give change".into(),
            token: None,
            token_of: None,
            allow_list: AllowList::All,
            sandbox: None,
            workers: 2,
            labels: None,
            collector: None,
            postgres: None,
            triage: FEW_RUNS,
        }
    }

    /// The default repository, with this test command.
    pub(crate) fn tested_by(command: &str) -> Self {
        Self::default().config(&format!("[test]\ncommand = {command:?}\n"))
    }

    /// `greenlight.toml` on the base branch.
    pub(crate) fn config(mut self, text: &str) -> Self {
        self.on_main.push(("greenlight.toml".into(), text.into()));
        self
    }

    /// Adds a file to the pull request, or replaces the text of one.
    pub(crate) fn adds(mut self, path: &str, text: &str) -> Self {
        self.in_pull_request.retain(|(other, _)| other != path);
        self.in_pull_request.push((path.into(), text.into()));
        self
    }

    /// Makes the repository private.
    pub(crate) fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    pub(crate) fn branch(mut self, branch: &'static str) -> Self {
        self.branch = branch;
        self
    }

    pub(crate) fn author(mut self, login: &'static str) -> Self {
        self.author = login;
        self
    }

    /// The pull request comes from a fork that does not belong to the author.
    pub(crate) fn forked_by(mut self, owner: &'static str) -> Self {
        self.fork = Some(false);
        self.fork_owner = Some(owner);
        self
    }

    /// The pull request comes from the author's fork.
    pub(crate) fn forked(mut self, maintainers_may_push: bool) -> Self {
        self.fork = Some(maintainers_may_push);
        self
    }

    pub(crate) fn person(mut self, login: &'static str, role: Role) -> Self {
        self.people.push((login, role));
        self
    }

    /// A permission of the App.
    pub(crate) fn app_permission(mut self, name: &'static str, level: &'static str) -> Self {
        self.permissions.push((name, level));
        self
    }

    /// A model that plays these turns; by default there is none.
    pub(crate) fn model(mut self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.turns = Some(turns.into_iter().collect());
        self
    }

    /// As by default in production: the model is only used for what the built-in engine cannot do.
    pub(crate) fn auto(mut self) -> Self {
        self.is_auto = true;
        self
    }

    /// A model at another address.
    pub(crate) fn model_at(mut self, url: &str) -> Self {
        self.model_url = Some(url.into());
        self
    }

    /// A model with this price in US dollars for a million tokens.
    pub(crate) fn priced(mut self, dollars: u64) -> Self {
        self.dollars = Some(dollars);
        self
    }

    /// The title of the pull request and its commit.
    pub(crate) fn titled(mut self, title: &str) -> Self {
        self.title = title.into();
        self
    }

    /// Uses the token of a workflow run instead of an App.
    pub(crate) fn token(mut self, permissions: &'static [(&'static str, &'static str)]) -> Self {
        self.token = Some(permissions);
        self
    }

    /// Uses this person's own token instead of an App.
    pub(crate) fn token_of(mut self, login: &'static str) -> Self {
        self.token_of = Some(login);
        self
    }

    pub(crate) fn allow_list(mut self, allow_list: AllowList) -> Self {
        self.allow_list = allow_list;
        self
    }

    pub(crate) fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// A service whose machine has these labels.
    pub(crate) fn labelled(mut self, labels: &[&str]) -> Self {
        self.labels = Some(WorkerLabels::new(labels.iter().copied()).unwrap());
        self
    }

    /// A service that sends traces to this collector.
    pub(crate) fn traced_to(mut self, collector: &str) -> Self {
        self.collector = Some(collector.into());
        self
    }

    /// How many pull requests are worked on in parallel.
    pub(crate) fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Keeps the journal in PostgreSQL, which other processes may share.
    pub(crate) fn on_postgres(mut self, url: SecretString) -> Self {
        self.postgres = Some(url);
        self
    }

    /// Runs failing tests as often as by default.
    pub(crate) fn about_triage(mut self) -> Self {
        self.triage = "";
        self
    }

    /// How greenlight signs in, and the account that it writes as.
    fn credentials(&self, double: &Double) -> (Credentials, String) {
        let app = double.app_credentials();
        match (self.token, self.token_of) {
            (None, Some(login)) => (Credentials::Token(double.user_token(login).into()), login.into()),
            (Some(permissions), _) => {
                let token = double.actions_token(permissions);
                (Credentials::Token(token.into()), "github-actions[bot]".into())
            }
            (None, None) => {
                let (id, key_pem) = (app.app_id, app.private_key.into());
                (Credentials::App { id, key_pem }, double.bot())
            }
        }
    }

    /// Starts everything and opens the pull request.
    pub(crate) async fn begin(mut self) -> Story {
        if !self.triage.is_empty() {
            match self.on_main.iter_mut().find(|(path, _)| path == "greenlight.toml") {
                None => self.on_main.push(("greenlight.toml".into(), self.triage.into())),
                Some((_, text)) if text.contains("[triage]") => {}
                Some((_, text)) => text.push_str(&format!("\n{}", self.triage)),
            }
        }
        let files: Vec<_> = self
            .on_main
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_bytes()))
            .collect();
        let mut world = World::with_repository("acme/rail", &files);
        if self.is_private {
            world = world.private();
        }
        for (login, role) in &self.people {
            world = world.person(login, *role);
        }
        for (name, level) in &self.permissions {
            world = world.app_permission(name, level);
        }
        let double = Double::start(world).await.unwrap();
        let model = match self.turns.take() {
            Some(turns) => Some(ScriptedModel::start(turns).await),
            None => None,
        };
        let (credentials, bot) = self.credentials(&double);
        if let Some(model) = &model {
            model.must_not_see(SECRET).must_not_see("PRIVATE KEY");
        }
        let settings = Settings {
            api: double.url(),
            credentials,
            model: self
                .model_url
                .or_else(|| model.as_ref().map(|model| model.base_url().to_string())),
            who: if self.is_auto { Who::Auto } else { Who::Model },
            prices: self.dollars.map(price).into_iter().collect(),
            sandbox: Ok(match self.sandbox {
                Some(sandbox) => sandbox,
                None => crate::harness::sandbox().await,
            }),
            allow_list: self.allow_list,
            workers: self.workers,
            labels: self.labels,
            collector: self.collector,
            postgres: match (self.postgres, std::env::var_os(ON_POSTGRES)) {
                (Some(url), _) => Some(url),
                (None, Some(_)) => postgres::new_database().await,
                (None, None) => None,
            },
        };
        let mut story = Story {
            double,
            number: 0,
            bot,
            model,
            folder: tempfile::tempdir().unwrap(),
            settings,
            process: None,
            log: Arc::new(Mutex::default()),
        };
        story.start().await;
        let mut new = NewPullRequest::new(self.author, self.branch, &self.title);
        for (path, text) in &self.in_pull_request {
            new = new.write(path, text);
        }
        if let Some(maintainers_may_push) = self.fork {
            new = new.from_fork_of(self.fork_owner.unwrap_or(self.author), maintainers_may_push);
        }
        story.number = story.double.open_pull_request(new).await.unwrap();
        story
    }
}

fn price(dollars: u64) -> (String, Price) {
    let micros = dollars * 1_000_000;
    let price = Price {
        input: micros,
        cached_input: micros,
        output: micros,
    };
    ("script*".into(), price)
}
