//! What of a run's steps is told in the log: what people did, what was posted, and how it ended. Never what anybody
//! wrote, and nothing that a model, a test or a log said.

use crate::domain::gate::Answer;
use crate::domain::run::{End, Run, Step};

/// One line for a step that somebody who watches the log wants to hear of.
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
                tracing::info!(run.id = %id, %pull_request, %gate, login = %by, "an approval came");
            }
            Answer::Rejected { by, .. } => {
                tracing::info!(run.id = %id, %pull_request, %gate, login = %by, "a rejection came");
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
            tracing::info!(run.id = %id, %pull_request, %commit, "what landed was taken back");
        }
        _ => {}
    }
}
