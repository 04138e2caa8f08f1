//! Lists what a file defines and what each definition mentions: enough to follow names from a failing test to the
//! code it exercises. Names are compared as text; scopes and types are not resolved.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use greenlight_anchor::RepoPath;
use greenlight_readers::test_path::is_test_path;
use greenlight_syntax::test_item;
use tree_sitter::Node;

use super::rows::line;
use super::syntax::{Below, Source, Step};

/// The definitions of a file, without its text and syntax tree.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) path: RepoPath,
    /// Sorted by their start; a nested definition follows the one around it. The last one is the top-level code of
    /// the file, in languages whose files run code when loaded.
    pub(super) definitions: Vec<Definition>,
    /// Classes, each with its base class.
    pub(super) bases: Vec<(String, String)>,
    /// Files, or folders if they end in `/`, that contain only tests according to this file.
    pub(super) test_modules: Vec<String>,
}

/// A function, a constant outside of functions, a default in a class, or the top-level code of a file.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The type or class it belongs to.
    pub(super) owner: Option<String>,
    pub(super) bytes: Range<usize>,
    /// From 1.
    pub(super) lines: RangeInclusive<u32>,
    pub(super) is_test_code: bool,
    /// Whether it is the top-level code. Its bytes and lines are those of the whole file.
    pub(super) is_module: bool,
    pub(super) mentions: BTreeSet<String>,
    /// Methods that it calls without naming them, such as those of operators.
    pub(super) implied: BTreeSet<&'static str>,
}

impl Outline {
    pub(super) fn of(path: &RepoPath, source: &Source) -> Self {
        let mut outline = Self {
            path: path.clone(),
            definitions: Vec::new(),
            bases: Vec::new(),
            test_modules: Vec::new(),
        };
        let is_test_path = is_test_path(path.as_str());
        let mut module = None;
        // The end of the test item that the walk is in.
        let mut tests_until = 0;
        source.walk(|steps| {
            let Some(step) = steps.last() else {
                return Below::Enter;
            };
            if steps.len() == 1 && source.language.blocks.contains(&step.node.kind()) {
                module = Some(Definition::of_module(path, source, is_test_path));
            }
            if test_item::is_test_item(step.node, &source.text) {
                tests_until = tests_until.max(step.node.end_byte());
                outline
                    .test_modules
                    .extend(test_item::test_module_paths(path.as_str(), step.node, &source.text));
            }
            let is_test_code = is_test_path || step.node.start_byte() < tests_until;
            if let Some(definition) = definition(source, steps, is_test_code) {
                outline.definitions.push(definition);
            } else {
                outline.mention(source, steps, module.as_mut());
                outline.derive(source, step);
            }
            Below::Enter
        });
        outline.definitions.extend(module);
        outline
    }

    /// The innermost definition around a range of bytes.
    pub(super) fn around(&self, bytes: &Range<usize>) -> Option<usize> {
        let is_module = |definition: &Definition| definition.is_module;
        let module = self
            .definitions
            .len()
            .checked_sub(1)
            .filter(|last| is_module(&self.definitions[*last]));
        let named = &self.definitions[..module.unwrap_or(self.definitions.len())];
        let from = named.partition_point(|d| d.bytes.start <= bytes.start);
        named[..from].iter().rposition(|d| d.bytes.end >= bytes.end).or(module)
    }

    /// Whether a line belongs to a definition. Top-level code has only the lines outside of all other definitions.
    pub(super) fn has_line(&self, definition: &Definition, line: u32) -> bool {
        definition.lines.contains(&line) && !(definition.is_module && self.named().any(|d| d.lines.contains(&line)))
    }

    /// The bytes of a definition. Top-level code has only the bytes outside of all other definitions.
    pub(super) fn own_bytes(&self, definition: &Definition) -> Vec<Range<usize>> {
        if !definition.is_module {
            return vec![definition.bytes.clone()];
        }
        let mut own = Vec::new();
        let mut from = definition.bytes.start;
        for named in self.named() {
            own.extend((from < named.bytes.start).then_some(from..named.bytes.start));
            from = from.max(named.bytes.end);
        }
        own.extend((from < definition.bytes.end).then_some(from..definition.bytes.end));
        own
    }

    fn named(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|definition| !definition.is_module)
    }

    fn mention(&mut self, source: &Source, steps: &[Step<'_>], module: Option<&mut Definition>) {
        let [.., above, step] = steps else { return };
        let language = source.language;
        if step.field == "name" && language.functions.contains(&above.node.kind()) {
            return;
        }
        let kind = step.node.kind();
        let name = language.names.contains(&kind).then(|| source.text_of(step.node));
        let key = name.unwrap_or(kind);
        let implied = language.implied.iter().find(|(by, _)| *by == key);
        if name.is_none() && implied.is_none() {
            return;
        }
        let Some(definition) = (match self.around(&step.node.byte_range()) {
            Some(index) => self.definitions.get_mut(index),
            None => module,
        }) else {
            return;
        };
        definition.mentions.extend(name.map(String::from));
        definition
            .implied
            .extend(implied.into_iter().flat_map(|(_, methods)| methods.iter()));
    }

    /// Only for classes: Rust's traits hold no state, and are reached by the names of their methods.
    fn derive(&mut self, source: &Source, step: &Step<'_>) {
        if !step.node.kind().starts_with("class") {
            return;
        }
        let field = |field| step.node.child_by_field_name(field);
        let bases = field("superclasses").or_else(|| field("superclass"));
        let bases = bases.or_else(|| {
            let heritage = (0..4).filter_map(|index| step.node.named_child(index));
            let heritage = heritage.into_iter().find(|child| child.kind() == "class_heritage")?;
            let extends = heritage.named_child(0)?;
            Some(if extends.kind() == "extends_clause" {
                extends
            } else {
                heritage
            })
        });
        let (Some(class), Some(bases)) = (field("name"), bases) else {
            return;
        };
        let mut cursor = bases.walk();
        for base in bases
            .named_children(&mut cursor)
            .filter(|base| base.kind() != "keyword_argument")
        {
            let base = source.text_of(base);
            let base = base.rsplit('.').next().unwrap_or(base);
            self.bases.push((source.text_of(class).into(), base.into()));
        }
    }
}

impl Definition {
    /// The name that other files use for this one: its own, or that of its folder.
    fn of_module(path: &RepoPath, source: &Source, is_test_code: bool) -> Self {
        let mut parts = path
            .as_str()
            .rsplit('/')
            .map(|part| part.split('.').next().unwrap_or(part));
        let is_telling = |part: &&str| !matches!(*part, "index" | "__init__" | "__main__" | "main" | "src" | "lib");
        let end = source.text.len();
        Self {
            // A test file is often named after the file that it tests.
            name: parts
                .find(is_telling)
                .filter(|_| !is_test_code)
                .unwrap_or_default()
                .into(),
            owner: None,
            bytes: 0..end,
            lines: 1..=line(source.text.matches('\n').count()),
            is_test_code,
            is_module: true,
            mentions: BTreeSet::new(),
            implied: BTreeSet::new(),
        }
    }
}

fn definition(source: &Source, steps: &[Step<'_>], is_test_code: bool) -> Option<Definition> {
    let language = source.language;
    let (step, above) = steps.split_last()?;
    let kind = step.node.kind();
    let is_in_function = || above.iter().any(|step| language.functions.contains(&step.node.kind()));
    let name = if language.functions.contains(&kind) {
        step.node.child_by_field_name("name")?
    } else if let Some(name) = named_value(source, step.node) {
        name
    } else if let Some(title) = title(source, step.node).filter(|_| is_test_code) {
        title
    } else if language.constants.contains(&kind) && !is_in_function() {
        let name = step.node.child_by_field_name("name");
        name.or_else(|| step.node.child_by_field_name("left"))
            .or_else(|| step.node.child_by_field_name("property"))?
    } else {
        return None;
    };
    let owner = above.iter().rev().find_map(|step| {
        let (_, field) = language.owners.iter().find(|(kind, _)| *kind == step.node.kind())?;
        let owner = source.text_of(step.node.child_by_field_name(field)?);
        Some(owner.split('<').next().unwrap_or(owner).trim().to_string())
    });
    // Go writes the receiver's type before the method.
    let receiver = step.node.child_by_field_name("receiver").map(|receiver| {
        let of = source.text_of(receiver).split('[').next().unwrap_or_default();
        let of = of.rsplit([' ', '*', '(']).next().unwrap_or_default();
        of.trim_end_matches(')').to_string()
    });
    let owner = owner.or(receiver);
    let name = source.text_of(name);
    let name = match name.rsplit_once('.') {
        Some((_, last)) if !title_marks(name) => last,
        _ => name.trim_matches(['"', '\'', '`']),
    };
    Some(Definition {
        name: name.to_string(),
        owner,
        bytes: step.node.byte_range(),
        lines: line(step.node.start_position().row)..=line(step.node.end_position().row),
        is_test_code,
        is_module: false,
        mentions: BTreeSet::new(),
        implied: BTreeSet::new(),
    })
}

/// Whether a name is a quoted text.
fn title_marks(name: &str) -> bool {
    name.starts_with(['"', '\'', '`'])
}

/// The name that a surrounding node gives to an anonymous function.
fn named_value<'t>(source: &Source, node: Node<'t>) -> Option<Node<'t>> {
    let language = source.language;
    let (_, name, value) = language.named_values.iter().find(|(kind, _, _)| *kind == node.kind())?;
    let value = node.child_by_field_name(value)?;
    let is_function = language.functions.contains(&value.kind());
    node.child_by_field_name(name).filter(|_| is_function)
}

/// The title of a test written as a call: `it("adds", () => …)`.
fn title<'t>(source: &Source, node: Node<'t>) -> Option<Node<'t>> {
    let language = source.language;
    if language.style.titled.is_empty() || !language.calls.contains(&node.kind()) {
        return None;
    }
    let called = source.text_of(node.child_by_field_name(language.callee)?);
    let first = called.split(['.', '(']).next().unwrap_or_default();
    let title = node.child_by_field_name("arguments")?.named_child(0)?;
    (language.style.titled.contains(&first) && language.strings.contains(&title.kind())).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(path: &str, text: &str) -> Outline {
        let source = Source::parse(path, text.into()).unwrap();
        Outline::of(&path.parse().unwrap(), &source)
    }

    #[test]
    fn rust_definitions_have_owners_mentions_and_tests_apart() {
        let outline = outline(
            "src/lib.rs",
            "const N: u32 = 3;\nimpl<T> Stack<T> {\n    fn push(&mut self) { grow(N) }\n}\n\
             #[cfg(test)]\nmod tests {\n    fn helper() {}\n    #[test]\n    fn pushes() { helper() }\n}\n",
        );
        let seen: Vec<_> = outline
            .definitions
            .iter()
            .map(|d| (d.name.as_str(), d.owner.as_deref(), d.lines.clone(), d.is_test_code))
            .collect();
        assert_eq!(
            seen,
            [
                ("N", None, 1..=1, false),
                ("push", Some("Stack"), 3..=3, false),
                ("helper", None, 7..=7, true),
                ("pushes", None, 9..=9, true),
            ]
        );
        let pushes: Vec<_> = outline.definitions[1].mentions.iter().collect();
        assert_eq!(pushes, ["N", "grow"]);
        assert_eq!(outline.around(&(20..21)), None);
        assert_eq!(outline.around(&outline.definitions[1].bytes), Some(1));
    }

    #[test]
    fn python_definitions_include_defaults_of_classes() {
        let outline = outline(
            "pkg/a.py",
            "LIMIT = 3\nclass Plan:\n    attempts: int = 5\n    def f(self):\n        def g(): return LIMIT\n        x = 1\n",
        );
        let seen: Vec<_> = outline.named().map(|d| (d.name.as_str(), d.owner.as_deref())).collect();
        assert_eq!(
            seen,
            [
                ("LIMIT", None),
                ("attempts", Some("Plan")),
                ("f", Some("Plan")),
                ("g", Some("Plan"))
            ]
        );
        assert!(outline.definitions[3].mentions.contains("LIMIT"));
    }

    fn names(path: &str, text: &str) -> Vec<(String, Option<String>, bool)> {
        let found = outline(path, text).definitions.into_iter();
        let found = found.filter(|definition| !definition.is_module);
        found.map(|d| (d.name, d.owner, d.is_test_code)).collect()
    }

    #[test]
    fn what_a_file_does_by_itself_belongs_to_the_file() {
        let text = "import x\n\ndef f():\n    return 1\n\nrun(x)\nfor a in b:\n    g(a)\n";
        let outline = outline("pkg/tool/__init__.py", text);
        let module = outline.definitions.last().unwrap();
        assert!(module.is_module && !module.is_test_code && module.name == "tool");
        assert!(module.mentions.contains("run") && !module.mentions.contains("f"));
        let lines: Vec<u32> = (1..=9).filter(|line| outline.has_line(module, *line)).collect();
        assert_eq!(lines, [1, 2, 5, 6, 7, 8, 9]);
        let own: Vec<&str> = outline
            .own_bytes(module)
            .into_iter()
            .map(|bytes| &text[bytes])
            .collect();
        assert_eq!(own, ["import x\n\n", "\n\nrun(x)\nfor a in b:\n    g(a)\n"]);
        let at = |part: &str| text.find(part).map(|at| at..at + part.len()).unwrap();
        assert_eq!(outline.around(&at("return 1")), Some(0));
        assert_eq!(outline.around(&at("run(x)")), Some(1));
        let rust = "fn f() {}\n";
        let source = Source::parse("a.rs", rust.into()).unwrap();
        let rust = Outline::of(&"a.rs".parse().unwrap(), &source);
        assert!(rust.definitions.iter().all(|definition| !definition.is_module));
    }

    #[test]
    fn scripts_go_and_java_have_definitions_with_owners() {
        let own = |name: &str, owner: Option<&str>| (name.to_string(), owner.map(String::from), false);
        let script = "const add = (a) => a;\nexports.sub = function (a) { return a; };\nclass A {\n  x = 1;\n  get(b) { return b; }\n}\n";
        let expected = [
            own("add", None),
            own("sub", None),
            own("x", Some("A")),
            own("get", Some("A")),
        ];
        assert_eq!(names("lib/a.js", script), expected);
        assert_eq!(names("lib/a.ts", script), expected);
        let go = "package a\nconst N = 1\nfunc (s *Stack[T]) Push(a int) {}\nfunc New() {}\n";
        assert_eq!(
            names("a.go", go),
            [own("N", None), own("Push", Some("Stack")), own("New", None)]
        );
        let java = "class A {\n  int x = 1;\n  A() {}\n  int get() { int y = 1; return y; }\n}\n";
        assert_eq!(
            names("A.java", java),
            [own("x", Some("A")), own("A", Some("A")), own("get", Some("A"))]
        );
        let test = "describe('A', () => { it('adds two numbers', () => { add(1); }); });\n";
        assert_eq!(names("a.test.js", test), [("adds two numbers".to_string(), None, true)]);
    }
}
