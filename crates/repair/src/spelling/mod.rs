//! Tells whether two edits say the same in other words: `amount >= FROM` and `amount + 1 > FROM` and a `FROM` that is one
//! less. Who turned one of them down does not want to see the others.
//!
//! It is told from syntax, with numbers taken for integers: a comparison becomes one of a sum with zero, a negation goes
//! inwards, what may stand in any order is sorted, numbers are read, and named integers stand for their values. What only
//! behaves the same is another matter; so is what two edits have in common by the types of what they mention.

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

/// Bytes of other files that are looked through for a name, in all.
const MAX_LOOKED_THROUGH: usize = 16 << 20;

/// Whether a patch of this tree says the same as one of the others.
pub fn is_spelled_like(checkout: &Checkout, others: &[Patch], patch: &Patch) -> bool {
    Spellings::new(checkout, others).have(patch)
}

/// What edits say that are not wanted, in any words.
pub(super) struct Spellings<'a> {
    checkout: &'a Checkout,
    patches: &'a [Patch],
    /// Whether a name is found in other files than its own, which takes long to find out.
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

    /// Whether this says the same as one of them.
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

    /// The text of a file with a patch. `None` where there is none.
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
        // A value is told by what uses it, so that something has to.
        let is_used = |name: &str| [&one, &other].iter().all(|source| words(&source.text, name) > 1);
        let (one, other) = (SpellingReader::new(&one), SpellingReader::new(&other));
        // A named number that differs may be seen by others: then it is not only this file that says something else.
        let differ = one
            .numbers()
            .filter(|(name, value)| other.number(name).is_some_and(|other| other != *value));
        let differ: BTreeSet<String> = differ.map(|(name, _)| name.to_string()).collect();
        let hidden = differ
            .into_iter()
            .filter(|name| is_used(name) && !self.is_elsewhere(path, name))
            .collect();
        match (one.said(&hidden), other.said(&hidden)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }

    /// Whether code in another file has this name.
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

/// How often a text has this word.
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
