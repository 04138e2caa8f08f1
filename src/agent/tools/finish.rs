//! `think`, `submit` and `explain`: one call without effect, and two that end the run.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallResult, repo_path};
use crate::agent::{Exit, Shell};
use crate::domain::explanation::{Because, Explanation};
use crate::domain::patch::Blob;
use crate::domain::proposal::{self, Claim};
use crate::domain::redact::{bounded, redact, visible};

/// The longest summary that is kept, in bytes.
const MAX_SUMMARY: usize = 2 << 10;
/// The limits of an explanation: how many places it cites, how many lines each has, and how many bytes describe it.
const MAX_PLACES: usize = 12;
const MAX_LINES: u32 = 40;
const MAX_SAYS: usize = 500;

/// Arguments of `think`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct Think {
    #[expect(dead_code, reason = "it only has to be in the transcript")]
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
    /// True if the test itself is wrong, and the edits change nothing but tests. A person then
    /// decides about it. Never for a test that is right.
    #[serde(default)]
    test_may_be_wrong: bool,
}

/// What surrounds the reason for a refusal.
const REFUSED: &str = "not accepted: ";
const REFUSED_END: &str = ". Change the edits, then submit again.";

/// The reason in the result of a submission that was refused.
pub fn refusal(result: &str) -> Option<&str> {
    result.strip_prefix(REFUSED)?.strip_suffix(REFUSED_END)
}

/// Ends the run, unless the edits break a rule that can be checked without running anything.
pub(super) fn submit(wanted: &Submit, shell: &Shell<'_>) -> CallResult {
    let summary = bounded(&redact(&visible(wanted.summary.trim())), MAX_SUMMARY);
    if summary.is_empty() {
        return CallResult::text("not accepted: the summary is empty.");
    }
    if wanted.no_fix {
        return CallResult {
            text: "ended without a fix.".into(),
            exit: Some(Exit::GaveUp { reason: summary }),
        };
    }
    let claim = Claim::of(wanted.test_may_be_wrong);
    if claim == Claim::TestMayBeWrong && !shell.may_execute() {
        return CallResult::text(
            "not accepted: nothing may be executed yet, so there is no way to show that a test is \
                             wrong.",
        );
    }
    match proposal::check(&shell.proposal_patch(), claim, &shell.bounds) {
        Err(proposal::Unfit::Empty) => {
            CallResult::text("not accepted: nothing was changed. Edit files first, or submit with `no_fix`.")
        }
        Err(unfit) => CallResult::text(format!("{REFUSED}{unfit}{REFUSED_END}")),
        Ok(_) => CallResult {
            text: "submitted.".into(),
            exit: Some(Exit::Submitted {
                summary,
                test_may_be_wrong: wanted.test_may_be_wrong,
            }),
        },
    }
}

/// Arguments of `explain`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct Explain {
    /// Why the tests fail, in a few sentences.
    root_cause: String,
    /// The places that show it.
    because: Vec<CitedLines>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CitedLines {
    path: String,
    /// First line, from 1.
    from: u32,
    /// Last line.
    to: u32,
    /// What these lines show, in one sentence.
    says: String,
}

/// Ends the run with an explanation if every cited place exists. The lines are taken from the files.
pub(super) fn explain(wanted: &Explain, shell: &Shell<'_>) -> CallResult {
    let said = |text: &str, max| bounded(&redact(&visible(text.trim())), max);
    let root_cause = said(&wanted.root_cause, MAX_SUMMARY);
    if root_cause.is_empty() {
        return CallResult::text("not accepted: the root cause is empty.");
    }
    if wanted.because.is_empty() || wanted.because.len() > MAX_PLACES {
        return CallResult::text(format!(
            "not accepted: name 1 to {MAX_PLACES} places in `because`; an explanation has to cite lines that anyone \
             can read."
        ));
    }
    let mut because = Vec::new();
    for place in &wanted.because {
        match rests_on(place, shell) {
            Ok((path, lines)) => because.push(Because {
                path,
                from: place.from,
                to: place.to,
                says: said(&place.says, MAX_SAYS),
                lines,
            }),
            Err(sentence) => return CallResult::text(format!("not accepted: {sentence}")),
        }
    }
    CallResult {
        text: "explained.".into(),
        exit: Some(Exit::Explained(Box::new(Explanation { root_cause, because }))),
    }
}

/// The cited lines as they are at the head, or a sentence that says why they cannot be cited.
fn rests_on(place: &CitedLines, shell: &Shell<'_>) -> Result<(crate::domain::id::RepoPath, String), String> {
    let path = repo_path(&place.path)?;
    let blob = shell.checkout.read_original(&path);
    let Some(text) = blob.as_ref().and_then(Blob::text) else {
        return Err(format!("there is no text file `{path}`; see list_files."));
    };
    let (from, to) = (place.from, place.to);
    let count = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    if from == 0 || to < from || to > count {
        return Err(format!(
            "`{path}` has lines 1 to {count}, so there are no lines {from} to {to}. Read it again and cite what is \
             there."
        ));
    }
    if to - from >= MAX_LINES {
        return Err(format!(
            "lines {from} to {to} of `{path}` are too many; cite at most {MAX_LINES}."
        ));
    }
    let lines = text.lines().skip(from as usize - 1).take((to - from) as usize + 1);
    Ok((path, lines.collect::<Vec<_>>().join("\n")))
}
