//! The final checks of every story, and the output when one fails.

use std::fmt::Write as _;

use github_double::{RecordedExchange, What};

use super::{SECRET, Story};
use crate::harness::model::KEY;
use crate::harness::openapi::violations;

/// How much of the log is shown when a story fails, in lines.
const SHOWN_LOG: usize = 60;

impl Story {
    /// Ends greenlight, and fails if a rule of all stories was broken.
    pub(crate) async fn finish(mut self) {
        self.settle().await;
        self.kill().await;
        self.keep_journals().await;
        let mut broken = self.double.violations();
        broken.extend(self.against_the_description());
        broken.extend(self.leftovers());
        broken.extend(self.leaks());
        if self.double.waiting_faults() > 0 {
            broken.push("a planned fault met no request".into());
        }
        assert!(
            broken.is_empty(),
            "rules of every story were broken:\n{}",
            broken.join("\n")
        );
        if let Some(model) = self.model.take() {
            model.finish();
        }
    }

    fn against_the_description(&self) -> Vec<String> {
        let described = |exchange: &RecordedExchange| !exchange.faulty && exchange.route.is_some();
        let requests = self.double.requests();
        let checked = requests.iter().filter(|exchange| described(exchange));
        checked.flat_map(violations).collect()
    }

    /// Leftovers in the folders for throw-away trees.
    fn leftovers(&self) -> Vec<String> {
        let of = |folder: &str| std::fs::read_dir(self.folder.path().join(folder));
        let entries = ["trees", "copies", "workspaces"]
            .iter()
            .filter_map(|folder| of(folder).ok());
        entries
            .flatten()
            .map(|entry| format!("left over: {}", entry.unwrap().path().display()))
            .collect()
    }

    /// Secrets in greenlight's requests, in GitHub's public answers, and in the log.
    fn leaks(&self) -> Vec<String> {
        let mut found = Vec::new();
        let exchanges = self.double.requests();
        let secrets = self.secrets(&exchanges);
        let mut look = |place: String, text: &str| {
            for (name, secret) in &secrets {
                if text.contains(secret) {
                    found.push(format!("{name} in {place}"));
                }
            }
        };
        for exchange in &exchanges {
            let place = format!("the request {} {}", exchange.method, exchange.path);
            look(
                place,
                &format!("{} {} {}", exchange.path, exchange.query, exchange.request),
            );
        }
        for delivery in self.double.deliveries() {
            look(format!("the webhook {}", delivery.event), &delivery.payload.to_string());
        }
        look("the log".into(), &self.log());
        found
    }

    /// Every secret of this story that occurs in a text.
    pub(crate) fn secrets_in(&self, text: &str) -> Vec<&'static str> {
        let secrets = self.secrets(&self.double.requests());
        let there = secrets.into_iter().filter(|(_, secret)| text.contains(secret));
        there.map(|(name, _)| name).collect()
    }

    fn secrets(&self, exchanges: &[RecordedExchange]) -> Vec<(&'static str, String)> {
        let key = self.double.app_credentials().private_key;
        let middle = key.lines().nth(3).unwrap().to_string();
        let mut secrets = vec![
            ("the webhook secret", SECRET.to_string()),
            ("the App's key", middle),
            ("the model's key", KEY.to_string()),
            ("the client secret", self.double.app_credentials().client_secret),
        ];
        let tokens = exchanges
            .iter()
            .filter_map(|exchange| exchange.response["token"].as_str());
        secrets.extend(tokens.map(|token| ("a token", token.to_string())));
        let of_people = exchanges
            .iter()
            .filter_map(|exchange| exchange.response["access_token"].as_str());
        secrets.extend(of_people.map(|token| ("a person's token", token.to_string())));
        secrets
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }

    /// The conversation as text.
    pub(crate) fn told(&self) -> String {
        let mut text = String::new();
        for entry in self.double.conversation(self.number).unwrap_or_default() {
            let what = match entry.what {
                What::Commented(comment) => format!("comments ({:?})\n{}", comment.reactions, comment.body),
                What::Reviewed(review) => {
                    let lines = review
                        .comments
                        .iter()
                        .map(|one| format!("{}:{}\n{}", one.path, one.original.1, one.body));
                    format!("reviews\n{}\n{}", review.body, lines.collect::<Vec<_>>().join("\n"))
                }
                What::Replied(reply) => format!("replies\n{}", reply.body),
                What::Checked(run) => format!(
                    "checks {}: {}, {}",
                    run.name,
                    run.conclusion.unwrap_or(run.status),
                    run.title.unwrap_or_default()
                ),
                What::Committed(commit) => format!("commits {} {}", commit.sha, commit.message),
                What::Closed => "closes".into(),
            };
            let _ = writeln!(text, "● {} {}", entry.who, what.replace('\n', "\n  │ "));
        }
        text
    }
}

impl Drop for Story {
    #[expect(clippy::print_stderr, reason = "what was said tells why a story failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let all: Vec<&str> = log
                .lines()
                .filter(|line| line.contains(" greenlight::") && !line.contains(" DEBUG "))
                .collect();
            let last = all[all.len().saturating_sub(SHOWN_LOG)..].join("\n");
            eprintln!("{}\nthe end of the log:\n{last}", self.told());
        }
    }
}
