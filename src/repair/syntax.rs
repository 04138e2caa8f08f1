//! One file as a syntax tree, parsed and walked within bounds, because its author may be hostile. What the nodes
//! mean is left to the callers.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{InputEdit, Node, ParseOptions, Parser, Point, Tree};

use super::language::{self, Language};

/// Larger files are not looked at: they are generated, and slow to search.
const MAX_BYTES: usize = 512 * 1024;
/// Code nested deeper than this is not looked at.
const MAX_DEPTH: usize = 200;
/// A parse that takes longer is given up.
const MAX_PARSE: Duration = Duration::from_millis(1_500);

/// More than this is not quoted, nor from further up.
const MAX_QUOTED: usize = 60;
const MAX_LEVELS_QUOTED: usize = 4;

/// A file and its tree.
pub(super) struct Source {
    pub(super) language: &'static Language,
    pub(super) text: String,
    tree: Tree,
}

/// A node and the field of its parent that it stands in.
#[derive(Clone, Copy)]
pub(super) struct Step<'t> {
    pub(super) node: Node<'t>,
    pub(super) field: &'t str,
}

/// Whether [`Source::walk`] goes on below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    Enter,
    Skip,
}

impl Source {
    /// Parses a file; none if its language is not known, or it is too large or too slow to parse.
    pub(super) fn parse(path: &str, text: String) -> Option<Self> {
        let language = language::of(path)?;
        let tree = parse(language, &text, None)?;
        Some(Self { language, text, tree })
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Visits every node with the steps that lead to it, itself last, parents before children.
    pub(super) fn walk<'t>(&'t self, mut visit: impl FnMut(&[Step<'t>]) -> Below) {
        let mut cursor = self.tree.walk();
        let mut path = vec![Step {
            node: cursor.node(),
            field: "",
        }];
        loop {
            if visit(&path) == Below::Enter && path.len() < MAX_DEPTH && cursor.goto_first_child() {
                path.push(Step {
                    node: cursor.node(),
                    field: cursor.field_name().unwrap_or_default(),
                });
                continue;
            }
            while !cursor.goto_next_sibling() {
                path.pop();
                if !cursor.goto_parent() {
                    return;
                }
            }
            path.pop();
            path.push(Step {
                node: cursor.node(),
                field: cursor.field_name().unwrap_or_default(),
            });
        }
    }

    /// A range with a little of what is around it, as a person would quote it: the expression an operator stands in.
    pub(super) fn quotable(&self, range: &Range<usize>) -> Range<usize> {
        let quotable = |node: &Node<'_>| {
            let text = self.text_of(*node);
            text.len() <= MAX_QUOTED && !text.contains('\n') && node.byte_range() != *range
        };
        let mut node = self.tree.root_node().descendant_for_byte_range(range.start, range.end);
        for _ in 0..MAX_LEVELS_QUOTED {
            let Some(around) = node else { break };
            if quotable(&around) && !self.language.arguments.contains(&around.kind()) {
                return around.byte_range();
            }
            node = around.parent();
        }
        range.clone()
    }

    /// The text with one range replaced, if that brings no new syntax error.
    pub(super) fn replaced(&self, range: &Range<usize>, replacement: &str) -> Option<String> {
        let mut text = String::with_capacity(self.text.len() + replacement.len());
        text.push_str(self.text.get(..range.start)?);
        text.push_str(replacement);
        text.push_str(self.text.get(range.end..)?);
        let mut old = self.tree.clone();
        let start = point(&self.text, range.start);
        old.edit(&InputEdit {
            start_byte: range.start,
            old_end_byte: range.end,
            new_end_byte: range.start + replacement.len(),
            start_position: start,
            old_end_position: after(start, self.text.get(range.clone())?),
            new_end_position: after(start, replacement),
        });
        let tree = parse(self.language, &text, Some(&old))?;
        let is_sound = !tree.root_node().has_error()
            || (self.tree.root_node().has_error() && count_errors(&tree) <= count_errors(&self.tree));
        is_sound.then_some(text)
    }
}

fn parse(language: &Language, text: &str, old: Option<&Tree>) -> Option<Tree> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar)()).ok()?;
    let deadline = Instant::now() + MAX_PARSE;
    let mut progress = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _: Point| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, old, Some(options))
}

/// Row and column in bytes, as tree-sitter counts them.
fn point(text: &str, byte: usize) -> Point {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let row = before.iter().filter(|b| **b == b'\n').count();
    let column = before.iter().rev().take_while(|b| **b != b'\n').count();
    Point { row, column }
}

/// Where a text ends that starts there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_visited_with_its_parents() {
        let source = Source::parse("a.py", "def f(a):\n    return a + 1\n".into()).unwrap();
        let mut seen = Vec::new();
        source.walk(|path| {
            let step = path[path.len() - 1];
            if step.node.kind() == "integer" {
                seen.push((path.len(), step.field, source.text_of(step.node).to_string()));
            }
            Below::Enter
        });
        assert_eq!(seen, [(6, "right", "1".to_string())]);
    }

    #[test]
    fn a_replacement_that_does_not_parse_is_refused() {
        let source = Source::parse("a.rs", "fn f() -> u32 { 1 }\n".into()).unwrap();
        let one = 16..17;
        assert_eq!(source.replaced(&one, "2").as_deref(), Some("fn f() -> u32 { 2 }\n"));
        assert_eq!(source.replaced(&one, "2 +"), None);
    }

    #[test]
    fn an_error_that_was_there_before_is_no_new_one() {
        let source = Source::parse("a.rs", "fn f() -> u32 { 1 }\nfn g( {\n".into()).unwrap();
        assert!(source.replaced(&(16..17), "2").is_some());
    }

    #[test]
    fn a_file_nested_without_end_is_walked_in_bounds() {
        let text = format!("x = {}1{}\n", "(".repeat(100_000), ")".repeat(100_000));
        if let Some(source) = Source::parse("a.py", text) {
            let mut deepest = 0;
            source.walk(|path| {
                deepest = deepest.max(path.len());
                Below::Enter
            });
            assert!(deepest <= MAX_DEPTH);
        }
    }
}
