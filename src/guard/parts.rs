//! The tests in a Rust or Python file, as ranges of its text that include attributes or decorators, and the examples
//! in its documentation.

use std::ops::Range;

use greenlight_syntax::test_item::{is_test_item, marks_a_test};
use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use super::MAX_DEPTH;
use super::docs::{Docs, Example};

/// The ranges of tests in a file that contains other code as well, in order. Empty for other languages, where tests
/// are in separate files.
pub(super) fn test_ranges(file: &Parsed<'_>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if matches!(file.language, Language::Rust | Language::Python) {
        collect(file, file.tree.root_node(), 0, &mut found);
    }
    found
}

fn collect(file: &Parsed<'_>, node: Node<'_>, depth: usize, found: &mut Vec<Range<usize>>) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut cursor = node.walk();
    let mut start = None;
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "attribute_item" => start = start.or(Some(child.start_byte())),
            "inner_attribute_item" if marks_a_test(&file.compact(child)) => {
                found.push(node.byte_range());
                return;
            }
            kind if kind.contains("comment") => {}
            _ => {
                if is_test_item(child, file.text) {
                    found.push(start.unwrap_or(child.start_byte())..child.end_byte());
                } else {
                    collect(file, child, depth + 1, found);
                }
                start = None;
            }
        }
    }
}

/// The examples in documentation that are run as tests.
pub(super) fn examples(file: &Parsed<'_>) -> Vec<Example> {
    let mut found = Vec::new();
    match file.language {
        Language::Rust => rust_examples(file, file.tree.root_node(), 0, &mut found),
        // <https://docs.python.org/3/library/doctest.html>
        Language::Python => file.visit(file.tree.root_node(), |node| {
            if node.kind() == "expression_statement" && node.named_child(0).is_some_and(|only| only.kind() == "string")
            {
                let text = file.raw(node);
                if let Some(at) = text.lines().position(|line| line.contains(">>>")) {
                    found.push(Example {
                        line: Parsed::line(node) + at,
                        text: sessions(text),
                    });
                }
                return Below::Skip;
            }
            Below::Enter
        }),
        _ => {}
    }
    found
}

/// The lines of a docstring from each prompt to the next blank line.
fn sessions(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let bare = line.trim();
        is_inside = bare.starts_with(">>>") || (is_inside && !bare.is_empty());
        if is_inside {
            lines.push(bare);
        }
    }
    lines.join("\n")
}

fn rust_examples(file: &Parsed<'_>, node: Node<'_>, depth: usize, found: &mut Vec<Example>) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut docs = Docs::default();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        let own = file.raw(child);
        match child.kind() {
            "line_comment" | "block_comment" => docs.comment((own, Parsed::line(child)), found),
            "attribute_item" | "inner_attribute_item" => {
                let compact: String = own.chars().filter(|c| !c.is_whitespace()).collect();
                if compact.contains("doc=")
                    && (own.contains("```") || own.contains("~~~") || own.contains("include_str"))
                {
                    found.push(Example {
                        line: Parsed::line(child),
                        text: own.into(),
                    });
                }
            }
            _ => {
                docs.end(found);
                rust_examples(file, child, depth + 1, found);
            }
        }
    }
    docs.end(found);
}
