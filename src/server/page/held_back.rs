//! What was tried, what passed the tests and was held back nevertheless, and why.

use super::diff::{DiffLine, diff};
use super::text::shown;
use crate::domain::clock::millis_in_words;
use crate::domain::count::count;
use crate::domain::finding::Finding;
use crate::domain::patch::Patch;
use crate::domain::reply;
use crate::domain::run::{End, Run};
use crate::domain::search::{Limit, Search};

const MAX_SHORT: usize = 1_000;
/// How many edits and places are shown.
const MAX_HELD: usize = 10;
const MAX_SUSPECTS: usize = 5;

/// An edit that was not proposed, or a proposal that was rejected.
pub(super) struct HeldBack {
    pub(super) what: String,
    pub(super) why: String,
    pub(super) diff: Vec<DiffLine>,
}

impl HeldBack {
    fn of(what: &str, why: &str, patch: &Patch) -> Self {
        Self {
            what: shown(what, MAX_SHORT),
            why: shown(why, MAX_SHORT),
            diff: diff(&patch.unified(), &[]),
        }
    }
}

/// What happened besides the proposal, in sentences. Empty if nothing was tried.
pub(super) fn tried(run: &Run) -> Vec<String> {
    let search = search(run);
    let mut sentences = Vec::new();
    if search.tried > 0 {
        let end = match (search.limit, search.is_over) {
            (Some(Limit::Candidates), _) => ", and the limit on their number was reached",
            (Some(Limit::Wall), _) => ", and the time was up",
            (None, true) => ", which were all that there were",
            (None, false) => "",
        };
        let tried = count(u64::from(search.tried), "edit");
        let took = millis_in_words(search.wall_ms);
        sentences.push(format!("Without a model, {tried} tried in {took}{end}."));
    }
    let found_by = run.proposal.as_ref().and_then(|proposal| proposal.found_by.as_ref());
    sentences
        .extend(found_by.map(|how| format!("Found without a model: {}.", reply::found_by(how, "the pull request"))));
    let left_out = run.evidence.as_ref().and_then(|evidence| evidence.left_out);
    sentences.extend(left_out.and_then(reply::left_out));
    let suspects: Vec<String> = search
        .suspects
        .iter()
        .take(MAX_SUSPECTS)
        .map(|place| format!("{}:{}", place.path, place.line))
        .collect();
    if !suspects.is_empty() {
        let suspects = shown(&suspects.join(", "), MAX_SHORT);
        sentences.push(format!("Most suspicious places: {suspects}."));
    }
    sentences
}

/// Edits that were held back, each with the reason.
pub(super) fn held_back(run: &Run) -> Vec<HeldBack> {
    let rejected = run.turned_down.iter().map(|down| {
        let why = format!("Rejected: {}", down.reason);
        HeldBack::of(&down.proposal.summary, &why, &down.proposal.patch)
    });
    let unverified = search(run).unverified.iter().map(|edit| {
        let why = format!("It {} and is not proposed: {}.", edit.result(), edit.risks.join(". "));
        HeldBack::of(&edit.explanation, &why, &edit.patch)
    });
    let unfinished = match &run.end {
        Some(End::LimitReached {
            found: Some(finding), ..
        }) => unfinished(finding),
        _ => None,
    };
    rejected.chain(unverified).chain(unfinished).take(MAX_HELD).collect()
}

/// Edits that a limit cut short.
fn unfinished(finding: &Finding) -> Option<HeldBack> {
    let edits = finding.edits.as_ref()?;
    let why = finding
        .unfit
        .as_deref()
        .unwrap_or("A limit ended the work before it was tested");
    let words = finding.words.as_deref().unwrap_or("Edits so far");
    Some(HeldBack::of(words, why, edits))
}

/// The search, also if it found nothing.
fn search(run: &Run) -> &Search {
    match &run.end {
        Some(End::NotFound { search, .. }) => search,
        _ => &run.search,
    }
}
