//! Tries the suites of a repository with several, until one has a failure to work on.

use super::worktree::Worktree;
use crate::domain::mode::Mode;
use crate::domain::run::{Run, Step};
use crate::suite::Suite;

/// The step that says which suites a run tries. `None` if that is known, or there is only one.
pub(super) fn selected(run: &Run, worktree: &Worktree) -> Option<Step> {
    if run.suites.is_some() || !tries_the_next(run) {
        return None;
    }
    let selection = worktree.selection();
    let lines = |commands: Vec<_>| commands.iter().map(ToString::to_string).collect::<Vec<String>>();
    let (wanted, unaffected) = (lines(selection.wanted), lines(selection.unaffected));
    (wanted.len() + unaffected.len() > 1).then_some(Step::Suites { wanted, unaffected })
}

/// The result of a suite, or, if it has no failure to work on and is not the last one, the step that turns to the next.
pub(super) fn or_next(run: &Run, suite: &Suite, seen: Step) -> Step {
    let Step::Reproduced { before, triage } = seen else {
        return seen;
    };
    let this = suite.command.to_string();
    let is_last = run.suites.as_ref().is_none_or(|suites| {
        let mut others = suites.wanted.iter().filter(|command| **command != this);
        others.all(|command| suites.is_set_aside(command))
    });
    if is_last || triage.has_regression() || !tries_the_next(run) {
        return Step::Reproduced { before, triage };
    }
    Step::SetAside { before, triage }
}

/// Whether a green suite leads to the next one. In the other modes, the suite that is named first is the one whose code
/// changes.
fn tries_the_next(run: &Run) -> bool {
    matches!(run.started.mode, Mode::Debug | Mode::Explain)
}
