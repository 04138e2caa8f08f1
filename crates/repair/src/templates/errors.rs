//! Catches or raises a different error.

use std::collections::BTreeSet;

use super::error_names::{is_name, sounds_like_one};
use super::known_names::KnownNames;
use super::rank::falling;
use super::site::{Edit, Site};
use crate::template::Template;

/// Maximum number of alternatives for one error.
const MAX_OTHERS: usize = 24;
/// Maximum number of names in one clause that are considered.
const MAX_SIBLINGS: u32 = 16;
/// Maximum number of levels between an error and the statement that names it: tuples and calls lie between.
const LEVELS: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let (statements, usual) = place.source.language.errors;
    let name = place.text();
    if !is_name(place) || !is_error(name, usual) || !is_named_in(place, statements) {
        return;
    }
    let siblings: BTreeSet<&str> = siblings(place).collect();
    // Errors that the project names itself are likelier than standard errors.
    let mut seen = BTreeSet::new();
    let own = known.errors.iter().map(String::as_str);
    let others = own
        .chain(usual.iter().copied())
        .filter(|other| *other != name && !siblings.contains(other))
        .filter(|other| seen.insert(*other))
        .take(MAX_OTHERS);
    let several = place.source.language.style.several_errors;
    // `except A as e` has another node around the error.
    let kinds: Vec<&str> = (1..=LEVELS)
        .map_while(|levels| place.above(levels))
        .map(|step| step.node.kind())
        .filter(|kind| *kind != "as_pattern")
        .collect();
    let is_alone = several.is_some_and(|(clause, _)| kinds.first() == Some(&clause));
    let is_one_of = several.is_some_and(|(clause, several)| kinds.starts_with(&[several, clause]));
    let is_any = |name: &str| matches!(name, "Exception" | "BaseException");
    for (rank, other) in others.enumerate() {
        found.push(place.edit(other, Template::Exception).similar(falling(rank)));
        if is_any(other) || is_any(name) {
            continue;
        }
        // One more error.
        let both = match (is_alone, is_one_of) {
            (true, _) => format!("({name}, {other})"),
            (_, true) => format!("{name}, {other}"),
            _ => continue,
        };
        found.push(place.edit(both, Template::Exception).similar(0.9 * falling(rank)));
    }
}

fn is_error(name: &str, usual: &[&str]) -> bool {
    usual.contains(&name) || sounds_like_one(name)
}

fn is_named_in(place: &Site<'_, '_>, statements: &[&str]) -> bool {
    let around = (1..=LEVELS).map_while(|levels| place.above(levels));
    around
        .take_while(|step| !place.source.language.blocks.contains(&step.node.kind()))
        .any(|step| statements.contains(&step.node.kind()))
}

/// The other errors in the same clause.
fn siblings<'t>(place: &Site<'_, 't>) -> impl Iterator<Item = &'t str> {
    let parent = place.above(1).map(|step| step.node);
    (0..MAX_SIBLINGS).map_while(move |index| Some(place.source.text_of(parent?.named_child(index)?)))
}
