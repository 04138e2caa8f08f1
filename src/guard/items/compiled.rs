//! Tests in Rust (by attributes), Go (by names) and Java (by annotations).

use greenlight_syntax::test_item::{is_test_attribute, is_test_item, marks_a_test};
use tree_sitter::Node;

use super::{Collector, Mark, Position, Role, children};

impl<'t> Collector<'t> {
    pub(super) fn rust(&mut self, container: Node<'t>, place: &Position) {
        let mut marks: Vec<Mark<'t>> = Vec::new();
        for child in children(container) {
            let kind = child.kind();
            match kind {
                "attribute_item" => {
                    marks.push(self.mark(child));
                    continue;
                }
                "inner_attribute_item" => {
                    let text = self.file.compact(child);
                    if place.in_tests || text.contains("cfg(") {
                        self.items[place.group].marks.push(Mark { text, node: child });
                    }
                    continue;
                }
                _ => {}
            }
            let marks = std::mem::take(&mut marks);
            let has_test = marks.iter().any(|mark| marks_a_test(&mark.text));
            let name = self.field(child, "name");
            let body = child.child_by_field_name("body");
            match kind {
                "function_item" => {
                    let is_test = marks.iter().any(|mark| is_test_attribute(&mark.text));
                    let role = if is_test { Role::Test } else { Role::Support };
                    if is_test || has_test || place.in_tests {
                        self.item((role, name), marks, (child, body), place);
                    }
                }
                "mod_item" | "impl_item" | "trait_item" if body.is_some() => {
                    let is_tests = place.in_tests || is_test_item(child, self.file.text);
                    let name = if name.is_empty() {
                        self.field(child, "type")
                    } else {
                        name
                    };
                    let mut inside = place.clone();
                    if is_tests {
                        inside = self.group((place.names.clone(), name.into()), child, marks, String::new());
                    } else {
                        inside.names.push(name.into());
                    }
                    inside.depth = place.depth + 1;
                    if let Some(body) = body {
                        self.collect(body, &inside);
                    }
                }
                "macro_invocation" | "expression_statement"
                    if ["proptest!", "quickcheck!"]
                        .iter()
                        .any(|name| self.file.raw(child).starts_with(name)) =>
                {
                    self.item((Role::Test, "proptest"), marks, (child, Some(child)), place);
                }
                _ if place.in_tests || has_test => {
                    let inside = Position {
                        in_tests: true,
                        ..place.clone()
                    };
                    for mark in marks.iter().filter(|mark| says_something(&mark.text)) {
                        self.loose(mark.node, &inside);
                    }
                    self.loose(child, &inside);
                }
                _ => {}
            }
        }
    }

    pub(super) fn go(&mut self, container: Node<'t>, place: &Position) {
        for child in children(container) {
            match child.kind() {
                "package_clause" => {}
                "function_declaration" | "method_declaration" => {
                    let name = self.field(child, "name");
                    let is_test = ["Test", "Fuzz", "Example", "Benchmark"].iter().any(|start| {
                        name.strip_prefix(start)
                            .is_some_and(|rest| !rest.starts_with(char::is_lowercase))
                    }) && name != "TestMain";
                    let role = if is_test { Role::Test } else { Role::Support };
                    let mut at = place.clone();
                    let receiver = self.field(child, "receiver");
                    if !receiver.is_empty() {
                        let kind = receiver.rsplit([' ', '*']).next().unwrap_or_default();
                        at.names.push(kind.trim_matches(['(', ')']).into());
                    }
                    if place.in_tests {
                        self.item(
                            (role, name),
                            Vec::new(),
                            (child, child.child_by_field_name("body")),
                            &at,
                        );
                    }
                }
                _ => self.loose(child, place),
            }
        }
        // Build constraints are comments, and decide whether the file is compiled.
        if place.depth == 0 && place.in_tests {
            let root = self.file.tree.root_node();
            let mut cursor = root.walk();
            let comments = root.children(&mut cursor).filter(|node| node.kind() == "comment");
            for node in comments {
                let text = self.file.raw(node);
                if text.starts_with("//go:build") || text.starts_with("// +build") {
                    let text = format!("cfg({text})");
                    self.items[place.group].marks.push(Mark { text, node });
                }
            }
        }
    }

    pub(super) fn java(&mut self, container: Node<'t>, place: &Position) {
        for child in children(container) {
            let name = self.field(child, "name");
            let body = child.child_by_field_name("body");
            let marks: Vec<Mark<'t>> = children(child)
                .into_iter()
                .filter(|node| node.kind() == "modifiers")
                .flat_map(children)
                .filter(|node| node.kind().ends_with("annotation"))
                .map(|node| self.mark(node))
                .collect();
            match child.kind() {
                "package_declaration" => {}
                "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
                    let head = self.field(child, "superclass").to_string();
                    let mut inside = self.group((place.names.clone(), name.into()), child, marks, head);
                    inside.in_tests = place.in_tests;
                    inside.depth = place.depth + 1;
                    if let Some(body) = body {
                        self.collect(body, &inside);
                    }
                }
                "method_declaration" | "constructor_declaration" if place.in_tests => {
                    let is_test = name.starts_with("test")
                        || marks.iter().any(|mark| {
                            let mark = mark.text.trim_start_matches('@');
                            let mark = mark.split('(').next().unwrap_or(mark);
                            matches!(
                                mark.rsplit('.').next().unwrap_or(mark),
                                "Test"
                                    | "ParameterizedTest"
                                    | "RepeatedTest"
                                    | "TestFactory"
                                    | "TestTemplate"
                                    | "Property"
                            )
                        });
                    let role = if is_test { Role::Test } else { Role::Support };
                    self.item((role, name), marks, (child, body), place);
                }
                _ => self.loose(child, place),
            }
        }
    }
}

/// Whether an attribute matters to more than linters. That of test code is known.
fn says_something(attribute: &str) -> bool {
    attribute != "#[cfg(test)]" && !attribute.starts_with("#[allow(") && !attribute.starts_with("#[expect(")
}
