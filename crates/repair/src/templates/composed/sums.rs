//! An expression becomes a sum, difference or product with a variable, or an element at its position.

use std::collections::BTreeSet;

use super::super::known_names::{KnownNames, around};
use super::super::rank::nearness;
use super::super::role::{Role, role};
use super::super::scope::functions;
use super::super::site::{Edit, Site};
use super::{is_simple, others};
use crate::template::Template;

/// Maximum number of sequences whose element is offered.
const MAX_SEQUENCES: usize = 4;
/// Maximum length of an expression that is raised to a power.
const MAX_RAISED: usize = 60;
/// Lists and texts, which are joined rather than added.
const LISTS: &[&str] = &["list", "list_comprehension", "array", "string", "tuple"];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let Some(role) = role(place) else { return };
    if language.integers.contains(&place.kind()) {
        computed(place, known, role, found);
        return;
    }
    let is_sum = place.kind().starts_with("binary") && matches!(operator(place), Some("+" | "-"));
    if role == Role::Given && LISTS.contains(&place.kind()) {
        joined(place, known, found);
        return;
    }
    if !(is_simple(place) || is_sum) || place.parent_kind() == "parenthesized_expression" {
        return;
    }
    let text = place.text();
    // An expression that has the variable already would only be multiplied or taken away.
    let is_new = |other: &&String| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .all(|word| word != *other)
    };
    for (rank, other) in others(place, known).filter(is_new).enumerate() {
        let mut push = |made: String, share: f32| {
            let similarity = share * nearness(rank);
            found.push(place.edit(made, Template::Combined).similar(similarity));
        };
        match role {
            Role::Index | Role::Argument => {
                push(format!("{text} - {other}"), 1.0);
                push(format!("{text} + {other}"), 1.0);
                if is_simple(place) {
                    push(format!("{other} - {text}"), 0.8);
                }
            }
            Role::Compared | Role::Given => {
                push(format!("{text} + {other}"), 0.9);
                push(format!("{text} - {other}"), 0.85);
                if is_simple(place) {
                    push(format!("{text} * {other}"), 0.8);
                    push(format!("{text} {} {other}", language.style.division), 0.75);
                    push(format!("{text} % {other}"), 0.75);
                    push(format!("{other} - {text}"), 0.75);
                }
            }
            Role::Operand if is_simple(place) => {
                push(format!("({text} + {other})"), 0.75);
                push(format!("({text} - {other})"), 0.75);
            }
            Role::Operand => {}
        }
    }
    if is_simple(place) {
        if !matches!(place.kind(), "identifier" | "parenthesized_expression") {
            replaced(place, known, found);
        }
        scaled(place, role, found);
        if role == Role::Compared {
            raised(place, known, found);
        }
        if place.kind() == "identifier" {
            divisor(place, known, found);
            element(place, known, found);
        }
    }
}

/// `a / b` becomes `a / len(c)`.
fn divisor(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let (Some(around), language) = (place.above(1), place.source.language) else {
        return;
    };
    let operator = around.node.child_by_field_name("operator");
    let operator = operator.map_or("", |operator| place.source.text_of(operator));
    if place.field() != "right" || !(operator == "/" || operator == language.style.division) {
        return;
    }
    for (rank, other) in others(place, known).enumerate() {
        for size in language.style.sizes {
            let edit = place.edit(size.replace("{}", other), Template::Computed);
            found.push(edit.similar(0.8 * nearness(rank)));
        }
    }
}

fn operator<'t>(place: &Site<'_, 't>) -> Option<&'t str> {
    let operator = place.node().child_by_field_name("operator")?;
    Some(place.source.text_of(operator))
}

/// A call, member or element becomes a variable.
fn replaced(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let beside = beside(place);
    for (rank, other) in others(place, known)
        .enumerate()
        .filter(|(_, other)| beside != Some(other))
    {
        let similarity = 0.9 * nearness(rank);
        found.push(place.edit(other.as_str(), Template::Computed).similar(similarity));
    }
}

/// A list or text is joined to a variable.
fn joined(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let text = place.text();
    for (rank, other) in others(place, known).enumerate() {
        for way in place.source.language.style.joined {
            let made = way.replace("{other}", other).replace("{}", text);
            found.push(place.edit(made, Template::Combined).similar(0.9 * nearness(rank)));
        }
    }
}

/// A number becomes a variable, or one more or less than that, or a size.
fn computed(place: &Site<'_, '_>, known: &KnownNames, role: Role, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let beside = beside(place);
    for (rank, other) in others(place, known).enumerate() {
        let mut push = |made: String, share: f32| {
            found.push(place.edit(made, Template::Computed).similar(share * nearness(rank)));
        };
        if beside != Some(other) {
            push(other.clone(), 1.0);
        }
        for size in language.style.sizes {
            push(size.replace("{}", other), 0.8);
        }
        if role != Role::Operand {
            push(format!("{other} + {}", place.text()), 0.8);
            push(format!("{other} - {}", place.text()), 0.8);
        }
    }
}

/// The other side of the operation: a variable is seldom compared with itself, or added to itself.
fn beside<'t>(place: &Site<'_, 't>) -> Option<&'t str> {
    let sides = [place.node().prev_named_sibling(), place.node().next_named_sibling()];
    let side = sides.into_iter().flatten().next()?;
    Some(place.source.text_of(side))
}

/// Twice, half, the square, or the rest.
fn scaled(place: &Site<'_, '_>, role: Role, found: &mut Vec<Edit>) {
    let (text, language) = (place.text(), place.source.language);
    if matches!(role, Role::Given | Role::Operand | Role::Compared | Role::Argument) {
        // In a longer expression, there is more that may be wrong.
        let share = if role == Role::Operand { 0.7 } else { 0.8 };
        let made = [
            (format!("{text} * {text}"), share),
            (format!("{text} * 2"), share),
            (format!("{text} {} 2", language.style.division), share),
            // Where the division is of integers, there is one of fractions, too.
            (format!("{text} / 2"), 0.98 * share),
        ];
        let count = if language.style.division == "/" { 3 } else { 4 };
        let wanted = made.into_iter().take(if text.len() > 20 { 0 } else { count });
        found.extend(wanted.map(|(made, share)| place.edit(made, Template::Combined).similar(share)));
    }
}

/// What is compared is raised to a power that the function mentions: a root is checked by its power.
fn raised(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let power = place.source.language.style.power;
    if power.is_empty() || place.text().len() > MAX_RAISED || place.text().starts_with(|c: char| c.is_ascii_digit()) {
        return;
    }
    let own = functions(place).next().unwrap_or(0);
    let mentioned = around(&known.numbers, place.node().start_byte()).iter();
    let powers: BTreeSet<&str> = mentioned
        .filter(|piece| piece.function == own)
        .map(|piece| piece.text.trim_end_matches(".0").trim_end_matches('.'))
        .filter(|number| is_power(number))
        .collect();
    for number in powers {
        let made = power.replace("{power}", number).replace("{}", place.text());
        found.push(place.edit(made, Template::Combined).similar(0.8));
    }
}

/// `2` to `9`.
fn is_power(number: &str) -> bool {
    matches!(number.as_bytes(), [b'2'..=b'9'])
}

/// `i` becomes `a[i]` for a sequence that the function reads elements of.
fn element(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let own = functions(place).next().unwrap_or(0);
    let is_position = |kind: &str| {
        matches!(
            kind,
            "subscript" | "subscript_expression" | "index_expression" | "array_access"
        )
    };
    let sequences = around(&known.expressions, place.node().start_byte())
        .iter()
        .filter(|piece| piece.function == own && is_position(&piece.kind))
        .filter_map(|piece| Some(piece.text.split_once('[')?.0));
    let sequences: BTreeSet<&str> = sequences.filter(|name| *name != place.text()).collect();
    for sequence in sequences.into_iter().take(MAX_SEQUENCES) {
        let made = format!("{sequence}[{}]", place.text());
        found.push(place.edit(made, Template::Combined).similar(0.8));
    }
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn a_divisor_becomes_a_size() {
        let go = "package a\n\nfunc f(a []float64, b float64) float64 {\n\treturn g(a) / b\n}\n";
        offers("a.go", go, &[&go.replace("/ b", "/ float64(len(a))")]);
        let python = "def f(a, b):\n    return sum(a) / b\n";
        offers("a.py", python, &[&python.replace("/ b", "/ len(a)")]);
        offers_not("a.py", "def f(a, b):\n    return b * g(a)\n", "len(a) *");
    }
}
