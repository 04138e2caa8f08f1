//! The first half of tdd on a local checkout: tests that fail as they should, shown, and asked about where that is wanted.

use tokio_util::sync::CancellationToken;

use super::super::answer::Answer;
use super::super::{Exit, terminal};
use super::question::{self, What};
use super::report::{self, Report};
use super::{Asked, SoFar};
use crate::domain::id::CommitSha;
use crate::domain::run::{MAX_PROPOSALS, TestsFirst};
use crate::engine::work::Outcome;

/// Has the tests written, until nobody has anything against them.
pub(super) async fn written(
    asked: &Asked<'_>,
    head: &CommitSha,
    report: &mut Report,
    cancel: &CancellationToken,
) -> Result<TestsFirst, Exit> {
    let mut turned_down = Vec::new();
    for _ in 0..MAX_PROPOSALS {
        let so_far = SoFar {
            turned_down_tests: &turned_down,
            ..SoFar::default()
        };
        let first = match super::attempt(asked, head, so_far, cancel).await? {
            Outcome::TestsWritten(first) => *first,
            outcome => return Err(super::unfinished(outcome, report)),
        };
        report.tests = Some(first.clone());
        if !asked.arguments.json {
            report::show_tests(&first);
        }
        // Nothing is written yet, so that nobody has to be asked unless they want to be.
        if !asked.desk.config.gate.tests {
            return Ok(first);
        }
        match question::ask(asked, What::TestsFirst, cancel).await? {
            Answer::Yes => return Ok(first),
            Answer::No => return Err(Exit::Refused("the tests were not approved; nothing was written".into())),
            Answer::Because(reason) => {
                asked.recorder.rejected(&reason, true)?;
                turned_down.push(reason);
            }
        }
        terminal::tell("writing other tests");
    }
    Err(Exit::Refused(format!(
        "{MAX_PROPOSALS} sets of tests were turned down; nothing was written"
    )))
}
