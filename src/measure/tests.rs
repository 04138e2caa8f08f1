//! Measurements of small files, checked by hand.

use super::*;
use crate::domain::patch::FileChange;

fn of(path: &str, text: &str) -> Measured {
    let path: RepoPath = path.parse().unwrap();
    measure([(&path, text)].into_iter())
}

#[test]
fn every_decision_counts_one() {
    for (path, text, expected) in [
        ("a.py", "def f(x):\n    return x\n", 1),
        (
            "a.py",
            "def f(x):\n    if x and x > 1:\n        return 1\n    elif x:\n        return 2\n    return [y for y in x if y]\n",
            6,
        ),
        (
            "a.rs",
            "fn f(x: u32) -> u32 {\n    match x {\n        1 => 2,\n        2 if x > 1 || x < 9 => 3,\n        _ => 4,\n    }\n}\n",
            4,
        ),
        ("a.js", "const f = (x) => x ? 1 : x && 2;\n", 3),
        (
            "a.go",
            "package a\n\nfunc f(x int) int {\n\tfor x > 1 {\n\t\tswitch x {\n\t\tcase 1:\n\t\t\treturn 1\n\t\tdefault:\n\t\t}\n\t}\n\treturn 0\n}\n",
            3,
        ),
        (
            "A.java",
            "class A {\n    int f(int x) {\n        if (x > 1 && x < 3) { return 1; }\n        return 0;\n    }\n}\n",
            3,
        ),
    ] {
        assert_eq!(of(path, text).complexity, [expected], "{text}");
    }
    let nested = of(
        "a.py",
        "def f(x):\n    def g(y):\n        if y:\n            return 1\n    if x:\n        return g\n",
    );
    assert_eq!(nested.complexity, [2, 2]);
    assert_eq!(nested.lengths, [6, 3]);
    assert_eq!(nested.lines, 6);
}

#[test]
fn copies_are_counted_from_six_lines_on() {
    let copy = |name: &str| {
        let lines: String = (0..8)
            .map(|at| format!("    a{at} = call(first, second, {at})\n"))
            .collect();
        format!("def {name}(first, second):\n{lines}    return a0\n")
    };
    assert_eq!(of("a.py", &copy("one")).duplicated_lines, 0);
    let twice = of("a.py", &format!("{}\n{}", copy("one"), copy("two"))).duplicated_lines;
    assert_eq!(twice, 20);
    let repeated = "x = [\n".to_string() + &"    1,\n".repeat(200) + "]\n";
    assert_eq!(of("a.py", &repeated).duplicated_lines, 0);
}

#[track_caller]
fn change(path: &str, before: &str, after: &str) -> Option<String> {
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(after)),
    };
    changed_interface(&Patch::new([(path.parse().unwrap(), change)]))
}

/// A file before and after, and a part of the expected sentence.
type Case<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

#[track_caller]
fn all(cases: &[Case<'_>]) {
    for (path, before, after, expected) in cases {
        let found = change(path, before, after);
        let fits = match expected {
            None => found.is_none(),
            Some(part) => found.as_ref().is_some_and(|found| found.contains(part)),
        };
        assert!(fits, "{after}: {expected:?}: {found:?}");
    }
}

#[test]
fn the_public_interface_of_scripts_is_kept() {
    let (py, js) = ("a.py", "a.js");
    let f = "def f(x): pass\n";
    let export = "export function f(a) { return a; }\n";
    all(&[
        (py, f, "def f(x):\n    return _g(x)\n\ndef _g(x): pass\n", None),
        (py, f, "def f(x, y): pass\n", Some("would become `f(x,y)`")),
        (py, f, "def g(x): pass\n", Some("no longer export `f(x)`")),
        (py, f, "def f(x): pass\ndef g(): pass\n", Some("also export `g()`")),
        (
            py,
            "class A:\n    def f(self): pass\n",
            "class A:\n    pass\n",
            Some("`A.f(self)`"),
        ),
        (js, export, "export function f(a, b) { return a; }\n", Some("f(a,b)")),
        (
            js,
            export,
            "function g() {}\nexport function f(a) { return g(a); }\n",
            None,
        ),
        (
            js,
            "module.exports = { f, g };\n",
            "module.exports = { f };\n",
            Some("exports.g"),
        ),
    ]);
}

#[test]
fn the_public_interface_of_compiled_code_is_kept() {
    let (rs, go, java) = ("a.rs", "a.go", "A.java");
    let go_before = "package a\n\nfunc F(x int) int { return x }\n";
    let java_before = "public class A {\n    public int f(int x) { return x; }\n}\n";
    let method = "pub struct A;\nimpl A {\n    pub fn f(&self) {}\n}\n";
    all(&[
        (
            rs,
            "pub fn f(x: u32) {}\nfn g() {}\n",
            "pub fn f(x: u32) {}\nfn h() {}\n",
            None,
        ),
        (rs, method, "pub struct A;\n", Some("A.f")),
        (rs, method, &method.replace("&self", "&mut self"), Some("A.f")),
        (
            go,
            go_before,
            "package a\n\nfunc F(x int) string { return \"\" }\n",
            Some("F"),
        ),
        (go, go_before, &format!("{go_before}func g() {{}}\n"), None),
        (
            java,
            java_before,
            &java_before.replace("    public int", "    int"),
            Some("A.f"),
        ),
    ]);
}

#[test]
fn a_name_may_move_if_its_file_re_exports_it() {
    let file = |before: Option<&str>, after: &str| FileChange {
        before: before.map(Blob::regular),
        after: Some(Blob::regular(after)),
    };
    let text = "def f(x):\n    return x\n";
    let moved = |import: &str| {
        Patch::new([
            ("a.py".parse().unwrap(), file(Some(text), import)),
            ("b.py".parse().unwrap(), file(None, text)),
        ])
    };
    assert_eq!(changed_interface(&moved("from b import f\n")), None);
    assert!(changed_interface(&moved("import b\n")).is_some());
}
