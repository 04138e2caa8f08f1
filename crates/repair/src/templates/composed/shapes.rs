//! A value of another shape: another empty collection, a list with the value, one of its elements or members, a lookup
//! or a value with a default, or a call with an option.

use std::collections::BTreeSet;

use super::super::known_names::{KnownNames, around};
use super::super::rank::nearness;
use super::super::role::{MAX_TEXT, Role, role};
use super::super::scope::{functions, owner};
use super::super::site::{Edit, Site};
use super::{is_simple, others};
use crate::template::Template;

/// Maximum number of variables that are offered as positions.
const MAX_POSITIONS: usize = 4;
/// Maximum number of members that are offered.
const MAX_MEMBERS: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    empty(place, found);
    option(place, found);
    defaulted(place, found);
    let Some(role) = role(place) else { return };
    lookup(place, found);
    if place.kind() == "identifier" && role != Role::Index {
        member(place, known, found);
    }
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

/// `a` becomes `a or []` where it is returned, passed, assigned or iterated over.
fn defaulted(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_iterated = language.iterables.contains(&(place.parent_kind(), place.field()));
    let is_given = matches!(role(place), Some(Role::Given | Role::Argument));
    if !(is_iterated || is_given) || !is_simple(place) || place.text().len() > MAX_TEXT / 2 {
        return;
    }
    for (rank, way) in language.style.defaults.iter().enumerate() {
        let made = way.replacen("{}", place.text(), 1);
        found.push(place.edit(made, Template::Fallback).similar(nearness(rank)));
    }
}

/// `a` becomes `a.b`, or `a.b()`, for a member that is read elsewhere.
fn member(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let own = place.text();
    let read = known.parts.get(&(owner(place, own), own.to_string()));
    let read = read.into_iter().flatten().map(|part| format!("{own}.{part}"));
    let function = functions(place).next().unwrap_or(0);
    let calls = place.source.language.calls;
    let start = format!("{own}.");
    let called = around(&known.expressions, place.node().start_byte())
        .iter()
        .filter(|piece| piece.function == function && calls.contains(&piece.kind.as_str()))
        .filter(|piece| piece.text.ends_with("()"))
        .filter(|piece| piece.text.strip_prefix(&start).is_some_and(|rest| !rest.contains('.')))
        .map(|piece| piece.text.clone());
    let all: BTreeSet<String> = read.chain(called).take(4 * MAX_MEMBERS).collect();
    for (rank, made) in all.into_iter().take(MAX_MEMBERS).enumerate() {
        found.push(place.edit(made, Template::Combined).similar(0.9 * nearness(rank)));
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

#[cfg(test)]
mod tests {
    use crate::templates::tests::offers;

    #[test]
    fn a_value_gets_a_default() {
        let python = "def f(a, b):\n    for c in a:\n        g(b)\n    return b\n";
        offers(
            "f.py",
            python,
            &[
                &python.replace("in a:", "in a or []:"),
                &python.replace("return b", "return b or {}"),
            ],
        );
        let script = "const f = (a) => {\n  return a.b;\n};\n";
        offers("f.js", script, &[&script.replace("a.b", "a.b || {}")]);
    }

    #[test]
    fn a_value_becomes_a_member_that_is_read_elsewhere() {
        let java = "class A {\n  void f(Entry e) {\n    put(e.getKey(), e);\n    put(e.getValue(), 1);\n  }\n}\n";
        offers("A.java", java, &[&java.replace("e);", "e.getValue());")]);
        let python = "def f(a, b):\n    g(a.size)\n    return a\n";
        offers("f.py", python, &[&python.replace("return a", "return a.size")]);
    }
}
