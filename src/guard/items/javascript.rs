//! Tests in JavaScript and TypeScript: calls of `it`, `test` and similar functions, in blocks of `describe`.

use tree_sitter::Node;

use super::{Collector, Mark, Position, Role, children};

const TESTS: [&str; 8] = ["it", "test", "specify", "fit", "xit", "xtest", "xspecify", "bench"];
const SUITES: [&str; 7] = [
    "describe",
    "context",
    "suite",
    "xdescribe",
    "fdescribe",
    "xcontext",
    "fcontext",
];

/// Properties and functions of a test framework that are not tests.
const HOOKS: [&str; 8] = [
    "beforeEach",
    "afterEach",
    "beforeAll",
    "afterAll",
    "before",
    "after",
    "use",
    "setTimeout",
];

/// A call that defines a test or a block of them.
struct Definition<'t> {
    role: Role,
    name: String,
    marks: Vec<Mark<'t>>,
    call: Node<'t>,
    body: Option<Node<'t>>,
}

impl<'t> Collector<'t> {
    pub(super) fn javascript(&mut self, container: Node<'t>, place: &Position) {
        for child in children(container) {
            match child.kind() {
                "expression_statement" => match child.named_child(0).and_then(|call| self.call(call)) {
                    Some(definition) => self.defined(definition, place),
                    None if self.has_tests(child) => self.under(child, place),
                    None => self.loose(child, place),
                },
                "function_declaration" | "generator_function_declaration" | "class_declaration" if place.in_tests => {
                    let body = child.child_by_field_name("body");
                    let name = self.field(child, "name");
                    self.item((Role::Support, name), Vec::new(), (child, body), place);
                }
                "lexical_declaration" | "variable_declaration" if place.in_tests => self.variable(child, place),
                "if_statement" | "for_in_statement" | "for_statement" | "try_statement" | "statement_block"
                    if self.has_tests(child) =>
                {
                    self.under(child, place);
                }
                _ => self.loose(child, place),
            }
        }
    }

    /// `const helper = (x) => …` is a helper; any other variable is a loose statement.
    fn variable(&mut self, node: Node<'t>, place: &Position) {
        let declared = children(node);
        if let [only] = declared[..]
            && let Some(value) = only.child_by_field_name("value")
            && matches!(value.kind(), "arrow_function" | "function_expression")
        {
            let body = value.child_by_field_name("body");
            let name = self.field(only, "name");
            self.item((Role::Support, name), Vec::new(), (node, body), place);
        } else {
            self.loose(node, place);
        }
    }

    fn defined(&mut self, definition: Definition<'t>, place: &Position) {
        let Definition {
            role,
            name,
            marks,
            call,
            body,
        } = definition;
        if role == Role::Group {
            let inside = self.group((place.names.clone(), name), call, marks, String::new());
            if let Some(body) = body {
                self.collect(body, &inside);
            }
            return;
        }
        self.item((Role::Test, &name), marks, (call, body), place);
        if let Some(item) = self.items.last_mut() {
            item.head = String::new();
        }
    }

    /// Tests defined in a loop or under a condition, which becomes part of their place.
    fn under(&mut self, node: Node<'t>, place: &Position) {
        let mut blocks = Vec::new();
        self.file.visit(node, |below| {
            if below != node && below.kind() == "statement_block" {
                blocks.push(below);
                return super::Below::Skip;
            }
            super::Below::Enter
        });
        let ranges: Vec<_> = blocks.iter().map(Node::byte_range).collect();
        let mut inside = place.clone();
        let head = self.file.compact_without(node, &ranges);
        // The place stays the same if the list of cases grows.
        inside.names.push(
            head.split(['[', '{'])
                .next()
                .unwrap_or_default()
                .chars()
                .take(80)
                .collect(),
        );
        inside.depth += 1;
        for block in blocks {
            self.collect(block, &inside);
        }
        if place.in_tests && head.contains('[') {
            let found = super::statements::one(self.file, node).into_iter().take(1);
            self.items[place.group].body.extend(found);
        }
    }

    fn has_tests(&self, node: Node<'t>) -> bool {
        let mut found = false;
        self.file.visit(node, |below| {
            found = found || (below.kind() == "call_expression" && self.call(below).is_some());
            if found { super::Below::Skip } else { super::Below::Enter }
        });
        found
    }

    fn call(&self, call: Node<'t>) -> Option<Definition<'t>> {
        let call = if call.kind() == "await_expression" {
            call.named_child(0)?
        } else {
            call
        };
        if call.kind() != "call_expression" {
            return None;
        }
        let arguments = call
            .child_by_field_name("arguments")
            .filter(|node| node.kind() == "arguments")?;
        let given = children(arguments);
        let (mut marks, mut callee) = (Vec::new(), call.child_by_field_name("function")?);
        let root = loop {
            match callee.kind() {
                "identifier" => break self.file.raw(callee),
                "member_expression" => {
                    marks.push(self.mark(callee.child_by_field_name("property")?));
                    callee = callee.child_by_field_name("object")?;
                }
                // `it.each(table)("adds", …)`, also with a template literal as table.
                "call_expression" => {
                    marks.push(self.mark(callee.child_by_field_name("arguments")?));
                    callee = callee.child_by_field_name("function")?;
                }
                _ => return None,
            }
        };
        let (is_test, is_suite) = (TESTS.contains(&root), SUITES.contains(&root));
        if !is_test && !is_suite {
            return None;
        }
        let has_hook = marks.iter().any(|mark| HOOKS.contains(&mark.text.as_str()));
        let first = given.first()?;
        if has_hook || given.len() > 3 {
            return None;
        }
        let short = match root.as_bytes().first() {
            Some(b'x') => Some("skip"),
            Some(b'f') => Some("only"),
            _ => None,
        };
        marks.extend(short.map(|text| Mark {
            text: text.into(),
            node: callee,
        }));
        let body = given.iter().find_map(|given| match given.kind() {
            "arrow_function" | "function_expression" | "generator_function" => given.child_by_field_name("body"),
            _ => None,
        });
        // Options and time limits beside the function.
        let others = given
            .iter()
            .skip(1)
            .filter(|given| !matches!(given.kind(), "arrow_function" | "function_expression"));
        marks.extend(others.map(|given| {
            let mut mark = self.mark(*given);
            mark.text = format!("timeout {}", mark.text);
            mark
        }));
        let is_suite = is_suite || marks.iter().any(|mark| mark.text == "describe" || mark.text == "suite");
        Some(Definition {
            role: if is_suite { Role::Group } else { Role::Test },
            name: self.file.compact(*first).trim_matches(['"', '\'', '`']).to_string(),
            marks: marks.into_iter().filter(|mark| mark.text != "describe").collect(),
            call,
            body,
        })
    }
}
