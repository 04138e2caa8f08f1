//! Ends work that reached a limit: proved edits are proposed, others are shown as unproved.

use super::judge::{Judge, Submission};
use super::{Broken, WorkOutcome};
use crate::agent::{Item, Transcript};
use crate::domain::finding::Finding;
use crate::domain::patch::Patch;
use crate::domain::proposal::Claim;
use crate::domain::redact::bounded;

/// The bound on the model's last words, in bytes.
const MAX_WORDS: usize = 2 << 10;

/// Proves the edits once, unless they were already refused. The result names the limit in either case.
pub(super) async fn reached(
    bench: &Judge<'_>,
    (patch, refused): (Patch, Option<(String, String)>),
    transcript: &Transcript,
    reason: String,
) -> Result<WorkOutcome, Broken> {
    let words = last_words(transcript);
    let mut unfit = refused
        .filter(|(digest, _)| *digest == patch.digest())
        .map(|(_, why)| why);
    // Without a sandbox nothing can be proved, and the model has not submitted these edits.
    if unfit.is_none() && bench.suite.is_some() && !patch.is_empty() {
        let submission = Submission {
            patch: patch.clone(),
            summary: format!("{reason} before the work was submitted; the edits made so far count."),
            claim: Claim::Fix,
        };
        match bench.judge(submission).await? {
            _ if bench.cancel.is_cancelled() => return Ok(WorkOutcome::Interrupted),
            Ok(proposed @ WorkOutcome::Proposed(_)) => return Ok(proposed),
            Ok(_) => {}
            Err(unaccepted) => unfit = Some(unaccepted.why),
        }
    }
    let found = Finding {
        words,
        edits: Some(patch).filter(|patch| !patch.is_empty()),
        unfit,
    };
    let found = (!found.is_empty()).then(|| Box::new(found));
    Ok(WorkOutcome::LimitReached { reason, found })
}

/// The model's last text apart from its calls.
fn last_words(transcript: &Transcript) -> Option<String> {
    transcript.items().iter().rev().find_map(|item| match item {
        Item::Reply(reply) => reply.text.as_deref().map(|text| bounded(text, MAX_WORDS)),
        _ => None,
    })
}
