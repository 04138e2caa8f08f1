//! Removes changes of tests from a patch, so that the new code can run against the original tests.

use std::ops::Range;

use greenlight_syntax::{Language, Parsed};

use super::{manifest, parts, touches_tests};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::test_path::is_test_path;

/// The same patch with the head's own tests. Examples in documentation stay as the patch has them: those that it
/// removes are a finding, and those that it adds are further tests.
///
/// # Errors
/// The file and line of tests that cannot be separated from the code around them.
pub fn with_own_tests(patch: &Patch) -> Result<Patch, (RepoPath, usize)> {
    let mut changes = Vec::new();
    for (path, change) in patch.files() {
        if is_test_path(path.as_str()) {
            continue;
        }
        let change = if touches_tests(path, change) {
            own_tests(path, change).ok_or_else(|| (path.clone(), first_test(path, change)))?
        } else {
            change.clone()
        };
        changes.push((path.clone(), change));
    }
    Ok(Patch::new(changes))
}

/// The line of the first test after the change, or before it.
fn first_test(path: &RepoPath, change: &FileChange) -> usize {
    let first = |blob: &Option<Blob>| {
        let file = Parsed::parse(Language::of(path.as_str())?, blob.as_ref()?.text()?)?;
        let test = parts::test_ranges(&file).into_iter().next()?;
        Some(file.text[..test.start].matches('\n').count() + 1)
    };
    first(&change.after).or_else(|| first(&change.before)).unwrap_or(1)
}

/// The first file in which a patch changes more than tests.
pub fn without_tests(patch: &Patch) -> Option<&RepoPath> {
    let is_more = |path: &RepoPath, change: &FileChange| {
        if is_test_path(path.as_str()) {
            return false;
        }
        match own_tests(path, change) {
            Some(own) => own.before != own.after,
            None => true,
        }
    };
    patch
        .files()
        .find(|(path, change)| is_more(path, change))
        .map(|(path, _)| path)
}

/// A file with the new code and the old tests.
fn own_tests(path: &RepoPath, change: &FileChange) -> Option<FileChange> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    if manifest::reader(path.as_str()).is_some() {
        return None;
    }
    let language =
        Language::of(path.as_str()).filter(|language| matches!(language, Language::Rust | Language::Python))?;
    let old = Parsed::parse(language, before.text()?)?;
    let new = Parsed::parse(language, after.text()?)?;
    let (old_tests, new_tests) = (parts::test_ranges(&old), parts::test_ranges(&new));
    let text = if old_tests.len() == new_tests.len() {
        spliced(
            new.text,
            &new_tests,
            old_tests.iter().map(|range| &old.text[range.clone()]),
        )
    } else if is_top_level(&old) && is_top_level(&new) {
        let kept = spliced(new.text, &new_tests, new_tests.iter().map(|_| ""));
        let tests = old_tests.iter().map(|range| &old.text[range.clone()]);
        std::iter::once(kept.as_str())
            .chain(tests)
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        return None;
    };
    let after = Blob {
        mode: after.mode,
        bytes: text.into_bytes(),
    };
    Some(FileChange {
        before: Some(before.clone()),
        after: Some(after),
    })
}

/// Whether every test is a top-level item, so that it can be moved within its file.
fn is_top_level(file: &Parsed<'_>) -> bool {
    let root = file.tree.root_node();
    let mut cursor = root.walk();
    let items: Vec<Range<usize>> = root.named_children(&mut cursor).map(|item| item.byte_range()).collect();
    parts::test_ranges(file).iter().all(|test| {
        items
            .iter()
            .any(|item| item.end == test.end && item.start >= test.start)
    })
}

fn spliced<'a>(text: &str, ranges: &[Range<usize>], with: impl Iterator<Item = &'a str>) -> String {
    let (mut spliced, mut from) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in ranges.iter().zip(with) {
        spliced.push_str(&text[from..range.start]);
        spliced.push_str(replacement);
        from = range.end;
    }
    spliced + &text[from..]
}
