//! A loop that returns in its first round: what belongs after the loop is in the `else` of its last condition.

use tree_sitter::Node;

use super::super::site::{Edit, Site};
use super::super::statements::LOOPS;
use crate::template::Template;

/// Maximum number of bytes of the statement that is moved.
const MAX_STATEMENT: usize = 80;

/// How deep the statement is in its block.
const MAX_LEVELS: usize = 4;

/// `for …: if …: return True else: return False` returns the latter after the loop. If something is returned there, the
/// loop goes through all rounds.
pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let node = place.node();
    let Some(body) = node.child_by_field_name("body").filter(|_| is_loop(place.kind())) else {
        return;
    };
    // Nothing of the loop is behind its body: no `else` of Python, no condition.
    if body.end_byte() != node.end_byte() {
        return;
    }
    let Some(condition) = last(body).map(inner) else { return };
    let Some(other) = condition
        .child_by_field_name("alternative")
        .filter(|_| condition.kind().starts_with("if"))
    else {
        return;
    };
    let Some(returned) = only_return(place, other) else {
        return;
    };
    let Some(kept) = other.prev_named_sibling().map(|kept| kept.end_byte()) else {
        return;
    };
    let text = &place.source.text;
    let line = text
        .get(..place.node().start_byte())
        .and_then(|before| before.rsplit('\n').next());
    let Some(indent) = line.filter(|line| line.trim().is_empty()) else {
        return;
    };
    let closing = match place.source.language.style.is_indented {
        true => String::new(),
        false => format!("\n{indent}}}"),
    };
    let mut next = node
        .next_named_sibling()
        .or_else(|| place.above(1)?.node.next_named_sibling());
    while let Some(comment) = next.filter(|next| next.kind().contains("comment")) {
        next = comment.next_named_sibling();
    }
    let returns_then = next.is_some_and(|next| inner(next).kind() == place.source.language.returns.0);
    let moved = match returns_then {
        true => String::new(),
        false => format!("\n{indent}{}", place.source.text_of(returned)),
    };
    found.push(Edit {
        range: kept..place.node().end_byte(),
        replacement: closing + &moved,
        template: Template::Leave,
        similarity: 1.0,
    });
}

fn is_loop(kind: &str) -> bool {
    LOOPS.iter().any(|known| kind.starts_with(known))
}

fn last(block: Node<'_>) -> Option<Node<'_>> {
    let last = block.named_child(u32::try_from(block.named_child_count().checked_sub(1)?).ok()?)?;
    match last.kind() {
        "statement_list" => last.named_child(u32::try_from(last.named_child_count().checked_sub(1)?).ok()?),
        _ => Some(last),
    }
}

/// The expression in an expression statement, or the node.
fn inner(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "expression_statement" => node.named_child(0).unwrap_or(node),
        _ => node,
    }
}

/// The only statement of an `else`, if it returns.
fn only_return<'t>(place: &Site<'_, 't>, other: Node<'t>) -> Option<Node<'t>> {
    let mut node = other;
    for _ in 0..MAX_LEVELS {
        if inner(node).kind() == place.source.language.returns.0 {
            return (place.source.text_of(node).len() <= MAX_STATEMENT).then_some(node);
        }
        if node.named_child_count() != 1 {
            return None;
        }
        node = node.named_child(0)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn what_the_loop_returns_otherwise_is_returned_after_it() {
        offers(
            "a.py",
            "def f(a):\n    for b in a:\n        if b:\n            return True\n        else:\n            return False\n",
            &["def f(a):\n    for b in a:\n        if b:\n            return True\n    return False\n"],
        );
        offers(
            "a.js",
            "function f(a) {\n  for (const b of a) {\n    if (b) {\n      return true;\n    } else {\n      return false;\n    }\n  }\n}\n",
            &[
                "function f(a) {\n  for (const b of a) {\n    if (b) {\n      return true;\n    }\n  }\n  return false;\n}\n",
            ],
        );
        offers(
            "a.go",
            "package a\n\nfunc f(a []bool) bool {\n\tfor _, b := range a {\n\t\tif b {\n\t\t\treturn true\n\t\t} else {\n\t\t\treturn false\n\t\t}\n\t}\n\treturn true\n}\n",
            &[
                "package a\n\nfunc f(a []bool) bool {\n\tfor _, b := range a {\n\t\tif b {\n\t\t\treturn true\n\t\t}\n\t}\n\treturn true\n}\n",
            ],
        );
        offers(
            "a.rs",
            "fn f(a: &[bool]) -> bool {\n    for b in a {\n        if *b {\n            return true;\n        } else {\n            return false;\n        }\n    }\n    true\n}\n",
            &[
                "fn f(a: &[bool]) -> bool {\n    for b in a {\n        if *b {\n            return true;\n        }\n    }\n    return false;\n    true\n}\n",
            ],
        );
        for (path, text, lost) in [
            (
                "a.py",
                "def f(a):\n    for b in a:\n        if b:\n            return 1\n        else:\n            return 2\n    else:\n        raise Empty()\n",
                "return 1\n    return 2\n",
            ),
            (
                "a.js",
                "function f(a) {\n  do {\n    if (a()) {\n      return 1;\n    } else {\n      return 2;\n    }\n  } while (a());\n}\n",
                "}\n  return 2;",
            ),
        ] {
            offers_not(path, text, lost);
        }
        // What comes after the condition would be lost.
        offers_not(
            "a.py",
            "def f(a):\n    for b in a:\n        if b:\n            return 1\n        else:\n            return 2\n        c()\n",
            "return 1\n    return 2\n",
        );
    }
}
