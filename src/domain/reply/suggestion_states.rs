//! What became of the suggestions of a run, as a sentence.

use super::super::anchor::SuggestionState;
use super::super::run::{End, Run};

/// What became of the suggestions, if that is not said already.
pub(super) fn fates(run: &Run) -> Option<String> {
    if run.is_all_accepted() || matches!(run.end, Some(End::Landed { .. })) {
        return None;
    }
    let named = [
        (SuggestionState::Applied, "accepted"),
        (SuggestionState::Overwritten, "edited"),
        (SuggestionState::Outdated, "withdrawn"),
        (SuggestionState::Stale, "ignored"),
    ];
    let mut text = String::new();
    for (count, name) in named.map(|(fate, name)| (run.count(fate), name)) {
        match count {
            0 => {}
            _ if !text.is_empty() => text += &format!(", {count} {name}"),
            1 => text = format!("1 suggestion {name}"),
            _ => text = format!("{count} suggestions {name}"),
        }
    }
    (!text.is_empty()).then(|| text + ".")
}
