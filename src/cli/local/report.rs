//! The output of the commands on a local checkout: text for people, one JSON document for scripts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::failures::{self, Detail};
use super::super::{Exit, terminal};
use super::open::OpenPage;
use crate::domain::clock::{Clock, millis_in_words};
use crate::domain::explanation::Explanation;
use crate::domain::finding::Finding;
use crate::domain::measures::Measure;
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Author, Claim, Proposal, TestsFirst};
use crate::domain::redact;
use crate::domain::reply::{self, MAX_EDITS};
use crate::domain::run::{End, Run};
use crate::domain::search::{Rung, Search};
use crate::domain::spend::Spend;
use crate::domain::test_run::TestRun;
use crate::domain::triage::{Triage, Verdict};
use crate::engine::work::BASE;
use crate::suite::RunClock;

/// How many patches that are not proposed are shown.
const MAX_UNVERIFIED: usize = 5;

/// What became of the proposal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    NotWritten,
    /// It was not written because the caller only wants to know it.
    OnlyProposed,
    Written,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct RunReport {
    /// The name of the mode.
    pub(super) mode: &'static str,
    pub(super) tests: Option<TestsFirst>,
    pub(super) explanation: Option<Explanation>,
    pub(super) found: Option<Finding>,
    /// The result of a search without a model.
    pub(super) search: Option<Search>,
    pub(super) command: Option<String>,
    /// Commands that run other tests of this checkout, and did not run.
    pub(super) not_run: Vec<String>,
    /// The results of other suites, which have no failure to work on.
    pub(super) others: Vec<(TestRun, Triage)>,
    pub(super) before: Option<(TestRun, Triage)>,
    pub(super) proposal: Option<Proposal>,
    pub(super) fate: Fate,
    /// Whether the checkout equals its last commit, apart from the proposal.
    pub(super) is_committed: bool,
    /// How many fixes are left out because they were turned down, in this run or earlier.
    pub(super) left_out: usize,
    /// What the model used.
    pub(super) spend: Spend,
    /// The time spent on tests, and on the model.
    pub(super) clocks: (RunClock, Clock),
    /// Where the run is shown in a browser.
    pub(super) page: Option<OpenPage>,
}

impl RunReport {
    pub(super) fn of(mode: &Mode) -> Self {
        Self {
            mode: mode.name(),
            ..Self::default()
        }
    }

    /// The document of `--json`, for work that took this long.
    pub(super) fn document(&self, exit: &Exit, wall: Duration) -> Value {
        let (outcome, message) = match exit {
            Exit::Done if self.explanation.is_some() => ("explained", None),
            Exit::Done if self.proposal.is_some() => match self.mode {
                "tdd" => ("implemented", None),
                "refactor" => ("refactored", None),
                _ => ("fixed", None),
            },
            Exit::Done => ("nothing_to_fix", None),
            Exit::NoFix(text) => ("no_fix", Some(text.as_str())),
            Exit::Usage(text) => ("usage", Some(text.as_str())),
            Exit::Refused(text) if self.fate == Fate::OnlyProposed => ("proposed", Some(text.as_str())),
            Exit::Refused(text) => ("refused", Some(text.as_str())),
            Exit::Limit(text) => ("limit", Some(text.as_str())),
            Exit::Environment(text) => ("environment", Some(text.as_str())),
            Exit::Fault(text) => ("fault", Some(text.as_str())),
            Exit::Stopped => ("stopped", None),
        };
        let proposal = self.proposal.as_ref().map(|proposal| {
            json!({
                "kind": kind(self.mode, proposal),
                "summary": proposal.summary,
                "author": match &proposal.author { Author::BuiltIn => "builtin", Author::Model(name) => name, Author::Remembered(_) => "memory" },
                "rung": proposal.found_by.map(|found_by| found_by.rung.name()),
                "files": proposal.patch.paths().map(ToString::to_string).collect::<Vec<_>>(),
                "patch": proposal.patch.unified(),
                "code": proposal.tests_first.as_ref().map(|_| proposal.code().unified()),
                "measures": proposal.measures,
                "evidence": proposal.evidence,
            })
        });
        let tests = self.tests.as_ref().map(|first| {
            json!({
                "summary": first.summary,
                "names": first.names,
                "files": first.patch.paths().map(ToString::to_string).collect::<Vec<_>>(),
                "patch": first.patch.unified(),
                "red": first.red,
            })
        });
        let found = self.found.as_ref().map(|found| {
            json!({
                "words": found.words,
                "unproved_edits": found.edits.as_ref().map(Patch::unified),
                "unfit": found.unfit,
            })
        });
        json!({
            "mode": self.mode,
            "tests": tests,
            "explanation": self.explanation,
            "found": found,
            "search": self.search.as_ref().map(searched),
            "outcome": outcome,
            "message": message,
            "test_command": self.command,
            "not_run": self.not_run,
            "other_suites": self.others.iter().map(other_suite).collect::<Vec<_>>(),
            "before": self.before.as_ref().map(|(before, _)| before),
            "triage": self.before.as_ref().map(|(_, triage)| triage),
            "proposal": proposal,
            "applied": self.fate == Fate::Written,
            "turned_down": self.left_out,
            "spent": self.spent(wall),
        })
    }

    /// Records the result of a run; `left_out` is how many fixes were turned down, in this run or earlier.
    pub(super) fn take(&mut self, run: &Run, left: &mut Leftover, left_out: usize) {
        self.page = left.page.take();
        self.before.clone_from(&run.reproduced);
        if let Some((before, _)) = &run.reproduced {
            self.command = Some(before.command.clone());
            let suites = run.suites.clone().unwrap_or_default();
            let not_run = suites.not_reached(before).map(str::to_string);
            self.not_run = not_run.chain(suites.unaffected.iter().cloned()).collect();
            self.others = suites.set_aside;
        }
        self.tests.clone_from(&run.tests_first);
        // The proposal that was turned down last is also the last proposal.
        let is_rejected = matches!(run.end, Some(End::Rejected { .. }));
        let turned_down = run.turned_down.last().filter(|_| is_rejected);
        let turned_down = turned_down.map(|down| &down.proposal);
        self.proposal = run.proposal.as_ref().or(turned_down).cloned();
        self.fate = match &run.end {
            Some(End::Written) => Fate::Written,
            // Nothing but the missing approval of the proposal ends such a run in this way.
            _ if left.proposes && left.exit.is_some() && self.proposal.is_some() => Fate::OnlyProposed,
            _ => Fate::NotWritten,
        };
        match &run.end {
            Some(End::Explained(explanation)) => self.explanation = Some((**explanation).clone()),
            Some(End::LimitReached { found, .. }) => self.found = found.as_deref().cloned(),
            _ => {}
        }
        self.search.clone_from(&left.search);
        self.spend = run.spent;
        self.left_out = left_out;
    }

    /// Names the checkout's other suites, because "green" covers only what ran.
    pub(super) fn tell_others(&self) {
        for (run, triage) in &self.others {
            terminal::mention(&match triage.verdict {
                Verdict::Green => format!("`{}`: {}", run.command, run.summary()),
                _ => triage.on(BASE).why_not(run),
            });
        }
        for other in &self.not_run {
            terminal::mention(&format!("not run: `{other}`"));
        }
    }

    /// How the time was spent, and what the model used.
    fn spent(&self, wall: Duration) -> Value {
        let (tests, model) = &self.clocks;
        let runs = tests.by_purpose();
        let own = wall.saturating_sub(tests.wall()).saturating_sub(model.wall());
        json!({
            "wall_ms": wall.as_millis(),
            "model_ms": model.wall().as_millis(),
            "tests_ms": tests.wall().as_millis(),
            "own_ms": own.as_millis(),
            "test_runs": tests.times(),
            "test_runs_for": runs.iter().map(|(purpose, times)| (purpose.name(), *times)).collect::<BTreeMap<_, _>>(),
            "turns": self.spend.turns,
            "prompt_tokens": self.spend.prompt_tokens,
            "cached_tokens": self.spend.cached_tokens,
            "completion_tokens": self.spend.completion_tokens,
            "cost_usd": self.spend.cost_micros.map(|micros| micros as f64 / 1e6),
        })
    }
}

/// The result of a suite without a failure to work on, for scripts.
fn other_suite((run, triage): &(TestRun, Triage)) -> Value {
    json!({
        "test_command": run.command,
        "outcome": run.outcome,
        "passed": run.passed,
        "failed": run.failed,
        "triage": triage,
    })
}

/// The kind of a proposal, as a word for scripts.
fn kind(mode: &str, proposal: &Proposal) -> &'static str {
    match (proposal.claim(), mode) {
        (Claim::TestMayBeWrong, _) => "tests",
        (Claim::Fix, "tdd") => "implementation",
        (Claim::Fix, "refactor") => "refactoring",
        (Claim::Fix, _) => "fix",
    }
}

/// A search, for scripts.
fn searched(search: &Search) -> Value {
    let unverified = search.unverified.iter().map(|one| {
        json!({
            "explanation": one.explanation,
            "still_failing": one.still_failing,
            "risks": one.risks,
            "patch": one.patch.unified(),
        })
    });
    json!({
        "tried": search.tried,
        "wall_ms": search.wall_ms,
        "suspects": search.suspects,
        "unverified": unverified.collect::<Vec<_>>(),
    })
}

/// Shows the patches that make failing tests pass but are not proposed. They are meant to be read, not to be written.
pub(super) fn show_unverified(report: &RunReport) {
    let unverified = match &report.search {
        Some(search) if report.proposal.is_none() => search.unverified.as_slice(),
        _ => return,
    };
    for one in unverified.iter().take(MAX_UNVERIFIED) {
        terminal::show(&format!("\n{}, not verified: {}", one.result(), one.explanation));
        for risk in &one.risks {
            terminal::show(&format!("  - {risk}"));
        }
        terminal::show_diff(&redact::bounded(one.patch.unified().trim_end(), MAX_EDITS));
    }
}

/// Names the tests that were excused, or failed before.
pub(super) fn tell_set_aside(triage: &Triage) {
    for test in triage.tests.iter().filter(|test| !test.name.is_empty()) {
        let is_set_aside = test.verdict != Verdict::Deterministic;
        if is_set_aside || test.base.red > 0 {
            let aside = if is_set_aside { "; set aside" } else { "" };
            terminal::mention(&format!(
                "note: {}: {}{aside}",
                test.name,
                triage.on(BASE).numbers(test)
            ));
        }
    }
}

pub(super) fn show_failures(before: &TestRun, detail: Detail) {
    terminal::show(&format!("{}\n", before.summary()));
    failures::show(before, detail);
}

/// Shows the tests of a specification, and how they failed.
pub(super) fn show_tests(first: &TestsFirst, detail: Detail) {
    terminal::show(&format!("\n{}\n\nTests, seen to fail without the code:", first.summary));
    for name in &first.names {
        terminal::show(&format!("  {name}"));
    }
    terminal::show("");
    terminal::show_diff(first.patch.unified().trim_end());
    show_failures(&first.red, detail);
}

pub(super) fn show_explanation(explanation: &Explanation) {
    terminal::show(&format!("\n{}", explanation.root_cause));
    for because in &explanation.because {
        let lines = match because.from == because.to {
            true => because.from.to_string(),
            false => format!("{}-{}", because.from, because.to),
        };
        terminal::show(&format!("\n{}:{lines}: {}", because.path, because.says));
        let numbered = because.lines.lines().zip(because.from..);
        let lines: Vec<String> = numbered.map(|(line, at)| format!("{at:>5}  {line}")).collect();
        terminal::show_code(&lines.join("\n"));
    }
}

/// Says that this is not a fix, and how it weakens the tests.
fn show_change_of_tests(proposal: &Proposal) {
    terminal::show("\nTHE TEST MAY BE WRONG: this changes a test, not the code. It weakens the tests:");
    for weakening in &proposal.weakens {
        terminal::show_code(&format!("  - {}", weakening.to_string().replace(['\n', '\r'], " ")));
    }
}

/// Shows a proposal, and how to verify its evidence if nothing else will be uncommitted.
pub(super) fn show_proposal(proposal: &Proposal, is_committed: bool) {
    if proposal.claim() == Claim::TestMayBeWrong {
        show_change_of_tests(proposal);
    }
    terminal::show(&format!("\n{}\n", proposal.summary));
    if proposal.tests_first.is_some() {
        terminal::show("Code, besides the tests above:");
    }
    terminal::show_diff(proposal.code().unified().trim_end());
    if let Some(measures) = &proposal.measures {
        terminal::show("\nmeasured in the changed files:");
        for measure in Measure::ALL {
            let (before, after) = (measures.before.of(measure), measures.after.of(measure));
            terminal::show(&format!("  {measure}: {before} before, {after} after"));
        }
    }
    if let Some(found_by) = &proposal.found_by {
        let how = reply::found_by(found_by, "your change");
        terminal::show(&match found_by.rung {
            Rung::Memory => format!("\nfound among fixes accepted before: {how}"),
            _ => format!("\nfound without a model: {how}"),
        });
    }
    if let Some(evidence) = &proposal.evidence {
        terminal::show(&format!(
            "\nbefore: {} ({})\nafter:  {} ({}), on a fresh copy\ndigest: {}",
            evidence.before.summary(),
            millis_in_words(evidence.before.duration_ms),
            evidence.after.summary(),
            millis_in_words(evidence.after.duration_ms),
            evidence.digest
        ));
        // The evidence of other work compares trees that no checkout has together.
        let is_fix = proposal.tests_first.is_none() && proposal.measures.is_none();
        if is_committed && is_fix {
            let digest = &evidence.digest;
            terminal::show(&format!(
                "        once it is written, `greenlight verify --head HEAD --digest {digest}` recomputes it"
            ));
        }
        if let Some(spent) = &evidence.spent {
            terminal::show(&format!("spent:  {}", crate::domain::budget::spent(spent)));
        }
    }
}

/// What a run leaves once the door is closed.
pub(super) struct Leftover {
    /// Everything that was searched without a model, in all attempts.
    pub(super) search: Option<Search>,
    /// How the command ends, if the run does not say.
    pub(super) exit: Option<Exit>,
    /// Whether the caller only wants to know the proposal.
    pub(super) proposes: bool,
    /// Where the run is shown in a browser.
    pub(super) page: Option<OpenPage>,
}
