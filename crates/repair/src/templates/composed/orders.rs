//! Elements, concatenated texts and indices in the other order.

use super::super::role::MAX_TEXT;
use super::super::site::{Edit, Site};
use crate::template::Template;

/// Nodes whose elements have an order that is easily mistaken.
const ORDERED: &[&str] = &[
    "list",
    "literal_value",
    "array",
    "array_initializer",
    "tuple",
    "expression_list",
    "pattern_list",
    "array_pattern",
    "tuple_expression",
    "tuple_pattern",
];
/// Maximum number of elements; longer ones are tables.
const MAX_ELEMENTS: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    elements(place, found);
    concatenation(place, found);
    indices(place, found);
    receiver(place, found);
}

/// `a.f(b)` becomes `b.f(a)`.
fn receiver(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let (language, node) = (place.source.language, place.node());
    let Some(arguments) = node.child_by_field_name("arguments") else {
        return;
    };
    let called = node.child_by_field_name(language.callee);
    let (kind, value, _) = language.attribute;
    let of_callee = called
        .filter(|called| called.kind() == kind)
        .and_then(|called| called.child_by_field_name(value));
    let receiver = of_callee.or_else(|| node.child_by_field_name("object"));
    let (Some(receiver), Some(argument), 1) = (receiver, arguments.named_child(0), arguments.named_child_count())
    else {
        return;
    };
    let are_names = [receiver, argument].iter().all(|part| part.kind() == "identifier");
    let between = place.source.text.get(receiver.end_byte()..argument.start_byte());
    let end = place.source.text.get(argument.end_byte()..node.end_byte());
    let [receiver, argument] = [receiver, argument].map(|part| place.source.text_of(part));
    if let (Some(between), Some(end), true) = (between, end, are_names && receiver != argument) {
        found.push(place.edit(format!("{argument}{between}{receiver}{end}"), Template::Order));
    }
}

/// `[a, b]` becomes `[b, a]`.
fn elements(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    // In Python, a subscript lists its indices after the value.
    let is_subscript = place.kind() == "subscript";
    let count = place.node().named_child_count() - usize::from(is_subscript && place.node().named_child_count() > 0);
    if !(is_subscript || ORDERED.contains(&place.kind()))
        || !(2..=MAX_ELEMENTS).contains(&count)
        || place.text().len() > MAX_TEXT
    {
        return;
    }
    let mut cursor = place.node().walk();
    let elements: Vec<_> = place
        .node()
        .named_children(&mut cursor)
        .skip(usize::from(is_subscript))
        .collect();
    for pair in elements.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|element| place.source.text_of(element));
        let between = place.source.text.get(pair[0].end_byte()..pair[1].start_byte());
        let Some(between) = between.filter(|_| first != second && !first.is_empty()) else {
            continue;
        };
        found.push(Edit {
            range: pair[0].start_byte()..pair[1].end_byte(),
            replacement: format!("{second}{between}{first}"),
            template: Template::Order,
            similarity: 1.0,
        });
    }
}

/// `text + other` becomes `other + text`.
fn concatenation(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let node = place.node();
    let sides = ["left", "operator", "right"].map(|field| node.child_by_field_name(field));
    let [Some(left), Some(operator), Some(right)] = sides.map(|side| side.map(|side| place.source.text_of(side)))
    else {
        return;
    };
    let is_sum = operator == "+" && place.source.language.text_operators.contains(&"+");
    let is_assigned = place.kind().contains("assignment");
    if operator == "+="
        && is_assigned
        && place.text().len() <= MAX_TEXT
        && place.source.language.text_operators.contains(&"+")
    {
        let end = if place.text().ends_with(';') { ";" } else { "" };
        found.push(
            place
                .edit(format!("{left} = {right} + {left}{end}"), Template::Order)
                .similar(0.8),
        );
        return;
    }
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !is_sum || is_assigned || left == right || place.text().len() > MAX_TEXT || is_number(left) || is_number(right) {
        return;
    }
    // Sums associate to the left: those inside of a longer one are swapped with it.
    found.push(place.edit(format!("{right} + {left}"), Template::Order).similar(0.9));
}

/// `a[i][j]` becomes `a[j][i]`, and both move by one.
fn indices(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_position =
        |kind: &str| language.positions.contains(&kind) && !kind.contains("slice") && !kind.contains("range");
    let Some(inner) = place.node().named_child(0) else {
        return;
    };
    if !is_position(place.kind()) || !is_position(inner.kind()) || place.text().len() > MAX_TEXT {
        return;
    }
    let (Some(first), Some(second), Some(value)) =
        (inner.named_child(1), place.node().named_child(1), inner.named_child(0))
    else {
        return;
    };
    let [first, second, value] = [first, second, value].map(|part| place.source.text_of(part));
    if first != second {
        found.push(place.edit(format!("{value}[{second}][{first}]"), Template::Order));
    }
    for by in ["- 1", "+ 1"] {
        let made = format!("{value}[{first} {by}][{second} {by}]");
        found.push(place.edit(made, Template::TwoTokens).similar(0.85));
    }
}
