//! Tells code that only tests from the code under test: a repair may change the second, never the first.

use tree_sitter::{Node, Parser, Tree};

use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange};

/// Larger files are not parsed.
const MAX_PARSED: usize = 1 << 20;
/// Items nested deeper than this are not looked into.
const MAX_DEPTH: usize = 32;

/// Whether a change of one file touches tests: a file that only tests, or test code within a Rust or Python file.
pub fn touches_tests(path: &RepoPath, change: &FileChange) -> bool {
    let path = path.as_str();
    let test_code_of = |blob: &Option<Blob>| {
        let text = blob.as_ref().and_then(Blob::text).unwrap_or_default();
        test_code(path, text)
    };
    is_test_path(path) || test_code_of(&change.before) != test_code_of(&change.after)
}

/// Whether a file, by its name, holds tests, what they expect, or how they are run.
fn is_test_path(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let in_test_folder = folders.split('/').any(|folder| {
        matches!(
            folder,
            "test" | "tests" | "__tests__" | "spec" | "specs" | "e2e" | "testdata" | "snapshots" | "__snapshots__"
        )
    });
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let by_name = matches!(name, "conftest.py" | "pytest.ini" | "tox.ini" | "nextest.toml")
        || stem == "jest.config"
        || stem == "vitest.config"
        || extension == "snap";
    let by_stem = matches!(stem, "test" | "tests")
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", ".test", ".spec"]
            .iter()
            .any(|end| stem.ends_with(end))
        || (matches!(extension, "java" | "kt" | "scala" | "cs" | "php" | "swift")
            && ["test", "tests"].iter().any(|end| stem.ends_with(end)));
    in_test_folder || by_name || (by_stem && !matches!(extension, "" | "md" | "txt"))
}

/// The line, from 1, where a Rust or Python text stops being well-formed, if it does.
pub(super) fn syntax_error(path: &str, text: &str) -> Option<usize> {
    let tree = parse(path, text)?;
    let mut node = tree.root_node();
    if !node.has_error() {
        return None;
    }
    loop {
        let mut cursor = node.walk();
        let child = node.children(&mut cursor).find(Node::has_error);
        match child {
            Some(child) => node = child,
            None => return Some(node.start_position().row + 1),
        }
    }
}

fn parse(path: &str, text: &str) -> Option<Tree> {
    let language = match path.rsplit_once('.')?.1 {
        "rs" => tree_sitter_rust::LANGUAGE,
        "py" => tree_sitter_python::LANGUAGE,
        _ => return None,
    };
    if text.len() > MAX_PARSED {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.into()).ok()?;
    parser.parse(text, None)
}

/// The text of every item that only tests, with its attributes or decorators, in order.
fn test_code(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(tree) = parse(path, text) {
        collect(tree.root_node(), text, 0, &mut found);
    }
    found
}

fn collect(node: Node<'_>, text: &str, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut cursor = node.walk();
    let (mut start, mut is_test) = (None, false);
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "attribute_item" => {
                start = start.or(Some(child.start_byte()));
                is_test |= is_test_attribute(&text[child.byte_range()]);
            }
            "line_comment" | "block_comment" => {}
            _ => {
                if is_test || is_test_item(child, text) {
                    found.push(text[start.unwrap_or(child.start_byte())..child.end_byte()].to_string());
                } else {
                    collect(child, text, depth + 1, found);
                }
                (start, is_test) = (None, false);
            }
        }
    }
}

/// Whether an item is a test by what it is called, in Rust or Python.
fn is_test_item(item: Node<'_>, text: &str) -> bool {
    let field = |name| {
        item.child_by_field_name(name)
            .map_or("", |field| &text[field.byte_range()])
    };
    match item.kind() {
        "mod_item" => matches!(field("name"), "tests" | "test"),
        "macro_invocation" => matches!(field("macro"), "proptest" | "quickcheck"),
        "function_definition" => field("name").starts_with("test_"),
        "class_definition" => field("superclasses").contains("TestCase"),
        "decorated_definition" => item
            .child_by_field_name("definition")
            .is_some_and(|definition| is_test_item(definition, text)),
        _ => false,
    }
}

/// Whether an attribute marks a test, or code that is compiled for tests only.
fn is_test_attribute(attribute: &str) -> bool {
    let compact: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    if compact.starts_with("#[cfg_attr(") || compact.contains("not(test)") {
        return false;
    }
    let mut words = compact.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '"')));
    words.any(|word| {
        matches!(
            word,
            "test" | "rstest" | "test_case" | "proptest" | "quickcheck" | "should_panic"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// Adds.
pub fn add(a: i32, b: i32) -> i32 { a - b }
#[cfg(not(test))]
fn log() {}
#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(super::add(1, 2), 3); }
}
#[tokio::test]
async fn alone() { assert!(true); }
";

    const SCRIPT: &str = "\
def add(a, b):
    return a - b

@skip_unless(True)
def test_add():
    assert add(1, 2) == 3

class Adding(unittest.TestCase):
    def check(self):
        pass
";

    #[track_caller]
    fn check((path, source): (&str, &str), old: &str, new: &str, touches: bool) {
        assert!(source.contains(old), "{old}");
        let change = FileChange {
            before: Some(Blob::regular(source)),
            after: Some(Blob::regular(source.replacen(old, new, 1))),
        };
        assert_eq!(touches_tests(&path.parse().unwrap(), &change), touches, "{old} → {new}");
    }

    #[test]
    fn code_under_test_may_change() {
        let rust = ("src/lib.rs", SOURCE);
        check(rust, "a - b", "a + b", false);
        check(rust, "fn log() {}", "fn log() { loop {} }", false);
        check(rust, "/// Adds.\n", "/// Adds.\n#[must_use]\n", false);
        check(rust, "/// Adds.\n", "#[cfg(feature = \"test\")]\nfn more() {}\n", false);
        check(("a.py", SCRIPT), "a - b", "a + b", false);
        check(("a.go", SCRIPT), "== 3", "== 4", false);
    }

    #[test]
    fn tests_may_not_change() {
        let rust = ("src/lib.rs", SOURCE);
        check(rust, "2), 3", "2), -1", true);
        check(rust, "    #[test]\n", "    #[test]\n    #[ignore]\n", true);
        check(rust, "    #[test]\n", "", true);
        check(rust, "#[cfg(test)]\n", "#[cfg(any())]\n#[cfg(test)]\n", true);
        check(rust, "#[cfg(test)]\n", "/*\n", true);
        check(rust, "assert!(true)", "", true);
        check(
            rust,
            "#[tokio::test]\n",
            "#[test]\nfn more() {}\n#[tokio::test]\n",
            true,
        );
        for (old, new) in [
            ("== 3", "== -1"),
            ("(True)", "(False)"),
            ("        pass\n", "        return\n"),
            ("def test_add", "def add"),
        ] {
            check(("a.py", SCRIPT), old, new, true);
        }
    }

    #[test]
    fn test_files_are_known_by_name() {
        for path in [
            "tests/api.rs",
            "pkg/test_x.py",
            "pkg/x_test.go",
            "src/a.test.ts",
            "src/a.spec.tsx",
            "src/__snapshots__/a.txt",
            "conftest.py",
            "app/tests.py",
            "src/test/java/A.java",
            "src/FooTest.java",
            "x/a.snap",
            "spec/models/user_spec.rb",
            "Tests/a.py",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in [
            "src/lib.rs",
            "src/contest.py",
            "latest.py",
            "src/attest.rs",
            "numpy/testing/util.py",
            "src/protest.java.rs",
        ] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn a_syntax_error_has_a_line() {
        assert_eq!(syntax_error("a.rs", SOURCE), None);
        assert_eq!(syntax_error("a.py", "def f():\n    return 1\n"), None);
        assert_eq!(syntax_error("a.rs", "fn a() {}\nfn b( {\n"), Some(2));
        assert_eq!(syntax_error("a.txt", "((("), None);
    }
}
