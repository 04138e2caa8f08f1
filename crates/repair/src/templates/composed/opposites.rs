//! A member, method or function whose name says the opposite: `incoming` for `outgoing`.

use super::super::scope::is_callee;
use super::super::site::{Edit, Site};
use crate::template::Template;

const OPPOSITES: &[[&str; 2]] = &[
    ["lower", "upper"],
    ["incoming", "outgoing"],
    ["left", "right"],
    ["first", "last"],
    ["start", "end"],
    ["begin", "end"],
    ["next", "prev"],
    ["next", "previous"],
    ["successor", "predecessor"],
    ["before", "after"],
    ["min", "max"],
    ["width", "height"],
    ["row", "column"],
    ["row", "col"],
    ["add", "remove"],
    ["old", "new"],
    ["source", "target"],
    ["parent", "child"],
    ["key", "value"],
    ["head", "tail"],
    ["top", "bottom"],
    ["low", "high"],
    ["even", "odd"],
    ["encode", "decode"],
    ["less", "greater"],
    ["alpha", "digit"],
    ["in", "out"],
    ["from", "to"],
    ["x", "y"],
];
/// Shorter words only count as whole words.
const MIN_PART: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let (kind, _, part) = language.attribute;
    let is_member = place.parent_kind() == kind && place.field() == part;
    if !(is_member || is_callee(place)) || place.node().named_child_count() > 0 {
        return;
    }
    for pair in OPPOSITES {
        for (word, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            if let Some(name) = with_opposite(place.text(), word, other) {
                let template = if is_callee(place) {
                    Template::Method
                } else {
                    Template::Attribute
                };
                found.push(place.edit(name, template).similar(0.8));
            }
        }
    }
}

/// The name with one word replaced by its opposite.
fn with_opposite(name: &str, word: &str, other: &str) -> Option<String> {
    let capital = |text: &str| -> String {
        let mut letters = text.chars();
        letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .chain(letters)
            .collect()
    };
    for (word, other) in [(word.to_string(), other.to_string()), (capital(word), capital(other))] {
        let Some(at) = name.find(&word) else { continue };
        let (before, after) = (name.get(..at)?, name.get(at + word.len()..)?);
        let ends = !after.starts_with(|c: char| c.is_lowercase());
        let starts = !before.ends_with(char::is_alphanumeric) || word.starts_with(char::is_uppercase);
        if (starts && ends) || (word.len() >= MIN_PART && (starts || ends)) {
            return Some(format!("{before}{other}{after}"));
        }
    }
    None
}
