//! Adds or removes a call or an argument, and changes what is returned.

use tree_sitter::Node;

use super::known_names::KnownNames;
use super::rank::{falling, nearness};
use super::role::role;
use super::site::{Edit, Site};
use crate::template::Template;

const MAX_ARGUMENTS: usize = 8;
const MAX_VALUES: usize = 6;
const MAX_TEXT: usize = 80;
/// Collections that are computed, and often passed through a function.
const COMPREHENSIONS: &[&str] = &["list_comprehension", "generator_expression", "set_comprehension"];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !place.node().is_named() {
        chained(place, found);
        return;
    }
    if place.kind() == "optional_chain" {
        found.push(place.edit(".", Template::OtherOperator));
    }
    if language.arguments.contains(&place.kind()) {
        count(place, known, found);
    }
    if language.calls.contains(&place.kind()) {
        unwrap(place, found);
    }
    wrap(place, found);
    give_back(place, known, found);
}

/// `a.b` becomes `a?.b` in JavaScript.
fn chained(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if let Some(chaining) = language.style.chaining
        && place.kind() == "."
        && place.parent_kind() == language.attribute.0
    {
        found.push(place.edit(chaining, Template::RareOperator));
    }
}

fn count(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let mut cursor = place.node().walk();
    let arguments: Vec<&str> = place
        .node()
        .named_children(&mut cursor)
        .take(MAX_ARGUMENTS + 1)
        .map(|argument| place.source.text_of(argument))
        .collect();
    if arguments.len() > MAX_ARGUMENTS || place.text().len() > 4 * MAX_TEXT || !place.text().starts_with('(') {
        return;
    }
    for dropped in (0..arguments.len()).rev() {
        let kept = arguments.iter().enumerate().filter(|(index, _)| *index != dropped);
        let kept: Vec<&str> = kept.map(|(_, text)| *text).collect();
        let text = format!("({})", kept.join(", "));
        found.push(place.edit(text, Template::ArgumentCount).similar(0.7));
    }
    let callee = place
        .above(1)
        .and_then(|call| call.node.child_by_field_name(place.source.language.callee));
    let callee = callee.map_or("", |callee| place.source.text_of(callee));
    if known
        .bodies
        .iter()
        .any(|body| body.name == callee && body.takes(arguments.len()))
    {
        return;
    }
    let others: Vec<&String> = known.variables_at(place).into_iter().take(MAX_VALUES).collect();
    let is_new = |name: &&&String| !arguments.contains(&name.as_str());
    for (rank, other) in others.iter().filter(is_new).enumerate() {
        for at in [arguments.len(), 0] {
            let mut all = arguments.clone();
            all.insert(at, other);
            found.push(
                place
                    .edit(format!("({})", all.join(", ")), Template::ArgumentCount)
                    .similar(nearness(rank)),
            );
            if arguments.is_empty() {
                break;
            }
        }
        if place.source.language.style.has_named_arguments {
            let mut all = arguments.clone();
            let keyword = format!("{other}={other}");
            all.push(&keyword);
            let text = format!("({})", all.join(", "));
            found.push(place.edit(text, Template::ArgumentCount).similar(0.8 * nearness(rank)));
        }
    }
}

/// `f(x)` becomes `x`, `a.f()` becomes `a`, unless that would be a statement that does nothing.
fn unwrap(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let (node, calls) = (place.node(), place.source.language.calls);
    let is_useful = |left: &Node<'_>| place.parent_kind() != "expression_statement" || calls.contains(&left.kind());
    if let Some(arguments) = node.child_by_field_name("arguments")
        && arguments.named_child_count() == 1
        && let Some(only) = arguments.named_child(0)
        && only.kind() != "keyword_argument"
        && is_useful(&only)
    {
        found.push(place.edit(place.source.text_of(only), Template::Unwrap));
    }
    let (kind, value, _) = place.source.language.attribute;
    let called = node.child_by_field_name(place.source.language.callee);
    let receiver = called
        .filter(|called| called.kind() == kind)
        .and_then(|called| called.child_by_field_name(value))
        .or_else(|| node.child_by_field_name("object"));
    if let Some(receiver) = receiver.filter(is_useful) {
        found.push(
            place
                .edit(place.source.text_of(receiver), Template::Unwrap)
                .similar(0.8),
        );
    }
}

/// `x` becomes `f(x)`, or `x.f()`.
fn wrap(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let languages = place.source.language;
    let is_value = role(place).is_some()
        || place.stands_in(languages.values)
        || matches!(place.field(), "left" | "right" | "value" | "object" | "operand");
    let is_operand = languages.operands.contains(&place.kind()) || COMPREHENSIONS.contains(&place.kind());
    if !is_value || !is_operand || place.text().len() > MAX_TEXT {
        return;
    }
    let text = place.text();
    if place.field() == "left" && place.parent_kind().contains("assignment") {
        return;
    }
    let is_operation = place.kind().starts_with("binary");
    // Twice is the same as once.
    let after = place.source.text.get(place.node().end_byte()..).unwrap_or_default();
    let suffixes = languages.style.suffixes.iter().enumerate();
    for (rank, suffix) in
        suffixes.filter(|(_, suffix)| !is_operation && !text.ends_with(**suffix) && !after.starts_with(**suffix))
    {
        found.push(
            place
                .edit(format!("{text}{suffix}"), Template::Wrap)
                .similar(nearness(rank)),
        );
    }
    if place.field() != "object" {
        found.push(place.edit(format!("-{text}"), Template::Wrap).similar(0.7));
        let wrappers = languages.style.wrappers.iter();
        let wrappers = wrappers.filter(|function| is_at_hand(place, function));
        for (rank, function) in wrappers.enumerate() {
            found.push(
                place
                    .edit(format!("{function}({text})"), Template::Wrap)
                    .similar(nearness(rank)),
            );
        }
    }
}

/// Whether the file imports what a function needs: a package of Go, or a class of Java.
fn is_at_hand(place: &Site<'_, '_>, function: &str) -> bool {
    use greenlight_syntax::Language;
    let text = &place.source.text;
    let package = function.split_once('.').map(|(package, _)| package);
    let class = function.strip_prefix("new ").map(|class| class.trim_end_matches("<>"));
    match (place.source.language.syntax, package, class) {
        (Language::Go, Some(package), _) => text.contains(&format!("\"{package}\"")),
        (Language::Java, _, Some(class)) => {
            text.contains("import java.util.*;") || text.contains(&format!("import java.util.{class};"))
        }
        _ => true,
    }
}

/// Returns another value, or the value of a statement.
fn give_back(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let languages = place.source.language;
    let (kind, keyword, end) = languages.returns;
    if place.kind() == "expression_statement" && languages.blocks.contains(&place.parent_kind()) {
        let text = place.text().trim_end_matches(';');
        if !text.starts_with(keyword) && text.len() <= MAX_TEXT && !text.contains('\n') {
            found.push(
                place
                    .edit(format!("{keyword} {text}{end}"), Template::Return)
                    .similar(0.6),
            );
            if let Some((_, value)) = text.split_once(" = ") {
                found.push(
                    place
                        .edit(format!("{keyword} {value}{end}"), Template::Return)
                        .similar(0.5),
                );
            }
        }
    }
    if place.kind() != kind {
        return;
    }
    let own = place.text();
    if own.trim_end_matches(';').trim() == keyword {
        for (rank, value) in known.variables_at(place).into_iter().take(MAX_VALUES).enumerate() {
            found.push(
                place
                    .edit(format!("{keyword} {value}{end}"), Template::Return)
                    .similar(falling(rank)),
            );
        }
        return;
    }
    let returned = known
        .returns
        .iter()
        .map(|piece| (piece.at.abs_diff(place.node().start_byte()), &piece.text));
    let mut returned: Vec<(usize, &String)> = returned.collect();
    returned.sort_unstable();
    let variables = known
        .variables_at(place)
        .into_iter()
        .take(MAX_VALUES)
        .map(String::as_str);
    let others = returned.iter().take(MAX_VALUES).map(|(_, text)| text.as_str());
    for (rank, value) in variables
        .chain(others)
        .chain(languages.empties.iter().copied())
        .enumerate()
    {
        let text = format!("{keyword} {value}{end}");
        if text != own {
            found.push(place.edit(text, Template::Return).similar(falling(rank)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn what_changes_nothing_is_not_offered() {
        let script = "function f(a, b) { return g(a, b).toLowerCase(); }\nfunction g(a, b) { return a; }\n";
        offers_not("a.js", script, ".toLowerCase().toLowerCase()");
        offers_not("a.js", script, "g(a, b, ");
        offers_not("a.js", script, "g(b, a, b");
        let statement = "def f(a):\n    g(a)\n    a.h()\n    return a\n";
        offers_not("a.py", statement, "\n    a\n");
        let nested = "def f(a):\n    g(h(a))\n    return a\n";
        offers("a.py", nested, &["def f(a):\n    h(a)\n    return a\n"]);
    }
}
