//! Edits that people's bugs need and no single token gives: an existing expression combined with what is in scope, a
//! statement assembled like others nearby, two tokens at once. There are many, so they come after the cheap edits.

mod conditions;
mod missing;
mod opposites;
mod orders;
mod repeated;
mod slices;
mod sums;
mod wraps;

pub(super) use repeated::repeated;

use super::known_names::KnownNames;
use super::rank::falling;
use super::scope::is_subscripted;
use super::site::{Edit, Site};

/// Maximum number of variables that an expression is combined with.
const MAX_VARIABLES: usize = 8;
/// Maximum length of an expression that is edited.
const MAX_TEXT: usize = 100;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    if place.node().is_named() {
        orders::edits(place, found);
        opposites::edits(place, found);
        slices::edits(place, known, found);
        wraps::edits(place, known, found);
        conditions::edits(place, known, found);
        missing::edits(place, known, found);
        sums::edits(place, known, found);
    } else {
        conditions::two_tokens(place, found);
    }
}

/// How an expression is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The index of a sequence, or a bound of a slice or range.
    Index,
    Argument,
    /// A side of a comparison.
    Compared,
    /// A side of any other operation.
    Operand,
    /// What is assigned, returned or the like.
    Given,
}

/// The role of an expression. `None` for what is no value, such as the target of an assignment, and for text that is
/// too long.
fn role(place: &Site<'_, '_>) -> Option<Role> {
    let language = place.source.language;
    let node = place.node();
    if node.end_byte() - node.start_byte() > MAX_TEXT || place.text().contains('\n') {
        return None;
    }
    let parent = place.parent_kind();
    if language.positions.contains(&parent) {
        return (!is_subscripted(place)).then_some(Role::Index);
    }
    if language.arguments.contains(&parent) {
        return (node.kind() != "keyword_argument").then_some(Role::Argument);
    }
    if place.stands_in(language.values) && !(place.field() == "right" && is_augmented(place)) {
        return Some(Role::Given);
    }
    if parent == "comparison_operator" {
        return Some(Role::Compared);
    }
    let operator = place.above(1)?.node.child_by_field_name("operator")?;
    if !matches!(place.field(), "left" | "right") || parent.contains("assignment") {
        return None;
    }
    Some(match place.source.text_of(operator) {
        "<" | "<=" | ">" | ">=" | "==" | "!=" | "===" | "!==" => Role::Compared,
        "&&" | "||" | "and" | "or" => return None,
        _ => Role::Operand,
    })
}

fn is_augmented(place: &Site<'_, '_>) -> bool {
    let operator = place
        .above(1)
        .and_then(|step| step.node.child_by_field_name("operator"));
    operator.is_some_and(|operator| place.source.text_of(operator) != "=")
}

/// The variables that the place can see and does not mention, those of its function first.
fn others<'k>(place: &Site<'_, '_>, known: &'k KnownNames) -> impl Iterator<Item = &'k String> {
    let (this, text) = (place.source.language.this, place.text().to_string());
    let variables = known.variables_at(place).into_iter();
    variables
        .filter(move |name| *name != this && **name != text)
        .take(MAX_VARIABLES)
}

/// How likely the variable of this rank is the one that is missing: the order in which a function binds its variables
/// says little.
fn nearness(rank: usize) -> f32 {
    0.7 + 0.3 * falling(rank)
}

/// Whether operators of any strength can be written around the expression.
fn is_simple(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    let is_operation = place.kind().starts_with("binary") || language.operations.contains(&place.kind());
    language.operands.contains(&place.kind()) && !is_operation
}

#[cfg(test)]
mod tests;
