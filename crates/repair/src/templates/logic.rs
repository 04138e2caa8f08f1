//! Inverts conditions and removes operands.

use super::site::{Edit, Site};
use crate::template::Template;

/// Names of predicates, and prefixes of such names.
const QUESTIONS: &[&str] = &["all", "any", "contains", "exists", "startswith", "endswith"];
const PREFIXES: &[&str] = &["can_", "contains_", "ends_", "has_", "is", "may_", "should_", "starts_"];

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !place.node().is_named() {
        return;
    }
    drop_negation(place, found);
    compare_values(place, found);
    negate(place, found);
    drop_operand(place, found);
}

/// `!ready` becomes `ready`.
fn drop_negation(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let (prefix, kind) = place.source.language.negation;
    if place.kind() == kind
        && let Some(rest) = place.text().strip_prefix(prefix.trim_end())
    {
        found.push(place.edit(rest.trim_start(), Template::DropNegation));
    }
}

/// `a == "b"` becomes `"b".equals(a)` in Java. Names may be those of numbers.
fn compare_values(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let (Some(method), Some(operator @ ("==" | "!="))) = (language.style.equality, operator(place, 0)) else {
        return;
    };
    let side = |name| place.node().child_by_field_name(name);
    let (Some(left), Some(right)) = (side("left"), side("right")) else {
        return;
    };
    let is_object = |kind: &str| {
        matches!(
            kind,
            "identifier" | "field_access" | "method_invocation" | "string_literal"
        )
    };
    if !is_object(left.kind()) || !is_object(right.kind()) {
        return;
    }
    let is_text = |node: &tree_sitter::Node<'_>| node.kind() == "string_literal";
    // A text is never null.
    let (first, second) = if is_text(&right) { (right, left) } else { (left, right) };
    let negation = if operator == "!=" { "!" } else { "" };
    let [first_text, second_text] = [first, second].map(|node| place.source.text_of(node));
    let likeness = if is_text(&first) { 1.0 } else { 0.5 };
    let compared = format!("{negation}{first_text}.{method}({second_text})");
    found.push(place.edit(compared, Template::Method).similar(likeness));
}

/// Whether a branch depends on whether the value counts as true: it is a condition, or joined with others to one.
pub(super) fn decides(place: &Site<'_, '_>) -> bool {
    let (_, negated) = place.source.language.negation;
    let joins = |levels: usize| {
        let kind = place.above(levels).map_or("", |step| step.node.kind());
        is_logical(place, levels) || kind == negated || kind == "parenthesized_expression"
    };
    let above = (1..place.path.len())
        .take_while(|levels| joins(*levels))
        .last()
        .unwrap_or(0);
    (0..=above).any(|levels| {
        let path = &place.path[..place.path.len() - levels];
        let whole = Site {
            source: place.source,
            path,
        };
        whole.is_condition()
    })
}

/// `ready` becomes `!ready` in a condition.
fn negate(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let (prefix, negation) = language.negation;
    let decides = place.is_condition() || is_logical(place, 1) || is_question(place);
    let is_comparison = |kind: &str| kind == "comparison_operator";
    let is_operation = operator(place, 0).is_some_and(|operator| !matches!(operator, "&&" | "||" | "and" | "or"));
    if !decides
        || place.kind() == negation
        || place.parent_kind() == negation
        || is_comparison(place.kind())
        || is_operation
        || matches!(place.kind(), "let_condition" | "let_chain")
        || language.truths.contains(&place.text())
    {
        // A comparison is inverted by changing its operator.
        return;
    }
    let text = place.text();
    let needs_parentheses = operator(place, 0).is_some() || place.kind().contains("operator");
    let negated = if needs_parentheses {
        format!("{prefix}({text})")
    } else {
        format!("{prefix}{text}")
    };
    found.push(place.edit(negated, Template::Negate));
}

/// `a && b` becomes `a`, and `b`; the same for `a + b`.
fn drop_operand(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !(is_logical(place, 0) || operator(place, 0).is_some_and(|operator| matches!(operator, "+" | "-" | "*" | "/"))) {
        return;
    }
    for side in ["left", "right"] {
        if let Some(kept) = place.node().child_by_field_name(side) {
            found.push(place.edit(place.source.text_of(kept), Template::Removal));
        }
    }
}

fn is_logical(place: &Site<'_, '_>, levels: usize) -> bool {
    operator(place, levels).is_some_and(|operator| matches!(operator, "&&" | "||" | "and" | "or"))
        && (levels != 1 || matches!(place.field(), "left" | "right"))
}

fn operator<'t>(place: &Site<'_, 't>, levels: usize) -> Option<&'t str> {
    let operator = place.above(levels)?.node.child_by_field_name("operator")?;
    Some(place.source.text_of(operator))
}

/// Whether the node is a call of a predicate, judged by its name.
fn is_question(place: &Site<'_, '_>) -> bool {
    place
        .callee()
        .is_some_and(|name| QUESTIONS.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn values_are_compared_instead_of_objects() {
        let java = "class A { boolean f(String s) { return s == \"x\"; } }\n";
        offers("A.java", java, &[&java.replace("s == \"x\"", "\"x\".equals(s)")]);
        offers(
            "A.java",
            &java.replace("==", "!="),
            &[&java.replace("s == \"x\"", "!\"x\".equals(s)")],
        );
        offers_not("A.java", &java.replace("\"x\"", "null"), "equals");
        offers_not("a.js", "const f = (s) => s == 'x';\n", "equals");
    }
}
