//! Finds branches that an edit kills: with it, no test enters them any more, although passing tests entered them before.
//! A condition that has become constantly false passes all tests whose results do not depend on it.
//!
//! A branch is probed by letting it fail as soon as it is entered. If the tests pass all the same, none enters it.

use std::ops::Range;

use greenlight_syntax::Language;

use super::candidates::Candidate;
use super::syntax::{Below, Source};

/// Maximum number of branches of one edit that are probed.
const MAX_PROBES: usize = 3;

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
        let field = |name: &str| node.child_by_field_name(name);
        let (Some(condition), Some(body)) = (field("condition"), field("consequence").or_else(|| field("body"))) else {
            return Below::Enter;
        };
        let is_edited = condition.start_byte() <= edit.start && edit.end <= condition.end_byte();
        if !is_edited || body.start_byte() < edit.end || found.len() >= MAX_PROBES {
            return Below::Enter;
        }
        if let Some((at, probe)) = probe(&source, body.byte_range()) {
            let line = u32::try_from(condition.start_position().row + 1).unwrap_or(u32::MAX);
            found.extend(branch(candidate, original, (at, &probe), line));
        }
        Below::Enter
    });
    found
}

/// The statement that fails, and where it is inserted: at the beginning of a block.
fn probe(source: &Source, body: Range<usize>) -> Option<(usize, String)> {
    const SAYS: &str = "greenlight: entered";
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
    fn other_edits_have_no_branches() {
        let original = "def f(a):\n    if a.sale:\n        return 1\n    return 2\n";
        check("a.py", original, ("return 1", "return 3"), &[]);
        check("a.py", original, ("return 2", "return 3"), &[]);
        check("a.txt", "if (a) b", ("a", "c"), &[]);
    }
}
