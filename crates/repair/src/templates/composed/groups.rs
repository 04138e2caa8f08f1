//! The same operators and operands, grouped in another way: parentheses that are missing or too many, and an operation
//! inside of a call that belongs outside of it.

use tree_sitter::Node;

use super::super::role::MAX_TEXT;
use super::super::site::{Edit, Site};
use crate::template::Template;

/// `??` of JavaScript is here because it is not mixed with others.
const COMPARISONS: &[&str] = &[
    "==",
    "!=",
    "===",
    "!==",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "instanceof",
    "is",
    "??",
];
const LOGICAL: &[&str] = &["&&", "||", "and", "or"];
/// Operators that bind equally, the tightest first.
const LEVELS: &[&[&str]] = &[
    &["**"],
    &["*", "/", "//", "%", "@"],
    &["+", "-"],
    &["<<", ">>"],
    &["&", "&&", "and"],
    &["^"],
    &["|", "||", "or"],
];
/// Operators for which grouping makes no difference where both are the same.
const ASSOCIATIVE: &[&str] = &["+", "*", "&&", "||", "and", "or", "&", "|", "^"];

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let node = place.node();
    if node.end_byte() - node.start_byte() > MAX_TEXT || place.text().contains('\n') {
        return;
    }
    let mut made = Vec::new();
    if let Some(operation) = Operation::of(place, node) {
        regrouped(place, &operation, &mut made);
        around_a_call(place, &operation, &mut made);
        negated(place, &operation, &mut made);
    }
    out_of_a_call(place, &mut made);
    let own = place.text();
    let is_new = made.into_iter().filter(|text| text != own);
    found.extend(is_new.map(|text| place.edit(text, Template::Grouping)));
}

/// An operator between two operands.
struct Operation<'t> {
    left: Node<'t>,
    operator: &'t str,
    right: Node<'t>,
}

impl<'t> Operation<'t> {
    fn of(place: &Site<'_, 't>, node: Node<'t>) -> Option<Self> {
        let kind = node.kind();
        let is_operation = place.source.language.operations.contains(&kind) && !kind.contains("assign");
        let operator = node.child_by_field_name("operator").filter(|_| is_operation)?;
        Some(Self {
            left: node.child_by_field_name("left")?,
            operator: place.source.text_of(operator),
            right: node.child_by_field_name("right")?,
        })
    }

    fn is_arithmetic(&self) -> bool {
        !COMPARISONS.contains(&self.operator) && !LOGICAL.contains(&self.operator)
    }

    /// How tightly it binds: a lower number is tighter.
    fn level(&self) -> usize {
        let level = LEVELS.iter().position(|operators| operators.contains(&self.operator));
        level.unwrap_or(LEVELS.len())
    }

    /// Whether grouping this and the other one differently may mean something, and something else.
    fn mixes_with(&self, other: &Self) -> bool {
        let are_logical = [self, other].map(|each| LOGICAL.contains(&each.operator));
        let are_arithmetic = [self, other].map(Self::is_arithmetic);
        let is_same = self.operator == other.operator && ASSOCIATIVE.contains(&self.operator);
        (are_logical == [true; 2] || are_arithmetic == [true; 2]) && !is_same
    }
}

/// What is inside of parentheses.
fn unwrapped(node: Node<'_>) -> Option<Node<'_>> {
    let is_one = node.kind() == "parenthesized_expression" && node.named_child_count() == 1;
    node.named_child(0).filter(|_| is_one)
}

/// `a + b / c` becomes `(a + b) / c` and `a / c + b`, and `(a + b) / c` becomes `a + b / c`.
fn regrouped(place: &Site<'_, '_>, outer: &Operation<'_>, made: &mut Vec<String>) {
    let text = |node: Node<'_>| place.source.text_of(node);
    let Operation { left, operator, right } = outer;
    let [left_text, right_text] = [*left, *right].map(text);
    // `a + (b - c)` is `a + b - c`.
    let is_new = |inner: &Operation<'_>| inner.operator != "+" || inner.level() != outer.level();
    let inner = Operation::of(place, *left).filter(|inner| outer.mixes_with(inner) && is_new(inner));
    if let Some(inner) = inner {
        let [a, b] = [inner.left, inner.right].map(text);
        made.push(format!("{a} {} ({b} {operator} {right_text})", inner.operator));
    }
    if let Some(inner) = Operation::of(place, *right).filter(|inner| outer.mixes_with(inner)) {
        let [b, c] = [inner.left, inner.right].map(text);
        made.push(format!("({left_text} {operator} {b}) {} {c}", inner.operator));
        if outer.is_arithmetic() {
            made.push(format!("{left_text} {} {c} {operator} {b}", inner.operator));
        }
    }
    // Parentheses around what binds tighter say nothing.
    let in_parentheses = |node: Node<'_>, tightest: usize| {
        let inner = unwrapped(node)?;
        let operation = Operation::of(place, inner).filter(|operation| operation.level() >= tightest)?;
        let is_open = outer.mixes_with(&operation) || (outer.operator == "-" && operation.operator == "-");
        Some(text(inner)).filter(|_| is_open)
    };
    if let Some(inner) = in_parentheses(*left, outer.level() + 1) {
        made.push(format!("{inner} {operator} {right_text}"));
    }
    if let Some(inner) = in_parentheses(*right, outer.level()) {
        made.push(format!("{left_text} {operator} {inner}"));
    }
}

/// `f(a) - b` becomes `f(a - b)`, and `a - b.f()` becomes `(a - b).f()`.
fn around_a_call(place: &Site<'_, '_>, outer: &Operation<'_>, made: &mut Vec<String>) {
    if !outer.is_arithmetic() {
        return;
    }
    let text = |node: Node<'_>| place.source.text_of(node);
    let Operation { left, operator, right } = outer;
    if let Some((before, last, after)) = last_argument(place, *left) {
        let is_operation = Operation::of(place, last).is_some();
        let last_text = text(last);
        let right = text(*right);
        if is_operation {
            made.push(format!("{before}({last_text}) {operator} {right}{after}"));
        }
        if is_operation || place.source.language.operands.contains(&last.kind()) {
            made.push(format!("{before}{last_text} {operator} {right}{after}"));
        }
    }
    if let Some((receiver, rest)) = receiver(place, *right) {
        made.push(format!("({} {operator} {}){rest}", text(*left), text(receiver)));
    }
}

/// `!a == b` becomes `!(a == b)`.
fn negated(place: &Site<'_, '_>, outer: &Operation<'_>, made: &mut Vec<String>) {
    let left = place.source.text_of(outer.left);
    let right = place.source.text_of(outer.right);
    let signs: &[&str] = match outer.is_arithmetic() {
        // `-a * b` is `-(a * b)`.
        true if matches!(outer.operator, "*" | "/") => &[],
        true => &["-", "~"],
        false => &["!", "not "],
    };
    for sign in signs {
        let operand = left.strip_prefix(sign);
        if let Some(operand) = operand.filter(|operand| !operand.starts_with(['(', '=', '-', '!', '~'])) {
            made.push(format!("{sign}({operand} {} {right})", outer.operator));
        }
    }
}

/// `f(a - b)` becomes `f(a) - b`, and `(a - b).f()` becomes `a - b.f()`.
fn out_of_a_call(place: &Site<'_, '_>, made: &mut Vec<String>) {
    let node = place.node();
    if !place.source.language.calls.contains(&node.kind()) {
        return;
    }
    // What is around would apply to the last operand only.
    let (language, parent) = (place.source.language, place.parent_kind());
    let is_part = parent == language.attribute.0
        || language.positions.contains(&parent)
        || language.calls.contains(&parent)
        || ["unary", "not_", "await"].iter().any(|kind| parent.starts_with(kind));
    if is_part {
        return;
    }
    let text = |node: Node<'_>| place.source.text_of(node);
    let last = node
        .child_by_field_name("arguments")
        .and_then(|list| list.named_child(u32::try_from(list.named_child_count().checked_sub(1)?).ok()?));
    if let (Some(last), Some((before, _, after))) = (last, last_argument(place, node)) {
        let mut inner = last;
        // `f(a * b + c)` is split behind `a`, too.
        while let Some(operation) = Operation::of(place, inner).filter(Operation::is_arithmetic) {
            inner = operation.left;
            let rest = place
                .source
                .text
                .get(inner.end_byte()..last.end_byte())
                .unwrap_or_default();
            made.push(format!("{before}{}{after}{rest}", text(inner)));
        }
    }
    let Some((value, rest)) = receiver(place, node) else {
        return;
    };
    let inner = unwrapped(value).and_then(|inner| Operation::of(place, inner));
    if let Some(inner) = inner.filter(Operation::is_arithmetic) {
        let [a, b] = [inner.left, inner.right].map(text);
        made.push(format!("{a} {} {b}{rest}", inner.operator));
    }
}

/// A call's text before its last argument, the argument, and the text after it.
fn last_argument<'t>(place: &Site<'_, 't>, call: Node<'t>) -> Option<(&'t str, Node<'t>, &'t str)> {
    let is_call = place.source.language.calls.contains(&call.kind());
    let list = call.child_by_field_name("arguments").filter(|_| is_call)?;
    let last = list.named_child(u32::try_from(list.named_child_count().checked_sub(1)?).ok()?)?;
    // A generator is no list, and what is spread is no single value.
    let is_one = place.source.language.arguments.contains(&list.kind())
        && !["splat", "spread"].iter().any(|part| last.kind().contains(part));
    if !is_one {
        return None;
    }
    let text = &place.source.text;
    let before = text.get(call.start_byte()..last.start_byte())?;
    let after = text.get(last.end_byte()..call.end_byte())?;
    Some((before, last, after))
}

/// The receiver of a method's call, and the text after it.
fn receiver<'t>(place: &Site<'_, 't>, call: Node<'t>) -> Option<(Node<'t>, &'t str)> {
    let language = place.source.language;
    if !language.calls.contains(&call.kind()) {
        return None;
    }
    let (kind, value, _) = language.attribute;
    let called = call.child_by_field_name(language.callee);
    let value = called
        .filter(|called| called.kind() == kind)
        .and_then(|called| called.child_by_field_name(value))
        .or_else(|| call.child_by_field_name("object"))?;
    let rest = place.source.text.get(value.end_byte()..call.end_byte())?;
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use crate::syntax::Source;
    use crate::template::Template;
    use crate::templates::tests::offers;
    use crate::templates::{KnownNames, Stage, edits};

    #[test]
    fn operations_are_grouped_in_another_way() {
        for (path, context, fault, fix) in [
            ("f.py", "def f(a, b, c):\n    return LINE\n", "a + b / c", "(a + b) / c"),
            ("f.py", "def f(a, b, c):\n    return LINE\n", "(a + b) / c", "a + b / c"),
            (
                "f.py",
                "def f(a, b, c):\n    return LINE\n",
                "a or b and c",
                "(a or b) and c",
            ),
            (
                "f.py",
                "def f(a, b, c):\n    return LINE\n",
                "not a and b",
                "not (a and b)",
            ),
            ("f.js", "const f = (a, b, c) => LINE;\n", "a[b - 1 / 2]", "a[b / 2 - 1]"),
            ("f.js", "const f = (a, b, c) => LINE;\n", "a - (b + c)", "a - b + c"),
            ("f.js", "const f = (a, b, c) => LINE;\n", "!a in b", "!(a in b)"),
            (
                "f.go",
                "package f\n\nfunc f(a, b, c int) int { return LINE }\n",
                "a*(b-c)",
                "a*b-c",
            ),
        ] {
            offers(path, &context.replace("LINE", fault), &[&context.replace("LINE", fix)]);
        }
    }

    #[test]
    fn an_operation_moves_into_a_call_and_out_of_it() {
        for (path, context, fault, fix) in [
            ("f.py", "def f(a, b):\n    return LINE\n", "int(a) / b", "int(a / b)"),
            (
                "f.py",
                "def f(a, b):\n    return LINE\n",
                "max(a, b - 1)",
                "max(a, b) - 1",
            ),
            (
                "f.py",
                "def f(a, b):\n    return LINE\n",
                "int(a * 9 + b)",
                "int(a) * 9 + b",
            ),
            (
                "f.py",
                "def f(a, b):\n    return LINE\n",
                "int(a + b) / 2",
                "int((a + b) / 2)",
            ),
            (
                "f.js",
                "const f = (a, b) => LINE;\n",
                "Math.floor(a / b)",
                "Math.floor(a) / b",
            ),
            (
                "f.rs",
                "fn f(a: i32, b: i32) -> i32 { LINE }\n",
                "a - b.abs()",
                "(a - b).abs()",
            ),
            (
                "f.rs",
                "fn f(a: i32, b: i32) -> i32 { LINE }\n",
                "(a - b).abs()",
                "a - b.abs()",
            ),
            (
                "F.java",
                "class F { String f(String a, String b) { return LINE; } }\n",
                "a + b.trim()",
                "(a + b).trim()",
            ),
        ] {
            offers(path, &context.replace("LINE", fault), &[&context.replace("LINE", fix)]);
        }
    }

    /// The texts with another grouping.
    fn regrouped(path: &str, text: &str) -> Vec<String> {
        let source = Source::parse(path, text.into()).unwrap();
        let known = KnownNames::of(&source, [].into());
        let made = edits((&source, &known), Stage::Composed, &(0..text.len()), &|_| true);
        let made = made.iter().filter(|edit| edit.template == Template::Grouping);
        made.filter_map(|edit| source.replaced(&edit.range, &edit.replacement))
            .collect()
    }

    #[test]
    fn a_grouping_that_means_the_same_or_is_nonsense_is_not_offered() {
        for (own, expected) in [
            ("a + b - c", &[][..]),
            ("a - b + c", &["a - (b + c)"]),
            ("(a * b) + c", &[]),
            ("a || (b && c)", &[]),
            ("a + b == c", &[]),
            ("a || b == c", &[]),
            ("-a * b", &[]),
            ("--a + b", &[]),
            ("f(a - b)[0]", &[]),
            ("!f(a - b)", &[]),
            ("f(a ? b : c) + a", &[]),
            ("(a || b) ?? c", &[]),
        ] {
            let script = |value: &str| format!("const f = (a, b, c) => {value};\n");
            let expected: Vec<String> = expected.iter().map(|value| script(value)).collect();
            assert_eq!(regrouped("f.js", &script(own)), expected, "{own}");
        }
        let assigned = "function f(a, b) {\n  a += b.trim();\n  a -= b * 2;\n}\n";
        assert!(regrouped("f.js", assigned).is_empty());
        for value in ["sum(x for x in xs) - 1", "f(*xs) - 1"] {
            let python = format!("def f(xs):\n    return {value}\n");
            assert!(regrouped("f.py", &python).is_empty(), "{value}");
        }
    }
}
