//! The likeliest edit for messages of each language, as the tools print them.

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use super::super::{HintEdit, changed};
use super::*;

/// The lines that the likeliest hint for a message makes, without those that were there before.
fn first(path: &str, text: &str, (line, message): (u32, &str)) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let full = directory.path().join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, text).unwrap();
    let checkout = Checkout::open(directory.path()).unwrap();
    let path: RepoPath = path.parse().unwrap();
    let Some(place) = HintPlace::new(&checkout, (&path, line), text.into(), message) else {
        return Vec::new();
    };
    let mut all = hints(&place).map(|(_, hints)| hints).unwrap_or_default();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let Some(hint) = all.first() else { return Vec::new() };
    let mut edits: Vec<&HintEdit> = hint.changes.iter().collect();
    edits.sort();
    let after = changed(text, &edits).unwrap();
    let is_new = |new: &&str| !text.lines().any(|old| old == *new);
    after.lines().filter(is_new).map(String::from).collect()
}

#[track_caller]
fn check(path: &str, text: &str, said: (u32, &str), expected: &[&str]) {
    assert_eq!(first(path, text, said), expected, "{}", said.1);
}

#[test]
fn python_is_understood() {
    let code = "def f(total):\n    return totl\n";
    check(
        "a.py",
        code,
        (2, "E   NameError: name 'totl' is not defined"),
        &["    return total"],
    );
    let code = "def f(a):\n    return true and a\n";
    check(
        "a.py",
        code,
        (2, "NameError: name 'true' is not defined"),
        &["    return True and a"],
    );
    let code = "import os\n\n\ndef f(a):\n    return json.dumps(a)\n";
    check(
        "a.py",
        code,
        (5, "NameError: name 'json' is not defined"),
        &["import json"],
    );
    let code = "class A:\n    def f(self, a):\n        return self.min(a)\n";
    check(
        "a.py",
        code,
        (3, "AttributeError: 'A' object has no attribute 'min'"),
        &["        return min(a)"],
    );
    let code = "from m import b, top\n\n\nclass A:\n    def f(self, a):\n        return self.top(a)\n";
    check(
        "a.py",
        code,
        (6, "AttributeError: 'A' object has no attribute 'top'"),
        &["        return top(a)"],
    );
    let code = "def f(a):\n    return (a +\n        1\n";
    check(
        "a.py",
        code,
        (2, "SyntaxError: '(' was never closed"),
        &["    return (a +)"],
    );
    let code = "class A:\n    def f():\n        return 1\n";
    check(
        "a.py",
        code,
        (2, "TypeError: A.f() takes 0 positional arguments but 1 was given"),
        &["    def f(self):"],
    );
}

#[test]
fn go_is_understood() {
    let code = "package a\n\nfunc F(of []int) int {\n\tcount := 0\n\ttotal := len(of)\n\treturn total\n}\n";
    check("a.go", code, (4, "./a.go:4:2: declared and not used: count"), &[]);
    let code = "package a\n\nfunc F(of []int) int64 {\n\treturn len(of)\n}\n";
    let message = "./a.go:4:9: cannot use len(of) (value of type int) as int64 value in return statement";
    check("a.go", code, (4, message), &["\treturn int64(len(of))"]);
    let code = "package a\n\nfunc F() string {\n\treturn strings.ToUpper(\"a\")\n}\n";
    check(
        "a.go",
        code,
        (4, "./a.go:4:9: undefined: strings"),
        &["import \"strings\""],
    );
}

#[test]
fn javac_is_understood() {
    let code =
        "package a;\n\nclass A {\n    int f(java.util.List<Integer> of) {\n        return of.length();\n    }\n}\n";
    let message = "A.java:5: error: cannot find symbol\n  symbol:   method length()\n  location: variable of of type List<Integer>";
    assert!(!first("A.java", code, (5, message)).is_empty());
    let code = "class A {\n    int f() {\n        int a = 1\n        return a;\n    }\n}\n";
    let message = "A.java:3: error: ';' expected\n        int a = 1\n                 ^";
    check("A.java", code, (3, message), &["        int a = 1;"]);
    let code = "class A {\n    void f() {\n        Thread.sleep(1);\n    }\n}\n";
    let message = "A.java:3: error: unreported exception InterruptedException; must be caught or declared to be thrown";
    check(
        "A.java",
        code,
        (3, message),
        &["    void f() throws InterruptedException {"],
    );
}

#[test]
fn scripts_and_c_are_understood() {
    let code = "const most = 0;\nmost = 1;\n";
    check(
        "a.js",
        code,
        (2, "TypeError: Assignment to constant variable."),
        &["let most = 0;"],
    );
    let code = "f(a, b;\n";
    let message = "/workspace/a.js:1\nf(a, b;\n      ^\nSyntaxError: missing ) after argument list";
    check("a.js", code, (1, message), &["f(a, b);"]);
    let code = "#include \"a.h\"\n\nint f(char c) {\n    return isupper(c);\n}\n";
    let message = "a.c:4:12: error: implicit declaration of function ‘isupper’ [-Wimplicit-function-declaration]";
    check("a.c", code, (4, message), &["#include <ctype.h>"]);
    let code = "int f(int n) {\n    int a = n\n    return a;\n}\n";
    let message = "a.c:3:5: error: expected ‘,’ or ‘;’ before ‘return’\n    3 |     return a;\n      |     ^~~~~~";
    assert!(!first("a.c", code, (3, message)).is_empty());
}

#[test]
fn hostile_messages_lead_nowhere() {
    let code = "def f(total):\n    return totl\n";
    for message in [
        String::new(),
        "name '' is not defined".into(),
        "name '((((' is not defined".into(),
        format!("name '{}' is not defined", "a".repeat(100_000)),
        "SyntaxError: ".repeat(10_000),
        "cannot import name 'f' from '../../../etc'".into(),
        "No module named '....'".into(),
        "^".repeat(10_000),
    ] {
        for line in [0, 1, 2, 3, u32::MAX] {
            for path in ["a.py", "a.go", "a.java", "a.ts", "a.c"] {
                first(path, code, (line, &message));
            }
        }
    }
}

#[test]
fn a_value_of_the_wrong_type_is_understood_in_python() {
    for (code, line, message, expected) in [
        (
            "def f(a, b):\n    a.append[b]\n    return a\n",
            2,
            "TypeError: 'builtin_function_or_method' object is not subscriptable",
            &["    a.append(b)"][..],
        ),
        (
            "def f(a, b):\n    a.append[b[0]]\n    a.append[b['[']]\n",
            2,
            "TypeError: 'builtin_function_or_method' object is not subscriptable",
            &["    a.append(b[0])", "    a.append(b['['])"],
        ),
        (
            "def f(a):\n    return a(0)\n",
            2,
            "TypeError: 'list' object is not callable",
            &["    return a[0]"],
        ),
        (
            "def f(a):\n    for i in len(a):\n        pass\n",
            2,
            "TypeError: 'int' object is not iterable",
            &["    for i in range(len(a)):"],
        ),
        (
            "def f(a, b):\n    a += max(b)\n",
            2,
            "TypeError: 'int' object is not iterable",
            &["    a.append(max(b))"],
        ),
        (
            "def days(month, all):\n    return []\n\n\ndef f(month, all):\n    for day in days:\n        pass\n",
            6,
            "TypeError: 'function' object is not iterable",
            &["    for day in days(month, all):"],
        ),
        (
            "def f(a):\n    for key, value in a.items:\n        pass\n",
            2,
            "TypeError: 'builtin_function_or_method' object is not iterable",
            &["    for key, value in a.items():"],
        ),
        (
            "def f(a, b):\n    a += max(b)  # the last (\n",
            2,
            "TypeError: 'int' object is not iterable",
            &["    a.append(max(b))  # the last ("],
        ),
        (
            "def f(a):\n    out = []\n    for b in a:\n        out = out.append(b)\n    return out\n",
            4,
            "AttributeError: 'NoneType' object has no attribute 'append'",
            &["        out.append(b)"],
        ),
    ] {
        check("a.py", code, (line, message), expected);
    }
}

#[test]
fn a_variable_without_a_value_is_declared_before_the_loop() {
    for (code, line, expected) in [
        ("def f(a):\n    for b in a:\n        out.append(b)\n", 3, "    out = []"),
        ("def f(a):\n    for b in a:\n        out[b] = 1\n", 3, "    out = {}"),
        ("for b in a:\n    out += 1\n", 2, "out = 0"),
        (
            "def f(a):\n    if not a:\n        return 0\n    else:\n        for b in a:\n            out *= b\n",
            6,
            "    out = 1",
        ),
    ] {
        check(
            "a.py",
            code,
            (line, "NameError: name 'out' is not defined"),
            &[expected],
        );
        let local = "UnboundLocalError: local variable 'out' referenced before assignment";
        check("a.py", code, (line, local), &[expected]);
    }
    check(
        "a.py",
        "count = 0\n\n\ndef f():\n    count += 1\n",
        (
            5,
            "UnboundLocalError: cannot access local variable 'count' where it is not associated with a value",
        ),
        &["    global count"],
    );
    let documented = "count = 0\n\n\ndef f():\n    \"\"\"Counts.\"\"\"\n    count += 1\n";
    let said = "UnboundLocalError: local variable 'count' referenced before assignment";
    check("a.py", documented, (6, said), &["    global count"]);
    let split = "count = 0\n\n\ndef f(\n    a,\n):\n    count += a\n";
    check("a.py", split, (7, said), &["    count = 0"]);
    // A linter's message about a variable that has a value.
    check(
        "a.py",
        "def f():\n    out = 1\n",
        (2, "F841 local variable 'out' is assigned to but never used"),
        &[],
    );
    check(
        "a.js",
        "class A {\n  f(a) {\n    for (const b of a) {\n      out.push(b);\n    }\n  }\n}\n",
        (4, "ReferenceError: out is not defined"),
        &["    let out = [];"],
    );
    check(
        "a.js",
        "function f(a) {\n  for (const b of a) {\n    out.push(b);\n  }\n}\n",
        (3, "ReferenceError: out is not defined"),
        &["  let out = [];"],
    );
}
