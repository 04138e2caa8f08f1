//! A condition gets another operand, a constant becomes a comparison, or a comparison changes in two tokens.

use std::collections::BTreeSet;

use super::super::known_names::{KnownNames, around};
use super::super::rank::nearness;
use super::super::role::{MAX_TEXT, role};
use super::super::scope::functions;
use super::super::site::{Edit, Site};
use super::super::statements::LOOPS;
use super::others;
use crate::template::Template;

/// Maximum number of conditions that are added to one.
const MAX_ADDED: usize = 10;
/// Maximum number of variables that are compared.
const MAX_COMPARED: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    only_if(place, known, found);
    if place.is_condition() && place.text().len() <= MAX_TEXT && !language.truths.contains(&place.text()) {
        operand(place, known, found);
    } else if language.truths.contains(&place.text()) && role(place).is_some() {
        for (rank, test) in tests(place, known).into_iter().enumerate() {
            found.push(place.edit(test, Template::Computed).similar(nearness(rank)));
        }
    }
}

/// `a` becomes `a and b`, and `a or b`.
fn operand(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let own = functions(place).next().unwrap_or(0);
    let text = place.text();
    let [and, or] = place.source.language.style.logical;
    let at = place.node().start_byte();
    let mut near: Vec<(usize, &str)> = around(&known.conditions, at)
        .iter()
        .filter(|piece| piece.function == own && !text.contains(piece.text.as_str()))
        .filter(|piece| !is_joined(&piece.text))
        .map(|piece| (piece.at.abs_diff(at), piece.text.as_str()))
        .collect();
    near.sort_unstable();
    guarded(place, known, found);
    let mut seen = BTreeSet::new();
    let made = near.into_iter().map(|(_, text)| text.to_string());
    let made = made.chain(tests(place, known)).filter(|test| seen.insert(test.clone()));
    let needs_parentheses = is_joined(text);
    for (rank, test) in made.take(MAX_ADDED).enumerate() {
        // People forget a condition three times as often as an alternative.
        for (joined, share) in [(and, 1.0), (or, 0.9)] {
            let own = if needs_parentheses && !text.contains(joined) {
                format!("({text})")
            } else {
                text.to_string()
            };
            let made = format!("{own} {joined} {test}");
            found.push(place.edit(made, Template::Conjunct).similar(share * nearness(rank)));
        }
    }
}

/// `a.b == c` becomes `a == null || a.b == c`: a value is used that may be missing.
fn guarded(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let (text, [and, or]) = (place.text(), language.style.logical);
    if language.style.vacant.is_empty() || is_joined(text) {
        return;
    }
    let test = |name: &str| language.style.is_nothing.0.replace("{}", name);
    let is_used = |name: &str| {
        let mut uses = text.match_indices(name);
        uses.any(|(at, _)| {
            text[at + name.len()..].starts_with('.')
                && !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
        })
    };
    for name in known
        .variables_at(place)
        .into_iter()
        .filter(|name| *name != language.this && is_used(name))
    {
        let missing = test(name);
        let present = missing.replace("==", "!=");
        found.push(place.edit(format!("{missing} {or} {text}"), Template::Conjunct));
        found.push(place.edit(format!("{present} {and} {text}"), Template::Conjunct));
    }
}

/// A statement in a loop that should only be executed under a condition.
fn only_if(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    // Some languages allow a body without braces.
    let is_body = place.field() == "body";
    let is_in_loop = place
        .above(if is_body { 1 } else { 2 })
        .is_some_and(|outer| LOOPS.iter().any(|kind| outer.node.kind().starts_with(kind)));
    let is_statement =
        (is_body || language.blocks.contains(&place.parent_kind())) && place.kind().ends_with("statement");
    let text = place.text();
    let is_one = is_statement && !text.contains('\n') && text.len() <= MAX_TEXT && !text.starts_with("if");
    if !is_in_loop || !is_one {
        return;
    }
    let [before, between, after] = language.style.branch;
    for (rank, test) in tests(place, known).into_iter().take(MAX_ADDED).enumerate() {
        let made = format!("{before}{test}{between}{text}{after}");
        found.push(place.edit(made, Template::Conjunct).similar(0.85 * nearness(rank)));
    }
}

fn is_joined(text: &str) -> bool {
    [" and ", " or ", "&&", "||", " if ", "?"]
        .iter()
        .any(|joined| text.contains(joined))
}

/// Short conditions over the variables in scope.
fn tests(place: &Site<'_, '_>, known: &KnownNames) -> Vec<String> {
    let language = place.source.language;
    let equal = if language.swaps.iter().any(|(from, _)| *from == "===") {
        "==="
    } else {
        "=="
    };
    let names: Vec<&String> = others(place, known).take(2 * MAX_COMPARED).collect();
    // What was bound last is nearest.
    let names: Vec<&String> = names.into_iter().rev().take(MAX_COMPARED).collect();
    let mut made = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let is_sequence = known.is_sequence(place, name);
        if !is_sequence {
            made.push(format!("{name} {equal} 0"));
        }
        if let Some(other) = names
            .get(index + 1)
            .filter(|other| known.is_sequence(place, other) == is_sequence)
        {
            made.extend([equal, "<", ">"].map(|operator| format!("{other} {operator} {name}")));
        }
        if !is_sequence {
            made.push(format!("{name} > 0"));
            if index == 0 {
                made.extend([0, 1].map(|rest| format!("{name} % 2 {equal} {rest}")));
            }
        }
        made.push(language.style.is_nothing.0.replace("{}", name));
        made.extend(language.style.vacant.iter().map(|way| way.replace("{}", name)));
    }
    made
}

/// `n == 0` becomes `n <= 1`: the operator and the number beside it.
pub(super) fn two_tokens(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !language.operations.contains(&place.parent_kind()) {
        return;
    }
    let others: &[(&str, i64)] = match place.kind() {
        "==" | "===" => &[("<=", 1), (">=", -1), ("!=", 1), ("!=", -1)],
        "!=" | "!==" => &[(">", 1), ("<", -1), ("==", 1), ("==", -1)],
        "<" | "<=" => &[("==", 1), ("==", -1), (">", 1), (">=", -1)],
        ">" | ">=" => &[("==", 1), ("==", -1), ("<", -1), ("<=", 1)],
        _ => return,
    };
    let Some(number) = place.node().next_sibling() else {
        return;
    };
    let value = place.source.text_of(number).parse::<i64>();
    let Some(value) = value.ok().filter(|value| *value < i64::MAX && *value >= 0) else {
        return;
    };
    let is_strict = matches!(place.kind(), "===" | "!==");
    for (operator, by) in others {
        let changed = value + by;
        let strict = if is_strict && matches!(*operator, "==" | "!=") {
            "="
        } else {
            ""
        };
        found.push(Edit {
            range: place.node().start_byte()..number.end_byte(),
            replacement: format!("{operator}{strict} {changed}"),
            template: Template::TwoTokens,
            similarity: if *by > 0 { 1.0 } else { 0.85 },
        });
    }
}
