//! Replaces a name with another of the same kind: swapped arguments, a sibling method, another variable.

use tree_sitter::Node;

use super::known_names::KnownNames;
use super::scope::{is_bound, is_callee, owner, part, scoped};
use super::site::{Edit, Site};
use crate::template::Template;

/// Methods and functions that are often confused.
const FAMILIES: &[&[&str]] = &[
    &["min", "max"],
    &["any", "all"],
    &["first", "last"],
    &["find", "rfind"],
    &["split", "rsplit"],
    &["splitn", "rsplitn"],
    &["split_once", "rsplit_once"],
    &["partition", "rpartition"],
    &["index", "rindex"],
    &["keys", "values"],
    &["keys", "items"],
    &["values", "items"],
    &["push", "insert"],
    &["push_back", "push_front"],
    &["pop_back", "pop_front"],
    &["append", "extend"],
    &["append", "appendleft"],
    &["pop", "popleft"],
    &["floor", "ceil"],
    &["floor", "round"],
    &["ceil", "round"],
    &["starts_with", "ends_with"],
    &["startswith", "endswith"],
    &["strip_prefix", "strip_suffix"],
    &["removeprefix", "removesuffix"],
    &["trim", "trim_start", "trim_end"],
    &["trim_start_matches", "trim_end_matches"],
    &["strip", "lstrip", "rstrip"],
    &["to_lowercase", "to_uppercase"],
    &["to_ascii_lowercase", "to_ascii_uppercase"],
    &["lower", "upper"],
    &["ljust", "rjust", "center"],
    &["is_some", "is_none"],
    &["is_ok", "is_err"],
    &["take", "skip"],
    &["take_while", "skip_while"],
    &["min_by_key", "max_by_key"],
    &["saturating_add", "saturating_sub"],
    &["wrapping_add", "wrapping_sub"],
    &["checked_add", "checked_sub"],
    &["union", "intersection", "difference"],
    &["is_subset", "is_superset"],
    &["issubset", "issuperset"],
    &["sum", "product"],
    &["or", "and"],
    &["and_then", "or_else"],
    &["read", "readline"],
    &["setdefault", "get"],
    &["pop", "get"],
    &["some", "every"],
    &["indexOf", "lastIndexOf"],
    &["find", "findLast", "filter"],
    &["findIndex", "findLastIndex"],
    &["startsWith", "endsWith"],
    &["trim", "trimStart", "trimEnd"],
    &["toUpperCase", "toLowerCase"],
    &["toLocaleUpperCase", "toLocaleLowerCase"],
    &["padStart", "padEnd"],
    &["push", "unshift"],
    &["pop", "shift"],
    &["slice", "splice", "substring", "substr"],
    &["floor", "ceil", "round", "trunc"],
    &["map", "forEach", "flatMap", "filter"],
    &["reduce", "reduceRight"],
    &["replace", "replaceAll"],
    &["charAt", "charCodeAt", "codePointAt"],
    &["parseInt", "parseFloat"],
    &["keys", "values", "entries"],
    &["sin", "cos"],
    &["all", "any", "race", "allSettled"],
];

/// Maximum number of alternatives for a name, nearest first.
const MAX_OTHERS: usize = 8;
/// Maximum number of arguments; calls with more are left alone.
const MAX_ARGUMENTS: usize = 6;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    swap_arguments(place, found);
    sibling(place, found);
    other_part(place, known, found);
    other_variable(place, known, found);
}

fn swap_arguments(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !place.source.language.arguments.contains(&place.kind()) {
        return;
    }
    let mut cursor = place.node().walk();
    let arguments: Vec<Node<'_>> = place
        .node()
        .named_children(&mut cursor)
        .take(MAX_ARGUMENTS + 1)
        .collect();
    if arguments.len() > MAX_ARGUMENTS {
        return;
    }
    for pair in arguments.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|argument| place.source.text_of(argument));
        let is_positional = |node: &Node<'_>| !matches!(node.kind(), "keyword_argument" | "comment" | "line_comment");
        if first != second && pair.iter().all(is_positional) {
            let between = place.source.text.get(pair[0].end_byte()..pair[1].start_byte());
            found.push(Edit {
                range: pair[0].start_byte()..pair[1].end_byte(),
                replacement: format!("{second}{}{first}", between.unwrap_or(", ")),
                template: Template::Arguments,
                similarity: 1.0,
            });
        }
    }
}

/// Another function of the same family.
fn sibling(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !is_callee(place) {
        return;
    }
    let name = place.text();
    let siblings = FAMILIES.iter().filter(|family| family.contains(&name)).copied();
    for sibling in siblings.flatten().filter(|sibling| **sibling != name) {
        found.push(place.edit(*sibling, Template::Method));
    }
}

/// Another member that is declared with the value, or read from it elsewhere in the file.
fn other_part(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let Some((value, name)) = part(place).or_else(|| scoped(place)) else {
        return;
    };
    let others = known
        .parts
        .get(&(owner(place, value), value.into()))
        .into_iter()
        .flatten();
    // Special names of Python are not confused with names of the project.
    let is_special = |name: &str| name.starts_with("__");
    let others = others.filter(|other| *other != name && is_special(other) == is_special(name));
    for other in others.take(MAX_OTHERS) {
        let distance = u16::try_from(strsim::levenshtein(name, other)).unwrap_or(u16::MAX);
        let longest = u16::try_from(name.chars().count().max(other.chars().count())).unwrap_or(u16::MAX);
        let alike = 1.0 - 0.5 * f32::from(distance) / f32::from(longest.max(1));
        found.push(place.edit(other.as_str(), Template::Attribute).similar(alike));
    }
}

/// Another variable of the same function.
fn other_variable(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    if !matches!(place.kind(), "identifier") || is_bound(place) || is_callee(place) || is_no_variable(place) {
        return;
    }
    let variables = known.variables_at(place);
    let name = place.text();
    let Some(own) = variables.iter().position(|variable| *variable == name) else {
        return;
    };
    let mut others: Vec<(usize, &String)> = variables
        .iter()
        .enumerate()
        .map(|(index, other)| (index, *other))
        .filter(|(index, other)| *index != own && *other != name && !matches!(other.as_str(), "self" | "this"))
        .map(|(index, other)| (index.abs_diff(own), other))
        .collect();
    others.sort_unstable();
    for (rank, (_, other)) in others.into_iter().take(MAX_OTHERS).enumerate() {
        let near = 1.0 - 0.05 * f32::from(u8::try_from(rank).unwrap_or(u8::MAX));
        found.push(place.edit(other.as_str(), Template::Variable).similar(near));
    }
}

/// Names of fields, keywords, macros, paths and modules look like variables.
fn is_no_variable(place: &Site<'_, '_>) -> bool {
    let (attribute, _, part) = place.source.language.attribute;
    (place.parent_kind() == attribute && place.field() == part)
        || matches!(
            (place.parent_kind(), place.field()),
            (
                "keyword_argument"
                    | "function_definition"
                    | "function_item"
                    | "class_definition"
                    | "function_declaration"
                    | "class_declaration"
                    | "method_declaration",
                "name"
            ) | ("macro_invocation", "macro")
                | ("scoped_identifier" | "dotted_name" | "tuple_struct_pattern", _)
        )
}
