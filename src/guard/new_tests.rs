//! The tests that a patch adds: their names, and whether one obviously fails no matter what the code does. Also
//! whether a patch changes anything but tests.

use std::collections::HashSet;
use std::sync::LazyLock;

use greenlight_syntax::{Language, Parsed};
use regex::Regex;

use super::items::{self, Item, Role};
use super::statements::{Statement, StatementPart};
use super::{body, parts};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::test_path::{decides_how_tests_run, is_ci_path, is_test_path};

/// An added test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTest {
    pub path: RepoPath,
    /// As its file names it: `Fares > gives change`.
    pub name: String,
    pub line: usize,
    /// The statement that always fails it, no matter what the code under test does, quoted.
    pub always_fails: Option<String>,
}

/// The tests that a patch adds, in files of supported languages.
pub fn new_tests(patch: &Patch) -> Vec<NewTest> {
    patch.files().flat_map(|(path, change)| of_file(path, change)).collect()
}

fn of_file(path: &RepoPath, change: &FileChange) -> Vec<NewTest> {
    let Some(language) = Language::of(path.as_str()) else {
        return Vec::new();
    };
    let is_tests = is_test_path(path.as_str());
    let [before, after] = [&change.before, &change.after].map(|blob| blob.as_ref().and_then(Blob::text));
    let known: HashSet<String> = before
        .and_then(|text| Parsed::parse(language, text))
        .map(|file| tests(&items::of(&file, is_tests)).map(Item::full_name).collect())
        .unwrap_or_default();
    let Some(file) = after.and_then(|text| Parsed::parse(language, text)) else {
        return Vec::new();
    };
    let items = items::of(&file, is_tests);
    let new = tests(&items).filter(|item| !known.contains(&item.full_name()));
    new.map(|item| NewTest {
        path: path.clone(),
        name: item.full_name(),
        line: item.line,
        always_fails: always_fails(&item.body),
    })
    .collect()
}

fn tests<'i, 't>(items: &'i [Item<'t>]) -> impl Iterator<Item = &'i Item<'t>> {
    items.iter().filter(|item| item.role == Role::Test)
}

/// Statements that always fail.
static FAILS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) ^(?:await\ )? (?:
          assert\ (?:False|0|None|""|not\ True|\(?False\)?)\b.*
        | assert(?:!|\.ok|)\((?:false|False)\b.*
        | (?:self\.)?(?:assertTrue|assert_|assertIsNotNone|assertIs)\((?:False|false|0|None|null)\b.*
        | (?:self\.|pytest\.|Assert\.|Assertions\.|assert\.|expect\.)?fail\(.*
        | (?:t|tb|f)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\b.*
        | (?:panic|unreachable|todo|unimplemented)!\(.*
        | raise\ (?:AssertionError|NotImplementedError)\b.* | throw\ new\ \w*Error\(.*
        ) $"#,
    )
    .ok()
});
/// Comparisons of two literals. The caller checks whether the literals are equal.
static COMPARES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) ^(?:await\ )? (?:
          assert\ (?P<a>LIT)\ ?==\ ?(?P<b>LIT)
        | assert_eq!\((?P<c>LIT),(?P<d>LIT)\)
        | (?:self\.|assert\.|Assert\.|Assertions\.)?(?:assertEquals?|strictEqual|equal|deepStrictEqual)\((?P<e>LIT),(?P<f>LIT)\)
        | expect\((?P<g>LIT)\)\.(?:toBe|toEqual|toStrictEqual)\((?P<h>LIT)\)
        ) ;? $"#
            .replace("LIT", r#"(?:-?\d[\d_.]*|true|false|True|False|None|null|"[^"]*"|'[^']*')"#)
            .as_str(),
    )
    .ok()
});

/// The first statement that is always reached and fails. Statements in a block, or after one that may leave the test,
/// are not always reached.
fn always_fails(body: &[Statement<'_>]) -> Option<String> {
    let mut depth = 0_usize;
    for statement in body {
        match statement.part {
            StatementPart::Open => depth += 1,
            StatementPart::Close => depth = depth.saturating_sub(1),
            StatementPart::Whole => {}
        }
        if statement.key.starts_with("return") {
            return None;
        }
        if depth == 0 && statement.part == StatementPart::Whole && fails(&statement.key) {
            return Some(body::quoted(&statement.key));
        }
    }
    None
}

fn fails(key: &str) -> bool {
    if super::assertion::fits(&FAILS, key) {
        return true;
    }
    let Some(found) = COMPARES.as_ref().and_then(|compares| compares.captures(key)) else {
        return false;
    };
    let sides: Vec<&str> = found.iter().skip(1).flatten().map(|side| side.as_str()).collect();
    matches!(sides[..], [one, other] if one.trim_matches(['"', '\'']) != other.trim_matches(['"', '\'']))
}

/// The first file in which a patch changes anything but tests and their data: it is not a test file, and the change
/// is not limited to the tests beside the code.
pub fn writes_more_than_tests(patch: &Patch) -> Option<&RepoPath> {
    let is_more = |path: &RepoPath, change: &FileChange| {
        let name = path.as_str();
        if is_ci_path(name) || decides_how_tests_run(name) {
            return true;
        }
        !is_test_path(name)
            && outside_of_tests(path, change.before.as_ref()) != outside_of_tests(path, change.after.as_ref())
    };
    patch
        .files()
        .find(|(path, change)| is_more(path, change))
        .map(|(path, _)| path)
}

/// The file without tests and white space, or the whole file if it cannot be parsed.
fn outside_of_tests(path: &RepoPath, blob: Option<&Blob>) -> Vec<u8> {
    let Some(blob) = blob else { return Vec::new() };
    let ranges = || {
        let language = Language::of(path.as_str())?;
        let text = blob.text()?;
        let file = Parsed::parse(language, text)?;
        Some((text, parts::test_ranges(&file)))
    };
    let Some((text, tests)) = ranges() else {
        return blob.bytes.clone();
    };
    let is_kept = |at: &usize| !tests.iter().any(|range| range.contains(at));
    let bytes = text.bytes().enumerate().filter(|(at, _)| is_kept(at));
    bytes
        .map(|(_, byte)| byte)
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(path: &str, before: Option<&str>, after: &str) -> Patch {
        let change = FileChange {
            before: before.map(Blob::regular),
            after: Some(Blob::regular(after)),
        };
        Patch::new([(path.parse().unwrap(), change)])
    }

    #[test]
    fn tests_that_always_fail_are_recognised() {
        for (path, text, expected) in [
            ("test_a.py", "def test_a():\n    assert False\n", true),
            (
                "test_a.py",
                "def test_a():\n    x = f()\n    assert 1 == 2, 'x'\n",
                true,
            ),
            ("test_a.py", "def test_a():\n    pytest.fail('not yet')\n", true),
            ("test_a.py", "def test_a():\n    assert f() == 2\n", false),
            ("test_a.py", "def test_a():\n    if f():\n        assert False\n", false),
            ("a.test.js", "test('a', () => { expect(true).toBe(false); });\n", true),
            ("a.test.js", "test('a', () => { expect(f(1)).toBe(false); });\n", false),
            ("tests/a.rs", "#[test]\nfn a() {\n    panic!(\"x\");\n}\n", true),
            ("tests/a.rs", "#[test]\nfn a() {\n    assert!(false);\n}\n", true),
            ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 2);\n}\n", false),
            (
                "a_test.go",
                "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"x\")\n\t}\n}\n",
                false,
            ),
            (
                "a_test.go",
                "package a\n\nfunc TestA(t *testing.T) {\n\tt.Fatal(\"x\")\n}\n",
                true,
            ),
        ] {
            let found = new_tests(&added(path, None, text));
            assert_eq!(found.len(), 1, "{path}: {text}");
            assert_eq!(found[0].always_fails.is_some(), expected, "{text}: {found:?}");
        }
    }

    #[test]
    fn tests_beside_code_are_told_from_the_code() {
        let code = "pub fn f() -> u32 {\n    1\n}\n";
        let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn f_is_two() {\n        assert_eq!(super::f(), 2);\n    }\n}\n";
        let patch = added("src/lib.rs", Some(code), &format!("{code}{tests}"));
        assert_eq!(writes_more_than_tests(&patch), None);
        assert_eq!(new_tests(&patch)[0].name, "tests > f_is_two");
        let both = added("src/lib.rs", Some(code), &format!("{}{tests}", code.replace('1', "2")));
        assert!(writes_more_than_tests(&both).is_some());
        assert!(writes_more_than_tests(&added("a.py", None, "x = 1\n")).is_some());
        assert!(writes_more_than_tests(&added("pytest.ini", None, "[pytest]\n")).is_some());
        assert_eq!(writes_more_than_tests(&added("tests/data.json", None, "{}\n")), None);
    }
}
