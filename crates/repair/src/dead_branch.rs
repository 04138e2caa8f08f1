//! Finds branches that an edit kills: with it, no test enters them any more, although passing tests entered them before.
//! A condition that has become constantly false passes all tests whose results do not depend on it.
//!
//! A branch is probed by letting it fail as soon as it is entered. If the tests pass all the same, none enters it.

use std::ops::Range;

use greenlight_syntax::Language;
use tree_sitter::Node;

use super::candidates::Candidate;
use super::syntax::{Below, Source};

/// Maximum number of branches of one edit that are probed.
const MAX_PROBES: usize = 3;
/// What a probed branch fails with.
const SAYS: &str = "greenlight: entered";

/// A branch behind an edited condition.
#[derive(Debug)]
pub(super) struct Branch {
    /// The line of the condition after the edit, from 1.
    pub(super) line: u32,
    /// The edit, with a branch that fails when it is entered.
    pub(super) after: Candidate,
    /// The original file with the same branch.
    pub(super) before: String,
}

/// The branches behind the conditions that a candidate edits.
pub(super) fn branches(candidate: &Candidate, original: &str) -> Vec<Branch> {
    let Some(source) = Source::parse(candidate.path.as_str(), candidate.text.clone()) else {
        return Vec::new();
    };
    let edit = candidate.range.start..candidate.range.start + candidate.replacement.len();
    let mut found = Vec::new();
    source.walk(|steps| {
        let Some(node) = steps.last().map(|step| step.node) else {
            return Below::Enter;
        };
        let Some(condition) = condition(node) else {
            return Below::Enter;
        };
        if condition.start_byte() > edit.start || edit.end > condition.end_byte() {
            return Below::Enter;
        }
        let line = u32::try_from(condition.start_position().row + 1).unwrap_or(u32::MAX);
        for body in bodies(node).filter(|body| body.start_byte() >= edit.end) {
            let probe = match is_expression(node) {
                true => probe_of_expression(&source, body),
                false => probe(&source, body.byte_range()),
            };
            if let Some((at, probe)) = probe.filter(|_| found.len() < MAX_PROBES) {
                found.extend(branch(candidate, original, (at, &probe), line));
            }
        }
        Below::Enter
    });
    found
}

/// `a if condition else b` in Python, and `condition ? a : b` elsewhere.
fn is_expression(node: Node<'_>) -> bool {
    matches!(node.kind(), "conditional_expression" | "ternary_expression")
}

fn condition(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "conditional_expression" => node.named_child(1),
        _ => node.child_by_field_name("condition"),
    }
}

/// What runs if the condition of a node holds, and what runs otherwise. Another condition behind `else` has branches of
/// its own.
fn bodies(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let field = |name: &str| node.child_by_field_name(name);
    let (then, otherwise) = match node.kind() {
        "conditional_expression" => (node.named_child(0), node.named_child(2)),
        "ternary_expression" => (field("consequence"), field("alternative")),
        _ => {
            let block = field("alternative").and_then(|alternative| match alternative.kind() {
                "else_clause" => alternative
                    .child_by_field_name("body")
                    .or_else(|| alternative.named_child(0)),
                _ => Some(alternative),
            });
            let block = block.filter(|block| matches!(block.kind(), "block" | "statement_block"));
            (field("consequence").or_else(|| field("body")), block)
        }
    };
    then.into_iter().chain(otherwise)
}

/// An operand that fails, and where it is inserted: before the expression.
fn probe_of_expression(source: &Source, expression: Node<'_>) -> Option<(usize, String)> {
    let fails = match source.language.syntax {
        // An operand of another conditional expression would only be evaluated if its condition holds.
        Language::Python if is_expression(expression) => return None,
        Language::Python => format!("(_ for _ in ()).throw(BaseException('{SAYS}')) or "),
        Language::JavaScript | Language::TypeScript => format!("(() => {{ throw new Error(\"{SAYS}\") }})() || "),
        _ => return None,
    };
    Some((expression.start_byte(), fails))
}

/// The statement that fails, and where it is inserted: at the beginning of a block.
fn probe(source: &Source, body: Range<usize>) -> Option<(usize, String)> {
    let text = source.text.get(body.clone())?;
    let language = source.language.syntax;
    if language == Language::Python {
        let raises = format!("raise BaseException('{SAYS}')");
        let line = source.text[..body.start].rfind('\n').map_or(0, |at| at + 1);
        let indent = &source.text[line..body.start];
        return Some(match indent.trim().is_empty() {
            true => (body.start, format!("{raises}\n{indent}")),
            false => (body.start, format!("{raises}; ")),
        });
    }
    let fails = match language {
        Language::Rust => format!("if ::std::hint::black_box(true) {{ panic!(\"{SAYS}\") }}"),
        Language::Go => format!("panic(\"{SAYS}\");"),
        _ => format!("if (true) throw new Error(\"{SAYS}\");"),
    };
    // A single statement without braces becomes the other half.
    Some(match text.starts_with('{') {
        true => (body.start + 1, format!(" {fails}")),
        false => (body.start, format!("{fails} else ")),
    })
}

fn branch(candidate: &Candidate, original: &str, (at, probe): (usize, &str), line: u32) -> Option<Branch> {
    let start = candidate.range.start;
    // The same place in the original, behind the edit.
    let place = at.checked_sub(candidate.replacement.len())? + candidate.range.len();
    let insert = |text: &str, at: usize| Some(format!("{}{probe}{}", text.get(..at)?, text.get(at..)?));
    let after = Candidate {
        text: insert(&candidate.text, at)?,
        range: start..place,
        replacement: format!("{}{probe}", candidate.text.get(start..at)?),
        ..candidate.clone()
    };
    let before = insert(original, place)?;
    Some(Branch { line, after, before })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    /// The candidate that replaces this text, and the original.
    fn candidate(path: &str, original: &str, old: &str, new: &str) -> Candidate {
        let start = original.find(old).unwrap();
        Candidate {
            path: path.parse().unwrap(),
            text: original.replacen(old, new, 1),
            range: start..start + old.len(),
            replacement: new.into(),
            template: Template::Comparison,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: old.into(),
            after: new.into(),
            others: Vec::new(),
        }
    }

    #[track_caller]
    fn check(path: &str, original: &str, (old, new): (&str, &str), expected: &[&str]) {
        let candidate = candidate(path, original, old, new);
        let found = branches(&candidate, original);
        let after: Vec<&str> = found.iter().map(|branch| branch.after.text.as_str()).collect();
        assert_eq!(after, expected);
        for branch in found {
            let Candidate {
                range,
                replacement,
                text,
                ..
            } = branch.after;
            let spliced = format!("{}{replacement}{}", &original[..range.start], &original[range.end..]);
            assert_eq!(spliced, text, "the range and the text are the same edit");
            assert_eq!(branch.before, text.replacen(new, old, 1));
        }
    }

    #[test]
    fn the_branch_behind_an_edited_condition_is_probed() {
        check(
            "a.py",
            "def f(a):\n    if a.sale:\n        return 1\n    return 2\n",
            ("sale", "sails"),
            &[
                "def f(a):\n    if a.sails:\n        raise BaseException('greenlight: entered')\n        return 1\n    return 2\n",
            ],
        );
        check(
            "a.py",
            "def f(a):\n    while a.more: a = a.next\n    return a\n",
            ("more", "moor"),
            &["def f(a):\n    while a.moor: raise BaseException('greenlight: entered'); a = a.next\n    return a\n"],
        );
        check(
            "a.js",
            "function f(a) {\n  if (a.sale) return 1; else return 2;\n}\n",
            ("sale", "sails"),
            &[
                "function f(a) {\n  if (a.sails) if (true) throw new Error(\"greenlight: entered\"); else return 1; else return 2;\n}\n",
            ],
        );
        check(
            "a.rs",
            "fn f(a: i32) -> i32 {\n    if a > 1 { 1 } else { 2 }\n}\n",
            ("> 1", "> 900"),
            &[
                "fn f(a: i32) -> i32 {\n    if a > 900 { if ::std::hint::black_box(true) { panic!(\"greenlight: entered\") } 1 } else { 2 }\n}\n",
                "fn f(a: i32) -> i32 {\n    if a > 900 { 1 } else { if ::std::hint::black_box(true) { panic!(\"greenlight: entered\") } 2 }\n}\n",
            ],
        );
        check(
            "a.go",
            "package a\n\nfunc f(a int) int {\n\tif a > 1 {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
            ("> 1", "> 9"),
            &[
                "package a\n\nfunc f(a int) int {\n\tif a > 9 { panic(\"greenlight: entered\");\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
            ],
        );
    }

    #[test]
    fn the_other_branch_is_probed_too() {
        check(
            "a.py",
            "def f(a):\n    return None if a is None else str(a) if a == '' else kind(a)(a)\n",
            ("a == ''", "a != ''"),
            &[
                "def f(a):\n    return None if a is None else str(a) if a != '' else (_ for _ in ()).throw(BaseException('greenlight: entered')) or kind(a)(a)\n",
            ],
        );
        check(
            "a.js",
            "const f = (a) => (a > 1 ? a : 2);\n",
            ("> 1", "> 9"),
            &[
                "const f = (a) => (a > 9 ? (() => { throw new Error(\"greenlight: entered\") })() || a : 2);\n",
                "const f = (a) => (a > 9 ? a : (() => { throw new Error(\"greenlight: entered\") })() || 2);\n",
            ],
        );
        check(
            "a.py",
            "def f(a):\n    if a > 1:\n        b = 1\n    else:\n        b = 2\n    return b\n",
            ("> 1", "> 9"),
            &[
                "def f(a):\n    if a > 9:\n        raise BaseException('greenlight: entered')\n        b = 1\n    else:\n        b = 2\n    return b\n",
                "def f(a):\n    if a > 9:\n        b = 1\n    else:\n        raise BaseException('greenlight: entered')\n        b = 2\n    return b\n",
            ],
        );
    }

    #[test]
    fn other_edits_have_no_branches() {
        let original = "def f(a):\n    if a.sale:\n        return 1\n    return 2\n";
        check("a.py", original, ("return 1", "return 3"), &[]);
        check("a.py", original, ("return 2", "return 3"), &[]);
        check("a.txt", "if (a) b", ("a", "c"), &[]);
    }
}
