//! What `greenlight tests` shows: text for people, one JSON document for scripts.

use serde_json::{Value, json};

use super::super::{Exit, terminal};
use super::TestCommand;
use crate::domain::test_run::{Failure, TestRun};

/// Lines of a message that are shown.
const SHOWN_LINES: usize = 8;

/// What is known so far.
#[derive(Default)]
pub(super) struct Report {
    /// What was found, the one that is run first.
    pub(super) commands: Vec<TestCommand>,
    pub(super) run: Option<TestRun>,
}

impl Report {
    /// The document of `--json`.
    pub(super) fn document(&self, exit: &Exit) -> Value {
        let message = match exit {
            Exit::Done => None,
            Exit::NoFix(text) | Exit::Usage(text) | Exit::Refused(text) | Exit::Limit(text) | Exit::Fault(text) => {
                Some(text.as_str())
            }
            Exit::Stopped => Some("stopped"),
        };
        let mut commands = self.commands.iter().map(described);
        json!({
            "command": commands.next(),
            "other_commands": commands.collect::<Vec<_>>(),
            "message": message,
            "outcome": self.run.as_ref().map(|run| run.outcome),
            "total": self.run.as_ref().map(total),
            "passed": self.run.as_ref().map(|run| run.passed),
            "failed": self.run.as_ref().map(|run| run.failed),
            "skipped": self.run.as_ref().map(|run| run.skipped),
            "expected_failures": self.run.as_ref().map(|run| run.expected_failures),
            "tally": self.run.as_ref().map(|run| &run.tally),
            "duration_ms": self.run.as_ref().map(|run| run.duration_ms),
            "tests": self.run.as_ref().map(tests),
            "tail": self.run.as_ref().map(|run| &run.tail),
        })
    }

    pub(super) fn show_commands(&self) {
        let mut commands = self.commands.iter();
        if let Some(first) = commands.next() {
            terminal::show(&format!("runs `{first}`"));
            terminal::show(&format!("  found in {}, read as {}", first.source, first.framework));
        }
        for other in commands {
            terminal::show(&format!("also found: `{other}` in {}", other.source));
        }
    }

    pub(super) fn show_run(&self) {
        let Some(run) = &self.run else { return };
        terminal::show(&format!(
            "\n{:?}: {} tests, {} passed, {} failed, {} skipped, {} failed as expected, in {} ms",
            run.outcome,
            total(run),
            run.passed,
            run.failed,
            run.skipped,
            run.expected_failures,
            run.duration_ms
        ));
        for failure in &run.failures {
            let at = failure
                .location
                .as_ref()
                .map_or_else(String::new, |at| format!("  ({}:{})", at.path, at.line));
            terminal::show(&format!("\n  {}{at}", failure.name));
            for line in failure.message.lines().take(SHOWN_LINES) {
                terminal::show(&format!("    {line}"));
            }
        }
        let shown = u32::try_from(run.failures.len()).unwrap_or(u32::MAX);
        if run.failed > shown {
            terminal::show(&format!("\n  … and {} more", run.failed - shown));
        }
        if !run.is_green() && run.failures.is_empty() {
            terminal::show(&format!("\n{}", run.tail));
        }
    }
}

fn described(command: &TestCommand) -> Value {
    json!({
        "line": command.to_string(),
        "argv": command.argv,
        "directory": command.directory,
        "framework": command.framework,
        "source": command.source.to_string(),
    })
}

fn total(run: &TestRun) -> u32 {
    [run.passed, run.failed, run.skipped, run.expected_failures]
        .into_iter()
        .fold(0, u32::saturating_add)
}

/// Every test by its name, as far as names are kept.
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
