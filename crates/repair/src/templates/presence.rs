//! Asks whether there is a value at all, instead of whether it counts as true, and asks before an element is read.

use tree_sitter::Node;

use super::logic::decides;
use super::role::MAX_TEXT;
use super::site::{Edit, Site};
use crate::template::Template;

/// Maximum number of nodes of a condition that are looked through for elements.
const MAX_NODES: usize = 60;

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if place.node().is_named() && place.text().len() <= MAX_TEXT && decides(place) {
        is_there(place, found);
        has_element(place, found);
    }
}

/// `x` becomes `x is not None`, and `not x` becomes `x is None`; and the other way round.
fn is_there(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let (negation, negated) = language.negation;
    let ways = language.style.presence;
    let text = place.text();
    let asked = |way: &str| {
        let value = text.strip_suffix(way.strip_prefix("{}")?)?;
        is_path(value).then_some(value)
    };
    let mut push = |made: String| found.push(place.edit(made, Template::Presence));
    if let Some(value) = ways.iter().find_map(|(nothing, _)| asked(nothing)) {
        push(format!("{negation}{value}"));
    } else if let Some(value) = ways.iter().find_map(|(_, anything)| asked(anything)) {
        push(value.to_owned());
    } else if place.kind() == negated {
        let Some(value) = text.strip_prefix(negation.trim_end()).map(str::trim_start) else {
            return;
        };
        for (nothing, _) in ways.iter().filter(|_| is_path(value)) {
            push(nothing.replace("{}", value));
        }
    } else if is_path(text) && place.parent_kind() != negated {
        for (_, anything) in ways {
            push(anything.replace("{}", text));
        }
    }
}

/// A variable, or a member of one.
pub(super) fn is_path(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    };
    let is_constant = matches!(
        text,
        "True" | "False" | "None" | "true" | "false" | "null" | "undefined"
    );
    !is_constant && parts.all(is_name)
}

/// `a[i] == b` becomes `len(a) > i and a[i] == b`: what has no such element is not asked.
fn has_element(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    // What these words bind does not exist before the condition, and each operand of a chain gets its own edits.
    const BINDERS: [&str; 6] = [" for ", ":=", "=>", "lambda", "func(", "|"];
    let [and, or] = place.source.language.style.logical;
    let joins = |word: &str| place.text().contains(&format!(" {word} "));
    if BINDERS.iter().any(|binder| place.text().contains(binder)) || joins(and) || joins(or) {
        return;
    }
    let mut seen = Vec::new();
    for element in elements(place) {
        if seen.contains(&element) || !counts(element.index) {
            continue;
        }
        let size = element.size.replace("{}", element.sequence);
        let made = format!("{size} > {} {and} {}", element.index, place.text());
        found.push(place.edit(made, Template::Conjunct).similar(0.9));
        seen.push(element);
    }
}

/// Whether an index is a number or computed, or has a name that people count with. Others may be keys of a map.
fn counts(index: &str) -> bool {
    const NAMES: [&str; 10] = [
        "at", "end", "idx", "index", "last", "left", "pos", "position", "right", "start",
    ];
    let is_number = index.starts_with(|c: char| c.is_ascii_digit());
    is_number || index.contains('+') || index.len() == 1 || NAMES.contains(&index)
}

/// An element of a sequence that a condition reads.
#[derive(PartialEq, Eq)]
struct Element<'t> {
    sequence: &'t str,
    index: &'t str,
    /// How the sequence's size is written, with `{}` for the sequence.
    size: &'static str,
}

fn elements<'t>(place: &Site<'_, 't>) -> Vec<Element<'t>> {
    let mut found = Vec::new();
    let mut left: Vec<Node<'t>> = vec![place.node()];
    let mut visited = 0;
    while let Some(node) = left.pop() {
        visited += 1;
        if visited > MAX_NODES {
            break;
        }
        let size = match node.kind() {
            // In Java, only arrays have brackets.
            "array_access" => Some("{}.length"),
            "subscript" | "subscript_expression" | "index_expression" => {
                place.source.language.style.sizes.first().copied()
            }
            _ => None,
        };
        if let (Some(size), Some(sequence), Some(index)) = (size, node.named_child(0), node.named_child(1)) {
            let [sequence, index] = [sequence, index].map(|node| place.source.text_of(node));
            let is_position = index
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '+'));
            if is_path(sequence) && is_position {
                found.push(Element { sequence, index, size });
            }
        }
        let count = u32::try_from(node.named_child_count()).unwrap_or(0);
        left.extend((0..count).filter_map(|at| node.named_child(at)));
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn a_value_may_be_there_and_not_count_as_true() {
        let python =
            |condition: &str| format!("def f(key, a):\n    if {condition}:\n        return a\n    return key\n");
        for (before, after) in [
            ("key", "key is not None"),
            ("not key", "key is None"),
            ("a.b and a", "a.b is not None and a"),
            ("key is not None", "key"),
            ("key is None", "not key"),
            ("a[1] == key", "len(a) > 1 and a[1] == key"),
            ("key and a[2]", "key and len(a) > 2 and a[2]"),
        ] {
            offers("f.py", &python(before), &[&python(after)]);
            if !before.contains('[') {
                offers("f.py", &python(after), &[&python(before)]);
            }
        }
        offers_not(
            "f.py",
            "def f(name):\n    name = name or 'a'\n    return name\n",
            "is not None",
        );
        offers_not("f.py", &python("a[key] == 1"), "len(a) > key");
        let script = |condition: &str| format!("const f = (key, a) => {{\n  if ({condition}) return a;\n}};\n");
        for (before, after) in [
            ("key", "key !== undefined"),
            ("!a.b", "a.b == null"),
            ("key !== null", "key"),
        ] {
            offers("f.js", &script(before), &[&script(after)]);
        }
        let go = "package a\n\nfunc f(a []int, i int) bool {\n\tif a[i] == 0 && a[i+1] > 0 {\n\t\treturn true\n\t}\n\treturn false\n}\n";
        offers("a.go", go, &[&go.replace("a[i+1] >", "len(a) > i+1 && a[i+1] >")]);
    }
}
