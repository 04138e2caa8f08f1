//! Fixes off-by-one errors.

use super::scope::is_subscripted;
use super::site::{Edit, Site};
use crate::template::Template;

/// Functions and names that count or measure, so that their result may be off by one.
const COUNTS: &[&str] = &[
    "abs",
    "bit_length",
    "bisect_left",
    "bisect_right",
    "ceil",
    "count",
    "find",
    "floor",
    "index",
    "int",
    "len",
    "max",
    "min",
    "ord",
    "pow",
    "rfind",
    "round",
    "size",
    "sum",
    "unwrap_or",
    "width",
];

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !place.node().is_named() {
        return;
    }
    drop_one(place, found);
    if place.source.language.operands.contains(&place.kind()) {
        shift(place, found);
    }
    start_range_at_one(place, found);
}

/// `n + 1` and `n - 1` become `n`.
fn drop_one(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if let Some((left, "+" | "-", right)) = operation(place)
        && right == "1"
    {
        found.push(place.edit(left, Template::DropOne));
    }
}

/// `n` becomes `n + 1` or `n - 1`.
fn shift(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    match operation(place) {
        // A swap or a constant already covers adding or subtracting one.
        Some((_, "+" | "-", right)) if is_number(right) => return,
        // An operator that binds less tightly would be split.
        Some((_, operator, _)) if !matches!(operator, "+" | "-" | "*" | "/" | "//" | "%") => return,
        _ => {}
    }
    let Some((template, needs_parentheses)) = value_of(place) else {
        return;
    };
    if template == Template::ShiftValue && place.callee().is_some_and(|name| !COUNTS.contains(&name)) {
        return;
    }
    for one in ["+ 1", "- 1"] {
        let shifted = format!("{} {one}", place.text());
        let shifted = if needs_parentheses {
            format!("({shifted})")
        } else {
            shifted
        };
        found.push(place.edit(shifted, template));
    }
}

/// How likely the value is off by one in its position, and whether a sum there needs parentheses.
fn value_of(place: &Site<'_, '_>) -> Option<(Template, bool)> {
    let language = place.source.language;
    let (parent, field) = (place.parent_kind(), place.field());
    if language.positions.contains(&parent) {
        // A subscripted value is not a number, unlike the index.
        return (!is_subscripted(place)).then_some((Template::ShiftPosition, false));
    }
    if language.arguments.contains(&parent) {
        let callee = place.above(2)?.node.child_by_field_name(language.callee)?;
        let is_range = place.source.text_of(callee) == "range";
        let template = if is_range {
            Template::ShiftPosition
        } else {
            Template::ShiftValue
        };
        return Some((template, false));
    }
    let needs_parentheses = match operation_of(place, 1) {
        // Changing the adjacent number has the same effect.
        Some((left, "+" | "-", right)) if is_number(left) || is_number(right) => return None,
        Some((_, "<" | "<=" | ">" | ">=" | "==" | "!=" | "+", _)) => false,
        Some((_, "-", _)) => field == "right",
        Some((_, "*" | "/" | "//" | "%", _)) => true,
        _ if place.stands_in(language.values) => false,
        _ => return None,
    };
    Some((Template::ShiftValue, needs_parentheses))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn operation<'t>(place: &Site<'_, 't>) -> Option<(&'t str, &'t str, &'t str)> {
    operation_of(place, 0)
}

/// The left side, operator and right side of the node this many levels up, if it is an operation. A side may be
/// empty.
fn operation_of<'t>(place: &Site<'_, 't>, levels: usize) -> Option<(&'t str, &'t str, &'t str)> {
    let node = place.above(levels)?.node;
    let part = |field: &str| node.child_by_field_name(field).map(|part| place.source.text_of(part));
    let operator = part("operator").or_else(|| part("operators"))?;
    Some((
        part("left").unwrap_or_default(),
        operator,
        part("right").unwrap_or_default(),
    ))
}

/// `range(n)` becomes `range(1, n)`.
fn start_range_at_one(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_range = place
        .above(1)
        .and_then(|call| call.node.child_by_field_name(language.callee))
        .is_some_and(|callee| place.source.text_of(callee) == "range");
    if language.arguments.contains(&place.kind()) && is_range && place.node().named_child_count() == 1 {
        let inside = place.text().trim_start_matches('(');
        found.push(place.edit(format!("(1, {inside}"), Template::ShiftPosition));
    }
}
