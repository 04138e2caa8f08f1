//! Cyclomatic complexity and length of every function.
//!
//! This is McCabe's complexity: one plus the number of decisions, where each operand of a condition is a decision.
//! T. J. McCabe, A Complexity Measure, IEEE Transactions on Software Engineering SE-2 (4), 1976,
//! <https://doi.org/10.1109/TSE.1976.233837>

use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use crate::domain::id::RepoPath;

/// One function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// Prefixed with its file: `fare.py: change`.
    pub(super) name: String,
    pub(super) complexity: u32,
    pub(super) lines: u32,
}

/// Every function of a file. A decision counts for the innermost function around it; decisions outside of functions
/// do not count.
pub(super) fn functions(path: &RepoPath, file: &Parsed<'_>) -> Vec<Function> {
    let mut found: Vec<(std::ops::Range<usize>, Function)> = Vec::new();
    // The functions around the current node, innermost last.
    let mut open: Vec<usize> = Vec::new();
    file.visit(file.tree.root_node(), |node| {
        while open.last().is_some_and(|at| found[*at].0.end <= node.start_byte()) {
            open.pop();
        }
        if is_function(file.language, node.kind()) {
            let lines = node.end_position().row - node.start_position().row + 1;
            open.push(found.len());
            found.push((
                node.byte_range(),
                Function {
                    name: format!("{path}: {}", name(file, node)),
                    complexity: 1,
                    lines: u32::try_from(lines).unwrap_or(u32::MAX),
                },
            ));
        } else if let Some(at) = open.last() {
            found[*at].1.complexity += decisions(file, node);
        }
        Below::Enter
    });
    found.into_iter().map(|(_, function)| function).collect()
}

fn is_function(language: Language, kind: &str) -> bool {
    match language {
        Language::Python => kind == "function_definition",
        Language::JavaScript | Language::TypeScript | Language::Tsx => matches!(
            kind,
            "function_declaration"
                | "function_expression"
                | "arrow_function"
                | "method_definition"
                | "generator_function"
                | "generator_function_declaration"
        ),
        Language::Rust => kind == "function_item",
        Language::Go => matches!(kind, "function_declaration" | "method_declaration"),
        Language::Java => matches!(kind, "method_declaration" | "constructor_declaration"),
    }
}

/// The function's name. An anonymous function is named after the variable it is assigned to.
fn name(file: &Parsed<'_>, node: Node<'_>) -> String {
    let named = |node: Node<'_>| node.child_by_field_name("name").map(|name| file.raw(name).to_string());
    let given_to = || node.parent().and_then(named);
    named(node)
        .or_else(given_to)
        .unwrap_or_else(|| format!("line {}", Parsed::line(node)))
}

/// How many decisions a node adds.
fn decisions(file: &Parsed<'_>, node: Node<'_>) -> u32 {
    let kind = node.kind();
    let parent = || node.parent().map_or("", |parent| parent.kind());
    let is_decision = match file.language {
        Language::Python => match kind {
            "if_statement"
            | "elif_clause"
            | "for_statement"
            | "while_statement"
            | "except_clause"
            | "conditional_expression"
            | "boolean_operator"
            | "if_clause"
            | "for_in_clause" => true,
            "case_clause" => !file.raw(node).trim_start_matches("case").trim_start().starts_with("_:"),
            _ => false,
        },
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            matches!(
                kind,
                "if_statement"
                    | "for_statement"
                    | "for_in_statement"
                    | "while_statement"
                    | "do_statement"
                    | "switch_case"
                    | "catch_clause"
                    | "ternary_expression"
            ) || (matches!(kind, "&&" | "||" | "??") && parent() == "binary_expression")
        }
        Language::Rust => match kind {
            "if_expression" | "while_expression" | "for_expression" => true,
            // The first arm of a `match` is not a decision.
            "match_arm" => node
                .prev_named_sibling()
                .is_some_and(|other| other.kind() == "match_arm"),
            "&&" | "||" => matches!(parent(), "binary_expression" | "let_chain"),
            _ => false,
        },
        Language::Go => {
            matches!(
                kind,
                "if_statement" | "for_statement" | "expression_case" | "type_case" | "communication_case"
            ) || (matches!(kind, "&&" | "||") && parent() == "binary_expression")
        }
        Language::Java => {
            matches!(
                kind,
                "if_statement"
                    | "for_statement"
                    | "enhanced_for_statement"
                    | "while_statement"
                    | "do_statement"
                    | "catch_clause"
                    | "ternary_expression"
            ) || (kind == "switch_label" && !file.raw(node).starts_with("default"))
                || (matches!(kind, "&&" | "||") && parent() == "binary_expression")
        }
    };
    u32::from(is_decision)
}
