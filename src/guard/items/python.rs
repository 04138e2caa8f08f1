//! Tests in Python: functions and methods that begin with `test`, as pytest and unittest collect them.
//! <https://docs.pytest.org/en/stable/explanation/goodpractices.html#test-discovery>

use tree_sitter::Node;

use super::{Collector, Mark, Position, Role, children};

/// How much of a condition is part of a place, in characters.
const MAX_HEAD: usize = 80;

impl<'t> Collector<'t> {
    pub(super) fn python(&mut self, container: Node<'t>, place: &Position) {
        for child in children(container) {
            match child.kind() {
                "decorated_definition" => {
                    let marks: Vec<Mark<'t>> = children(child)
                        .into_iter()
                        .filter(|node| node.kind() == "decorator")
                        .map(|node| self.mark(node))
                        .collect();
                    if let Some(definition) = child.child_by_field_name("definition") {
                        self.definition(definition, marks, place);
                    }
                }
                "function_definition" | "class_definition" => self.definition(child, Vec::new(), place),
                "if_statement" | "try_statement" | "with_statement" | "for_statement" | "while_statement"
                    if self.has_below(child, &["function_definition", "class_definition"]) =>
                {
                    self.conditional(child, "", place);
                }
                "if_statement" if self.field(child, "condition").contains("__name__") => {}
                _ => self.loose(child, place),
            }
        }
    }

    /// Definitions under a condition, which becomes part of their place. An `else` is told from others by what it
    /// belongs to.
    fn conditional(&mut self, node: Node<'t>, of: &str, place: &Position) {
        let mut head = String::new();
        for part in children(node) {
            match part.kind() {
                "block" => {
                    let mut inside = place.clone();
                    let whole = self.file.compact_without(node, &[part.byte_range()]);
                    head = whole
                        .split("{}")
                        .next()
                        .unwrap_or_default()
                        .chars()
                        .take(MAX_HEAD)
                        .collect();
                    let name = [head.as_str(), of].into_iter().filter(|part| !part.is_empty());
                    inside.names.push(name.collect::<Vec<_>>().join(" of "));
                    inside.depth += 1;
                    self.collect(part, &inside);
                }
                "elif_clause" | "else_clause" | "except_clause" | "finally_clause" => {
                    self.conditional(part, &head, place);
                }
                _ => {}
            }
        }
    }

    fn definition(&mut self, node: Node<'t>, marks: Vec<Mark<'t>>, place: &Position) {
        let name = self.field(node, "name");
        let body = node.child_by_field_name("body");
        if node.kind() == "class_definition" {
            let bases = self.field(node, "superclasses");
            let is_tests = place.in_tests || bases.contains("TestCase");
            let head: String = bases.chars().filter(|c| !c.is_whitespace()).collect();
            let head_is_empty = head.trim_matches(['(', ')']).is_empty();
            let marks = if is_tests { marks } else { Vec::new() };
            let mut inside = self.group((place.names.clone(), name.into()), node, marks, head);
            inside.in_tests = is_tests;
            inside.is_collected = name.starts_with("Test") || !head_is_empty;
            inside.depth = place.depth + 1;
            if let Some(body) = body {
                self.collect(body, &inside);
            }
            if !is_tests {
                self.items
                    .retain(|item| item.role != Role::Group || item.name != name || item.place != place.names);
            }
            return;
        }
        let is_test = name.starts_with("test") && place.is_collected && (place.in_tests || name.starts_with("test_"));
        if is_test {
            self.item((Role::Test, name), marks, (node, body), place);
        } else if place.in_tests {
            self.item((Role::Support, name), marks, (node, body), place);
        }
    }
}
