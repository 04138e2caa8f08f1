//! Keeps edits out of a search that a person turned down, together with edits that mean the same or, as far as can be
//! observed, behave the same. A person who turned down an edit does not want it in a different spelling.

use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Patch;
use greenlight_suite as suite;
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::runner::Runner;
use super::spelling::Spellings;
use crate::task::Task;
use crate::template::Template;

/// Maximum number of turned-down edits whose behaviour is compared, the newest first.
const MAX_REJECTED: usize = 4;
/// Maximum number of candidates that are compared with them at once.
const MAX_COMPARED: usize = 12;

/// The edits that were turned down.
pub(super) struct TurnedDown<'a> {
    checkout: &'a Checkout,
    spellings: Spellings<'a>,
    /// Those that are a single edit of one file.
    edits: Vec<Candidate>,
}

impl<'a> TurnedDown<'a> {
    pub(super) fn of(task: &Task<'a>) -> Self {
        let most = if task.left_out.comparison { 0 } else { MAX_REJECTED };
        let edits = task.turned_down.iter().filter_map(edit).take(most);
        Self {
            checkout: task.checkout,
            spellings: Spellings::new(task.checkout, task.turned_down),
            edits: edits.collect(),
        }
    }

    /// Whether a candidate means the same as one of them.
    pub(super) fn has(&self, candidate: &Candidate) -> bool {
        !self.spellings.is_empty() && self.spellings.have(&candidate.patch(self.checkout))
    }

    /// Removes the candidates, from this index on, that behave like one of them with all inputs that can be tried. If
    /// none can be tried, they stay.
    ///
    /// # Errors
    /// When the sandbox fails.
    pub(super) async fn leave_out_alike(
        &self,
        runner: &Runner<'_>,
        (passing, from): (&mut Vec<Candidate>, usize),
        stop: &CancellationToken,
    ) -> Result<(), suite::Error> {
        if self.edits.is_empty() || !runner.can_compare() || from >= passing.len() {
            return Ok(());
        }
        let mut all = self.edits.clone();
        all.extend(passing.iter().skip(from).take(MAX_COMPARED).cloned());
        let Some(compared) = runner.behaviours(&all, stop).await? else {
            return Ok(());
        };
        let behaviours = compared.candidates;
        let (rejected, others) = behaviours.split_at(self.edits.len().min(behaviours.len()));
        let mut are_alike = others.iter().map(|behaviour| rejected.contains(behaviour));
        let mut at = 0;
        passing.retain(|_| {
            at += 1;
            at <= from || !are_alike.next().unwrap_or(false)
        });
        Ok(())
    }
}

/// A patch as a candidate, so that it can be run like one. `None` if it changes more than one file.
fn edit(patch: &Patch) -> Option<Candidate> {
    let mut files = patch.files();
    let ((path, change), None) = (files.next()?, files.next()) else {
        return None;
    };
    let (before, after) = (change.before.as_ref()?.text()?, change.after.as_ref()?.text()?);
    let (range, replacement) = difference(before, after)?;
    Some(Candidate {
        line: line_of(before, range.start),
        before: before.get(range.clone())?.into(),
        after: replacement.clone(),
        ..candidate(path, after, (range, replacement))
    })
}

fn candidate(path: &RepoPath, text: &str, (range, replacement): (Range<usize>, String)) -> Candidate {
    Candidate {
        path: path.clone(),
        text: text.into(),
        range,
        replacement,
        template: Template::Revert,
        weight: 1.0,
        score: 0.0,
        line: 0,
        within: String::new(),
        before: String::new(),
        after: String::new(),
        others: Vec::new(),
    }
}

pub(super) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    u32::try_from(before).map_or(u32::MAX, |before| before.saturating_add(1))
}

/// The bytes that differ and their replacement, both extended to the next whitespace, so that no word is split.
pub(super) fn difference(before: &str, after: &str) -> Option<(Range<usize>, String)> {
    let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let shorter = before.len().min(after.len());
    let tail = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let tail = tail.min(shorter - same);
    let is_break = |text: &str, at: usize| text.as_bytes().get(at).is_none_or(u8::is_ascii_whitespace);
    let mut start = same;
    while start > 0 && !is_break(before, start - 1) {
        start -= 1;
    }
    let mut end = before.len() - tail;
    while end < before.len() && !is_break(before, end) {
        end += 1;
    }
    let ending = before.len() - end;
    let replacement = after.get(start..after.len().checked_sub(ending)?)?;
    before.get(start..end)?;
    Some((start..end, replacement.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_what_differs_and_the_words_around_it() {
        for (before, after, range, replacement) in [
            ("if a > b:", "if a >= b:", 5..6, ">="),
            ("if a > b:", "if a > b - 1:", 7..9, "b - 1:"),
            ("x = 1\n", "x = 2\n", 4..5, "2"),
            ("a b", "a x b", 2..3, "x b"),
            ("a b b", "a b", 2..5, "b"),
            ("ä > b", "ö > b", 0..2, "ö"),
            ("", "a", 0..0, "a"),
        ] {
            let found = difference(before, after).unwrap();
            assert_eq!(found, (range, replacement.to_string()), "{before:?} {after:?}");
            let whole = [&before[..found.0.start], &found.1, &before[found.0.end..]].concat();
            assert_eq!(whole, after);
        }
    }
}
