//! The state of a suggestion after its file changed. Only contents show it, because GitHub does not tell who pressed
//! which button.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Suggestion;
use super::fingerprint::lines;

/// If the product of the changed lines on both sides exceeds this, a diff would take too long, and the whole range
/// counts as rewritten.
const MAX_COMPARED: usize = 4_000_000;

/// The state of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionState {
    /// Its lines are unchanged.
    Open,
    /// Its lines became exactly the suggested ones.
    #[serde(rename = "accepted")]
    Applied,
    /// Its lines were changed differently, or removed.
    #[serde(rename = "edited")]
    Overwritten,
    /// Its lines are unchanged, but GitHub no longer shows it there, so nobody can commit it.
    #[serde(rename = "withdrawn")]
    Outdated,
    /// The pull request was closed before anybody changed its lines.
    #[serde(rename = "ignored")]
    Stale,
}

impl SuggestionState {
    /// Whether its state can no longer change.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Applied | Self::Overwritten | Self::Outdated)
    }
}

/// Compares the file that a suggestion was made for with the current file, which is `None` if it was deleted. Line
/// ends do not matter.
pub fn state_after(suggestion: &Suggestion, old: &[u8], new: Option<&[u8]>) -> SuggestionState {
    let Some(new) = new else {
        return SuggestionState::Overwritten;
    };
    if old == new {
        return SuggestionState::Open;
    }
    let (old, new) = (lines(old), lines(new));
    let start = (suggestion.start_line as usize).saturating_sub(1).min(old.len());
    let range = start..(suggestion.line as usize).clamp(start, old.len());
    let replacement = lines(suggestion.replacement.as_bytes());
    let replaced = start..start + replacement.len();
    let expected: Vec<&[u8]> = [&old[..start], &replacement, &old[range.end..]].concat();
    let (from_old, from_expected) = (Followed::new(&old, &new), Followed::new(&expected, &new));
    match (from_expected.has_kept(&replaced), from_old.has_kept(&range)) {
        (true, false) => SuggestionState::Applied,
        (false, true) => SuggestionState::Open,
        (false, false) => SuggestionState::Overwritten,
        // Either text contains the other, so both could be present. The one that needs the smaller change counts.
        (true, true) if from_expected.changed < from_old.changed => SuggestionState::Applied,
        (true, true) => SuggestionState::Open,
    }
}

/// The positions of one text's lines in another text.
struct Followed {
    /// For each line, its position in the other text. `None` if it is no longer there.
    places: Vec<Option<usize>>,
    /// How many lines the other text has.
    others: usize,
    /// How many lines exist on one side only.
    changed: usize,
}

impl Followed {
    fn new(from: &[&[u8]], to: &[&[u8]]) -> Self {
        let same = |pair: &(&&[u8], &&[u8])| pair.0 == pair.1;
        let head = from.iter().zip(to).take_while(same).count();
        let (rest, other_rest) = (&from[head..], &to[head..]);
        let tail = rest.iter().rev().zip(other_rest.iter().rev()).take_while(same).count();
        let (middle, other) = (&rest[..rest.len() - tail], &other_rest[..other_rest.len() - tail]);
        let mut places = vec![None; from.len()];
        for (at, place) in places.iter_mut().enumerate().take(head) {
            *place = Some(at);
        }
        for back in 1..=tail {
            places[from.len() - back] = Some(to.len() - back);
        }
        if middle.len().saturating_mul(other.len()) <= MAX_COMPARED {
            for op in similar::capture_diff_slices(similar::Algorithm::Myers, middle, other) {
                if op.tag() == similar::DiffTag::Equal {
                    for (at, place) in op.old_range().zip(op.new_range()) {
                        places[head + at] = Some(head + place);
                    }
                }
            }
        }
        let kept = places.iter().flatten().count();
        Self {
            places,
            others: to.len(),
            changed: from.len() + to.len() - 2 * kept,
        }
    }

    /// Whether these lines are all present without others between them. For an empty range, whether nothing was
    /// inserted there.
    fn has_kept(&self, range: &Range<usize>) -> bool {
        if range.is_empty() {
            let before = match range.start.checked_sub(1) {
                None => Some(0),
                Some(above) => self.places[above].map(|place| place + 1),
            };
            let after = self.places.get(range.start).copied().unwrap_or(Some(self.others));
            return before.is_some() && before == after;
        }
        let kept = &self.places[range.clone()];
        let Some(first) = kept[0] else { return false };
        kept.iter().zip(first..).all(|(place, wanted)| *place == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn suggestion(start_line: u32, line: u32, replacement: &str) -> Suggestion {
        Suggestion {
            path: "a".parse().unwrap(),
            start_line,
            line,
            replacement: replacement.into(),
        }
    }

    #[track_caller]
    fn check(suggestion: &Suggestion, old: &str, new: &str, expected: SuggestionState) {
        assert_eq!(
            state_after(suggestion, old.as_bytes(), Some(new.as_bytes())),
            expected,
            "{new:?}"
        );
    }

    #[test]
    fn a_replaced_line() {
        let one = suggestion(2, 2, "B\n");
        check(&one, "a\nb\nc\n", "a\nb\nc\n", SuggestionState::Open);
        check(&one, "a\nb\nc\n", "x\na\nb\nc\n", SuggestionState::Open);
        check(&one, "a\nb\nc\n", "a\nb\nC\n", SuggestionState::Open);
        check(&one, "a\nb\nc\n", "a\nB\nc\n", SuggestionState::Applied);
        check(&one, "a\nb\nc\n", "a\r\nB\r\nc", SuggestionState::Applied);
        check(&one, "a\nb\nc\n", "x\na\nB\ny\nc\n", SuggestionState::Applied);
        check(&one, "a\nb\nc\n", "a\nX\nc\n", SuggestionState::Overwritten);
        check(&one, "a\nb\nc\n", "a\nc\n", SuggestionState::Overwritten);
        check(&one, "a\nb\nc\n", "", SuggestionState::Overwritten);
        assert_eq!(state_after(&one, b"a\nb\nc\n", None), SuggestionState::Overwritten);
    }

    #[test]
    fn an_insertion_and_a_deletion() {
        let insertion = suggestion(2, 2, "b\nnew\n");
        check(&insertion, "a\nb\nc\n", "a\nb\nnew\nc\n", SuggestionState::Applied);
        check(&insertion, "a\nb\nc\n", "a\nb\nother\nc\n", SuggestionState::Open);
        check(&insertion, "a\nb\nc\n", "a\nb\nc\nd\n", SuggestionState::Open);
        let deletion = suggestion(2, 2, "");
        check(&deletion, "a\nb\nc\n", "a\nc\n", SuggestionState::Applied);
        check(&deletion, "a\nb\nc\n", "a\nx\nc\n", SuggestionState::Overwritten);
        check(&deletion, "a\nb\nc\n", "a\nb\nc\nd\n", SuggestionState::Open);
        check(&deletion, "b\n", "", SuggestionState::Overwritten);
        check(&deletion, "a\na\na\n", "a\na\na\nx\n", SuggestionState::Open);
        check(&deletion, "a\na\na\n", "a\na\n", SuggestionState::Applied);
        let shortening = suggestion(2, 3, "b\n");
        check(&shortening, "a\nb\nc\nd\n", "z\na\nb\nc\nd\n", SuggestionState::Open);
        check(&shortening, "a\nb\nc\nd\n", "z\na\nb\nd\n", SuggestionState::Applied);
    }

    #[test]
    fn lines_that_the_file_does_not_have_break_nothing() {
        for (first, last) in [(0, 0), (9, 12), (3, 1), (4_000_000_000, u32::MAX)] {
            state_after(&suggestion(first, last, "x\n"), b"a\nb\n", Some(b"c\n"));
        }
    }

    #[test]
    fn a_file_rewritten_beyond_measure_is_called_edited() {
        let text = |word: &str| (0..6_000).map(|at| format!("{word}{at}\n")).collect::<String>();
        check(
            &suggestion(9, 9, "x\n"),
            &text("old"),
            &text("new"),
            SuggestionState::Overwritten,
        );
    }

    proptest! {
        #[test]
        fn committed_is_accepted_and_untouched_is_open(
            lines in 1_usize..40, start in 0_usize..40, count in 1_usize..5, replacement in 0_usize..4,
            above in 0_usize..4, below in 0_usize..4,
        ) {
            let start = start % lines;
            let end = (start + count).min(lines);
            let old: Vec<String> = (0..lines).map(|at| format!("line {at}\n")).collect();
            let new: String = (0..replacement).map(|at| format!("suggested {at}\n")).collect();
            let one = suggestion(u32::try_from(start + 1).unwrap(), u32::try_from(end).unwrap(), &new);
            let (head, tail) = ("above\n".repeat(above), "below\n".repeat(below));
            let untouched = format!("{head}{}{tail}", old.concat());
            let committed = format!("{head}{}{new}{}{tail}", old[..start].concat(), old[end..].concat());
            let old = old.concat();
            prop_assert_eq!(state_after(&one, old.as_bytes(), Some(untouched.as_bytes())), SuggestionState::Open);
            // If both neighbouring lines are new and nothing is between them, a deletion cannot be recognised.
            let can_be_told = !new.is_empty() || (start > 0 || above == 0) && (end < lines || below == 0);
            if can_be_told {
                prop_assert_eq!(state_after(&one, old.as_bytes(), Some(committed.as_bytes())), SuggestionState::Applied);
            }
        }
    }
}
