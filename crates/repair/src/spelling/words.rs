//! Operators, literals and parentheses of all grammars, from which forms are built.

use sha2::{Digest, Sha256};
use tree_sitter::Node;

/// A longer form is replaced by its digest, so that reading takes time in proportion to the file.
const MAX_FORM: usize = 240;

/// The opposite of each comparison operator.
const COMPARISONS: [(&str, &str); 12] = [
    ("<", ">="),
    (">=", "<"),
    (">", "<="),
    ("<=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("===", "!=="),
    ("!==", "==="),
    ("in", "not in"),
    ("not in", "in"),
    ("is", "is not"),
    ("is not", "is"),
];

/// An operation as written.
pub(super) struct Operation<'t> {
    pub(super) operands: Vec<Node<'t>>,
    pub(super) operators: Vec<String>,
}

/// True for `and`, false for `or`. `None` for anything else.
pub(super) fn logic(operation: &Operation<'_>) -> Option<bool> {
    match operation.operators.as_slice() {
        [only] if matches!(only.as_str(), "and" | "&&") => Some(true),
        [only] if matches!(only.as_str(), "or" | "||") => Some(false),
        _ => None,
    }
}

/// The pairs that are compared. `None` if it is not a comparison.
pub(super) fn comparison<'o, 't>(operation: &'o Operation<'t>) -> Option<Vec<(Node<'t>, &'o str, Node<'t>)>> {
    let is_known = |operator: &String| COMPARISONS.iter().any(|(known, _)| known == operator);
    operation.operators.iter().all(is_known).then_some(())?;
    let pairs = operation.operands.windows(2).zip(&operation.operators);
    Some(
        pairs
            .map(|(pair, operator)| (pair[0], operator.as_str(), pair[1]))
            .collect(),
    )
}

pub(super) fn opposite(operator: &str) -> Option<&'static str> {
    let found = COMPARISONS.iter().find(|(known, _)| *known == operator)?;
    Some(found.1)
}

/// Whether a form is a comparison or a negation, so that only its truth can matter.
pub(super) fn is_truth_value(form: &str) -> bool {
    let operators = || COMPARISONS.iter().map(|(operator, _)| *operator);
    let rest = form.strip_prefix('(');
    rest.is_some_and(|rest| {
        rest.starts_with("not ") || operators().any(|operator| rest.starts_with(operator)) || rest.starts_with("all ")
    })
}

pub(super) fn joined(is_all: bool, mut parts: Vec<String>) -> String {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            short(format!("({} {})", if is_all { "all" } else { "any" }, parts.join(" ")))
        }
    }
}

/// The node inside parentheses, or the only element of a list.
pub(super) fn bare(mut node: Node<'_>) -> Node<'_> {
    let is_around = |node: &Node<'_>| match node.kind() {
        "parenthesized_expression" => node.named_child_count() == 1,
        // With a trailing comma it is a tuple with one element.
        "expression_list" => node.child_count() == 1,
        _ => false,
    };
    while is_around(&node) {
        let Some(inner) = node.named_child(0) else { break };
        node = inner;
    }
    node
}

/// An integer in any notation.
pub(super) fn integer(text: &str) -> Option<i128> {
    let text = text.replace('_', "").to_lowercase();
    let (digits, radix) = match text.get(..2) {
        Some("0x") => (&text[2..], 16),
        Some("0o") => (&text[2..], 8),
        Some("0b") => (&text[2..], 2),
        _ => (text.as_str(), 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let is_suffix = matches!(suffix, "" | "l" | "n")
        || suffix
            .strip_prefix(['u', 'i'])
            .is_some_and(|size| matches!(size, "8" | "16" | "32" | "64" | "128" | "size"));
    is_suffix.then(|| i128::from_str_radix(digits, radix).ok()).flatten()
}

/// A form, or its digest if it is long.
pub(super) fn short(form: String) -> String {
    if form.len() <= MAX_FORM {
        return form;
    }
    format!("#{}", hex::encode(&Sha256::digest(&form)[..16]))
}
