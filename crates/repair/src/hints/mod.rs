//! Edits that the messages of compilers, linters and interpreters suggest: a name that is spelled alike, or that the pull
//! request replaced by another, an import that is missing, a token that was forgotten, and what the tools suggest without being sure.
//!
//! Messages and suggestions come from untrusted code. They are only candidates: each edits files that may be edited,
//! and the tests decide. Not in here: suggestions that a tool is sure of, which are tried before
//! ([`crate::tools`]).

mod imports;
mod languages;
mod names;
mod place;
mod problems;
mod renames;
mod rounds;
mod tool_problems;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_suite as suite;
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

use crate::candidates::Candidate;
use crate::task::Task;
use crate::template::Template;
use crate::turned_down::{difference, line_of};

/// The score of a hint with the weight 1; any hint is more promising than a reverted hunk.
const SCORE: f32 = 2.0;
/// Weights of hints start here.
const LEAST: f32 = 0.65;
/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 60;

/// A replacement of a part of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HintEdit {
    path: RepoPath,
    range: Range<usize>,
    text: String,
}

impl Ord for HintEdit {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |change: &Self| (change.range.start, change.range.end);
        let by_path = self.path.cmp(&other.path);
        by_path
            .then(place(self).cmp(&place(other)))
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for HintEdit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An edit that a message suggests.
#[derive(Debug, Clone, PartialEq)]
struct Hint {
    /// They only make sense together.
    changes: Vec<HintEdit>,
    /// How likely it is right, from 0 to 1.
    weight: f32,
    /// Whether a tool suggests this very edit.
    is_of_a_tool: bool,
}

/// One complaint about the code, with the edits that may settle it, the likeliest first.
#[derive(Debug, Clone, PartialEq)]
struct Problem {
    /// As it is named, in the tree or not.
    file: String,
    /// What it says, without a position: the same complaint in other lines is settled in the same way.
    says: String,
    hints: Vec<Hint>,
}

impl Hint {
    fn new(changes: Vec<HintEdit>, weight: f32) -> Self {
        Self {
            changes,
            weight,
            is_of_a_tool: false,
        }
    }
}

/// Candidates that settle what the failures complain about, the likeliest first.
///
/// # Errors
/// When the tree cannot be copied, or the sandbox fails.
pub(super) async fn candidates(task: &Task<'_>, stop: &CancellationToken) -> Result<Vec<Candidate>, suite::Error> {
    let mut found = Vec::new();
    for settled in rounds::settled(task, stop).await? {
        if let Some(candidate) = candidate(task, &settled)
            && !task.excluded.contains(&candidate.patch(task.checkout).digest())
            && !found.iter().any(|other: &Candidate| other.has_same_text(&candidate))
        {
            found.push(candidate);
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(MAX_CANDIDATES);
    Ok(found)
}

/// Leaves a line that the pull request removed to the hunk that puts it back where it was.
pub(super) fn give_way(hints: &mut Vec<Candidate>, reverts: &mut [Candidate]) {
    let added = |candidate: &Candidate| {
        let lines = candidate.after.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_alone = candidate.before.trim().is_empty() && candidate.others.is_empty();
        is_alone.then(|| (candidate.path.clone(), lines.map(String::from).collect::<Vec<_>>()))
    };
    hints.retain(|hint| {
        let same = reverts.iter_mut().find(|revert| {
            revert.template == Template::Revert && added(revert).is_some_and(|lines| added(hint) == Some(lines))
        });
        if let Some(revert) = same {
            revert.score = revert.score.max(hint.score);
            return false;
        }
        true
    });
}

/// Texts after some edits, and how likely they are right.
#[derive(Debug, Clone, Default, PartialEq)]
struct Settled {
    texts: BTreeMap<RepoPath, String>,
    weight: f32,
    is_of_a_tool: bool,
}

fn candidate(task: &Task<'_>, settled: &Settled) -> Option<Candidate> {
    let mut files = settled.texts.iter();
    let (path, text) = files.next()?;
    let before = task.checkout.read_text(path.as_str())?;
    let (range, replacement) = difference(&before, text)?;
    Some(Candidate {
        line: line_of(&before, range.start),
        within: String::new(),
        before: before.get(range.clone())?.into(),
        after: replacement.clone(),
        path: path.clone(),
        text: text.clone(),
        range,
        replacement,
        template: if settled.is_of_a_tool {
            Template::Suggested
        } else {
            Template::Hint
        },
        weight: settled.weight,
        score: SCORE * settled.weight.clamp(LEAST, 1.0),
        others: files.map(|(path, text)| (path.clone(), text.clone())).collect(),
    })
}

/// The text of a file after these changes, which are ordered. `None` if some do not fit or overlap. Whole lines that are
/// inserted at one position follow one another.
fn changed(text: &str, changes: &[&HintEdit]) -> Option<String> {
    let mut whole = String::with_capacity(text.len());
    let mut done = 0;
    let mut last: Option<&HintEdit> = None;
    for change in changes {
        if last == Some(*change) {
            continue;
        }
        let is_line = |change: &HintEdit| change.range.is_empty() && change.text.ends_with('\n');
        let is_behind =
            last.is_none_or(|last| last.range.start < change.range.start || (is_line(last) && is_line(change)));
        if change.range.start < done || change.range.start > change.range.end || !is_behind {
            return None;
        }
        whole += text.get(done..change.range.start)?;
        whole += &change.text;
        text.get(change.range.clone())?;
        done = change.range.end;
        last = Some(change);
    }
    whole += text.get(done..)?;
    Some(whole)
}

/// Files that a hint may edit.
fn is_editable(task: &Task<'_>, path: &RepoPath) -> bool {
    use greenlight_readers::test_path::is_test_path;
    let checkout: &Checkout = task.checkout;
    !is_test_path(path.as_str()) && !(task.protected)(path) && checkout.contains(path.as_str())
}
