//! Faults and fixes in each language.

use super::*;
use crate::template::EditKind;

fn stage(source: &Source, stage: Stage) -> Vec<Edit> {
    let known = KnownNames::of(source, [].into());
    edits((source, &known), stage, &(0..source.text.len()), &|_| true)
}

fn all(source: &Source) -> Vec<Edit> {
    Stage::ALL.iter().flat_map(|which| stage(source, *which)).collect()
}

/// Every edited version of the only line of `text` that contains `at`, the best first.
fn versions(path: &str, text: &str) -> Vec<String> {
    let source = Source::parse(path, text.into()).unwrap();
    let mut edits = all(&source);
    edits.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    edits
        .iter()
        .filter_map(|edit| source.replaced(&edit.range, &edit.replacement))
        .collect()
}

#[track_caller]
pub(super) fn offers(path: &str, text: &str, expected: &[&str]) {
    let versions = versions(path, text);
    for expected in expected {
        assert!(
            versions.iter().any(|version| version == expected),
            "no edit of {text:?} gives {expected:?}, only {versions:#?}"
        );
    }
}

/// Checks that there are edits, but none that contains this part.
#[track_caller]
pub(super) fn offers_not(path: &str, text: &str, part: &str) {
    let versions = versions(path, text);
    let gives_it = versions.iter().any(|version| version.contains(part));
    assert!(!versions.is_empty() && !gives_it, "{versions:#?}");
}

#[test]
fn rust_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("fn f(a: &[u32], n: usize, m: usize) -> bool {{ {line} }}\n");
    for (fault, fix) in [
        ("a.len() < n", "a.len() <= n"),
        ("a.len() == n", "a.len() != n"),
        ("n > 1 && m > 2", "n > 1 || m > 2"),
        ("for i in 0..=n {}", "for i in 0..n {}"),
        ("for i in 0..n {}", "for i in 0..n + 1 {}"),
        ("let x = n - 1;", "let x = n;"),
        ("let x = n + m;", "let x = n - m;"),
        ("let x = n;", "let x = n + 1;"),
        ("let x = 41;", "let x = 42;"),
        ("match n { 0 => 1, _ => 2 }", "match n { 0 => -1, _ => 2 }"),
        ("n &= m;", "n &= !m;"),
        ("let x = 1_000;", "let x = 999;"),
        ("let x = true;", "let x = false;"),
        ("x += n;", "x -= n;"),
        ("if a.is_empty() {}", "if !a.is_empty() {}"),
        ("if !a.is_empty() {}", "if a.is_empty() {}"),
        ("g(n, m)", "g(m, n)"),
        ("n.min(m)", "n.max(m)"),
        ("let x = n * n;", "let x = n * m;"),
        ("n - m", "m - n"),
        ("a[n]", "a[n - 1]"),
        ("vec![0; n + 1]", "vec![0; n - 1]"),
        ("match n { 0..=9 => 1, _ => 2 }", "match n { 0..=8 => 1, _ => 2 }"),
        ("x.n", "x.m"),
    ] {
        let context = "fn g() { x.m; x.n }\n";
        offers("src/lib.rs", &(line(fault) + context), &[&(line(fix) + context)]);
    }
}

#[test]
fn python_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("def f(a, n, m=1):\n    {line}\n");
    for (fault, fix) in [
        ("return a < n", "return a <= n"),
        ("for i in []: pass", "for i in m: pass"),
        ("return [i for i in ()]", "return [i for i in a]"),
        ("return 'a%s' ^ n", "return 'a%s' % n"),
        ("return '=' & n", "return '=' * n"),
        ("return n < 'keys'", "return n == 'keys'"),
        ("return '=' + n", "return '=' * n"),
        ("return '[' >> n", "return '[' + n"),
        ("return n % ']'", "return n + ']'"),
        ("return n << m", "return n + m"),
        ("return a[not 1]", "return a[-1]"),
        ("raise KeyError(a)", "raise IndexError(a)"),
        ("return 1 if a else 0", "return -1 if a else 0"),
        ("a &= n", "a &= ~n"),
        ("return a & n", "return a & ~n"),
        ("return a is None", "return a is not None"),
        ("return a not in n", "return a in n"),
        ("if a and n: pass", "if a or n: pass"),
        ("if a and n: pass", "if a and not n: pass"),
        ("while not a: pass", "while a: pass"),
        ("return range(n)", "return range(n + 1)"),
        ("return range(n)", "return range(1, n)"),
        ("return a[n:]", "return a[n + 1:]"),
        ("return a[1:]", "return a[0:]"),
        ("return a[-1]", "return a[0]"),
        ("return n // 2", "return n / 2"),
        ("return 1 << (a - n)", "return 1 << (a - n - 1)"),
        ("return n", "return n - 1"),
        ("return f(a, n)", "return f(n, a)"),
        ("return any(a)", "return all(a)"),
        ("return a.lstrip()", "return a.strip()"),
        ("return self.x + self.y", "return self.x + self.x"),
        ("return True", "return False"),
        (
            "return [i for i in a if i.isdigit()]",
            "return [i for i in a if not i.isdigit()]",
        ),
    ] {
        offers("f.py", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn other_errors_are_caught_and_raised() {
    let caught = |names: &str| format!("import x\n\ntry:\n    a()\nexcept {names}:\n    raise OwnError()\n");
    offers(
        "a.py",
        &caught("KeyError"),
        &[&caught("OwnError"), &caught("ValueError")],
    );
    offers(
        "a.py",
        &caught("(ValueError, TypeError) as error"),
        &[
            &caught("(ValueError, KeyError) as error"),
            &caught("(IndexError, TypeError) as error"),
        ],
    );
    let twice = versions("a.py", &caught("(ValueError, TypeError)"));
    assert!(!twice.contains(&caught("(TypeError, TypeError)")), "{twice:#?}");
    let caught = |name: &str| format!("class A {{ void f() {{ try {{ g(); }} catch ({name} e) {{ h(e); }} }} }}\n");
    offers("A.java", &caught("IOException"), &[&caught("RuntimeException")]);
}

#[test]
fn methods_are_bound_as_their_first_parameter_says() {
    let class = |before: &str, parameters: &str| {
        format!("class A:\n    x = 1\n\n    {before}def f({parameters}):\n        return 1\n")
    };
    for (parameters, binder) in [
        ("self", "@property"),
        ("cls, a", "@classmethod"),
        ("a", "@staticmethod"),
    ] {
        offers(
            "a.py",
            &class("", parameters),
            &[&class(&format!("{binder}\n    "), parameters)],
        );
    }
    let none = |text: &str| {
        let versions = versions("a.py", text);
        let bound = versions.iter().find(|version| version.contains('@'));
        assert_eq!(bound, None);
    };
    none(&class("", "self, a"));
    none("def f(a):\n    return 1\n");
}

#[test]
fn javascript_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("function f(a, n, m) {{\n  {line}\n}}\n");
    for (fault, fix) in [
        ("return a < n;", "return a <= n;"),
        ("return a === n;", "return a !== n;"),
        ("return a === 'n';", "return a !== 'n';"),
        ("if (true) { return n; }", "if (typeof a !== 'string') { return n; }"),
        ("const x = [a]; x.push(n);", "const x = []; x.push(n);"),
        ("return a || 'n';", "return a && 'n';"),
        ("return a >= 'n';", "return a > 'n';"),
        ("m(n.slice(1)); return g(n);", "m(n.slice(1)); return g(n.slice(1));"),
        ("return a && n;", "return a || n;"),
        ("return a ?? n;", "return a && n;"),
        ("if (a) { n(); }", "if (!a) { n(); }"),
        ("if (!a) { n(); }", "if (a) { n(); }"),
        ("return a ? n : m;", "return !a ? n : m;"),
        (
            "for (let i = 0; i <= n; i++) m(i);",
            "for (let i = 0; i < n; i++) m(i);",
        ),
        ("for (let i = 0; i < n; i--) m(i);", "for (let i = 0; i < n; i++) m(i);"),
        ("const x = n - 1;", "const x = n;"),
        ("return a[n];", "return a[n - 1];"),
        ("a += n;", "a -= n;"),
        ("return g(n, m);", "return g(m, n);"),
        ("return Math.min(n, m);", "return Math.max(n, m);"),
        ("return a.every(n);", "return a.some(n);"),
        ("return a.indexOf(n);", "return a.lastIndexOf(n);"),
        ("return a.trimStart();", "return a.trim();"),
        ("return a.toUpperCase();", "return a.toLowerCase();"),
        ("return true;", "return false;"),
        ("return n;", "return m;"),
        ("return n % 2;", "return n * 2;"),
        (
            "const g = (x) => x + 1; return g(n);",
            "const g = (x) => x; return g(n);",
        ),
    ] {
        offers("f.js", &line(fault), &[&line(fix)]);
        offers("f.ts", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn assertions_types_imports_and_attributes_stay_as_they_are() {
    assert_eq!(
        versions(
            "src/lib.rs",
            "#[repr(align(2))]\nfn f(a: [u8; 3]) { debug_assert!(1 < 2); assert_eq!(1, 2); }\n"
        ),
        Vec::<String>::new()
    );
    let kept = "from a import b\nassert 1 < 2\n@c(1)\n";
    let versions = versions("f.py", &format!("{kept}def f(): pass\n"));
    assert!(
        versions
            .iter()
            .all(|version| kept.lines().all(|line| version.contains(line))),
        "{versions:#?}"
    );
}

#[test]
fn what_stays_empty_may_have_held_what_the_function_was_given() {
    let list = "function f(a) {\n  let b = [];\n  return g(b);\n}\n";
    offers("a.js", list, &[&list.replace("[]", "[a]")]);
    let object = "function f(a, cost) {\n  var b = {};\n  this.c.push(b);\n}\n";
    offers("a.js", object, &[&object.replace("{}", "{ a, cost }")]);
    offers_not("a.js", &object.replace("c.push(b)", "c = b.d = a"), "{ a, cost }");
    let python = "def f(a):\n    b = []\n    b.append(a)\n    return b\n";
    offers_not("a.py", python, "b = [a]");
    let script = "function f(a) { this.b = []; g(a, x || [], y === []); }\n";
    for filled in ["this.b = [a]", "x || [a]", "y === [a]"] {
        offers_not("a.js", script, filled);
    }
}

#[test]
fn a_list_that_nothing_is_added_to_keeps_what_it_has() {
    for line in [
        "const x = [a]; return x[0];",
        "const x = [a]; y.x.push(n);",
        "const x = [a]; ax.push(n);",
    ] {
        offers_not("a.js", &format!("function f(a, n) {{ {line} }}\n"), "const x = [];");
    }
}

/// Two edits that do the same would be each other's rivals.
#[test]
fn a_negated_comparison_is_turned_round_once() {
    for (path, fault, other) in [
        ("a.py", "def f(n):\n    return not n == 1\n", "not n != 1"),
        ("a.js", "function f(n) { return !(n === 1); }\n", "!(n !== 1)"),
        ("a.rs", "fn f(n: u8) -> bool { !(n < 1) }\n", "!(n >= 1)"),
    ] {
        offers_not(path, fault, other);
    }
}

#[test]
fn what_only_takes_away_comes_last() {
    let source = Source::parse("f.py", "def f(a, b):\n    return a < 1 and b > 2\n".into()).unwrap();
    let removals = stage(&source, Stage::Strong);
    let lowest = removals.iter().map(|edit| edit.template.prior()).fold(1.0, f32::min);
    assert!(removals.iter().any(|edit| edit.template == Template::Removal));
    assert!((lowest - Template::Removal.prior()).abs() < f32::EPSILON);
}

#[test]
fn go_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("package a\n\nfunc f(a []int, n int, m int) int {{\n\t{line}\n\treturn 0\n}}\n");
    for (fault, fix) in [
        ("if n < m { n++ }", "if n <= m { n++ }"),
        ("if n > 1 && m > 1 { n++ }", "if n > 1 || m > 1 { n++ }"),
        ("n--", "n++"),
        ("n = m", "n += m"),
        ("x := a[n]", "x := a[n - 1]"),
        ("x := a[:n]", "x := a[n:]"),
        ("x := n * m", "x := n % m"),
        ("x := g(n, m)", "x := g(m, n)"),
        ("x := min(n, m)", "x := max(n, m)"),
        ("for { break }", "for { continue }"),
        ("if true { n++ }", "if n > 0 { n++ }"),
        ("return n", "return m"),
    ] {
        offers("f.go", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn java_faults_have_their_fix_among_the_edits() {
    let line =
        |line: &str| format!("class A {{\n  int f(String a, int n, int m) {{\n    {line}\n    return 0;\n  }}\n}}\n");
    for (fault, fix) in [
        ("if (n < m) { n++; }", "if (n <= m) { n++; }"),
        ("if (n > 1 && m > 1) { n++; }", "if (n > 1 || m > 1) { n++; }"),
        ("n--;", "n++;"),
        ("n = m;", "n += m;"),
        ("char x = a.charAt(n);", "char x = a.charAt(n - 1);"),
        ("int x = n >> m;", "int x = n >>> m;"),
        ("int x = Math.min(n, m);", "int x = Math.max(n, m);"),
        ("int x = a.indexOf(n);", "int x = a.lastIndexOf(n);"),
        ("String x = null;", "String x = a;"),
        ("if (true) { n++; }", "if (n == m) { n++; }"),
        ("return n;", "return m;"),
    ] {
        offers("A.java", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn what_mutation_tools_do_can_be_undone() {
    let python = |line: &str| format!("NAMES = [\"red\"]\n\ndef f(a, n, m=1):\n    {line}\n    return n\n");
    for (fault, fix) in [
        ("n = \"XXredXX\"", "n = \"red\""),
        ("n = \"\"", "n = \"red\""),
        ("n = g(None)", "n = g(a)"),
        ("n = g(m=None)", "n = g(m=m)"),
        ("n = g(a)", "n = g(a, m)"),
        ("n = a[1:]", "n = a[:1]"),
        ("n = -a", "n = a"),
        ("n = a", "n = len(a)"),
        ("n = abs(a)", "n = a"),
    ] {
        offers("f.py", &python(fault), &[&python(fix)]);
    }
    let rust =
        |body: &str| format!("struct S {{ items: Vec<u32> }}\nimpl S {{ fn is_empty(&self) -> bool {{ {body} }} }}\n");
    offers(
        "f.rs",
        &rust("true"),
        &[&rust("self.items.is_empty()"), &rust("self.len() == 0")],
    );
    let script = |line: &str| format!("function f(a, n) {{\n  {line}\n  return n;\n}}\n");
    for (fault, fix) in [
        ("if (true) { n++; }", "if (a === null) { n++; }"),
        ("if (a) {}", "if (a) { return n; }"),
        ("n = a?.b;", "n = a.b;"),
        ("n = a;", "n = a.trim();"),
        ("for (let i = 0; false; i++) {}", "for (let i = 0; i < n; i++) {}"),
    ] {
        offers("f.js", &script(fault), &[&script(fix)]);
    }
    let moved = "def f(a):\n    for b in a:\n        g(b)\n        return a\n";
    offers(
        "f.py",
        moved,
        &["def f(a):\n    for b in a:\n        g(b)\n    return a\n"],
    );
}

#[test]
fn no_stage_gives_more_than_it_says() {
    let text = "def f(a, n):\n    if not a:\n        return None\n    x = g(a, n - 1)[1:]\n    x.append(\"b\")\n    return x\n";
    let source = Source::parse("f.py", text.into()).unwrap();
    for which in Stage::ALL {
        let edits = stage(&source, which);
        let most = edits.iter().map(Edit::weight).fold(0.0, f32::max);
        assert!(!edits.is_empty() && most <= which.most(), "{which:?} {most}");
    }
    assert_eq!(Template::Revert.kind(), EditKind::Revert);
    assert_eq!(Template::Bound.kind(), EditKind::Swap);
}

#[test]
fn hostile_files_stay_within_bounds() {
    let deep = format!("def f(a):\n    return {}a{}\n", "(".repeat(300), ")".repeat(300));
    let long = format!("def f(a):\n    return {}\n", "a + 1 + ".repeat(300) + "1");
    let strange =
        "def f(é, 变量):\n    x = \"\u{202e}𝕏é\"[1:]\n    y = 'ß' + '\"'\n    return 变量 if é else \"\"\n".to_string();
    let cut = "def f(a:\n  if (\n\"\n'''".to_string();
    for text in [deep, long, strange, cut, String::new()] {
        for path in ["f.py", "f.js", "f.tsx", "f.rs", "f.go", "F.java"] {
            let Some(source) = Source::parse(path, text.clone()) else {
                continue;
            };
            for which in Stage::ALL {
                let edits = stage(&source, which);
                assert!(edits.len() <= MAX_EDITS + MAX_PER_NODE);
                let is_text = |edit: &Edit| source.text.get(edit.range.clone()).is_some();
                assert!(edits.iter().all(is_text));
            }
        }
    }
}
