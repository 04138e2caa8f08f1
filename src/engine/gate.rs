//! Opens the gates of a run. A digest binds what exactly an approval permits.

use jiff::Timestamp;

use super::worktree::Worktree;
use super::{Broken, work};
use crate::domain::gate::{Circumstances, Gate, GateKind};
use crate::domain::run::{GateNeeded, Run};
use crate::domain::{redact, reply};

/// Opens the next gate. `command` is the test command and its time limit in minutes, for the gates that permit
/// running it. `now` is the time of the journal.
///
/// # Errors
/// When the run has nothing to ask about.
pub fn open(
    run: &Run,
    needed: GateNeeded,
    command: Option<(String, u64)>,
    worktree: Option<&Worktree>,
    now: Timestamp,
) -> Result<Gate, Broken> {
    let nothing = || Broken::Bug("there is no request".into());
    let proposed = || {
        let proposal = run.proposal.as_ref().ok_or_else(nothing)?;
        Ok::<_, Broken>((proposal, proposal.patch.paths().count(), proposal.patch.digest()))
    };
    let (kind, content) = match needed {
        GateNeeded::Execute => return request(run, worktree, now),
        GateNeeded::Land => {
            let (_, files, patch) = proposed()?;
            (GateKind::Land { files }, patch)
        }
        GateNeeded::ChangeTests => {
            let (proposal, files, patch) = proposed()?;
            let weakenings = proposal.weakens.len();
            (GateKind::ChangeTests { files, weakenings }, patch)
        }
        GateNeeded::Tests => {
            let tests = run.tests_first.as_ref().ok_or_else(nothing)?;
            let kind = GateKind::Tests {
                files: tests.patch.paths().count(),
                tests: tests.names.len(),
            };
            (kind, tests.patch.digest())
        }
        GateNeeded::Search => {
            let (command, minutes) = command.ok_or_else(nothing)?;
            let content = command.clone();
            (GateKind::Search { command, minutes }, content)
        }
        GateNeeded::VerifyAndLand => {
            let (command, minutes) = command.ok_or_else(nothing)?;
            let (_, files, patch) = proposed()?;
            let content = format!("{patch}\n{command}");
            let kind = GateKind::VerifyAndLand {
                command,
                minutes,
                files,
            };
            (kind, content)
        }
    };
    let terms = run.terms(now);
    Ok(Gate::open(run.id(), run.gates.len(), kind, &content, terms))
}

/// Opens the gate for the execution the model is waiting for.
fn request(run: &Run, worktree: Option<&Worktree>, now: Timestamp) -> Result<Gate, Broken> {
    let (Some(deferred), Some(worktree)) = (&run.deferred, worktree) else {
        return Err(Broken::Bug("there is no request".into()));
    };
    let execution = &deferred.execution;
    let circumstances = Circumstances {
        command: worktree.executes_for(&execution.what),
        edits: Some(work::edits(worktree, work::stage(run), &run.said)?.unified())
            .filter(|diff| diff.len() <= reply::MAX_EDITS && redact::redact(diff) == *diff),
    };
    let terms = run.terms(now);
    Ok(Gate::open_request(
        run.id(),
        run.gates.len(),
        execution,
        circumstances,
        terms,
    ))
}
