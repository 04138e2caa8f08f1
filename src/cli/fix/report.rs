//! What `greenlight fix` shows of its work: text for people, one JSON document for scripts.

use serde_json::{Value, json};

use super::super::{Exit, terminal};
use crate::domain::proposal::{Author, Proposal};
use crate::domain::test_run::TestRun;
use crate::domain::triage::{Triage, Verdict};

/// What is known so far.
#[derive(Default)]
pub(super) struct Report {
    pub(super) command: Option<String>,
    pub(super) before: Option<(TestRun, Triage)>,
    pub(super) proposal: Option<Proposal>,
    pub(super) is_applied: bool,
}

impl Report {
    /// The document of `--json`.
    pub(super) fn document(&self, exit: &Exit) -> Value {
        let (outcome, message) = match exit {
            Exit::Done if self.proposal.is_some() => ("fixed", None),
            Exit::Done => ("nothing_to_fix", None),
            Exit::NoFix(text) => ("no_fix", Some(text.as_str())),
            Exit::Usage(text) => ("usage", Some(text.as_str())),
            Exit::Refused(text) => ("refused", Some(text.as_str())),
            Exit::Limit(text) => ("limit", Some(text.as_str())),
            Exit::Fault(text) => ("fault", Some(text.as_str())),
            Exit::Stopped => ("stopped", None),
        };
        let proposal = self.proposal.as_ref().map(|proposal| {
            json!({
                "summary": proposal.summary,
                "author": match &proposal.author { Author::BuiltIn => "builtin", Author::Model(name) => name, Author::Remembered(_) => "memory" },
                "files": proposal.patch.paths().map(ToString::to_string).collect::<Vec<_>>(),
                "patch": proposal.patch.unified(),
                "evidence": proposal.evidence,
            })
        });
        json!({
            "outcome": outcome,
            "message": message,
            "test_command": self.command,
            "before": self.before.as_ref().map(|(before, _)| before),
            "triage": self.before.as_ref().map(|(_, triage)| triage),
            "proposal": proposal,
            "applied": self.is_applied,
        })
    }
}

/// Ends where there is nothing to search a fix for.
pub(super) fn judge(before: &TestRun, triage: &Triage) -> Result<(), Exit> {
    match triage.verdict {
        _ if triage.is_worked_on() => {
            for test in triage.tests.iter().filter(|test| !test.name.is_empty()) {
                let is_set_aside = test.verdict != Verdict::Deterministic;
                if is_set_aside || test.base.red > 0 {
                    let aside = if is_set_aside { "; set aside" } else { "" };
                    terminal::tell(&format!("note: {}: {}{aside}", test.name, test.numbers()));
                }
            }
            Ok(())
        }
        Verdict::Green => {
            terminal::tell(&format!("nothing to fix: {}", before.summary()));
            Ok(())
        }
        Verdict::Environment if triage.tests.iter().all(|test| test.name.is_empty()) => Err(Exit::NoFix(format!(
            "the tests could not be judged here: {}\n{}",
            before.summary(),
            before.tail
        ))),
        _ => {
            let lines = triage.lines(triage.tests.iter());
            let mut lines = lines.iter().map(|(name, numbers)| format!("\n  {name}: {numbers}"));
            let tests: String = if triage.tests.len() > 1 {
                lines.by_ref().collect()
            } else {
                String::new()
            };
            let why = triage.why_not(before);
            Err(Exit::NoFix(format!(
                "{why}, so there is nothing to search a fix for{tests}"
            )))
        }
    }
}

pub(super) fn show_failures(before: &TestRun) {
    terminal::show(&format!("{}\n", before.summary()));
    for failure in &before.failures {
        let at = failure
            .location
            .as_ref()
            .map_or_else(String::new, |at| format!("  ({}:{})", at.path, at.line));
        terminal::show(&format!("  {}{at}", failure.name));
        for line in failure.message.lines().take(6) {
            terminal::show(&format!("    {line}"));
        }
    }
}

pub(super) fn show_proposal(proposal: &Proposal) {
    terminal::show(&format!("\n{}\n", proposal.summary));
    terminal::show_code(proposal.patch.unified().trim_end());
    if let Some(evidence) = &proposal.evidence {
        terminal::show(&format!(
            "\nbefore: {} ({} ms)\nafter:  {} ({} ms), on a fresh copy\ndigest: {}",
            evidence.before.summary(),
            evidence.before.duration_ms,
            evidence.after.summary(),
            evidence.after.duration_ms,
            evidence.digest
        ));
    }
}
