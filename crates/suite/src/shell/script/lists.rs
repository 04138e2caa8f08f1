//! Commands with `&&` and `||` between them.

use tree_sitter::Node;

use super::super::{MAX_DEPTH, Parsed, children};
use super::{After, ScriptReader, is_certain};

/// How a command ends, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStatus {
    /// A condition that holds, or does not.
    Known(bool),
    /// A condition that only a shell could evaluate.
    Unknown,
    /// A command, which succeeds in CI.
    Success,
}

impl<'p> ScriptReader<'p, '_> {
    /// Reads a list, and says how it ends.
    pub(super) fn list(&mut self, node: Node<'p>, before: After, depth: usize) -> Option<ListStatus> {
        let depth = depth.checked_sub(1)?;
        if is_condition(self.parsed, node) {
            self.branch(node)?;
            let holds = self.conditions(1).holds(node, MAX_DEPTH).filter(|_| is_certain(before));
            return Some(holds.map_or(ListStatus::Unknown, ListStatus::Known));
        }
        let parts = children(node);
        let ("list", [left, operator, right]) = (node.kind(), parts.as_slice()) else {
            self.statement(node, before, depth)?;
            return Some(ListStatus::Success);
        };
        if is_excused(self.parsed, node) {
            let from = self.lines.len();
            self.list(*left, before, depth)?;
            self.lines.iter_mut().skip(from).for_each(|line| line.may_fail = true);
            return Some(ListStatus::Success);
        }
        let status = self.list(*left, before, depth)?;
        let is_and = operator.kind() == "&&";
        match status {
            ListStatus::Known(holds) if holds == is_and => self.list(*right, before, depth),
            ListStatus::Known(_) => Some(status),
            ListStatus::Success if is_and => {
                let before = if is_certain(before) { After::Success } else { before };
                self.list(*right, before, depth)
            }
            ListStatus::Success => {
                self.statement(*right, After::Other, depth)?;
                Some(status)
            }
            ListStatus::Unknown if is_and => {
                let before = if is_certain(before) { After::Condition } else { before };
                self.list(*right, before, depth)?;
                Some(ListStatus::Unknown)
            }
            ListStatus::Unknown => {
                self.branch(*right)?;
                Some(ListStatus::Unknown)
            }
        }
    }
}

/// Whether a statement is nothing but a test of variables and the like.
fn is_condition(parsed: &Parsed<'_>, node: Node<'_>) -> bool {
    match node.kind() {
        "test_command" => true,
        "negated_command" => children(node).last().is_some_and(|inner| is_condition(parsed, *inner)),
        "command" => {
            let name = node.child_by_field_name("name").map_or("", |name| parsed.raw(name));
            matches!(name, "test" | "false")
        }
        _ => false,
    }
}

/// Whether a list says that a failure does not count: `a || true`.
fn is_excused(parsed: &Parsed<'_>, list: Node<'_>) -> bool {
    let children = children(list);
    let [_, operator, then] = children.as_slice() else {
        return false;
    };
    operator.kind() == "||" && matches!(parsed.raw(*then), "true" | ":")
}
