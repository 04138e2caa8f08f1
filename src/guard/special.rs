//! Detects code under test that recognises that it is being tested, or recognises the inputs of tests. Only what a
//! patch adds is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use greenlight_syntax::{Below, Parsed, is_string};
use regex::Regex;
use tree_sitter::Node;

use super::item_report::ItemReport;
use super::items::{self, Role};
use super::{Inputs, body, statements};
use crate::domain::id::RepoPath;
use crate::domain::weakening::{Weakening, WeakeningKind};

/// The maximum number of literals of tests that are kept.
const MAX_LITERALS: usize = 5_000;

static DETECTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) PYTEST_CURRENT_TEST | PYTEST_VERSION | PYTEST_XDIST | JEST_WORKER_ID | \bprocess\.env\.VITEST | "VITEST" | import\.meta\.vitest | NEXTEST
        | sys\.modules(\.get\(|\[)"_?(pytest|unittest|nose)
        | NODE_ENV"?\]?\)?[!=]==?"test" | "test"[!=]==?process\.env\.NODE_ENV
        | cfg!\((not\()?test\) | \#!?\[cfg\(not\(test\) | cfg_attr\(test | testing\.Testing\(\) | Lookup\("test\. | os\.Args\[0\]
        | macro_rules!\ ?(debug_)?assert | builtins\.\w+=[^=] | (global|globalThis|window)\.(expect|assert|it|test|describe)=[^=]
        | TestCase\.\w+=[^=] | os\._exit\(0 | inspect\.(stack|currentframe|getouterframes) | sys\._getframe | traceback\.(extract_stack|format_stack) | runtime\.Callers?\(
        | getStackTrace\(\) | Error\(\)\.stack | Backtrace::(force_)?capture | captureStackTrace | StackWalker
        | "(pytest|unittest|_pytest|jest|vitest|mocha|junit)"\ ?(in|not\ in)\b | sys\.argv\[0\] | import\ (pytest|unittest)\b | from\ (pytest|unittest)\b"#,
    )
    .ok()
});

/// Methods through which code can decide equality and truth itself.
const ANSWERS: [&str; 14] = [
    "__eq__",
    "__ne__",
    "__bool__",
    "__contains__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__instancecheck__",
    "__subclasscheck__",
    "equals",
    "eq",
    "ne",
    "Equal",
];

/// Compares both versions of code under test.
pub(super) fn compare(
    path: &RepoPath,
    (old, new): (Option<&Parsed<'_>>, &Parsed<'_>),
    inputs: &Inputs,
    found: &mut Vec<Weakening>,
) {
    let mut report = ItemReport {
        path,
        test: String::new(),
        found,
    };
    let has_tests = !super::parts::test_ranges(new).is_empty();
    let before = old.map(recognised).unwrap_or_default();
    let after = recognised(new);
    for (text, (count, line)) in &after.detections {
        // Tests in folders with unusual names import their test framework.
        if has_tests && (text.starts_with("import ") || text.starts_with("from ")) {
            continue;
        }
        if before.detections.get(text).map_or(0, |(count, _)| *count) < *count {
            let quoted = body::quoted(text);
            report.say(
                WeakeningKind::DetectsTests,
                *line,
                format!("{quoted} lets the code detect that it is being tested, or changes how it is tested"),
            );
        }
    }
    // A `__bool__` that was constant before compares nothing, even if it now returns the other constant.
    let of_truth = |text: &str| {
        text.split_once(": ")
            .map(|(method, _)| method.to_string())
            .filter(|it| it.ends_with("__bool__"))
    };
    for (text, line) in &after.answers {
        let is_known = |other: &String| other == text || of_truth(other).is_some_and(|it| Some(it) == of_truth(text));
        if !before.answers.iter().any(|(other, _)| is_known(other)) {
            report.say(
                WeakeningKind::SpecialCased,
                *line,
                format!("{} gives the same answer for every comparison", body::quoted(text)),
            );
        }
    }
    let on_base = inputs.on_base.get(path).into_iter().flatten().map(String::as_str);
    let known: BTreeSet<&str> = before
        .branches
        .iter()
        .map(|branch| branch.text.as_str())
        .chain(on_base)
        .collect();
    for branch in after
        .branches
        .iter()
        .filter(|branch| !known.contains(branch.text.as_str()))
    {
        let of_tests = |literals: &[String]| {
            let known: BTreeSet<&String> = literals
                .iter()
                .filter(|literal| inputs.literals.contains(*literal))
                .collect();
            known.into_iter().filter(|literal| !is_common(literal)).count()
        };
        let (asked, given) = (
            of_tests(&branch.asked),
            branch.given.iter().any(|given| inputs.literals.contains(given)),
        );
        if asked >= 2 || (asked == 1 && given) || is_disguised(branch, inputs) {
            let quoted = body::quoted(&branch.text);
            report.say(
                WeakeningKind::SpecialCased,
                branch.line,
                format!("{quoted} recognises a value that a test passes in"),
            );
        }
    }
}

/// The branches of a file, as text.
pub(super) fn branches(file: &Parsed<'_>) -> impl Iterator<Item = String> + use<> {
    recognised(file).branches.into_iter().map(|branch| branch.text)
}

/// Functions that distinguish inputs without naming them.
static OBSCURES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)hash|md5|sha1|sha2|sha512|crc32|adler|digest|checksum|\blen\(|\.length\b|\.len\(\)|\.size\(\)|\bord\(|charCodeAt|\.encode\(|btoa|b64|\[::-1\]",
    )
    .ok()
});

/// Whether the code returns a value that a test expects if a hash or the length of the input has a certain value.
fn is_disguised(branch: &Branch, inputs: &Inputs) -> bool {
    let is_answer = |given: &String| inputs.literals.contains(given) && !is_common(given);
    branch.given.as_ref().is_some_and(is_answer)
        && OBSCURES.as_ref().is_some_and(|pattern| pattern.is_match(&branch.text))
}

/// The suspicious code in one version.
#[derive(Default)]
struct Recognised {
    detections: BTreeMap<String, (usize, usize)>,
    answers: Vec<(String, usize)>,
    branches: Vec<Branch>,
}

/// A condition, the literals that it compares with, and the literal that it returns.
struct Branch {
    text: String,
    line: usize,
    asked: Vec<String>,
    given: Option<String>,
}

fn recognised(file: &Parsed<'_>) -> Recognised {
    let mut recognised = Recognised::default();
    let tests = super::parts::test_ranges(file);
    file.visit(file.tree.root_node(), |node| {
        let range = node.byte_range();
        if tests
            .iter()
            .any(|test| test.start <= range.start && range.end <= test.end)
        {
            return Below::Skip;
        }
        // Each statement is searched separately, so that a finding has a line and is reported once.
        let is_small = node.kind().contains("statement")
            || node.kind().ends_with("_item")
            || node.kind().ends_with("declaration")
            || node.kind() == "let_declaration";
        if is_small && !has_block(node) || matches!(node.kind(), "attribute_item" | "macro_definition") {
            detections(file, node, &mut recognised);
        } else if matches!(
            node.kind(),
            "condition"
                | "comparison_operator"
                | "binary_expression"
                | "call_expression"
                | "call"
                | "macro_invocation"
                | "parenthesized_expression"
        ) {
            let is_part = node.parent().is_some_and(|parent| {
                parent.kind().contains("statement") && has_block(parent)
                    || parent.kind() == "if_expression"
                    || parent.kind() == "elif_clause"
            });
            if is_part {
                detections(file, node, &mut recognised);
            }
        }
        if let Some(branch) = branch(file, node) {
            recognised.branches.push(branch);
        }
        answers(file, node, &mut recognised);
        Below::Enter
    });
    recognised
}

fn has_block(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).any(|child| {
        matches!(
            child.kind(),
            "block"
                | "statement_block"
                | "class_body"
                | "declaration_list"
                | "switch_body"
                | "switch_block"
                | "match_block"
        )
    }) || node.child_by_field_name("body").is_some()
        || node.child_by_field_name("consequence").is_some()
}

fn detections(file: &Parsed<'_>, node: Node<'_>, recognised: &mut Recognised) {
    let Some(pattern) = DETECTS.as_ref() else { return };
    let text = file.compact(node);
    for found in pattern.find_iter(&text) {
        let entry = recognised
            .detections
            .entry(found.as_str().into())
            .or_insert((0, Parsed::line(node)));
        *entry = (entry.0 + 1, Parsed::line(node));
    }
}

fn answers(file: &Parsed<'_>, node: Node<'_>, recognised: &mut Recognised) {
    let name = node.child_by_field_name("name").map_or("", |name| file.raw(name));
    let body = node.child_by_field_name("body").filter(|_| ANSWERS.contains(&name));
    let Some(body) = body else { return };
    let compact = file.compact(body);
    let bare = compact.trim_matches(['{', '}']);
    if matches!(
        bare,
        "return True" | "return true" | "true" | "return False" | "return false" | "false"
    ) {
        let class = node.parent().and_then(|parent| parent.parent());
        let class = class.and_then(|class| {
            class
                .child_by_field_name("name")
                .or_else(|| class.child_by_field_name("type"))
        });
        let class = class.map_or("", |class| file.raw(class));
        recognised
            .answers
            .push((format!("{class}.{name}: {bare}"), Parsed::line(node)));
    }
}

/// A node that selects by comparing with literals.
fn branch(file: &Parsed<'_>, node: Node<'_>) -> Option<Branch> {
    let (condition, given) = match node.kind() {
        "if_statement" | "elif_clause" | "if_expression" | "while_statement" | "ternary_expression" => (
            node.child_by_field_name("condition")?,
            node.child_by_field_name("consequence")
                .or_else(|| node.child_by_field_name("body")),
        ),
        // `200 if paid == 500 else …`
        "conditional_expression" => (node.named_child(1)?, node.named_child(0)),
        "match_arm" => (node.child_by_field_name("pattern")?, node.child_by_field_name("value")),
        "case_clause" | "switch_case" | "expression_case" | "switch_block_statement_group" | "switch_rule" => {
            (node.named_child(0)?, node.named_child(1))
        }
        // A table that maps inputs to results.
        "pair" | "keyed_element" => (node.named_child(0)?, node.named_child(1)),
        "boolean_operator" | "binary_expression" | "comparison_operator" => (node, None),
        _ => return None,
    };
    let text = file.compact(condition);
    let is_choice = !matches!(
        node.kind(),
        "if_statement"
            | "elif_clause"
            | "if_expression"
            | "while_statement"
            | "ternary_expression"
            | "conditional_expression"
            | "boolean_operator"
            | "binary_expression"
            | "comparison_operator"
    );
    let compares = is_choice
        || ["==", "!=", " in ", ".equals(", " is ", "matches!(", "includes("]
            .iter()
            .any(|word| text.contains(word));
    if !compares {
        return None;
    }
    let asked = literals_in(file, condition);
    let given = given.and_then(|given| {
        let compact = file.compact(given);
        let bare = compact.trim_matches(['{', '}', '(', ')']);
        let bare = bare.rsplit_once(['=', ':']).map_or(bare, |(_, value)| value);
        let literals = literals_in(file, given);
        let [only] = literals.as_slice() else { return None };
        let shown = bare
            .trim_start_matches("return")
            .trim()
            .trim_matches(['"', '\'', '`', '-']);
        (shown == only.trim_start_matches('"')
            || shown.trim_start_matches("break").trim() == only.trim_start_matches('"'))
        .then(|| only.clone())
    });
    (!asked.is_empty()).then_some(Branch {
        text: format!(
            "{text}{}",
            given.as_ref().map_or_else(String::new, |given| format!(" → {given}"))
        ),
        line: Parsed::line(node),
        asked,
        given,
    })
}

/// The numbers and strings in a node; strings begin with a quote.
fn literals_in(file: &Parsed<'_>, node: Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    file.visit(node, |node| {
        if is_string(node) {
            let raw = file.raw(node).trim_start_matches(['r', 'b', 'f', 'u', '#']);
            found.push(format!("\"{}", raw.trim_matches(['"', '\'', '`', '#'])));
            return Below::Skip;
        }
        let is_number = matches!(
            node.kind(),
            "integer"
                | "float"
                | "number"
                | "integer_literal"
                | "float_literal"
                | "int_literal"
                | "decimal_integer_literal"
                | "decimal_floating_point_literal"
                | "hex_integer_literal"
        );
        if is_number {
            found.push(file.raw(node).replace('_', ""));
        }
        Below::Enter
    });
    found
}

/// Literals that any code may compare with.
fn is_common(literal: &str) -> bool {
    matches!(
        literal,
        "0" | "1" | "2" | "10" | "0.0" | "1.0" | "\"" | "\" " | "\"\\n" | "\"/" | "\"." | "\"," | "\"-" | "\":"
    )
}

/// Adds the values that these tests pass in or expect, or those of all tests in the file if there are no names.
pub(super) fn note(file: &Parsed<'_>, whole: bool, names: &[&str], inputs: &mut Inputs) {
    let items = items::of(file, whole);
    let is_meant = |name: &str| {
        names.is_empty()
            || names.iter().any(|full| {
                full.rsplit([':', '.', '/', ' ', '>']).next() == Some(name)
                    || full.ends_with(name)
                    || full.contains(&format!("{name}["))
            })
    };
    for item in items
        .iter()
        .filter(|item| item.role == Role::Test && is_meant(&item.name))
    {
        let marks = item.marks.iter().map(|mark| mark.node);
        let nodes = item
            .body
            .iter()
            .filter(|part| part.part != statements::StatementPart::Close)
            .map(|part| part.node);
        for node in marks.chain(nodes) {
            let found = literals_in(file, node);
            let room = MAX_LITERALS.saturating_sub(inputs.literals.len());
            inputs.literals.extend(found.into_iter().take(room));
        }
    }
}
