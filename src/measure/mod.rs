//! Measures code, for refactorings: how complex and how long its functions are, how much of it is duplicated, and
//! what its public interface is.
//!
//! It uses syntax only, in the languages that `guard` supports; other files are not counted.
//! [`crate::domain::measures`] decides what counts as better.

mod complexity;
mod duplicates;
mod interface;
mod tokens;

use greenlight_syntax::{Language, Parsed};
pub use interface::{changed as changed_interface, of as interface};

use crate::domain::id::RepoPath;
use crate::domain::measures::{Measured, Measures};
use crate::domain::patch::{Blob, Patch};
use crate::domain::test_path::is_test_path;

/// The maximum number of files that are measured.
const MAX_FILES: usize = 300;

/// Measures some files together.
pub fn measure<'f>(files: impl Iterator<Item = (&'f RepoPath, &'f str)>) -> Measured {
    let mut measured = Measured::default();
    let mut functions = Vec::new();
    let mut texts = Vec::new();
    for (path, text) in files.take(MAX_FILES) {
        let Some(file) = Language::of(path.as_str()).and_then(|language| Parsed::parse(language, text)) else {
            continue;
        };
        functions.extend(complexity::functions(path, &file));
        texts.push(tokens::of(&file));
    }
    measured.lines = texts.iter().map(|tokens| tokens::lines(tokens)).sum();
    measured.duplicated_lines = duplicates::lines(&texts);
    let most = functions.iter().max_by_key(|function| function.complexity);
    measured.most_complex = most.map(|function| function.name.clone());
    let longest = functions.iter().max_by_key(|function| function.lines);
    measured.longest = longest.map(|function| function.name.clone());
    let sorted = |number: fn(&complexity::Function) -> u32| {
        let mut numbers: Vec<u32> = functions.iter().map(number).collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers.truncate(Measured::MAX_FUNCTIONS);
        numbers
    };
    measured.complexity = sorted(|function| function.complexity);
    measured.lengths = sorted(|function| function.lines);
    measured
}

/// Measures the code that a patch changes, before and after; tests are left out.
pub fn measures(patch: &Patch) -> Measures {
    let side = |is_after: bool| {
        let files = patch.files().filter(|(path, _)| !is_test_path(path.as_str()));
        measure(files.filter_map(|(path, change)| {
            let blob = if is_after { &change.after } else { &change.before };
            Some((path, blob.as_ref().and_then(Blob::text)?))
        }))
    };
    Measures {
        before: side(false),
        after: side(true),
    }
}

#[cfg(test)]
mod tests;
