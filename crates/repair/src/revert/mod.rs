//! Puts parts of the pull request's diff back: single hunks, parts of a hunk, pairs of hunks, and, by delta debugging,
//! larger and larger parts of the whole. One of them often broke the tests.
//!
//! What takes back all that the pull request does, or a definition that it adds, is said and never proposed.

mod purpose;

use std::collections::BTreeMap;
use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_path::is_test_path;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::candidates::Candidate;
use crate::generated::{DeclaredFiles, is_generated};
use crate::task::Task;
use crate::template::Template;

/// Maximum number of hunks that are tried, over all files.
const MAX_HUNKS: usize = 100;
/// A larger hunk is a deliberate change, not a slip.
const MAX_HUNK_BYTES: usize = 16 << 10;
/// A larger file is left alone; its diff would take too long.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Only hunks with at most this many lines are tried in parts.
const MAX_PARTED: usize = 16;
/// Maximum numbers of parts of hunks, of pairs and of larger sets that are tried.
const MAX_PARTS: usize = 60;
const MAX_PAIRS: usize = 28;
const MAX_SETS: usize = 16;
/// Higher than the score of any small edit.
const SCORE: f32 = 1.25;
/// The score of two hunks. A set that contains the only faulty hunk is no rival of that hunk.
const PAIR: f32 = 0.85;
/// The score of more hunks.
const SET: f32 = 0.6;
/// More hunks than two are seldom all at fault, so that a set is a finding at most.
const SET_WEIGHT: f32 = 0.25;

/// A range of the current file, and the text before the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RevertedRange {
    range: Range<usize>,
    original: String,
    line: u32,
}

/// A hunk with its file.
type Hunk<'a> = (&'a RepoPath, &'a RevertedRange);

/// Parts of the diff to put back, the smallest first, except in tests and protected files.
pub(super) fn candidates(task: &Task<'_>) -> Vec<Candidate> {
    let mut files: BTreeMap<&RepoPath, (String, Vec<RevertedRange>)> = BTreeMap::new();
    let declared = DeclaredFiles::of(task);
    let mut count = 0;
    for (path, original) in task.originals {
        if is_test_path(path.as_str()) || (task.protected)(path) || count >= MAX_HUNKS {
            continue;
        }
        let Some(now) = task.checkout.read_text(path.as_str()) else {
            continue;
        };
        if declared.have(path) || is_generated(path.as_str(), &now) {
            continue;
        }
        let mut found = hunks(&now, original);
        purpose::leave_out_tests(path, &now, &mut found);
        found.truncate(MAX_HUNKS - count);
        count += found.len();
        files.insert(path, (now, found));
    }
    let all: Vec<Hunk<'_>> = files
        .iter()
        .flat_map(|(path, (_, hunks))| hunks.iter().map(|hunk| (*path, hunk)))
        .collect();
    let texts: BTreeMap<&RepoPath, &str> = files.iter().map(|(path, (text, _))| (*path, text.as_str())).collect();
    let mut found = Vec::new();
    let mut add = |hunks: &[Hunk<'_>], score: f32| found.extend(candidate(&texts, hunks, (score, all.len())));
    for hunk in &all {
        add(std::slice::from_ref(hunk), SCORE);
    }
    let parts: Vec<(&RepoPath, Vec<RevertedRange>)> = all
        .iter()
        .filter_map(|(path, hunk)| Some((*path, parts(texts.get(path)?, hunk))))
        .collect();
    let parts = parts
        .iter()
        .flat_map(|(path, parts)| parts.iter().map(|part| (*path, part)));
    for part in parts.take(MAX_PARTS) {
        add(&[part], SCORE);
    }
    let pairs = (0..all.len()).flat_map(|one| (one + 1..all.len()).map(move |other| (one, other)));
    for (one, other) in pairs.take(MAX_PAIRS) {
        add(&[all[one], all[other]], PAIR);
    }
    for set in sets(&all) {
        add(&set, SET);
    }
    let is_excluded = |candidate: &Candidate| task.excluded.contains(&candidate.patch(task.checkout).digest());
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in found {
        if !is_excluded(&candidate) && !kept.iter().any(|other| other.has_same_text(&candidate)) {
            kept.push(candidate);
        }
    }
    kept
}

/// The hunks of each file, then delta debugging's parts of all: halves, quarters and eighths, the small ones first, and
/// at last all of them.
fn sets<'a>(all: &[Hunk<'a>]) -> Vec<Vec<Hunk<'a>>> {
    let mut found: Vec<Vec<Hunk<'a>>> = Vec::new();
    let mut add = |set: Vec<Hunk<'a>>| {
        if set.len() > 2 && set.len() < all.len() && found.len() < MAX_SETS && !found.contains(&set) {
            found.push(set);
        }
    };
    let mut by_file: BTreeMap<&RepoPath, Vec<Hunk<'a>>> = BTreeMap::new();
    for hunk in all {
        by_file.entry(hunk.0).or_default().push(*hunk);
    }
    by_file.into_values().for_each(&mut add);
    for parts in [8, 4, 2] {
        let size = all.len().div_ceil(parts).max(1);
        all.chunks(size).map(<[Hunk<'a>]>::to_vec).for_each(&mut add);
    }
    if all.len() > 1 {
        found.push(all.to_vec());
    }
    found
}

/// Single lines of a small hunk: each changed line alone, or the removed lines without the added ones.
fn parts(now: &str, hunk: &RevertedRange) -> Vec<RevertedRange> {
    let added: Vec<&str> = now
        .get(hunk.range.clone())
        .unwrap_or_default()
        .split_inclusive('\n')
        .collect();
    let removed: Vec<&str> = hunk.original.split_inclusive('\n').collect();
    let mut found = Vec::new();
    if added.len() + removed.len() > MAX_PARTED || added.is_empty() || removed.is_empty() {
        return found;
    }
    let mut at = hunk.range.start;
    if added.len() == removed.len() {
        for (line, (added, removed)) in (hunk.line..)
            .zip(added.iter().zip(&removed))
            .filter(|_| added.len() > 1)
        {
            let range = at..at + added.len();
            at = range.end;
            if added != removed {
                found.push(RevertedRange {
                    range,
                    original: (*removed).to_string(),
                    line,
                });
            }
        }
        return found;
    }
    for (range, line) in [
        (hunk.range.start..hunk.range.start, hunk.line),
        (
            hunk.range.end..hunk.range.end,
            hunk.line.saturating_add(u32::try_from(added.len()).unwrap_or(0)),
        ),
    ] {
        found.push(RevertedRange {
            range,
            original: hunk.original.clone(),
            line,
        });
    }
    found
}

/// The tree with these hunks put back; `score`, and the number of all hunks.
fn candidate(texts: &BTreeMap<&RepoPath, &str>, hunks: &[Hunk<'_>], (score, all): (f32, usize)) -> Option<Candidate> {
    let mut by_file: BTreeMap<&RepoPath, Vec<&RevertedRange>> = BTreeMap::new();
    for (path, hunk) in hunks {
        by_file.entry(path).or_default().push(hunk);
    }
    let mut changed = Vec::new();
    for (path, hunks) in &by_file {
        let now = *texts.get(path)?;
        let (mut text, mut done) = (String::with_capacity(now.len()), 0);
        for hunk in hunks {
            text += now.get(done..hunk.range.start)?;
            text += &hunk.original;
            done = hunk.range.end;
        }
        text += now.get(done..)?;
        changed.push(((*path).clone(), now, text));
    }
    let is_taken_back = (hunks.len() > 1 && hunks.len() == all)
        || changed
            .iter()
            .any(|(path, now, text)| purpose::takes_a_definition_back(path, now, text));
    let first = hunks.first()?.1;
    let mut changed = changed.into_iter();
    let (path, now, text) = changed.next()?;
    // One edit of a file is from its first to its last hunk.
    let of_file = by_file.get(&path)?;
    let range = of_file.first()?.range.start..of_file.last()?.range.end;
    let end = text.len().checked_sub(now.len() - range.end)?;
    let before = now.get(range.clone())?;
    let replacement = text.get(range.start..end)?.to_string();
    Some(Candidate {
        path,
        line: first.line,
        within: String::new(),
        before: before.into(),
        after: replacement.clone(),
        others: changed.map(|(path, _, text)| (path, text)).collect(),
        range,
        replacement,
        template: if is_taken_back {
            Template::TakeBack
        } else {
            Template::Revert
        },
        weight: if hunks.len() > 2 { SET_WEIGHT } else { 1.0 },
        score,
        text,
    })
}

/// Groups of lines that changed together.
fn hunks(now: &str, original: &str) -> Vec<RevertedRange> {
    if now.len().max(original.len()) > MAX_FILE_BYTES {
        return Vec::new();
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .diff_lines(now, original);
    let mut hunks = Vec::new();
    let (mut at, mut line) = (0, 1);
    let mut open: Option<RevertedRange> = None;
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => hunks.extend(open.take()),
            ChangeTag::Delete | ChangeTag::Insert => {
                let hunk = open.get_or_insert_with(|| RevertedRange {
                    range: at..at,
                    original: String::new(),
                    line,
                });
                match change.tag() {
                    ChangeTag::Insert => hunk.original.push_str(text),
                    _ => hunk.range.end = at + text.len(),
                }
            }
        }
        if change.tag() != ChangeTag::Insert {
            at += text.len();
            line += 1;
        }
    }
    hunks.extend(open);
    hunks.retain(|hunk| hunk.range.len().max(hunk.original.len()) <= MAX_HUNK_BYTES);
    hunks
}

#[cfg(test)]
mod tests;
