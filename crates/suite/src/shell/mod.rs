//! Parses shell scripts into syntax trees, within bounds because strangers write them. No script is ever run to find
//! out what it does.

mod conditions;
mod directory;
mod python;
mod script;
mod sequence;
mod word;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

pub(super) use self::directory::{
    assigned, below_workspace, expanded, for_people, is_variable, line_directory, only_variable, split_line,
    with_workspace,
};
pub(super) use self::python::{python_module, python_options};
pub(super) use self::script::{SimpleCommand, lines};
pub(super) use self::sequence::commands;
pub(super) use self::word::{ARGUMENTS, Word, is_name, quoted};

/// Maximum size of a script in bytes.
const MAX_BYTES: usize = 100_000;
/// Time limit for parsing.
const MAX_PARSE: Duration = Duration::from_secs(1);
/// Maximum nesting depth of statements and words.
const MAX_DEPTH: usize = 60;

/// A script and its tree.
struct Parsed<'t> {
    text: &'t str,
    tree: Tree,
}

impl<'t> Parsed<'t> {
    /// `None` if the script is malformed, too long or too slow to parse, or has control characters.
    fn of(text: &'t str) -> Option<Self> {
        let is_hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        if text.len() > MAX_BYTES || text.chars().any(is_hidden) {
            return None;
        }
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        let until = Instant::now() + MAX_PARSE;
        let mut stop = |_: &tree_sitter::ParseState| match Instant::now() > until {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = ParseOptions::new().progress_callback(&mut stop);
        let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options))?;
        (!tree.root_node().has_error()).then_some(Self { text, tree })
    }

    fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    fn raw(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Visits every node below this one, parents first, at any depth.
    fn each<'n>(node: Node<'n>, mut visit: impl FnMut(Node<'n>)) {
        let mut cursor = node.walk();
        loop {
            visit(cursor.node());
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }
}

/// The children of a node, tokens included.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The scripts in `$(…)`, as in `test -z "$(gofmt -l .)"`.
pub(super) fn substituted(script: &str) -> Vec<&str> {
    let Some(parsed) = Parsed::of(script) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    Parsed::each(parsed.root(), |node| {
        let raw = parsed.raw(node);
        let inner = raw.strip_prefix("$(").and_then(|raw| raw.strip_suffix(')'));
        found.extend(inner.filter(|_| node.kind() == "command_substitution"));
    });
    found
}
