//! An expression is passed through a function: the greater or lesser of it and another value, a function of the same
//! file, or the same function on both sides of a comparison.

use tree_sitter::Node;

use super::super::known_names::{FunctionBody, KnownNames};
use super::super::rank::nearness;
use super::super::role::{MAX_TEXT, Role, role};
use super::super::scope::is_callee;
use super::super::site::{Edit, Site};
use super::others;
use crate::template::Template;

/// Maximum number of variables that are offered as the other value, and of functions of the file.
const MAX_OTHERS: usize = 4;
const MAX_FUNCTIONS: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    both_sides(place, found);
    let language = place.source.language;
    let Some(role) = role(place) else { return };
    let is_value = language.operands.contains(&place.kind());
    if !is_value || is_callee(place) {
        return;
    }
    if matches!(role, Role::Given | Role::Argument) {
        extremes(place, known, found);
    }
    if !place.kind().starts_with("binary") && role != Role::Index {
        own_functions(place, known, found);
    }
}

/// `e` becomes `max(e, 0)` or `min(e, other)`.
fn extremes(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let style = &place.source.language.style;
    let text = place.text();
    // A value that is already the result of such a call would only be bounded twice.
    if matches!(place.callee(), Some("min" | "max")) {
        return;
    }
    let operand = if place.kind().starts_with("binary") {
        format!("({text})")
    } else {
        text.to_string()
    };
    let mut push = |way: &str, other: &str, share: f32| {
        let value = if way.starts_with("{}") { operand.as_str() } else { text };
        let made = way.replace("{other}", other).replace("{}", value);
        found.push(place.edit(made, Template::Extreme).similar(share));
    };
    for way in style.extremes {
        push(way, "0", 0.9);
        push(way, "1", 0.8);
    }
    for (rank, other) in others(place, known).take(MAX_OTHERS).enumerate() {
        for way in style.extremes {
            push(way, other, 0.95 * nearness(rank));
        }
    }
}

/// `x` becomes `f(x)` for a function of the file with one parameter, even if `x` is a call of it.
fn own_functions(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let at = place.node().start_byte();
    let is_unary = |body: &&FunctionBody| {
        let inside = body.parameters.trim_matches(['(', ')']).trim();
        // Nobody calls these by name.
        let is_special = body.name == "constructor" || body.name.starts_with("__");
        !is_special && !inside.is_empty() && !inside.contains(',') && !inside.contains("self")
    };
    let mut functions: Vec<&FunctionBody> = known.bodies.iter().filter(is_unary).collect();
    functions.sort_by_key(|body| body.at.abs_diff(at));
    for (rank, function) in functions.into_iter().take(MAX_FUNCTIONS).enumerate() {
        let made = format!("{}({})", function.name, place.text());
        found.push(place.edit(made, Template::Call).similar(nearness(rank)));
    }
}

/// `a == b` becomes `f(a) == f(b)`, and `g(a) == g(b)` becomes `g(f(a)) == g(f(b))`.
fn both_sides(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let node = place.node();
    let is_comparison = language.operations.contains(&place.kind()) && node.named_child_count() == 2;
    if !is_comparison || place.text().len() > MAX_TEXT {
        return;
    }
    let (Some(left), Some(right)) = (node.named_child(0), node.named_child(1)) else {
        return;
    };
    let between = place.source.text.get(left.end_byte()..right.start_byte());
    if !between.is_some_and(|between| matches!(between.trim(), "==" | "!=" | "===" | "!==")) {
        return;
    }
    let is_operand = |kind: &str| language.operands.contains(&kind) && !kind.starts_with("binary");
    if !is_operand(left.kind()) || !is_operand(right.kind()) {
        return;
    }
    let [inner_left, inner_right] = [left, right].map(|side| only_argument(place, side));
    let (left, right) = match (inner_left, inner_right) {
        (Some((name, left)), Some((other, right))) if name == other => (left, right),
        _ => (left, right),
    };
    let range = left.start_byte()..right.end_byte();
    let Some(between) = place.source.text.get(left.end_byte()..right.start_byte()) else {
        return;
    };
    let [left, right] = [left, right].map(|side| place.source.text_of(side));
    let mut push = |replacement: String, rank: usize| {
        found.push(Edit {
            range: range.clone(),
            replacement,
            template: Template::Call,
            similarity: nearness(rank),
        });
    };
    for (rank, wrapper) in language.style.wrappers.iter().enumerate() {
        push(format!("{wrapper}({left}){between}{wrapper}({right})"), rank);
    }
    for (rank, suffix) in language.style.suffixes.iter().enumerate() {
        push(format!("{left}{suffix}{between}{right}{suffix}"), rank);
    }
}

/// The name of the function and its argument, if the node is a call with one.
fn only_argument<'t>(place: &Site<'_, 't>, node: Node<'t>) -> Option<(&'t str, Node<'t>)> {
    let language = place.source.language;
    let called = node.child_by_field_name(language.callee)?;
    let arguments = node.child_by_field_name("arguments")?;
    let only = arguments
        .named_child(0)
        .filter(|_| arguments.named_child_count() == 1)?;
    Some((place.source.text_of(called), only))
}
