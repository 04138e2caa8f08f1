//! Walks over a tree that do not recurse: the author of a file decides how deep it nests.

use tree_sitter::{Node, Tree};

/// Whether a walk continues below a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Continue below it.
    Enter,
    /// Continue beside it.
    Skip,
}

/// A node and the field of its parent that it is in.
#[derive(Debug, Clone, Copy)]
pub struct Step<'t> {
    /// The node.
    pub node: Node<'t>,
    /// Empty for the root, and where the grammar names none.
    pub field: &'t str,
}

/// Visits a node and what is below it, parents first, however deep it goes.
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

/// Visits every node with the steps that lead to it, itself last, parents before children, down to a depth.
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
