//! `think` and `submit`: the calls that touch nothing, and the one that ends the run.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::agent::{Exit, Shell};
use crate::domain::proposal::{self, Claim};
use crate::domain::redact::{bounded, redact, visible};

/// The longest summary that is kept, in bytes.
const MAX_SUMMARY: usize = 2 << 10;

/// Arguments of `think`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct Think {
    #[expect(dead_code, reason = "it stays in the transcript, which is all it is for")]
    thought: String,
}

/// Arguments of `submit`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct Submit {
    /// One or two sentences for a reviewer: the cause, then the change. Without a fix: why there is none.
    summary: String,
    /// True if the code cannot be fixed within the rules; the edits are then dropped.
    #[serde(default)]
    no_fix: bool,
    /// True if the test itself is wrong, and the edits change nothing but tests. It is then shown as that, and a person
    /// decides. Never for a test that is right.
    #[serde(default)]
    test_may_be_wrong: bool,
}

/// Ends the run, unless the edits break a rule that can be checked without running anything.
pub(super) fn submit(wanted: &Submit, shell: &Shell<'_>) -> Answer {
    let summary = bounded(&redact(&visible(wanted.summary.trim())), MAX_SUMMARY);
    if summary.is_empty() {
        return Answer::text("not accepted: the summary is empty.");
    }
    if wanted.no_fix {
        return Answer {
            text: "ended without a fix.".into(),
            exit: Some(Exit::GaveUp { reason: summary }),
        };
    }
    let claim = Claim::of(wanted.test_may_be_wrong);
    if claim == Claim::TestMayBeWrong && !shell.may_execute() {
        return Answer::text("not accepted: nothing may be executed yet, so nobody can show that a test is wrong.");
    }
    match proposal::check(&shell.proposal_patch(), claim, &shell.bounds) {
        Err(proposal::Unfit::Empty) => {
            Answer::text("not accepted: nothing was changed. Edit files first, or submit with `no_fix`.")
        }
        Err(unfit) => Answer::text(format!("not accepted: {unfit}. Change the edits, then submit again.")),
        Ok(_) => Answer {
            text: "submitted.".into(),
            exit: Some(Exit::Submitted {
                summary,
                test_may_be_wrong: wanted.test_may_be_wrong,
            }),
        },
    }
}
