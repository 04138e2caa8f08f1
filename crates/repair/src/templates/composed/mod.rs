//! Edits that people's bugs need and no single token gives: an existing expression combined with what is in scope, a
//! statement assembled like others nearby, two tokens at once. There are many, so they come after the cheap edits.

mod chains;
mod conditions;
mod early;
mod groups;
mod missing;
mod opposites;
mod orders;
mod recursion;
mod repeated;
mod results;
mod shapes;
mod slices;
mod sums;
mod texts;
mod wraps;

pub(super) use repeated::repeated;

use super::known_names::KnownNames;
use super::site::{Edit, Site};
use super::statements::leave_block;

/// Maximum number of variables that an expression is combined with.
const MAX_VARIABLES: usize = 8;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    if place.node().is_named() {
        orders::edits(place, found);
        opposites::edits(place, found);
        shapes::edits(place, known, found);
        slices::edits(place, known, found);
        wraps::edits(place, known, found);
        conditions::edits(place, known, found);
        missing::edits(place, known, found);
        results::edits(place, known, found);
        sums::edits(place, known, found);
        chains::edits(place, found);
        early::edits(place, found);
        leave_block(place, found);
        groups::edits(place, found);
        texts::edits(place, known, found);
        recursion::edits(place, found);
    } else {
        conditions::two_tokens(place, found);
    }
}

/// The variables that the place can see and does not mention, those of its function first.
fn others<'k>(place: &Site<'_, '_>, known: &'k KnownNames) -> impl Iterator<Item = &'k String> {
    let (this, text) = (place.source.language.this, place.text().to_string());
    let variables = known.variables_at(place).into_iter();
    variables
        .filter(move |name| *name != this && **name != text)
        .take(MAX_VARIABLES)
}

/// Whether operators of any strength can be written around the expression.
fn is_simple(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    let is_operation = place.kind().starts_with("binary") || language.operations.contains(&place.kind());
    language.operands.contains(&place.kind()) && !is_operation
}

#[cfg(test)]
mod tests;
