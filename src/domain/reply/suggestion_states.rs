//! The states of a run's suggestions, as a sentence.

use super::super::anchor::SuggestionState;
use super::super::run::{End, Run};

/// The states of the suggestions. `None` if the headline already says them.
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
