//! Tells what only tests, or decides how tests run, from the code under test: a repair may change the second, never
//! the first.
//!
//! A file is judged on its own. That `mod checks;` stands under `#[cfg(test)]` in another file cannot be seen here, nor
//! that a Markdown file is included as documentation and so tested.

mod docs;
mod settings;

use tree_sitter::{Language, Node, Parser, Tree};

use self::docs::Docs;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange};
use crate::domain::test_path::{is_test_path, shadows_test_tool};

/// Larger files are not parsed.
const MAX_PARSED: usize = 1 << 20;
/// Items nested deeper than this are not looked into.
const MAX_DEPTH: usize = 32;

/// Whether a change of one file touches tests: a file that only tests or decides how tests run, test code within a Rust
/// or Python file, or the part of a manifest that is about tests. What cannot be read is taken to touch them.
pub fn touches_tests(path: &RepoPath, change: &FileChange) -> bool {
    let path = path.as_str();
    if is_test_path(path) || (change.before.is_none() && shadows_test_tool(path)) {
        return true;
    }
    let [before, after] = [&change.before, &change.after].map(|blob| match blob {
        Some(blob) => about_tests(path, blob),
        None => Some(Vec::new()),
    });
    before.is_none() || before != after
}

/// What a file says about tests; none if it cannot be read.
fn about_tests(path: &str, blob: &Blob) -> Option<Vec<String>> {
    if let Some(read) = settings::reader(path) {
        read(blob.text()?)
    } else if language(path).is_some() {
        test_code(path, blob.text()?)
    } else {
        Some(Vec::new())
    }
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

fn language(path: &str) -> Option<Language> {
    match path.rsplit_once('.')?.1 {
        "rs" => Some(tree_sitter_rust::LANGUAGE.into()),
        "py" => Some(tree_sitter_python::LANGUAGE.into()),
        _ => None,
    }
}

fn parse(path: &str, text: &str) -> Option<Tree> {
    let language = language(path)?;
    if text.len() > MAX_PARSED {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language).ok()?;
    parser.parse(text, None)
}

/// The text of every item that only tests, with its attributes or decorators, and of every example, in order.
fn test_code(path: &str, text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    collect(parse(path, text)?.root_node(), text, 0, &mut found);
    Some(found)
}

fn collect(node: Node<'_>, text: &str, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut cursor = node.walk();
    let (mut start, mut is_test, mut docs) = (None, false, Docs::default());
    for child in node.named_children(&mut cursor) {
        let own = &text[child.byte_range()];
        match child.kind() {
            "attribute_item" => {
                start = start.or(Some(child.start_byte()));
                is_test |= is_test_attribute(own);
                found.extend(is_documentation(own).then(|| own.into()));
            }
            "inner_attribute_item" if is_documentation(own) => found.push(own.into()),
            "inner_attribute_item" if own.contains("cfg(") && is_test_attribute(own) => {
                found.push(text[node.byte_range()].into());
            }
            "line_comment" | "block_comment" => docs.comment(own, found),
            _ => {
                docs.end(found);
                if is_test || is_test_item(child, text) {
                    found.push(text[start.unwrap_or(child.start_byte())..child.end_byte()].to_string());
                } else {
                    collect(child, text, depth + 1, found);
                }
                (start, is_test) = (None, false);
            }
        }
    }
    docs.end(found);
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
        // <https://docs.python.org/3/library/doctest.html>
        "expression_statement" => {
            let first = item.named_child(0);
            first.is_some_and(|first| first.kind() == "string") && text[item.byte_range()].contains(">>>")
        }
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

/// Whether an attribute holds documentation, which may have examples.
fn is_documentation(attribute: &str) -> bool {
    let compact: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    compact.contains("doc=")
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

    const DOCUMENTED: &str = "\
#![doc = include_str!(\"../README.md\")]
//! Sums. See `add`.
//!
//! ```
//! assert_eq!(sums::add(1, 1), 2);
//! ```

impl Sums {
    /// Adds two.
    ///
    /// - ~~~should_panic
    ///   sums::add(i32::MAX, 1);
    ///   ~~~
    #[inline]
    /// As in
    ///
    ///     assert_eq!(sums::add(0, 1), 1);
    pub fn add(a: i32, b: i32) -> i32 { a - b }

    /** ```
    sums::sub(2, 1);
    ``` */
    #[doc = \"```\\nsums::sub(1, 1);\\n```\"]
    pub fn sub(a: i32, b: i32) -> i32 { a - b }
}
";

    #[test]
    fn examples_are_tests() {
        let rust = ("src/lib.rs", DOCUMENTED);
        check(rust, "a - b", "a + b", false);
        check(rust, "See `add`", "See `Sums::add`", false);
        check(rust, "Adds two.", "Adds two numbers.", false);
        for (old, new) in [
            ("1), 2", "1), 0"),
            ("//! ```\n", "//! ```ignore\n"),
            ("//! ```\n", "//! ````text\n//! ```\n"),
            ("README", "OTHER"),
            ("should_panic", "no_run"),
            ("i32::MAX, 1", "1, 1"),
            ("1), 1", "1), -1"),
            ("    /// As in\n", "    // ~~~\n    /// ~~~\n"),
            ("2, 1", "2, 2"),
            ("sub(1, 1)", "sub(2, 2)"),
            ("//! assert", "// assert"),
        ] {
            check(rust, old, new, true);
        }
        let python = (
            "a.py",
            "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 1)\n    2\n    \"\"\"\n    return a - b\n",
        );
        check(python, "a - b", "a + b", false);
        check(python, "    2\n", "    0\n", true);
    }

    #[test]
    fn what_cannot_be_parsed_touches_tests() {
        let touches = |before: Vec<u8>, after: Vec<u8>| {
            let [before, after] = [before, after].map(|side| Some(Blob::regular(side)));
            touches_tests(&"src/lib.rs".parse().unwrap(), &FileChange { before, after })
        };
        assert!(touches(vec![b' '; MAX_PARSED + 1], Vec::new()));
        assert!(touches(b"\xff".to_vec(), Vec::new()));
        assert!(touches(
            b"#![cfg(test)]\nfn a() {}\n".to_vec(),
            b"#![cfg(test)]\nfn b() {}\n".to_vec()
        ));
    }

    #[test]
    fn a_syntax_error_has_a_line() {
        assert_eq!(syntax_error("a.rs", SOURCE), None);
        assert_eq!(syntax_error("a.py", "def f():\n    return 1\n"), None);
        assert_eq!(syntax_error("a.rs", "fn a() {}\nfn b( {\n"), Some(2));
        assert_eq!(syntax_error("a.txt", "((("), None);
    }
}
