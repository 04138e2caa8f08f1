//! A file as a syntax tree, and as text without layout. The caller interprets the nodes.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::bounds::{Bounds, parse};
use super::language::Language;
use super::walk::{self, Below};

/// Longer tokens are compared by their beginning and their length.
const MAX_TOKEN: usize = 2_000;

/// A file and its syntax tree.
pub struct Parsed<'t> {
    /// The language it was parsed as.
    pub language: Language,
    /// The whole text.
    pub text: &'t str,
    /// The syntax tree.
    pub tree: Tree,
}

impl<'t> Parsed<'t> {
    /// Parses a file within the default limits. `None` if it is too large or takes too long.
    pub fn parse(language: Language, text: &'t str) -> Option<Self> {
        let tree = parse(language, text, Bounds::default(), None)?;
        Some(Self { language, text, tree })
    }

    /// The source text of a node.
    pub fn raw(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The line of a node, from 1.
    pub fn line(node: Node<'_>) -> usize {
        node.start_position().row + 1
    }

    /// The text of a node without layout and comments, so that formatting and the kind of quotes do not matter.
    pub fn compact(&self, node: Node<'_>) -> String {
        self.compact_without(node, &[])
    }

    /// The same without some ranges, each replaced by a mark.
    pub fn compact_without(&self, node: Node<'_>, left_out: &[Range<usize>]) -> String {
        let mut tokens = Tokens::default();
        self.visit(node, |node| {
            let range = node.byte_range();
            if left_out.contains(&range) {
                tokens.push("{}");
                return Below::Skip;
            }
            if node.kind().contains("comment") && node.kind() != "comment_expression" {
                return Below::Skip;
            }
            if is_string(node) && !self.raw(node).starts_with('f') && !has_parts(node) {
                tokens.push(&quoted(self.raw(node)));
                return Below::Skip;
            }
            if node.child_count() == 0 {
                tokens.push(self.raw(node));
            }
            Below::Enter
        });
        tokens.finish()
    }

    /// Visits a node and its descendants, parents first, no matter how deep the tree is.
    pub fn visit<'n>(&self, node: Node<'n>, visit: impl FnMut(Node<'n>) -> Below) {
        walk::visit(node, visit);
    }

    /// The lines, from 1, on which the innermost syntax errors begin.
    pub fn error_lines(&self) -> Vec<usize> {
        let mut lines = Vec::new();
        if !self.tree.root_node().has_error() {
            return lines;
        }
        self.visit(self.tree.root_node(), |node| {
            if !node.has_error() && !node.is_missing() {
                return Below::Skip;
            }
            let mut cursor = node.walk();
            if node.is_missing() || !node.children(&mut cursor).any(|child| child.has_error()) {
                lines.push(Self::line(node));
            }
            Below::Enter
        });
        lines
    }

    /// The source text of syntax errors.
    pub fn errors(&self) -> Vec<&'t str> {
        let mut errors = Vec::new();
        if !self.tree.root_node().has_error() {
            return errors;
        }
        self.visit(self.tree.root_node(), |node| {
            if node.is_error() || node.is_missing() {
                errors.push(self.raw(node));
                return Below::Skip;
            }
            if node.has_error() { Below::Enter } else { Below::Skip }
        });
        errors
    }
}

/// Whether a node is a literal with quotes.
pub fn is_string(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "template_string"
            | "char_literal"
            | "character_literal"
    )
}

/// Whether a string contains code inside its quotes.
fn has_parts(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .any(|child| child.kind() == "interpolation" || child.kind() == "template_substitution")
}

/// A string with normalised quotes.
fn quoted(raw: &str) -> String {
    match raw.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) if inner.chars().count() != 1 && !inner.contains(['"', '\'']) => format!("\"{inner}\""),
        _ => raw.into(),
    }
}

#[derive(Default)]
struct Tokens(String);

impl Tokens {
    fn push(&mut self, token: &str) {
        if token.trim().is_empty() || token == ";" {
            return;
        }
        if matches!(token, ")" | "]" | "}") && self.0.ends_with(',') {
            self.0.pop();
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '$');
        if self.0.ends_with(is_word) && token.starts_with(is_word) {
            self.0.push(' ');
        }
        match token.char_indices().nth(MAX_TOKEN) {
            Some((end, _)) => {
                use std::hash::{DefaultHasher, Hash as _, Hasher as _};
                let mut hash = DefaultHasher::new();
                token.hash(&mut hash);
                self.0.push_str(&token[..end]);
                self.0.push_str(&format!("…{:x}", hash.finish()));
            }
            None => self.0.push_str(token),
        }
    }

    fn finish(self) -> String {
        self.0.trim_end_matches(',').to_string()
    }
}
