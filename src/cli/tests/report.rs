//! The output of `greenlight tests`: text for people, one JSON document for scripts.

use serde_json::{Value, json};

use super::super::failures::{self, Detail};
use super::super::{Exit, terminal};
use super::TestCommand;
use crate::domain::clock::millis_in_words;
use crate::domain::count::count;
use crate::domain::test_run::{Failure, Outcome, TestRun};

/// How many notes on unreadable reports are shown.
const SHOWN_NOTES: usize = 8;

/// What is known so far.
#[derive(Default)]
pub(super) struct TestsReport {
    /// The test commands that are run, one after another.
    pub(super) commands: Vec<TestCommand>,
    /// The other test commands that were found.
    pub(super) others: Vec<TestCommand>,
    /// The results so far, in the order of the commands.
    pub(super) runs: Vec<TestRun>,
}

impl TestsReport {
    /// The document of `--json`.
    pub(super) fn document(&self, exit: &Exit) -> Value {
        let message = match exit {
            Exit::Stopped => Some("stopped"),
            other => other.reason(),
        };
        let mut document = results(&self.runs);
        document.insert("command".into(), json!(self.commands.first().map(described)));
        let others = self.commands.iter().skip(1).chain(&self.others);
        document.insert("other_commands".into(), others.map(described).collect());
        document.insert("message".into(), json!(message));
        if self.commands.len() > 1 {
            let suites = self.commands.iter().zip(&self.runs).map(|(command, run)| {
                let mut suite = results(std::slice::from_ref(run));
                suite.insert("command".into(), described(command));
                suite
            });
            document.insert("suites".into(), json!(suites.collect::<Vec<_>>()));
        }
        Value::Object(document)
    }

    /// Shows what runs and what else was found, and if asked, what each suite lacks here and what does not run.
    pub(super) fn show_commands(&self, with_notes: bool) {
        for command in &self.commands {
            terminal::show(&format!("runs `{command}`"));
            terminal::show(&format!("  found in {}, read as {}", command.source, command.framework));
            // Before tests run, the notes on each suite are shown when its turn comes.
            for note in command.lacks().iter().filter(|_| with_notes) {
                terminal::show(&format!("  note: {note}"));
            }
        }
        for other in &self.others {
            terminal::show(&format!("also found, and not run: `{other}` in {}", other.source));
        }
    }

    pub(super) fn show_last_run(&self, detail: Detail) {
        let Some(run) = self.runs.last() else { return };
        if self.commands.len() > 1 {
            terminal::show(&format!("\n`{}`", run.command));
        }
        terminal::show(&format!("\n{}", headline(run)));
        failures::show(run, detail);
        for note in run.unread.iter().take(SHOWN_NOTES) {
            terminal::show(&format!("\nnote: part of a report cannot be read: {note}"));
        }
    }
}

/// `Failed: 4 tests, 1 passed, 3 failed, in 0.4 s`: numbers of zero are left out.
fn headline(run: &TestRun) -> String {
    let mut words = run.outcome.words().to_string();
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let took = millis_in_words(run.duration_ms);
    let counted = [
        (run.passed, "passed"),
        (run.failed, "failed"),
        (run.skipped, "skipped"),
        (run.expected_failures, "failed as expected"),
    ];
    let counted: String = counted
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!(", {number} {what}"))
        .collect();
    match total(run) {
        0 => format!("{words}, after {took}"),
        // Compiler diagnostics, or files that could not be loaded.
        _ if are_errors(run.outcome) && run.passed + run.skipped == 0 => {
            format!("{words}: {}, in {took}", count(u64::from(run.failed), "error"))
        }
        all => format!("{words}: {}{counted}, in {took}", count(u64::from(all), "test")),
    }
}

/// The results of some runs: the first outcome that is not green, sums, and all tests.
fn results(runs: &[TestRun]) -> serde_json::Map<String, Value> {
    let sum = |of: fn(&TestRun) -> u32| {
        let counts = runs.iter().map(of);
        counts.reduce(u32::saturating_add)
    };
    let telling = runs.iter().find(|run| !run.is_green()).or(runs.first());
    let all = [
        ("outcome", json!(telling.map(|run| run.outcome))),
        ("total", json!(sum(total))),
        ("passed", json!(sum(|run| run.passed))),
        ("failed", json!(sum(|run| run.failed))),
        ("skipped", json!(sum(|run| run.skipped))),
        ("expected_failures", json!(sum(|run| run.expected_failures))),
        ("tally", json!(telling.map(|run| &run.summary_counts))),
        (
            "unread",
            json!((!runs.is_empty()).then(|| runs.iter().flat_map(|run| &run.unread).collect::<Vec<_>>())),
        ),
        (
            "duration_ms",
            json!(runs.iter().map(|run| run.duration_ms).reduce(u64::saturating_add)),
        ),
        (
            "tests",
            json!((!runs.is_empty()).then(|| runs.iter().flat_map(tests).collect::<Vec<_>>())),
        ),
        ("tail", json!(telling.map(|run| &run.tail))),
    ];
    all.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Whether failures are errors before any test.
fn are_errors(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Passed | Outcome::Failed) && !outcome.was_ended()
}

fn described(command: &TestCommand) -> Value {
    json!({
        "line": command.to_string(),
        "argv": command.argv,
        "directory": command.directory,
        "framework": command.framework,
        "source": command.source.to_string(),
        "services": command.services(),
        "not_run": command.left_out,
    })
}

fn total(run: &TestRun) -> u32 {
    [run.passed, run.failed, run.skipped, run.expected_failures]
        .into_iter()
        .fold(0, u32::saturating_add)
}

/// Every test by its name, if names are kept.
fn tests(run: &TestRun) -> Vec<Value> {
    let named = |names: &[String], outcome: &str| -> Vec<Value> {
        names
            .iter()
            .map(|name| json!({ "id": name, "outcome": outcome }))
            .collect()
    };
    let failures = run.failures.iter().map(failed);
    failures
        .chain(named(&run.passed_names, "passed"))
        .chain(named(&run.skipped_names, "skipped"))
        .collect()
}

fn failed(failure: &Failure) -> Value {
    json!({
        "id": failure.name,
        "outcome": "failed",
        "file": failure.location.as_ref().map(|at| &at.path),
        "line": failure.location.as_ref().map(|at| at.line),
        "message": failure.message,
        "expected": failure.expected,
        "actual": failure.actual,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summarised_in_words() {
        let run = |outcome, passed, failed| TestRun {
            passed,
            failed,
            duration_ms: 25_271,
            ..TestRun::without_result("pytest", outcome, "")
        };
        let told = [
            (Outcome::Passed, 1, 0),
            (Outcome::Failed, 2, 1),
            (Outcome::MissingModule, 0, 1),
            (Outcome::DidNotBuild, 0, 2),
            (Outcome::Panicked, 0, 2),
            (Outcome::DidNotStart, 0, 0),
        ]
        .map(|(outcome, passed, failed)| headline(&run(outcome, passed, failed)));
        assert_eq!(
            told,
            [
                "Passed: 1 test, 1 passed, in 25.3 s",
                "Failed: 3 tests, 2 passed, 1 failed, in 25.3 s",
                "A module is missing: 1 error, in 25.3 s",
                "Does not build: 2 errors, in 25.3 s",
                "Panicked: 2 tests, 2 failed, in 25.3 s",
                "Could not be started, after 25.3 s",
            ]
        );
    }
}
