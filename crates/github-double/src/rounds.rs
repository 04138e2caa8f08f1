//! Answers in rounds: which requests a client sends side by side, shown without a clock.
//!
//! Nobody gets an answer before every request of the round is there. A client that sends them one after the other waits
//! forever, and one that comes to the end has waited for GitHub as often as there are rounds.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::Double;

/// The rounds, and the time that every answer takes.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    script: Mutex<Script>,
    /// How many rounds are complete.
    complete: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Script {
    is_set: bool,
    /// The requests of each round that have not come yet. The first round is under way.
    missing: VecDeque<Vec<String>>,
    complete: usize,
    unexpected: Vec<String>,
    latency: Duration,
}

impl Rounds {
    /// Waits until a request may be answered.
    pub(super) async fn wait(&self, method: &str, path: &str) {
        let latency = self.lock().latency;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let name = name(method, path);
        let mut complete = self.complete.subscribe();
        while let Some((until, is_of_it)) = self.take(&name) {
            if complete.wait_for(|complete| *complete >= until).await.is_err() || is_of_it {
                return;
            }
        }
    }

    /// How many rounds have to be complete before this request is answered, or looked at again if it does not belong
    /// to the next one. `None` if it is answered now.
    fn take(&self, name: &str) -> Option<(usize, bool)> {
        let mut script = self.lock();
        if !script.is_set {
            return None;
        }
        let is_it = |other: &String| other == name;
        let until = script.complete + 1;
        let Some(round) = script.missing.iter().position(|round| round.iter().any(is_it)) else {
            script.unexpected.push(name.into());
            return None;
        };
        if round > 0 {
            return Some((until, false));
        }
        let first = &mut script.missing[0];
        first.swap_remove(first.iter().position(is_it)?);
        if first.is_empty() {
            script.missing.pop_front();
            script.complete = until;
            self.complete.send_replace(until);
        }
        Some((until, true))
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Double {
    /// From now on answers in these rounds. A request is named like `GET pulls/*/files`: its method, and its path
    /// within the repository with `*` for numbers and hashes.
    pub fn answer_in_rounds(&self, rounds: &[Vec<String>]) {
        let mut script = self.shared.rounds.lock();
        script.is_set = true;
        script.missing = rounds.iter().filter(|round| !round.is_empty()).cloned().collect();
        script.unexpected.clear();
    }

    /// Answers everything at once again. Returns the requests that did not come, and those that were in no round.
    pub fn end_rounds(&self) -> (Vec<String>, Vec<String>) {
        let mut script = self.shared.rounds.lock();
        script.is_set = false;
        // Nobody waits any longer.
        script.complete += script.missing.len();
        self.shared.rounds.complete.send_replace(script.complete);
        let missing = script.missing.drain(..).flatten().collect();
        (missing, std::mem::take(&mut script.unexpected))
    }

    /// Delays every answer, as if GitHub were far away.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.rounds.lock().latency = latency;
    }
}

/// The name of a request in a list of rounds.
pub(super) fn name(method: &str, path: &str) -> String {
    let path = path.trim_start_matches('/');
    let inside = path.strip_prefix("repos/").map(|rest| {
        let mut parts = rest.splitn(3, '/').skip(2);
        parts.next().unwrap_or_default()
    });
    let is_hash = |word: &str| word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let named = |part: &str| match part {
        part if is_number(part) => "*".to_string(),
        part => part
            .split("...")
            .map(|word| if is_hash(word) { "*" } else { word })
            .collect::<Vec<_>>()
            .join("..."),
    };
    let parts: Vec<String> = inside.unwrap_or(path).split('/').map(named).collect();
    match parts.join("/") {
        path if path.is_empty() => format!("{method} /"),
        path => format!("{method} {path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_without_what_differs() {
        let sha = "a".repeat(40);
        for (path, expected) in [
            ("/repos/acme/rail/pulls/1/files", "GET pulls/*/files"),
            ("/repos/acme/rail", "GET /"),
            (
                &format!("/repos/acme/rail/compare/{sha}...main"),
                "GET compare/*...main",
            ),
            (&format!("/_logs/{sha}{sha}"), "GET _logs/*"),
            (
                "/app/installations/77/access_tokens",
                "GET app/installations/*/access_tokens",
            ),
            ("/acme/rail.git/git-upload-pack", "GET acme/rail.git/git-upload-pack"),
        ] {
            assert_eq!(name("GET", path), expected);
        }
    }

    #[tokio::test]
    async fn an_answer_waits_for_its_round() {
        let rounds = Rounds::default();
        rounds.lock().is_set = true;
        let of = |names: [&str; 2]| names.iter().map(|name| (*name).to_string()).collect();
        rounds.lock().missing = [of(["GET a", "GET b"]), of(["GET a", "GET c"])].into();
        let ask = |path: &'static str| Box::pin(rounds.wait("GET", path));
        let (mut a, mut later) = (ask("/a"), ask("/c"));
        assert!(futures::poll!(&mut a).is_pending() && futures::poll!(&mut later).is_pending());
        let mut again = ask("/a");
        assert!(futures::poll!(&mut again).is_pending());
        assert!(futures::poll!(ask("/b")).is_ready());
        assert!(futures::poll!(&mut a).is_ready());
        assert!(futures::poll!(&mut later).is_pending());
        assert!(futures::poll!(&mut again).is_ready() && futures::poll!(&mut later).is_ready());
        ask("/d").await;
        assert_eq!(rounds.lock().unexpected, ["GET d"]);
    }
}
