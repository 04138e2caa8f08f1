//! Where a node is: in which functions, of which owner, and whether it gives a name, reads a part or names what is called.

use tree_sitter::Node;

use super::site::Site;
use crate::syntax::Step;

/// Functions that may be asynchronous, in the grammars of Python, JavaScript and TypeScript.
const MAY_BE_ASYNC: [&str; 7] = [
    "arrow_function",
    "function_declaration",
    "function_definition",
    "function_expression",
    "generator_function_declaration",
    "lambda",
    "method_definition",
];
/// How many children a function has before its name.
const MAX_MODIFIERS: usize = 8;

/// The start of the class or `impl` that `self` belongs to; zero for other values.
pub(super) fn owner(place: &Site<'_, '_>, value: &str) -> usize {
    let owners = place.source.language.owners;
    let is_owner = |step: &&Step<'_>| owners.iter().any(|(kind, _)| *kind == step.node.kind());
    let around = place
        .path
        .iter()
        .rev()
        .find(is_owner)
        .filter(|_| value == place.source.language.this);
    around.map_or(0, |step| step.node.start_byte())
}

/// The starts of the functions around the node, the innermost first.
pub(super) fn functions(place: &Site<'_, '_>) -> impl Iterator<Item = usize> {
    let functions = place.source.language.functions;
    let around = place.path.iter().rev();
    around
        .filter(|step| functions.contains(&step.node.kind()))
        .map(|step| step.node.start_byte())
}

/// Whether this is where the name is bound, at any depth of a pattern.
pub(super) fn is_bound(place: &Site<'_, '_>) -> bool {
    let bindings = place.source.language.bindings;
    for levels in 0..4 {
        let (Some(own), Some(parent)) = (place.above(levels), place.above(levels + 1)) else {
            return false;
        };
        if bindings.contains(&(parent.node.kind(), own.field)) && own.node.is_named() {
            return true;
        }
        let kind = parent.node.kind();
        let is_pattern = kind.contains("pattern") || matches!(kind, "as_pattern_target" | "expression_list");
        if !is_pattern || own.field == "type" || own.field == "condition" {
            return false;
        }
    }
    false
}

/// The value and the member's name, if the node is a member that is read and not called.
pub(super) fn part<'t>(place: &Site<'_, 't>) -> Option<(&'t str, &'t str)> {
    let (kind, value, part) = place.source.language.attribute;
    let parent = place.above(1).filter(|step| step.node.kind() == kind)?;
    if place.field() != part || is_callee(place) {
        return None;
    }
    let value = parent.node.child_by_field_name(value)?;
    Some((place.source.text_of(value), place.text()))
}

/// The path and the last name of `Path::Name`, if it is not called.
pub(super) fn scoped<'t>(place: &Site<'_, 't>) -> Option<(&'t str, &'t str)> {
    let parent = place.above(1).filter(|step| step.node.kind() == "scoped_identifier")?;
    if place.field() != "name" || is_callee(place) {
        return None;
    }
    let path = parent.node.child_by_field_name("path")?;
    Some((place.source.text_of(path), place.text()))
}

/// The type or constant, and its member, if the node declares one: a variant of an enumeration, a constant of a class,
/// a key of an object.
pub(super) fn declared<'t>(place: &Site<'_, 't>) -> Option<(&'t str, &'t str)> {
    let kind = |levels: usize| place.above(levels).map_or("", |step| step.node.kind());
    let levels = match (kind(1), place.field()) {
        ("assignment", "left") if (kind(2), kind(3)) == ("expression_statement", "block") => 4,
        ("enum_variant" | "enum_constant" | "enum_assignment", "name") => 3,
        ("enum_body", "name") => 2,
        ("pair", "key") if place.kind() == "property_identifier" => 3,
        _ => return None,
    };
    let around = place.above(levels)?.node;
    let kinds = [
        "class_definition",
        "enum_item",
        "enum_declaration",
        "variable_declarator",
    ];
    let name = around
        .child_by_field_name("name")
        .filter(|_| kinds.contains(&around.kind()))?;
    Some((place.source.text_of(name), place.text()))
}

/// Whether the node is the value whose element or part is read, and not the position.
pub(super) fn is_subscripted(place: &Site<'_, '_>) -> bool {
    matches!(place.field(), "value" | "object" | "operand" | "array")
        || (place.parent_kind() == "index_expression" && place.node().prev_sibling().is_none())
}

/// Members that only sequences have, in any of the languages.
const OF_SEQUENCES: &[&str] = &[
    "append", "charAt", "extend", "filter", "forEach", "iter", "join", "len", "length", "map", "pop", "push", "reduce",
    "size", "slice", "sort", "split",
];

/// Whether the node is indexed, measured, spread or iterated over here.
pub(super) fn is_sequence(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    let (parent, field) = (place.parent_kind(), place.field());
    if language.positions.contains(&parent) {
        return is_subscripted(place);
    }
    let (kind, value, part) = language.attribute;
    let above = place.above(1).map(|step| step.node);
    let member = above.and_then(|above| above.child_by_field_name(if parent == kind { part } else { "name" }));
    let is_object = field == value || field == "object";
    if let Some(member) = member.filter(|_| is_object) {
        return OF_SEQUENCES.contains(&place.source.text_of(member));
    }
    if language.arguments.contains(&parent) {
        let callee = place
            .above(2)
            .and_then(|call| call.node.child_by_field_name(language.callee));
        return callee.is_some_and(|callee| place.source.text_of(callee) == "len");
    }
    let is_iterated = ["for_in", "for_each", "enhanced_for", "range_clause"]
        .iter()
        .any(|kind| parent.starts_with(kind))
        || matches!(parent, "for_statement" | "for_expression");
    matches!(parent, "spread_element" | "list_splat") || (is_iterated && matches!(field, "right" | "value"))
}

/// Whether the node is the name of a callee.
pub(super) fn is_callee(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    if place.field() == language.callee {
        return language.calls.contains(&place.parent_kind()) && place.node().named_child_count() == 0;
    }
    let (kind, _, part) = language.attribute;
    let is_named_part = (place.parent_kind() == kind && place.field() == part)
        || (place.parent_kind() == "scoped_identifier" && place.field() == "name");
    is_named_part
        && place.above(1).is_some_and(|step| {
            step.field == language.callee && place.above(2).is_some_and(|call| is_call(place, call))
        })
}

fn is_call(place: &Site<'_, '_>, step: Step<'_>) -> bool {
    place.source.language.calls.contains(&step.node.kind())
}

/// The name of a function that is defined or waited for here, and whether it is asynchronous.
pub(super) fn asynchronous<'t>(place: &Site<'_, 't>) -> Option<(&'t str, bool)> {
    let node = place.node();
    if is_function(node) {
        let name = node.child_by_field_name("name");
        let name = name.or_else(|| place.above(1)?.node.child_by_field_name("name"))?;
        return Some((place.source.text_of(name), is_async(node)));
    }
    let is_waited_for = place.parent_kind().starts_with("await");
    place.callee().filter(|_| is_waited_for).map(|callee| (callee, true))
}

/// Whether a function is asynchronous.
pub(super) fn is_async(function: Node<'_>) -> bool {
    let mut cursor = function.walk();
    let mut first = function.children(&mut cursor).take(MAX_MODIFIERS);
    first.any(|child| child.kind() == "async")
}

/// Whether a node is a function that may be asynchronous.
pub(super) fn is_function(node: Node<'_>) -> bool {
    MAY_BE_ASYNC.contains(&node.kind())
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn another_member_of_the_same_type_is_offered() {
        let rust = "enum Light { Red, Yellow }\nfn f() -> Light { Light::Red }\n";
        offers("a.rs", rust, &[&rust.replace("{ Light::Red }", "{ Light::Yellow }")]);
        let python = "class Light(Enum):\n    RED = 1\n    YELLOW = 2\n\n\ndef f():\n    return Light.RED\n";
        offers(
            "a.py",
            python,
            &[&python.replace("return Light.RED", "return Light.YELLOW")],
        );
        let script = "const Light = { RED: 1, YELLOW: 2 };\nconst f = () => Light.RED;\n";
        offers("a.js", script, &[&script.replace("=> Light.RED", "=> Light.YELLOW")]);
        let java = "enum Light { RED, YELLOW; Light f() { return Light.RED; } }\n";
        offers(
            "A.java",
            java,
            &[&java.replace("return Light.RED", "return Light.YELLOW")],
        );
        offers_not("a.rs", "enum A { B, C }\nfn f() -> D { D::new(1) }\n", "D::C");
    }

    #[test]
    fn another_separator_or_the_next_digit_is_offered() {
        let rust = "fn f(s: &str) -> Option<&str> { s.split(';').next() }\n";
        offers("a.rs", rust, &[&rust.replace(';', ":")]);
        let digit = "fn f(c: char) -> bool { matches!(c, '0'..='8') || c == '8' }\n";
        offers("a.rs", digit, &[&digit.replace("c == '8'", "c == '9'")]);
        let python = "def f(s):\n    return s.split(\",\")\n";
        offers("a.py", python, &[&python.replace("\",\"", "\";\"")]);
    }
}
