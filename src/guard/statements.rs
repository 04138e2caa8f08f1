//! The body of an item as a flat list of statements. Separate entries open and close blocks, so two bodies can be
//! compared as lists.

use std::ops::Range;

use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use super::{MAX_DEPTH, assertion};

/// The maximum number of statements of one body that are compared separately.
const MAX_STATEMENTS: usize = 20_000;

/// One statement, the head of a block, or the end of a block.
#[derive(Clone)]
pub(super) struct Statement<'t> {
    /// The text that is compared: without layout, comments, and statements that only print.
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) node: Node<'t>,
    pub(super) part: StatementPart,
    /// Whether it can fail the test.
    pub(super) asserts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementPart {
    Whole,
    /// The head of a block. The key of its end is `end of` and this key.
    Open,
    Close,
}

/// The statements of a block, or of a body that is a single expression.
pub(super) fn of<'t>(file: &'t Parsed<'t>, body: Node<'t>) -> Vec<Statement<'t>> {
    let mut found = Vec::new();
    if is_block(body) || is_transparent(body) {
        block(file, body, 0, &mut found);
    } else {
        statement(file, body, 0, &mut found);
    }
    found
}

/// One statement, with the statements in it.
pub(super) fn one<'t>(file: &'t Parsed<'t>, node: Node<'t>) -> Vec<Statement<'t>> {
    let mut found = Vec::new();
    statement(file, node, 0, &mut found);
    found
}

fn block<'t>(file: &'t Parsed<'t>, node: Node<'t>, depth: usize, found: &mut Vec<Statement<'t>>) {
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if is_transparent(child) {
            block(file, child, depth + 1, found);
        } else {
            statement(file, child, depth + 1, found);
        }
    }
}

fn statement<'t>(file: &'t Parsed<'t>, node: Node<'t>, depth: usize, found: &mut Vec<Statement<'t>>) {
    if found.len() > MAX_STATEMENTS || node.kind().contains("comment") || is_empty(file, node) {
        return;
    }
    let inner = if depth < MAX_DEPTH {
        blocks(file, node)
    } else {
        Vec::new()
    };
    let line = Parsed::line(node);
    if inner.is_empty() {
        let key = assertion::key(file.language, file.compact(node));
        if !key.is_empty() {
            let asserts = assertion::is_assertion(file.language, &key);
            found.push(Statement {
                key,
                line,
                node,
                part: StatementPart::Whole,
                asserts,
            });
        }
        return;
    }
    let ranges: Vec<Range<usize>> = inner.iter().map(Node::byte_range).collect();
    let key = file.compact_without(node, &ranges);
    let opened = found.len();
    let asserts = assertion::is_assertion(file.language, &key);
    found.push(Statement {
        key: key.clone(),
        line,
        node,
        part: StatementPart::Open,
        asserts,
    });
    for block_node in inner {
        block(file, block_node, depth + 1, found);
    }
    // `if got != want { t.Error() }`: the condition is the check.
    let fails = |statement: &Statement<'_>| assertion::is_failure(&statement.key);
    if found[opened + 1..].iter().any(fails) && assertion::is_condition(&key) {
        found[opened].asserts = true;
    }
    found.push(Statement {
        key: format!("end of {key}"),
        line,
        node,
        part: StatementPart::Close,
        asserts: false,
    });
}

/// The outermost blocks in a statement.
fn blocks<'t>(file: &'t Parsed<'t>, node: Node<'t>) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    file.visit(node, |below| {
        if below != node && is_block(below) {
            found.push(below);
            return Below::Skip;
        }
        Below::Enter
    });
    found
}

fn is_block(node: Node<'_>) -> bool {
    node.is_named()
        && matches!(
            node.kind(),
            "block"
                | "statement_block"
                | "class_body"
                | "switch_body"
                | "switch_block"
                | "match_block"
                | "declaration_list"
                | "constructor_body"
        )
}

/// Nodes that only group statements.
fn is_transparent(node: Node<'_>) -> bool {
    matches!(node.kind(), "statement_list" | "module" | "program" | "source_file")
}

/// Docstrings, `pass`, and statements that only print: they check nothing.
fn is_empty(file: &Parsed<'_>, node: Node<'_>) -> bool {
    if matches!(node.kind(), "pass_statement" | "empty_statement") {
        return true;
    }
    if node.kind() != "expression_statement" {
        return false;
    }
    let only = node.named_child(0);
    if file.language == Language::Python && only.is_some_and(|only| only.kind() == "string") {
        return true;
    }
    let text = file.raw(node).trim_start();
    const PRINTS: [&str; 12] = [
        "print(",
        "console.",
        "t.Log(",
        "t.Logf(",
        "t.Helper(",
        "println!",
        "eprintln!",
        "dbg!(",
        "fmt.Print",
        "System.out.",
        "log.",
        "logger.",
    ];
    PRINTS.iter().any(|print| text.starts_with(print))
}

/// Whether a literal list, table or map only has more entries than before, and the code around it is unchanged.
pub(super) fn grows((old_file, old): (&Parsed<'_>, Node<'_>), (new_file, new): (&Parsed<'_>, Node<'_>)) -> bool {
    grows_at((old_file, old), (new_file, new), 0)
}

fn grows_at((old_file, old): (&Parsed<'_>, Node<'_>), (new_file, new): (&Parsed<'_>, Node<'_>), depth: usize) -> bool {
    if old_file.compact(old) == new_file.compact(new) {
        return true;
    }
    if old.kind() != new.kind() || depth > MAX_DEPTH {
        return false;
    }
    if is_collection(old) {
        let (old, new) = (entries(old_file, old), entries(new_file, new));
        let mut rest = new.iter();
        return !old.is_empty() && old.iter().all(|entry| rest.any(|other| other == entry));
    }
    // The text between the nodes, such as operators, matters as well.
    let (mut one, mut other) = (old.walk(), new.walk());
    let is_code = |node: &Node<'_>| !node.kind().contains("comment");
    let left: Vec<Node<'_>> = old.children(&mut one).filter(is_code).collect();
    let right: Vec<Node<'_>> = new.children(&mut other).filter(is_code).collect();
    !left.is_empty()
        && left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(left, right)| grows_at((old_file, *left), (new_file, *right), depth + 1))
}

fn is_collection(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "list"
            | "array"
            | "dictionary"
            | "object"
            | "set"
            | "literal_value"
            | "array_expression"
            | "array_initializer"
            | "element_value_array_initializer"
    )
}

fn entries(file: &Parsed<'_>, node: Node<'_>) -> Vec<String> {
    let mut cursor = node.walk();
    let entries = node.named_children(&mut cursor);
    entries
        .filter(|entry| !entry.kind().contains("comment"))
        .map(|entry| file.compact(entry))
        .collect()
}
