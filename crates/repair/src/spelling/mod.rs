//! Recognises edits that are written differently but mean the same: `amount >= FROM`, `amount + 1 > FROM`, and a
//! `FROM` that is one less. A person who turned one of them down does not want to see the others.
//!
//! This looks at syntax only and treats numbers as integers: a comparison becomes one of a sum with zero, negations
//! move inwards, operands of commutative operators are sorted, numbers are parsed, and integer constants are replaced
//! by their values. Edits that merely behave the same are not recognised, nor are equivalences that depend on types.

mod condition;
mod reader;
mod sum;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Patch;
use greenlight_readers::test_path::is_test_path;
use greenlight_tree::checkout::Checkout;

use self::reader::SpellingReader;
use super::language;
use super::syntax::Source;

/// Maximum number of bytes of other files that are searched for a name.
const MAX_LOOKED_THROUGH: usize = 16 << 20;

/// Whether a patch of this tree means the same as one of the others.
pub fn is_spelled_like(checkout: &Checkout, others: &[Patch], patch: &Patch) -> bool {
    Spellings::new(checkout, others).have(patch)
}

/// Normal forms of the edits that are not wanted.
pub(super) struct Spellings<'a> {
    checkout: &'a Checkout,
    patches: &'a [Patch],
    /// Whether a name occurs in files other than its own; cached because the search is slow.
    elsewhere: Mutex<BTreeMap<(RepoPath, String), bool>>,
}

impl<'a> Spellings<'a> {
    pub(super) fn new(checkout: &'a Checkout, patches: &'a [Patch]) -> Self {
        Self {
            checkout,
            patches,
            elsewhere: Mutex::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Whether this patch means the same as one of them.
    pub(super) fn have(&self, patch: &Patch) -> bool {
        self.patches
            .iter()
            .any(|other| other == patch || self.are_alike(other, patch))
    }

    fn are_alike(&self, one: &Patch, other: &Patch) -> bool {
        let paths: BTreeSet<&RepoPath> = one.paths().chain(other.paths()).collect();
        paths.into_iter().all(|path| {
            let (one, other) = (self.after(one, path), self.after(other, path));
            one == other
                || one
                    .zip(other)
                    .is_some_and(|(one, other)| self.say_the_same(path, &one, &other))
        })
    }

    /// The text of a file after a patch. `None` if it has none.
    fn after(&self, patch: &Patch, path: &RepoPath) -> Option<String> {
        match patch.files().find(|(changed, _)| *changed == path) {
            Some((_, change)) => change.after.as_ref()?.text().map(ToString::to_string),
            None => self.checkout.read_text(path.as_str()),
        }
    }

    fn say_the_same(&self, path: &RepoPath, one: &str, other: &str) -> bool {
        let parse = |text: &str| Source::parse(path.as_str(), text.to_string());
        let (Some(one), Some(other)) = (parse(one), parse(other)) else {
            return false;
        };
        // A constant is only compared through its uses, so it must have at least one.
        let is_used = |name: &str| [&one, &other].iter().all(|source| words(&source.text, name) > 1);
        let (one, other) = (SpellingReader::new(&one), SpellingReader::new(&other));
        // Other files may use a named number that differs, and then more than this file changes its meaning.
        let differ = one
            .numbers()
            .filter(|(name, value)| other.number(name).is_some_and(|other| other != *value));
        let differ: BTreeSet<String> = differ.map(|(name, _)| name.to_string()).collect();
        let hidden = differ
            .into_iter()
            .filter(|name| is_used(name) && !self.is_elsewhere(path, name))
            .collect();
        match (one.normal_form(&hidden), other.normal_form(&hidden)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }

    /// Whether code in another file contains this name.
    fn is_elsewhere(&self, path: &RepoPath, name: &str) -> bool {
        let key = (path.clone(), name.to_string());
        let mut known = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return *known;
        }
        let mut bytes = 0;
        let others =
            self.checkout.paths().into_iter().filter(|other| {
                *other != path && language::of(other.as_str()).is_some() && !is_test_path(other.as_str())
            });
        let mut found = false;
        for other in others {
            let text = self.checkout.read_text(other.as_str()).unwrap_or_default();
            bytes += text.len();
            if words(&text, name) > 0 || bytes > MAX_LOOKED_THROUGH {
                found = true;
                break;
            }
        }
        known.insert(key, found);
        found
    }
}

/// How often a text contains this word.
fn words(text: &str, word: &str) -> usize {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_whole = |(at, _): &(usize, &str)| {
        let (before, after) = (text.get(..*at), text.get(at + word.len()..));
        !is_part(before.and_then(|text| text.chars().next_back()))
            && !is_part(after.and_then(|text| text.chars().next()))
    };
    text.match_indices(word).filter(is_whole).count()
}

#[cfg(test)]
mod tests;
