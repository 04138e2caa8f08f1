//! Which changes affect tests, in files that contain other code as well.

use greenlight::domain::patch::{Blob, FileChange};
use greenlight::guard::{syntax_errors, touches_tests};

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
    assert!(touches(vec![b' '; (1 << 20) + 1], Vec::new()));
    assert!(touches(b"\xff".to_vec(), Vec::new()));
    assert!(touches(
        b"#![cfg(test)]\nfn a() {}\n".to_vec(),
        b"#![cfg(test)]\nfn b() {}\n".to_vec()
    ));
}

#[test]
fn a_syntax_error_has_a_line() {
    assert_eq!(syntax_errors("a.rs", SOURCE), Some(vec![]));
    assert_eq!(syntax_errors("a.py", "def f():\n    return 1\n"), Some(vec![]));
    assert_eq!(syntax_errors("a.rs", "fn a() {}\nfn b( {\n"), Some(vec![2]));
    assert_eq!(syntax_errors("a.txt", "((("), None);
}
