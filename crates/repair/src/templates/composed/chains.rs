//! A chain of conditions joined by `and`, or by `or`: all joined the other way, or with one more condition like another.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::site::{Edit, Site};
use crate::template::Template;

/// Maximum number of conditions of a chain, and maximum length of the chain.
const MAX_OPERANDS: usize = 16;
const MAX_CHAIN: usize = 600;
/// Maximum number of variables of one condition that are exchanged.
const MAX_NAMES: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let source = place.source;
    let style = &source.language.style;
    let Some(joined) = operator(place.node()).map(|operator| source.text_of(operator)) else {
        return;
    };
    let is_same = |node: Node<'_>| operator(node).is_some_and(|operator| source.text_of(operator) == joined);
    let is_inner = place.above(1).is_some_and(|step| is_same(step.node));
    if is_inner || !style.logical.contains(&joined) || place.text().len() > MAX_CHAIN {
        return;
    }
    let (mut operands, mut operators) = (Vec::new(), Vec::new());
    let mut node = place.node();
    while is_same(node) && operands.len() < MAX_OPERANDS {
        let sides = ["left", "operator", "right"].map(|field| node.child_by_field_name(field));
        let [Some(left), Some(between), Some(right)] = sides else {
            return;
        };
        operators.push(between);
        operands.push(right);
        node = left;
    }
    if operands.len() == MAX_OPERANDS {
        return;
    }
    operands.push(node);
    operands.reverse();
    if operators.len() > 1 {
        found.extend(flipped(place, joined, &operators));
    }
    for (index, operand) in operands.iter().enumerate() {
        let others: BTreeSet<&str> = operands.iter().map(|operand| source.text_of(*operand)).collect();
        let made = exchanged(place, *operand).into_iter();
        for condition in made.filter(|made| !others.contains(made.as_str())) {
            let at = operand.end_byte();
            let range = at..at;
            let replacement = format!(" {joined} {condition}");
            let template = Template::Conjunct;
            let similarity = if index + 1 == operands.len() { 0.95 } else { 0.9 };
            found.push(Edit {
                range,
                replacement,
                template,
                similarity,
            });
        }
    }
}

fn operator(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("operator")
}

/// `a or b or c` becomes `a and b and c`.
fn flipped(place: &Site<'_, '_>, joined: &str, operators: &[Node<'_>]) -> Option<Edit> {
    let [and, or] = place.source.language.style.logical;
    let other = if joined == and { or } else { and };
    let start = place.node().start_byte();
    let mut text = place.text().to_string();
    // From the last to the first, so that the places of the others stay what they are.
    for operator in operators {
        let range = operator.start_byte().checked_sub(start)?..operator.end_byte().checked_sub(start)?;
        text.replace_range(range, other);
    }
    Some(place.edit(text, Template::Repeated))
}

/// The condition with two of its variables exchanged: `x + y == z` becomes `x + z == y`.
fn exchanged(place: &Site<'_, '_>, operand: Node<'_>) -> Vec<String> {
    let source = place.source;
    let text = source.text_of(operand);
    let mut inner = operand;
    while inner.kind() == "parenthesized_expression" && inner.named_child_count() == 1 {
        let Some(child) = inner.named_child(0) else { break };
        inner = child;
    }
    let mut names: Vec<(usize, &str)> = Vec::new();
    let mut nodes = vec![operand];
    while let Some(node) = nodes.pop() {
        if node.kind() == "identifier" {
            names.push((node.start_byte() - operand.start_byte(), source.text_of(node)));
        }
        let mut cursor = node.walk();
        nodes.extend(node.named_children(&mut cursor));
        if names.len() > 2 * MAX_NAMES {
            return Vec::new();
        }
    }
    names.sort_unstable();
    let distinct: BTreeSet<&str> = names.iter().map(|(_, name)| *name).collect();
    if !(2..=MAX_NAMES).contains(&distinct.len()) || inner.named_child_count() < 2 {
        return Vec::new();
    }
    let distinct: Vec<&str> = distinct.into_iter().collect();
    let pairs = distinct
        .iter()
        .enumerate()
        .flat_map(|(at, one)| distinct[at + 1..].iter().map(move |other| (*one, *other)));
    let mut made = Vec::new();
    for (one, other) in pairs {
        let mut version = text.to_string();
        for (at, name) in names.iter().rev() {
            let new = match *name {
                name if name == one => other,
                name if name == other => one,
                _ => continue,
            };
            version.replace_range(*at..at + name.len(), new);
        }
        made.push(version);
    }
    made
}
