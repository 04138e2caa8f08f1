//! Walks over a tree without recursion, because the author of a file decides how deep it is.

use tree_sitter::{Node, Tree};

/// Whether a walk enters the children of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Visit its children next.
    Enter,
    /// Skip its children.
    Skip,
}

/// A node, and the field of its parent that contains it.
#[derive(Debug, Clone, Copy)]
pub struct Step<'t> {
    /// The node.
    pub node: Node<'t>,
    /// Empty for the root, and if the grammar gives it no name.
    pub field: &'t str,
}

/// Visits a node and its descendants, parents first, no matter how deep the tree is.
pub fn visit<'t>(node: Node<'t>, mut visit: impl FnMut(Node<'t>) -> Below) {
    let mut cursor = node.walk();
    loop {
        if visit(cursor.node()) == Below::Enter && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// Visits every node down to a depth, parents before children. `visit` gets the path to the node, with the node last.
pub fn walk<'t>(tree: &'t Tree, depth: usize, mut visit: impl FnMut(&[Step<'t>]) -> Below) {
    let mut cursor = tree.walk();
    let mut path = vec![Step {
        node: cursor.node(),
        field: "",
    }];
    loop {
        if visit(&path) == Below::Enter && path.len() < depth && cursor.goto_first_child() {
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
