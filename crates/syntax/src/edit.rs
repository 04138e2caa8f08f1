//! Replaces one range of a text, and parses it again incrementally.

use std::ops::Range;

use tree_sitter::{InputEdit, Point, Tree};

use super::bounds::{Bounds, parse};
use super::language::Language;

/// The text of a tree with one range replaced, if that causes no new syntax error.
pub fn replaced(
    (language, text, tree): (Language, &str, &Tree),
    range: &Range<usize>,
    replacement: &str,
    bounds: Bounds,
) -> Option<String> {
    let mut new = String::with_capacity(text.len() + replacement.len());
    new.push_str(text.get(..range.start)?);
    new.push_str(replacement);
    new.push_str(text.get(range.end..)?);
    let mut old = tree.clone();
    let start = point(text, range.start);
    old.edit(&InputEdit {
        start_byte: range.start,
        old_end_byte: range.end,
        new_end_byte: range.start + replacement.len(),
        start_position: start,
        old_end_position: after(start, text.get(range.clone())?),
        new_end_position: after(start, replacement),
    });
    let edited = parse(language, &new, bounds, Some(&old))?;
    let is_sound = !edited.root_node().has_error()
        || (tree.root_node().has_error() && count_errors(&edited) <= count_errors(tree));
    is_sound.then_some(new)
}

/// Row and column in bytes, as tree-sitter counts them.
fn point(text: &str, byte: usize) -> Point {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let row = before.iter().filter(|b| **b == b'\n').count();
    let column = before.iter().rev().take_while(|b| **b != b'\n').count();
    Point { row, column }
}

/// The end of a text that begins at `start`.
fn after(start: Point, text: &str) -> Point {
    let end = point(text, text.len());
    Point {
        row: start.row + end.row,
        column: if end.row == 0 {
            start.column + end.column
        } else {
            end.column
        },
    }
}

fn count_errors(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut errors = 0;
    loop {
        let node = cursor.node();
        errors += usize::from(node.is_error() || node.is_missing());
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return errors;
            }
        }
    }
}
