//! Maps the end of a run on a checkout to the end of the command.

use super::super::{Exit, terminal};
use super::report::RunReport;
use crate::domain::count::count;
use crate::domain::gate::GateKind;
use crate::domain::id::CommitSha;
use crate::domain::mode::Mode;
use crate::domain::run::{End, MAX_PROPOSALS, Run};
use crate::domain::test_run::{TestRun, complaint};
use crate::domain::triage::{Triage, Verdict};
use crate::engine::work::BASE;

/// How many lines of the output are shown if the tests could not be judged.
const SHOWN_LINES: usize = 12;

/// Whether the end says how the tests failed, so that nothing else has to.
pub(super) fn says_it_all(run: &Run) -> bool {
    match (&run.end, &run.reproduced) {
        (Some(End::NothingToFix { .. }), _) => true,
        (Some(End::NotJudged { .. }), Some((before, _))) => before.failures.is_empty(),
        _ => false,
    }
}

/// Says how the run ended.
///
/// # Errors
/// Every end except a fix, an explanation, and nothing to do.
pub(super) fn of(run: &Run, report: &RunReport) -> Result<(), Exit> {
    let mode = &run.started.mode;
    if let Some(End::GaveUp { .. } | End::NotFound { .. } | End::LimitReached { .. }) = &run.end {
        report.tell_others();
    }
    match &run.end {
        Some(End::Written) => {
            written(run, report);
            report.tell_others();
            Ok(())
        }
        Some(End::Explained(_)) => Ok(()),
        Some(End::NothingToFix { reason }) => {
            match &run.reproduced {
                Some((before, triage)) if mode.is_debug() => nothing(before, triage)?,
                Some((before, _)) if *mode == Mode::Explain && before.is_green() => {
                    terminal::tell(&format!("nothing to explain: {}", before.summary()));
                }
                _ => terminal::tell(reason),
            }
            report.tell_others();
            Ok(())
        }
        Some(End::NotJudged { reason }) => Err(match &run.reproduced {
            Some((before, triage)) => not_judged(before, triage),
            None => Exit::Environment(reason.clone()),
        }),
        Some(End::GaveUp { reason }) if mode.is_debug() => Err(Exit::NoFix(format!("no fix found. {reason}"))),
        Some(End::GaveUp { reason }) => Err(Exit::NoFix(reason.clone())),
        Some(End::NotFound { reason, search }) => Err(match search.limit {
            Some(_) => Exit::Limit(format!("no fix found. {reason}")),
            None => Exit::NoFix(format!("no fix found. {reason}")),
        }),
        Some(End::LimitReached { reason, .. }) => Err(Exit::Limit(reason.clone())),
        Some(End::Refused { reason }) => Err(Exit::Refused(reason.clone())),
        Some(End::Rejected { reason, .. }) => Err(Exit::Refused(rejected(run, reason.is_some()))),
        Some(End::Expired) => Err(Exit::Refused("nobody answered in time; nothing was written".into())),
        None => Err(Exit::Stopped),
        Some(end) => Err(Exit::Fault(format!(
            "the run ended as `{}`, which is impossible on a checkout",
            end.name()
        ))),
    }
}

/// Says in one line what was achieved, and below it how to look at it.
fn written(run: &Run, report: &RunReport) {
    let done = match run.started.mode {
        Mode::Debug | Mode::Explain => "fixed",
        Mode::Tdd { .. } => "implemented",
        Mode::Refactor { .. } => "refactored",
    };
    let proposal = report.proposal.as_ref();
    let evidence = proposal.and_then(|proposal| proposal.evidence.as_ref());
    let counts = evidence.map_or_else(String::new, |evidence| {
        format!(
            ": {} before, {} now;",
            evidence.before.summary(),
            evidence.after.summary()
        )
    });
    let files = proposal.map_or(0, |proposal| proposal.patch.paths().count());
    let files = count(files as u64, "file");
    terminal::tell(&format!("{done}{counts} {files} written to the working tree"));
    let command = report.command.as_deref().unwrap_or_default();
    terminal::tell(&match run.started.head == CommitSha::none() {
        true => format!("`{command}` runs the tests"),
        false => format!("`git diff` shows it, `{command}` runs the tests"),
    });
}

/// Says what the environment lacks, and which tests show it.
fn not_judged(before: &TestRun, triage: &Triage) -> Exit {
    let why = triage.on(BASE).why_not(before);
    let is_explained = triage
        .tests
        .iter()
        .any(|test| test.program.is_some() || !test.packages.is_empty());
    let said = complaint(&before.tail, SHOWN_LINES);
    if before.failures.is_empty() && !is_explained && said.lines().count() > 1 {
        return Exit::Environment(format!("{why}\n{said}"));
    }
    Exit::Environment(why + &each(triage))
}

/// Says that there is nothing to fix.
///
/// # Errors
/// Why nothing was searched although tests fail.
fn nothing(before: &TestRun, triage: &Triage) -> Result<(), Exit> {
    let on_base = triage.on(BASE);
    match triage.verdict {
        Verdict::Green => {
            terminal::tell(&format!("nothing to fix: {}", before.summary()));
            Ok(())
        }
        _ => {
            let why = on_base.why_not(before);
            let tests = each(triage);
            Err(Exit::NoFix(format!("{why}, so there is no fix to look for{tests}")))
        }
    }
}

/// The numbers of each test, if there are several.
fn each(triage: &Triage) -> String {
    if triage.tests.len() < 2 {
        return String::new();
    }
    let lines = triage.on(BASE).lines(triage.tests.iter());
    lines
        .iter()
        .map(|(name, numbers)| format!("\n  {name}: {numbers}"))
        .collect()
}

fn rejected(run: &Run, has_reason: bool) -> String {
    let last = run.gates.iter().rfind(|asked| !asked.gate.kind.is_for_the_model());
    let is_about_tests = last.is_some_and(|asked| matches!(asked.gate.kind, GateKind::Tests { .. }));
    match (is_about_tests, has_reason) {
        (true, true) => format!("{MAX_PROPOSALS} sets of tests were turned down; nothing was written"),
        (true, false) => "the tests were not approved; nothing was written".into(),
        (false, true) => format!(
            "{MAX_PROPOSALS} {}s were turned down; nothing was written",
            made(&run.started.mode)
        ),
        (false, false) => "not approved; nothing was written".into(),
    }
}

/// What a mode produces, as a word for sentences.
pub(super) fn made(mode: &Mode) -> &'static str {
    match mode {
        Mode::Debug | Mode::Explain => "fix",
        Mode::Tdd { .. } => "change",
        Mode::Refactor { .. } => "refactoring",
    }
}
