//! The test items of a file: tests, their helpers, and loose statements in files, classes and groups. One submodule
//! for each family of languages recognises them.

mod compiled;
mod javascript;
mod python;

use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use super::MAX_DEPTH;
use super::statements::{self, Statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Test,
    /// A helper, fixture or hook.
    Support,
    /// A file, class or block of tests; its body contains the loose statements, without tests and helpers.
    Group,
}

/// A decorator, attribute, annotation or modifier.
#[derive(Clone)]
pub(super) struct Mark<'t> {
    pub(super) text: String,
    pub(super) node: Node<'t>,
}

pub(super) struct Item<'t> {
    /// The groups around it, and the conditions that its definition depends on.
    pub(super) place: Vec<String>,
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) line: usize,
    pub(super) marks: Vec<Mark<'t>>,
    /// Parameters, bases and the like.
    pub(super) head: String,
    pub(super) body: Vec<Statement<'t>>,
}

impl Item<'_> {
    /// The name that a person would look for: `Fares > gives change`.
    pub(super) fn full_name(&self) -> String {
        let mut parts: Vec<&str> = self.place.iter().map(String::as_str).collect();
        parts.push(&self.name);
        parts.retain(|part| !part.is_empty());
        parts.join(" > ")
    }

    /// Whether it runs without being called: before, after or around tests.
    pub(super) fn is_hook(&self) -> bool {
        const HOOKS: [&str; 34] = [
            "setUp",
            "tearDown",
            "setUpClass",
            "tearDownClass",
            "setUpModule",
            "tearDownModule",
            "setup",
            "teardown",
            "setup_method",
            "teardown_method",
            "setup_class",
            "teardown_class",
            "setup_module",
            "teardown_module",
            "setup_function",
            "teardown_function",
            "asyncSetUp",
            "asyncTearDown",
            "run",
            "__init__",
            "__new__",
            "__getattribute__",
            "__init_subclass__",
            "__call__",
            "beforeEach",
            "afterEach",
            "TestMain",
            "init",
            "SetupTest",
            "SetupSuite",
            "TearDownTest",
            "load_tests",
            "id",
            "shortDescription",
        ];
        HOOKS.contains(&self.name.as_str())
            || self.name.starts_with("pytest_")
            || self.name.starts_with("assert")
            || self.marks.iter().any(|mark| {
                [
                    "autouse",
                    "@Before",
                    "@After",
                    "@Rule",
                    "@ClassRule",
                    "hookimpl",
                    "@RegisterExtension",
                    "ctor",
                ]
                .iter()
                .any(|hook| mark.text.contains(hook))
            })
    }
}

/// The items found in one file.
pub(super) struct Collector<'t> {
    pub(super) file: &'t Parsed<'t>,
    pub(super) items: Vec<Item<'t>>,
}

/// The collector's position.
#[derive(Clone)]
pub(super) struct Position {
    pub(super) names: Vec<String>,
    /// The index of the surrounding group.
    pub(super) group: usize,
    /// Whether all code here belongs to tests.
    pub(super) in_tests: bool,
    /// Whether runners collect tests from here.
    pub(super) is_collected: bool,
    pub(super) depth: usize,
}

/// The items of a file, in order; the first is the file itself.
pub(super) fn of<'t>(file: &'t Parsed<'t>, whole: bool) -> Vec<Item<'t>> {
    let root = file.tree.root_node();
    let mut collector = Collector {
        file,
        items: Vec::new(),
    };
    let place = collector.group((Vec::new(), String::new()), root, Vec::new(), String::new());
    let place = Position {
        in_tests: whole,
        ..place
    };
    collector.collect(root, &place);
    collector.items
}

impl<'t> Collector<'t> {
    pub(super) fn collect(&mut self, container: Node<'t>, place: &Position) {
        if place.depth > MAX_DEPTH {
            return;
        }
        match self.file.language {
            Language::Python => self.python(container, place),
            Language::JavaScript | Language::TypeScript | Language::Tsx => self.javascript(container, place),
            Language::Rust => self.rust(container, place),
            Language::Go => self.go(container, place),
            Language::Java => self.java(container, place),
        }
    }

    /// Adds a group, and returns the position inside it.
    pub(super) fn group(
        &mut self,
        (names, name): (Vec<String>, String),
        node: Node<'t>,
        marks: Vec<Mark<'t>>,
        head: String,
    ) -> Position {
        let inside = names
            .iter()
            .cloned()
            .chain((!name.is_empty()).then(|| name.clone()))
            .collect::<Vec<_>>();
        let depth = inside.len();
        self.items.push(Item {
            place: names,
            name,
            role: Role::Group,
            line: Parsed::line(node),
            marks,
            head,
            body: Vec::new(),
        });
        Position {
            names: inside,
            group: self.items.len() - 1,
            in_tests: true,
            is_collected: true,
            depth,
        }
    }

    /// Adds a statement that is not a separate item.
    pub(super) fn loose(&mut self, node: Node<'t>, place: &Position) {
        if place.in_tests {
            let found = statements::one(self.file, node);
            self.items[place.group].body.extend(found);
        }
    }

    pub(super) fn item(
        &mut self,
        (role, name): (Role, &str),
        marks: Vec<Mark<'t>>,
        parts: (Node<'t>, Option<Node<'t>>),
        place: &Position,
    ) {
        let (node, body) = parts;
        let left_out: Vec<_> = body.iter().map(Node::byte_range).collect();
        let mut head = self.file.compact_without(node, &left_out);
        for mark in &marks {
            head = head.replacen(&mark.text, "", 1);
        }
        self.items.push(Item {
            place: place.names.clone(),
            name: name.into(),
            role,
            line: Parsed::line(node),
            marks,
            // Names are compared separately.
            head: head.replacen(name, "", 1).trim().into(),
            body: body.map(|body| statements::of(self.file, body)).unwrap_or_default(),
        });
    }

    pub(super) fn mark(&self, node: Node<'t>) -> Mark<'t> {
        Mark {
            text: self.file.compact(node),
            node,
        }
    }

    pub(super) fn field(&self, node: Node<'_>, name: &str) -> &'t str {
        node.child_by_field_name(name).map_or("", |field| self.file.raw(field))
    }

    /// Whether any descendant has one of these kinds.
    pub(super) fn has_below(&self, node: Node<'_>, kinds: &[&str]) -> bool {
        let mut found = false;
        self.file.visit(node, |below| {
            found |= kinds.contains(&below.kind());
            if found { Below::Skip } else { Below::Enter }
        });
        found
    }
}

/// The named children, without comments.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor);
    children.filter(|child| !child.kind().contains("comment")).collect()
}
