//! Goes through a recorded run again, offline: the same tree, the model's recorded replies, and everything else done
//! once more; and says what comes out differently.
//!
//! A person's answers are taken from the record, and so is what was carried out because of them: nobody approved it a
//! second time.

use std::sync::LazyLock;

use futures::FutureExt as _;
use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Broken;
use super::bundle::Manifest;
use super::desk::Desk;
use super::work::{self, Brief, Engine, Outcome};
use crate::agent::{self, Item, ModelError, Recorded, Reply, Speech};
use crate::domain::execution::Deferred;
use crate::domain::redact::bounded;
use crate::domain::run::{End, Run, Step};
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::suite::{self, Suite};

/// How much of each side of a difference is kept, in bytes.
const MAX_SHOWN: usize = 2 << 10;

/// What was compared, and what was not the same.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    pub attempts: usize,
    /// Replies of the model.
    pub turns: usize,
    /// Results of its calls.
    pub results: usize,
    pub differences: Vec<Difference>,
}

/// One thing that came out differently. The texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Such as `attempt 1, item 4`.
    pub at: String,
    pub recorded: String,
    pub now: String,
}

/// Goes through the steps of a run.
///
/// # Errors
/// When the sandbox cannot be used, or the steps are no run.
pub async fn replay(
    (desk, suite): (&Desk, Option<&Suite>),
    manifest: &Manifest,
    steps: &[Step],
    cancel: &CancellationToken,
) -> Result<Replayed, Broken> {
    let mut steps = steps.iter().cloned().peekable();
    let Some(Step::Started(started)) = steps.next() else {
        return Err(Broken::Bug("the journal in it does not begin with a start".into()));
    };
    let mut run = Run::start(*started);
    let mut replayed = Replayed::default();
    while let Some(step) = steps.next() {
        if cancel.is_cancelled() {
            break;
        }
        if let (Step::Reproduced { before, .. }, Some(suite)) = (&step, suite) {
            let workspace = desk.checkout.fresh_copy(&suite.workspaces).await?;
            let now = suite::run(suite, &workspace, &[], cancel)
                .await
                .map_err(suite::Error::from)?;
            replayed.compare(
                "the tests at the head",
                &told(before),
                &told(&now.excusing(&before.excused)),
            );
        }
        let is_attempt = matches!(step, Step::Said(_) | Step::Searched(_)) || (is_answer(&step) && run.said.is_empty());
        if !is_attempt {
            run.take(step);
            continue;
        }
        // One attempt: what was said up to its outcome.
        let before = run.clone();
        let mut attempt = vec![step];
        while !is_answer(attempt.last().unwrap_or(&Step::Announced)) {
            match steps.next_if(|step| is_part(step) || is_answer(step)) {
                Some(step) => attempt.push(step),
                None => break,
            }
        }
        replayed.attempts += 1;
        let model = recorded(&attempt, manifest.speech, manifest.context);
        again(
            (desk, suite),
            (&model, manifest),
            (&before, &attempt),
            &mut replayed,
            cancel,
        )
        .await?;
        attempt.into_iter().for_each(|step| run.take(step));
    }
    Ok(replayed)
}

fn is_part(step: &Step) -> bool {
    matches!(
        step,
        Step::Said(_)
            | Step::Searched(_)
            | Step::Deferred(_)
            | Step::Resolved(_)
            | Step::Spent(_)
            | Step::GateOpened(_)
            | Step::Answered { .. }
    )
}

/// Whether a step is what came of an attempt.
fn is_answer(step: &Step) -> bool {
    let by_work = |end: &End| {
        matches!(
            end,
            End::GaveUp { .. }
                | End::NotFound { .. }
                | End::LimitReached { .. }
                | End::Explained(_)
                | End::Refused { .. }
                | End::NothingToFix { .. }
        )
    };
    match step {
        Step::Proposed(_) | Step::TestsWritten(_) => true,
        Step::Ended(end) => by_work(end),
        _ => false,
    }
}

/// Makes one attempt once more, and compares it with what was recorded of it.
async fn again(
    (desk, suite): (&Desk, Option<&Suite>),
    (model, manifest): (&Recorded, &Manifest),
    (run, attempt): (&Run, &[Step]),
    replayed: &mut Replayed,
    cancel: &CancellationToken,
) -> Result<(), Broken> {
    let recorded: Vec<&Value> = attempt.iter().filter_map(said).collect();
    let suite = suite.filter(|_| run.may_execute());
    let engine = match recorded.is_empty() {
        true => Engine::BuiltIn,
        false => Engine::Recorded { model },
    };
    let mut requests = attempt.iter().filter_map(|step| match step {
        Step::Deferred(deferred) => Some(&**deferred),
        _ => None,
    });
    let mut answers = attempt.iter().filter_map(|step| match step {
        Step::Resolved(item) => Some(item),
        _ => None,
    });
    let (before, triage) = run.reproduced.as_ref().map(|(before, triage)| (before, triage)).unzip();
    let mut may_ask = match manifest.asks_nobody {
        true => 0,
        false => run.may_ask(),
    };
    let search = searched(run, attempt);
    let mut now: Vec<Value> = Vec::new();
    let at = format!("attempt {}", replayed.attempts);
    let outcome = loop {
        let brief = Brief {
            mode: &run.started.mode,
            tests_first: run.tests_first.as_ref(),
            turned_down_tests: &run.turned_down_tests,
            may_ask,
            memory: &manifest.memory,
            head: &run.started.head,
            before,
            triage,
            reading: run.reading.as_ref(),
            turned_down: &run.turned_down,
            uncounted: run.spent + now.iter().map(Spend::of_item).sum(),
            search: &search,
            said: &now.clone(),
        };
        let kept = std::sync::Mutex::new(&mut now);
        let mut keep = |item: Value| {
            kept.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(item);
            async { Ok(()) }.boxed()
        };
        let watch = work::Watch {
            keep: &mut keep,
            progress: &mut |_| {},
            searched: &mut |_| async { Ok(()) }.boxed(),
            live: &|_| {},
            cancel,
        };
        match work::work(desk, suite, engine, &brief, watch).await {
            Ok(Outcome::Deferred(deferred)) => {
                may_ask = may_ask.saturating_sub(1);
                let asked = |deferred: &Deferred| serde_json::to_string(deferred).unwrap_or_default();
                let expected = requests.next().map(asked).unwrap_or_default();
                replayed.compare(&format!("{at}, what the model asks for"), &expected, &asked(&deferred));
                match answers.next() {
                    Some(item) => now.push(item.clone()),
                    None => break "waiting for an answer".to_string(),
                }
            }
            Ok(outcome) => break outcome_told(&outcome),
            // The recording has no further reply: that is where it was cut.
            Err(Broken::Agent(_)) if attempt.last().is_none_or(|last| !is_answer(last)) => break "cut off".into(),
            Err(broken) => break broken_told(&broken),
        }
    };
    replayed.compare_items(&at, &recorded, &now);
    let expected = attempt
        .last()
        .filter(|last| is_answer(last))
        .map_or("cut off".into(), step_told);
    replayed.compare(&format!("{at}, what came of it"), &expected, &outcome);
    Ok(())
}

/// What was searched when the model began; a search that no model followed is made once more.
fn searched(run: &Run, attempt: &[Step]) -> Search {
    let mut search = run.search.clone();
    if attempt.iter().any(|step| said(step).is_some()) {
        let parts = attempt.iter().filter_map(|step| match step {
            Step::Searched(part) => Some((**part).clone()),
            _ => None,
        });
        parts.for_each(|part| search.join(part));
    }
    search
}

/// The model as it was: one that was told only later to act by code refuses tools first.
fn recorded(attempt: &[Step], speech: Speech, context: u64) -> Recorded {
    let model = Recorded::new(replies(attempt)).with_context(context);
    let first = attempt
        .iter()
        .find_map(said)
        .map(|item| serde_json::from_value::<Item>(item.clone()));
    match (speech, first) {
        (Speech::Code, Some(Ok(task))) if !agent::acts_by_code(&vec![task.clone()].into()) => model.refusing_tools(),
        (speech, _) => model.speaking(speech),
    }
}

fn replies(attempt: &[Step]) -> Vec<Reply> {
    let items = attempt
        .iter()
        .filter_map(said)
        .map(|value| serde_json::from_value(value.clone()));
    items
        .filter_map(|item| match item {
            Ok(Item::Reply(reply)) => Some(reply),
            _ => None,
        })
        .collect()
}

fn said(step: &Step) -> Option<&Value> {
    match step {
        Step::Said(item) | Step::Resolved(item) => Some(item),
        _ => None,
    }
}

impl Replayed {
    /// Holds two transcripts against each other.
    fn compare_items(&mut self, at: &str, recorded: &[&Value], now: &[Value]) {
        for at_item in 0..recorded.len().max(now.len()) {
            let recorded = recorded.get(at_item).map(ToString::to_string).unwrap_or_default();
            let now = now.get(at_item).map(ToString::to_string).unwrap_or_default();
            self.compare(&format!("{at}, item {}", at_item + 1), &recorded, &now);
        }
        self.turns += recorded.iter().filter(|value| value.get("reply").is_some()).count();
        self.results += recorded.iter().filter(|value| value.get("result").is_some()).count();
    }

    fn compare(&mut self, at: &str, recorded: &str, now: &str) {
        if recorded != now && steady(recorded) != steady(now) {
            self.differences.push(Difference {
                at: at.into(),
                recorded: bounded(recorded, MAX_SHOWN),
                now: bounded(now, MAX_SHOWN),
            });
        }
    }
}

/// A text without what differs from run to run: durations, addresses, and the names of throw-away folders.
fn steady(text: &str) -> String {
    static CHANGING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|m|seconds?|secs?)\b|0x[0-9a-fA-F]+|/tmp/[\w./-]+|\b(ws|tree|fix)-\w+",
        )
        .ok()
    });
    match &*CHANGING {
        Some(changing) => changing.replace_all(text, "#").into_owned(),
        None => text.into(),
    }
}

/// What is asked here is a recording: it can only be at its end.
fn broken_told(broken: &Broken) -> String {
    match broken {
        Broken::Agent(agent::Error::Model(ModelError::Nonsense { .. })) => {
            "no end: the model is asked once more than was recorded".into()
        }
        broken => format!("broken: {broken}"),
    }
}

fn told(run: &crate::domain::test_run::TestRun) -> String {
    let mut failing: Vec<&str> = run.failing_names().collect();
    failing.sort_unstable();
    match failing.join(", ").as_str() {
        "" => run.summary(),
        names => format!("{}: {names}", run.summary()),
    }
}

fn outcome_told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Proposed(proposal) => step_told(&Step::Proposed(proposal.clone())),
        Outcome::TestsWritten(tests) => step_told(&Step::TestsWritten(tests.clone())),
        Outcome::Explained(explanation) => step_told(&Step::Ended(End::Explained(explanation.clone()))),
        Outcome::GaveUp { reason } | Outcome::LimitReached { reason, found: None } => format!("gave up: {reason}"),
        Outcome::NotFound { reason, .. } => format!("not found: {reason}"),
        Outcome::Refused { reason } => format!("refused: {reason}"),
        Outcome::NothingToDo { reason } => format!("nothing to do: {reason}"),
        Outcome::LimitReached { reason, .. } => format!("limit: {reason}"),
        Outcome::Deferred(_) => "waiting for an answer".into(),
        Outcome::ActsByCode => "acts by code alone".into(),
        Outcome::Interrupted => "interrupted".into(),
    }
}

/// What an attempt came to, by what it is identified by.
fn step_told(step: &Step) -> String {
    match step {
        Step::Proposed(proposal) => {
            let proof = proposal
                .evidence
                .as_ref()
                .map_or("nothing was executed".into(), |it| it.after.summary());
            format!("proposed {}: {proof}", proposal.patch.digest())
        }
        Step::TestsWritten(tests) => format!("tests {}: {}", tests.patch.digest(), tests.names.join(", ")),
        Step::Ended(End::Explained(explanation)) => serde_json::to_string(explanation).unwrap_or_default(),
        Step::Ended(End::GaveUp { reason }) => format!("gave up: {reason}"),
        Step::Ended(End::NotFound { reason, .. }) => format!("not found: {reason}"),
        Step::Ended(End::LimitReached { reason, .. }) => format!("limit: {reason}"),
        Step::Ended(End::Refused { reason }) => format!("refused: {reason}"),
        Step::Ended(End::NothingToFix { reason }) => format!("nothing to do: {reason}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_no_difference() {
        let mut replayed = Replayed::default();
        replayed.compare(
            "a",
            "1 failed in 0.12s at /tmp/ws-abc/x.py 0x7f",
            "1 failed in 0.31s at /tmp/ws-def/x.py 0x8a",
        );
        assert!(replayed.differences.is_empty(), "{replayed:?}");
        replayed.compare("b", "1 failed", "2 failed");
        assert_eq!(replayed.differences.len(), 1);
    }
}
