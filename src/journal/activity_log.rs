//! Logs the important steps of a run: what people did, what was posted, and how the run ended. Text that anybody
//! wrote, or that came from a model, a test or a CI log, is never logged.

use crate::domain::gate::Answer;
use crate::domain::run::{End, Run, Step};

/// Logs one line for a step that operators care about.
pub(super) fn tell(run: &Run, step: &Step) {
    let (id, Some(pull_request)) = (run.id(), run.started.pull_request()) else {
        return;
    };
    match step {
        Step::ReviewPosted { review, parts, .. } => {
            tracing::info!(run.id = %id, %pull_request, review, parts, "suggestions were posted");
        }
        Step::GateOpened(gate) => {
            tracing::info!(run.id = %id, %pull_request, gate = %gate.id, expires = %gate.expires, "a request waits for an approval");
        }
        Step::Answered { gate, answer, .. } => match answer {
            Answer::Approved { by } => {
                tracing::info!(run.id = %id, %pull_request, %gate, login = %by, "a request was approved");
            }
            Answer::Rejected { by, .. } => {
                tracing::info!(run.id = %id, %pull_request, %gate, login = %by, "a request was rejected");
            }
            Answer::Expired => tracing::info!(run.id = %id, %pull_request, %gate, "a request expired"),
        },
        Step::Ended(end) => {
            if let End::Landed { commit } = end {
                tracing::info!(run.id = %id, %pull_request, %commit, "a commit landed");
            }
            tracing::info!(run.id = %id, %pull_request, end = end.name(), "a run ended");
        }
        Step::Undone { commit } => {
            tracing::info!(run.id = %id, %pull_request, %commit, "a landed commit was reverted");
        }
        _ => {}
    }
}
