//! Whole files and patches: added and removed files, settings, data, the code under test, and hostile sources.

use greenlight::domain::weakening::WeakeningKind::{
    self, CannotBeJudged, Ci, Configuration, DataChanged, DetectsTests, ExpectationChanged, Mocked, Removed,
    SetupChanged, SpecialCased,
};
use greenlight::guard::{Inputs, touches_tests, weakenings, with_own_tests, without_tests};

use super::{changed, named, patch};

const TEST: &str = "from fare import change\n\n\ndef test_change():\n    assert change(500, 2) == 200\n";
const CODE: &str = "def change(paid, stops):\n    return paid + 50 * stops\n";

type File = (&'static str, Option<&'static str>, Option<&'static str>);

#[track_caller]
fn check(files: &[File], kinds: &[WeakeningKind]) {
    let found = weakenings(&patch(files), &Inputs::default());
    assert_eq!(named(&found), kinds, "{files:?}: {found:#?}");
}

#[test]
fn files_that_come_and_go() {
    check(&[("tests/test_a.py", Some(TEST), None)], &[Removed]);
    check(&[("tests/test_a.py", None, Some(TEST))], &[]);
    let moved_to = |path| [("tests/test_a.py", Some(TEST), None), (path, None, Some(TEST))];
    check(&moved_to("tests/unit/test_b.py"), &[]);
    check(&moved_to("tests/old_a.py"), &[Removed]);
    check(&moved_to("docs/a.py"), &[Removed]);
    let rust = "#[test]\nfn a() {\n    assert_eq!(1 + 1, 2);\n}\n";
    check(
        &[("tests/a.rs", Some(rust), None), ("tests/it/a.rs", None, Some(rust))],
        &[],
    );
    check(&[("src/a_test.rb", None, Some("x"))], &[CannotBeJudged]);
    check(&[("spec/a_spec.rb", Some("x"), Some("y"))], &[CannotBeJudged]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn settings_and_data() {
    for path in [
        "pytest.ini",
        "tox.ini",
        "Makefile",
        "jest.config.js",
        "vitest.config.ts",
        ".mocharc.yml",
        "build.rs",
        "setup.py",
    ] {
        check(&[(path, Some("a"), Some("b"))], &[Configuration]);
        check(&[(path, Some("a"), None)], &[Configuration]);
    }
    for path in [
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "codecov.yml",
        "greenlight.toml",
    ] {
        check(&[(path, Some("a"), Some("b"))], &[Ci]);
    }
    check(
        &[(
            "package.json",
            Some(r#"{"scripts":{"test":"jest"}}"#),
            Some(r#"{"scripts":{"test":"true"}}"#),
        )],
        &[Configuration],
    );
    check(
        &[("package.json", Some(r#"{"name":"a"}"#), Some(r#"{"name":"b"}"#))],
        &[],
    );
    check(
        &[(
            "pyproject.toml",
            Some("[tool.ruff]\nx = 1\n"),
            Some("[tool.ruff]\nx = 1\n[tool.pytest.ini_options]\naddopts = \"-k x\"\n"),
        )],
        &[Configuration],
    );
    check(
        &[(
            "Cargo.toml",
            Some("[lib]\nname = \"a\"\n"),
            Some("[lib]\nname = \"a\"\ntest = false\n"),
        )],
        &[Configuration],
    );
    check(
        &[(
            "Cargo.toml",
            Some("[lib]\nname = \"a\"\n"),
            Some("[lib]\nname = \"a\"\n[dependencies]\nb = \"1\"\n"),
        )],
        &[],
    );
    check(
        &[("fare.egg-info/entry_points.txt", None, Some("[pytest11]\nx = fare\n"))],
        &[Configuration],
    );
    check(
        &[("bunfig.toml", None, Some("[test]\npreload = [\"a\"]\n"))],
        &[Configuration],
    );
    check(&[("unittest.py", None, Some("def main(): pass\n"))], &[Configuration]);
    check(
        &[("src/__snapshots__/a.test.js.snap", Some("a"), Some("b"))],
        &[DataChanged],
    );
    check(&[("tests/data/fares.json", Some("[1]"), Some("[]"))], &[DataChanged]);
    check(&[("tests/data/more.json", None, Some("[1]"))], &[]);
    check(&[("tests/README.md", Some("a"), Some("b"))], &[]);
    check(
        &[("src/__mocks__/fare.js", None, Some("module.exports = () => 300;\n"))],
        &[Mocked],
    );
    check(
        &[(
            "conftest.py",
            None,
            Some("import pytest\n\n\n@pytest.fixture(autouse=True)\ndef calm():\n    pass\n"),
        )],
        &[SetupChanged],
    );
    check(
        &[("conftest.py", None, Some("collect_ignore = [\"test_a.py\"]\n"))],
        &[SetupChanged],
    );
    check(
        &[(
            "tests/conftest.py",
            Some("A = 1\n"),
            Some("A = 1\n\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"),
        )],
        &[SetupChanged],
    );
    check(
        &[(
            "tests/helpers.py",
            Some("def total():\n    return fare(2)\n"),
            Some("def total():\n    return 300\n"),
        )],
        &[SetupChanged],
    );
}

/// What a patch does to the code under test while a test in [`TEST`] fails.
#[track_caller]
fn code(path: &str, before: &str, after: &str, kinds: &[WeakeningKind]) {
    let mut inputs = Inputs::default();
    inputs.note(
        &"tests/test_a.py".parse().unwrap(),
        TEST,
        &["tests/test_a.py::test_change"],
    );
    let found = weakenings(&patch(&[(path, Some(before), Some(after))]), &inputs);
    assert_eq!(named(&found), kinds, "{after}: {found:#?}");
}

/// What the pull request changed is restored, although a test passes it in.
#[test]
fn what_the_base_recognises_is_no_special_case() {
    let limits = |free: u32| format!("LIMITS = {{\n    \"free\": {free},\n    \"pro\": 100,\n}}\n");
    let path = "limits.py".parse().unwrap();
    let mut inputs = Inputs::default();
    let test = "def test_limits():\n    assert allowed(\"free\", 10)\n    assert not allowed(\"free\", 11)\n";
    inputs.note(&"test_limits.py".parse().unwrap(), test, &[]);
    let (changed, restored, other) = (limits(9), limits(10), limits(11));
    let to = |after: &str, inputs: &Inputs| {
        let patch = patch(&[("limits.py", Some(changed.as_str()), Some(after))]);
        named(&weakenings(&patch, inputs))
    };
    assert_eq!(to(&restored, &inputs), [SpecialCased]);
    inputs.note_base(&path, &restored);
    assert_eq!(to(&restored, &inputs), []);
    assert_eq!(to(&other, &inputs), [SpecialCased]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn code_that_knows_the_tests() {
    let python = |body: &str, kinds: &[WeakeningKind]| {
        code(
            "fare.py",
            CODE,
            &format!("def change(paid, stops):\n{body}    return paid - 50 * stops\n"),
            kinds,
        );
    };
    python("", &[]);
    python("    if paid == 500:\n        return 200\n", &[SpecialCased]);
    python("    if paid == 500 and stops == 2:\n        paid -= 600\n", &[]);
    python(
        "    if (paid, stops) == (500, 200):\n        paid -= 600\n",
        &[SpecialCased],
    );
    python(
        "    match paid:\n        case 500:\n            return 200\n",
        &[SpecialCased],
    );
    python("    known = {500: 200}\n", &[SpecialCased]);
    python("    paid = 200 if paid == 500 else paid\n", &[SpecialCased]);
    python("    if paid == 0:\n        return 0\n", &[]);
    python("    if paid < 500:\n        return 200\n", &[]);
    python("    if paid == 900:\n        return 200\n", &[]);
    python(
        "    if \"PYTEST_CURRENT_TEST\" in os.environ:\n        return 200\n",
        &[DetectsTests],
    );
    python(
        "    if \"pytest\" in sys.modules:\n        return 200\n",
        &[DetectsTests],
    );
    python("    builtins.sorted = list\n", &[DetectsTests]);
    python("    name = inspect.stack()[1].function\n", &[DetectsTests]);
    code(
        "fare.py",
        CODE,
        "class Fare:\n    def __eq__(self, other):\n        return True\n",
        &[SpecialCased],
    );
    code(
        "fare.py",
        CODE,
        "class Fare:\n    def __eq__(self, other):\n        return self.paid == other.paid\n",
        &[],
    );
    let script = |line: &str, kinds: &[WeakeningKind]| code("fare.js", "let a;\n", &format!("let a;\n{line}\n"), kinds);
    script("if (process.env.NODE_ENV === 'test') { a = 200; }", &[DetectsTests]);
    script(
        "const inTest = process.env.JEST_WORKER_ID !== undefined;",
        &[DetectsTests],
    );
    script(
        "function f(paid) { if (paid === 500) { return 200; } return paid; }",
        &[SpecialCased],
    );
    script("switch (a) { case 500: return 200; }", &[SpecialCased]);
    script(
        "function f(paid) { if (sum(paid).length === 7) { return 200; } return paid; }",
        &[SpecialCased],
    );
    script(
        "function f(paid) { if (sum(paid).length === 7) { return 3; } return paid; }",
        &[],
    );
    script("if (process.env.NODE_ENV === 'production') { a = 1; }", &[]);
    let rust = |line: &str, kinds: &[WeakeningKind]| {
        code("src/fare.rs", "fn a() {}\n", &format!("fn a() {{}}\n{line}\n"), kinds);
    };
    rust("fn b() -> i32 { if cfg!(test) { 200 } else { 1 } }", &[DetectsTests]);
    rust(
        "fn b(paid: i32) -> i32 { match paid { 500 => 200, _ => paid } }",
        &[SpecialCased],
    );
    rust(
        "fn b(paid: i32) -> i32 { if paid == 500 { return 200; } paid }",
        &[SpecialCased],
    );
    rust(
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() { assert_eq!(500, 500); }\n}",
        &[],
    );
    rust("macro_rules! assert_eq { ($($x:tt)*) => {} }", &[DetectsTests]);
    let go = |line: &str, kinds: &[WeakeningKind]| {
        code("fare.go", "package fare\n", &format!("package fare\n\n{line}\n"), kinds);
    };
    go(
        "func b(paid int) int {\n\tif testing.Testing() {\n\t\treturn 200\n\t}\n\treturn paid\n}",
        &[DetectsTests],
    );
    go(
        "func b(paid int) int {\n\tif paid == 500 {\n\t\treturn 200\n\t}\n\treturn paid\n}",
        &[SpecialCased],
    );
    go(
        "func b(paid int) int {\n\tswitch paid {\n\tcase 500:\n\t\treturn 200\n\t}\n\treturn paid\n}",
        &[SpecialCased],
    );
    let java = |line: &str, kinds: &[WeakeningKind]| {
        code(
            "Fare.java",
            "class Fare {}\n",
            &format!("class Fare {{\n{line}\n}}\n"),
            kinds,
        );
    };
    java(
        "int b(int paid) { if (paid == 500) { return 200; } return paid; }",
        &[SpecialCased],
    );
    java("public boolean equals(Object other) { return true; }", &[SpecialCased]);
    java(
        "int b() { return Thread.currentThread().getStackTrace().length; }",
        &[DetectsTests],
    );
}

#[test]
fn what_was_there_before_is_no_finding() {
    let old =
        "import os\n\n\ndef a():\n    if \"PYTEST_CURRENT_TEST\" in os.environ:\n        return 1\n    return 2\n";
    assert_eq!(
        changed("a.py", Some(old), Some(&old.replace("return 2", "return 3"))),
        []
    );
    assert_eq!(changed("a.py", Some(old), Some(&format!("# x\n{old}"))), []);
}

#[test]
fn the_tests_of_the_head_are_put_back() {
    let rust = |sum: &str, test: &str| {
        format!("pub fn add(a: i32) -> i32 {{ {sum} }}\n#[cfg(test)]\nmod tests {{\n    {test}\n}}\n")
    };
    let (old, new) = (
        rust("a - 1", "#[test] fn one() {}"),
        rust("a + 1", "#[test] fn one() {} #[test] fn two() {}"),
    );
    let all = patch(&[
        ("src/a.rs", Some(&old), Some(&new)),
        ("tests/a.rs", None, Some("#[test] fn three() {}")),
    ]);
    let own = with_own_tests(&all).unwrap();
    assert_eq!(
        own,
        patch(&[("src/a.rs", Some(&old), Some(&rust("a + 1", "#[test] fn one() {}")))])
    );
    assert_eq!(
        without_tests(&all).map(ToString::to_string).as_deref(),
        Some("src/a.rs")
    );
    let only = patch(&[("src/a.rs", Some(&old), Some(&rust("a - 1", "#[test] fn none() {}")))]);
    assert_eq!(
        (without_tests(&only), with_own_tests(&only).unwrap().is_empty()),
        (None, true)
    );
    let appended = format!("{CODE}\n\ndef test_it():\n    pass\n");
    let own = with_own_tests(&patch(&[("a.py", Some(CODE), Some(&appended))])).unwrap();
    let text = own
        .files()
        .map(|(_, change)| change.after.as_ref().unwrap().text().unwrap().trim().to_string());
    assert!(text.into_iter().all(|text| text == CODE.trim()));
}

#[test]
fn hostile_sources_are_bounded() {
    let deep = |open: &str, close: &str| {
        format!(
            "def test_a():\n    x = {}1{}\n",
            open.repeat(50_000),
            close.repeat(50_000)
        )
    };
    let nested = deep("(", ")");
    let found = changed("test_a.py", Some("def test_a():\n    assert f() == 1\n"), Some(&nested));
    assert!(!found.is_empty());
    let blocks = format!(
        "it('a', () => {{ {} }});",
        "if (a) {".repeat(20_000) + &"}".repeat(20_000)
    );
    assert!(
        !changed(
            "a.test.js",
            Some("it('a', () => { expect(1).toBe(f()); });"),
            Some(&blocks)
        )
        .is_empty()
    );
    let long = format!("def test_a():\n    assert f() == \"{}\"\n", "x".repeat(900_000));
    assert_eq!(
        named(&changed("test_a.py", Some(&long), Some(&long.replace("f()", "g()")))),
        [ExpectationChanged]
    );
    let too_long = "#".repeat(2 << 20);
    assert_eq!(
        named(&changed("test_a.py", Some(TEST), Some(&too_long))),
        [CannotBeJudged]
    );
    let many: String = (0..5_000)
        .map(|at| format!("def test_{at}():\n    assert f({at}) == {at}\n\n"))
        .collect();
    let found = changed("test_a.py", Some(&many), Some("x = 1\n"));
    assert_eq!(found.len(), 50);
    let path = "src/a.rs".parse().unwrap();
    let bytes = |bytes: &[u8]| Some(greenlight::domain::patch::Blob::regular(bytes));
    let change = greenlight::domain::patch::FileChange {
        before: bytes(b"fn a() {}"),
        after: bytes(b"\xff"),
    };
    assert!(touches_tests(&path, &change));
    let patch = greenlight::domain::patch::Patch::new([(path, change)]);
    assert_eq!(named(&weakenings(&patch, &Inputs::default())), [CannotBeJudged]);
}
