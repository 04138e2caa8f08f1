//! Replaces operators.

use super::site::{Edit, Site};
use crate::syntax::Step;
use crate::template::{Swap, Template};

/// Operators with the same meaning in every language of the table.
const SWAPS: &[Swap] = &[
    (
        "<",
        &[
            ("<=", Template::Bound),
            (">", Template::Comparison),
            (">=", Template::OtherOperator),
        ],
    ),
    (
        "<=",
        &[
            ("<", Template::Bound),
            (">=", Template::Comparison),
            (">", Template::OtherOperator),
        ],
    ),
    (
        ">",
        &[
            (">=", Template::Bound),
            ("<", Template::Comparison),
            ("<=", Template::OtherOperator),
        ],
    ),
    (
        ">=",
        &[
            (">", Template::Bound),
            ("<=", Template::Comparison),
            ("<", Template::OtherOperator),
        ],
    ),
    (
        "==",
        &[
            ("!=", Template::Comparison),
            ("<=", Template::OtherOperator),
            (">=", Template::OtherOperator),
        ],
    ),
    (
        "!=",
        &[
            ("==", Template::Comparison),
            ("<", Template::OtherOperator),
            (">", Template::OtherOperator),
        ],
    ),
    ("+", &[("-", Template::Arithmetic), ("*", Template::RareOperator)]),
    ("-", &[("+", Template::Arithmetic)]),
    ("*", &[("/", Template::Arithmetic), ("+", Template::OtherOperator)]),
    ("/", &[("*", Template::Arithmetic)]),
    ("%", &[("/", Template::OtherOperator)]),
    ("&", &[("|", Template::OtherOperator), ("^", Template::RareOperator)]),
    ("|", &[("&", Template::OtherOperator), ("^", Template::RareOperator)]),
    ("^", &[("&", Template::OtherOperator), ("|", Template::OtherOperator)]),
    ("<<", &[(">>", Template::OtherOperator)]),
    (">>", &[("<<", Template::OtherOperator)]),
    ("+=", &[("-=", Template::Augmented), ("=", Template::RareOperator)]),
    ("-=", &[("+=", Template::Augmented)]),
    ("*=", &[("/=", Template::Augmented), ("+=", Template::OtherOperator)]),
    ("/=", &[("*=", Template::Augmented)]),
    ("|=", &[("&=", Template::Augmented)]),
    ("&=", &[("|=", Template::Augmented)]),
];

/// Operators whose operands cannot be swapped.
const ORDERED: &[&str] = &["-", "/", "//", "%", "**", "<<", ">>"];

/// Operators that a mutation tool or a slip may have replaced with another of the same row.
const ROWS: &[&[&str]] = &[
    &["+", "-", "*", "/", "%", "<<", ">>"],
    &["==", "<", ">", "<=", ">="],
    &["&", "|", "^"],
    &["+=", "-=", "*=", "/=", "%="],
    &["&=", "|=", "^="],
    &["<<=", ">>="],
    &["&", "&^"],
];
/// Operators that are seldom applied to a word.
const ORDERING: &[&str] = &["<", "<=", ">", ">="];
/// Pairs of opposite operators.
const OPPOSITES: &[[&str; 2]] = &[
    ["==", "!="],
    ["===", "!=="],
    ["<", ">="],
    [">", "<="],
    ["in", "not in"],
    ["is", "is not"],
];
/// Operators without a meaning, or with a different one, for strings.
const NOT_OF_TEXTS: &[&str] = &["-", "/", "//", "%", "&", "|", "^", "<<", ">>", "**"];
/// Operators that concatenate strings.
const OF_TEXTS: &[&str] = &["+", "+=", "*", "*="];
/// Longer operands are not looked at.
const MAX_OPERAND: usize = 80;
/// Statements that assign a new value to a variable.
const ASSIGNMENTS: &[&str] = &["assignment", "assignment_expression", "assignment_statement"];

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if place.kind() == "=" && ASSIGNMENTS.contains(&place.parent_kind()) && !place.node().is_named() {
        found.extend(["+=", "-="].map(|other| place.edit(other, Template::RareOperator)));
    }
    if place.node().is_named() || !language.operations.contains(&place.parent_kind()) {
        return;
    }
    let operator = place.kind();
    if !stands_between_operands(place) {
        beside_text(place, found);
        return;
    }
    if ORDERING.contains(&operator) && is_beside_word(place) {
        let is_strict = language.swaps.iter().any(|(from, _)| *from == "===");
        let equal = if is_strict { ["===", "!=="] } else { ["==", "!="] };
        found.extend(equal.map(|other| place.edit(other, Template::Comparison)));
        let others = ORDERING.iter().filter(|other| **other != operator);
        found.extend(others.map(|other| place.edit(*other, Template::RareOperator)));
        return;
    }
    // What is compared as a text has no order.
    let is_text = !ORDERING.contains(&operator) && is_beside_word(place);
    let is_new = |other: &str| {
        let is_opposite = is_negated(place) && OPPOSITES.iter().any(|pair| is_pair(pair, operator, other));
        !(is_opposite || is_text && ORDERING.contains(&other) || breaks_a_chain(place, other))
    };
    for (from, to) in SWAPS.iter().chain(language.swaps) {
        if *from == operator {
            let to = to.iter().filter(|(to, _)| is_new(to));
            found.extend(to.map(|(to, template)| place.edit(*to, *template)));
        }
    }
    if operator == "==" && !is_text && is_before_number(place) {
        found.extend(["<", ">"].map(|other| place.edit(other, Template::OtherOperator)));
    }
    let others = ROWS
        .iter()
        .filter(|row| row.contains(&operator))
        .flat_map(|row| row.iter().filter(|other| is_new(other)));
    found.extend(others.map(|other| place.edit(*other, Template::RareOperator)));
    swap_operands(place, found);
    swap_members(place, found);
    mask(place, found);
}

/// Whether one of the operands is a quoted word, which identifies something and has no order, or a text that was changed
/// to be compared.
fn is_beside_word(place: &Site<'_, '_>) -> bool {
    const FOR_TEXTS: [&str; 11] = [
        ".lower()",
        ".upper()",
        ".strip()",
        ".casefold()",
        ".trim()",
        "toLowerCase()",
        "toUpperCase()",
        "to_lowercase()",
        "to_uppercase()",
        "strings.To",
        "strings.Trim",
    ];
    let sides = [place.node().prev_sibling(), place.node().next_sibling()];
    let is_changed = |side: &tree_sitter::Node<'_>| {
        let text = place.source.text_of(*side);
        text.len() <= MAX_OPERAND && FOR_TEXTS.iter().any(|mark| text.contains(mark))
    };
    if sides.iter().flatten().any(is_changed) {
        return true;
    }
    let texts = sides
        .into_iter()
        .flatten()
        .filter(|side| side.kind().contains("string"));
    texts
        .map(|side| place.source.text_of(side).trim_matches(['"', '\'']))
        .any(|text| text.len() > 1 && text.chars().all(|c| c.is_alphabetic() || matches!(c, '_' | '-')))
}

/// Whether the operator is one of several in `a < b < c` of Python, and the other one compares in a way that neither it
/// nor the operators beside it do.
fn breaks_a_chain(place: &Site<'_, '_>, other: &str) -> bool {
    let node = place.node();
    let is_chain = |step: &Step<'_>| step.node.kind() == "comparison_operator" && step.node.named_child_count() > 2;
    if !place.above(1).is_some_and(|step| is_chain(&step)) {
        return false;
    }
    let beside = [
        node.prev_sibling().and_then(|operand| operand.prev_sibling()),
        node.next_sibling().and_then(|operand| operand.next_sibling()),
    ];
    let way = |operator: &str| operator.chars().next().filter(|way| *way != '!');
    let mut known = beside.into_iter().flatten().chain([node]);
    way(other).is_none() || known.all(|operator| way(place.source.text_of(operator)) != way(other))
}

/// Whether the second operand is a number. There, `<` and `>` are more likely than between two variables.
fn is_before_number(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    let kind = place.node().next_sibling().map_or("", |operand| operand.kind());
    language.integers.contains(&kind) || language.floats.contains(&kind)
}

fn is_pair(pair: &[&str; 2], one: &str, other: &str) -> bool {
    pair.contains(&one) && pair.contains(&other) && one != other
}

/// Whether the whole comparison is negated: its opposite then equals the comparison without the negation.
fn is_negated(place: &Site<'_, '_>) -> bool {
    let (prefix, kind) = place.source.language.negation;
    let mut around = (2..4).filter_map(|levels| place.above(levels)).map(|step| step.node);
    let around = around.find(|node| node.kind() != "parenthesized_expression");
    around.is_some_and(|node| node.kind() == kind && place.source.text_of(node).starts_with(prefix.trim_end()))
}

/// Macro arguments are a flat list of tokens, in which `*` may also be a dereference. Strings are not operands of
/// arithmetic.
fn stands_between_operands(place: &Site<'_, '_>) -> bool {
    let sides = [place.node().prev_sibling(), place.node().next_sibling()];
    let is_text = |kind: &str| kind.contains("string");
    let computes = NOT_OF_TEXTS.contains(&place.kind()) || OF_TEXTS.contains(&place.kind());
    if computes && sides.iter().flatten().any(|side| is_text(side.kind())) {
        return false;
    }
    place.parent_kind() != "token_tree" || sides.iter().all(|side| side.is_some_and(|side| side.is_named()))
}

/// `flags &= MASK` becomes `flags &= ~MASK`.
fn mask(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let complement = place.source.language.style.complement;
    let bits = place
        .node()
        .next_sibling()
        .filter(|_| matches!(place.kind(), "&" | "&="));
    let Some(bits) = bits.filter(|bits| bits.is_named() && bits.named_child_count() == 0) else {
        return;
    };
    found.push(Edit {
        range: bits.byte_range(),
        replacement: format!("{complement}{}", place.source.text_of(bits)),
        template: Template::Sign,
        similarity: 1.0,
    });
}

/// Strings are concatenated, not calculated with; only `%` formats a string with placeholders.
fn beside_text(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let own = place.source.language.text_operators;
    let is_wanted = NOT_OF_TEXTS.contains(&place.kind()) || own.contains(&place.kind());
    if !is_wanted || place.parent_kind() == "token_tree" {
        return;
    }
    let before = place
        .node()
        .prev_sibling()
        .map_or("", |text| place.source.text_of(text));
    let has_places = ["%s", "%d", "%r", "%f", "%("].iter().any(|mark| before.contains(mark));
    for other in own.iter().filter(|other| **other != place.kind()) {
        let template = match (*other == "%") == has_places {
            false => Template::RareOperator,
            true if own.contains(&place.kind()) => Template::OtherOperator,
            true => Template::Arithmetic,
        };
        found.push(place.edit(*other, template));
    }
}

/// `a in b` becomes `b in a`, which both make sense for texts.
fn swap_members(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let sides = (place.node().prev_sibling(), place.node().next_sibling());
    let (Some(left), Some(right), "in" | "not in") = (sides.0, sides.1, place.kind()) else {
        return;
    };
    let [before, after] = [left, right].map(|side| place.source.text_of(side));
    found.push(Edit {
        range: left.start_byte()..right.end_byte(),
        replacement: format!("{after} {} {before}", place.kind()),
        template: Template::Operands,
        similarity: 0.9,
    });
}

fn swap_operands(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some(parent) = place.above(1).map(|step| step.node) else {
        return;
    };
    let sides = ["left", "right"].map(|side| parent.child_by_field_name(side));
    let [Some(left), Some(right)] = sides else { return };
    if !ORDERED.contains(&place.kind()) {
        return;
    }
    let [left, right] = [left, right].map(|side| place.source.text_of(side));
    if left != right {
        found.push(Edit {
            range: parent.byte_range(),
            replacement: format!("{right} {} {left}", place.kind()),
            template: Template::Operands,
            similarity: 1.0,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn texts_have_no_order() {
        let go = "func f(t, tag string) bool {\n\treturn strings.ToLower(t) == tag\n}\n";
        offers_not("a.go", go, ">=");
        offers("a.go", go, &[&go.replace("==", "!=")]);
        offers(
            "a.py",
            "def f(a, b):\n    return a == b\n",
            &["def f(a, b):\n    return a >= b\n"],
        );
        offers_not("a.py", "def f(a, b):\n    return a.lower() == b\n", ">=");
    }

    #[test]
    fn the_operators_of_a_chain_compare_in_the_same_way() {
        let python = |condition: &str| format!("def f(a, b, c):\n    return {condition}\n");
        offers(
            "f.py",
            &python("a < b < c"),
            &[&python("a <= b < c"), &python("a < b <= c")],
        );
        offers(
            "f.py",
            &python("a < b > c"),
            &[&python("a < b < c"), &python("a > b > c")],
        );
        offers("f.py", &python("a < b == c"), &[&python("a <= b == c")]);
        offers_not("f.py", &python("a == b == c"), "a == b != c");
        offers_not("f.py", &python("a == b == c"), "a == b <= c");
        offers("f.py", &python("a == b"), &[&python("a != b")]);
    }
}
