//! A parsed file with the search's description of its language. [`greenlight_syntax`] parses and walks it, here
//! within tighter bounds.

use std::ops::Range;
use std::time::Duration;

pub(super) use greenlight_syntax::{Below, Step};
use greenlight_syntax::{Bounds, parse};
use tree_sitter::{Node, Tree};

use super::language::{self, TemplateLanguage};

/// Larger files are usually generated, and slow to search.
const BOUNDS: Bounds = Bounds {
    bytes: 512 * 1024,
    time: Duration::from_millis(1_500),
};
/// Maximum nesting depth of code that is visited.
const MAX_DEPTH: usize = 200;

/// Maximum length of a quote, and maximum number of levels above a node that it may include.
const MAX_QUOTED: usize = 60;
const MAX_LEVELS_QUOTED: usize = 4;

/// A file and its syntax tree.
pub(super) struct Source {
    pub(super) language: &'static TemplateLanguage,
    pub(super) text: String,
    tree: Tree,
}

impl Source {
    /// Parses a file. `None` if its language is unknown, or it is too large or too slow to parse.
    pub(super) fn parse(path: &str, text: String) -> Option<Self> {
        let language = language::of(path)?;
        let tree = parse(language.syntax, &text, BOUNDS, None)?;
        Some(Self { language, text, tree })
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Visits every node with the path from the root to it, parents before children.
    pub(super) fn walk<'t>(&'t self, visit: impl FnMut(&[Step<'t>]) -> Below) {
        greenlight_syntax::walk(&self.tree, MAX_DEPTH, visit);
    }

    /// The innermost function around a range.
    pub(super) fn function_around(&self, around: &Range<usize>) -> Option<Node<'_>> {
        let mut found = None;
        self.walk(|path| {
            let Some(node) = path.last().map(|step| step.node) else {
                return Below::Enter;
            };
            if node.start_byte() > around.start || node.end_byte() < around.end {
                return Below::Skip;
            }
            if self.language.functions.contains(&node.kind()) {
                found = Some(node);
            }
            Below::Enter
        });
        found
    }

    /// A range extended to what a person would quote: the expression that contains an operator.
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

    /// The text with one range replaced, if that causes no new syntax error.
    pub(super) fn replaced(&self, range: &Range<usize>, replacement: &str) -> Option<String> {
        let file = (self.language.syntax, self.text.as_str(), &self.tree);
        greenlight_syntax::replaced(file, range, replacement, BOUNDS)
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
