//! A value of another shape: another empty collection, a list with the value, one of its elements, a lookup with a
//! default, or a call with an option.

use super::super::known_names::KnownNames;
use super::super::rank::nearness;
use super::super::role::{MAX_TEXT, Role, role};
use super::super::site::{Edit, Site};
use super::{is_simple, others};
use crate::template::Template;

/// Maximum number of variables that are offered as positions.
const MAX_POSITIONS: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    empty(place, found);
    option(place, found);
    let Some(role) = role(place) else { return };
    lookup(place, found);
    listed(place, role, found);
    if is_simple(place) && role != Role::Index {
        element(place, known, found);
    }
}

/// `[]` becomes `[[]]`, `{}` and so on.
fn empty(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let shapes = place.source.language.style.shapes;
    if !shapes.contains(&place.text()) || place.field() == "body" {
        return;
    }
    for (rank, shape) in shapes.iter().filter(|shape| **shape != place.text()).enumerate() {
        found.push(place.edit(*shape, Template::Shape).similar(nearness(rank)));
    }
}

/// `sorted(a)` becomes `sorted(a, reverse=True)`.
fn option(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let Some(call) = place.above(1).filter(|_| language.arguments.contains(&place.kind())) else {
        return;
    };
    let callee = call.node.child_by_field_name(language.callee);
    let callee = callee.map_or("", |callee| place.source.text_of(callee));
    let callee = callee.rsplit('.').next().unwrap_or(callee);
    let options = language.style.options.iter().filter(|(name, _)| *name == callee);
    let Some(inside) = place.text().strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return;
    };
    let between = if inside.trim().is_empty() { "" } else { ", " };
    for (rank, option) in options.flat_map(|(_, options)| options.iter()).enumerate() {
        let name = option.split(['=', ' ']).next().unwrap_or(option);
        if !inside.contains(name) {
            let made = format!("({inside}{between}{option})");
            found.push(place.edit(made, Template::Call).similar(nearness(rank)));
        }
    }
}

/// `a[k]` becomes `a.get(k, 0)`.
fn lookup(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !language.positions.contains(&place.kind()) {
        return;
    }
    let (Some(value), Some(key)) = (place.node().named_child(0), place.node().named_child(1)) else {
        return;
    };
    let [value, key] = [value, key].map(|part| place.source.text_of(part));
    // Lists are not added or joined to other values.
    let is_operand = place.parent_kind() == "binary_expression";
    for (rank, way) in language.style.lookups.iter().enumerate() {
        if is_operand && way.contains("[])") {
            continue;
        }
        let made = way.replacen("{key}", key, 1).replacen("{}", value, 1);
        if !key.contains([':', '{']) {
            found.push(place.edit(made, Template::Combined).similar(0.9 * nearness(rank)));
        }
    }
}

/// `x` becomes `[x]`, and vice versa.
fn listed(place: &Site<'_, '_>, role: Role, found: &mut Vec<Edit>) {
    let style = &place.source.language.style;
    let is_list = matches!(place.kind(), "list" | "array");
    if style.shapes.is_empty() || !matches!(role, Role::Given | Role::Operand) {
        return;
    }
    if let Some(only) = place
        .node()
        .named_child(0)
        .filter(|_| is_list && place.node().named_child_count() == 1)
    {
        found.push(place.edit(place.source.text_of(only), Template::Shape).similar(0.8));
    } else if is_simple(place) {
        found.push(place.edit(format!("[{}]", place.text()), Template::Shape).similar(0.8));
    }
}

/// `a` becomes `a[0]`, or `a[i]` for a variable.
fn element(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let style = &place.source.language.style;
    let text = place.text();
    if text.len() > MAX_TEXT / 2 {
        return;
    }
    for (rank, way) in style.elements.iter().enumerate() {
        let made = way.replace("{}", text);
        found.push(place.edit(made, Template::Combined).similar(0.8 * nearness(rank)));
    }
    if place.kind() == "identifier" {
        for (rank, position) in others(place, known).take(MAX_POSITIONS).enumerate() {
            let made = format!("{text}[{position}]");
            found.push(place.edit(made, Template::Combined).similar(0.8 * nearness(rank)));
        }
    }
}
