//! How an expression is used, which says what it may become.

use super::scope::is_subscripted;
use super::site::Site;

/// Maximum length of an expression that has a role.
pub(super) const MAX_TEXT: usize = 100;

/// How an expression is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
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
pub(super) fn role(place: &Site<'_, '_>) -> Option<Role> {
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
